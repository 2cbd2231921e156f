"""Manners towards each host: so many requests at once and in a second, silence when it asks for it.

All callers share one `Hosts`, so that a 429 to one of them holds for every one (B9), and one slow
or limiting host holds up no other. No HTTP in here.
"""

import asyncio
import math
import random
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from imagerefresh.registry.bucket import DEFAULT_RATE, Bucket, Rate
from imagerefresh.registry.outcomes import RegistryError, TroubleReason

MIN_COOL_DOWN = 1.0
DEFAULT_COOL_DOWN = 30.0
MAX_COOL_DOWN = 900.0
"""Seconds that we choose ourselves, however often a host limits us."""
LONGEST_ASKED = 6 * 3600.0
"""Seconds that a host may ask for: the longest time by which one is known to count, Docker Hub."""
# Callers come back spread over this share of the wait after it has ended, never before its end.
_JITTER = 0.1
_MAX_HOSTS = 1024
_MAX_DOUBLINGS = 20


@dataclass(slots=True)
class Host:
    """What is known about one host, by name and port.

    Attributes:
        name: host and port.
        slots: one is held by each request in flight.
        bucket: one place in it is taken by each request.
        answers_head: it has answered 200 to a HEAD, so its 404 to one can be believed.
        head_refused_until: monotonic time until which HEAD is not tried again.
        failing: nothing has worked since its last failure, so a quick second try is not worth it.
    """

    name: str
    slots: asyncio.Semaphore
    bucket: Bucket
    answers_head: bool = False
    head_refused_until: float = 0.0
    failing: bool = False
    _quiet_until: float = field(default=0.0, init=False)
    _reason: TroubleReason = field(default=TroubleReason.RateLimited, init=False)
    _strikes: int = field(default=0, init=False)
    _failed_at: float = field(default=-math.inf, init=False)
    _cause: str = field(default="", init=False)

    def check(self, now: float, queued_at: float) -> None:
        """Raise RegistryError while the host is not to be asked.

        That is while it is cooling down; and where the caller has waited behind a request that
        got no answer, it shares that fate: a long queue must not time out one by one.

        Args:
            now: monotonic time.
            queued_at: monotonic time from which on the caller has waited.
        """
        if now < self._quiet_until:
            raise self.refusal(now)
        if self.failing and queued_at < self._failed_at:
            raise RegistryError.unavailable(self.name, self._cause)

    def refusal(self, now: float) -> RegistryError:
        """Return what a caller is told while the host is cooling down."""
        wait = max(0.0, self._quiet_until - now)
        what = (
            "limits the rate of requests"
            if self._reason is TroubleReason.RateLimited
            else "is unavailable and asks its clients to wait"
        )
        return RegistryError(
            self._reason,
            f"{self.name} {what}; it is asked again when that time is over",
            retry_at=self._quiet_until + random.uniform(0, max(1.0, _JITTER * wait)),  # noqa: S311
        )

    def cool_down(self, seconds: float | None, now: float, reason: TroubleReason) -> None:
        """Begin or prolong the silence.

        Args:
            seconds: what the server asked for, None if it did not say.
            now: monotonic time.
            reason: RateLimited or RegistryUnavailable, for whoever asks meanwhile.
        """
        if now >= self._quiet_until:  # answers that were in flight together count once
            self._strikes += 1
        factor = 2.0 ** min(self._strikes - 1, _MAX_DOUBLINGS)
        least = DEFAULT_COOL_DOWN if seconds is None else MIN_COOL_DOWN
        wait = min(least * factor, MAX_COOL_DOWN)
        if seconds is not None:
            wait = max(wait, min(seconds, LONGEST_ASKED))
        self._quiet_until = max(self._quiet_until, now + wait)
        self._reason = reason

    def failed(self, cause: str, now: float) -> None:
        """Note that a request got no answer; the cause is normalised."""
        self.failing = True
        self._cause = cause
        self._failed_at = now

    def answered(self) -> None:
        """Note an answer that was neither a limit nor a failure."""
        self.failing = False
        self._strikes = 0

    def forgettable(self, now: float) -> bool:
        """Whether forgetting the host would break no promise to it."""
        return now >= self._quiet_until and not self.slots.locked()


class Hosts:
    """The hosts that were spoken to; the least recently used are forgotten when they are many."""

    def __init__(
        self, concurrency: int, rate_of: Callable[[str], Rate] = lambda _: DEFAULT_RATE
    ) -> None:
        self._concurrency = concurrency
        self._rate_of = rate_of
        self._hosts: OrderedDict[str, Host] = OrderedDict()

    def set_rates(self, rate_of: Callable[[str], Rate]) -> None:
        """Limit each host, by name and port, to another rate from now on."""
        self._rate_of = rate_of
        for host in self._hosts.values():
            host.bucket.rate = rate_of(host.name)

    def get(self, name: str, now: float) -> Host:
        """Return what is known about a host, by name and port."""
        host = self._hosts.get(name)
        if host is not None:
            self._hosts.move_to_end(name)
            return host
        if len(self._hosts) >= _MAX_HOSTS:
            oldest = next((h for h in self._hosts.values() if h.forgettable(now)), None)
            if oldest is not None:
                del self._hosts[oldest.name]
        slots, bucket = asyncio.Semaphore(self._concurrency), Bucket(self._rate_of(name))
        host = self._hosts[name] = Host(name, slots, bucket)
        return host
