"""Admission policies that stand in the operator's way for a while, in one namespace.

They belong to the whole cluster, so each is named after its namespace, and goes at the end. They
concern dry runs, too, by which it is seen when they are in force.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from imagerefresh.api.names import state_annotation
from testbed.api import ApiError, Manifest, path
from testbed.audit import service_account_user
from testbed.namespace import Namespace
from testbed.waiting import eventually
from testbed.workloads import RESOURCES

_API = "admissionregistration.k8s.io/v1"
_STRATEGIC = "application/strategic-merge-patch+json"
_MERGE = "application/merge-patch+json"
_PROBED = "probed"


@contextmanager
def frozen_template(namespace: Namespace, words: str) -> Iterator[None]:
    """Refuse the operator's changes of pod templates with these words; annotations may change."""
    validation = {"expression": "object.spec.template == oldObject.spec.template", "message": words}
    change = {"spec": {"template": {"metadata": {"annotations": {"probe": _PROBED}}}}}

    def probe() -> bool:
        return words in _dry_run(namespace, "Deployment", change)

    with _admission(namespace, "apps", "deployments", {"validations": [validation]}, probe):
        yield


@contextmanager
def frozen_status(namespace: Namespace) -> Iterator[None]:
    """Refuse the operator's writes of the policies' status, as if each came too late."""
    words = "status is frozen"
    validation = {"expression": "false", "message": words}
    change = {"status": {"lastHandledRequestedAt": _PROBED}}

    def probe() -> bool:
        return words in _dry_run(namespace, "ImageRefreshPolicy", change, "status")

    resource = "imagerefreshpolicies/status"
    with _admission(namespace, "imagerefresh.dev", resource, {"validations": [validation]}, probe):
        yield


@contextmanager
def refused_serials(namespace: Namespace, serials: Mapping[str, int]) -> Iterator[None]:
    """Refuse with 403 the operator's patch that gives a Deployment's image `web` this serial.

    `serials` has it by the name of the Deployment.
    """
    words, key = "this serial is refused", state_annotation("web")
    texts = {name: f'"serial":{serial},' for name, serial in serials.items()}
    name, annotations = "object.metadata.name", "object.metadata.annotations"
    refused = (
        f"{name} in {json.dumps(texts)} && '{key}' in {annotations}"
        f" && {annotations}['{key}'].contains({json.dumps(texts)}[{name}])"
    )
    validation = {"expression": f"!({refused})", "message": words, "reason": "Forbidden"}
    probed, text = next(iter(texts.items()))
    change = {"metadata": {"annotations": {key: text}}}

    def probe() -> bool:
        return words in _dry_run(namespace, "Deployment", change, name=probed)

    with _admission(namespace, "apps", "deployments", {"validations": [validation]}, probe):
        yield


@contextmanager
def forced_variable(namespace: Namespace, variable: str, value: str) -> Iterator[None]:
    """Give the first variable of Deployment `web`, named so, this value whatever is written."""
    where = "/spec/template/spec/containers/0/env/0/value"
    patch = f'[JSONPatch{{op: "replace", path: "{where}", value: "{value}"}}]'
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}
    spec = {"mutations": [mutation], "reinvocationPolicy": "Never"}
    entry = {"name": variable, "value": _PROBED}
    containers = [{"name": "web", "env": [entry]}]
    change = {"spec": {"template": {"spec": {"containers": containers}}}}

    def probe() -> bool:
        return _PROBED not in _dry_run(namespace, "Deployment", change)

    with _admission(namespace, "apps", "deployments", spec, probe, kind="Mutating"):
        yield


def _dry_run(
    namespace: Namespace, kind: str, change: Manifest, subresource: str = "", name: str = "web"
) -> str:
    """What would become of a change: the spec as it would be, or why it is refused."""
    target = path(RESOURCES[kind], namespace.name, name, subresource) + "?dryRun=All"
    patch = _MERGE if subresource else _STRATEGIC
    try:
        return str(namespace.control_plane.api.request("PATCH", target, change, patch)["spec"])
    except ApiError as error:
        return str(error)


@contextmanager
def _admission(
    namespace: Namespace,
    group: str,
    resource: str,
    spec: Manifest,
    probe: Callable[[], bool],
    *,
    kind: str = "Validating",
) -> Iterator[None]:
    user = service_account_user(namespace.name, "imagerefresh")
    rule = {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "resources": [resource],
        "operations": ["UPDATE"],
    }
    concerned = f"request.userInfo.username == '{user}' || request.dryRun"
    policy = {
        "apiVersion": _API,
        "kind": f"{kind}AdmissionPolicy",
        "metadata": {"name": namespace.name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule]},
            "matchConditions": [{"name": "concerned", "expression": concerned}],
            **spec,
        },
    }
    only_here = {"matchLabels": {"kubernetes.io/metadata.name": namespace.name}}
    binding = {
        "apiVersion": _API,
        "kind": f"{kind}AdmissionPolicyBinding",
        "metadata": {"name": namespace.name},
        "spec": {
            "policyName": namespace.name,
            "matchResources": {"namespaceSelector": only_here},
            **({"validationActions": ["Deny"]} if kind == "Validating" else {}),
        },
    }
    api = namespace.control_plane.api
    plurals = [f"{_API}/{kind.lower()}admission{each}" for each in ("policies", "policybindings")]
    for each, manifest in zip(plurals, (policy, binding), strict=True):
        api.create(each, manifest)
    try:
        eventually(probe, describe="the admission policy is in force")
        yield
    finally:
        for each in plurals:
            api.delete(each, "", namespace.name)
    eventually(lambda: not probe(), describe="the admission policy is gone")
