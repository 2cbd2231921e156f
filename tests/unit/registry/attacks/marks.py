"""Credentials that can be found again, whatever they were wrapped in on their way."""

import base64
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from imagerefresh.registry import Credential

USER = "robot"

Text = bytes | bytearray | str


@dataclass(frozen=True)
class Mark:
    """A secret text and the part of it that is looked for.

    The part is of hex digits, which JSON and URLs leave as they are. Around it stand characters
    that both change, as in real passwords.
    """

    core: str

    @property
    def text(self) -> str:
        return f"s3/{self.core}+%&:x"

    def is_in(self, text: Text) -> bool:
        """Whether the secret is in there: plain, escaped, in base64 of anything that holds it, also
        twice as in the data of a Secret, or in hex.
        """
        data = text.encode() if isinstance(text, str) else bytes(text)
        return any(form in data for form in self._forms())

    def _forms(self) -> set[bytes]:
        plain = self.core.encode()
        once = _in_base64(plain)
        twice = {form for each in once for form in _in_base64(each)}
        return {plain, plain.hex().encode(), *once, *twice}


def new_mark() -> Mark:
    return Mark(secrets.token_hex(16))


def found(marks: Iterable[Mark], text: Text) -> list[Mark]:
    """The marks that are in there."""
    return [mark for mark in marks if mark.is_in(text)]


def password(mark: Mark) -> Credential:
    return Credential('secret "regcred"', username=USER, password=mark.text)


def identity_token(mark: Mark) -> Credential:
    return Credential('secret "regcred"', identity_token=mark.text)


def registry_token(mark: Mark) -> Credential:
    return Credential('secret "regcred"', registry_token=mark.text)


def docker_auth(credential: Credential) -> dict[str, str]:
    """The entry of a docker config that holds a credential."""
    if credential.identity_token:
        return {"identitytoken": credential.identity_token}
    if credential.registry_token:
        return {"registrytoken": credential.registry_token}
    pair = f"{credential.username}:{credential.password}"
    return {"auth": base64.b64encode(pair.encode()).decode()}


def _in_base64(data: bytes) -> set[bytes]:
    """What base64 makes of the data wherever it stands among others: at three offsets, without the
    characters at both ends that depend on its neighbours.
    """
    forms = set()
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + data)
        end = len(encoded) if (before + len(data)) % 3 == 0 else -4
        forms.add(encoded[4 if before else 0 : end])
    return forms
