"""`imagerefresh resolve`, against a scripted registry."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from imagerefresh.cli import main
from imagerefresh.reference import parse
from imagerefresh.registry import Credential, manifests
from imagerefresh.resolve import as_json, as_text, look
from imagerefresh.settings import Settings
from unit.registry.scripted import (
    INDEX,
    Reply,
    ScriptedRegistry,
    digest_of,
    manifest,
    raw_server,
    scripted_registry,
    token,
)

INSECURE = Settings(allow_insecure_registries=True)
CHILD = f"sha256:{'1' * 64}"
ATTESTATION = f"sha256:{'2' * 64}"
NO_IMAGE = "(no image: an attestation or another artifact)"
ATTESTED = json.dumps(
    {
        "mediaType": manifests.OCI_INDEX,
        "manifests": [
            {
                "mediaType": manifests.OCI_MANIFEST,
                "digest": CHILD,
                "platform": {"os": "linux", "architecture": "arm64", "variant": "v8"},
            },
            {
                "mediaType": manifests.OCI_MANIFEST,
                "digest": ATTESTATION,
                "platform": {"os": "unknown", "architecture": "unknown"},
                "annotations": {"vnd.docker.reference.type": "attestation-manifest"},
            },
        ],
    }
).encode()
LIMITS = (("RateLimit-Remaining", "76;w=21600"),)


@pytest.fixture
async def registry() -> AsyncIterator[ScriptedRegistry]:
    async with scripted_registry() as registry:
        yield registry


def serve(registry: ScriptedRegistry, body: bytes) -> str:
    """Serve it under a tag, and return the reference."""
    good = manifest(body)
    registry.on_tag("HEAD", Reply(200, good.headers + LIMITS, body))
    registry.on("GET", f"/v2/team/app/manifests/{digest_of(body)}", good)
    return f"{registry.host}/team/app:prod"


def serve_to_one_user(registry: ScriptedRegistry) -> str:
    """Serve it to good:s3cret alone, and return the reference."""
    image = serve(registry, INDEX)
    demand = Reply(401, (("WWW-Authenticate", 'Basic realm="x"'),))
    registry.on_tag(
        "HEAD",
        lambda seen: manifest() if seen.authorization == "Basic Z29vZDpzM2NyZXQ=" else demand,
    )
    return image


async def run(*arguments: str) -> int:
    return await asyncio.to_thread(main, ["resolve", *arguments])


@pytest.fixture
def _insecure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMAGEREFRESH_ALLOW_INSECURE_REGISTRIES", "true")


@pytest.mark.usefixtures("_insecure")
async def test_shows_what_the_operator_would_see(
    registry: ScriptedRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    image = serve(registry, ATTESTED)
    assert await run(image) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:6] == [
        f"image       {image}",
        f"digest      {digest_of(ATTESTED)}",
        f"media type  {manifests.OCI_INDEX}",
        f"platforms   linux/arm64/v8    {CHILD}",
        f"            unknown/unknown   {ATTESTATION}  {NO_IMAGE}",
        "credential  none",
    ]
    assert lines[6].startswith(
        f"requests    HEAD {registry.host}/v2/team/app/manifests/prod  200  "
    )
    assert lines[7].endswith(" s")
    assert lines[8:] == [f"limits      {registry.host}  ratelimit-remaining: 76;w=21600"]
    assert [seen.method for seen in registry.seen] == ["HEAD", "GET"]


@pytest.mark.usefixtures("_insecure")
async def test_the_same_as_json(
    registry: ScriptedRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    image = serve(registry, ATTESTED)
    assert await run(image, "--output", "json") == 0
    found = json.loads(capsys.readouterr().out)
    requests = found.pop("requests")
    assert found == {
        "image": image,
        "digest": digest_of(ATTESTED),
        "mediaType": manifests.OCI_INDEX,
        "platforms": [
            {"platform": "linux/arm64/v8", "digest": CHILD, "isImage": True},
            {"platform": "unknown/unknown", "digest": ATTESTATION, "isImage": False},
        ],
        "credential": None,
        "rejected": [],
        "trouble": None,
    }
    assert [(r["method"], r["status"], r["cause"]) for r in requests] == [
        ("HEAD", 200, None),
        ("GET", 200, None),
    ]
    assert requests[0]["limits"] == {"ratelimit-remaining": "76;w=21600"}


@pytest.mark.usefixtures("_insecure")
@pytest.mark.parametrize("output", ["text", "json"])
async def test_a_missing_tag_is_exit_code_1_and_told(
    registry: ScriptedRegistry, capsys: pytest.CaptureFixture[str], output: str
) -> None:
    assert await run(f"{registry.host}/team/app:gone", "--output", output) == 1
    shown = capsys.readouterr().out
    assert "ImageNotFoundOrDenied" in shown
    assert "check the name and the tag" in shown
    assert "404" in shown


@pytest.mark.usefixtures("_insecure")
async def test_what_is_no_image_is_exit_code_1_with_its_digest(
    registry: ScriptedRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    body = json.dumps({"mediaType": manifests.OCI_INDEX, "manifests": []}).encode()
    assert await run(serve(registry, body)) == 1
    shown = capsys.readouterr().out
    assert digest_of(body) in shown
    assert "NotAnImage" in shown


async def test_loopback_is_refused_without_the_setting(
    registry: ScriptedRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    """B28: as the operator does."""
    assert await run(serve(registry, INDEX)) == 1
    assert "RegistryMisconfigured" in capsys.readouterr().out
    assert registry.seen == []


async def test_a_bad_reference_is_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert await run("ghcr.io/Example/app") == 2
    shown = capsys.readouterr()
    assert "must be in lower case" in shown.err
    assert shown.out == ""


async def test_a_bad_setting_is_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("IMAGEREFRESH_ALLOW_INSECURE_REGISTRIES", "yes")
    assert await run("ghcr.io/example/app") == 2
    assert "IMAGEREFRESH_ALLOW_INSECURE_REGISTRIES" in capsys.readouterr().err


async def test_names_the_credentials_and_shows_none(registry: ScriptedRegistry) -> None:
    """B10."""
    serve(registry, INDEX)
    good = manifest(INDEX)
    for method, path in (("HEAD", "prod"), ("GET", digest_of(INDEX))):
        registry.on(
            method,
            f"/v2/team/app/manifests/{path}",
            lambda seen: good if seen.authorization == "Bearer t0ken" else registry.bearer(),
        )
    registry.on(
        "GET",
        "/token",
        lambda seen: (
            token() if (seen.authorization or "").endswith("Z29vZDpzM2NyZXQ=") else Reply(401)
        ),
    )
    credentials = (
        Credential('secret "old"', username="old", password="s3cret"),
        Credential('secret "good"', username="good", password="s3cret"),
    )
    found = await look(parse(f"{registry.host}/team/app:prod"), INSECURE, credentials)
    assert found.resolved is not None
    assert (found.resolved.used, found.rejected) == ('secret "good"', ('secret "old"',))
    for shown in (as_text(found), as_json(found), repr(found)):
        assert "s3cret" not in shown
        assert "t0ken" not in shown
        assert "Z29vZDpzM2NyZXQ" not in shown
    assert 'credential  secret "good"' in as_text(found)
    assert 'rejected    secret "old"' in as_text(found)
    assert json.loads(as_json(found))["credential"] == 'secret "good"'


@pytest.mark.usefixtures("_insecure")
async def test_credentials_come_from_a_docker_config(
    registry: ScriptedRegistry, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """B10: matched as pull secrets are."""
    image = serve_to_one_user(registry)
    entry = {"username": "good", "password": "s3cret"}
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"auths": {registry.host: entry, "other.test": {}}}))
    assert await run(image, "--docker-config", str(path)) == 0
    shown = capsys.readouterr()
    assert str(path) in shown.out
    assert "s3cret" not in shown.out + shown.err
    assert await run(image) == 1
    assert await run(image, "--docker-config", str(tmp_path / "none")) == 2
    assert "none: no such file" in capsys.readouterr().err


@pytest.mark.usefixtures("_insecure")
async def test_a_namespace_brings_what_the_registries_file_lends_it(
    registry: ScriptedRegistry,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """After the docker config that stands for pull secrets; and nothing without a namespace."""
    image = serve_to_one_user(registry)
    pulls, lent, file = (tmp_path / name for name in ("pulls.json", "lent.json", "registries.yaml"))
    for path, password in ((pulls, "wrong"), (lent, "s3cret")):
        entry = {"username": "good", "password": password}
        path.write_text(json.dumps({"auths": {registry.host: entry}}))
    file.write_text(f"credentials: [{{dockerConfigFile: {lent}, namespaces: [shop]}}]")
    monkeypatch.setenv("IMAGEREFRESH_REGISTRIES_FILE", str(file))
    assert await run(image, "--docker-config", str(pulls), "--namespace", "shop") == 0
    shown = capsys.readouterr().out
    assert f'credential  docker config "{lent}"\nrejected    {pulls}\n' in shown
    assert await run(image, "--namespace", "bank") == 1
    assert await run(image) == 1
    assert "docker config" not in capsys.readouterr().out


async def test_goes_through_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And tells which exceptions have no effect."""
    heads: list[bytes] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    async with raw_server(refuse) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"robot:hidden@{proxy}")
        monkeypatch.setenv("NO_PROXY", ".svc,<local>")
        assert await run("registry.example.com/team/app:prod") == 1
    shown = capsys.readouterr()
    assert heads[0].startswith(b"CONNECT registry.example.com:443 ")
    assert "the proxy answers HTTP 407" in shown.out
    assert shown.err.startswith("entry 2 of NO_PROXY has no effect")
    assert "hidden" not in shown.out + shown.err
