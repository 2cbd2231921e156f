"""The CRD as it was before it had any rule, so that objects can be stored that break one."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from testbed.api import ApiError, path
from testbed.namespace import Namespace
from testbed.waiting import eventually
from testbed.workloads import RESOURCES, policy

_CRDS: Final = "apiextensions.k8s.io/v1/customresourcedefinitions"
_CRD: Final = "imagerefreshpolicies.imagerefresh.dev"
_REFUSED: Final = 422


@contextmanager
def no_rules(namespace: Namespace) -> Iterator[None]:
    """On entry no rule is in force, and after the end all are again; `namespace` is where that is
    tried out.
    """
    api = namespace.control_plane.api
    versions = api.get(_CRDS, "", _CRD)["spec"]["versions"]
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    before = [versions[0] | {"schema": {"openAPIV3Schema": schema}}]
    api.patch(_CRDS, "", _CRD, {"spec": {"versions": before}})
    try:
        eventually(lambda: _refusal(namespace) == 0, describe="no rules")
        yield
    finally:
        api.patch(_CRDS, "", _CRD, {"spec": {"versions": versions}})
    eventually(lambda: _refusal(namespace) == _REFUSED, describe="rules again")


def _refusal(namespace: Namespace) -> int:
    """The HTTP status by which the API server refuses a policy without images; 0 if it takes it."""
    resource = path(RESOURCES["ImageRefreshPolicy"], namespace.name)
    try:
        namespace.control_plane.api.request(
            "POST", f"{resource}?dryRun=All", policy("without-images", "web", [])
        )
    except ApiError as error:
        return error.code
    return 0
