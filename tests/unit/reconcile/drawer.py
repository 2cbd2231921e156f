"""A registry that wants a password, and a namespace's pull secrets: no I/O, no waiting."""

import base64
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from imagerefresh.api.policy import ActionType, Spec
from imagerefresh.cluster.secrets import PullSecret, PullSecrets, Unreadable
from imagerefresh.reconcile.keys import Keys, Reply, resolve
from imagerefresh.reference import Reference
from imagerefresh.registry import (
    Credential,
    RegistryClient,
    RegistrySettings,
    Resolved,
    Trouble,
    TroubleReason,
)
from unit.plan.builders import D1, Json, a_spec, an_image

IMAGE: Final = an_image(ActionType.SET_ENV)
SINCE: Final = 50.0
RIGHT: Final = "r1ght-Passw0rd"
REFUSED: Final = "registry.example.com refused the credentials of"
FORBIDDEN: Final = Unreadable("it may not be read")
MISSING: Final = Unreadable("it does not exist", is_missing=True)
DENIED: Final = Trouble(TroubleReason.ImageNotFoundOrDenied, "denied", transient=False)
LIMITED: Final = Trouble(TroubleReason.RateLimited, "later", transient=True)
DOWN: Final = Trouble(TroubleReason.RegistryUnavailable, "down", transient=True)


@dataclass
class Gate(RegistryClient):
    """A registry client for a registry that lets one password in, or anybody."""

    is_open: bool = False
    answer: Resolved | Trouble = field(default_factory=lambda: Resolved(D1, "", 77.0))
    otherwise: Trouble = DENIED
    lent: tuple[Credential, ...] = ()
    """What the registries file has for the policies of the namespace shop."""
    asked: list[list[str]] = field(default_factory=list)
    inspected: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(RegistrySettings(user_agent="test"))

    def credentials_for(self, reference: Reference, namespace: str) -> tuple[Credential, ...]:
        assert reference == IMAGE.reference
        return self.lent if namespace == "shop" else ()

    async def resolve(
        self,
        reference: Reference,  # noqa: ARG002 the client's signature
        credentials: Sequence[Credential] = (),
        *,
        fresh_since: float,
    ) -> Resolved | Trouble:
        assert fresh_since == SINCE
        self.asked.append([each.source for each in credentials])
        rejected: list[str] = []
        for each in credentials:
            if each.password == RIGHT:
                return replace(self.answer, rejected=tuple(rejected))
            rejected.append(each.source)
        answer = self.answer if self.is_open else self.otherwise
        return replace(answer, rejected=tuple(rejected))

    async def inspect(
        self,
        reference: Reference,  # noqa: ARG002 the client's signature
        digest: str,  # noqa: ARG002 the client's signature
        credentials: Sequence[Credential] = (),
    ) -> Trouble | None:
        self.inspected.append([each.source for each in credentials])
        return None


@dataclass
class Drawer(PullSecrets):
    """Pull secrets of a namespace by name, and the names that a ServiceAccount gives."""

    contents: Mapping[str, PullSecret | Unreadable]
    account: tuple[str, ...] | Unreadable = FORBIDDEN
    read: list[str] = field(default_factory=list)
    trouble: Exception | None = None

    async def secret(
        self, namespace: str, name: str, fresh_since: float
    ) -> PullSecret | Unreadable:
        assert namespace == "shop"
        assert fresh_since in (SINCE, -math.inf)
        if self.trouble:
            raise self.trouble
        self.read.append(name)
        return self.contents[name]

    async def account_secrets(
        self, namespace: str, name: str, fresh_since: float
    ) -> tuple[str, ...] | Unreadable:
        assert namespace == "shop"
        assert fresh_since in (SINCE, -math.inf)
        self.read.append(f"account {name}")
        return self.account


def holding(password: str, *keys: str) -> PullSecret:
    """A secret for the image's registry, or for other keys."""
    auth = base64.b64encode(f"robot:{password}".encode()).decode()
    auths = {key: {"auth": auth} for key in keys or (IMAGE.reference.registry,)}
    return PullSecret(json.dumps({"auths": auths}).encode())


GOOD: Final = holding(RIGHT)
BAD: Final = holding("wrong")


def naming(*names: str) -> Spec:
    """A spec that names pull secrets."""
    return a_spec(IMAGE, imagePullSecrets=[{"name": name} for name in names])


def pods(*names: str, account: str | None = None) -> dict[str, Json]:
    """A target whose pods name pull secrets."""
    pod = {"imagePullSecrets": [{"name": name} for name in names], "serviceAccountName": account}
    return {"spec": {"template": {"spec": pod}}}


def the_keys(drawer: PullSecrets, target: Mapping[str, Json] | None = None) -> Keys:
    keys = Keys(drawer, "shop")
    if target is not None:
        keys.learn(target)
    return keys


async def ask(gate: Gate, keys: Keys, *policys: str) -> Reply:
    return await resolve(gate, keys, naming(*policys), IMAGE.reference, SINCE)


def sources(*names: str) -> list[str]:
    return [f'secret "{name}"' for name in names]


def found(reply: Reply) -> str | TroubleReason:
    answer = reply.answer
    return answer.digest if isinstance(answer, Resolved) else answer.reason
