"""One run of one policy, as a story: look at the target and the registries, decide, act, tell.

No run waits for a rollout. A rollout in flight is just an asked digest that is not recorded yet,
which the next run sees; so a kill at any point loses nothing and repeats nothing.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from weakref import WeakValueDictionary
from zlib import crc32

from imagerefresh.api.policy import InvalidSpec, Spec
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import Status
from imagerefresh.api.timestamps import parse_timestamp
from imagerefresh.cluster.client import Cluster
from imagerefresh.cluster.errors import Conflict, NotFound, Refused
from imagerefresh.cluster.secrets import PullSecrets
from imagerefresh.plan.decide import Plan, decide
from imagerefresh.plan.due import due_images, is_inert
from imagerefresh.plan.findings import Findings
from imagerefresh.plan.health import judge
from imagerefresh.plan.news import transitions
from imagerefresh.plan.steps import Step
from imagerefresh.plan.summary import report, request_marks
from imagerefresh.plan.template import Problem
from imagerefresh.plan.view import View, stuck_on
from imagerefresh.reconcile.acting import PolicyChanged, PolicyGone, WriteRefused, patch_target
from imagerefresh.reconcile.keys import Keys
from imagerefresh.reconcile.looking import TagWatch
from imagerefresh.reconcile.neighbourhood import Neighbourhood, TargetKey, target_key
from imagerefresh.reconcile.quiet import pass_quietly, quiet_spell
from imagerefresh.reconcile.run import Run
from imagerefresh.reconcile.seeing import Sight, note_asks, note_mutations, see
from imagerefresh.reconcile.telling import Teller
from imagerefresh.reconcile.track import Track
from imagerefresh.reconcile.witness import Witness

TRIES = 5
"""How often a run decides again at once: somebody else wrote first, or a write of ours calls for
another one.
"""
QUIET_LOOK = 30.0
"""Seconds after which a turn of a quiet policy looks at its target again, for drift and health."""
QUIET_LOOK_SPACING = 3.0
"""Seconds between two such looks of one process on average: with many policies they come more
rarely, so that quiet policies are quiet towards the API server, however many they are (B27).
"""
BUSY = Problem(Reason.PatchRefused, "the target is being changed all the time: trying again")


@dataclass(slots=True)
class Reconciler:
    """Runs policies. One per process; runs of different targets go on at the same time, those of
    one target in turn (B23).
    """

    cluster: Cluster
    tags: TagWatch
    teller: Teller
    secrets: PullSecrets
    witness: Witness
    wall_clock: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    neighbourhood: Neighbourhood = field(default_factory=Neighbourhood)
    _locks: WeakValueDictionary[TargetKey, asyncio.Lock] = field(
        default_factory=WeakValueDictionary
    )

    async def run(self, policy: Mapping[str, Any], track: Track) -> None:
        """Looks at one policy, brings it a step further, and tells where it stands.

        Raises:
            ClusterError: the API server can't be asked now; nothing is lost, the next run begins
                anew.
        """
        track.quiet = None
        before, wall = track.status(policy), self.wall_clock()
        try:
            spec = track.spec(policy)
        except InvalidSpec as error:
            metadata = policy["metadata"]
            found = Findings(
                generation=metadata["generation"],
                annotations=metadata.get("annotations") or {},
                before=before,
                now=datetime.fromtimestamp(wall, UTC),
                problem=Problem(Reason.InvalidSpec, str(error)),
            )
            return await self._tell(policy, track, before, found)
        run = Run(policy, spec, track, before, wall, self.monotonic())
        if is_inert(spec):
            return await self._tell(policy, track, before, run.found())
        async with self._lock(policy, spec):
            track.meet(spec, before, wall)
            track.keys = track.keys or Keys(self.secrets, policy["metadata"]["namespace"])
            # The target first: it names pull secrets, and what the tags then say is fresh enough to
            # record by (B14).
            sight = await self._look_at_target(run)
            await self._look_at_tags(run)
            await self._bring_further(run, sight)
            track.quiet = quiet_spell(run, self._quiet_look(policy))
        return None

    async def pass_quietly(self, track: Track) -> bool:
        """Whether a quiet policy's turn has passed without anything new; else it is to be run."""
        wall = self.wall_clock()
        return await pass_quietly(self.tags.registry, track, wall, self.monotonic)

    def _quiet_look(self, policy: Mapping[str, Any]) -> float:
        """Seconds after which the target of a quiet policy is looked at, for drift and health."""
        uid: str = policy["metadata"]["uid"]
        spread = 1.0 + crc32(uid.encode()) / 2**32 / 2  # not all at once, an hour after a start
        return max(QUIET_LOOK, QUIET_LOOK_SPACING * len(self.neighbourhood)) * spread

    def _lock(self, policy: Mapping[str, Any], spec: Spec) -> asyncio.Lock:
        return self._locks.setdefault(target_key(policy, spec), asyncio.Lock())

    async def _look_at_tags(self, run: Run) -> None:
        """Those whose turn has come; all of them when a person asks. Policies share the requests of
        one turn.
        """
        due = due_images(run.spec, run.track.looks, run.wall)
        # An answer from before the policy was there would be somebody else's. Its creation is told
        # to the second only.
        created = parse_timestamp(run.policy["metadata"].get("creationTimestamp"))
        oldest = min(created.timestamp() + 1, run.wall) if created else run.wall
        wanted = {name: run.began - (run.wall - max(since, oldest)) for name, since in due.items()}
        if run.is_requested:
            wanted = {image.name: run.began for image in run.spec.images if not image.pinned}
            run.track.looked_for = request_marks(run.policy)
            run.track.recover()  # what was refused is tried again, too
        if not wanted:
            return
        await self.tags.look(run.spec, wanted, run.track, run.before, is_turn=bool(due))
        run.track.has_looked(run.spec, wanted, run.wall)
        run.track.last_check = run.wall
        run.looked.update(wanted)

    async def _bring_further(self, run: Run, sight: Sight | Problem | None) -> None:
        """Look at the target, decide, act; again at once while there is more to do; then tell."""
        first, found = run.before, run.found()
        try:
            for tries_left in reversed(range(TRIES + 1)):
                sight = sight or await self._look_at_target(run)
                if isinstance(sight, Problem):
                    found = run.found(problem=sight)
                    break
                view, plan = await self._decide(run, sight)
                found = run.found(view=view, plan=plan)
                if plan.patch is None:
                    break
                if not tries_left:
                    found = replace(found, plan=None, problem=found.problem or BUSY)
                    break
                found, sight, is_done = await self._act(run, sight, found, plan.patch)
                if is_done:
                    break
        except PolicyGone:
            run.track.is_gone = True
            return
        except PolicyChanged:
            return  # its own run is near
        await self._tell(run.policy, run.track, first, found)

    async def _look_at_target(self, run: Run) -> Sight | Problem:
        """The target, or why there is none to decide about (B25)."""
        ref, namespace = run.spec.target_ref, run.policy["metadata"]["namespace"]
        try:
            target = await self.cluster.get_target(namespace, ref.kind, ref.name)
        except NotFound:
            told = f"{ref.kind} {ref.name} does not exist: it is picked up when it appears"
            return Problem(Reason.TargetNotFound, told)
        except Refused as error:
            return Problem(Reason.Forbidden, str(error))
        finally:
            run.track.target_seen = self.monotonic()
        if target["metadata"].get("deletionTimestamp"):
            return Problem(Reason.TargetDeleting, f"{ref.kind} {ref.name} is being deleted")
        if run.track.keys:
            run.track.keys.learn(target)
        return Sight(target, judge(target), run.track.target_seen)

    async def _decide(self, run: Run, sight: Sight) -> tuple[View, Plan]:
        """Decides; and once more, if that calls for a look at further tags, or at the pods, first
        (B6, B14, B15).
        """
        # As late as can be: after a start the watch brings policies one by one.
        run.own, run.others = self.neighbourhood.around(run.policy, run.spec)
        view = see(run, sight)
        plan = decide(view)
        looked: set[str] = set()
        while True:
            if names := (plan.confirm | _not_looked_at(run, plan)) - looked:
                await self.tags.look(
                    run.spec, dict.fromkeys(names, sight.seen), run.track, run.before, is_turn=False
                )
                run.track.has_looked(run.spec, names, run.wall)
                run.looked.update(names)
                looked.update(names)
            elif plan.examine:
                sight.testimony.update(await self.witness.hear(run, view, plan.examine))
            elif stuck_on(view):
                return await self.witness.name_broken_pod(run, view), plan
            else:
                return view, plan
            view = see(run, sight)
            plan = decide(view)

    async def _act(
        self, run: Run, sight: Sight, found: Findings, patch: Mapping[str, Any]
    ) -> tuple[Findings, Sight | None, bool]:
        """Patches the target. Returns what to tell, the target now, and whether that is all."""
        if run.track.refusal and run.began < run.track.not_before:
            return replace(found, plan=None, problem=run.track.refusal), sight, True
        ref = run.spec.target_ref
        try:
            stored = await patch_target(self.cluster, run.policy, ref, sight.target, patch)
        except Conflict:
            return replace(found, plan=None, problem=BUSY), None, False
        except WriteRefused as refusal:
            run.track.back_off(self.monotonic(), refusal.problem)
            return replace(found, plan=None, problem=refusal.problem), sight, True
        run.track.recover()
        note_mutations(run, found, stored)
        note_asks(run, found, self.monotonic())
        run.before = self._spread(run.policy, run.track, found)
        if "spec" in patch:
            return found, Sight(stored, judge(stored), self.monotonic()), False
        # Annotations change nothing about a rollout, though a Deployment counts a new generation.
        return found, replace(sight, target=stored), False

    async def _tell(
        self, policy: Mapping[str, Any], track: Track, first: Status, found: Findings
    ) -> None:
        after = self._spread(policy, track, found)
        await self.teller.write(policy, track, first, after)

    def _spread(self, policy: Mapping[str, Any], track: Track, found: Findings) -> Status:
        """Tells the news of what was found, each once; returns the status that it comes to."""
        after = report(found)
        news = [each for each in transitions(found, after) if each not in track.news_told]
        self.teller.spread(policy, news)
        track.news_told.update(news)
        track.troubles_told = frozenset(found.troubles)
        return after


def _not_looked_at(run: Run, plan: Plan) -> frozenset[str]:
    """When one image is about to be asked, the others are looked at: one release, one rollout."""
    if all(outcome.step is not Step.ASK for outcome in plan.outcomes.values()):
        return frozenset()
    return frozenset(
        image.name for image in run.spec.images if not image.pinned and image.name not in run.looked
    )
