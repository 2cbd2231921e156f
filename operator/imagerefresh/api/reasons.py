"""The reasons of conditions, images and events, and what to do about each.

The only list of them. The table in docs/policy.md is checked against it.
"""

from enum import StrEnum
from typing import Self


class Reason(StrEnum):
    """A reason as it stands in status and events: what people see first of a policy's trouble."""

    meaning: str
    remedy: str

    def __new__(cls, value: str, meaning: str = "", remedy: str = "") -> Self:
        """A member is its text, by which it can be looked up, and carries two sentences."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        member.remedy = remedy
        return member

    # All is well, or on its way there.
    UpToDate = (
        "UpToDate",
        "The target is healthy and proven to run what the registry serves.",
        "Nothing.",
    )
    Pinned = (
        "Pinned",
        "The image is pinned: it is never polled and never acted on.",
        "Nothing; set `pinned: false` to follow the tag again.",
    )
    Suspended = (
        "Suspended",
        "The policy is suspended: status shows what was known before.",
        "Set `suspend: false` to go on.",
    )
    Checking = (
        "Checking",
        "What a tag serves is not known: the policy is new, has changed, or waits for a registry.",
        "Wait. If it stays, the message names the registry, or no operator watches this namespace.",
    )
    Proving = (
        "Proving",
        "The digest on the target was adopted as it is, and waits for the target to be healthy.",
        "Wait. If it stays, look at the target's pods.",
    )
    RollingOut = (
        "RollingOut",
        "A rollout of the target is under way: of a digest that was asked, or somebody else's.",
        "Wait, or follow it with `kubectl rollout status`.",
    )
    WaitingForPolicy = (
        "WaitingForPolicy",
        "Another policy's rollout of the same target is under way; this one's comes after it.",
        "Wait. If it stays, see what the other policy's status says.",
    )
    ScaledToZero = (
        "ScaledToZero",
        (
            "A digest was asked, and the target wants no pods at present: the digest counts as"
            " proven only once pods have run with it."
        ),
        "Nothing, if it is meant to be so; else scale the target up.",
    )

    # A digest was tried or refused.
    RolloutFailed = (
        "RolloutFailed",
        "The digest that was asked did not become healthy; it is held and not asked again.",
        (
            "Publish a fix under the tag, or mend the target and set the annotation"
            " `imagerefresh.dev/retry-at` on the policy to a new value."
        ),
    )
    Rejected = (
        "Rejected",
        "Somebody took the target back before the digest was proven; it is held.",
        (
            "Publish a newer image under the tag, or set the annotation `imagerefresh.dev/retry-at`"
            " on the policy to a new value."
        ),
    )
    Degraded = (
        "Degraded",
        "The target is not healthy although nothing new was asked.",
        "Look at the target's pods and events; the cause lies outside of this policy.",
    )
    DigestMismatch = (
        "DigestMismatch",
        "The running pods clearly run another digest than the one that was asked.",
        "See whether the nodes pull through a mirror or cache that serves an older image.",
    )

    # The registry.
    ImageNotFoundOrDenied = (
        "ImageNotFoundOrDenied",
        (
            "The registry says that there is no such tag, or that it may not be read;"
            " most registries answer both alike."
        ),
        (
            "Check registry, repository and tag for typing errors, that the tag is published, and"
            " the pull secrets."
        ),
    )
    NotAnImage = (
        "NotAnImage",
        "The tag serves something that can't be run: an artifact, or an index without an image.",
        "Publish an image under the tag, or follow another tag.",
    )
    RateLimited = (
        "RateLimited",
        "The registry asks for fewer requests; it is left alone for as long as it says.",
        "Wait; if it comes back often, name pull secrets or choose a longer interval.",
    )
    RegistryUnavailable = (
        "RegistryUnavailable",
        "The registry can't be reached or answers with errors. Nothing is changed on the target.",
        "Check network, DNS and the registry's state; the check is repeated by itself.",
    )
    RegistryMisconfigured = (
        "RegistryMisconfigured",
        (
            "The registry can't be used as it is set up: a certificate nobody trusts, plain http,"
            " an address that is not allowed, or a proxy that refuses."
        ),
        "Follow the message: mend the registry, or change the operator's settings.",
    )

    # Something that a person must change.
    InvalidSpec = (
        "InvalidSpec",
        "The policy was stored before a rule existed that it breaks.",
        "Change the policy as the message says.",
    )
    TargetNotFound = (
        "TargetNotFound",
        "The workload that targetRef names is not there.",
        "Create it, or delete this policy and create one that names another.",
    )
    TargetPaused = (
        "TargetPaused",
        "The target's rollout is paused; a paused target is never patched.",
        "Run `kubectl rollout resume` on the target.",
    )
    TargetDeleting = (
        "TargetDeleting",
        "The target is being deleted.",
        "Nothing; it is picked up when it appears again.",
    )
    ContainerNotFound = (
        "ContainerNotFound",
        "The target has no container of the name that the action gives.",
        "Correct the container's name in the policy, or in the target.",
    )
    NoMatchingContainer = (
        "NoMatchingContainer",
        "No container of the target runs this image, so a restart would change nothing.",
        "Correct registry, repository and tag, or name the containers in `restart.containers`.",
    )
    DigestInImage = (
        "DigestInImage",
        "The container's image names a digest, so a restart would pull the same image again.",
        "Remove the digest from the container's image, or use the action SetImage.",
    )
    PullPolicyNotAlways = (
        "PullPolicyNotAlways",
        "The container's pull policy is not Always, so a restart may run what the node has cached.",
        (
            "Set `imagePullPolicy: Always` on the container, or `restart.assumeAlwaysPulls: true`"
            " here if the nodes pull always."
        ),
    )
    ForeignValue = (
        "ForeignValue",
        (
            "The variable or image field holds something that is no digest of this image;"
            " it is left alone."
        ),
        "Empty the variable, or correct the container's image, or correct the policy.",
    )
    ValueFrom = (
        "ValueFrom",
        "The variable takes its value from somewhere else (`valueFrom`); it is left alone.",
        "Remove `valueFrom` from the variable, or name another variable.",
    )
    DuplicateVariable = (
        "DuplicateVariable",
        "The container lists the variable twice; it is left alone.",
        "Remove one of the two from the target.",
    )
    UnprovableStrategy = (
        "UnprovableStrategy",
        (
            "The target's update strategy (OnDelete or a partition) leaves old pods, so a rollout"
            " can't be proven."
        ),
        "Use RollingUpdate without a partition, or delete the old pods by hand.",
    )
    BrokenPod = (
        "BrokenPod",
        (
            "The rollout of a StatefulSet waits for a pod of an older template that does not become"
            " ready; no new template replaces it."
        ),
        "Delete the pod that the message names; the rollout then goes on by itself.",
    )
    Contested = (
        "Contested",
        "Somebody else keeps changing back what this policy writes; nothing more is written.",
        (
            "Let the other field manager that the message names ignore the field, or remove the"
            " image from this policy."
        ),
    )
    TagUnsteady = (
        "TagUnsteady",
        "The tag goes back and forth between digests; the same one is not asked again for now.",
        (
            "See whether the registry's replicas or mirrors are out of sync. It is asked again in"
            " an hour, or when the annotation `imagerefresh.dev/retry-at` is set to a new value."
        ),
    )
    Conflict = (
        "Conflict",
        "An older policy already acts on the same part of the target; this image does nothing.",
        "Remove the image from one of the two policies.",
    )
    MutatedByAdmission = (
        "MutatedByAdmission",
        "An admission webhook or policy changed what was written; it is not written again.",
        "Exclude the field from the webhook, or change what it makes of it.",
    )
    PatchRefused = (
        "PatchRefused",
        "The API server refused the change to the target, in the words of the message.",
        "Mend what the message says; the change is tried again by itself.",
    )
    Forbidden = (
        "Forbidden",
        "The operator may not read or change something that this policy needs.",
        "Grant its ServiceAccount what the message names.",
    )

    # In events only.
    Moved = (
        "Moved",
        "The registry serves a new digest for the tag.",
        "Nothing.",
    )
    Asked = (
        "Asked",
        "The target was asked to run a digest.",
        "Nothing.",
    )
    Recorded = (
        "Recorded",
        "The target was seen healthy with the digest that was asked; it is proven.",
        "Nothing.",
    )
    RolledBack = (
        "RolledBack",
        "The digest failed, and the target was taken back to the last proven one.",
        "Publish a fix under the tag.",
    )
    DriftCorrected = (
        "DriftCorrected",
        "The target no longer carried the proven digest; it was set back.",
        "Nothing; to stay at another digest, pin the image or suspend the policy.",
    )
    RegistryTrouble = (
        "RegistryTrouble",
        "The registry began to fail.",
        "See the image's message in the policy's status.",
    )
    PullSecretTrouble = (
        "PullSecretTrouble",
        "A pull secret was refused by the registry, is missing, or can't be read or used.",
        "Do what the note says; until then the image is read with the others, or without any.",
    )
    RegistryRecovered = (
        "RegistryRecovered",
        "The registry answers again.",
        "Nothing.",
    )
