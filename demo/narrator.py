"""How the demo speaks: numbered chapters, what is expected, real output of kubectl, checks.

It knows nothing of the story. A check that fails, or a wait that takes too long, ends the story.
"""

import shlex
import sys
import textwrap
import time
from collections.abc import Callable
from contextlib import suppress

from testbed.api import ApiError
from testbed.controlplane import ControlPlane
from testbed.waiting import wait_until

WIDTH = 100
INDENT = "    "


class StoryBrokenError(RuntimeError):
    """What was expected did not happen; the text says what."""


class Narrator:
    """Speaks to standard output, and counts what held."""

    def __init__(self) -> None:
        self._checks = 0
        self._chapter = 0
        self._started = time.monotonic()

    def chapter(self, title: str, expected: str) -> None:
        """Begin a chapter, with what is going to happen if all is well."""
        self._chapter += 1
        _print(f"\n{self._chapter}. {title}\n{'-' * WIDTH}")
        self.say(f"Expected: {expected}")

    def say(self, text: str) -> None:
        """Tell a paragraph."""
        _print(textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False))

    def end(self) -> None:
        """Tell that all of it held."""
        seconds = time.monotonic() - self._started
        _print(f"\nThe story held: {self._checks} checks in {seconds:.0f} s.")

    def did(self, what: str) -> None:
        """Tell what the demo has just done to the world."""
        _print(f"  > {what}")

    def quote(self, text: str) -> None:
        """Show a text as it is."""
        _print(textwrap.indent(text.rstrip().expandtabs(), INDENT))

    def kubectl(self, control_plane: ControlPlane, command: str) -> str:
        """Run `kubectl COMMAND` for all to see, and return its output."""
        _print(f"\n{INDENT}$ kubectl {command}")
        output = control_plane.kubectl(*shlex.split(command))
        self.quote(output)
        return output

    def wait(self, what: str, condition: Callable[[], bool], *, seconds: float = 60) -> None:
        """Wait until `condition` holds, and say how long it took.

        Raises:
            StoryBrokenError: it did not hold within `seconds`.
        """
        started = time.monotonic()

        def holds() -> bool:
            with suppress(ApiError, KeyError):  # not there yet
                return condition()
            return False

        try:
            wait_until(holds, timeout=seconds, pause=0.1)
        except TimeoutError:
            raise StoryBrokenError(f"not so within {seconds:g} s: {what}") from None
        _print(f"  . {what} (after {time.monotonic() - started:.1f} s)")

    def check(self, what: str, *, holds: bool) -> None:
        """Say that something holds.

        Raises:
            StoryBrokenError: it does not.
        """
        if not holds:
            raise StoryBrokenError(f"does not hold: {what}")
        self._checks += 1
        _print(f"  = {what}")


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
