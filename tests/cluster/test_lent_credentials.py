"""A private image by credentials that the operator lends to one namespace and not to another."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cluster.private import WRONG, assert_nothing_leaked, auth
from cluster.story import (
    REPOSITORY,
    TAG,
    check,
    message,
    ready,
    wait_ready,
    wait_recorded,
    web,
    web_policy,
    web_set_env,
)
from testbed.audit import service_account_user
from testbed.controlplane import ControlPlane
from testbed.installation import install_operator_part
from testbed.namespace import Namespace
from testbed.operator_process import OperatorProcess
from testbed.registry import ROBOT, Registry
from testbed.waiting import eventually


@dataclass
class Lender:
    """An operator for all namespaces, and the docker config that it lends."""

    registry: Registry
    docker_config: Path
    log: Path
    folder: Path
    user: str
    _told: int = field(default=0)

    def hold(self, content: str) -> None:
        """Change the docker config as an editor does."""
        new = self.folder / "new"
        new.write_text(content)
        new.replace(self.docker_config)

    def hold_password(self, password: str) -> None:
        self.hold(json.dumps({"auths": {self.registry.address: {"auth": auth(password)}}}))

    def wait_told(self, text: str) -> str:
        """Wait for a new log line, and return it."""

        def line() -> str:
            lines = self.log.read_text().splitlines()
            found = [at for at in range(self._told, len(lines)) if text in lines[at]]
            if not found:
                return ""
            self._told = found[0] + 1
            return lines[found[0]]

        return eventually(line, describe=f"the log tells: {text}")


@pytest.fixture
def bank(control_plane: ControlPlane) -> Iterator[Namespace]:
    """A second namespace, beside that of the test."""
    bank = Namespace(control_plane)
    yield bank
    bank.abandon()


@pytest.fixture
def lender(
    control_plane: ControlPlane,
    namespace: Namespace,
    bank: Namespace,
    private: Registry,
    tmp_path: Path,
) -> Iterator[Lender]:
    """Lends to the policies of `namespace`."""
    home = control_plane.create_namespace("operator")
    account = install_operator_part(control_plane, home, kustomization="overlays/cluster-wide")
    user = service_account_user(home, account)
    lender = Lender(private, tmp_path / "config.json", tmp_path / "operator.log", tmp_path, user)
    lender.hold_password(ROBOT.password)
    file = tmp_path / "registries.yaml"
    rule = {"dockerConfigFile": str(lender.docker_config), "namespaces": [namespace.name]}
    file.write_text(json.dumps({"credentials": [rule]}))
    kubeconfig = control_plane.service_account_kubeconfig(home, account)
    environment = {"IMAGEREFRESH_REGISTRIES_FILE": str(file)}
    for each in (namespace, bank):
        each.operator_logs.append(lender.log)
        each.create(web(private))
    with OperatorProcess(kubeconfig, log=lender.log, environment=environment) as operator:
        operator.wait_ready()
        yield lender


def test_only_the_listed_namespace_follows_the_image(
    namespace: Namespace, bank: Namespace, lender: Lender, private: Registry
) -> None:
    """B10: the other one gains nothing by asking for the same image at the same moment."""
    digest = private.publish(REPOSITORY, TAG)
    for each in (namespace, bank):
        each.create(web_policy(web_set_env(private)))
    wait_recorded(namespace, digest)
    policy = wait_ready(bank, status="False", reason="ImageNotFoundOrDenied")
    assert "docker config" not in json.dumps(policy)

    digest = private.publish(REPOSITORY, TAG)
    check(namespace)
    assert ready(check(bank)) == ("False", "ImageNotFoundOrDenied")
    wait_recorded(namespace, digest)
    assert digest not in json.dumps([bank.policy("web"), bank.deployment("web")])
    assert_nothing_leaked(namespace)
    assert_nothing_leaked(bank)
    asked = namespace.control_plane.audit.requests(lender.user)
    assert {each.resource for each in asked} >= {"deployments", "serviceaccounts"}
    assert not [each for each in asked if each.resource == "secrets"]


def test_a_bad_docker_config_is_told_and_a_rejected_one_is_named(
    namespace: Namespace, lender: Lender, private: Registry
) -> None:
    """B10: as for a pull secret, by its path; what is in it is told to nobody."""
    digest = private.publish(REPOSITORY, TAG)
    namespace.create(web_policy(web_set_env(private)))
    wait_recorded(namespace, digest)

    lender.hold(f'{{"auths": "{ROBOT.password}",\n')
    line = lender.wait_told("can't be used, the last good one holds")
    assert f"{lender.docker_config}" in line
    assert "not JSON (line 2)" in line
    digest = private.publish(REPOSITORY, TAG)
    check(namespace)
    wait_recorded(namespace, digest)

    lender.hold_password(WRONG)
    lender.wait_told("the registries file has changed, and holds now")
    policy = check(namespace)
    assert ready(policy) == ("False", "ImageNotFoundOrDenied")
    named = f'the credentials of docker config "{lender.docker_config}", which were refused'
    assert named in message(policy)
    assert_nothing_leaked(namespace)
