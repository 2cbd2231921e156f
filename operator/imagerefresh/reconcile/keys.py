"""The credentials for a policy's images, and the question to the registry with them (B10).

In this order: the pull secrets of the policy, those of its target, those of the target's
ServiceAccount, and what the registries file lends to the policies of the namespace. A
ServiceAccount is looked at only if the registry wants more than the pull secrets, and no credential
at all, give, or if the file has something that is to be tried after it: reading ServiceAccounts is
an optional right, and most images need none. One that may not be read is left alone while nothing
is missing; else the image's trouble says so.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from imagerefresh.api.policy import Spec
from imagerefresh.api.status import cut_message
from imagerefresh.cluster.secrets import PullSecrets, Unreadable, secret_names
from imagerefresh.reference import Reference
from imagerefresh.registry import (
    Credential,
    DockerConfig,
    Keyring,
    RegistryClient,
    Resolved,
    Trouble,
    TroubleReason,
    read_docker_config,
)

_WANTS_MORE: Final = frozenset({TroubleReason.ImageNotFoundOrDenied, TroubleReason.RateLimited})
_DEFAULT_ACCOUNT: Final = "default"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a registry said to a question, with which credentials, and what is wrong with those.

    `complaint` is "" if all is well, and None if that can't be told, as the registry is in trouble.
    """

    answer: Resolved | Trouble
    credentials: tuple[Credential, ...] = ()
    complaint: str | None = ""


@dataclass(frozen=True, slots=True)
class _Bunch:
    """What the sources gave: a keyring for each, and what is wrong with them."""

    keyrings: tuple[Keyring, ...] = ()
    problems: tuple[str, ...] = ()
    hint: str = ""
    """What could help, were it there."""

    def credentials_for(self, reference: Reference) -> tuple[Credential, ...]:
        return tuple(each for ring in self.keyrings for each in ring.credentials_for(reference))


@dataclass(slots=True)
class Keys:
    """The keys of one policy, and what its target was last seen to say of them."""

    secrets: PullSecrets = field(repr=False)
    namespace: str
    _of_target: tuple[str, ...] = ()
    _account: str | None = None
    """Of the target; None before that was read."""
    _uses_account: bool = False
    """An image needs the pull secrets of the ServiceAccount."""
    _account_is_closed: bool = False
    """The ServiceAccount could not be read when it was last tried."""

    def learn(self, target: Mapping[str, Any]) -> None:
        """Notes what the pod template of a target says."""
        pod = target["spec"]["template"].get("spec") or {}
        self._of_target = secret_names(pod)
        self._account = pod.get("serviceAccountName") or _DEFAULT_ACCOUNT

    async def resolve(
        self, registry: RegistryClient, spec: Spec, reference: Reference, fresh_since: float
    ) -> Reply:
        """Resolves a tag; neither the answer nor a secret is taken from before `fresh_since`
        (monotonic).

        Raises:
            ClusterError: the API server can't be asked for a secret now.
        """
        lent = registry.credentials_for(reference, self.namespace)
        with_account = self._needs_account(lent)
        bunch = await self._gather(spec, fresh_since, with_account=with_account)
        credentials = (*bunch.credentials_for(reference), *lent)
        answer = await registry.resolve(reference, credentials, fresh_since=fresh_since)
        if not with_account and _wants_more(answer):
            bunch = await self._gather(spec, fresh_since, with_account=True)
            more = (*bunch.credentials_for(reference), *lent)
            if len(more) > len(credentials):
                self._uses_account, credentials = True, more
                answer = await registry.resolve(reference, credentials, fresh_since=fresh_since)
        if bunch.hint and isinstance(answer, Trouble) and not answer.transient:
            answer = replace(answer, message=f"{answer.message}; {bunch.hint}")
        return Reply(answer, credentials, _complaint(reference, answer, bunch.problems))

    async def credentials(
        self, registry: RegistryClient, spec: Spec, reference: Reference
    ) -> tuple[Credential, ...]:
        """The credentials for an image, as they were last read, for a while at least.

        Raises:
            ClusterError: the API server can't be asked for a secret now.
        """
        lent = registry.credentials_for(reference, self.namespace)
        bunch = await self._gather(spec, -math.inf, with_account=self._needs_account(lent))
        return (*bunch.credentials_for(reference), *lent)

    def _needs_account(self, lent: Sequence[Credential]) -> bool:
        """Whether the first question brings what the ServiceAccount gives."""
        return self._uses_account or (bool(lent) and not self._account_is_closed)

    async def _gather(self, spec: Spec, fresh_since: float, *, with_account: bool) -> _Bunch:
        problems: list[str] = []
        hint = ""
        sources = [tuple(each.name for each in spec.image_pull_secrets), self._of_target]
        if self._account and with_account:
            found = await self.secrets.account_secrets(self.namespace, self._account, fresh_since)
            self._account_is_closed = isinstance(found, Unreadable) and not found.is_missing
            if not isinstance(found, Unreadable):
                self._uses_account &= bool(found)
                sources.append(found)
            elif self._uses_account:
                problems.append(found.message)
            elif not found.is_missing:
                hint = found.message
        keyrings: list[Keyring] = []
        seen: set[str] = set()
        for source in sources:
            names = [name for name in dict.fromkeys(source) if name not in seen]
            seen.update(names)
            configs = [await self._read(name, fresh_since) for name in names]
            problems += [problem for config in configs for problem in config.problems]
            keyrings += [Keyring(configs)] if configs else []
        return _Bunch(tuple(keyrings), tuple(problems), hint)

    async def _read(self, name: str, fresh_since: float) -> DockerConfig:
        found = await self.secrets.secret(self.namespace, name, fresh_since)
        if isinstance(found, Unreadable):
            return DockerConfig(problems=(found.message,))
        return read_docker_config(found.content, f'secret "{name}"', is_legacy=found.is_legacy)


async def resolve(
    registry: RegistryClient,
    keys: Keys | None,
    spec: Spec,
    reference: Reference,
    fresh_since: float,
) -> Reply:
    """Resolves a tag with the keys, if there are any; as `Keys.resolve`."""
    if keys is None:
        return Reply(await registry.resolve(reference, fresh_since=fresh_since))
    return await keys.resolve(registry, spec, reference, fresh_since)


def _wants_more(answer: Resolved | Trouble) -> bool:
    return isinstance(answer, Trouble) and answer.reason in _WANTS_MORE


def _complaint(
    reference: Reference, answer: Resolved | Trouble, problems: Iterable[str]
) -> str | None:
    refused: tuple[str, ...] = ()
    if isinstance(answer, Resolved):
        refused = answer.rejected
    elif answer.transient:
        return None
    # Of an image that was denied the trouble itself names what was refused.
    told = [f"{reference.registry} refused the credentials of {each}" for each in refused]
    return cut_message("; ".join(dict.fromkeys([*told, *problems])))
