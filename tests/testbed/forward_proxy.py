"""A real forward proxy as a child process, of the kind that companies put before the internet."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from testbed import proxy_rules
from testbed.process import Child

_TESTS = Path(__file__).parents[1]


class ForwardProxy:
    """Listens at `address` ("host:port") for CONNECT and for plain requests.

    It lets through to the names in `names` alone, and takes them for these addresses. With `login`
    ("user:password") it wants that.
    """

    def __init__(
        self, folder: Path, name: str = "proxy", *, names: Mapping[str, str], login: str = ""
    ) -> None:
        """Start it; its log goes to `folder`/`name`.log."""
        ports = folder / f"{name}.port"
        self._child = Child(
            [
                *(sys.executable, "-m", "proxy", "--hostname", "127.0.0.1", "--port", "0"),
                *("--port-file", str(ports), "--num-acceptors", "1", "--num-workers", "1"),
                *("--plugins", f"{proxy_rules.__name__}.{proxy_rules.KnownNames.__name__}"),
                *(("--basic-auth", login) if login else ()),
            ],
            log=folder / f"{name}.log",
            env=os.environ
            | {
                "HOME": str(folder),  # it keeps files there
                "PYTHONPATH": str(_TESTS),
                proxy_rules.VARIABLE: json.dumps(dict(names)),
            },
        )
        self._child.wait_ready(lambda: ports.exists() and ports.read_text().strip())
        self.address = f"127.0.0.1:{ports.read_text().strip()}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End it, and the child of its own; a gentle end may take long on a busy machine."""
        self._child.kill()

    def log(self) -> str:
        """A line for each connection, when it is closed."""
        return self._child.output()
