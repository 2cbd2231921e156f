"""How long it takes from a tag's move until a workload is patched.

The clock starts when the registry has answered the publisher, and stops when the API server tells
of the workload's new pod template. A move has to wait for its image's turn first, which comes once
an interval: half an interval on average, whatever the operator does.
"""

import threading
import time
from collections.abc import Sequence

from rig import INTERVAL, PATIENCE, Rig
from testbed.api import Manifest
from testbed.waiting import wait_until
from testbed.watch import Watch
from testbed.workloads import RESOURCES

_STAMP = "imagerefresh.dev/asked-main"
_GOLDEN = 0.618  # steps of this share of a turn spread moves evenly over the turn
_pause = threading.Event()


class Moves:
    """Moves images of a rig, and sees when their workloads are patched."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._stamps: dict[str, str] = {}
        self._patched: dict[tuple[str, str], float] = {}

    def one_after_another(self, image: int, times: int) -> list[list[float]]:
        """Move one image so many times; the seconds to each of its workloads, per move.

        Each move waits for everything to be settled, and then for its moment: the moments are
        spread evenly over the turn.
        """
        found = []
        with self._watch():
            for number in range(times):
                self._rig.wait_settled()
                _wait_for(number * _GOLDEN % 1)
                found.append(self._seconds(*self._move(image)))
        return found

    def spread(self, images: Sequence[int], seconds: float) -> list[float]:
        """Move each of the images once, spread over `seconds`; the seconds to each workload.

        The times from the moves to the images' next turns are spread evenly over the turn, too.
        """
        moves = []
        began = time.time()
        moments = []
        for number, image in enumerate(images):
            wait = (0.5 + number * _GOLDEN) % 1 * INTERVAL
            earliest = began + number * seconds / len(images) + wait
            moments.append((self._rig.next_turn(image, earliest) - wait, image))
        with self._watch():
            for moment, image in sorted(moments):
                _pause.wait(max(0.0, moment - time.time()))
                moves.append(self._move(image))
            return [each for move in moves for each in self._seconds(*move)]

    def _watch(self) -> Watch:
        namespace = self._rig.namespace
        resource = RESOURCES["Deployment"]
        return Watch(namespace.control_plane, resource, namespace.name, self._notice)

    def _notice(self, found: Manifest) -> None:
        annotations = found["spec"]["template"]["metadata"].get("annotations", {})
        digest = annotations.get(_STAMP, "").rpartition(" ")[2]
        if digest:
            self._patched.setdefault((found["metadata"]["name"], digest), time.monotonic())

    def _move(self, image: int) -> tuple[int, str, float]:
        digest = self._rig.publish(image)
        return image, digest, time.monotonic()

    def _seconds(self, image: int, digest: str, moved: float) -> list[float]:
        """Waits until all of an image's workloads are patched."""
        keys = [(name, digest) for name in self._rig.workloads_of(image)]
        wait_until(lambda: all(key in self._patched for key in keys), timeout=PATIENCE)
        return [self._patched[key] - moved for key in keys]


def _wait_for(share: float) -> None:
    """Until this share of a turn has passed."""
    now = time.monotonic() / INTERVAL
    _pause.wait((share - now) % 1 * INTERVAL)
