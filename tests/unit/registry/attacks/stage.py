"""Where an attack is played: the registry that an image names, another host that would like its
credentials, and one that nobody may reach.
"""

import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import trustme

from imagerefresh.reference import Reference, normalise
from imagerefresh.registry import Credential, TroubleReason
from testbed.loop import BackgroundLoop
from unit.registry.attacks.listener import ANOTHER, OURS, Answer, Listener, Script
from unit.registry.attacks.marks import Mark, found, new_mark, password
from unit.registry.scripted import INDEX, Reply, Seen, challenge, digest_of

DENIED: Final = TroubleReason.ImageNotFoundOrDenied
UNAVAILABLE: Final = TroubleReason.RegistryUnavailable
MISCONFIGURED: Final = TroubleReason.RegistryMisconfigured

REPOSITORY = "team/app"
TAG = "prod"
MANIFEST = f"/v2/{REPOSITORY}/manifests/{TAG}"
BY_DIGEST = f"/v2/{REPOSITORY}/manifests/{digest_of(INDEX)}"
"""Where it is found once it is known, to see whether it can be run (B5)."""


@dataclass
class Stage:
    """One row's servers, and its secrets, which are no other row's.

    Attributes:
        registry: the only one that the credential is meant for.
        thief: on another host; plain http.
        hidden: on this machine, and not in the registries file.
        secret: what the credential holds.
        bearer: the value of the token that the registry's own token service gives for it.
        host: the registry that the image names, if it is not `registry`.
    """

    registry: Listener
    thief: Listener
    hidden: Listener
    make_credential: Callable[[Mark], Credential] = password
    secret: Mark = field(default_factory=new_mark)
    bearer: Mark = field(default_factory=new_mark)
    host: str = ""

    @property
    def reference(self) -> Reference:
        return normalise(self.host or self.registry.address, REPOSITORY, TAG)

    @property
    def credential(self) -> Credential:
        return self.make_credential(self.secret)

    @property
    def marks(self) -> Sequence[Mark]:
        return self.secret, self.bearer

    def on_tag(self, script: Script) -> None:
        """Answer HEAD and GET of the image's manifest."""
        on_manifest(self.registry, script)

    def serve(self, answer: Script, demand: Reply | None = None) -> None:
        """Answer so who brings an Authorization; others hear the demand, Basic if there is none."""
        asked = demand or challenge('Basic realm="x"')

        def script(seen: Seen) -> Answer:
            if not seen.authorization:
                return asked
            return answer(seen) if callable(answer) else answer

        self.on_tag(script)


def on_manifest(listener: Listener, script: Script) -> None:
    """As `Stage.on_tag`, on any of the servers."""
    for method in ("HEAD", "GET"):
        for path in (MANIFEST, BY_DIGEST):
            listener.on(method, path, script)


Check = Callable[[], bool]
Play = Callable[[Stage], Check | None]


@dataclass(frozen=True)
class Attack:
    """One row: what is tried, and what must come of it.

    Attributes:
        play: sets the stage; may return what must hold afterwards.
        outcome: why there is no digest; None where there is one all the same.
        says: part of what people are told.
        thief_hears: requests that the thief may get, as method and path; none of its bytes holds
            anything of the credential.
        is_trusted: the registry has a right to the credential and must be seen to get it, which
            also shows that the search finds one.
        credential: what kind it is.
        over_tls: the registry has a certificate.
        outlasts: it ends only with the client's patience, half a minute where nothing else is set.
    """

    play: Play
    outcome: TroubleReason | None
    says: str
    thief_hears: frozenset[str]
    is_trusted: bool
    credential: Callable[[Mark], Credential]
    over_tls: bool
    outlasts: bool


ATTACKS: Final[dict[str, Attack]] = {}


def attack(
    outcome: TroubleReason | None,
    says: str = "",
    *,
    thief_hears: Sequence[str] = (),
    is_trusted: bool = False,
    credential: Callable[[Mark], Credential] = password,
    over_tls: bool = False,
    outlasts: bool = False,
) -> Callable[[Play], Play]:
    """Add a row under the name of what it decorates."""

    def add(play: Play) -> Play:
        assert play.__name__ not in ATTACKS
        ATTACKS[play.__name__] = Attack(
            play,
            outcome,
            says,
            frozenset(thief_hears),
            is_trusted,
            credential,
            over_tls,
            outlasts,
        )
        return play

    return add


@contextmanager
def staged(row: Attack, loop: BackgroundLoop, ca: trustme.CA) -> Iterator[Stage]:
    """Servers for a row, not playing yet."""
    tls = None
    if row.over_tls:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        ca.issue_cert(OURS).configure_cert(tls)
    stage = Stage(Listener(loop, tls=tls), Listener(loop, ANOTHER), Listener(loop), row.credential)
    try:
        yield stage
    finally:
        for listener in (stage.registry, stage.thief, stage.hidden):
            listener.stop()


def registries_file(stages: Sequence[tuple[Attack, Stage]], ca_file: Path) -> str:
    """What lets registries and thieves on this machine be reached, so that nothing but the care for
    credentials keeps these from a thief.
    """
    lines = ["hosts:"]
    for row, stage in stages:
        tls = f", caFile: {ca_file}" if row.over_tls else ""
        lines.append(f"  '{stage.registry.address}': {{allowLoopback: true{tls}}}")
        lines.append(f"  '{stage.thief.address}': {{allowLoopback: true}}")
    return "\n".join(lines)


def assert_kept(row: Attack, stage: Stage) -> None:
    """The credential went where it belongs, and nowhere else."""
    got = found(stage.marks, stage.registry.received)
    assert (stage.secret in got) == row.is_trusted, stage.registry.lines()
    assert not found(stage.marks, stage.thief.received), bytes(stage.thief.received)
    assert set(stage.thief.lines()) == row.thief_hears, (stage.thief.lines(), row.thief_hears)
    if not row.thief_hears:
        assert stage.thief.connections == 0
    assert stage.hidden.connections == 0
