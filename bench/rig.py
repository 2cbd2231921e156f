"""One scenario's world: a control plane and a registry of its own, workloads, policies, operator.

Each scenario has its own, so that none pays for what another left behind.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from imagerefresh.api.policy import parse_spec
from imagerefresh.plan.due import next_turn
from meter import Meter
from testbed.api import Manifest
from testbed.audit import service_account_user
from testbed.controlplane import ControlPlane
from testbed.installation import install_cluster_part, install_operator_part
from testbed.namespace import Namespace
from testbed.operator_process import OperatorProcess
from testbed.registry import Registry
from testbed.waiting import wait_until
from testbed.watch import Watch
from testbed.workloads import RESOURCES, condition, container, policy, restart, rolled_out, workload

INTERVAL = 10  # seconds, of every policy
PATIENCE = 600.0  # seconds that anything may take before the bench gives up
_TAG = "prod"
_LOOKED_UP = "imagerefresh_policy_last_check_timestamp_seconds"
_WRITERS = 4  # threads that create objects


@dataclass
class Rig:
    """`policies` policies, spread over `images` images, each with a workload of one pod."""

    policies: int
    images: int
    namespace: Namespace
    registry: Registry
    registry_log: Path
    served: list[str]
    """The digest that the tag of each image serves."""
    start_operator: Callable[[], OperatorProcess]
    operator: OperatorProcess
    user: str
    """The operator's, as the API server knows it."""
    started: float
    """When (monotonic) the operator was started."""
    proven: dict[str, str] = field(default_factory=dict)
    """The digest that the policy of a workload has recorded, while it is Ready with it."""

    def meter(self) -> Meter:
        """Measures the operator from now on."""
        audit = self.namespace.control_plane.audit
        return Meter(self.operator.pid, self.registry_log, audit, self.user, turn=INTERVAL)

    def restart(self) -> None:
        """Kill the operator, and start another one that goes on."""
        self.operator.kill()
        self.operator = self.start_operator()

    def publish(self, image: int) -> str:
        """Move an image's tag to a new digest, and return that."""
        self.served[image] = _publish(self.registry, image)
        return self.served[image]

    def workloads_of(self, image: int) -> list[str]:
        """Names of the workloads that run an image; each has a policy of the same name."""
        return [f"bench-{number}" for number in range(image, self.policies, self.images)]

    def next_turn(self, image: int, now: float) -> float:
        """When an image is looked at next, in seconds since the epoch."""
        spec = parse_spec(_policy(self.registry, image, self.images)["spec"])
        return next_turn(spec, str(spec.images[0].reference), now)

    def wait_watched(self) -> float:
        """Wait until every policy's tag was looked up; the seconds since the start."""
        pause = 0.1 + self.policies / 1000  # to ask costs the operator time, more with each policy
        wait_until(self._are_watched, timeout=PATIENCE, pause=pause)
        return time.monotonic() - self.started

    def wait_settled(self) -> float:
        """Wait until every policy has recorded what its tag serves, and is Ready; the same."""
        wait_until(self._is_settled, timeout=PATIENCE, pause=0.1)
        return time.monotonic() - self.started

    def notice(self, found: Manifest) -> None:
        """Take in a policy as it is now."""
        name = found["metadata"]["name"]
        image: Manifest = next(iter(found.get("status", {}).get("images", [])), {})
        is_ready = (condition(found, "Ready") or {}).get("status") == "True"
        self.proven[name] = image.get("recorded", "") if is_ready else ""

    def _are_watched(self) -> bool:
        try:
            metrics = self.operator.metrics()
        except OSError:  # not up yet
            return False
        return metrics.count(f"\n{_LOOKED_UP}{{") == self.policies

    def _is_settled(self) -> bool:
        return all(
            self.proven.get(name) == digest
            for image, digest in enumerate(self.served)
            for name in self.workloads_of(image)
        )


@contextmanager
def rig(policies: int, images: int) -> Iterator[Rig]:
    """Bring it all up; the operator is started last."""
    with (
        tempfile.TemporaryDirectory(prefix="imagerefresh-bench-") as name,
        ControlPlane(folder := Path(name)) as control_plane,
        Registry(folder) as registry,
    ):
        install_cluster_part(control_plane)
        namespace = Namespace(control_plane)
        account = install_operator_part(control_plane, namespace.name)
        kubeconfig = control_plane.service_account_kubeconfig(namespace.name, account)
        served = [_publish(registry, image) for image in range(images)]
        _populate(namespace, registry, policies, images)

        def start_operator() -> OperatorProcess:
            log = folder / "operator.log"
            operator = OperatorProcess(kubeconfig, log=log, namespaces=namespace.name)
            return operators.enter_context(operator)

        started = time.monotonic()
        with ExitStack() as operators:
            it = Rig(
                policies=policies,
                images=images,
                namespace=namespace,
                registry=registry,
                registry_log=folder / "registry.log",
                served=served,
                start_operator=start_operator,
                operator=start_operator(),
                user=service_account_user(namespace.name, account),
                started=started,
            )
            with Watch(control_plane, RESOURCES["ImageRefreshPolicy"], namespace.name, it.notice):
                yield it


def _populate(namespace: Namespace, registry: Registry, policies: int, images: int) -> None:
    def create_workload(number: int) -> None:
        image = f"{registry.upstream}/{_repository(number % images)}:{_TAG}"
        namespace.create(workload(f"bench-{number}", [container("main", image)]))

    def create_policy(number: int) -> None:
        namespace.create(_policy(registry, number, images))

    def are_rolled_out() -> bool:
        return all(rolled_out(found) for found in namespace.items("Deployment"))

    with ThreadPoolExecutor(_WRITERS) as writers:
        list(writers.map(create_workload, range(policies)))
        wait_until(are_rolled_out, timeout=PATIENCE, pause=1)
        list(writers.map(create_policy, range(policies)))


def _policy(registry: Registry, number: int, images: int) -> Manifest:
    followed = restart("main", registry.upstream, _repository(number % images), _TAG)
    name = f"bench-{number}"
    return policy(name, name, [followed], interval=f"{INTERVAL}s")


def _repository(image: int) -> str:
    return f"bench/image-{image}"


def _publish(registry: Registry, image: int) -> str:
    return registry.publish(_repository(image), _TAG, platforms=("linux/amd64",), attestation=False)
