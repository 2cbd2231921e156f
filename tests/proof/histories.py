"""Long histories of several policies with several images: B2, B4, B11 to B24.

What the exhaustive search of `proof.model` proves for one and two images is tried here for more.
"""

import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, cast

from hypothesis import HealthCheck, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from typing_extensions import override

from imagerefresh.api.names import RETRY_AT
from imagerefresh.api.policy import ActionType, OnFailure
from imagerefresh.api.status import ImageState, parse_status
from imagerefresh.api.timestamps import timestamp
from imagerefresh.plan.evidence import Evidence
from imagerefresh.plan.health import judge
from imagerefresh.plan.view import View
from imagerefresh.reconcile.reconciler import Reconciler
from imagerefresh.reconcile.run import Run
from imagerefresh.reconcile.track import Track
from imagerefresh.reconcile.witness import Testimony, Witness
from proof.lab.cluster import Killed, Shop, Silent, Tags
from proof.lab.workload import CONTAINERS, HOST, Json, Workload, image_text
from proof.model.rendering import DIGEST_TEXTS, FOREIGN, VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imagerefresh.cluster.pods import Pods
    from imagerefresh.cluster.secrets import PullSecrets
    from imagerefresh.registry import RegistryClient

BEGIN: Final = datetime(2026, 2, 3, 12, tzinfo=UTC)
TURN: Final = 900.0
"""Seconds between two turns of a policy."""
QUIET_ROUNDS: Final = 60

digests = st.sampled_from(DIGEST_TEXTS)
containers = st.sampled_from(CONTAINERS)
places = st.sampled_from(["web", "api"])


class Blind(Witness):
    """Pods can't be listed."""

    @override
    async def hear(self, run: Run, view: View, questions: "Mapping[str, str]") -> Testimony:
        return dict.fromkeys(questions.items(), Evidence.UNKNOWN)


@st.composite
def images(draw: st.DrawFn) -> Json:
    """An image of a policy: its name is that of its container, or another one."""
    container, kind = draw(containers), draw(st.sampled_from(ActionType))
    action: Json = {"type": kind}
    if kind is ActionType.SET_ENV:
        action["setEnv"] = {"container": container, "variable": VARIABLE}
    if kind is ActionType.SET_IMAGE:
        action["setImage"] = {"container": container}
    return {
        "name": container + draw(st.sampled_from(["", "", "-2"])),
        "registry": HOST,
        "repository": container,
        "tag": "prod",
        "pinned": draw(st.sampled_from([False, False, False, True])),
        "action": action,
    }


@st.composite
def specs(draw: st.DrawFn) -> Json:
    """A policy of one to five images, each of a container of its own."""
    return {
        "targetRef": {"kind": "Deployment", "name": draw(st.sampled_from(["web", "web", "api"]))},
        "rollout": {"onFailure": draw(st.sampled_from(OnFailure))},
        "images": draw(
            st.lists(images(), min_size=1, max_size=5, unique_by=lambda each: each["repository"])
        ),
    }


