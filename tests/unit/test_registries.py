"""The registries file as long as the process runs."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from yarl import URL

from imagerefresh import registries as module
from imagerefresh.cli import main
from imagerefresh.registries import Registries
from imagerefresh.registry import InvalidConfigError, RegistryClient, Rules
from imagerefresh.registry.bucket import Rate
from imagerefresh.settings import Settings

LIMIT = "hosts: {{a.test: {{rateLimit: {{requestsPerSecond: {}}}}}}}\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "registries.yaml"
    path.write_text(LIMIT.format(1))
    return path


@pytest.fixture
async def registries(path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Registries]:
    monkeypatch.setattr(module, "LOOK_EVERY", 0.005)
    registries = Registries.open(Settings(registries_file=path), lambda _: None)
    registries.follow()
    yield registries
    await registries.close()


def rate(client: RegistryClient) -> Rate:
    return client._transport.hosts.get("a.test", 0).bucket.rate


def write(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


def counting(real: Callable[[], Rules | None], count: Callable[[], None]) -> Callable[..., object]:
    def both() -> Rules | None:
        count()
        return real()

    return both


async def wait_for(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 (nobody tells)
            await asyncio.sleep(0.005)


async def test_a_change_holds_without_a_restart(
    registries: Registries, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    assert rate(registries.client) == Rate(1, 1)
    write(path, LIMIT.format(2))
    await wait_for(lambda: rate(registries.client) == Rate(2, 1))
    assert [record.message for record in caplog.records] == [
        "the registries file has changed, and holds now"
    ]


async def test_a_bad_file_leaves_the_last_good_one_and_is_told_once(
    registries: Registries,
    path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(path, "hosts: {a.test: {rateLimits: 1}}")
    await wait_for(lambda: bool(caplog.records))
    write(path, "hosts: [")
    await wait_for(lambda: len(caplog.records) >= 2)
    file = registries._file
    assert file is not None
    looks = 0

    def look() -> None:
        nonlocal looks
        looks += 1

    monkeypatch.setattr(file, "load_if_changed", counting(file.load_if_changed, look))
    await wait_for(lambda: looks >= 5)
    first, second = (record.message for record in caplog.records)
    assert f"the last good one holds: {path}:1: hosts.a.test.rateLimits: Extra inputs" in first
    assert "not YAML" in second
    assert rate(registries.client) == Rate(1, 1)
    write(path, LIMIT.format(3))
    await wait_for(lambda: rate(registries.client) == Rate(3, 1))


@pytest.mark.parametrize("has_file", [False, True])
async def test_proxies_of_the_environment_hold_with_and_without_a_file(
    path: Path, has_file: bool
) -> None:
    variables = {"HTTPS_PROXY": "http://robot:hidden@proxy.test:3128"}
    if has_file:
        variables["IMAGEREFRESH_REGISTRIES_FILE"] = str(path)
    settings = Settings.from_environment(variables)
    registries = Registries.open(settings, lambda _: None)
    proxy = registries.client._transport.rules.proxy_for(URL("https://ghcr.io/"))
    assert proxy is not None
    assert str(proxy.url) == "http://proxy.test:3128"
    assert "hidden" not in repr(settings)
    await registries.close()


async def test_without_a_file_nothing_is_followed() -> None:
    registries = Registries.open(Settings(), lambda _: None)
    registries.follow()
    assert registries._following is None
    await registries.close()


def test_a_bad_file_at_the_start_is_an_error(path: Path) -> None:
    path.write_text("hosts: 1")
    with pytest.raises(InvalidConfigError, match=":1: hosts: Input should be"):
        Registries.open(Settings(registries_file=path), lambda _: None)


@pytest.mark.parametrize("command", [["run"], ["resolve", "ghcr.io/example/app"]])
def test_a_bad_file_is_exit_code_2(
    path: Path,
    command: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path.write_text("hosts:\n  ghcr.io: {caFile: /does/not/exist}\n")
    monkeypatch.setenv("IMAGEREFRESH_REGISTRIES_FILE", str(path))
    assert main(command) == 2
    assert ":2: hosts.ghcr.io.caFile: no such file or directory" in capsys.readouterr().err
