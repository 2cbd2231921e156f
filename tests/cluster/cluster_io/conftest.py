"""The cluster package on a real API server, under the Role of deploy/."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from imagerefresh.cluster.client import Cluster
from imagerefresh.cluster.connection import Connection
from testbed.api import Manifest
from testbed.audit import service_account_user
from testbed.controlplane import ControlPlane
from testbed.installation import install_operator_part
from testbed.namespace import Namespace
from testbed.waiting import eventually
from testbed.workloads import container, policy, restart, workload


@pytest.fixture
def account(control_plane: ControlPlane, namespace: Namespace) -> str:
    """The operator's ServiceAccount, once its Role is in force."""
    account = install_operator_part(control_plane, namespace.name)
    review = {
        "spec": {
            "user": service_account_user(namespace.name, account),
            "resourceAttributes": {
                "namespace": namespace.name,
                "verb": "patch",
                "group": "events.k8s.io",
                "resource": "events",
            },
        }
    }
    reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    eventually(
        lambda: control_plane.api.request("POST", reviews, review)["status"]["allowed"],
        describe="the Role is in force",
    )
    return account


@pytest.fixture
def kubeconfig(control_plane: ControlPlane, namespace: Namespace, account: str) -> Path:
    return control_plane.service_account_kubeconfig(namespace.name, account)


@pytest.fixture
async def connection(kubeconfig: Path) -> AsyncIterator[Connection]:
    connection = await Connection.open(kubeconfig=str(kubeconfig))
    yield connection
    await connection.close()


@pytest.fixture
def cluster(connection: Connection) -> Cluster:
    return Cluster(connection)


@pytest.fixture
def web(namespace: Namespace) -> Manifest:
    """A Deployment; its controller writes to it when it likes."""
    containers = [container("app", "a", env={"A": "1"}), container("side", "b")]
    return namespace.create(workload("web", containers, replicas=0))


@pytest.fixture
def web_policy(namespace: Namespace) -> Manifest:
    image = restart("app", "ghcr.io", "example/web", "prod")
    return namespace.create(policy("web", "web", [image]))
