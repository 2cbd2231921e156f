"""The metrics of the process, in the text format of Prometheus.

One registry per object and none of the library's globals, so that tests and processes don't share
any. What is known per policy is kept as plain values, and turned into series when somebody asks: a
deleted policy then leaves no series behind.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    Info,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from imagerefresh import __version__

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
"""Of `Metrics.exposition`."""

_POLICY: Final = ("namespace", "name")

_MAX_HOSTS: Final = 1000
_OTHER_HOSTS: Final = "others"
"""Redirects and realms name hosts, too: a hostile registry must not make series without end."""

_RUN_BUCKETS: Final = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30)
"""Seconds. A run is a few calls to the API server and registries, each of which ends after 30 s."""


@dataclass(frozen=True, slots=True)
class PolicyMetrics:
    """The check times of one policy, in seconds since the epoch, and the states of its images."""

    last_check: float | None = None
    next_check: float | None = None
    images: Mapping[str, str] = field(default_factory=dict)


class Metrics:
    """Counts and values, told by whoever knows them. All times are time zone aware."""

    def __init__(self) -> None:
        # They double the number of series and answer no question.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        self._policies = _Policies()
        self._registry.register(self._policies)
        ProcessCollector(registry=self._registry)
        Info("imagerefresh_build", "The running version", registry=self._registry).info(
            {"version": __version__}
        )
        self._registry_requests = self._counter(
            "registry_requests", "Requests to image registries", ("host", "outcome")
        )
        self._hosts: set[str] = set()
        self._api_requests = self._counter(
            "api_requests", "Requests to the API server", ("verb", "code")
        )
        self._asks = self._counter("asks", "Digests that targets were asked to run", _POLICY)
        self._records = self._counter("records", "Digests recorded as proven healthy", _POLICY)
        self._failures = self._counter("failures", "Digests that did not become healthy", _POLICY)
        self._runs = Histogram(
            "imagerefresh_run_duration_seconds",
            "Time that a run took: look, decide, act",
            buckets=_RUN_BUCKETS,
            registry=self._registry,
        )

    def _counter(self, name: str, documentation: str, labels: tuple[str, ...]) -> Counter:
        return Counter(f"imagerefresh_{name}", documentation, labels, registry=self._registry)

    def registry_request(self, host: str, outcome: str) -> None:
        """`outcome` is the status code, or a word for what came instead of an answer."""
        if len(self._hosts) < _MAX_HOSTS:
            self._hosts.add(host)
        known = host if host in self._hosts else _OTHER_HOSTS
        self._registry_requests.labels(known, outcome).inc()

    def api_request(self, verb: str, code: str) -> None:
        """`verb` is the HTTP method, `code` the status code or `unreachable`."""
        self._api_requests.labels(verb, code).inc()

    def run_finished(self, seconds: float) -> None:
        """A run of one policy has ended, well or not."""
        self._runs.observe(seconds)

    def asked(self, namespace: str, name: str) -> None:
        """One digest was asked of the policy's target."""
        self._count(self._asks, namespace, name)

    def recorded(self, namespace: str, name: str) -> None:
        """One digest was recorded."""
        self._count(self._records, namespace, name)

    def failed(self, namespace: str, name: str) -> None:
        """One digest has failed."""
        self._count(self._failures, namespace, name)

    def _count(self, counter: Counter, namespace: str, name: str) -> None:
        if (namespace, name) in self._policies.known:
            counter.labels(namespace, name).inc()

    def policy_watched(self, namespace: str, name: str, told: Callable[[], PolicyMetrics]) -> None:
        """The policy is there; `told` is asked whenever the metrics are read.

        Only then may anything else be told about it: what a run still tells about a policy that
        was deleted meanwhile is ignored.
        """
        self._policies.known[namespace, name] = told

    def policy_gone(self, namespace: str, name: str) -> None:
        """The policy was deleted: all its series end."""
        self._policies.known.pop((namespace, name), None)
        for counter in (self._asks, self._records, self._failures):
            counter.remove(namespace, name)

    def exposition(self) -> bytes:
        """All series as text, of the type CONTENT_TYPE."""
        return generate_latest(self._registry)


class _Policies(Collector):
    def __init__(self) -> None:
        self.known: dict[tuple[str, str], Callable[[], PolicyMetrics]] = {}

    @override
    def collect(self) -> Iterable[Metric]:
        last = GaugeMetricFamily(
            "imagerefresh_policy_last_check_timestamp_seconds",
            "When the registries were last asked for the policy",
            labels=_POLICY,
        )
        following = GaugeMetricFamily(
            "imagerefresh_policy_next_check_timestamp_seconds",
            "When the registries are to be asked next; absent if never",
            labels=_POLICY,
        )
        state = GaugeMetricFamily(
            "imagerefresh_image_state",
            "1 for the state that the image is in",
            labels=(*_POLICY, "image", "state"),
        )
        for key, told in self.known.items():
            policy = told()
            if policy.last_check is not None:
                last.add_metric(key, policy.last_check)
            if policy.next_check is not None:
                following.add_metric(key, policy.next_check)
            for image, its_state in policy.images.items():
                state.add_metric((*key, image, its_state), 1)
        yield GaugeMetricFamily("imagerefresh_policies", "Policies watched", value=len(self.known))
        yield from (last, following, state)
