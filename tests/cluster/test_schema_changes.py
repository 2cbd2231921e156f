"""How a stored policy may change, what becomes of one from before a rule, and what people see.

B1 (the target stays), B3 (objects stored before a field or rule existed), B26 (columns).
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from imagerefresh import crdgen
from imagerefresh.api.policy import InvalidSpec, parse_spec
from schema_documents import ABSENT, STATUS, changed, fields, replaced, spec
from testbed.api import ApiError, Manifest, path
from testbed.controlplane import ControlPlane
from testbed.namespace import Namespace
from testbed.waiting import eventually

CRDS: Final = "apiextensions.k8s.io/v1/customresourcedefinitions"


def policy(name: str, raw: Mapping[str, Any], group: str = "imagerefresh.dev") -> Manifest:
    return {
        "apiVersion": f"{group}/v1alpha1",
        "kind": "ImageRefreshPolicy",
        "metadata": {"name": name},
        "spec": raw,
    }


# The target stays.


@pytest.fixture
def stored(namespace: Namespace) -> Namespace:
    """A namespace with the policy `web`."""
    namespace.create(policy("web", spec()))
    return namespace


@pytest.mark.parametrize(
    "change",
    [{"name": "other"}, {"kind": "StatefulSet"}, {"name": "other", "apiVersion": None}],
)
def test_another_target_needs_another_policy(stored: Namespace, change: object) -> None:
    """B1."""
    with pytest.raises(ApiError) as refused:
        stored.patch("ImageRefreshPolicy", "web", {"spec": {"targetRef": change}})
    assert refused.value.code == 422
    assert "spec.targetRef: " in str(refused.value)
    assert "must not change" in str(refused.value)
    assert "create a new policy" in str(refused.value)


def test_a_target_cannot_be_taken_away(stored: Namespace) -> None:
    """B1: nor come back as another one that way."""
    with pytest.raises(ApiError, match=r"spec\.targetRef: Required value"):
        stored.patch("ImageRefreshPolicy", "web", {"spec": {"targetRef": None}})


@pytest.mark.parametrize(
    "spec_change",
    [
        {"targetRef": {"apiVersion": None}},
        {"targetRef": {"apiVersion": "apps/v1"}},
        {"suspend": True, "interval": None, "annotationPrefix": None},
        {"interval": None, "schedule": "0 3 * * *", "timeZone": "UTC"},
        {"images": spec()["images"][1:], "imagePullSecrets": None, "rollout": None},
    ],
)
def test_the_rest_may_change(stored: Namespace, spec_change: object) -> None:
    before = stored.policy("web")["spec"]["targetRef"]
    after = stored.patch("ImageRefreshPolicy", "web", {"spec": spec_change})["spec"]
    assert after["targetRef"] == before


# Policies from before a rule. Their own group, so that no other test meets a CRD without rules.

GROUP: Final = "before.example.com"
PLURAL: Final = "imagerefreshpolicies"
RESOURCE: Final = f"{GROUP}/v1alpha1/{PLURAL}"
_IMAGES: Final = spec()["images"]

BROKEN: Final[Mapping[str, Mapping[str, Any]]] = {
    "latest": changed("images.0.tag", "latest"),
    "no-zone": replaced(
        changed("interval", ABSENT) | {"schedule": "0 3 * * *"}, "timeZone", "Mars/Phobos"
    ),
    "quick": changed("interval", "1s"),
    "two-writers": changed("images", [_IMAGES[1], {**_IMAGES[1], "name": "again"}]),
    "one-name-twice": changed("images", [_IMAGES[0], _IMAGES[0]]),
    "two-schedules": changed("schedule", "* * * * *"),
    "no-images": changed("images", ABSENT),
    "no-target": changed("targetRef", ABSENT),
    "no-details": changed("images.1.action.setEnv", ABSENT),
}
"""Specs that break a rule each."""

EDITABLE: Final = BROKEN.keys() - {"two-schedules", "no-images", "no-target"}
"""Those whose rule is not on the spec itself: other fields may change before they are repaired."""


def crd_from_before() -> Manifest:
    """The CRD under another group, as it was before it had any rule."""
    crd = crdgen.custom_resource_definition()
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    crd["metadata"]["name"] = f"{PLURAL}.{GROUP}"
    crd["spec"]["group"] = GROUP
    crd["spec"]["names"] |= {"shortNames": [], "categories": []}
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = {
        "type": "object",
        "properties": {"spec": anything, "status": anything},
    }
    return crd


@pytest.fixture(scope="module")
def before(bare_control_plane: ControlPlane) -> Iterator[Namespace]:
    """A namespace with policies that were stored before the rules they break."""
    api = bare_control_plane.api
    crd = crd_from_before()
    api.create(CRDS, crd)
    namespace = Namespace(bare_control_plane)

    def create(name: str, raw: Mapping[str, Any]) -> str:
        """Answers why it was refused."""
        manifest = policy(name, raw, GROUP)
        manifest["metadata"]["namespace"] = namespace.name
        try:
            api.create(RESOURCE, manifest)
        except ApiError as error:
            return str(error)
        return ""

    for name, raw in BROKEN.items():
        eventually(lambda: not create(name, raw), describe="the CRD is served")  # noqa: B023
    create("no-version", changed("targetRef.apiVersion", ABSENT))
    rules = crdgen.custom_resource_definition()["spec"]["versions"]
    api.patch(CRDS, "", crd["metadata"]["name"], {"spec": {"versions": rules}})
    eventually(
        lambda: "must not be latest" in create("new", BROKEN["latest"]), describe="rules in force"
    )
    yield namespace
    api.delete(CRDS, "", crd["metadata"]["name"])
    namespace.abandon()


def patch(namespace: Namespace, name: str, change: object, subresource: str = "") -> Manifest:
    """What a merge patch makes of the policy; it stays as it is, for the other tests."""
    target = path(RESOURCE, namespace.name, name, subresource) + "?dryRun=All"
    return namespace.control_plane.api.request(
        "PATCH", target, change, "application/merge-patch+json"
    )


@pytest.mark.parametrize("name", BROKEN)
def test_status_and_annotations_of_a_broken_policy_can_be_written(
    before: Namespace, name: str
) -> None:
    """B3: so that it can be shown as Stalled, alone."""
    raw = before.control_plane.api.get(RESOURCE, before.name, name)["spec"]
    with pytest.raises(InvalidSpec):
        parse_spec(raw)
    annotated = patch(before, name, {"metadata": {"annotations": {"a": "b"}}})
    assert annotated["metadata"]["annotations"] == {"a": "b"}
    assert patch(before, name, {"status": STATUS}, "status")["status"] == STATUS


@pytest.mark.parametrize("name", sorted(EDITABLE))
def test_other_fields_of_a_broken_policy_can_be_changed(before: Namespace, name: str) -> None:
    """B3."""
    assert patch(before, name, {"spec": {"suspend": True}})["spec"]["suspend"] is True


def test_a_broken_policy_cannot_be_broken_anew(before: Namespace) -> None:
    images = replaced(BROKEN["latest"], "images.1.tag", "latest")["images"]
    with pytest.raises(ApiError) as refused:
        patch(before, "latest", {"spec": {"images": images}})
    assert "images[1].tag" in str(refused.value)
    assert "images[0].tag" not in str(refused.value)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_policy_can_be_repaired(before: Namespace, name: str) -> None:
    """B3."""
    repaired = patch(before, name, {"spec": spec() | {"schedule": None, "timeZone": None}})["spec"]
    assert parse_spec(repaired) == parse_spec(spec())


def test_the_target_stays_whichever_part_was_absent(before: Namespace) -> None:
    """B1: stored before apiVersion had a default."""
    with pytest.raises(ApiError, match="must not change"):
        patch(before, "no-version", {"spec": {"targetRef": {"name": "other"}}})
    changed_by = {"spec": {"targetRef": {"apiVersion": "apps/v1"}}}
    assert patch(before, "no-version", changed_by)["spec"]["targetRef"] == spec()["targetRef"]


# What people see.


def kubectl(control_plane: ControlPlane, *args: str) -> str:
    """What kubectl says, once it has discovered the resource."""
    return eventually(
        lambda: control_plane.kubectl(*args, check=False), describe=f"kubectl {args} succeeds"
    )


def test_explain_teaches_every_field(control_plane: ControlPlane) -> None:
    """`kubectl explain` reads this document."""

    def published() -> Mapping[str, Any] | None:
        try:
            document = control_plane.api.request(
                "GET", "/openapi/v3/apis/imagerefresh.dev/v1alpha1"
            )
        except ApiError:  # not yet
            return None
        schemas: Mapping[str, Mapping[str, Any]] = document["components"]["schemas"]
        return schemas.get("dev.imagerefresh.v1alpha1.ImageRefreshPolicy")

    schema = eventually(published, describe="the schema is published") or {}
    described = {name for name, field in fields(schema) if len(field.get("description", "")) > 10}
    ours = {name for name, _ in fields(schema) if name.startswith(("spec", "status"))}
    assert ours - described == set()
    assert len(ours) > 60
    explained = kubectl(control_plane, "explain", "irp.spec.images.tag")
    assert "The floating tag to follow" in explained


def test_columns(stored: Namespace) -> None:
    """B26."""
    stored.patch("ImageRefreshPolicy", "web", {"status": STATUS}, subresource="status")
    get = ("--namespace", stored.name, "get")
    shown = kubectl(stored.control_plane, *get, "irp").splitlines()
    assert [column.strip() for column in shown[0].split("  ") if column] == [
        "NAME",
        "TARGET",
        "READY",
        "STATUS",
        "LAST REFRESH",
        "AGE",
    ]
    assert shown[1].split()[:4] == ["web", "app", "True", "UpToDate"]
    wide = kubectl(stored.control_plane, *get, "imagerefresh", "--output=wide").splitlines()
    assert wide[0].split()[-4:] == ["LAST", "CHECK", "NEXT", "CHECK"]
    assert wide[1].split()[-1] == STATUS["nextCheckTime"]
    assert "<invalid>" not in wide[1]


def test_status_is_written_apart(stored: Namespace) -> None:
    """A spec's generation moves with the spec only, and writing one leaves the other alone."""
    before = stored.policy("web")
    stored.patch("ImageRefreshPolicy", "web", {"status": STATUS})
    assert "status" not in stored.policy("web")
    stored.patch("ImageRefreshPolicy", "web", {"status": STATUS}, subresource="status")
    after = stored.policy("web")
    assert after["metadata"]["generation"] == before["metadata"]["generation"] == 1
    assert (after["spec"], after["status"]) == (before["spec"], STATUS)
