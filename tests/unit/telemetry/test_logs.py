import asyncio
import io
import json
import logging
from collections.abc import Iterator

import pytest

from imagerefresh.telemetry import logs


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    """`configure` changes what all tests share."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in logs.QUIET}
    root.handlers = []  # `configure` would close those of the test runner
    yield
    root.handlers = handlers
    root.setLevel(level)
    for name, its_level in levels.items():
        logging.getLogger(name).setLevel(its_level)


def configure(*, json_lines: bool = False, level: str = "info") -> io.StringIO:
    stream = io.StringIO()
    logs.configure(json_lines=json_lines, level=level, stream=stream)
    return stream


logger = logging.getLogger("imagerefresh.test")


def test_text_is_one_line_with_time_level_logger_and_policy() -> None:
    stream = configure()
    with logs.about_policy("shop", "web"):
        logger.info("asked for %s", "sha256:1")
    logger.warning("outside")
    first, second = stream.getvalue().splitlines()
    assert first.endswith("+00:00 INFO imagerefresh.test [shop/web] asked for sha256:1")
    assert second.endswith("+00:00 WARNING imagerefresh.test outside")


def test_json_is_one_object_per_line() -> None:
    stream = configure(json_lines=True)
    with logs.about_policy("shop", "web"):
        logger.info("two\nlines")
    logger.error("failed", exc_info=ValueError("Authorization: Bearer hush-hush"))
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert first.pop("time").endswith("+00:00")
    assert first == {
        "level": "info",
        "logger": "imagerefresh.test",
        "message": "two\nlines",
        "policy": "shop/web",
    }
    assert "ValueError" in second["exception"]
    assert "hush" not in second["exception"]


async def test_tasks_keep_the_policy_that_they_were_started_for() -> None:
    stream = configure()

    async def work(name: str) -> None:
        with logs.about_policy("shop", name):
            await asyncio.gather(*(asyncio.to_thread(logger.info, "at work") for _ in range(2)))

    await asyncio.gather(work("a"), work("b"))
    lines = stream.getvalue().splitlines()
    assert sorted(line.split()[3] for line in lines) == [
        "[shop/a]",
        "[shop/a]",
        "[shop/b]",
        "[shop/b]",
    ]


@pytest.mark.parametrize("name", logs.QUIET)
def test_libraries_are_heard_from_warning_on(name: str) -> None:
    """B27: quiet policies are quiet; and libraries log whole answers below that."""
    stream = configure(level="debug")
    child = logging.getLogger(f"{name}.child")
    child.info("chatter")
    child.warning("trouble")
    assert [line.split()[-1] for line in stream.getvalue().splitlines()] == ["trouble"]


@pytest.mark.parametrize(("outcome", "level"), [("will retry", "WARNING"), ("escalating", "ERROR")])
def test_what_the_framework_tries_again_is_no_error(outcome: str, level: str) -> None:
    """B29: an API server that is overloaded delays, and no more."""
    stream = configure()
    log = logging.getLogger("kopf._cogs.clients.watching")
    log.error("Request attempt #1/9 failed; %s: GET https://10.0.0.1/apis -> 429", outcome)
    assert stream.getvalue().split()[1] == level


def test_the_level_holds_for_libraries_too() -> None:
    stream = configure(level="error")
    logging.getLogger("kopf.child").warning("trouble")
    assert not stream.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer s3cr3t-value",
        "authorization=s3cr3t-value",
        '{"Authorization": "Basic s3cr3t-value"}',
        "<CIMultiDict('Proxy-Authorization': 'Basic s3cr3t-value')>",
        "Authorization: Digest username=me, response=s3cr3t-value",
        "sent bearer s3cr3t-value to the registry",
        "BASIC s3cr3t-value==",
        "GET https://me:s3cr3t-value@registry.example.com/v2/",
        "GET https://:s3cr3t-value@registry.example.com/v2/",
        "token eyJhbGciOiJub25lIn0.s3cr3t-value.c2ln is expired",
    ],
)
def test_what_looks_like_a_credential_is_redacted(text: str) -> None:
    stream = configure()
    logger.info("it said: %s", text)
    assert "s3cr3t" not in stream.getvalue()
    assert "[redacted]" in stream.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        'Bearer realm="https://auth.docker.io/token",service="registry.docker.io"',
        "the registry wants Basic authentication",
        "https://registry.example.com:5000/v2/a@sha256:abc",
        "docker.io/library/nginx:1.25@sha256:" + "a" * 64,
        "asked for sha256:" + "0" * 64,
    ],
)
def test_what_is_no_credential_stays(text: str) -> None:
    assert logs.redact(text) == text
