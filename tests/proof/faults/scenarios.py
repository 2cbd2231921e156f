"""The stories in which faults are injected: what is written while `play` runs may go wrong.

`prepare` brings a stage to where the story begins. `play` ends when it has come to its end, and
waits in between only for what must come whatever fault there is.
"""

from collections.abc import Callable
from dataclasses import dataclass

from proof.faults.images import (
    BAD,
    FIRST,
    FOREIGN_PREFIX,
    SECOND,
    SIDE,
    THIRD,
    foreign_record,
)
from proof.faults.stage import Stage
from testbed.workloads import rolled_out

DEADLINE = 2
"""Progress deadline, in seconds, where a rollout is to fail."""


RECORDED, ROLLED_BACK = "Recorded", "RolledBack"
"""Reasons of events."""


@dataclass(frozen=True)
class Scenario:
    """`rollouts` is how many `play` may cause."""

    name: str
    prepare: Callable[[Stage], None]
    play: Callable[[Stage], None]
    rollouts: int


def _nothing_but_a_target(stage: Stage) -> None:
    stage.move(FIRST)
    stage.create_target()
    _wait_rolled_out(stage)


def _baseline(stage: Stage) -> None:
    stage.create_policy(stage.restart())
    stage.wait_recorded(FIRST)


def _fill(stage: Stage) -> None:
    stage.create_policy(stage.set_env())
    stage.wait_recorded(FIRST)


def _settled_restart(stage: Stage) -> None:
    _nothing_but_a_target(stage)
    _baseline(stage)
    stage.rest(RECORDED)


def _settled_set_env(stage: Stage) -> None:
    _nothing_but_a_target(stage)
    _fill(stage)
    stage.rest(RECORDED)


def _move(stage: Stage) -> None:
    stage.move(SECOND)
    stage.request()
    stage.wait_recorded(SECOND)


def _settled_pair(stage: Stage) -> None:
    stage.move(FIRST)
    stage.move(FIRST, SIDE)
    stage.create_target(SIDE)
    _wait_rolled_out(stage)
    stage.create_policy(stage.restart(), stage.set_env(SIDE))
    stage.wait_recorded(FIRST)
    stage.wait_recorded(FIRST, SIDE)
    stage.rest(RECORDED)


def _two_moves(stage: Stage) -> None:
    stage.move(SECOND)
    stage.move(SECOND, SIDE)
    stage.request()
    stage.wait_recorded(SECOND)
    stage.wait_recorded(SECOND, SIDE)


def _move_during_a_rollout(stage: Stage) -> None:
    stage.move(BAD)
    stage.request()
    stage.wait_asked(BAD)
    stage.move(THIRD)
    stage.request()
    stage.wait_recorded(THIRD)


def _settled_with_deadline(stage: Stage) -> None:
    stage.move(FIRST)
    stage.create_target(deadline=DEADLINE)
    _wait_rolled_out(stage)
    _baseline(stage)
    stage.rest(RECORDED)


def _failure(stage: Stage) -> None:
    stage.move(BAD)
    stage.request()
    stage.wait_held(BAD)


def _settled_with_rollback(stage: Stage) -> None:
    stage.move(FIRST)
    stage.create_target(deadline=DEADLINE)
    _wait_rolled_out(stage)
    stage.create_policy(stage.restart(), rollout={"onFailure": "Rollback"})
    stage.wait_recorded(FIRST)
    stage.rest(RECORDED)


def _settled_set_env_with_rollback(stage: Stage) -> None:
    stage.move(FIRST)
    stage.create_target(deadline=DEADLINE)
    _wait_rolled_out(stage)
    stage.create_policy(stage.set_env(), rollout={"onFailure": "Rollback"})
    stage.wait_recorded(FIRST)
    stage.rest(RECORDED)


def _rollback(stage: Stage) -> None:
    _failure(stage)
    _wait_rolled_out(stage)


def _rolled_back(stage: Stage) -> None:
    _settled_with_rollback(stage)
    _rollback(stage)
    stage.rest(ROLLED_BACK)


def _fix(stage: Stage) -> None:
    stage.move(THIRD)
    stage.request()
    stage.wait_recorded(THIRD)


def _rejection(stage: Stage) -> None:
    """A person takes back what is not proven yet, but told: undo takes our annotations, too."""
    before = stage.revision()
    stage.move(BAD)
    stage.request()
    stage.wait_told(BAD)
    stage.wait_for(lambda: stage.revision() > before, "its rollout has begun")
    stage.namespace.undo(stage.name)
    stage.request()
    stage.wait_held(BAD)


def _moved_set_env(stage: Stage) -> None:
    _settled_set_env(stage)
    _move(stage)
    stage.rest(RECORDED)


def _undo(stage: Stage) -> None:
    stage.namespace.undo(stage.name)
    stage.check()  # until then, status tells how it was before
    stage.wait_carried(SECOND)
    stage.wait_recorded(SECOND)


def _target_of_another_tool(stage: Stage) -> None:
    stage.move(FIRST)
    stage.create_target(annotations=foreign_record(stage.images, FIRST))
    _wait_rolled_out(stage)


def _takeover(stage: Stage) -> None:
    stage.create_policy(stage.restart(), annotationPrefix=FOREIGN_PREFIX)
    stage.wait_recorded(FIRST)


def _late_takeover(stage: Stage) -> None:
    """The tag has moved since the other tool's record."""
    stage.move(SECOND)
    stage.create_policy(stage.restart(), annotationPrefix=FOREIGN_PREFIX)
    stage.wait_recorded(SECOND)


def _wait_rolled_out(stage: Stage) -> None:
    stage.wait_for(lambda: rolled_out(stage.namespace.deployment(stage.name)), "it is rolled out")


MOVE = Scenario("move", _settled_restart, _move, 1)
SCENARIOS = (
    Scenario("baseline", _nothing_but_a_target, _baseline, 0),
    Scenario("baseline, variable filled", _nothing_but_a_target, _fill, 1),
    MOVE,
    Scenario("move of a variable", _settled_set_env, _move, 1),
    Scenario("two moves at once", _settled_pair, _two_moves, 1),
    Scenario("move during a rollout", _settled_restart, _move_during_a_rollout, 2),
    Scenario("failing rollout", _settled_with_deadline, _failure, 1),
    Scenario("rollback", _settled_with_rollback, _rollback, 2),
    Scenario("rollback of a variable", _settled_set_env_with_rollback, _rollback, 2),
    Scenario("fix after a rollback", _rolled_back, _fix, 1),
    Scenario("rejection", _settled_restart, _rejection, 2),
    Scenario("drift", _moved_set_env, _undo, 2),
    Scenario("takeover", _target_of_another_tool, _takeover, 0),
    Scenario("takeover after a move", _target_of_another_tool, _late_takeover, 1),
)
