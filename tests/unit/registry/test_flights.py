import asyncio
from collections.abc import Callable

import pytest

from imagerefresh.registry.flights import Flights, Sent


class Asked:
    """A question whose answers a test gives by hand."""

    def __init__(self) -> None:
        self.flights: Flights[str, str] = Flights(2, lambda answer: answer != "forget me")
        self.sent: list[Sent] = []
        self.answers: list[asyncio.Future[str]] = []

    async def ask(self, sent: Sent) -> str:
        self.sent.append(sent)
        self.answers.append(asyncio.get_running_loop().create_future())
        return await self.answers[-1]

    async def start(self, fresh_since: float, key: str = "k") -> "asyncio.Task[str]":
        task = asyncio.create_task(self.flights.get(key, fresh_since, self.ask))
        await settle()
        return task


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def answering(answer: str, at: float) -> Callable[[Sent], "asyncio.Future[str]"]:
    def ask(sent: Sent) -> "asyncio.Future[str]":
        sent.mark(at)
        future = asyncio.get_running_loop().create_future()
        future.set_result(answer)
        return future

    return ask


async def test_callers_share_a_request_that_has_not_been_sent() -> None:
    asked = Asked()
    tasks = [await asked.start(since) for since in (0, 5, 9)]
    assert len(asked.answers) == 1
    asked.sent[0].mark(10)
    asked.answers[0].set_result("a")
    assert await asyncio.gather(*tasks) == ["a", "a", "a"]


async def test_a_request_in_flight_serves_only_who_accepts_its_time() -> None:
    """B14: a look that must be later than something is a request of its own."""
    asked = Asked()
    first = await asked.start(0)
    asked.sent[0].mark(10)
    second = await asked.start(11)
    third = await asked.start(10.5)
    assert len(asked.answers) == 2
    asked.sent[1].mark(11)
    asked.answers[1].set_result("new")
    asked.answers[0].set_result("old")
    assert [await task for task in (first, second, third)] == ["old", "new", "new"]
    # The older answer came in last, and does not replace the newer one.
    assert await asked.flights.get("k", 11, asked.ask) == "new"


async def test_an_answer_is_kept_for_whoever_accepts_its_time() -> None:
    asked = Asked()
    assert await asked.flights.get("k", 0, answering("a", 10)) == "a"
    assert await asked.flights.get("k", 10, answering("b", 20)) == "a"
    assert await asked.flights.get("k", 10.1, answering("b", 20)) == "b"


async def test_an_answer_that_took_no_request_or_is_not_worth_keeping_is_not_kept() -> None:
    flights = Asked().flights

    async def unsent(_: Sent) -> str:
        return "unsent"

    assert await flights.get("k", 0, unsent) == "unsent"
    assert await flights.get("k", 0, answering("forget me", 1)) == "forget me"
    assert await flights.get("k", 0, answering("b", 1)) == "b"


async def test_a_newer_answer_found_another_way_is_kept() -> None:
    flights = Asked().flights
    flights.put("k", 5, "five")
    flights.put("k", 4, "four")
    assert await flights.get("k", 0, answering("b", 9)) == "five"


async def test_a_caller_that_goes_away_takes_nobody_along() -> None:
    asked = Asked()
    first = await asked.start(0)
    second = await asked.start(0)
    third = await asked.start(0)
    second.cancel()
    first.cancel()
    await settle()
    assert len(asked.answers) == 2  # the third asks again
    asked.answers[1].set_result("a")
    assert await third == "a"
    for task in (first, second):
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_bug_in_asking_reaches_its_caller_and_blocks_nobody() -> None:
    asked = Asked()
    first = await asked.start(0)
    second = await asked.start(0)
    asked.answers[0].set_exception(RuntimeError("bug"))
    with pytest.raises(RuntimeError):
        await first
    await settle()
    asked.answers[1].set_result("a")
    assert await second == "a"


async def test_memory_is_bounded() -> None:
    flights = Asked().flights
    for number in range(5):
        await flights.get(f"k{number}", 0, answering("a", 1))
    assert await flights.get("k0", 0, answering("again", 1)) == "again"
    assert not flights._flights
