"""The story, chapter by chapter. Each says what it expects, does it, waits, shows and checks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from narrator import Narrator
from stage import NAME, Stage
from testbed.operator_process import OperatorProcess
from testbed.registry import Registry
from testbed.workloads import environment

TURN = 10  # seconds, the interval of policy.yaml
VARIABLE = "INGESTOR_IMAGE_DIGEST"
TAGS = {"jobs-manager": "prod", "pods-monitor": "prod", "log-shipper": "prod", "ingestor": "0.3"}
POLICIES = "get imagerefreshpolicies"
IMAGES = (
    f"get irp {NAME} -o jsonpath="
    """'{range .status.images[*]}{.name}{"\\t"}{.state}{"\\t"}{.recorded}{"\\n"}{end}'"""
)
WHY = f"""get irp {NAME} -o jsonpath='{{.status.conditions[?(@.type=="Ready")].message}}'"""
EVENTS = (
    "get events --field-selector=reason={reason}"
    " -o custom-columns=TYPE:.type,REASON:.reason,MESSAGE:.message"
)


@dataclass
class Cast:
    """Who plays. `digests` are those that the tags serve, by image."""

    stage: Stage
    narrator: Narrator
    operator: OperatorProcess | None = None
    digests: dict[str, str] = field(default_factory=dict)

    def close(self) -> None:
        """Stop the operator."""
        if self.operator:
            self.operator.kill()

    def show(self, command: str) -> None:
        """Run kubectl for all to see."""
        self.narrator.kubectl(self.stage.control_plane, command)

    def publish(self, *images: str, bad: bool = False) -> None:
        """Publish new versions as a release pipeline does: upload all, then move the tags."""
        uploaded = [
            (image, self._registry(image).publish(f"example/{image}", "upload", bad=bad))
            for image in images
        ]
        for image, digest in uploaded:
            self._registry(image).retag(f"example/{image}", TAGS[image], digest)
            self.digests[image] = digest
        for image, digest in uploaded:
            self.narrator.did(f"example/{image}:{TAGS[image]} is now {digest}")

    def wait_proven(self, *images: str) -> None:
        """Until the images are recorded and the policy is Ready."""
        self.narrator.wait(
            f"rolled out, proven and recorded: {', '.join(images)}",
            lambda: (
                all(self.stage.recorded(image) == self.digests[image] for image in images)
                and self.stage.ready()[0] == "True"
            ),
        )

    def variable_is_current(self) -> bool:
        """Whether the Deployment's variable holds what the ingestor's tag serves."""
        variables = environment(self.stage.deployment, "jobs-manager")
        return variables[VARIABLE] == self.digests["ingestor"]

    def check_revision(self, revision: int, why: str) -> None:
        """A Deployment's revision counts its rollouts, the first one included."""
        holds = self.stage.revision == revision
        self.narrator.check(f"{why}: the Deployment is at revision {revision}", holds=holds)

    def _registry(self, image: str) -> Registry:
        return self.stage.second if image == "ingestor" else self.stage.first


def baseline(cast: Cast) -> None:
    """B12: what runs is taken over."""
    tell, stage = cast.narrator, cast.stage
    tell.chapter(
        "A first look, without a restart",
        "the operator takes over a running Deployment as it is, and records what the tags serve.",
    )
    cast.publish(*TAGS)
    stage.apply("deployment.yaml", INGESTOR_DIGEST=cast.digests["ingestor"])
    tell.wait("the Deployment runs", lambda: stage.is_serving)
    policy = stage.apply("policy.yaml")
    tell.did("applied demo/policy.yaml:")
    tell.quote(policy)
    cast.operator = stage.start_operator()
    cast.operator.wait_ready()
    tell.did("started `imagerefresh run` as a process of its own, under the Role of deploy/base")
    cast.wait_proven("jobs-manager", "pods-monitor", "ingestor")
    cast.show(POLICIES)
    cast.show(IMAGES)
    cast.show(f"rollout history deployment/{NAME}")
    cast.check_revision(1, "no rollout")


