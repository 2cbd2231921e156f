"""A credential in use: how it is told from others, how it is written in a header, and who is next.

Caches are keyed by the identity of a credential, so that nobody reads another's private images
through them (B10). The identity is a keyed hash: equal for equal secrets within this process,
and of no use to anybody else.
"""

import base64
import hashlib
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from imagerefresh.registry.outcomes import (
    Credential,
    DeniedError,
    NotFoundError,
    RegistryError,
)

_T = TypeVar("_T")

# The user name that docker's config files put beside an identity token.
_TOKEN_USER = "<token>"  # noqa: S105
_PROCESS_KEY = secrets.token_bytes(32)


@dataclass(frozen=True, slots=True)
class Login:
    """One credential, or none.

    Attributes:
        source: what people call it; "" for none.
        identity: equal for the same secret material; b"" for none.
        basic: value of an Authorization header, "" if there is no user name.
        identity_token: for the token service, "" if there is none.
        registry_token: for the registry itself, "" if there is none.
    """

    source: str = ""
    identity: bytes = field(default=b"", repr=False)
    basic: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)
    registry_token: str = field(default="", repr=False)

    @property
    def has_secrets(self) -> bool:
        """Whether there is something that a token service must be trusted with."""
        return bool(self.basic or self.identity_token)


ANONYMOUS = Login()


def login_for(credential: Credential) -> Login:
    """Prepare a credential for use."""
    user, password = credential.username, credential.password
    token = credential.identity_token
    if user == _TOKEN_USER:
        user, password, token = "", "", token or password
    basic = ""
    if user:
        # By hand: the library's helper would encode in latin-1.
        pair = f"{user}:{password}".encode("utf-8", "surrogatepass")
        basic = f"Basic {base64.b64encode(pair).decode('ascii')}"
    registry_token = credential.registry_token
    if not all("!" <= character <= "~" for character in registry_token):
        registry_token = ""  # it can't be written in a header
    return Login(credential.source, identity_of(credential), basic, token, registry_token)


def identity_of(credential: Credential) -> bytes:
    """Return what tells the secret material of a credential from any other's."""
    digest = hashlib.blake2b(key=_PROCESS_KEY, digest_size=16)
    for part in (
        credential.username,
        credential.password,
        credential.identity_token,
        credential.registry_token,
    ):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.digest()


async def with_each(
    logins: Sequence[Login], ask: Callable[[Login], Awaitable[_T]]
) -> tuple[_T | RegistryError, tuple[str, ...], str]:
    """Try the logins in order, then none, until the registry does not refuse (B10).

    Returns what was found or the last trouble, the sources of the refused credentials, and that of
    the last one tried.
    """
    rejected: list[str] = []
    refused: set[bytes] = set()
    denial: DeniedError | None = None
    for login in (*logins, ANONYMOUS):
        if login.identity in refused:  # the same under another name; each try may help to lock it
            rejected.append(login.source)
            continue
        try:
            return await ask(login), tuple(rejected), login.source
        except NotFoundError as error:
            return error, tuple(rejected), login.source
        except DeniedError as error:
            # The last word counts, unless only an earlier one explains anything.
            denial = error if error.text or denial is None else denial
            if login is not ANONYMOUS:
                rejected.append(login.source)
                refused.add(login.identity)
        except RegistryError as error:
            return error, tuple(rejected), login.source
    return denial or DeniedError(""), tuple(rejected), ""
