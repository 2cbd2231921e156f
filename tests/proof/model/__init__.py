"""A small model of a cluster around the real operator, explored exhaustively.

A `World` holds a target and its controller, registries, a policy with its status, and what the
operator's process remembers. Whatever may happen to it is an event: of the registry, the
controller or people, or a run of the real reconciler, which may be killed after each of its writes.
`search` visits every world that events lead to, asks of each step whether it was allowed (`rules`),
and of each world in which nothing happens any more whether it is as it should be (`rest`).
"""

from proof.model.command import main

__all__ = ["main"]
