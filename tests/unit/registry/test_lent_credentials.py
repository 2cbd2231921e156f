"""Docker configs that the registries file names: who may use what, and when they change (B10)."""

import asyncio
import base64
import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from imagerefresh.reference import parse
from imagerefresh.registry import (
    ConfigFile,
    InvalidConfigError,
    RegistryClient,
    Rules,
    Trouble,
)
from unit.registry.conftest import Ruled
from unit.registry.resolving import DENIED, DIGEST, GOOD, by_user, resolved, tokens_asked
from unit.registry.scripted import ScriptedRegistry

APP = parse("registry.example.com/team/app:prod")
SECRET = "s3cr3t-Pa55w0rd"


def docker_config(password: str, *keys: str, username: str = "robot") -> str:
    auth = base64.b64encode(f"{username}:{password}".encode()).decode()
    return json.dumps({"auths": {key: {"auth": auth} for key in keys or (APP.registry,)}})


def mount(folder: Path, content: str, name: str = ".dockerconfigjson") -> Path:
    """Mount a Secret as the kubelet does: a change of it replaces one link."""
    folder.mkdir(exist_ok=True)
    data = folder / f"..{len(list(folder.iterdir()))}"
    data.mkdir()
    (data / name).write_text(content)
    new = folder / "..data_tmp"
    new.symlink_to(data.name)
    new.replace(folder / "..data")
    link = folder / name
    if not link.is_symlink():
        link.symlink_to(f"..data/{name}")
    return link


def lend(path: Path, *rules: tuple[Path, str]) -> ConfigFile:
    lines = [f"- {{dockerConfigFile: {file}, namespaces: [{names}]}}" for file, names in rules]
    path.write_text("\n".join(["credentials:", *lines]))
    return ConfigFile(path, allow_loopback=False)


def passwords(rules: Rules | None, namespace: str, image: str = str(APP)) -> list[str]:
    assert rules is not None
    return [each.password for each in rules.credentials_for(parse(image), namespace)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "registries.yaml"


def test_only_the_listed_namespaces_have_them(tmp_path: Path, path: Path) -> None:
    """In the order of the file; the keys of a docker config say for which images."""
    one = mount(tmp_path / "one", docker_config("1", APP.name, "other.example.com"))
    two = mount(tmp_path / "two", docker_config("2"))
    rules = lend(path, (one, "shop, bank"), (two, "shop")).load()
    assert passwords(rules, "shop") == ["1", "2"]
    assert passwords(rules, "bank") == ["1"]
    assert passwords(rules, "bank", "registry.example.com/team2:1") == []
    assert passwords(rules, "bank", "other.example.com/any:1") == ["1"]
    for namespace in ("sho", "shop2", "SHOP", "", "*"):
        assert passwords(rules, namespace) == []


def test_they_are_named_by_the_path(tmp_path: Path, path: Path) -> None:
    """What is refused is told under this name, beside pull secrets."""
    file = mount(tmp_path / "one", docker_config(SECRET))
    rules = lend(path, (file, "shop")).load()
    (credential,) = rules.credentials_for(APP, "shop")
    assert credential.source == f'docker config "{file}"'
    assert SECRET not in repr([rules, vars(rules), credential])


def test_the_older_form_is_known_by_its_name(tmp_path: Path, path: Path) -> None:
    """As the key of a Secret of that type is mounted."""
    auths = json.dumps(json.loads(docker_config("1"))["auths"])
    file = mount(tmp_path / "one", auths, ".dockercfg")
    assert passwords(lend(path, (file, "shop")).load(), "shop") == ["1"]


def test_a_changed_docker_config_holds_without_a_change_of_the_file(
    tmp_path: Path, path: Path
) -> None:
    file = lend(path, (mount(tmp_path / "one", docker_config("1")), "shop"))
    assert passwords(file.load(), "shop") == ["1"]
    assert file.load_if_changed() is None
    mount(tmp_path / "one", docker_config("2"))
    assert passwords(file.load_if_changed(), "shop") == ["2"]
    assert file.load_if_changed() is None


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (f'{{\n "auths": {SECRET}\n}}', "its content is not JSON (line 2)"),
        (docker_config("1", "a.test")[:-1] + ', "credsStore": "x"}', "credsStore can't be used"),
        ("{}", "it has no entries"),
        (
            json.dumps({"auths": {"a.test": {"auth": SECRET}, "b.test": {"username": "x"}}}),
            'the entry "a.test" can\'t be used: its auth is not base64',
        ),
        ("#" * 2_000_000, "larger than"),
    ],
)
def test_a_bad_docker_config_is_told_with_line_and_reason(
    tmp_path: Path, path: Path, content: str, why: str
) -> None:
    """Any fault counts, as in the file itself; whoever reads it again keeps the last good one."""
    file = lend(path, (mount(tmp_path / "one", docker_config("1")), "shop"))
    file.load()
    mounted = mount(tmp_path / "one", content)
    with pytest.raises(InvalidConfigError) as caught:
        file.load_if_changed()
    message = str(caught.value)
    assert message.startswith(f"{path}:2: credentials.0.dockerConfigFile: ")
    assert str(mounted) in message
    assert why in message
    assert SECRET not in message
    assert file.load_if_changed() is None
    mount(tmp_path / "one", docker_config("3"))
    assert passwords(file.load_if_changed(), "shop") == ["3"]


