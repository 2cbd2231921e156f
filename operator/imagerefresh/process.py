"""The singletons of one process: built once at the start, closed in reverse order at the end."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Self

from imagerefresh.cluster.client import Cluster
from imagerefresh.cluster.connection import Connection
from imagerefresh.cluster.errors import ClusterError
from imagerefresh.cluster.events import EventRecorder
from imagerefresh.cluster.pods import Pods
from imagerefresh.cluster.secrets import PullSecrets
from imagerefresh.reconcile.looking import TagWatch
from imagerefresh.reconcile.reconciler import Reconciler
from imagerefresh.reconcile.telling import Teller
from imagerefresh.reconcile.witness import Witness
from imagerefresh.registries import Registries
from imagerefresh.registry import RegistryClient, RequestRecord
from imagerefresh.settings import LogFormat, Settings
from imagerefresh.telemetry import logs
from imagerefresh.telemetry.metrics import Metrics
from imagerefresh.telemetry.probes import ProbeServer

API_TROUBLE_LIMIT = 300.0
"""Seconds without a successful call to the API server, while calls are made, after which liveness
fails (B29).
"""
SERVED_CHECK = 5.0
"""Seconds between looks for the CRD at the start."""
DRAIN = 5.0
"""Seconds that events get to be written at the end; well below the pod's grace period."""

logger = logging.getLogger(__name__)


async def find_cluster() -> None:
    """Makes sure that a way to an API server is known, before anything is started.

    Raises:
        NotConfigured: it says what was looked for.
    """
    connection = await Connection.open()
    await connection.close()


@dataclass(slots=True)
class Process:
    """Everything that the handlers need. `is_ready` is set once the operator watches."""

    metrics: Metrics
    connection: Connection
    cluster: Cluster
    registry: RegistryClient
    events: EventRecorder
    reconciler: Reconciler
    is_ready: bool = False
    _closing: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """Starts to serve the probes, and builds the clients. No request is sent yet.

        Raises:
            AddressError: the probes can't be served where the settings say.
            NotConfigured: no way to an API server is known.
            InvalidConfigError: the registries file can't be used.
        """
        logs.configure(json_lines=settings.log_format is LogFormat.JSON, level=settings.log_level)
        for problem in settings.proxies.problems:
            logger.warning("%s", problem)
        async with contextlib.AsyncExitStack() as opened:
            metrics = Metrics()
            connection = await Connection.open(on_request=metrics.api_request)
            opened.push_async_callback(connection.close)
            registries = Registries.open(
                settings,
                on_request=lambda record: metrics.registry_request(record.host, _outcome(record)),
            )
            opened.push_async_callback(registries.close)
            registries.follow()
            registry = registries.client
            events = EventRecorder(connection, socket.gethostname())
            opened.push_async_callback(events.close, DRAIN)
            cluster = Cluster(connection)
            teller = Teller(cluster, events, metrics)
            secrets = PullSecrets(connection)
            witness = Witness(Pods(connection), registry)
            reconciler = Reconciler(cluster, TagWatch(registry), teller, secrets, witness)
            process = cls(metrics, connection, cluster, registry, events, reconciler)
            probes = ProbeServer(
                healthy=process.is_healthy, ready=process.readiness, exposition=metrics.exposition
            )
            await probes.start(settings.http_address.host, settings.http_address.port)
            opened.push_async_callback(probes.close)
            process._closing = opened.pop_all()
        return process

    async def wait_until_served(self, namespaces: Collection[str] | None) -> None:
        """Returns once the API server knows the policies, and lets us read them: the CRD and the
        Role may be applied after the operator.

        No namespaces means all of them, and None that it is not known which.
        """
        is_told = False
        while True:
            try:
                if await self.cluster.policy_is_served():
                    for namespace in [] if namespaces is None else namespaces or [""]:
                        await self.cluster.list_policies(namespace, limit=1)
                    return
                why = "the CustomResourceDefinition is not installed: apply crds/"
            except ClusterError as error:
                why = str(error)
            if not is_told:
                logger.warning("waiting for the API server to serve the policies: %s", why)
                is_told = True
            await asyncio.sleep(SERVED_CHECK)

    def is_healthy(self) -> tuple[bool, str]:
        """For liveness: whether the API server has answered lately, if it was asked (B29)."""
        failing = self.connection.heartbeat.failing_for()
        if failing > API_TROUBLE_LIMIT:
            return False, f"no call to the API server has succeeded for {failing:.0f} s"
        return True, "ok"

    def readiness(self) -> tuple[bool, str]:
        """For readiness: whether policies are watched."""
        return self.is_ready, "ok" if self.is_ready else "starting"

    async def close(self) -> None:
        """Ends what was opened."""
        self.is_ready = False
        await self._closing.aclose()


def _outcome(record: RequestRecord) -> str:
    return str(record.status) if record.status is not None else record.cause or "unreachable"
