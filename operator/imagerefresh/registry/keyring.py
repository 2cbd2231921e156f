"""Which of the credentials at hand are meant for an image, and in which order they are tried: as
the kubelet decides it for pull secrets (B10), so that who can pull an image can follow it.

A little more is accepted than there, never another host: all names of Docker Hub, default ports,
and hosts in any case.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from imagerefresh.reference import DOCKER_HUB, DOCKER_HUB_NAMES, Reference, is_loopback
from imagerefresh.registry import glob
from imagerefresh.registry.dockerconfig import DockerConfig, Scope
from imagerefresh.registry.outcomes import Credential


class Keyring:
    """The credentials of some pull secrets, which count as one."""

    def __init__(self, configs: Iterable[DockerConfig]) -> None:
        by_scope: dict[Scope, list[Credential]] = defaultdict(list)
        for config in configs:
            for scope, credential in config.entries:
                by_scope[scope].append(credential)
        # Reverse lexical order: of the scopes of one host the longer path comes first.
        self._by_scope: Mapping[Scope, Sequence[Credential]] = {
            scope: by_scope[scope] for scope in sorted(by_scope, key=str, reverse=True)
        }

    def credentials_for(self, reference: Reference) -> list[Credential]:
        """Return all that are meant for an image, in the order in which they are to be tried."""
        found = [scope for scope in self._by_scope if _fits(scope, reference)]
        if not found and reference.registry == DOCKER_HUB:
            found = [scope for scope in self._by_scope if _fits_docker_hub(scope, reference)]
        return [credential for scope in found for credential in self._by_scope[scope]]


def _fits(scope: Scope, reference: Reference) -> bool:
    """Whether a scope includes an image; the path is a plain prefix, as for the kubelet."""
    host, port = _split(scope.host)
    registry, registry_port = _split(reference.registry)
    if port != registry_port or not _path(reference).startswith(scope.path):
        return False
    if host.startswith("[") and ":" in host:
        return host == registry  # an IPv6 address, not a class of characters
    labels, registry_labels = host.split("."), registry.split(".")
    return len(labels) == len(registry_labels) and all(
        glob.matches(*pair) for pair in zip(labels, registry_labels, strict=True)
    )


def _fits_docker_hub(scope: Scope, reference: Reference) -> bool:
    """Whether a scope names Docker Hub by one of its other names."""
    host, port = _split(scope.host)
    return not port and host in DOCKER_HUB_NAMES and _path(reference).startswith(scope.path)


def _path(reference: Reference) -> str:
    return f"/{reference.repository}"


def _split(host: str) -> tuple[str, str]:
    """Split host and port; a default port counts as none."""
    name, colon, port = host.rpartition(":")
    if not colon or not port.isdecimal():
        return host, ""
    return name, "" if port == ("80" if is_loopback(name) else "443") else port
