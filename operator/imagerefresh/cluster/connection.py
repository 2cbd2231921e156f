"""The one connection to the API server: where it is, who we are, and what a request costs.

It knows HTTP and tokens, and nothing of policies or targets. The client library gives the
configuration, TLS and connections; its typed calls are not used, since they build model classes and
log whole answers. Retrying anything but a 401 is the caller's business.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, Self, TypeAlias
from urllib.parse import urlencode

import aiohttp
from kubernetes_asyncio.client.api_client import ApiClient
from kubernetes_asyncio.client.configuration import Configuration
from kubernetes_asyncio.config import ConfigException, load_incluster_config, load_kube_config

from imagerefresh import __version__
from imagerefresh.cluster.errors import (
    NotConfigured,
    Unauthorized,
    Unavailable,
    error_from_answer,
    one_line,
)

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object as the API server sent it."""

RequestHook: TypeAlias = Callable[[str, str], None]
"""Told of each request: the HTTP method, and the status code or `unreachable`."""

MAX_CONNECTIONS: Final = 16
"""Requests in flight at once; more wait in line. High enough that a hundred workloads on one image
are patched within a second or two; low enough that a start with a thousand policies leaves the
event loop time for the probes, and the API server for others."""

REQUEST_TIMEOUT: Final = 30.0
"""Seconds for a whole request, the answer's body included; the wait in line does not count."""


class Heartbeat:
    """How long no call has succeeded, for the liveness probe (B29).

    An answer that shows that the server works and knows us is a success, even if it is a refusal:
    a new process would hear the same. Times are seconds of the monotonic clock.
    """

    def __init__(self) -> None:
        self.last_success: float | None = None
        self._first_failure: float | None = None
        self._last_failure: float | None = None

    def succeeded(self, now: float) -> None:
        """A call was answered."""
        self.last_success = now
        self._first_failure = self._last_failure = None

    def failed(self, now: float) -> None:
        """A call was not answered, or answered with 401 or 5xx."""
        self._last_failure = now
        if self._first_failure is None:
            self._first_failure = now

    def failing_for(self) -> float:
        """Seconds from the first to the latest of the failed calls since the last success.

        Not the time since the first failure: a quiet operator makes no call for a long time, and
        one failure followed by silence proves nothing.
        """
        if self._first_failure is None or self._last_failure is None:
            return 0.0
        return self._last_failure - self._first_failure


