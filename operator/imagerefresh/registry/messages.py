"""A request and its answer, as the modules of this package hand them on. No I/O."""

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple
from urllib.parse import quote, quote_plus

from multidict import CIMultiDictProxy
from typing_extensions import override
from yarl import URL

from imagerefresh.registry.error_text import oci_error_text
from imagerefresh.registry.urls import host_port

_SECRET_FIELDS: Final = frozenset({"refresh_token"})
# Shorter ones stand in innocent words, too.
_MIN_HIDDEN: Final = 4


class Request(NamedTuple):
    """What to send.

    Attributes:
        method: HEAD, GET or POST.
        url: where to, already encoded.
        headers: in addition to those that every request has.
        max_body: bytes that the body of a good answer may have.
        form: fields of a POST.
    """

    method: str
    url: URL
    headers: Mapping[str, str]
    max_body: int = 0
    form: Mapping[str, str] | None = None

    @override
    def __repr__(self) -> str:
        return f"<Request {self.method} {host_port(self.url)}>"  # headers may hold credentials

    def secrets(self) -> list[str]:
        """Return what of it is not to be shown, in the forms in which a server may repeat it; the
        longest first, as one may be part of another.
        """
        forms = {
            form
            for text in self._credentials()
            if len(text) >= _MIN_HIDDEN
            for form in (text, quote(text), quote(text, safe=""), quote_plus(text))
        }
        return sorted(forms, key=len, reverse=True)

    def _credentials(self) -> Iterator[str]:
        for name, value in self.headers.items():
            if name.lower() == "authorization":
                scheme, _, token = value.partition(" ")
                yield token.rstrip("=")
                if scheme == "Basic":
                    pair = _decoded(token)
                    yield pair
                    yield pair.partition(":")[2]
        for name, value in (self.form or {}).items():
            if name in _SECRET_FIELDS:
                yield value


class Answer(NamedTuple):
    """What came back.

    Attributes:
        status: the HTTP status.
        headers: case-insensitive, with all lines of a repeated header.
        body: of an error, perhaps cut; empty for HEAD.
        request: what it answers.
        sent_at: monotonic time when the request was sent.
    """

    status: int
    headers: CIMultiDictProxy[str]
    body: bytes
    request: Request
    sent_at: float

    @override
    def __repr__(self) -> str:
        return f"<Answer {self.status}>"  # the body may hold a token

    @property
    def url(self) -> URL:
        """What answered."""
        return self.request.url

    def error_text(self) -> str:
        """Return the messages of an OCI error answer, without what the request brought along; ""
        if it is not one.
        """
        return oci_error_text(self.body, self.request.secrets())


def _decoded(token: str) -> str:
    try:
        return base64.b64decode(token).decode("utf-8", "surrogatepass")
    except (binascii.Error, ValueError):
        return ""
