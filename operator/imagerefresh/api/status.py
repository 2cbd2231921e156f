"""The status of a policy: what it says of a target and its images, and how a stored one is read.

Deciding what it should say is the business of `plan`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, WithJsonSchema
from pydantic_core import ErrorDetails

from imagerefresh.api.model import ApiModel, Unique, plain
from imagerefresh.api.reasons import Reason
from imagerefresh.api.timestamps import parse_timestamp, timestamp

MESSAGE_LENGTH: Final = 1024
"""Characters of a message that are kept: a status must never be refused for its length."""


def _checked_time(text: str) -> str:
    moment = parse_timestamp(text)
    if moment is None:
        raise ValueError("must be an RFC 3339 time")
    return timestamp(moment)


def cut_message(text: str) -> str:
    """The message as it is kept: whole, or cut and marked as cut."""
    return text if len(text) <= MESSAGE_LENGTH else text[: MESSAGE_LENGTH - 1] + "…"


def _cut(value: object) -> object:
    return cut_message(value) if isinstance(value, str) else value


Time = Annotated[
    str, AfterValidator(_checked_time), Field(json_schema_extra={"format": "date-time"})
]
"""An RFC 3339 time in UTC and whole seconds, kept as text as it is mostly handed on."""

Message = Annotated[str, BeforeValidator(_cut), Field(max_length=32768)]
Digest = Annotated[str, Field(max_length=256)]
Text = Annotated[str, Field(max_length=1024)]
Echo = Annotated[str, Field(max_length=262_144)]
"""The value of an annotation, which people choose: as long as an object's annotations may be."""
Count = Annotated[int, Field(ge=0, json_schema_extra={"format": "int32"})]
Generation = Annotated[int, Field(ge=0, json_schema_extra={"format": "int64"})]

# No enumeration: the status of a newer operator must not be refused by a schema from before.
_WORD: Final = WithJsonSchema({"type": "string", "maxLength": 128})


class ConditionType(StrEnum):
    """The conditions of a policy."""

    READY = "Ready"
    RECONCILING = "Reconciling"
    STALLED = "Stalled"


class Condition(ApiModel):
    """One aspect of the policy's state."""

    type: Annotated[ConditionType, _WORD]
    """Ready, whether the target runs what the registry serves, proven. Reconciling, there only
    while something is under way. Stalled, there only while a person must change something.
    """
    status: Literal["True", "False", "Unknown"]
    """Whether the condition holds: True, False or Unknown."""
    reason: Annotated[Reason, _WORD]
    """Why, in one word; the documentation lists each with what to do about it."""
    message: Message = ""
    """Why, in a sentence."""
    observed_generation: Generation | None = None
    """The generation of the policy that the condition speaks of."""
    last_transition_time: Time
    """When status last changed from one value to another."""


class ImageState(StrEnum):
    """Where an image stands."""

    PENDING = "Pending"
    """Not looked at yet."""
    PINNED = "Pinned"
    """Left alone, as the policy says."""
    PROVING = "Proving"
    """Adopted as it was found, and not seen healthy yet."""
    ROLLING_OUT = "RollingOut"
    """Asked, and not proven yet."""
    WAITING = "Waiting"
    """To be asked after another policy's rollout on the target."""
    CURRENT = "Current"
    """Proven to be what the registry serves."""
    HELD = "Held"
    """A failed or rejected digest is not asked again."""
    BLOCKED = "Blocked"
    """A person must change something."""


class ImageStatus(ApiModel):
    """What is known of one image."""

    name: Annotated[str, Field(max_length=63)]
    """The image's name in spec."""
    reference: Text | None = None
    """The normalised image reference that the rest speaks of."""
    claim: Text | None = None
    """What the image's action wrote on the target: a restart, a variable, or an image field."""
    state: Annotated[ImageState, _WORD] = ImageState.PENDING
    """Where the image stands: Pending, not looked at yet. Pinned, left alone. Proving, taken over
    as found and not seen healthy yet. RollingOut, asked and not proven yet. Waiting, to be asked
    after another policy's rollout on the target. Current, proven. Held, a failed or rejected digest
    is not asked again. Blocked, a person must change something.
    """
    reason: Annotated[Reason, _WORD] | None = None
    """Why, in one word; the documentation lists each with what to do about it."""
    message: Message | None = None
    """Why, in a sentence."""
    latest: Digest | None = None
    """The digest that the registry served for the tag when last looked at."""
    asked: Digest | None = None
    """The digest that the target was last wanted to run."""
    asked_time: Time | None = None
    """When it was asked."""
    adopted: bool = False
    """Asked was found on the target at first sight; nobody was made to run it."""
    recorded: Digest | None = None
    """The digest that was last proven: the target was seen healthy while it was asked."""
    seen_in_pods: Digest | None = None
    """The recorded digest, if running pods were seen to have it. Without the right to list pods it
    is not known.
    """
    failed: Digest | None = None
    """A digest that did not become healthy or was rejected. It is held: not asked again until the
    tag moves or a retry is requested.
    """
    last_refresh_time: Time | None = None
    """When recorded last changed."""
    serial: Generation = 0
    """Number of the last write to the target for this image. Of the copies of an image's state here
    and on the target, the one with the higher number is the newer.
    """
    handled_retry_at: Echo | None = None
    """Value of the policy's annotation imagerefresh.dev/retry-at that was last acted on for this
    image.
    """
    set_back_times: Annotated[list[Time], Field(max_length=3)] = Field(default_factory=list)
    """When the target was set back after somebody else had changed it, the latest three."""
    deadline_seen: Text | None = None
    """Time of a ProgressDeadlineExceeded that was already there when asking, and so is no verdict
    on what was asked.
    """
    pull_secret_problem: Message | None = None
    """What is wrong with the pull secrets for this image: which was refused by the registry, is
    missing, or can't be read or used. The others are used all the same.
    """
    mutation: Text | None = None
    """Mark of a write that an admission webhook changed, and that is not repeated."""


