from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cluster.cluster_io.writing import patch_latest
from imagerefresh.cluster.client import Cluster
from imagerefresh.cluster.connection import Connection
from imagerefresh.cluster.errors import Refused
from testbed.api import ApiError, Manifest
from testbed.namespace import Namespace
from testbed.waiting import eventually

ADMISSION = "admissionregistration.k8s.io/v1"
PATCH = {"metadata": {"annotations": {"a/b": "1"}}}

pytestmark = pytest.mark.usefixtures("web")


@contextmanager
def admission(namespace: Namespace, **manifests: Manifest) -> Iterator[None]:
    """Objects of admission control, by plural, in force while the block runs."""
    api = namespace.control_plane.api
    for plural, manifest in manifests.items():
        api.create(f"{ADMISSION}/{plural}", {"apiVersion": ADMISSION} | manifest)
    try:
        eventually(lambda: administrator_is_refused(namespace), describe="in force")
        yield
    finally:
        for plural, manifest in manifests.items():
            api.delete(f"{ADMISSION}/{plural}", "", manifest["metadata"]["name"])


def administrator_is_refused(namespace: Namespace) -> bool:
    try:
        for value in ("1", None):
            namespace.annotate("Deployment", "web", **{"try/me": value})
    except ApiError:
        return True
    return False


def updates_here(namespace: Namespace) -> tuple[Manifest, Manifest]:
    """A selector of the namespace, and a rule for updates of Deployments."""
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace.name}}
    rule = {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "operations": ["UPDATE"],
        "resources": ["deployments"],
    }
    return selector, rule


async def test_the_words_of_an_admission_policy_are_shown(
    cluster: Cluster, namespace: Namespace
) -> None:
    """B29: PatchRefused with the server's words."""
    selector, rule = updates_here(namespace)
    metadata = {"name": f"freeze-{namespace.name}"}
    policy = {
        "kind": "ValidatingAdmissionPolicy",
        "metadata": metadata,
        "spec": {
            "matchConstraints": {"namespaceSelector": selector, "resourceRules": [rule]},
            "validations": [{"expression": "false", "message": "frozen for the release"}],
        },
    }
    binding = {
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": metadata,
        "spec": {"policyName": metadata["name"], "validationActions": ["Deny"]},
    }
    with (
        admission(
            namespace,
            validatingadmissionpolicies=policy,
            validatingadmissionpolicybindings=binding,
        ),
        pytest.raises(Refused, match="frozen for the release") as raised,
    ):
        await patch_latest(cluster, namespace, PATCH)
    assert not raised.value.forbidden_by_rbac
    assert "\n" not in str(raised.value)


async def test_a_broken_webhook_is_a_refusal_and_no_outage(
    cluster: Cluster, namespace: Namespace
) -> None:
    """B29: a webhook's 5xx."""
    selector, rule = updates_here(namespace)
    webhook = {
        "name": "broken.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [rule],
        "namespaceSelector": selector,
    }
    configuration = {
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": f"broken-{namespace.name}"},
        "webhooks": [webhook],
    }
    with (
        admission(namespace, validatingwebhookconfigurations=configuration),
        pytest.raises(Refused, match=r"broken\.example\.com.*HTTP 500"),
    ):
        await patch_latest(cluster, namespace, PATCH)


async def test_an_invalid_object_is_refused_with_the_reason(
    cluster: Cluster, namespace: Namespace
) -> None:
    with pytest.raises(Refused, match="must be greater than or equal to 0") as raised:
        await patch_latest(cluster, namespace, {"spec": {"replicas": -1}})
    assert not raised.value.forbidden_by_rbac


async def test_a_permission_that_the_role_lacks_is_told_from_other_refusals(
    connection: Connection, namespace: Namespace
) -> None:
    """B28: secrets are not readable by default."""
    with pytest.raises(Refused, match="cannot list resource") as raised:
        await connection.request("GET", f"/api/v1/namespaces/{namespace.name}/secrets")
    assert raised.value.forbidden_by_rbac
