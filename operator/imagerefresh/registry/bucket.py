"""A token bucket: how many requests one host gets per second, and how many at once after a rest.

Its own few lines rather than a library: the clock is passed in, so that nothing has to wait in
tests, nothing belongs to an event loop, and the rate can change while the operator runs.
"""

from dataclasses import dataclass, field

_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Rate:
    """A limit that we set ourselves, towards one host.

    Attributes:
        per_second: requests per second in the long run, above zero.
        burst: requests that may follow one another without a pause, at least one.
    """

    per_second: float
    burst: int


DEFAULT_RATE = Rate(50.0, 100)
"""Docker Hub calls thousands of requests a minute abuse, and 50 a second are three thousand. A
thousand policies on a hundred images, looked at every ten seconds, need ten a second; after a
restart each image's turn comes at its own time, so the burst is hardly ever used up.
"""


@dataclass(slots=True)
class Bucket:
    """The places that are left. Places are given in the order in which they are asked for."""

    rate: Rate
    _full_at: float = field(default=0.0, init=False)

    def take(self, now: float) -> float:
        """Take a place.

        Args:
            now: monotonic time.

        Returns:
            Seconds until its turn comes; 0 while there are places left.
        """
        interval = 1 / self.rate.per_second
        full_at = max(self._full_at, now) + interval
        self._full_at = full_at
        wait = full_at - now - self.rate.burst * interval
        return wait if wait > _ROUNDING else 0.0

    def give_back(self) -> None:
        """Return a place that was not used."""
        self._full_at -= 1 / self.rate.per_second
