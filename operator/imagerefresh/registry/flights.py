"""One question at a time: callers who ask the same thing share one answer, while it is fresh.

Freshness is the caller's to choose: an answer serves whoever accepts the time at which its
request was sent (B14). Knows nothing of what is asked.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from imagerefresh.registry.lru import LRU

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(slots=True)
class Sent:
    """The monotonic time at which the request in flight was sent; None while it has not been."""

    at: float | None = None

    def mark(self, now: float) -> None:
        """Note that a request goes out now."""
        self.at = now


@dataclass(slots=True)
class _Flight(Generic[V]):
    """One caller asks, the others wait for a list of one answer, empty if the first gave up."""

    sent: Sent = field(default_factory=Sent)
    landed: "asyncio.Future[list[V]] | None" = None


class Flights(Generic[K, V]):
    """Answers by question, and the questions in flight.

    Who comes first asks in their own task: the usual case, a question that nobody shares, then
    costs no more than asking. If that caller goes away, the next in line asks again.
    """

    def __init__(self, size: int, worth_keeping: Callable[[V], bool]) -> None:
        self._worth_keeping = worth_keeping
        self._answers: LRU[K, tuple[float, V]] = LRU(size)
        self._flights: dict[K, _Flight[V]] = {}

    async def get(self, key: K, fresh_since: float, ask: Callable[[Sent], Awaitable[V]]) -> V:
        """Return an answer to a request that was sent at or after `fresh_since`.

        Args:
            key: the question; whatever the answer depends on is in it.
            fresh_since: monotonic time.
            ask: finds the answer, and marks when its request is sent.
        """
        while True:
            kept = self._answers.get(key)
            if kept is not None and kept[0] >= fresh_since:
                return kept[1]
            flight = self._flights.get(key)
            if flight is None or (flight.sent.at is not None and flight.sent.at < fresh_since):
                return await self._fly(key, ask)
            if flight.landed is None:
                flight.landed = asyncio.get_running_loop().create_future()
            for answer in await asyncio.shield(flight.landed):
                return answer

    def put(self, key: K, at: float, value: V) -> None:
        """Keep an answer that was found another way, unless there is a newer one."""
        kept = self._answers.get(key)
        if kept is None or kept[0] <= at:
            self._answers.put(key, (at, value))

    async def _fly(self, key: K, ask: Callable[[Sent], Awaitable[V]]) -> V:
        flight: _Flight[V] = _Flight()
        self._flights[key] = flight
        answers: list[V] = []
        try:
            answer = await ask(flight.sent)
            answers.append(answer)
            if flight.sent.at is not None and self._worth_keeping(answer):
                self.put(key, flight.sent.at, answer)
            return answer
        finally:
            if self._flights.get(key) is flight:
                del self._flights[key]
            if flight.landed is not None:
                flight.landed.set_result(answers)