class Histories(RuleBasedStateMachine):
    """Anything may happen at any time; in the end the world goes quiet."""

    @initialize(chosen=st.lists(specs(), min_size=1, max_size=3))
    def begin(self, chosen: Sequence[Json]) -> None:
        self.shop = Shop(tags=dict.fromkeys(CONTAINERS, DIGEST_TEXTS[0]))
        self.requests = 0
        for name in ("web", "api"):
            target = self.shop.targets[name] = Workload(name)
            target.observe()
            target.pull(self.shop.tags)
            target.finish()
        self.created = 0
        for place, spec in enumerate(chosen):
            self._create(f"p{place}", spec)
        self._grant(self.shop.policies)
        self.restart()

    def wall_clock(self) -> float:
        return BEGIN.timestamp() + self.shop.now

    @property
    def targets(self) -> list[Workload]:
        return list(self.shop.targets.values())

    # The registry.

    @rule(container=containers, digest=digests)
    def move(self, container: str, digest: str) -> None:
        self.shop.tags[container] = digest
        for target in self.targets:
            target.flickered.add(container)
        self._grant(
            name
            for name in self.shop.policies
            if any(image.repository == container for image in self.shop.spec(name).images)
        )

    @rule()
    def fail_or_recover(self) -> None:
        self.shop.is_up = not self.shop.is_up
        self.shop.accounts.asking.clear()  # nobody waits for what only a registry could confirm

    # The operator.

    @rule()
    def restart(self) -> None:
        shop = self.shop
        self.tracks = {name: Track() for name in shop.policies}
        self.reconciler = Reconciler(
            shop,
            Tags(cast("RegistryClient", None), shop),
            Silent(shop),
            cast("PullSecrets", None),
            Blind(cast("Pods", None), cast("RegistryClient", None)),
            wall_clock=self.wall_clock,
            monotonic=lambda: shop.now,
        )
        for name, track in self.tracks.items():
            self.reconciler.neighbourhood.notice(shop.policies[name], track)

    @rule(data=st.data(), writes=st.sampled_from([None, None, 1, 2, 3]))
    def run_one(self, data: st.DataObject, writes: int | None) -> None:
        name = data.draw(st.sampled_from(sorted(self.shop.policies)))
        self.shop.writes_left = writes
        try:
            self._run(name)
        except Killed:
            self.restart()

    @rule()
    def run_all(self) -> None:
        for name in sorted(self.shop.policies):
            self._run(name)

    def _run(self, name: str) -> None:
        shop, track = self.shop, self.tracks[name]
        shop.running = name
        shop.now += 1
        self.reconciler.neighbourhood.notice(shop.policies[name], track)
        news = shop.news
        try:
            self.reconciler.run(shop.policies[name], track).send(None)
        except StopIteration:
            if shop.news == news:
                self._settle(name)
        else:
            raise AssertionError("a run waits for something that is not there")
        finally:
            shop.writes_left = None

    @rule(seconds=st.sampled_from([5.0, TURN, 4 * TURN]))
    def wait(self, seconds: float) -> None:
        self.shop.now += seconds
        if seconds >= TURN:  # longer than a rollout may stall
            for target in self.targets:
                self._fail(target.name)

    # The controller and the nodes.

    @rule(place=places, is_well=st.booleans())
    def roll_out(self, place: str, *, is_well: bool) -> None:
        workload = self.shop.targets[place]
        if workload.document["spec"].get("paused"):
            return
        workload.observe()
        if is_well and self.shop.is_up:
            workload.pull(self.shop.tags)
            workload.finish()
            self.shop.accounts.asking.pop(place, None)
        elif not is_well and "availableReplicas" not in workload.document["status"]:
            workload.exceed_deadline()
            self._fail(place)

    @rule(place=places)
    def observe(self, place: str) -> None:
        if not self.shop.targets[place].document["spec"].get("paused"):
            self.shop.targets[place].observe()

    @rule(place=places)
    def lose_pods(self, place: str) -> None:
        self.shop.targets[place].lose_pods()

    # People.

    @rule(place=places)
    def undo(self, place: str) -> None:
        if len(self.shop.targets[place].revisions) > 1:
            self.shop.targets[place].undo()
            self._meddle(place)
            self._meddle(place)  # what status has not mirrored yet may cost another one (B22)

    @rule(
        place=places,
        container=containers,
        value=st.sampled_from([*DIGEST_TEXTS, "", FOREIGN]),
    )
    def edit(self, place: str, container: str, value: str) -> None:
        workload = self.shop.targets[place]
        workload.container(container)["env"] = [{"name": VARIABLE, "value": value}]
        workload.touch()
        self._meddle(place)

    @rule(
        place=places,
        container=containers,
        digest=st.sampled_from([*DIGEST_TEXTS, ""]),
    )
    def edit_image(self, place: str, container: str, digest: str) -> None:
        workload = self.shop.targets[place]
        text = image_text(container)
        workload.container(container)["image"] = f"{text}@{digest}" if digest else text
        workload.touch()
        self._meddle(place)

    @rule(place=places)
    def strip(self, place: str) -> None:
        self.shop.targets[place].metadata["annotations"] = {}
        self.shop.targets[place].touch()
        self._meddle(place)

    @rule(place=places)
    def pause_or_resume(self, place: str) -> None:
        workload = self.shop.targets[place]
        workload.document["spec"]["paused"] = not workload.document["spec"].get("paused", False)
        workload.touch()
        self.shop.accounts.asking.pop(place, None)

    @rule(data=st.data())
    def ask_for_a_retry(self, data: st.DataObject) -> None:
        policy = self._any_policy(data)
        self.requests += 1
        policy["metadata"]["annotations"][RETRY_AT] = str(self.requests)
        self._touch(policy)
        self._grant([policy["metadata"]["name"]])

    @rule(data=st.data())
    def suspend_or_resume(self, data: st.DataObject) -> None:
        policy = self._any_policy(data)
        policy["spec"]["suspend"] = not policy["spec"].get("suspend", False)
        self._change(policy)

    @rule(data=st.data())
    def pin_or_unpin(self, data: st.DataObject) -> None:
        policy = self._any_policy(data)
        image = data.draw(st.sampled_from(policy["spec"]["images"]))
        image["pinned"] = not image["pinned"]
        self._change(policy)

    @rule(data=st.data())
    def recreate(self, data: st.DataObject) -> None:
        policy = self._any_policy(data)
        name = policy["metadata"]["name"]
        self.reconciler.neighbourhood.forget(policy["metadata"]["uid"])
        self._create(name, policy["spec"])
        self.tracks[name] = Track()
        self.reconciler.neighbourhood.notice(self.shop.policies[name], self.tracks[name])
        self._meddle(self.shop.target_of(name).name)  # others may be the older ones now

    def _create(self, name: str, spec: Json) -> None:
        self.created += 1
        self.shop.policies[name] = {
            "metadata": {
                "name": name,
                "namespace": "shop",
                "uid": f"{name}-{self.created}",
                "generation": 1,
                "resourceVersion": str(1000 * self.created),
                "creationTimestamp": timestamp(BEGIN - timedelta(days=9, seconds=-self.created)),
                "annotations": {},
            },
            "spec": spec,
            "status": None,
        }

    def _any_policy(self, data: st.DataObject) -> Json:
        return self.shop.policies[data.draw(st.sampled_from(sorted(self.shop.policies)))]

    def _change(self, policy: Json) -> None:
        policy["metadata"]["generation"] += 1
        self._touch(policy)
        self.shop.accounts.asking.clear()

    def _touch(self, policy: Json) -> None:
        metadata = policy["metadata"]
        metadata["resourceVersion"] = str(int(metadata["resourceVersion"]) + 1)

    # What all that entitles to.

    def _grant(self, policies: Iterable[str]) -> None:
        self.shop.accounts.grant((name, self.shop.spec(name)) for name in policies)

    def _of(self, place: str) -> list[str]:
        return [name for name in self.shop.policies if self.shop.target_of(name).name == place]

    def _meddle(self, place: str) -> None:
        self.shop.accounts.asking.pop(place, None)
        self._grant(self._of(place))

    def _fail(self, place: str) -> None:
        self.shop.accounts.asking.pop(place, None)
        self._grant(
            name
            for name in self._of(place)
            if self.shop.spec(name).rollout.on_failure is OnFailure.ROLLBACK
        )

    def _settle(self, name: str) -> None:
        """After a run that found nothing to do though it knew all."""
        spec, target = self.shop.spec(name), self.shop.target_of(name)
        entries = parse_status(self.shop.policies[name]["status"]).images
        known = {entry.name: entry for entry in entries}
        if (
            spec.suspend
            or not judge(target.document).is_healthy
            or any(
                known[each.name].latest != self.shop.tags[each.repository] for each in spec.images
            )
        ):
            return
        for image in spec.images:
            if known[image.name].state is ImageState.CURRENT:
                self.shop.accounts.settle(name, image.name)

    # In the end.

    def teardown(self) -> None:
        """The world goes quiet: it comes to rest as it should, and stays so."""
        if not hasattr(self, "shop"):
            return
        self.shop.is_up = True
        still = 0
        for round_number in range(QUIET_ROUNDS):
            news = self.shop.news
            for target in self.targets:
                if not target.document["spec"].get("paused"):
                    target.observe()
                    target.pull(self.shop.tags)
                    target.finish()
            self.shop.accounts.asking.clear()
            for name in sorted(self.shop.policies):
                self._run(name)
            self.shop.now += TURN
            still = still + 1 if self.shop.news == news else 0
            if still == 2:
                event(f"at rest after {round_number // 5 * 5} rounds and more")
                break
        assert still == 2, "a quiet world comes to rest"
        for name in self.shop.policies:
            self._check_rest(name)

    def _check_rest(self, name: str) -> None:
        spec, target = self.shop.spec(name), self.shop.target_of(name)
        if spec.suspend or target.document["spec"].get("paused"):
            return
        told = {
            entry.name: entry for entry in parse_status(self.shop.policies[name]["status"]).images
        }
        for image in spec.images:
            entry = told[image.name]
            match entry.state:
                case ImageState.CURRENT:
                    assert entry.recorded == entry.asked == self.shop.tags[image.repository]
                case ImageState.HELD:
                    assert entry.failed == self.shop.tags[image.repository]
                case state:
                    assert state in (ImageState.PINNED, ImageState.BLOCKED)
                    assert entry.message


FULL: Final = settings(
    max_examples=3000,
    stateful_step_count=60,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def try_histories(chosen: settings) -> None:
    """Tries as many histories of as many steps as the settings say.

    Raises:
        AssertionError: something must not happen; the history is printed.
    """
    run_state_machine_as_test(Histories, settings=chosen)


def main(_: Sequence[str] = ()) -> int:
    """Prints how many histories were tried. What must not happen ends it with a traceback."""
    began = time.monotonic()
    try_histories(FULL)
    told = f"{FULL.max_examples} histories of up to {FULL.stateful_step_count} steps hold."
    print(f"{told} {time.monotonic() - began:.0f} s.")
    return 0
