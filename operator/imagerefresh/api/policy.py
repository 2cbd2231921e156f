"""The spec of a policy: its fields, the rules between them, and how a stored one is read.

What the fields may hold one by one is in `fields`. Nothing here decides what to do about a policy.
"""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from functools import cached_property
from itertools import combinations
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import Field, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from imagerefresh.api import fields
from imagerefresh.api.model import ApiModel, Rule, Unique, plain
from imagerefresh.api.names import GROUP
from imagerefresh.reference import InvalidReference, Reference, normalise

DEFAULT_INTERVAL: Final = timedelta(minutes=15)
"""Applied in code: as a schema default it would make every schedule one of two."""


class InvalidSpec(ValueError):  # noqa: N818 it names a condition's reason
    """A spec breaks a rule; the message says which, where, and what to do about it."""


class TargetKind(StrEnum):
    """The kinds of workload whose rollouts can be followed."""

    DEPLOYMENT = "Deployment"
    STATEFUL_SET = "StatefulSet"
    DAEMON_SET = "DaemonSet"


class TargetRef(ApiModel):
    """The workload to keep up to date, in the policy's own namespace."""

    api_version: Literal["apps/v1"] = "apps/v1"
    """API version of the workload; apps/v1 is the only one."""
    kind: TargetKind
    """Kind of the workload: Deployment, StatefulSet or DaemonSet."""
    name: fields.DnsSubdomain
    """Name of the workload. It need not exist yet: it is picked up when it appears."""


class ActionType(StrEnum):
    """How a target is brought to a new image."""

    RESTART = "Restart"
    SET_ENV = "SetEnv"
    SET_IMAGE = "SetImage"


class RestartAction(ApiModel):
    """Details of the action Restart."""

    containers: Annotated[list[fields.DnsLabel], Field(max_length=20), Unique()] = Field(
        default_factory=list
    )
    """Names of the containers, or init containers, that run the image. Left out or empty: those
    whose image is this registry, repository and tag. To be named where the target pulls the image
    under another name, such as a mirror's.
    """
    assume_always_pulls: bool = False
    """Set it if the nodes pull an image at each start of a container although its pull policy is
    not Always, for example through an admission controller. Otherwise such a container is reported,
    as a restart would change nothing.
    """


class SetEnvAction(ApiModel):
    """Details of the action SetEnv."""

    container: fields.DnsLabel
    """Name of the container, or init container, that has the variable."""
    variable: fields.VariableName
    """Name of the environment variable that takes the digest, such as INGESTOR_IMAGE_DIGEST. It may
    be missing or empty at first; a value that is no digest is left alone and reported.
    """


class SetImageAction(ApiModel):
    """Details of the action SetImage."""

    container: fields.DnsLabel
    """Name of the container, or init container, whose image field becomes repository:tag@digest.
    Its image must already be of this policy's registry and repository.
    """


class Action(ApiModel):
    """How the target is brought to a new image: a type, and the member that is named after it."""

    type: ActionType
    """Restart restarts the pods, whose containers then pull the tag again. SetEnv writes the digest
    into an environment variable, for programs that start the image themselves. SetImage writes it
    into a container's image field.
    """
    restart: RestartAction | None = None
    """Details of Restart, which may be left out."""
    set_env: SetEnvAction | None = None
    """Details of SetEnv, which needs them."""
    set_image: SetImageAction | None = None
    """Details of SetImage, which needs them."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.type == 'Restart' || !has(self.restart)",
            "must not hold restart unless type is Restart: remove restart, or change type",
            lambda action: action.type == ActionType.RESTART or not action.restart,
        ),
        Rule(
            "(self.type == 'SetEnv') == has(self.setEnv)",
            "must hold setEnv exactly if type is SetEnv: add setEnv with container and variable,"
            " remove it, or change type",
            lambda action: (action.type == ActionType.SET_ENV) == bool(action.set_env),
        ),
        Rule(
            "(self.type == 'SetImage') == has(self.setImage)",
            "must hold setImage exactly if type is SetImage: add setImage with container, remove"
            " it, or change type",
            lambda action: (action.type == ActionType.SET_IMAGE) == bool(action.set_image),
        ),
    )

    @model_validator(mode="before")
    @classmethod
    def _default_restart(cls, data: Any) -> Any:  # noqa: ANN401 not validated yet
        """Readers find the details of a Restart whether they were given or not."""
        if isinstance(data, dict) and data.get("type") == ActionType.RESTART:
            return {"restart": {}} | data
        return data


class Image(ApiModel):
    """An image to follow, and what to do when its tag moves."""

    name: fields.ImageName
    """Name of the image, at most 41 characters, unique among all policies of the target. It becomes
    part of annotation keys there, so a renamed image starts anew.
    """
    registry: fields.Registry
    """Host of the registry, with a port if need be: docker.io, ghcr.io, registry.example.com:5000,
    [2001:db8::1]:5000.
    """
    repository: fields.Repository
    """Path of the repository in the registry, such as example/web. On docker.io, a single name
    means library/name.
    """
    tag: fields.Tag
    """The floating tag to follow, such as prod or "0.3"; quote numbers. Not latest: follow a tag
    that the publisher moves on purpose.
    """
    pinned: bool = False
    """A pinned image is never polled, acted on, recorded or rolled back, and is shown as Pinned."""
    action: Action
    """What to do when the tag moves."""

    @cached_property
    def reference(self) -> Reference:
        """The normalised reference that this image follows (B1)."""
        return normalise(self.registry, self.repository, self.tag)

    @model_validator(mode="after")
    def _has_reference(self) -> Self:
        try:
            normalise(self.registry, self.repository, self.tag)
        except InvalidReference as error:
            raise PydanticCustomError("reference", "{why}", {"why": str(error)}) from error
        return self


class OnFailure(StrEnum):
    """What happens to a target that does not become healthy."""

    HOLD = "Hold"
    ROLLBACK = "Rollback"


class Rollout(ApiModel):
    """How a rollout is judged."""

    timeout: fields.Duration = Field(timedelta(minutes=10), json_schema_extra={"default": "10m"})
    """How long a rollout may go without progress before its digest counts as failed, from 10s to
    720h, such as 10m; never less than the target's minReadySeconds and half a minute. A
    Deployment's own progressDeadlineSeconds (600 unless it says otherwise) counts, too: for slow
    pods raise both.
    """
    on_failure: OnFailure = OnFailure.HOLD
    """What happens when a digest has failed. Hold: the target stays as it is, and the digest is not
    asked again until the tag moves or a retry is requested. Rollback: as Hold, and the target goes
    back to the last proven digest.
    """


class LocalObjectReference(ApiModel):
    """An object in the policy's own namespace."""

    name: fields.DnsSubdomain
    """Name of the object."""


