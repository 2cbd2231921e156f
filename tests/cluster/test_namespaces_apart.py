"""What one namespace may read by its pull secret is no other's to know, though one operator asks
for both: no answer, no token and no look into an image serves another credential (B10).
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cluster.behind_tokens import MISTAKEN, RIGHT, behind_tokens
from cluster.private import GRANTED, SECRET, WRONG, named, pull_secret
from cluster.story import (
    REPOSITORY,
    TAG,
    check,
    entry,
    message,
    ready,
    request,
    wait_ready,
    wait_recorded,
    web,
    web_policy,
    web_set_env,
)
from testbed.api import Manifest
from testbed.controlplane import ControlPlane
from testbed.installation import install_operator_part
from testbed.namespace import Namespace
from testbed.operator_process import OperatorProcess
from testbed.registry import ROBOT, Registry
from testbed.waiting import eventually

DENIED = ("False", "ImageNotFoundOrDenied")


@dataclass
class Locked:
    """A registry, and pull secrets that it accepts and refuses."""

    registry: Registry
    right: Manifest
    wrong: Manifest


@pytest.fixture(params=["password", "token"])
def locked(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Locked]:
    if request.param == "password":
        with Registry(tmp_path, "private-registry", login=ROBOT) as registry:
            yield Locked(registry, pull_secret(registry), pull_secret(registry, WRONG))
    else:
        with behind_tokens(tmp_path) as guarded:
            secrets = (guarded.secret(SECRET, each) for each in (RIGHT, MISTAKEN))
            yield Locked(guarded.registry, *secrets)


@pytest.fixture
def outside(control_plane: ControlPlane) -> Iterator[Namespace]:
    """Another namespace."""
    namespace = Namespace(control_plane)
    yield namespace
    namespace.abandon()


@pytest.fixture
def _operator(
    control_plane: ControlPlane, namespace: Namespace, outside: Namespace, tmp_path: Path
) -> Iterator[None]:
    """Serves both namespaces, and may read the pull secrets of both."""
    home = control_plane.create_namespace("operator")
    account = install_operator_part(
        control_plane, home, kustomization="overlays/cluster-wide", components=GRANTED
    )
    namespace.operator_logs.append(tmp_path / "operator.log")
    with OperatorProcess(
        control_plane.service_account_kubeconfig(home, account),
        log=tmp_path / "operator.log",
        namespaces=f"{namespace.name},{outside.name}",
    ) as operator:
        operator.wait_ready()
        yield


def follow(namespace: Namespace, locked: Locked) -> None:
    """Target and policy `web`, with the pull secret of that name, should there be one."""
    namespace.create(web(locked.registry))
    namespace.create(web_policy(web_set_env(locked.registry), imagePullSecrets=named(SECRET)))


@pytest.mark.usefixtures("_operator")
def test_only_who_has_the_secret_learns_of_a_private_image(
    namespace: Namespace, outside: Namespace, locked: Locked
) -> None:
    digests = [locked.registry.publish(REPOSITORY, TAG)]
    namespace.create(locked.right)
    follow(namespace, locked)
    wait_recorded(namespace, digests[0])

    follow(outside, locked)  # what the operator knows by now is the very answer
    wait_ready(outside, status="False", reason=DENIED[1])
    for _ in range(3):
        digests.append(locked.registry.publish(REPOSITORY, TAG))
        # At one moment, so that one could wait for the answer to the other.
        values = [request(each) for each in (namespace, outside)]
        for each, value in zip((namespace, outside), values, strict=True):
            _wait_handled(each, value)
        wait_recorded(namespace, digests[-1])
        assert ready(outside.policy("web")) == DENIED

    outside.create(locked.wrong)
    assert ready(check(outside)) == DENIED
    assert f'secret "{SECRET}", which were refused' in message(outside.policy("web"))
    known = json.dumps([outside.items(kind) for kind in ("ImageRefreshPolicy", "Deployment")])
    assert not [digest for digest in digests if digest in known]
    assert ready(check(namespace)) == ("True", "UpToDate")


@pytest.mark.usefixtures("_operator")
def test_it_is_the_secret_alone_that_makes_the_difference(
    namespace: Namespace, outside: Namespace, locked: Locked
) -> None:
    """Who gets it learns of the image, and who loses it learns no more, whatever others know."""
    digest = locked.registry.publish(REPOSITORY, TAG)
    for each in (namespace, outside):
        each.create(locked.right)
        follow(each, locked)
        wait_recorded(each, digest)

    outside.patch("Secret", SECRET, {"stringData": locked.wrong["stringData"]})
    moved = locked.registry.publish(REPOSITORY, TAG)
    check(namespace)
    wait_recorded(namespace, moved)
    found = check(outside)
    assert ready(found) == DENIED
    assert entry(found)["latest"] == digest


def _wait_handled(namespace: Namespace, value: str) -> None:
    eventually(
        lambda: namespace.policy("web")["status"].get("lastHandledRequestedAt") == value,
        describe=lambda: f"{value} is handled: {namespace.policy('web')}",
    )
