"""The operator among hostile registries, all at once: nobody but its registry gets to see anything
of a credential, and nothing that people can read shows any of it (B8, B10, B28).

Each attack alone, and those that need names or time, are in unit/registry/attacks.
"""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

import pytest
import trustme

from cluster.conftest import StartOperator
from cluster.private import GRANTED, SECRET, named, pull_secret_with, said, with_secrets
from cluster.story import RARELY, VARIABLE, check, entry, events
from testbed.api import Manifest
from testbed.loop import BackgroundLoop
from testbed.namespace import Namespace
from testbed.waiting import eventually
from testbed.workloads import container, policy, set_env, workload
from unit.registry.attacks import rows_floods, rows_realms, rows_redirects
from unit.registry.attacks.marks import docker_auth, found
from unit.registry.attacks.stage import (
    ATTACKS,
    Attack,
    Check,
    Stage,
    assert_kept,
    registries_file,
    staged,
)
from unit.registry.scripted import INDEX, digest_of

ROWS = (rows_floods, rows_realms, rows_redirects)  # they fill the table


class Source(Enum):
    """Where a credential comes from."""

    POLICY = auto()
    TARGET = auto()
    OPERATOR = auto()


@dataclass
class Played:
    """A row on stage; its name is that of policy and target, too. `source` holds its credential."""

    name: str
    source: Source
    row: Attack
    stage: Stage
    check: Check | None

    def is_over(self, resource: Manifest) -> bool:
        """Whether a policy says what must come of the attack."""
        image = entry(resource)
        if self.row.outcome is None:
            return image.get("latest") == digest_of(INDEX)
        return image.get("reason") == self.row.outcome and self.row.says in image["message"]


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Sequence[Played]]:
    loop = BackgroundLoop("attackers")
    ca = trustme.CA()
    ca_file = tmp_path / "ca.crt"
    ca.cert_pem.write_to_path(str(ca_file))
    with ExitStack() as stack:
        stack.callback(loop.stop)
        rows: list[Played] = []
        sources = itertools.cycle(Source)
        for name, row in ATTACKS.items():
            if not row.outlasts:
                stage = stack.enter_context(staged(row, loop, ca))
                check = row.play(stage)
                rows.append(Played(name.replace("_", "-"), next(sources), row, stage, check))
        text = registries_file([(each.row, each.stage) for each in rows], ca_file)
        (tmp_path / "registries.yaml").write_text(text)
        yield rows


def test_no_byte_of_a_credential_goes_astray(
    namespace: Namespace,
    start_operator: StartOperator,
    played: Sequence[Played],
    tmp_path: Path,
) -> None:
    _lend(tmp_path, namespace, played)
    operator = start_operator(
        components=GRANTED,
        environment={
            "IMAGEREFRESH_ALLOW_INSECURE_REGISTRIES": "false",
            "IMAGEREFRESH_REGISTRIES_FILE": str(tmp_path / "registries.yaml"),
            "IMAGEREFRESH_LOG_LEVEL": "debug",
        },
    )
    namespace.create(pull_secret_with(_auths(played, Source.POLICY, Source.TARGET)))
    for each in played:
        _follow(namespace, each)
    for each in played:
        _wait_over(namespace, each)
    for each in played:  # now it is known what each registry demands
        assert each.is_over(check(namespace, each.name)), each.name

    for each in played:
        assert_kept(each.row, each.stage)
        assert each.check is None or each.check(), each.name
        heard = each.stage.registry.received + each.stage.thief.received
        for other in played:
            assert other is each or not found(other.stage.marks, heard), (each.name, other.name)
    texts = said(namespace) | {"metrics": operator.metrics()}
    for where, text in texts.items():
        for each in played:
            assert not found(each.stage.marks, text), (where, each.name)
    _assert_all_is_heard(namespace, played, texts)


def _auths(played: Sequence[Played], *sources: Source) -> dict[str, dict[str, str]]:
    """One docker config for several: what it holds for one registry is not for another."""
    stages = [each.stage for each in played if each.source in sources]
    return {stage.reference.registry: docker_auth(stage.credential) for stage in stages}


def _lend(folder: Path, namespace: Namespace, played: Sequence[Played]) -> None:
    """Let the namespace use what the operator itself holds."""
    config = folder / "lent.json"
    config.write_text(json.dumps({"auths": _auths(played, Source.OPERATOR)}))
    lent = f"{{dockerConfigFile: {config}, namespaces: [{namespace.name}]}}"
    with (folder / "registries.yaml").open("a") as file:
        file.write(f"\ncredentials: [{lent}]\n")


def _follow(namespace: Namespace, played: Played) -> None:
    """Create a target that needs no pods, and a policy."""
    reference = played.stage.reference
    variables = {VARIABLE: ""}
    target = workload(played.name, [container("web", str(reference), env=variables)], replicas=0)
    image = set_env(
        "web",
        reference.registry,
        reference.repository,
        str(reference.tag),
        container="web",
        variable=VARIABLE,
    )
    follower = policy(played.name, played.name, [image], interval=RARELY)
    if played.source is Source.TARGET:
        with_secrets(target, SECRET)
    elif played.source is Source.POLICY:
        follower["spec"]["imagePullSecrets"] = named(SECRET)
    namespace.create(target)
    namespace.create(follower)


def _wait_over(namespace: Namespace, played: Played) -> None:
    eventually(
        lambda: played.is_over(namespace.policy(played.name)),
        timeout=60,
        describe=lambda: f"{played.name} is over: {namespace.policy(played.name)}",
    )


def _assert_all_is_heard(
    namespace: Namespace, played: Sequence[Played], texts: Mapping[str, str]
) -> None:
    """What was searched is what the run has said: each attack is told of in all places."""
    [log] = namespace.operator_logs
    for each in played:
        notes = [event["note"] for event in events(namespace, "RegistryTrouble", each.name)]
        if each.row.outcome is not None:
            assert any(each.row.says in note for note in notes), (each.name, notes)
            assert each.row.says in texts[log.name]
        assert each.name in texts["ImageRefreshPolicy"]
        assert each.name in texts["Deployment"]
    assert "imagerefresh_" in texts["metrics"]
