"""A host that says 429 gets its rest from all policies, and holds up no other host.

B9.
"""

import itertools
import time
from collections.abc import Callable, Iterable

import pytest

from cluster.conftest import StartOperator
from cluster.story import entry, ready
from imagerefresh.api.policy import Spec, parse_spec
from imagerefresh.plan.due import latest_turn, next_turn
from testbed.api import Manifest
from testbed.namespace import Namespace
from testbed.registry import Registry
from testbed.waiting import eventually, wait_until
from testbed.workloads import container, policy, restart, workload

INTERVAL = 10.0
REST = 60.0
"""What the host asks for, in seconds."""
POLICIES = 3
"""On each host, with an image of its own each."""
APART = 2.0
"""Seconds between the turns of two images of a host, so that no two requests are under way."""
DRIFT = 1.0
"""Seconds by which a request may come before its turn, as clocks have it."""
LATE = 7.0
"""Seconds by which a request may come after it, on a machine that is busy with other tests; one
that is held up by the other host comes later than that.
"""


class Followed:
    """Policies that follow images of one registry."""

    def __init__(self, registry: Registry, host: str) -> None:
        self.registry, self.host = registry, host
        self.names: list[str] = []
        self._specs: list[Spec] = []
        phases: list[float] = []
        for number in itertools.count():
            name = f"{host}-{number}"
            spec = parse_spec(self._manifest(name)["spec"])
            phase = latest_turn(spec, str(spec.images[0].reference), INTERVAL * 1000) % INTERVAL
            if all(APART < abs(phase - other) < INTERVAL - APART for other in phases):
                phases.append(phase)
                self.names.append(name)
                self._specs.append(spec)
            if len(self.names) == POLICIES:
                break

    def create(self, namespace: Namespace) -> None:
        for name in self.names:
            self.registry.publish(f"example/{name}", "prod")
            app = container("app", f"{self.registry.address}/example/{name}:prod")
            namespace.create(workload(name, [app], replicas=0))
            namespace.create(self._manifest(name))

    def lateness(self, begin: float, end: float) -> list[float]:
        """By how many seconds the request of each turn in a span of wall-clock time was late."""
        offset = time.time() - time.monotonic()
        found = []
        for spec in self._specs:
            path = f"/{spec.images[0].repository}/"
            came = [each.time + offset for each in self.registry.front.requests("HEAD", path)]
            turn = next_turn(spec, str(spec.images[0].reference), begin)
            while turn < end:
                found.append(next((each - turn for each in came if each > turn - DRIFT), INTERVAL))
                turn = next_turn(spec, str(spec.images[0].reference), turn)
        return found

    def _manifest(self, name: str) -> Manifest:
        followed = restart("app", self.registry.address, f"example/{name}", "prod")
        return policy(name, name, [followed], interval=f"{INTERVAL:.0f}s")


def are_all(namespace: Namespace, names: Iterable[str], what: Callable[[Manifest], bool]) -> bool:
    return all(what(namespace.policy(name)) for name in names)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_host_that_asks_for_a_minute_gets_it(
    namespace: Namespace,
    registry: Registry,
    second_registry: Registry,
    start_operator: StartOperator,
) -> None:
    """B9: also when a person asks for a check meanwhile; the other host's turns go on."""
    limited, other = Followed(registry, "limited"), Followed(second_registry, "other")
    for each in (limited, other):
        each.create(namespace)
    start_operator()
    names = [*limited.names, *other.names]
    eventually(
        lambda: are_all(namespace, names, lambda it: ready(it) == ("True", "UpToDate")),
        describe="all are up to date",
    )
    registry.front.forget()
    registry.front.fail(429, headers={"Retry-After": f"{REST:.0f}"}, times=1)
    eventually(registry.front.requests, timeout=3 * INTERVAL, describe="the host says 429")
    [refused] = registry.front.requests()
    begin = time.time()
    for name in limited.names:
        namespace.annotate(
            "ImageRefreshPolicy", name, **{"imagerefresh.dev/requested-at": "meanwhile"}
        )

    end = begin + REST
    wait_until(lambda: time.time() > end + LATE, timeout=REST + 60, pause=0.5)

    later = [each.time for each in registry.front.requests() if each is not refused]
    assert all(each - refused.time >= REST for each in later)
    late = other.lateness(begin, end)
    assert len(late) >= POLICIES * (REST // INTERVAL)
    assert max(late) < LATE
    eventually(
        lambda: are_all(namespace, names, lambda it: entry(it, "app").get("reason") == "UpToDate"),
        timeout=6 * INTERVAL,
        describe="the host is asked again, and all is well",
    )
