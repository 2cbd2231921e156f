"""What the tests of the client as a whole share."""

import json
import time
from collections.abc import Sequence

from imagerefresh.reference import Reference
from imagerefresh.registry import (
    Credential,
    RegistryClient,
    Resolved,
    Trouble,
    manifests,
)
from unit.registry.scripted import (
    INDEX,
    Reply,
    ScriptedRegistry,
    Seen,
    digest_of,
    errors,
    manifest,
    token,
)

DIGEST = digest_of(INDEX)
ONE = Credential('secret "one"', username="one", password="pass-one")
TWO = Credential('secret "two"', username="two", password="pass-two")
THREE = Credential('secret "three"', identity_token="identity-three")
SECRETS = ("pass-one", "pass-two", "identity-three", "b25lOnBhc3Mtb25l", "dHdvOnBhc3MtdHdv")
ARTIFACT = json.dumps(
    {"mediaType": manifests.OCI_MANIFEST, "config": {"mediaType": "application/vnd.x"}}
).encode()


async def resolved(
    client: RegistryClient,
    reference: Reference,
    credentials: Sequence[Credential] = (),
    fresh_since: float | None = None,
) -> Resolved:
    since = time.monotonic() if fresh_since is None else fresh_since
    found = await client.resolve(reference, credentials, fresh_since=since)
    assert isinstance(found, Resolved), found
    return found


async def trouble(
    client: RegistryClient, reference: Reference, credentials: Sequence[Credential] = ()
) -> Trouble:
    found = await client.resolve(reference, credentials, fresh_since=time.monotonic())
    assert isinstance(found, Trouble), found
    return found


def by_user(registry: ScriptedRegistry, **passwords: Reply) -> None:
    """Serve the tag behind a token service that answers each user as told."""
    registry.on_tag(
        "HEAD",
        lambda seen: manifest() if seen.authorization == "Bearer good" else registry.bearer(),
    )

    def answer(seen: Seen) -> Reply:
        if seen.method == "POST":
            return passwords["identity"]
        return passwords[
            {None: "nobody", "Basic b25lOnBhc3Mtb25l": "one"}.get(seen.authorization, "two")
        ]

    registry.on("GET", "/token", answer)
    registry.on("POST", "/token", answer)


def tokens_asked(registry: ScriptedRegistry) -> list[str | None]:
    return [
        "identity" if seen.method == "POST" else seen.authorization
        for seen in registry.seen
        if seen.path == "/token"
    ]


GOOD, DENIED = token("good"), errors(401, "UNAUTHORIZED", "incorrect")
