"""Timers without a finalizer (B24).

kopf puts a finalizer on every object that has a timer, so that it can stop the timer before the
object goes. That would make the deletion of a policy, of its namespace or of the CRD hang whenever
the operator does not run. Our timers need no such courtesy: a run that is about to write reads its
policy first.

Measured with kopf 1.45: without the finalizer the object's DELETED event stops no timer by itself,
but the event handlers run before the timers are matched; one that marks the object, and timers that
reject what is marked, end them.
"""

import dataclasses

import kopf


def without_finalizers(registry: kopf.OperatorRegistry) -> None:
    """Makes the timers that were registered so far ask for no finalizer."""
    spawning = registry._spawning  # noqa: SLF001 kopf offers no other way (nolar/kopf#1001)
    spawning._handlers[:] = [  # noqa: SLF001 as above
        dataclasses.replace(handler, requires_finalizer=False)
        for handler in spawning.get_all_handlers()
    ]
