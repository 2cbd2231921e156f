"""Where attempts are carried out: a namespace, and an operator behind a fault proxy.

Attempts that are to be killed share the kill: when the write of each is held, the operator is
killed once for all of them, and started again once.
"""

import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

from cluster.admission import refused_serials
from proof.faults import writes
from proof.faults.attempt import Attempt
from proof.faults.images import Images
from proof.faults.kinds import Kind, Point
from proof.faults.scenarios import Scenario
from proof.faults.stage import PATIENCE, Stage
from testbed.api import path
from testbed.controlplane import ControlPlane
from testbed.fault_proxy import FaultProxy
from testbed.faults import Fault, Write
from testbed.installation import install_operator_part
from testbed.namespace import Namespace
from testbed.operator_process import OperatorProcess
from testbed.waiting import wait_until
from testbed.workloads import RESOURCES

TOGETHER = 10
"""Attempts at once: fewer than the operator's connections, which held writes occupy."""
GRACE = 5.0
"""Seconds that a write gets to come after its scenario has ended: events come late."""

_PAST = {Kind.OLD_TARGET: "Deployment", Kind.OLD_POLICY: "ImageRefreshPolicy"}


@dataclass
class Lane:
    """`scenario` is the only one in it, so its stages differ by number."""

    scenario: Scenario
    namespace: Namespace
    images: Images
    proxy: FaultProxy
    kubeconfig: Path
    operator: OperatorProcess | None = None
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def attempt(self, kind: Kind | None, points: Sequence[Point | None]) -> list[Attempt]:
        """Play the scenario once for each point, all at once, and return how it went."""
        attempts = [Attempt(self._stage(), kind, point) for point in points]
        by_name = {each.stage.name: each for each in attempts}

        def plan(write: Write) -> Fault | None:
            attempt = by_name.get(writes.subject(write))
            return attempt.plan(write) if attempt else None

        self.proxy.follow(plan)
        with ThreadPoolExecutor(TOGETHER) as pool:
            list(pool.map(lambda each: each.prepare(self.scenario), attempts))
            with self._admission(kind, attempts):
                playing = [pool.submit(each.play, self.scenario) for each in attempts]
                self._wait_met(attempts)
            if kind and kind.kills:
                self._kill(kind, attempts)
            for each in playing:
                each.result()
        return attempts

    def has_unread_past(self, attempt: Attempt) -> bool:
        """Whether the operator did not read the older object that it was to meet."""
        return attempt.kind in _PAST and self.proxy.has_unread_past(
            self._past_path(attempt.kind, attempt)
        )

    def strike(self, attempts: Sequence[Attempt]) -> None:
        """Take their stages away."""
        for each in attempts:
            each.stage.strike()
        self.proxy.forget()

    def start_operator(self) -> None:
        """A new process, which logs to a file of its own."""
        log = self.kubeconfig.with_name(f"{self.namespace.name}-{next(self._numbers)}.log")
        self.namespace.operator_logs.append(log)
        self.operator = OperatorProcess(
            self.kubeconfig, log=log, namespaces=self.namespace.name
        ).wait_ready()

    def stop_operator(self) -> None:
        if self.operator:
            self.operator.kill()
            self.operator = None

    def complaints(self) -> list[str]:
        """What no operator may log, and whether one has ended by itself."""
        found = []
        for log in self.namespace.operator_logs:
            text = log.read_text(errors="replace")
            if "Traceback" in text:
                found.append(f"a traceback in {log}: {text[text.index('Traceback') :][:2000]}")
        if self.operator and self.operator.exit_code is not None:
            found.append(f"the operator ended with {self.operator.exit_code}")
        return found

    def _stage(self) -> Stage:
        # The registry is shared by all lanes, so a tag must not be.
        return Stage(self.namespace, self.images, f"{self.namespace.name}-{next(self._numbers)}")

    def _admission(
        self, kind: Kind | None, attempts: Sequence[Attempt]
    ) -> AbstractContextManager[None]:
        serials = {
            each.stage.name: each.first_serial + each.point.serial
            for each in attempts
            if each.point
        }
        return refused_serials(self.namespace, serials) if kind is Kind.ADMISSION else nullcontext()

    def _wait_met(self, attempts: Sequence[Attempt]) -> None:
        """Wait until the write of each has come, or is not to be expected any more."""
        faulty = [each for each in attempts if each.point]
        with suppress(TimeoutError):
            wait_until(
                lambda: all(each.is_met or each.is_overdue(GRACE) for each in faulty),
                timeout=PATIENCE / 4,
            )

    def _kill(self, kind: Kind, attempts: Sequence[Attempt]) -> None:
        self.stop_operator()
        for each in attempts:
            if kind in _PAST and each.is_met:
                each.has_past = self.proxy.show_past(self._past_path(kind, each))
        self.start_operator()

    def _past_path(self, kind: Kind, attempt: Attempt) -> str:
        return path(RESOURCES[_PAST[kind]], self.namespace.name, attempt.stage.name)


@contextmanager
def lane(control_plane: ControlPlane, images: Images, scenario: Scenario) -> Iterator[Lane]:
    """A lane with its operator running."""
    with FaultProxy(control_plane.server, control_plane.ca, control_plane.key) as proxy:
        namespace = Namespace(control_plane)
        account = install_operator_part(control_plane, namespace.name)
        kubeconfig = control_plane.service_account_kubeconfig(
            namespace.name, account, server=proxy.server
        )
        found = Lane(scenario, namespace, images, proxy, kubeconfig)
        try:
            found.start_operator()
            yield found
        finally:
            found.stop_operator()
            namespace.abandon()
