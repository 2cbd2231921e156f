"""What a template carries (B11, B18)."""

import json

import pytest

from imagerefresh.api.names import pin_annotation, stamp_annotation
from imagerefresh.api.policy import ActionType, Image
from imagerefresh.api.reasons import Reason
from imagerefresh.plan.template import MAX_SERIAL, Carried, Stamp, carries, read
from unit.plan.builders import D1, D2, REGISTRY, VARIABLE, WEB_TEXT, Json, a_target, an_image
from unit.plan.templates import (
    INGESTOR,
    PROXY,
    STAMP,
    WEB,
    container,
    restarting,
    setting,
    with_containers,
)


class TestReadRestart:
    """B11."""

    @pytest.mark.parametrize(
        "text",
        [
            WEB_TEXT,
            "REGISTRY.example.com/example/web:prod",
            "registry.example.com:443/example/web:prod",
        ],
    )
    def test_containers_are_found_by_the_normalised_reference(self, text: str) -> None:
        target = with_containers(container("other"), container("web", text))
        assert read(WEB, target) == Carried(containers=("web",))

    def test_init_containers_too(self) -> None:
        target = with_containers(
            container("a", WEB_TEXT), container("b"), init=[container("c", WEB_TEXT)]
        )
        assert read(WEB, target).containers == ("a", "c")

    @pytest.mark.parametrize(
        "text",
        [
            "registry.example.com/example/web",
            "registry.example.com/example/web:other",
            "example/web:prod",
            "no reference at all",
            "",
        ],
    )
    def test_none_found(self, text: str) -> None:
        problem = read(WEB, with_containers(container("web", text))).problem
        assert problem is not None
        assert problem.reason is Reason.NoMatchingContainer
        assert WEB_TEXT in problem.message

    def test_named_containers_are_taken_whatever_they_run(self) -> None:
        target = with_containers(container("a", "mirror.example.com/web:prod"), container("b"))
        assert read(restarting("a"), target) == Carried(containers=("a",))

    @pytest.mark.parametrize("text", ["Registry/Not A Reference", "$(IMAGE)", ""])
    def test_a_named_container_whose_image_could_not_be_pinned(self, text: str) -> None:
        """B21: the API server stores any text; said before it is needed."""
        problem = read(restarting("web"), with_containers(container("web", text))).problem
        assert problem is not None
        assert problem.reason is Reason.ForeignValue

    def test_a_named_container_that_is_not_there(self) -> None:
        problem = read(restarting("web", "gone"), with_containers(container("web"))).problem
        assert problem is not None
        assert problem.reason is Reason.ContainerNotFound
        assert "gone" in problem.message

    @pytest.mark.parametrize("pulls", ["IfNotPresent", "Never", None])
    def test_another_pull_policy(self, pulls: str) -> None:
        target = with_containers(container("web", WEB_TEXT, pulls))
        problem = read(WEB, target).problem
        assert problem is not None
        assert problem.reason is Reason.PullPolicyNotAlways
        assert read(restarting(assume_always_pulls=True), target).problem is None

    def test_one_of_several_that_does_not_pull(self) -> None:
        target = with_containers(
            container("web", WEB_TEXT), init=[container("init", WEB_TEXT, "Never")]
        )
        problem = read(WEB, target).problem
        assert problem is not None
        assert "init" in problem.message

    @pytest.mark.parametrize("image", [WEB, restarting(assume_always_pulls=True)])
    def test_a_digest_in_the_image(self, image: Image) -> None:
        problem = read(image, with_containers(container("web", f"{WEB_TEXT}@{D1}"))).problem
        assert problem is not None
        assert problem.reason is Reason.DigestInImage

    def test_our_own_pin_is_no_foreign_digest(self) -> None:
        """B21: a pin is ours only if the template says so."""
        found = read(WEB, a_target(pin=D1))
        assert (found.digest, found.is_pinned, found.problem) == (D1, True, None)

    @pytest.mark.parametrize("text", [f"{WEB_TEXT}@{D2}", f"{REGISTRY}/example/web:other@{D1}"])
    def test_a_pin_that_somebody_changed_is_not_ours(self, text: str) -> None:
        target = a_target(pin=D1)
        target["spec"]["template"]["spec"]["containers"][0]["image"] = text
        found = read(WEB, target)
        assert not found.is_pinned
        assert found.problem is not None

    def test_our_own_pin_of_another_tag_is_of_no_concern(self) -> None:
        """B21: after a change of the policy's tag; without the pin the old tag would run."""
        other = an_image(ActionType.RESTART, tag="stable")
        problem = read(other, a_target(pin=D1)).problem
        assert problem is not None
        assert problem.reason is Reason.NoMatchingContainer

    def test_a_pin_that_somebody_took_away_floats(self) -> None:
        target = a_target(pin=D1)
        target["spec"]["template"]["spec"]["containers"][0]["image"] = WEB_TEXT
        assert read(WEB, target) == Carried(containers=("web",))

    @pytest.mark.parametrize(
        "text",
        [
            "{",
            "[]",
            "null",
            '"x"',
            json.dumps({"digest": D1}),
            json.dumps({"digest": D1, "images": {}}),
            json.dumps({"digest": D1, "images": ["web"]}),
            json.dumps({"digest": D1, "images": {"web": 7}}),
            json.dumps({"digest": D1, "images": {"web": "Not A Reference"}}),
            json.dumps({"digest": "v1", "images": {"web": WEB_TEXT}}),
            json.dumps({"digest": [D1], "images": {"web": WEB_TEXT}}),
            "[" * 100_000,
        ],
    )
    def test_a_garbled_pin_is_none(self, text: str) -> None:
        target = a_target(pin=D1)
        target["spec"]["template"]["metadata"]["annotations"][pin_annotation("web")] = text
        found = read(WEB, target)
        assert not found.is_pinned
        assert found.problem is not None
        assert found.problem.reason is Reason.DigestInImage


