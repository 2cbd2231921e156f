"""What a proof runs in: a control plane, a registry, and one operator under its shipped Role."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from testbed.controlplane import ControlPlane
from testbed.installation import install_cluster_part, install_operator_part
from testbed.namespace import Namespace
from testbed.operator_process import OperatorProcess
from testbed.registry import Registry


class World:
    """A namespace, a registry and an operator, each of its own."""

    def __init__(
        self,
        control_plane: ControlPlane,
        registry: Registry,
        folder: Path,
        components: tuple[str, ...] = (),
    ) -> None:
        """Install what the operator needs, with these components of deploy/; it is started by
        `start_operator`.
        """
        self.namespace = Namespace(control_plane)
        self.registry = registry
        self._folder = folder
        self._account = install_operator_part(
            control_plane, self.namespace.name, components=components
        )
        self._operators = ExitStack()
        self.logs: list[Path] = []

    def start_operator(self, *, wait: bool = True) -> OperatorProcess:
        """Start one; it is ready on return unless `wait` is False."""
        log = self._folder / f"operator-{len(self.logs)}.log"
        self.logs.append(log)
        kubeconfig = self.namespace.control_plane.service_account_kubeconfig(
            self.namespace.name, self._account
        )
        operator = OperatorProcess(kubeconfig, log=log, namespaces=self.namespace.name)
        self._operators.enter_context(operator)
        return operator.wait_ready() if wait else operator

    def stop(self) -> None:
        """Kill the operators."""
        self._operators.close()


@contextmanager
def world(*components: str) -> Iterator[World]:
    """Bring it up in a folder of its own, and take it down."""
    with (
        tempfile.TemporaryDirectory(prefix="imagerefresh-proof-") as name,
        ControlPlane(folder := Path(name)) as control_plane,
        Registry(folder) as registry,
    ):
        install_cluster_part(control_plane)
        found = World(control_plane, registry, folder, components)
        try:
            yield found
        finally:
            found.stop()


def complaints(log: Path) -> list[str]:
    """What must not be in an operator's log: errors, and tracebacks as a whole."""
    found: list[str] = []
    is_within = False
    for line in log.read_text(errors="replace").splitlines():
        if is_within:
            found[-1] += f"\n{line}"
            is_within = line.startswith(" ")  # the last line of a traceback says what was raised
        elif line.startswith("Traceback "):
            found.append(line)
            is_within = True
        elif " ERROR " in line:
            found.append(line)
    return found
