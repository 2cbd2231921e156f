"""What must hold of each patch of the operator's, whatever happened before (safety)."""

from collections.abc import Sequence

from imagerefresh.api.policy import OnFailure
from proof.model.refresher import Ran
from proof.model.rendering import Setting
from proof.model.world import Cause, Phase, Share, State, World, newest


class Broken(Exception):  # noqa: N818 it says what became of a rule
    """A rule does not hold."""

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule
        self.event = "then nothing happens any more"


def account(
    setting: Setting, start: World, before: World, after: World, looks: Sequence[bool]
) -> World:
    """Checks one patch of a run, and books the rollout. Returns the world with what is left of the
    causes.

    `start` is the world that the run began in, `before` the one before this patch.

    Raises:
        Broken: it did what it must not.
    """
    if before.is_suspended or before.is_paused or before.has_rival:
        raise Broken("what is suspended, paused or another policy's is left alone")
    has_rolled = has_rolled_out(start, before)
    if has_rolled and has_rolled_out(before, after):
        raise Broken("one run, one rollout")
    shares = []
    for is_restart, has_looked, old, new in zip(
        setting.restarts, looks, before.shares, after.shares, strict=True
    ):
        if old.is_pinned and (old.note, old.part) != (new.note, new.part):
            raise Broken("a pinned image is left alone")
        causes = old.causes
        if new.note != old.note:
            _check_serial(before, old, new)
            _check_failed(setting, before, is_restart, old, new)
            if _is_new_record(old, new):
                if start.phase is not Phase.HEALTHY or not start.is_observed or has_rolled:
                    raise Broken("recorded is only what is healthy")
                _check_record(setting, is_restart, old, new)
        if new.part != old.part:
            causes = _use_up(setting, before, old, new, has_looked=has_looked)
            if not (is_restart or has_rolled):
                _check_no_proof_is_lost(start, old, new)
        shares.append(old._replace(note=new.note, part=new.part, causes=causes))
    return before._replace(shares=_sharing_fate(before.shares, shares), is_observed=False)


def settle(setting: Setting, before: World, after: World, looks: Sequence[bool]) -> World:
    """Causes go that are of no use any more: a retry once status says that it was handled, the
    others with a run that had all it needs and wrote nothing.
    """
    if not after.has_retry:
        kept = tuple(share._replace(causes=share.causes & ~Cause.RETRY) for share in after.shares)
        after = after._replace(shares=kept)
    if not all(looks) or not before.is_up or before.is_suspended or before.is_paused:
        return after
    if before.has_rival:
        return after
    if not before.is_observed or before.phase is Phase.PROGRESSING or _patched(before, after):
        return after
    shares = tuple(
        share
        if share.is_pinned or is_blocked(is_restart, share)
        else share._replace(causes=Cause.NONE)
        for is_restart, share in zip(setting.restarts, after.shares, strict=True)
    )
    return after._replace(shares=shares)


def check_calm(world: World, ran: Ran) -> None:
    """A run asks for all that there is to ask for, so another one right after it has no more.

    Raises:
        Broken: two rollouts where one would do.
    """
    if ran.patches and has_rolled_out(world, ran.patches[-1]):
        raise Broken("what moves together is one rollout")


def has_rolled_out(before: World, after: World) -> bool:
    """Whether a run changed the template."""
    return any(old.part != new.part for old, new in zip(before.shares, after.shares, strict=True))


def is_blocked(is_restart: bool, share: Share) -> bool:
    """Whether a person has to mend the field first."""
    part = share.part
    if part.is_foreign:
        return True
    return is_restart and part.field is not None and part.field != part.pin


def _sharing_fate(before: Sequence[Share], after: Sequence[Share]) -> tuple[Share, ...]:
    """A tag that had moved away before something failed ends all holds with its next look (B21)."""
    fails = any(
        _failed(new) not in (None, _failed(old)) for old, new in zip(before, after, strict=True)
    )
    if not fails or not any(map(_is_hold_over, after)):
        return tuple(after)
    return tuple(
        share if _failed(share) is None else share._replace(causes=share.causes | Cause.MOVE)
        for share in after
    )


def _is_hold_over(share: Share) -> bool:
    return not share.is_pinned and _failed(share) not in (None, share.tag)


def _failed(share: Share) -> int | None:
    return share.note.state.failed if share.note.state else None


def _patched(before: World, after: World) -> bool:
    return any(
        (old.note, old.part) != (new.note, new.part)
        for old, new in zip(before.shares, after.shares, strict=True)
    )


def _check_serial(world: World, old: Share, new: Share) -> None:
    state, _ = newest(world, old)
    if new.note.state is None:
        raise Broken("a patch writes the state")
    if state is not None and state.serial >= new.note.state.serial:
        raise Broken("each patch raises the serial")


def _is_new_record(old: Share, new: Share) -> bool:
    return new.note.record not in (None, old.note.record, old.entry and old.entry.recorded)


