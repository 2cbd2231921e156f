"""Child processes of the test bed: their logs, their end, and free ports.

The thread that starts a child must live as long as the child is needed: the kernel takes the
end of that thread for the end of the parent.
"""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TypeVar

from testbed.waiting import wait_until

T = TypeVar("T")

_BOUND = Path(__file__).with_name("bound.py")
_TAIL = 4000  # characters of a log that an error message shows


class ProcessError(RuntimeError):
    """A child ended, or did not become ready in time; the message holds the end of its log."""


class PortTakenError(ProcessError):
    """Somebody else took the port between its choice and its use; try another one."""


def free_port() -> int:
    """A loopback port that was free a moment ago; whoever uses it must be ready to lose it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@contextmanager
def dead_port() -> Iterator[int]:
    """A loopback port that refuses connections, and that nobody else can get meanwhile."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


class Child:
    """One running program. Its output goes to `log`, afresh; it dies with this process."""

    def __init__(
        self,
        command: list[str],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.name = Path(command[0]).name
        self.log = log
        launcher = [sys.executable, "-I", "-S", str(_BOUND), str(os.getpid())]
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [*launcher, *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=None if env is None else dict(env),
                cwd=cwd,
                start_new_session=True,  # so that a Ctrl-C at the terminal is ours to handle
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; minus the signal's number when a signal ended it."""
        return self._process.poll()

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def check(self) -> None:
        """Raise if it ended.

        Raises:
            PortTakenError: because its port is in use.
            ProcessError: for any other reason.
        """
        if self.exit_code is not None:
            text = self.output()
            error = PortTakenError if "address already in use" in text else ProcessError
            raise error(f"{self.name} ended with {self.exit_code}; {self.log}:\n{text[-_TAIL:]}")

    def wait_ready(self, probe: Callable[[], T], *, timeout: float = 120) -> T:
        """Wait until `probe` returns something true; fail early when the program ends.

        Raises:
            ProcessError: it ended or was not ready within `timeout` seconds.
        """

        def probe_alive() -> T:
            self.check()
            return probe()

        try:
            return wait_until(probe_alive, timeout=timeout)
        except TimeoutError as error:
            tail = self.output()[-_TAIL:]
            raise ProcessError(f"{self.name}: {error}; {self.log}:\n{tail}") from None

    def kill(self) -> None:
        """SIGKILL, also to its own children, and wait for its end; no effect on what has ended."""
        if self.exit_code is None:
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def terminate(self, *, timeout: float = 30) -> int:
        """SIGTERM, and return the exit code.

        Raises:
            subprocess.TimeoutExpired: still running after `timeout` seconds.
        """
        self._process.terminate()
        return self._process.wait(timeout)
