"""The handlers run under kopf's own command, too, for people who know it."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.story import (
    REPOSITORY,
    TAG,
    check,
    rollouts,
    wait_recorded,
    web,
    web_policy,
    web_restart,
)
from testbed.controlplane import ControlPlane
from testbed.installation import install_operator_part
from testbed.namespace import Namespace
from testbed.process import Child
from testbed.registry import Registry

OPERATOR = Path(__file__).parents[2] / "operator"


@pytest.fixture
def kopf_run(control_plane: ControlPlane, namespace: Namespace, tmp_path: Path) -> Iterator[Child]:
    account = install_operator_part(control_plane, namespace.name)
    kubeconfig = control_plane.service_account_kubeconfig(namespace.name, account)
    command = [sys.executable, "-m", "kopf", "run", "--module=imagerefresh.handlers"]
    log = tmp_path / "kopf.log"
    namespace.operator_logs.append(log)
    environment = os.environ | {
        "KUBECONFIG": str(kubeconfig),
        "PYTHONPATH": str(OPERATOR),
        "IMAGEREFRESH_ALLOW_INSECURE_REGISTRIES": "true",
        "IMAGEREFRESH_HTTP_ADDRESS": "127.0.0.1:0",
    }
    options = ["--standalone", f"--namespace={namespace.name}"]
    with Child([*command, *options], log=log, env=environment) as child:
        child.wait_ready(lambda: "watches policies and targets" in child.output())
        yield child


def test_the_story_under_kopf_run(
    namespace: Namespace, registry: Registry, kopf_run: Child
) -> None:
    """B12, B13, B24, B28: under the shipped Role, without a finalizer."""
    first = registry.publish(REPOSITORY, TAG)
    namespace.create(web(registry))
    namespace.create(web_policy(web_restart(registry)))
    found = wait_recorded(namespace, first)
    assert "finalizers" not in found["metadata"]

    second = registry.publish(REPOSITORY, TAG)
    check(namespace)

    wait_recorded(namespace, second)
    assert rollouts(namespace) == [None, second]
    assert "Traceback" not in kopf_run.output()
    assert not re.search(r"\b403\b", kopf_run.output())  # a digest may well contain it
