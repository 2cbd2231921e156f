"""The operator as its own process, as a pod would run it, with the rights of its ServiceAccount."""

import http.client
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from testbed.process import Child, PortTakenError, free_port

_PACKAGE_ROOT = Path(__file__).parents[2] / "operator"
_ATTEMPTS = 5  # each with another port


class OperatorProcess:
    """`imagerefresh run`, logging to `log`; its end is SIGKILL unless `terminate` came first.

    `http_address` ("host:port") is where it serves /healthz, /readyz and /metrics.
    """

    def __init__(
        self,
        kubeconfig: Path,
        *,
        log: Path,
        namespaces: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start it; `namespaces` is a comma-separated list, empty for all."""
        self.log = log
        self._environment = {
            # Nothing of the developer's own settings is to leak in.
            name: value
            for name, value in os.environ.items()
            if not name.startswith("IMAGEREFRESH_") and not name.lower().endswith("_proxy")
        } | {
            "KUBECONFIG": str(kubeconfig),
            "PYTHONPATH": str(_PACKAGE_ROOT),
            "PYTHONUNBUFFERED": "1",
            "IMAGEREFRESH_NAMESPACES": namespaces,
            "IMAGEREFRESH_ALLOW_INSECURE_REGISTRIES": "true",
            **(environment or {}),
        }
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; minus the signal's number when a signal ended it."""
        return self._child.exit_code

    def wait_ready(self, *, timeout: float = 120) -> Self:
        """Wait until /readyz answers 200.

        Raises:
            ProcessError: it ended or did not become ready in time; the message shows its log.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._child.wait_ready(
                    lambda: self.status_of("/readyz") == http.HTTPStatus.OK, timeout=timeout
                )
            except PortTakenError:
                if attempt == _ATTEMPTS:
                    raise
                self._start()
            else:
                break
        return self

    def status_of(self, path: str) -> int:
        """The HTTP status of `path`; 0 while nobody listens."""
        try:
            return self._get(path)[0]
        except OSError:
            return 0

    def metrics(self) -> str:
        return self._get("/metrics")[1]

    def logs(self) -> str:
        return self._child.output()

    def kill(self) -> None:
        """SIGKILL, and wait for the end; no effect on one that has ended."""
        self._child.kill()

    def terminate(self, *, timeout: float = 30) -> int:
        """SIGTERM, and return the exit code.

        Raises:
            subprocess.TimeoutExpired: still running after `timeout` seconds.
        """
        return self._child.terminate(timeout=timeout)

    def _start(self) -> None:
        self.http_address = f"127.0.0.1:{free_port()}"
        self._child = Child(
            [sys.executable, "-m", "imagerefresh", "run"],
            log=self.log,
            env=self._environment | {"IMAGEREFRESH_HTTP_ADDRESS": self.http_address},
        )

    def _get(self, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection(self.http_address, timeout=30)
        try:
            connection.request("GET", path)
            with connection.getresponse() as answer:
                return answer.status, answer.read().decode()
        finally:
            connection.close()
