import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from imagerefresh.registry.challenge import parse_challenges


def read(*lines: str) -> list[tuple[str, dict[str, str]]]:
    return [(c.scheme, dict(c.parameters)) for c in parse_challenges(lines)]


HUB = {
    "realm": "https://auth.docker.io/token",
    "service": "registry.docker.io",
    "scope": "repository:samalba/my-app:pull,push",
}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((), []),
        (("",), []),
        ((" , ,",), []),
        (
            (
                (
                    'Bearer realm="https://auth.docker.io/token",service="registry.docker.io",'
                    'scope="repository:samalba/my-app:pull,push"'
                ),
            ),
            [("bearer", HUB)],
        ),
        # Two challenges in one header line.
        (
            (
                (
                    'Bearer realm="https://codeberg.org/v2/token",service="container_registry",'
                    'scope="*",Basic realm="https://codeberg.org/v2",scope="*"'
                ),
            ),
            [
                (
                    "bearer",
                    {
                        "realm": "https://codeberg.org/v2/token",
                        "service": "container_registry",
                        "scope": "*",
                    },
                ),
                ("basic", {"realm": "https://codeberg.org/v2", "scope": "*"}),
            ],
        ),
        # Negotiate first, on a line of its own.
        (
            ("Negotiate", 'Basic realm="Artifactory Realm"'),
            [("negotiate", {}), ("basic", {"realm": "Artifactory Realm"})],
        ),
        (
            ("Negotiate YWJj==, NTLM, Basic realm=x",),
            [("negotiate", {"ywjj": "="}), ("ntlm", {}), ("basic", {"realm": "x"})],
        ),
        # The scheme and the names of parameters in any case, values untouched.
        (('BASIC REALM="Sonatype NXRM"',), [("basic", {"realm": "Sonatype NXRM"})]),
        (
            ('bearer Realm="https://Host/Token",SERVICE=Svc',),
            [("bearer", {"realm": "https://Host/Token", "service": "Svc"})],
        ),
        # Liberties: no quotes, an empty value, spaces around the equals sign, no comma.
        (
            ("Bearer realm=https://h/token,service=,scope=a:b:c",),
            [("bearer", {"realm": "https://h/token", "service": "", "scope": "a:b:c"})],
        ),
        (
            ('Bearer realm="https://h",service=""',),
            [("bearer", {"realm": "https://h", "service": ""})],
        ),
        (
            ('Bearer realm = "https://h" , service= "s"',),
            [("bearer", {"realm": "https://h", "service": "s"})],
        ),
        (
            ('Bearer realm="https://h" service="s"',),
            [("bearer", {"realm": "https://h", "service": "s"})],
        ),
        # Quoting.
        ((r'Basic realm="a \"b\" \\ c"',), [("basic", {"realm": r'a "b" \ c'})]),
        (('Basic realm="a, b=c"',), [("basic", {"realm": "a, b=c"})]),
        # The first of a name counts.
        (('Bearer realm="one",realm="two"',), [("bearer", {"realm": "one"})]),
        # A quote that never ends spoils its own challenge only.
        (('Basic realm="x", Bearer realm="https://h',), [("basic", {"realm": "x"})]),
        (('Bearer realm="https://h', 'Basic realm="x"'), [("basic", {"realm": "x"})]),
        # Noise.
        (("=x, @@@, Basic realm=x",), [("basic", {"realm": "x"})]),
        (("\x00\xff Basic realm=x",), []),
        (('realm="https://h"',), []),
    ],
)
def test_table(lines: tuple[str, ...], expected: list[tuple[str, dict[str, str]]]) -> None:
    assert read(*lines) == expected


def test_two_scopes_of_one_challenge_stay_in_its_value() -> None:
    (found,) = read('Bearer realm="https://h",scope="repository:a:pull repository:b:pull"')
    assert found[1]["scope"] == "repository:a:pull repository:b:pull"


def test_input_is_bounded() -> None:
    assert len(parse_challenges(["Basic"] * 1000)) == 16
    assert len(parse_challenges(["Basic," * 1000])) == 16
    assert read("x" * 20000 + ', Basic realm="a"') == [("x" * 16384, {})]
    assert read("Basic " * 4000, 'Bearer realm="late"')[-1][0] == "basic"


@pytest.mark.parametrize(
    "text",
    [
        '"' * 60000,
        "=" * 60000,
        ", " * 30000,
        'a="' * 20000,
        "\\" * 60000,
        'a="\\' * 15000,
        "a" * 60000,
    ],
)
def test_takes_linear_time(text: str) -> None:
    started = time.process_time()
    parse_challenges([text, text])
    assert time.process_time() - started < 1


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(max_size=60) | st.text('Bearlm="\\, ', max_size=60), max_size=4))
@example(['a="'])
def test_raises_nothing(lines: list[str]) -> None:
    for challenge in parse_challenges(lines):
        assert challenge.scheme == challenge.scheme.lower()


SAFE = st.text(st.characters(codec="ascii", exclude_characters='"\\\x7f', min_codepoint=32))


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.sampled_from(["realm", "service", "scope", "error"]), SAFE, min_size=1))
def test_reads_back_what_is_written_by_the_book(parameters: dict[str, str]) -> None:
    line = "Bearer " + ", ".join(f'{name}="{value}"' for name, value in parameters.items())
    assert read(line) == [("bearer", parameters)]
