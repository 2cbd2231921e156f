"""The shipped Role is exactly what the operator uses: nothing is missing, nothing is left over.

B28. One story that needs every right, and then the API server's own record of it.
"""

from collections.abc import Iterator

import pytest

from cluster.story import (
    RARELY,
    REPOSITORY,
    TAG,
    check,
    entry,
    image,
    ready,
    told,
    wait_ready,
)
from testbed.audit import AuditedRequest, service_account_user
from testbed.controlplane import ControlPlane
from testbed.installation import install_operator_part
from testbed.namespace import Namespace
from testbed.operator_process import OperatorProcess
from testbed.registry import Registry
from testbed.waiting import eventually
from testbed.workloads import container, policy, restart, workload

KINDS = ("Deployment", "StatefulSet", "DaemonSet")


@pytest.fixture(scope="module")
def watched(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Namespace]:
    """A namespace in which the operator did all that it can do."""
    namespace = Namespace(control_plane)
    folder = tmp_path_factory.mktemp("roles")
    account = install_operator_part(control_plane, namespace.name)
    kubeconfig = control_plane.service_account_kubeconfig(namespace.name, account)
    namespace.operator_logs.append(folder / "operator.log")
    with (
        Registry(folder) as registry,
        OperatorProcess(
            kubeconfig, log=folder / "operator.log", namespaces=namespace.name
        ) as operator,
    ):
        operator.wait_ready()
        use_every_right(namespace, registry)
        operator.terminate()
    yield namespace
    namespace.abandon()


def use_every_right(namespace: Namespace, registry: Registry) -> None:
    """A move of each kind of target, recorded, and an event that happens twice."""
    registry.publish(REPOSITORY, TAG)
    for kind in KINDS:
        name = kind.lower()
        namespace.create(workload(name, [container("web", image(registry))], kind=kind))
        followed = restart("web", registry.address, REPOSITORY, TAG)
        namespace.create(policy(name, name, [followed], kind=kind, interval=RARELY))
        wait_ready(namespace, name)

    digest = registry.publish(REPOSITORY, TAG)
    for kind in KINDS:
        check(namespace, kind.lower())
    for kind in KINDS:
        found = wait_ready(namespace, kind.lower())
        assert entry(found)["recorded"] == digest

    for _ in range(2):
        namespace.patch("Deployment", "deployment", {"spec": {"paused": True}})
        assert ready(check(namespace, "deployment")) == ("False", "TargetPaused")
        namespace.patch("Deployment", "deployment", {"spec": {"paused": None}})
        eventually(lambda: ready(check(namespace, "deployment"))[0] == "True", describe="resumed")
    told(namespace, "TargetPaused", 2, about="deployment")


def requests(namespace: Namespace) -> list[AuditedRequest]:
    """What the operator asked, but for what everybody may ask: what the server serves, and what
    they may do.
    """
    user = service_account_user(namespace.name, "imagerefresh")
    return [
        each
        for each in namespace.control_plane.audit.requests(user)
        if (each.verb, each.resource[:1]) != ("get", "/")
        and each.resource != "selfsubjectaccessreviews"
    ]


def rights(namespace: Namespace) -> set[tuple[str, str, str]]:
    """Group, resource and verb of everything that the Role grants."""
    resource = "rbac.authorization.k8s.io/v1/roles"
    role = namespace.control_plane.api.get(resource, namespace.name, "imagerefresh")
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_nothing_that_the_operator_does_is_forbidden(watched: Namespace) -> None:
    """B28: nor does it look anywhere else."""
    assert [each for each in requests(watched) if each.code == 403] == []
    assert {each.namespace for each in requests(watched)} == {watched.name}


def test_every_right_of_the_role_is_used(watched: Namespace) -> None:
    """B28: what is never used is to go from the Role."""
    used = {
        (each.group, "/".join(filter(None, (each.resource, each.subresource))), each.verb)
        for each in requests(watched)
    }
    assert rights(watched) - used == set()
    assert used - rights(watched) == set()
