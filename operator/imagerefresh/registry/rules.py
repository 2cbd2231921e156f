"""What holds for a host, a proxy and a mirror, looked up while requests are sent.

Made of a `Config` by `config_file`, which has opened what it names; replaced as a whole when the
file changes. Without a file the defaults hold.
"""

import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from yarl import URL

from imagerefresh.reference import Reference, is_loopback
from imagerefresh.registry.addresses import Near
from imagerefresh.registry.bucket import DEFAULT_RATE, Rate
from imagerefresh.registry.config import DIRECT, EVERY_HOST, Config, Host, Insecure, place
from imagerefresh.registry.keyring import Keyring
from imagerefresh.registry.lru import LRU
from imagerefresh.registry.no_proxy import NoProxy
from imagerefresh.registry.outcomes import Credential
from imagerefresh.registry.proxies import Proxies, Proxy, parse_proxy

_MAX_HOSTS = 4096
_HTTP_PORT = 80
_HTTPS_PORT = 443


@dataclass(frozen=True, slots=True)
class HostRule:
    """What holds for one host.

    Attributes:
        host: its part of the file.
        rate: our limit towards it.
        tls: None for the usual trust.
        proxy: its own, if it has one.
    """

    host: Host
    rate: Rate
    tls: ssl.SSLContext | None = None
    proxy: Proxy | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is asked in plain http."""
        return self.host.insecure is Insecure.PLAIN_HTTP


class Rules:
    """All that the process decides about registries."""

    def __init__(
        self,
        config: Config | None = None,
        contexts: Mapping[str, ssl.SSLContext] | None = None,
        keyrings: Sequence[Keyring] = (),
        *,
        allow_loopback: bool = False,
        proxies: Proxies | None = None,
    ) -> None:
        """Join file and settings.

        Args:
            config: of the file.
            contexts: a TLS context for each of its hosts that says how TLS is spoken.
            keyrings: what each docker config holds that it names under `credentials`, in order.
            allow_loopback: all registries on this machine may be asked, in plain http too.
            proxies: those of the environment; they hold as far as the file names none.
        """
        self._config = config or Config()
        self._allow_loopback = allow_loopback
        contexts = contexts or {}
        self._rules = {
            name: HostRule(host, _rate(host), contexts.get(name), _own_proxy(host))
            for name, host in self._config.hosts.items()
        }
        self._default = self._rules.get(EVERY_HOST) or HostRule(Host(), DEFAULT_RATE)
        self._proxies = proxies or Proxies()
        if (named := self._config.proxy) is not None:
            proxy = parse_proxy(named.url)
            self._proxies = Proxies(proxy, proxy, NoProxy.parse(named.no_proxy))
        every = [self._proxies.http, self._proxies.https]
        every += [rule.proxy for rule in self._rules.values()]
        self._proxy_ends = {_end(proxy.url) for proxy in every if proxy is not None}
        self._keyrings = tuple(zip(self._config.credentials, keyrings, strict=True))
        self._kept: LRU[tuple[str, int], HostRule] = LRU(_MAX_HOSTS)

    def for_host(self, host: str, port: int) -> HostRule:
        """Return what holds for a host: its own entry, else that of its narrowest ``*.`` pattern,
        else that of ``*``. An entry holds alone: nothing is added from another.
        """
        rule = self._kept.get((host, port))
        if rule is None:
            rule = self._find(host, port)
            self._kept.put((host, port), rule)
        return rule

    def for_url(self, url: URL) -> HostRule:
        """As `for_host`."""
        return self.for_host(url.raw_host or "", url.port or _HTTPS_PORT)

    def rate_of(self, name: str) -> Rate:
        """Return our limit towards a host, which is written as `urls.host_port` does."""
        return self.for_url(URL(f"https://{name}", encoded=True)).rate

    def scheme(self, registry: str) -> str:
        """Return how a registry is spoken to, by its name in a reference: TLS, except on this
        machine, unless the file says otherwise.
        """
        rule = self._rules.get(registry)
        if rule is None:
            rule = self.for_url(URL(f"https://{registry}", encoded=True))
        if rule.is_plain:
            return "http"
        return "http" if is_loopback(registry) and not rule.host.has_tls else "https"

    def near(self, host: str, port: int) -> Near:
        """Return where near a registry may lead, other than to what anybody can reach (B28)."""
        rule = self.for_host(host, port).host
        near = Near.NOWHERE
        if self._allow_loopback or rule.allow_loopback:
            near |= Near.THIS_MACHINE
        if rule.allow_link_local:
            near |= Near.THIS_LINK
        return near

    def near_when_connecting(self, host: str, port: int) -> Near:
        """As `near`; the name may also be that of a proxy, which may be anywhere."""
        if (host, port) in self._proxy_ends:
            return Near.THIS_MACHINE | Near.THIS_LINK
        return self.near(host, port)

    def allows_plain_http(self, url: URL) -> bool:
        """Whether an address may be asked in plain http."""
        host, port = url.raw_host or "", url.port or _HTTP_PORT
        return self.for_host(host, port).is_plain or (
            is_loopback(url.raw_authority) and Near.THIS_MACHINE in self.near(host, port)
        )

    def trusts(self, service: URL, registry: URL) -> bool:
        """Whether the file lets a token service see the credentials for a registry."""
        trusted = self.for_url(registry).host.token_services
        return bool(trusted) and _name(service.raw_host or "", service.port or 0) in trusted

    def credentials_for(self, reference: Reference, namespace: str) -> tuple[Credential, ...]:
        """Return what the file holds for an image, in the order of the file, if it is a policy of
        this namespace that asks; a policy of another namespace has nothing of it (B10).
        """
        return tuple(
            credential
            for rule, keyring in self._keyrings
            if namespace in rule.namespaces
            for credential in keyring.credentials_for(reference)
        )

    def proxy_for(self, url: URL) -> Proxy | None:
        """Return the proxy that an address is reached through, None for none.

        This machine is never reached through one: it would be the proxy's.
        """
        if is_loopback(url.raw_authority):
            return None
        rule = self.for_url(url)
        return self._proxies.for_url(url) if rule.host.proxy is None else rule.proxy

    def mirrors(self, reference: Reference) -> list[Reference]:
        """Return where else an image may be found, in the order in which to ask."""
        found: list[Reference] = []
        for mirror in self._config.mirrors:
            rest = reference.name.removeprefix(mirror.prefix)
            if rest == reference.name or rest[:1] not in ("", "/"):
                continue
            registry, _, path = f"{mirror.location}{rest}".partition("/")
            if path:
                found.append(Reference(registry, path, reference.tag, reference.digest))
        return found

    def _find(self, host: str, port: int) -> HostRule:
        rule = self._rules.get(_name(host, port))
        if rule is None and port == _HTTP_PORT:
            # A name without a port means the usual one: this one, if plain http is spoken there.
            usual = self._rules.get(_name(host, _HTTPS_PORT))
            rule = usual if usual is not None and usual.is_plain else None
        domain = host
        while rule is None and "." in domain:
            domain = domain.partition(".")[2]
            rule = self._rules.get(f"*.{domain}")
        return rule or self._default


def _rate(host: Host) -> Rate:
    limit = host.rate_limit
    return DEFAULT_RATE if limit is None else Rate(limit.requests_per_second, limit.burst)


def _name(host: str, port: int) -> str:
    """Write a host as a reference would; "" if none could name it."""
    try:
        return place(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
    except ValueError:
        return ""


def _own_proxy(host: Host) -> Proxy | None:
    return None if host.proxy in (None, DIRECT) else parse_proxy(host.proxy)


def _end(url: URL) -> tuple[str, int]:
    return url.raw_host or "", url.port or 0
