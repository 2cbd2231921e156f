"""What the operator wrote, in JSON, as the model keeps it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

from imagerefresh.api.names import (
    GROUP,
    pin_annotation,
    record_annotation,
    stamp_annotation,
    state_annotation,
)
from imagerefresh.api.policy import ActionType, Image
from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import ImageStatus, Status
from imagerefresh.api.timestamps import parse_timestamp
from imagerefresh.plan.memory import Memory, from_status, parse_state
from imagerefresh.plan.progress import NO_ASKS, identify_asks, identify_rollout, to_status
from imagerefresh.plan.progress import Progress as KnownProgress
from imagerefresh.reconcile.track import Answer, Track
from proof.model.rendering import (
    DEADLINE,
    DIGEST_TEXTS,
    FOREIGN,
    HOUR,
    LONGEST_AGE,
    NOW,
    NUMBERS,
    RETRY,
    SEEN,
    TIMED,
    UID,
    Json,
    Setting,
    asks_of,
    template_json,
)
from proof.model.world import TROUBLE, Entry, Note, Part, Progress, State, World, newest


class Ask(NamedTuple):
    """What was asked, and when."""

    digest: str | None
    time: str | None


@dataclass(frozen=True)
class Reader:
    """Reads what a run wrote. `timed` has the asks, by image, that the progress counts from."""

    setting: Setting
    timed: Mapping[str, Ask]

    def target(self, document: Json, world: World) -> World:
        """The world after a patch of the target, which its controller has not seen yet."""
        annotations = document["metadata"]["annotations"]
        template = document["spec"]["template"]
        containers = {each["name"]: each for each in template["spec"]["containers"]}
        marks = template["metadata"]["annotations"]
        shares = tuple(
            share._replace(
                note=self._note(image, annotations),
                part=_part(image, containers[image.name], marks),
            )
            for image, share in zip(self.setting.images, world.shares, strict=True)
        )
        is_other = template != template_json(self.setting, world)
        return world._replace(
            shares=shares,
            is_observed=False,
            has_other_template=world.has_other_template or is_other,
        )

    def status(self, status: Status, world: World) -> World:
        """The world after the status was written."""
        by_name = {entry.name: entry for entry in status.images}
        shares = tuple(
            share._replace(entry=self._entry(by_name.get(name)))
            for name, share in zip(self.setting.names, world.shares, strict=True)
        )
        is_handled = status.last_handled_retry_at == RETRY
        return world._replace(
            shares=shares,
            is_met=status.target_uid == UID,
            has_retry=world.has_retry and not is_handled,
        )

    def process(self, track: Track, document: Json, world: World) -> World:
        """The world with what the operator's process remembers after a run of this target."""
        shares = []
        for name, share in zip(self.setting.names, world.shares, strict=True):
            timed = self.timed.get(name, Ask(None, TIMED))
            shares.append(
                share._replace(
                    answer=_known(track.answers.get(name)),
                    timed=_number(timed.digest),
                    is_time_lost=timed.time is None and newest(world, share)[0] is None,
                )
            )
        known = track.progress
        progress = stored = None
        if known is not None:
            best = known.best
            progress = Progress(
                best=(best.updated, best.ready, best.available, best.old) if best else None,
                age=_hours(known.seen - known.since),
                elapsed=_hours(SEEN - known.seen),
                is_running=known.is_running,
                was_healthy=known.was_healthy,
            )
            stored = progress._replace(was_healthy=False) if to_status(known) else None
        return world._replace(
            shares=tuple(shares),
            progress=progress,
            stored=stored,
            has_other_template=known is not None and not self._is_of(known.asks, document),
        )

    @staticmethod
    def _is_of(mark: str, document: Json) -> bool:
        asks, _, _ = mark.partition("-")
        return mark == identify_rollout(asks, document["spec"]["template"])

    def _note(self, image: Image, annotations: Mapping[str, str]) -> Note:
        memory = parse_state(annotations.get(state_annotation(image.name)))
        record = annotations.get(record_annotation(GROUP, image.name))
        return Note(self._state(image.name, memory) if memory else None, _number(record))

    def _entry(self, status: ImageStatus | None) -> Entry | None:
        memory = from_status(status)
        if status is None or memory is None:
            return None
        state = self._state(status.name, memory)
        return Entry(state, _number(memory.recorded), status.reason is Reason.Contested)

    def _state(self, name: str, memory: Memory) -> State:
        times = (parse_timestamp(text) for text in memory.set_back_times)
        return State(
            serial=memory.serial,
            asked=_number(memory.asked),
            is_timed=self.timed.get(name) == (memory.asked, memory.asked_time),
            adopted=memory.adopted,
            failed=_number(memory.failed),
            has_handled_retry=memory.handled_retry_at == RETRY,
            set_back_ages=tuple(_hours((NOW - time).total_seconds()) for time in times if time),
            has_seen_deadline=memory.deadline_seen == DEADLINE,
        )


def timed_before(setting: Setting, world: World) -> Mapping[str, Ask]:
    """The asks that the progress counts from before a run."""
    return {
        name: Ask(DIGEST_TEXTS[share.timed], None if share.is_time_lost else TIMED)
        for name, share in zip(setting.names, world.shares, strict=True)
        if share.timed is not None
    }


def timed_after(
    setting: Setting, world: World, known: KnownProgress | None, status: Status, target: Json
) -> Mapping[str, Ask]:
    """The asks that the progress counts from after a run: those that give its mark."""
    asks = known.asks.partition("-")[0] if known else NO_ASKS
    if asks == NO_ASKS:
        return {}
    if asks == asks_of(world):
        return timed_before(setting, world)
    annotations = target["metadata"]["annotations"]
    entries = {entry.name: from_status(entry) for entry in status.images}
    # What both copies have lost is read from the template, without a time.
    found = tuple(Memory(asked=digest) for digest in DIGEST_TEXTS)
    choices = [
        (entries.get(name), parse_state(annotations.get(state_annotation(name))), None, *found)
        for name in setting.names
    ]
    for chosen in product(*choices):
        if identify_asks(replace(each, recorded=None) for each in chosen if each) == asks:
            return {
                name: Ask(each.asked, each.asked_time)
                for name, each in zip(setting.names, chosen, strict=True)
                if each is not None
            }
    raise AssertionError("the progress of a rollout that nobody asked for")


def _part(image: Image, container: Json, annotations: Mapping[str, str]) -> Part:
    stamp = annotations.get(stamp_annotation(image.name))
    pin = annotations.get(pin_annotation(image.name)) or ""
    serial, _, digest = (stamp or "").partition(" ")
    if image.action.type is ActionType.SET_ENV:
        text = container["env"][0]["value"]
        is_foreign, field = text == FOREIGN, NUMBERS.get(text)
    else:
        is_foreign = "/other" in container["image"]
        field = NUMBERS.get(container["image"].partition("@")[2])
    return Part(
        field=field,
        stamp=(int(serial), NUMBERS[digest]) if stamp else None,
        pin=next((number for text, number in NUMBERS.items() if text in pin), None),
        is_foreign=is_foreign,
    )


def _number(digest: str | None) -> int | None:
    return None if digest is None else NUMBERS[digest]


def _hours(seconds: float) -> int:
    return min(round(seconds / HOUR), LONGEST_AGE)


def _known(answer: Answer | None) -> int | None:
    if answer is None:
        return None
    return TROUBLE if answer.latest is None else NUMBERS[answer.latest]
