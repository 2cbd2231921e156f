"""The images that stages follow: each digest has a label, the same for all stages."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from testbed.registry import Registry

WEB, SIDE = "web", "side"
FIRST, SECOND, THIRD, BAD = "first", "second", "third", "bad"
FOREIGN_PREFIX = "other.example"


@dataclass(frozen=True)
class Images:
    """Digests of the images WEB and SIDE, the same labels each: FIRST, SECOND, THIRD and BAD, which
    never runs.
    """

    registry: Registry
    digests: Mapping[str, Mapping[str, str]]

    @classmethod
    def publish(cls, registry: Registry) -> "Images":
        digests = {
            image: {
                label: registry.publish(repository(image), label, bad=label == BAD)
                for label in (FIRST, SECOND, THIRD, BAD)
            }
            for image in (WEB, SIDE)
        }
        return cls(registry, digests)

    def labels(self) -> Iterable[tuple[str, str]]:
        """Each digest with its label."""
        for found in self.digests.values():
            for label, digest in found.items():
                yield digest, label


def repository(image: str) -> str:
    return f"example/{image}"


def foreign_record(images: Images, label: str) -> Mapping[str, str]:
    """The annotation in which another tool kept what it had recorded."""
    return {f"{FOREIGN_PREFIX}/last-refreshed-{WEB}-digest": images.digests[WEB][label]}