class RolloutProgress(ApiModel):
    """How far the rollout on the target is."""

    asks: Text = ""
    """Mark of the asks and the pod template of the rollout; for other ones it starts anew."""
    updated: Count = 0
    """Replicas of the new template."""
    ready: Count = 0
    """Ready replicas of the new template."""
    available: Count = 0
    """Available replicas of the new template."""
    old: Count = 0
    """Replicas of older templates that are still there."""
    last_progress_time: Time | None = None
    """When one of the counts was last seen to go the right way."""


class Status(ApiModel):
    """What was last seen and done. Written by the operator only."""

    observed_generation: Generation | None = None
    """The generation of the policy that the status speaks of."""
    conditions: Annotated[list[Condition], Field(max_length=8), Unique("type")] = Field(
        default_factory=list
    )
    """Ready always; Reconciling and Stalled only while they hold, never both."""
    images: Annotated[list[ImageStatus], Field(max_length=50), Unique("name")] = Field(
        default_factory=list
    )
    """What is known of each image."""
    target_uid: Annotated[Text | None, Field(alias="targetUID")] = None
    """UID of the target that the status speaks of. Another object of the same name is met anew."""
    last_handled_requested_at: Echo | None = None
    """Value of the policy's annotation imagerefresh.dev/requested-at that was last acted on."""
    last_handled_retry_at: Echo | None = None
    """Value of the policy's annotation imagerefresh.dev/retry-at that was last acted on."""
    last_check_time: Time | None = None
    """When the registry was last looked at. Written together with other changes, or at most hourly.
    """
    next_check_time: Time | None = None
    """When it will be looked at again. Written together with other changes, or at most hourly."""
    last_refresh_time: Time | None = None
    """When a digest was last recorded for any image."""
    rollout: RolloutProgress | None = None
    """How far the rollout on the target is, while there is one."""

    def to_json(self) -> dict[str, Any]:
        """The status as stored: camelCase, without what is absent, false or an empty list."""
        dumped: dict[str, Any] = _compact(self.model_dump(mode="json", by_alias=True))
        return dumped


def parse_status(raw: Mapping[str, Any] | None) -> Status:
    """The status of a stored policy; never raises.

    A piece that can't be read is dropped, and the rest kept: it comes from another version or from
    a person, and must not stop the policy.
    """
    document = plain(raw or {})
    while True:
        try:
            return Status.model_validate(document)
        except ValidationError as error:
            if not _drop(document, {_broken_piece(detail) for detail in error.errors()}):
                return Status()


Path = tuple[int | str, ...]


def _broken_piece(detail: ErrorDetails) -> Path:
    """Path of what an error points at; where a member is missing, of the object that misses it."""
    return detail["loc"][:-1] if detail["type"] == "missing" else detail["loc"]


def _drop(document: Any, paths: set[Path]) -> bool:  # noqa: ANN401 any JSON value
    """Removes the pieces, the last ones first, so that the paths of the others stay true."""
    for path in sorted(paths, key=_place, reverse=True):
        if not path:
            return False
        parent = document
        for part in path[:-1]:
            parent = parent[part]
        del parent[path[-1]]
    return True


def _place(path: Path) -> list[tuple[int, str]]:
    return [(part, "") if isinstance(part, int) else (-1, part) for part in path]


def _compact(value: Any) -> Any:  # noqa: ANN401 any JSON value
    if isinstance(value, dict):
        members = {key: _compact(member) for key, member in value.items()}
        return {
            key: member
            for key, member in members.items()
            if member is not None and member is not False and member != []
        }
    if isinstance(value, list):
        return [_compact(item) for item in value]
    return value
