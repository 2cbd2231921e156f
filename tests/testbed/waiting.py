"""Waiting for conditions, always with a deadline: the only place of the test bed that pauses."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(probe: Callable[[], T], *, timeout: float, pause: float = 0.02) -> T:
    """Call `probe` until it returns something true, and return that.

    Raises:
        TimeoutError: nothing true within `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    never = threading.Event()
    while not (value := probe()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not so within {timeout:g} s; last answer: {value!r}")
        never.wait(pause)
    return value


def eventually(
    condition: Callable[[], T], *, timeout: float = 30, describe: object = "condition"
) -> T:
    """Call `condition` until it returns something true, and return that; for tests.

    A condition may also assert: what it raised last is shown when time is up. `describe` says what
    is expected; a callable is called for a last look at the world.

    Raises:
        AssertionError: not so within `timeout` seconds.
    """
    __tracebackhide__ = True
    last: list[AssertionError] = []

    def probe() -> T | None:
        last.clear()
        try:
            return condition()
        except AssertionError as error:
            last.append(error)
            return None

    try:
        value = wait_until(probe, timeout=timeout, pause=0.05)
    except TimeoutError as error:
        wanted = describe() if callable(describe) else describe
        raise AssertionError(f"{wanted}: {last[0] if last else error}") from None
    assert value is not None
    return value
