"""kill -9 around a rollback: it is done once, and the image text of before is kept (B21, B22)."""

import pytest

from cluster.admission import frozen_status
from cluster.conftest import StartOperator
from cluster.story import (
    REPOSITORY,
    TAG,
    check,
    deploy,
    entry,
    image,
    impatient,
    request,
    rollouts,
    state,
    wait_asked,
    wait_ready,
    wait_recorded,
    wait_rollouts,
    wait_stuck,
    web,
    web_policy,
    web_restart,
    web_set_env,
)
from testbed.namespace import Namespace
from testbed.registry import Registry
from testbed.waiting import eventually


@pytest.mark.parametrize("action", ["Restart", "SetEnv"])
def test_a_rollback_that_status_never_heard_of(
    namespace: Namespace, registry: Registry, start_operator: StartOperator, action: str
) -> None:
    image_of_policy = web_restart(registry) if action == "Restart" else web_set_env(registry)
    operator = start_operator()
    first = registry.publish(REPOSITORY, TAG)
    deploy(namespace, web(registry))
    namespace.create(web_policy(image_of_policy, rollout={"onFailure": "Rollback"}))
    wait_recorded(namespace, first)
    before = rollouts(namespace)
    bad = registry.publish(REPOSITORY, TAG, bad=True)
    request(namespace)
    wait_asked(namespace, bad)
    wait_stuck(namespace)
    with frozen_status(namespace):
        with impatient(namespace):
            eventually(
                lambda: state(namespace.deployment("web")).get("failed") == bad,
                describe="rolled back",
            )
        operator.kill()
    assert "failed" not in entry(namespace.policy("web"))

    operator = start_operator()
    found = check(namespace)

    assert (entry(found)["asked"], entry(found)["failed"]) == (first, bad)
    wait_rollouts(namespace, [*before, bad, first])

    operator.kill()
    fix = registry.publish(REPOSITORY, TAG)
    start_operator()
    check(namespace)
    wait_recorded(namespace, fix)
    wait_ready(namespace)
    [container] = namespace.deployment("web")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == image(registry)
