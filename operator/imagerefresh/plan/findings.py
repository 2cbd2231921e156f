"""What a run came to know, in the form in which it is told to people."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from imagerefresh.api.policy import Spec
from imagerefresh.api.status import Status
from imagerefresh.plan.decide import Plan
from imagerefresh.plan.progress import Progress
from imagerefresh.plan.template import Problem
from imagerefresh.plan.view import View


@dataclass(frozen=True, slots=True)
class Trouble:
    """What keeps an image's tag from being resolved. `turns` counts the turns in a row that ended
    so.
    """

    problem: Problem
    is_transient: bool
    turns: int = 0


@dataclass(frozen=True, slots=True)
class Findings:
    """All that a run came to know. Without a spec, or without a view, `problem` says why.

    Mappings are by image name. `last_check` and `next_check` are seconds since the epoch.
    """

    generation: int
    annotations: Mapping[str, str]
    before: Status
    now: datetime
    spec: Spec | None = None
    problem: Problem | None = None
    """What concerns the policy as a whole: its spec, its target, a refused write."""
    view: View | None = None
    plan: Plan | None = None
    """What was carried out; None if nothing was decided, or its patch did not go through."""
    progress: Progress | None = None
    latest: Mapping[str, str] = field(default_factory=dict)
    """What the registry serves, as far as this process knows."""
    troubles: Mapping[str, Trouble] = field(default_factory=dict)
    troubles_told: frozenset[str] = frozenset()
    """Images whose trouble was told before."""
    complaints: Mapping[str, str] = field(default_factory=dict)
    """What is wrong with the pull secrets, "" for nothing, where that was found out."""
    last_check: float | None = None
    next_check: float | None = None
