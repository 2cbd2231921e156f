"""A real registry that wants tokens, the service that gives them, and the secrets of its users."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from cluster.private import pull_secret_with
from imagerefresh.registry import Credential
from servers.tokens import TokenService
from testbed.api import Manifest
from testbed.loop import BackgroundLoop
from testbed.registry import Registry
from unit.registry.attacks.listener import Listener
from unit.registry.attacks.marks import (
    USER,
    Mark,
    docker_auth,
    found,
    identity_token,
    new_mark,
    password,
)

PASSWORD, IDENTITY, WRONG = new_mark(), new_mark(), new_mark()
"""Of the one user, who may pull everything; and a password that nobody has."""


@dataclass
class BehindTokens:
    """The registry and its token service; `door` notes all that is sent to the service."""

    registry: Registry
    service: TokenService
    door: Listener

    def secret(self, name: str, credential: Credential) -> Manifest:
        """A pull secret."""
        return pull_secret_with({self.registry.address: docker_auth(credential)}, name)

    def times(self, mark: Mark) -> int:
        """How often a credential was shown at the door."""
        return sum(mark.is_in(f"{seen.authorization} {seen.body}") for seen in self.door.heard)

    def secrets_in(self, text: str) -> list[Mark]:
        """The credentials and tokens that are in a text."""
        tokens = [Mark(token.rpartition(".")[2]) for token in self.service.tokens]
        return found([PASSWORD, IDENTITY, WRONG, *tokens], text)


RIGHT = password(PASSWORD)
BY_IDENTITY = identity_token(IDENTITY)
MISTAKEN = password(WRONG)


@contextmanager
def behind_tokens(folder: Path) -> Iterator[BehindTokens]:
    """Start them; the images are published at an open registry beside, on the same folder."""
    service = TokenService({USER: PASSWORD.text}, identities={USER: IDENTITY.text})
    storage = folder / "images"
    with ExitStack() as stack:
        loop = BackgroundLoop("token service")
        stack.callback(loop.stop)
        door = Listener(loop)
        stack.callback(door.stop)
        for method in ("GET", "POST"):
            door.on(method, "/token", service.answer)
        public = stack.enter_context(Registry(folder, "open-registry", storage=storage))
        guarded = Registry(
            folder,
            "guarded-registry",
            auth=service.configuration(f"{door.url}/token", folder),
            storage=storage,
            upstream=public.upstream,
        )
        yield BehindTokens(stack.enter_context(guarded), service, door)
