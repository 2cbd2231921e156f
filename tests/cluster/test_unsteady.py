"""Registries behind one name that are out of sync: the tag goes back and forth.

B13.
"""

from collections.abc import Callable

import pytest

from cluster.story import (
    REPOSITORY,
    TAG,
    check,
    entry,
    message,
    move,
    retry,
    rollouts,
    settle,
    wait_ready,
    wait_recorded,
    web_restart,
    web_set_env,
)
from testbed.api import Manifest
from testbed.namespace import Namespace
from testbed.operator_process import OperatorProcess
from testbed.registry import Registry

pytestmark = pytest.mark.usefixtures("operator")


@pytest.mark.parametrize("follow", [web_restart, web_set_env])
def test_a_tag_that_goes_back_and_forth_does_not_restart_the_target_for_ever(
    namespace: Namespace,
    registry: Registry,
    follow: Callable[[Registry], Manifest],
    operator: OperatorProcess,
) -> None:
    """B13: three times each way, then a person is told; a new digest is taken at once."""
    first = settle(namespace, registry, image=follow(registry))
    second = move(namespace, registry)
    for _ in range(2):
        for digest in (first, second):
            registry.retag(REPOSITORY, TAG, digest)
            check(namespace)
            wait_recorded(namespace, digest)
    registry.retag(REPOSITORY, TAG, first)
    check(namespace)
    wait_recorded(namespace, first)

    registry.retag(REPOSITORY, TAG, second)
    check(namespace)
    found = wait_ready(namespace, status="False", reason="TagUnsteady")

    check(namespace)
    assert (entry(found)["state"], entry(found)["recorded"]) == ("Blocked", first)
    assert "out of sync" in message(found)
    assert rollouts(namespace)[-1] == first
    retry(namespace)
    wait_recorded(namespace, second)
    third = move(namespace, registry)
    assert rollouts(namespace)[-1] == third
    assert "Traceback" not in operator.logs()
