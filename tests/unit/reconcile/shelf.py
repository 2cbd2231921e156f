"""A registry client that answers from a shelf: no registry, no connection, no waiting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from imagerefresh.reference import Reference
from imagerefresh.registry import (
    Credential,
    RegistryClient,
    RegistrySettings,
    Resolved,
    TroubleReason,
)
from imagerefresh.registry import Trouble as RegistryTrouble

SENT: Final = 77.0
"""When every answer was sent for."""
INDEX: Final = "application/vnd.oci.image.index.v1+json"


def registry_trouble(reason: TroubleReason) -> RegistryTrouble:
    """Trouble as the registry client tells it."""
    is_transient = reason in (TroubleReason.RateLimited, TroubleReason.RegistryUnavailable)
    return RegistryTrouble(reason, f"registry.example.com: {reason}", is_transient)


DOWN: Final = registry_trouble(TroubleReason.RegistryUnavailable)
ARTIFACT: Final = registry_trouble(TroubleReason.NotAnImage)


@dataclass
class Shelf(RegistryClient):
    """A registry client that answers from a shelf, and notes what it was asked."""

    serves: Mapping[str, str | RegistryTrouble]
    """By repository."""
    no_images: frozenset[str] = frozenset()
    inspection: RegistryTrouble = ARTIFACT
    resolved: list[tuple[str, float]] = field(default_factory=list)
    inspected: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """It needs no connections: the client's own are never opened."""
        super().__init__(RegistrySettings(user_agent="test"))

    async def resolve(
        self,
        reference: Reference,
        credentials: Sequence[Credential] = (),  # noqa: ARG002 the client's signature
        *,
        fresh_since: float,
    ) -> Resolved | RegistryTrouble:
        self.resolved.append((str(reference), fresh_since))
        found = self.serves[reference.repository]
        return Resolved(found, INDEX, SENT) if isinstance(found, str) else found

    async def inspect(
        self,
        reference: Reference,
        digest: str,
        credentials: Sequence[Credential] = (),  # noqa: ARG002 the client's signature
    ) -> RegistryTrouble | None:
        self.inspected.append((str(reference), digest))
        return self.inspection if digest in self.no_images else None
