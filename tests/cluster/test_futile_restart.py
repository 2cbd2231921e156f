"""What a restart can't update is reported before it is wasted.

B11.
"""

import pytest

from cluster.story import (
    RARELY,
    REPOSITORY,
    TAG,
    check,
    entry,
    image,
    is_stalled,
    message,
    ours,
    ready,
    rollouts,
    wait_asked,
    wait_ready,
    wait_recorded,
    wait_rollouts,
    web_policy,
    web_restart,
)
from testbed.namespace import Namespace
from testbed.registry import Registry
from testbed.workloads import container, policy, workload

pytestmark = pytest.mark.usefixtures("operator")


def test_what_a_restart_cannot_update_is_reported_and_not_patched(
    namespace: Namespace, registry: Registry
) -> None:
    """B11: such restarts would change nothing."""
    first = registry.publish(REPOSITORY, TAG)
    web_image = image(registry)
    cases = {
        "digest": (container("web", f"{web_image}@{first}"), {}, "DigestInImage"),
        "cached": (
            container("web", web_image, pull_policy="IfNotPresent"),
            {},
            "PullPolicyNotAlways",
        ),
        "other": (container("web", image(registry, "example/other")), {}, "NoMatchingContainer"),
        "unnamed": (container("web", web_image), {"containers": ["api"]}, "ContainerNotFound"),
    }
    for name, (app, action, _) in cases.items():
        namespace.create(workload(name, [app]))
        followed = web_restart(registry, action={"type": "Restart", "restart": action})
        namespace.create(policy(name, name, [followed], interval=RARELY))
    for name, (_, _, reason) in cases.items():
        wait_ready(namespace, name, status="False", reason=reason)

    registry.publish(REPOSITORY, TAG)

    for name, (_, _, reason) in cases.items():
        found = check(namespace, name)
        assert (ready(found), is_stalled(found)) == (("False", reason), True)
        assert entry(found)["state"] == "Blocked"
        assert ours(namespace.deployment(name)) == {}
        wait_rollouts(namespace, [None], name)
    assert "imagePullPolicy IfNotPresent" in message(namespace.policy("cached"))


def test_a_pull_policy_that_the_policy_vouches_for_is_fine(
    namespace: Namespace, registry: Registry
) -> None:
    """B11: assumeAlwaysPulls; and init containers are concerned, too."""
    registry.publish(REPOSITORY, TAG)
    setup = container("setup", image(registry), pull_policy="IfNotPresent")
    app = container("app", image(registry, "example/other"))
    namespace.create(workload("web", [app], init_containers=[setup]))
    action = {"type": "Restart", "restart": {"assumeAlwaysPulls": True}}
    namespace.create(web_policy(web_restart(registry, action=action)))
    wait_ready(namespace)

    digest = registry.publish(REPOSITORY, TAG)
    check(namespace)

    wait_recorded(namespace, digest)
    assert rollouts(namespace) == [None, digest]


def test_a_mended_container_is_followed(namespace: Namespace, registry: Registry) -> None:
    """B11: a person's change of the target ends the trouble."""
    digest = registry.publish(REPOSITORY, TAG)
    cached = container("web", image(registry), pull_policy="IfNotPresent")
    namespace.create(workload("web", [cached]))
    namespace.create(web_policy(web_restart(registry)))
    wait_ready(namespace, status="False", reason="PullPolicyNotAlways")

    mended = {"name": "web", "imagePullPolicy": "Always"}
    change = {"spec": {"template": {"spec": {"containers": [mended]}}}}
    namespace.patch("Deployment", "web", change, how="strategic")
    check(namespace)

    found = wait_recorded(namespace, digest)
    assert not is_stalled(found)
    wait_asked(namespace, digest)