def two_moves(cast: Cast) -> None:
    """B6: a release that moves several tags is one rollout."""
    tell = cast.narrator
    tell.chapter(
        "Two images move, one rollout",
        f"within {TURN} s one rollout restarts the pods, and both digests are recorded. "
        "log-shipper is published anew as well, but it is pinned.",
    )
    cast.publish("jobs-manager", "pods-monitor", "log-shipper")
    cast.wait_proven("jobs-manager", "pods-monitor")
    cast.show(IMAGES)
    cast.show(f"rollout history deployment/{NAME}")
    cast.check_revision(2, "one rollout for both")


def variable_set(cast: Cast) -> None:
    """B16: the digest is written where a program reads it."""
    tell = cast.narrator
    tell.chapter(
        "A variable follows an image",
        f"the ingestor's new digest is written to {VARIABLE}, by one rollout.",
    )
    cast.publish("ingestor")
    cast.wait_proven("ingestor")
    cast.show(f"set env deployment/{NAME} --list")
    tell.check("the variable holds the new digest", holds=cast.variable_is_current())
    cast.check_revision(3, "one rollout")


def undo(cast: Cast) -> None:
    """B17, B22: what was proven is set back, although the annotations went back too."""
    tell = cast.narrator
    tell.chapter(
        "Somebody runs rollout undo",
        "that takes the variable back, and the Deployment's annotations with it; as the digest "
        "was proven, the operator sets it back. A request has it look at once.",
    )
    cast.show(f"rollout undo deployment/{NAME}")
    cast.show(f"set env deployment/{NAME} --list")
    cast.show(f"annotate irp {NAME} imagerefresh.dev/requested-at=now")
    tell.wait("set back", cast.variable_is_current)
    cast.wait_proven("jobs-manager", "pods-monitor", "ingestor")
    cast.show(f"set env deployment/{NAME} --list")
    cast.show(EVENTS.format(reason="DriftCorrected"))
    cast.check_revision(5, "one rollout by the undo, one to set it back")


def broken(cast: Cast) -> None:
    """B19, B21: the failure is visible, and the digest is held."""
    tell, stage = cast.narrator, cast.stage
    tell.chapter(
        "A broken image",
        "the rollout does not get ahead and is reported; nothing is recorded; the old pods serve.",
    )
    proven = stage.recorded("jobs-manager")
    cast.publish("jobs-manager", bad=True)
    tell.wait("reported", lambda: stage.ready() == ("False", "RolloutFailed"), seconds=90)
    cast.show(POLICIES)
    cast.show(WHY)
    cast.show("get pods")
    cast.show(IMAGES)
    tell.check("nothing is recorded", holds=stage.recorded("jobs-manager") == proven)
    tell.check("as many pods serve as before", holds=stage.is_serving)


def fixed(cast: Cast) -> None:
    """B21: a hold ends when the tag moves."""
    tell = cast.narrator
    tell.chapter("The fix is published", "the hold ends with the tag's next move, and all is well.")
    cast.publish("jobs-manager")
    cast.wait_proven("jobs-manager")
    cast.show(POLICIES)
    cast.show("get pods")
    cast.show(IMAGES)
    cast.check_revision(7, "one rollout with the broken image, one with the fix")


def pinned(cast: Cast) -> None:
    """B2: never polled, never acted on."""
    tell, stage = cast.narrator, cast.stage
    tell.chapter(
        "The pinned image",
        "since chapter 2 its tag serves another digest, and nobody has even asked the registry.",
    )
    cast.show(IMAGES)
    asked = stage.first.front.requests(path="/example/log-shipper/")
    others = stage.first.front.requests("HEAD", path="/example/jobs-manager/")
    tell.check(
        f"the registry was asked {len(asked)} times for log-shipper, "
        f"and {len(others)} times for jobs-manager",
        holds=not asked and bool(others),
    )
    tell.check("nothing is recorded about it", holds=stage.recorded("log-shipper") is None)


CHAPTERS: Sequence[Callable[[Cast], None]] = (
    baseline,
    two_moves,
    variable_set,
    undo,
    broken,
    fixed,
    pinned,
)
