"""Sees changes as the API server tells them: one connection, one line per change.

Polling a thousand objects would cost the machine more than the operator that is measured.
"""

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Self
from urllib.parse import urlsplit

from testbed.api import Manifest, path
from testbed.controlplane import ControlPlane

_CHANGES = frozenset({"ADDED", "MODIFIED"})
_HANG_UPS = OSError, http.client.HTTPException, ValueError
_PAUSE = 0.05  # seconds before asking again


class Watch:
    """Calls `notice` with each object of a resource in a namespace, now and at each change.

    `notice` runs in a thread of its own. The API server hangs up on a watcher now and then, at the
    latest when it can't keep up; it is asked again, and then tells of all objects once more.
    """

    def __init__(
        self,
        control_plane: ControlPlane,
        resource: str,
        namespace: str,
        notice: Callable[[Manifest], None],
    ) -> None:
        url = urlsplit(control_plane.server)
        self._connection = http.client.HTTPSConnection(
            url.hostname or "",
            url.port,
            context=ssl.create_default_context(cafile=str(control_plane.ca)),
        )
        self._path = f"{path(resource, namespace)}?watch=1"
        self._headers = {"Authorization": f"Bearer {control_plane.token}"}
        self._notice = notice
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"watch {resource}", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        while self._thread.is_alive():
            if self._connection.sock:
                with suppress(OSError):
                    self._connection.sock.shutdown(socket.SHUT_RDWR)
            self._thread.join(0.1)

    def _follow(self) -> None:
        while not self._closed.wait(_PAUSE):
            with suppress(*_HANG_UPS), closing(self._connection):
                self._connection.request("GET", self._path, headers=self._headers)
                for line in self._connection.getresponse():
                    event = json.loads(line)
                    if event["type"] in _CHANGES:
                        self._notice(event["object"])