class TestReadVariable:
    """B18."""

    def test_a_digest(self) -> None:
        assert read(INGESTOR, a_target(variable=D1)) == Carried(D1, containers=("api",))

    @pytest.mark.parametrize("entry", [{"value": ""}, {}, {"value": None}])
    def test_empty(self, entry: Json) -> None:
        target = with_containers(container("api", env=[{"name": VARIABLE, **entry}]))
        assert read(INGESTOR, target) == Carried(containers=("api",))

    @pytest.mark.parametrize("env", [None, [], [{"name": "OTHER", "value": D2}]])
    def test_missing(self, env: Json) -> None:
        assert read(INGESTOR, with_containers(container("api", env=env))).digest is None

    def test_in_an_init_container(self) -> None:
        entry = {"name": VARIABLE, "value": D1}
        target = with_containers(container("web"), init=[container("api", env=[entry])])
        assert read(INGESTOR, target).digest == D1

    @pytest.mark.parametrize(
        ("env", "reason"),
        [
            ([{"name": VARIABLE, "value": "v1.2"}], Reason.ForeignValue),
            ([{"name": VARIABLE, "value": f" {D1}"}], Reason.ForeignValue),
            ([{"name": VARIABLE, "value": D1.upper()}], Reason.ForeignValue),
            ([{"name": VARIABLE, "value": f"example/web@{D1}"}], Reason.ForeignValue),
            ([{"name": VARIABLE, "valueFrom": {"fieldRef": {}}}], Reason.ValueFrom),
            ([{"name": VARIABLE, "value": D1}, {"name": VARIABLE}], Reason.DuplicateVariable),
        ],
    )
    def test_what_is_left_alone(self, env: Json, reason: Reason) -> None:
        problem = read(INGESTOR, with_containers(container("api", env=env))).problem
        assert problem is not None
        assert problem.reason is reason
        assert VARIABLE in problem.message

    def test_no_such_container(self) -> None:
        problem = read(setting("gone"), a_target()).problem
        assert problem is not None
        assert problem.reason is Reason.ContainerNotFound
        assert "web, api, proxy" in problem.message

    def test_a_foreign_value_is_not_shown(self) -> None:
        """It may be a secret of a person who named the wrong variable."""
        problem = read(INGESTOR, a_target(variable="hunter2")).problem
        assert problem is not None
        assert "hunter2" not in problem.message


class TestReadImageField:
    """B18: only where the repository already is the policy's."""

    @pytest.mark.parametrize(
        ("text", "digest"),
        [
            (f"{REGISTRY}/example/proxy:prod", None),
            (f"{REGISTRY}/example/proxy", None),
            (f"{REGISTRY}/example/proxy:other", None),
            (f"{REGISTRY}/example/proxy@{D1}", D1),
            (f"REGISTRY.example.com/example/proxy:prod@{D1}", D1),
        ],
    )
    def test_of_the_same_repository(self, text: str, digest: str | None) -> None:
        target = with_containers(container("proxy", text))
        assert read(PROXY, target) == Carried(digest, containers=("proxy",))

    @pytest.mark.parametrize("text", [f"{REGISTRY}/example/other@{D1}", "proxy:prod", "???", ""])
    def test_of_another(self, text: str) -> None:
        problem = read(PROXY, with_containers(container("proxy", text))).problem
        assert problem is not None
        assert problem.reason is Reason.ForeignValue

    def test_in_an_init_container(self) -> None:
        text = f"{REGISTRY}/example/proxy@{D1}"
        target = with_containers(container("web"), init=[container("proxy", text)])
        assert read(PROXY, target).digest == D1


@pytest.mark.parametrize(
    ("text", "stamp"),
    [
        (f"5 {D2}", STAMP),
        (None, None),
        ("", None),
        (D2, None),
        (f"-5 {D2}", None),
        (f"5  {D2}", None),
        (f"5 {D2} ", None),
        (f"five {D2}", None),
        ("5 v1.2", None),
        (f"{MAX_SERIAL} {D2}", None),
        (f"{'9' * 5000} {D2}", None),
    ],
)
@pytest.mark.parametrize("image", [WEB, INGESTOR, PROXY], ids=lambda image: image.name)
def test_a_stamp_is_read_whole_or_not_at_all(
    image: Image, text: str | None, stamp: Stamp | None
) -> None:
    """B22: an unparsable value counts as missing."""
    stamps = {} if text is None else {stamp_annotation(image.name): text}
    assert read(image, a_target(variable=D1, stamps=stamps)).stamp == stamp


@pytest.mark.parametrize(
    ("image", "target", "digest", "expected"),
    [
        (WEB, a_target(), D1, True),
        (WEB, a_target(), None, False),
        (WEB, a_target(pin=D1), D1, True),
        (WEB, a_target(pin=D1), D2, False),
        (INGESTOR, a_target(variable=D1), D1, True),
        (INGESTOR, a_target(variable=D1), D2, False),
        (INGESTOR, a_target(), D1, False),
        (PROXY, a_target(proxy=D1), D1, True),
        (PROXY, a_target(proxy="prod"), D1, False),
    ],
)
def test_a_template_carries_what_its_field_has_or_a_floating_restart_anything(
    image: Image, target: dict[str, Json], digest: str | None, expected: bool
) -> None:
    """The words of the contract; B17 for the floating one."""
    assert carries(image, read(image, target), digest) is expected
