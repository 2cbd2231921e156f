"""The command `imagerefresh resolve`: what the operator would see at a registry, for people who
debug. It takes the operator's own way there, so that it fails where the operator does.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from imagerefresh.reference import Reference
from imagerefresh.registries import Registries
from imagerefresh.registry import Credential, RegistryClient, RequestRecord, Resolved, Trouble
from imagerefresh.registry.manifests import Child, children
from imagerefresh.settings import Settings


@dataclass(slots=True)
class Look:
    """What was found.

    Attributes:
        reference: normalised.
        resolved: None if the tag could not be resolved.
        trouble: why there is no image; beside `resolved`, why what is there is none.
        platforms: the entries of an index; empty where the tag stands for a single image.
        requests: in the order in which they ended.
    """

    reference: Reference
    resolved: Resolved | None = None
    trouble: Trouble | None = None
    platforms: Sequence[Child] = ()
    requests: list[RequestRecord] = field(default_factory=list)

    @property
    def rejected(self) -> tuple[str, ...]:
        """Names of the credentials that the registry refused."""
        found = self.resolved or self.trouble
        return found.rejected if found else ()


async def look(
    reference: Reference,
    settings: Settings,
    credentials: Sequence[Credential] = (),
    namespace: str = "",
) -> Look:
    """Resolves a reference, then gets what it stands for by digest.

    Args:
        reference: what to look at.
        settings: those of the operator.
        credentials: in place of pull secrets.
        namespace: what the registries file lends to the policies of this one is tried next; "" for
            none.

    Raises:
        InvalidConfigError: the registries file can't be used.
    """
    found = Look(reference)
    registries = Registries.open(settings, found.requests.append)
    lent = registries.client.credentials_for(reference, namespace)
    try:
        await _ask(registries.client, found, (*credentials, *lent))
    finally:
        await registries.close()
    return found


async def _ask(client: RegistryClient, found: Look, credentials: Sequence[Credential]) -> None:
    reference = found.reference
    answer = await client.resolve(reference, credentials, fresh_since=time.monotonic())
    if isinstance(answer, Trouble):
        found.trouble = answer
        return
    found.resolved = answer
    manifest = await client.fetch(reference, answer.digest, credentials)
    if isinstance(manifest, Trouble):
        found.trouble = manifest
        return
    found.platforms = children(manifest.document)
    found.trouble = await client.inspect(reference, answer.digest, credentials)


def as_text(found: Look) -> str:
    """Shows it to a person."""
    blocks: list[tuple[str, list[str]]] = [("image", [str(found.reference)])]
    if found.resolved is not None:
        blocks.append(("digest", [found.resolved.digest]))
        blocks.append(("media type", [found.resolved.media_type or "not told"]))
        blocks.append(("platforms", [_child_line(child) for child in found.platforms]))
        blocks.append(("credential", [found.resolved.used or "none"]))
    blocks.append(("rejected", list(found.rejected)))
    blocks.append(("requests", [_request_line(record) for record in found.requests]))
    blocks.append(("limits", _limit_lines(found.requests)))
    if found.trouble is not None:
        blocks.append(("trouble", [found.trouble.reason, found.trouble.message]))
    return "\n".join(
        f"{title if number == 0 else '':12}{line}"
        for title, lines in blocks
        for number, line in enumerate(lines)
    )


def as_json(found: Look) -> str:
    """Shows it to a program: one object, with the same keys whatever was found."""
    resolved, trouble = found.resolved, found.trouble
    return json.dumps(
        {
            "image": str(found.reference),
            "digest": resolved.digest if resolved else None,
            "mediaType": resolved.media_type if resolved else None,
            "platforms": [
                {"platform": child.platform, "digest": child.digest, "isImage": child.is_image}
                for child in found.platforms
            ],
            "credential": (resolved.used or None) if resolved else None,
            "rejected": list(found.rejected),
            "requests": [_request_object(record) for record in found.requests],
            "trouble": {
                "reason": trouble.reason,
                "message": trouble.message,
                "transient": trouble.transient,
            }
            if trouble
            else None,
        },
        indent=2,
    )


FORMATS: Final[Mapping[str, Callable[[Look], str]]] = {"text": as_text, "json": as_json}
"""The ways to show it, by the name that the command line knows."""


def _child_line(child: Child) -> str:
    note = "" if child.is_image else "  (no image: an attestation or another artifact)"
    return f"{child.platform or 'any':18}{child.digest}{note}"


def _request_line(record: RequestRecord) -> str:
    outcome = " ".join(str(part) for part in (record.status, record.cause) if part is not None)
    return f"{record.method:5}{record.host}{record.path}  {outcome}  {record.seconds:.3f} s"


def _limit_lines(requests: Sequence[RequestRecord]) -> list[str]:
    """The last that each host said."""
    last = {record.host: record.limits for record in requests if record.limits}
    return [f"{host}  {name}: {value}" for host, limits in last.items() for name, value in limits]


def _request_object(record: RequestRecord) -> dict[str, object]:
    return {
        "method": record.method,
        "host": record.host,
        "path": record.path,
        "status": record.status,
        "cause": record.cause,
        "seconds": round(record.seconds, 6),
        "limits": dict(record.limits),
    }