class Connection:
    """Sends requests, with a token that is read again when it is no longer accepted (B29)."""

    def __init__(
        self,
        configuration: Configuration,
        load: Callable[[], Awaitable[Configuration]],
        on_request: RequestHook | None = None,
    ) -> None:
        self.heartbeat = Heartbeat()
        self._configuration = configuration
        self._load = load
        self._on_request = on_request
        self._renewal = asyncio.Lock()
        self._line = asyncio.Semaphore(MAX_CONNECTIONS)
        configuration.connection_pool_maxsize = MAX_CONNECTIONS
        self._api = ApiClient(configuration)
        rest = self._api.rest_client
        # The library's own session looks for proxies in the environment and for ~/.netrc at each
        # request, in threads: that triples its CPU time, and a netrc entry for this host breaks it.
        # The proxy-url of a kubeconfig still holds.
        connector = rest.pool_manager.connector
        rest.pool_manager.detach()
        rest.pool_manager = aiohttp.ClientSession(connector=connector)

    @classmethod
    async def open(
        cls, *, kubeconfig: str | None = None, on_request: RequestHook | None = None
    ) -> Self:
        """Finds the API server; makes no request yet.

        With `kubeconfig` it is that file; else the pod's service account, else KUBECONFIG or
        ~/.kube/config.

        Raises:
            NotConfigured: nothing usable was found.
        """

        async def load() -> Configuration:
            return await _load_configuration(kubeconfig)

        return cls(await load(), load, on_request)

    async def close(self) -> None:
        """Closes the connections; what is requested after it is Unavailable."""
        await self._api.close()

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: JsonObject | list[JsonObject] | None = None,
        content_type: str = "application/json",
    ) -> JsonObject:
        """One request; its JSON answer. `path` starts with a slash and is quoted already.

        Raises:
            ClusterError: one of the tree in `errors`.
        """
        target = f"{path}?{urlencode(query)}" if query else path
        authorization = await self._authorization()
        code, headers, answer = await self._send(method, target, authorization, body, content_type)
        if code == HTTPStatus.UNAUTHORIZED:
            await self._renew(authorization)
            authorization = await self._authorization()
            code, headers, answer = await self._send(
                method, target, authorization, body, content_type
            )
        if not HTTPStatus.OK <= code < HTTPStatus.MULTIPLE_CHOICES:
            raise error_from_answer(code, headers, answer)
        try:
            decoded = json.loads(answer)
        except ValueError:
            decoded = None
        if not isinstance(decoded, dict):
            raise Unavailable(f"the API server's answer (HTTP {code}) is not a JSON object")
        return decoded

    async def _send(
        self,
        method: str,
        target: str,
        authorization: str | None,
        body: JsonObject | list[JsonObject] | None,
        content_type: str,
    ) -> tuple[int, Mapping[str, str], bytes]:
        headers = {"Accept": "application/json", "User-Agent": f"imagerefresh/{__version__}"}
        if body is not None:
            headers["Content-Type"] = content_type
        if authorization:
            headers["Authorization"] = authorization
        if self._api.rest_client.pool_manager.closed:  # keepers may outlive what they work with
            raise Unavailable(
                "the connection to the API server is closed: all ends, or begins anew"
            )
        try:
            async with self._line:
                response = await self._api.rest_client.request(
                    method,
                    f"{self._configuration.host}{target}",
                    headers=headers,
                    body=body,
                    _preload_content=False,
                    _request_timeout=REQUEST_TIMEOUT,
                )
                answer = await response.read()
        except TimeoutError:
            self._note(method, None)
            raise Unavailable(f"no answer from the API server in {REQUEST_TIMEOUT:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            self._note(method, None)
            message = one_line(f"{type(error).__name__}: {error}")
            raise Unavailable(f"can't reach the API server: {message}") from None
        self._note(method, response.status)
        return response.status, response.headers, answer

    def _note(self, method: str, code: int | None) -> None:
        now = time.monotonic()
        if (
            code is None
            or code == HTTPStatus.UNAUTHORIZED
            or code >= HTTPStatus.INTERNAL_SERVER_ERROR
        ):
            self.heartbeat.failed(now)
        else:
            self.heartbeat.succeeded(now)
        if self._on_request:
            self._on_request(method, "unreachable" if code is None else str(code))

    async def _authorization(self) -> str | None:
        """The header's value. The library reads a pod's token file again each minute."""
        try:
            value = await self._configuration.get_api_key_with_prefix("BearerToken")
        except (ConfigException, OSError) as error:
            raise Unauthorized(f"can't read the token: {one_line(str(error))}") from None
        return value.strip() if value else None

    async def _renew(self, used: str | None) -> None:
        """Reads the token again, once for all the requests that met a 401 with the same one."""
        async with self._renewal:
            if await self._authorization() != used:
                return
            try:
                fresh = await self._load()
            except NotConfigured as error:
                raise Unauthorized(f"can't read the token again: {error}") from None
            if fresh.host != self._configuration.host:
                raise Unauthorized(
                    "can't read the token again: there is only one of another server"
                )
            self._configuration.api_key = fresh.api_key
            self._configuration.refresh_api_key_hook = fresh.refresh_api_key_hook


async def _load_configuration(kubeconfig: str | None) -> Configuration:
    """The same order as the operator framework's own login, so that both talk to one server."""
    configuration = Configuration()
    try:
        if kubeconfig is None:
            try:
                load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
            except ConfigException:
                pass
            else:
                return configuration
        await load_kube_config(
            config_file=kubeconfig, client_configuration=configuration, persist_config=False
        )
    except Exception as error:  # noqa: BLE001 (a broken file makes the library raise anything)
        # Without the error's text: it may quote what is in the file.
        where = kubeconfig or "that KUBECONFIG or ~/.kube/config names"
        raise NotConfigured(
            "no API server is known: this is not a pod with a service account, and the kubeconfig "
            f"{where} can't be used ({type(error).__name__})"
        ) from None
    return configuration
