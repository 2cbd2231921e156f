"""The registries file: its shape, and what may stand in it. Pure: no file is opened here.

What an administrator decides about registries for the whole process (B28). It is checked whole:
an unknown key is an error, since a typing error must not pass in silence. Messages show no values,
as an address of a proxy may hold a password.
"""

import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from imagerefresh.reference import InvalidReference, normalise
from imagerefresh.registry.no_proxy import NoProxy
from imagerefresh.registry.proxies import parse_proxy

EVERY_HOST = "*"
DIRECT = "direct"
_MAX_PER_SECOND = 10_000
_MAX_BURST = 100_000
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)


class _Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        hide_input_in_errors=True,
    )


class Insecure(StrEnum):
    """How a registry is trusted less than it should be."""

    PLAIN_HTTP = "plainHTTP"
    SKIP_VERIFY = "skipVerify"


def _absolute(path: Path) -> Path:
    if not path.is_absolute() or "\0" in str(path):
        raise ValueError("give the whole path, from /")
    return path


def _proxy(text: str) -> str:
    parse_proxy(text)
    return text


def _host_proxy(text: str) -> str:
    return text if text == DIRECT else _proxy(text)


def place(text: str) -> str:
    """Normalise a host, or a host with the beginning of a path; raises ValueError."""
    if "@" in text:  # the messages below quote it
        raise ValueError("give it without a user name and password")
    host, slash, path = text.partition("/")
    try:
        if slash:
            reference = normalise(host, path, "tag")
            # A single name may be the beginning of a path: library/ is implied for images only.
            return f"{reference.registry}/{path}"
        return normalise(host, "any/repository", "tag").registry
    except InvalidReference as error:
        raise ValueError(str(error)) from None


def host_name(text: str) -> str:
    """Normalise a key of `hosts`; raises ValueError."""
    if text == EVERY_HOST:
        return text
    wildcard = "*." if text.startswith("*.") else ""
    name = text.removeprefix("*.")
    if "/" in text:
        raise ValueError("give the host alone, such as ghcr.io or registry.example.com:5000")
    if wildcard and (":" in name or "." not in name):
        raise ValueError("give a domain of two labels or more after *., without a port")
    return wildcard + place(name)


def _no_proxy(text: str) -> str:
    NoProxy.parse([text])
    return text


def _namespace(text: str) -> str:
    if not _NAMESPACE.fullmatch(text):
        raise ValueError("give names of namespaces, one by one")
    return text


def _checked(check: Callable[[str], str]) -> AfterValidator:
    return AfterValidator(check)


AbsolutePath = Annotated[Path, AfterValidator(_absolute)]


class RateLimit(_Model):
    """As `bucket.Rate`."""

    requests_per_second: float = Field(gt=0, le=_MAX_PER_SECOND, allow_inf_nan=False)
    burst: int = Field(default=1, ge=1, le=_MAX_BURST)


class ClientCertificate(_Model):
    """A certificate that we show, and its key, in PEM; the key without a password."""

    cert_file: AbsolutePath
    key_file: AbsolutePath


class Host(_Model):
    """What holds for one host, or for all that a pattern names."""

    ca_file: AbsolutePath | None = None
    client_certificate: ClientCertificate | None = None
    insecure: Insecure | None = None
    allow_loopback: bool = False
    allow_link_local: bool = False
    proxy: Annotated[str, _checked(_host_proxy)] | None = None
    rate_limit: RateLimit | None = None
    token_services: tuple[Annotated[str, _checked(place)], ...] = ()

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.insecure is Insecure.PLAIN_HTTP and self.has_tls:
            raise ValueError("caFile and clientCertificate have no use with plainHTTP")
        if self.insecure is Insecure.SKIP_VERIFY and self.ca_file is not None:
            raise ValueError("caFile has no use with skipVerify")
        return self

    @property
    def has_tls(self) -> bool:
        """Whether it says how TLS is spoken, so that it is."""
        return (
            self.ca_file is not None
            or self.client_certificate is not None
            or self.insecure is Insecure.SKIP_VERIFY
        )

    @property
    def is_trusted_with_more(self) -> bool:
        """Whether it says what must be said of hosts one by one."""
        return bool(
            self.insecure
            or self.allow_loopback
            or self.allow_link_local
            or self.client_certificate
            or self.token_services
        )


class Proxy(_Model):
    """The proxy of all hosts that have none of their own."""

    url: Annotated[str, _checked(_proxy)]
    no_proxy: tuple[Annotated[str, _checked(_no_proxy)], ...] = ()


class Mirror(_Model):
    """Another place that is trusted to answer for the images under a prefix."""

    prefix: Annotated[str, _checked(place)]
    location: Annotated[str, _checked(place)]


class Credentials(_Model):
    """A docker config whose credentials serve the policies of some namespaces, and no others."""

    docker_config_file: AbsolutePath
    namespaces: tuple[Annotated[str, _checked(_namespace)], ...] = Field(min_length=1)


class Config(_Model):
    """The whole file."""

    hosts: dict[Annotated[str, _checked(host_name)], Host] = Field(default_factory=dict)
    proxy: Proxy | None = None
    mirrors: tuple[Mirror, ...] = ()
    credentials: tuple[Credentials, ...] = ()

    @model_validator(mode="after")
    def _trusts_nobody_wholesale(self) -> Self:
        every = self.hosts.get(EVERY_HOST)
        if every is not None and every.is_trusted_with_more:
            raise ValueError(
                "the host * takes caFile, proxy and rateLimit only: name the hosts to be trusted "
                "with more"
            )
        return self
