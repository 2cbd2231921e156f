"""The names by which the project is known in a cluster. Only names, no logic."""

from typing import Final

GROUP: Final = "imagerefresh.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
KIND: Final = "ImageRefreshPolicy"
PLURAL: Final = "imagerefreshpolicies"
SINGULAR: Final = "imagerefreshpolicy"
SHORT_NAME: Final = "irp"
CATEGORY: Final = "imagerefresh"

FIELD_MANAGER: Final = "imagerefresh"
"""Owner of our fields in managedFields, and the component that events are reported by."""

REQUESTED_AT: Final = f"{GROUP}/requested-at"
"""On a policy: a new value makes it run at once (B4)."""

RETRY_AT: Final = f"{GROUP}/retry-at"
"""On a policy: a new value also lifts its holds and asks latest once more (B4)."""


def state_annotation(image_name: str) -> str:
    """On a target's own metadata: the state of one image (B22)."""
    return f"{GROUP}/state-{image_name}"


def record_annotation(prefix: str, image_name: str) -> str:
    """On a target's own metadata: the digest of one image that was last proven."""
    return f"{prefix}/last-refreshed-{image_name}-digest"


def stamp_annotation(image_name: str) -> str:
    """On a pod template: `<serial> <digest>` of the last ask, so that each ask changes it (B13)."""
    return f"{GROUP}/asked-{image_name}"


def pin_annotation(image_name: str) -> str:
    """On a pod template: says that we pinned a container to a digest, and no person did (B21)."""
    return f"{GROUP}/pin-{image_name}"
