"""What kopf is given to run. What it then does is proven on a real control plane."""

import inspect
from itertools import chain

import kopf

from imagerefresh import handlers


def test_no_handler_runs_in_a_thread() -> None:
    """B23, B27: kopf runs what is not async in threads, and none of our state is made for those."""
    registry = kopf.get_default_registry()
    parts = (registry._activities, registry._watching, registry._spawning, registry._changing)
    functions = {handler.fn for handler in chain(*(part._handlers for part in parts))}
    assert functions >= {handlers.start, handlers.end, handlers.notice, handlers.keep}
    assert [each for each in functions if not inspect.iscoroutinefunction(each)] == []
