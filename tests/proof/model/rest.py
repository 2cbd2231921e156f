"""What must hold where nothing goes on any more (liveness): the world is as it should be, or people
are told why not.
"""

from imagerefresh.api.status import ConditionType, ImageState, ImageStatus, Status
from proof.model.rendering import Setting
from proof.model.rules import Broken, is_blocked
from proof.model.world import Note, Phase, Share, World

SET_BACKS = 3
"""Times that a value is set back before it is a fight (B17)."""


def check_rest(setting: Setting, world: World, told: Status) -> None:
    """Checks a world in which a run with a look at all tags changes nothing.

    Raises:
        Broken: it is not as it should be.
    """
    if world.is_suspended or world.is_paused:
        return
    by_name = {entry.name: entry for entry in told.images}
    states = []
    if world.has_rival:
        if any(entry.state is ImageState.CURRENT for entry in told.images):
            raise Broken("a conflict is told")
        return
    if world.has_retry:
        raise Broken("a retry is handled in the end")
    for name, is_restart, share in zip(setting.names, setting.restarts, world.shares, strict=True):
        if not share.is_pinned:
            _check_share(world, is_restart, share, by_name[name])
            states.append(by_name[name].state)
    ready = next(each for each in told.conditions if each.type is ConditionType.READY)
    is_well = world.phase is Phase.HEALTHY and all(each is ImageState.CURRENT for each in states)
    if states and (ready.status == "True") is not is_well:
        raise Broken("Ready says whether all is well")


def _check_share(world: World, is_restart: bool, share: Share, told: ImageStatus) -> None:
    if told.state is ImageState.BLOCKED:
        if not is_blocked(is_restart, share) and not _is_fought_over(share):
            raise Broken("blocked is only what a person must mend")
        return
    if share.entry is None:
        raise Broken("each image is met in the end")
    state, recorded, _ = share.entry
    if _agreeing(share.note) != (state, recorded):
        raise Broken("target and status remember the same in the end")
    if state.failed is not None:
        _check_held(share, told)
    elif state.asked != share.tag:
        raise Broken("what the registry serves is asked in the end")
    elif recorded != state.asked:
        raise Broken("what is asked is recorded or failed in the end")
    elif share.part.pin is not None if is_restart else share.part.field != state.asked:
        raise Broken("the template carries what is recorded in the end")


def _is_fought_over(share: Share) -> bool:
    entry = share.entry
    return entry is not None and entry.is_contested and len(entry.state.set_back_ages) == SET_BACKS


def _check_held(share: Share, told: ImageStatus) -> None:
    if told.state is not ImageState.HELD:
        raise Broken("a hold is told")
    if share.entry and share.entry.state.failed != share.tag:
        raise Broken("a hold ends when the tag moves")


def _agreeing(note: Note) -> Note:
    """What the target remembers: what is recorded has not failed, whatever else it says."""
    if note.state and note.state.failed is not None and note.state.failed == note.record:
        return note._replace(state=note.state._replace(failed=None))
    return note