def _check_record(setting: Setting, is_restart: bool, old: Share, new: Share) -> None:
    """Recorded is only what was healthy while asked."""
    record, state = new.note.record, new.note.state
    assert record is not None
    assert state is not None
    if not is_restart or old.part.field is not None:
        if old.part.field != record:
            raise Broken("recorded is only what the field holds")
    elif setting.sees_pods and old.past[-1].pods and not old.past[-1].pods >> record & 1:
        raise Broken("recorded is nothing that the pods clearly do not run")
    elif not state.adopted and not old.has_flickered and old.past[-1].pods != 1 << record:
        raise Broken("recorded is only what all pods run")


def _check_no_proof_is_lost(start: World, old: Share, new: Share) -> None:
    """A field is recorded on health alone, before a newer digest is asked (B14)."""
    state, recorded = newest(start, old)
    assert new.note.state is not None
    if state is None or state.asked in (None, recorded, new.note.state.asked, state.failed):
        return
    is_healthy = start.phase is Phase.HEALTHY and start.is_observed
    if is_healthy and old.part.field == state.asked and not start.has_retry:
        raise Broken("what is proven is recorded before a newer digest is asked")


def _check_failed(setting: Setting, world: World, is_restart: bool, old: Share, new: Share) -> None:
    state, recorded = newest(world, old)
    assert new.note.state is not None
    failed = new.note.state.failed
    if failed is None or (state is not None and failed == state.failed):
        return
    if failed != _asked(world, old):
        raise Broken("only what was asked fails")
    if failed == recorded:
        raise Broken("what is proven does not fail")
    stamped = old.part.stamp[1] if old.part.stamp else None
    is_carried = failed == (stamped if is_restart and old.part.field is None else old.part.field)
    progress = world.progress or world.stored
    is_stalled = progress is not None and progress.age + progress.elapsed > 0
    is_old = state is not None and state.has_seen_deadline and world.phase is Phase.LATE
    if is_carried and is_old and not is_stalled:  # else somebody has rejected it
        raise Broken("a deadline that was there before the ask is no verdict")
    is_healthy = world.phase is Phase.HEALTHY and world.is_observed  # but not with what was asked
    is_to_go_back = setting.on_failure is OnFailure.ROLLBACK and recorded is not None
    if is_to_go_back and is_carried and not is_healthy and new.part == old.part:
        raise Broken("a failure is rolled back where that is wanted")


def _asked(world: World, share: Share) -> int | None:
    """What was asked. The template remembers when both copies of the state are lost."""
    state, _ = newest(world, share)
    if state is not None:
        return state.asked
    return share.part.stamp[1] if share.part.stamp else share.part.field


def _use_up(setting: Setting, world: World, old: Share, new: Share, *, has_looked: bool) -> Cause:
    """Each rollout has a cause: a move, a retry, a revert of what was proven, or a failure."""
    if new.part.stamp == old.part.stamp:
        if old.part.pin is not None and new.part.pin is None:
            return old.causes  # the end of a hold takes our pin away, once
        raise Broken("a change of the template is stamped")
    cause = _cause(world, old, new)
    state, recorded = newest(world, old)
    if cause is Cause.REVERT and state and state.set_back_ages == (0, 0, 0):
        raise Broken("a value is set back three times an hour at most")
    if not old.causes & cause and not _is_unlike(setting, state, recorded):
        raise Broken("each rollout has a cause of its own")
    assert new.note.state is not None
    assert new.part.stamp is not None
    asked = new.part.stamp[1]
    if not cause & Cause.MOVE:
        if asked != recorded:
            raise Broken("set back is only what was proven")
        return old.causes & ~cause
    if asked not in (old.tag, old.answer):
        raise Broken("asked is only what the registry serves")
    if has_looked and not world.is_up:
        raise Broken("trouble at the registry asks for nothing")
    # An ask serves all there is, but for what is not known of yet.
    left = Cause.NONE if asked == old.tag else Cause.MOVE
    if not new.note.state.has_handled_retry:
        left |= Cause.RETRY
    return old.causes & left


def _is_unlike(setting: Setting, state: State | None, recorded: int | None) -> bool:
    """What was only taken over is asked once if the pods run something else (B15)."""
    is_found = state is not None and state.adopted and state.asked != recorded
    return setting.sees_pods and is_found


def _cause(world: World, old: Share, new: Share) -> Cause:
    """What a rollout needs for a cause."""
    before, after = newest(world, old)[0], new.note.state
    assert after is not None
    has_failed = before.failed if before else None
    if after.failed not in (None, has_failed) and after.failed == _asked(world, old):
        return Cause.FAILURE
    if after.set_back_ages and (before is None or after.set_back_ages != before.set_back_ages):
        return Cause.REVERT
    return Cause.MOVE | Cause.RETRY
