"""A quiet operator is quiet: the registry sees what `due` predicts, the API server no write.

B5, B6, B27.
"""

import time
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from statistics import median

import pytest

from cluster.conftest import StartOperator
from cluster.story import ready
from imagerefresh.api.policy import Spec, parse_spec
from imagerefresh.plan.due import latest_turn, next_turn
from testbed.api import Manifest
from testbed.audit import service_account_user
from testbed.front import FrontRequest
from testbed.namespace import Namespace
from testbed.registry import Registry
from testbed.waiting import eventually, wait_until
from testbed.workloads import container, policy, restart, workload

POLICIES = 200
IMAGES = 50
"""Four policies on each, which share its requests: all four have its interval."""
WATCHED = 120.0
"""Seconds."""
INTERVALS = ("30s", "45s")
LATE = 1.0
"""Seconds from a turn to its request, of most."""
MOST_LATE = 10.0
"""The same of each, on a machine that is busy with more than this."""
DRIFT = 0.5
"""Seconds by which the wall clock may be set right while the test runs."""

Turn = tuple[str, float]
"""The path of a manifest, and the moment at which it is due."""


class Policies:
    """Policies that share images, each with a Deployment of its own without pods."""

    def __init__(self, registry: Registry) -> None:
        self.manifests = [self._policy(registry, number) for number in range(POLICIES)]
        self.specs: dict[str, Spec] = {}
        for manifest in self.manifests:
            spec = parse_spec(manifest["spec"])
            self.specs[f"/v2/{spec.images[0].repository}/manifests/{spec.images[0].tag}"] = spec

    def turns(self, begin: float, end: float) -> Counter[Turn]:
        """All turns from begin to end, in seconds since the epoch, each image's once."""
        found: Counter[Turn] = Counter()
        for path, spec in self.specs.items():
            turn = next_turn(spec, str(spec.images[0].reference), begin)
            while turn <= end:
                found[path, round(turn, 3)] += 1
                turn = next_turn(spec, str(spec.images[0].reference), turn)
        return found

    def turn_of(self, request: FrontRequest) -> Turn:
        """The turn to which a request belongs; the two clocks may drift apart a little."""
        spec = self.specs[request.path]
        turn = latest_turn(spec, str(spec.images[0].reference), wall(request) + DRIFT)
        return request.path, round(turn, 3)

    @staticmethod
    def _policy(registry: Registry, number: int) -> Manifest:
        image = number % IMAGES
        followed = restart("app", registry.address, f"example/app-{image}", "prod")
        name = f"app-{number}"
        return policy(name, name, [followed], interval=INTERVALS[image % len(INTERVALS)])


def wall(request: FrontRequest) -> float:
    """When a request came in, in seconds since the epoch."""
    return request.time + time.time() - time.monotonic()


def wait_for(moment: float) -> None:
    wait_until(lambda: time.time() > moment, timeout=moment - time.time() + 10, pause=0.2)


def assert_as_predicted(
    requests: Iterable[FrontRequest], policies: Policies, begin: float, end: float
) -> None:
    """Each turn in a span of time brought one HEAD, soon after it, and nothing else came."""
    of_turns = [(request, policies.turn_of(request)) for request in requests]
    in_span = [(request, turn) for request, turn in of_turns if begin < turn[1] <= end]
    assert Counter(turn for _, turn in in_span) == policies.turns(begin, end)
    assert {request.method for request, _ in in_span} <= {"HEAD"}
    late = [wall(request) - turn[1] for request, turn in in_span] or [0.0]
    assert max(late) < MOST_LATE
    assert median(late) < LATE


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_hundred_idle_policies(
    namespace: Namespace, registry: Registry, start_operator: StartOperator
) -> None:
    """B5, B6, B27: for two minutes; and a restart of the operator brings no burst."""
    for image in range(IMAGES):
        registry.publish(f"example/app-{image}", "prod", label="app", attestation=False)
    policies = Policies(registry)
    for number, manifest in enumerate(policies.manifests):
        app = container("app", f"{registry.address}/example/app-{number % IMAGES}:prod")
        namespace.create(workload(f"app-{number}", [app], replicas=0))
        namespace.create(manifest)
    operator = start_operator()

    def are_settled() -> bool:
        found = [ready(each) for each in namespace.items("ImageRefreshPolicy")]
        told = [each for each in namespace.items("Event") if each["reason"] == "Recorded"]
        return found == [("True", "UpToDate")] * POLICIES and len(told) == POLICIES

    eventually(are_settled, timeout=240, describe="all are ready, and it is told")

    registry.front.forget()
    begin, began = time.time(), datetime.now(UTC)
    wait_for(begin + WATCHED)
    end = begin + WATCHED - MOST_LATE
    writes = [
        each
        for each in namespace.control_plane.audit.requests(
            service_account_user(namespace.name, "imagerefresh"), since=began
        )
        if each.is_write
    ]
    assert writes == []
    assert_as_predicted(registry.front.requests(), policies, begin, end)

    operator.kill()
    registry.front.forget()
    restarted = time.time()
    operator = start_operator()
    eventually(lambda: f"imagerefresh_policies {POLICIES:.1f}" in operator.metrics())
    watched = time.time() + 1  # for the last ones to think about it
    wait_for(watched + 2 * MOST_LATE)
    early = [
        request
        for request in registry.front.requests()
        if policies.turn_of(request)[1] <= restarted < wall(request)  # not of the first one
    ]
    assert early == []
    assert_as_predicted(registry.front.requests(), policies, watched, watched + MOST_LATE)