def _write_different_fields(images: list[Image]) -> bool:
    details = [image.action.set_env or image.action.set_image for image in images]
    written = [each for each in details if each is not None]
    return all(one != other for one, other in combinations(written, 2))


# The outer list only names the keys, as CEL has no variables: comparing each image with each other
# costs the API server ten times as much.
_ONE_WRITER_PER_FIELD: Final = Rule(
    "[self.map(i, has(i.action.setEnv) || has(i.action.setImage), has(i.action.setEnv)"
    " ? i.action.setEnv.container + ' ' + i.action.setEnv.variable"
    " : i.action.setImage.container)]"
    ".all(keys, keys.all(key, keys.indexOf(key) == keys.lastIndexOf(key)))",
    "must write each variable and each image field from one image only: remove one of the two, or"
    " name another variable or container",
    _write_different_fields,
)

_IMMUTABLE_TARGET: Final = Rule(
    "self == oldSelf",
    "must not change, as what is recorded belongs to this target: create a new policy for the other"
    " workload, and delete this one",
)


class Spec(ApiModel):
    """Which images to follow for which workload, when to look, and how to judge a rollout."""

    target_ref: Annotated[TargetRef, _IMMUTABLE_TARGET]
    """The workload to keep up to date, in the policy's own namespace. It can't be changed: create a
    new policy for another workload.
    """
    interval: fields.Duration | None = None
    """How often to look at the registry, from 10s to 720h, in hours, minutes and seconds, such as
    15m or 1h30m. With neither interval nor schedule it is 15m.
    """
    schedule: fields.Schedule | None = None
    """When to look at the registry, instead of interval: a cron schedule of five fields (minute,
    hour, day of month, month, day of week; 0 and 7 are Sunday) in numbers, with *, lists, ranges
    and steps, such as "7,37 8-18 * * 1-5".
    """
    time_zone: fields.TimeZone | None = None
    """The time zone of schedule, by its IANA name, such as Europe/Berlin. UTC if left out."""
    suspend: bool = False
    """Stops polling, acting, recording and rolling back. Status keeps what was known."""
    annotation_prefix: fields.DnsSubdomain = GROUP
    """Prefix of the annotation on the target that holds the last proven digest of an image,
    <prefix>/last-refreshed-<name>-digest. Set it to take over a target that another tool has
    annotated before, without a restart.
    """
    image_pull_secrets: Annotated[
        list[LocalObjectReference], Field(max_length=20), Unique("name")
    ] = Field(default_factory=list)
    """Pull secrets for reading the registries, tried before those of the target and of its
    ServiceAccount.
    """
    images: Annotated[
        list[Image], Field(min_length=1, max_length=50), Unique("name"), _ONE_WRITER_PER_FIELD
    ]
    """The images to follow, one to 50, each with a name of its own."""
    rollout: Rollout = Field(default=Rollout(), json_schema_extra={"default": {}})
    """How a rollout is judged, and what happens if it fails."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.interval) || !has(self.schedule)",
            "must not set both interval and schedule: remove one of them",
            lambda spec: spec.interval is None or spec.schedule is None,
        ),
        Rule(
            "!has(self.timeZone) || has(self.schedule)",
            "must not set timeZone without schedule: add schedule, or remove timeZone",
            lambda spec: spec.time_zone is None or spec.schedule is not None,
        ),
    )

    @property
    def effective_interval(self) -> timedelta:
        """How often to look where no schedule says when: 15m if nothing is said."""
        return self.interval or DEFAULT_INTERVAL


def parse_spec(raw: Mapping[str, Any]) -> Spec:
    """The spec of a stored policy. Explicit nulls count as absent, unknown fields are ignored (B3).

    Raises:
        InvalidSpec: it breaks a rule, which an object stored before the rule existed may do.
    """
    try:
        return Spec.model_validate(plain(raw))
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False, include_input=False)
        raise InvalidSpec("; ".join(_sentence(detail) for detail in details)) from None


def _sentence(detail: ErrorDetails) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"])
    return f"spec{path}: {detail['msg']}"