def test_a_missing_docker_config_is_awaited(tmp_path: Path, path: Path) -> None:
    missing = tmp_path / "one" / ".dockerconfigjson"
    file = lend(path, (missing, "shop"))
    with pytest.raises(InvalidConfigError, match=r":2: credentials\.0\..*no such file"):
        file.load()
    assert file.load_if_changed() is None
    mount(tmp_path / "one", docker_config("1"))
    assert passwords(file.load_if_changed(), "shop") == ["1"]


@pytest.fixture
async def client(registry: ScriptedRegistry, ruled: Ruled, tmp_path: Path) -> RegistryClient:
    """One that lends the password of the private image to policies of the namespace shop."""
    file = mount(tmp_path / "one", docker_config("pass-one", registry.host, username="one"))
    return await ruled(
        f"hosts: {{'{registry.host}': {{allowLoopback: true}}}}\n"
        f"credentials: [{{dockerConfigFile: {file}, namespaces: [shop]}}]"
    )


async def test_an_answer_is_kept_from_other_namespaces(
    registry: ScriptedRegistry, client: RegistryClient
) -> None:
    """No answer that is kept serves a policy without the credentials, and no token does: its own
    question goes out bare, and is refused.
    """
    by_user(registry, one=GOOD, nobody=DENIED)
    registry.on("GET", f"/v2/team/app/manifests/{DIGEST}", registry.bearer())
    image, since = registry.reference, time.monotonic()
    lent = client.credentials_for(image, "shop")
    assert client.credentials_for(image, "bank") == ()
    assert "docker config" in (await resolved(client, image, lent, since)).used
    registry.seen.clear()
    await resolved(client, image, lent, since)
    assert registry.seen == []  # for those who have them it is kept
    found = await client.resolve(image, client.credentials_for(image, "bank"), fresh_since=since)
    assert isinstance(found, Trouble)
    assert tokens_asked(registry) == [None]
    assert "Bearer good" not in [seen.authorization for seen in registry.seen]
    assert await client.inspect(image, DIGEST) is not None


async def test_a_question_in_flight_is_not_shared_with_other_namespaces(
    registry: ScriptedRegistry, client: RegistryClient
) -> None:
    hold = asyncio.Event()
    by_user(registry, one=replace(GOOD, hold=hold), nobody=DENIED)
    image = registry.reference
    asking = asyncio.create_task(resolved(client, image, client.credentials_for(image, "shop")))
    await registry.asked(2)  # it waits for its token
    for since in (0.0, time.monotonic()):
        found = await client.resolve(
            image, client.credentials_for(image, "bank"), fresh_since=since
        )
        assert isinstance(found, Trouble)
        assert not asking.done()
    hold.set()
    assert (await asking).digest == DIGEST


async def test_who_is_taken_off_the_list_has_nothing_of_what_came_before(
    registry: ScriptedRegistry, client: RegistryClient
) -> None:
    by_user(registry, one=GOOD, nobody=DENIED)
    registry.on("GET", f"/v2/team/app/manifests/{DIGEST}", registry.bearer())
    image, since = registry.reference, time.monotonic()
    await resolved(client, image, client.credentials_for(image, "shop"), since)
    client.use(Rules(allow_loopback=True))
    assert client.credentials_for(image, "shop") == ()
    found = await client.resolve(image, client.credentials_for(image, "shop"), fresh_since=since)
    assert isinstance(found, Trouble)
