"""Rollouts that come to nothing under `onFailure: Rollback`: back to what was proven (B21)."""

import pytest

from cluster.story import (
    REPOSITORY,
    TAG,
    check,
    deploy,
    entry,
    impatient,
    message,
    ready,
    record,
    retry,
    rollouts,
    stamp,
    state,
    told,
    value,
    wait_asked,
    wait_ready,
    wait_recorded,
    web,
    web_policy,
    web_restart,
    web_set_env,
)
from testbed.api import Manifest
from testbed.namespace import Namespace
from testbed.registry import Registry
from testbed.waiting import eventually
from testbed.workloads import restart, rolled_out, set_image

pytestmark = pytest.mark.usefixtures("operator")

ROLLBACK = {"onFailure": "Rollback"}
ELSEWHERE = "example/other"
WEB = {"container": "web"}


def settle(namespace: Namespace, registry: Registry, image: Manifest) -> str:
    """Deployment and policy `web`, settled on the digest that this returns."""
    digest = registry.publish(REPOSITORY, TAG)
    deploy(namespace, web(registry))
    namespace.create(web_policy(image, rollout=ROLLBACK))
    wait_recorded(namespace, digest)
    return digest


def fail(namespace: Namespace, registry: Registry) -> str:
    """A digest that can't run: asked, failed and rolled back."""
    digest = registry.publish(REPOSITORY, TAG, bad=True)
    with impatient(namespace):
        check(namespace)
        wait_ready(namespace, status="False", reason="RolloutFailed")
    return digest


def text(namespace: Namespace) -> str:
    """The image text of the container `web`."""
    containers = namespace.deployment("web")["spec"]["template"]["spec"]["containers"]
    found: str = containers[0]["image"]
    return found


def follow_elsewhere(namespace: Namespace, registry: Registry) -> None:
    """Take target and policy to another repository, as a person does when an image moves house."""
    there = f"{registry.address}/{ELSEWHERE}:{TAG}"
    image = set_image("web", registry.address, ELSEWHERE, TAG, **WEB)
    namespace.kubectl("set", "image", "deployment/web", f"web={there}")
    namespace.patch("ImageRefreshPolicy", "web", {"spec": {"images": [image]}})


def wait_rolled_out(namespace: Namespace) -> None:
    eventually(lambda: rolled_out(namespace.deployment("web")), describe="rolled out")


@pytest.fixture
def first(namespace: Namespace, registry: Registry) -> str:
    """The digest on which a policy with action Restart has settled."""
    return settle(namespace, registry, web_restart(registry))


@pytest.fixture
def bad(namespace: Namespace, registry: Registry, first: str) -> str:
    """A digest that the policy then asked, and rolled back."""
    return fail(namespace, registry)


class TestRestart:
    """By a pin to the proven digest."""

    def test_the_container_is_pinned_until_the_tag_moves_on(
        self, namespace: Namespace, registry: Registry, first: str, bad: str
    ) -> None:
        floating = f"{registry.address}/{REPOSITORY}:{TAG}"
        assert text(namespace) == f"{floating}@{first}"
        wait_rolled_out(namespace)
        found = check(namespace)
        assert (entry(found)["asked"], entry(found)["failed"]) == (first, bad)
        assert "rolled back" in message(found)
        assert rollouts(namespace) == [None, bad, first]
        told(namespace, "RolledBack", 1)

        fix = registry.publish(REPOSITORY, TAG)
        check(namespace)

        found = wait_recorded(namespace, fix)
        assert text(namespace) == floating
        assert "failed" not in entry(found)
        assert len(rollouts(namespace)) == 4

    @pytest.mark.usefixtures("bad")
    def test_the_pin_goes_when_the_tag_goes_back(
        self, namespace: Namespace, registry: Registry, first: str
    ) -> None:
        """Nothing is asked, but the hold ends."""
        registry.retag(REPOSITORY, TAG, first)

        check(namespace)

        assert text(namespace) == f"{registry.address}/{REPOSITORY}:{TAG}"
        found = wait_ready(namespace)
        assert entry(found)["recorded"] == first
        told(namespace, "Asked", 1)

    @pytest.mark.usefixtures("bad")
    def test_an_undo_to_the_pin_after_its_hold_is_set_back(
        self, namespace: Namespace, registry: Registry, first: str
    ) -> None:
        """B17: it is told, and stamped, as each rollout of ours."""
        fix = registry.publish(REPOSITORY, TAG)
        check(namespace)
        wait_recorded(namespace, fix)
        namespace.undo("web")
        assert text(namespace).endswith(f"@{first}")

        check(namespace)

        told(namespace, "DriftCorrected", 1)
        assert text(namespace) == f"{registry.address}/{REPOSITORY}:{TAG}"
        assert stamp(namespace.deployment("web")) == fix
        assert ready(wait_ready(namespace)) == ("True", "UpToDate")

    def test_an_edit_of_the_pinned_image_is_set_back(
        self, namespace: Namespace, registry: Registry, first: str, bad: str
    ) -> None:
        """B17: its tag serves just what has failed."""
        floating = f"{registry.address}/{REPOSITORY}:{TAG}"
        namespace.kubectl("set", "image", "deployment/web", f"web={floating}")

        check(namespace)

        assert text(namespace) == f"{floating}@{first}"
        assert entry(namespace.policy("web"))["failed"] == bad

    def test_a_retry_floats_again(self, namespace: Namespace, first: str, bad: str) -> None:
        """B4: and comes back, since it fails again."""
        retry(namespace)
        wait_asked(namespace, bad)

        with impatient(namespace):
            eventually(
                lambda: entry(namespace.policy("web")).get("asked") == first, describe="rolled back"
            )

        assert text(namespace).endswith(f"@{first}")
        told(namespace, "RolledBack", 2)

    @pytest.mark.usefixtures("bad")
    def test_another_tag_in_the_policy_does_not_float_the_old_one(
        self, namespace: Namespace, registry: Registry, first: str
    ) -> None:
        """B11: without the pin the container would run just the digest that failed."""
        registry.publish(REPOSITORY, "stable")
        other = restart("web", registry.address, REPOSITORY, "stable")
        namespace.patch("ImageRefreshPolicy", "web", {"spec": {"images": [other]}})

        wait_ready(namespace, status="False", reason="NoMatchingContainer")

        assert text(namespace) == f"{registry.address}/{REPOSITORY}:{TAG}@{first}"


class TestFields:
    """SetEnv and SetImage: by the field itself."""

    def test_a_variable(self, namespace: Namespace, registry: Registry) -> None:
        first = settle(namespace, registry, web_set_env(registry))
        bad = fail(namespace, registry)

        assert value(namespace) == first
        wait_rolled_out(namespace)
        deployment = namespace.deployment("web")
        assert (stamp(deployment), record(deployment)) == (first, first)
        assert state(deployment)["failed"] == bad
        found = check(namespace)
        assert ready(found) == ("False", "RolloutFailed")
        assert value(namespace) == first

        fix = registry.publish(REPOSITORY, TAG)
        check(namespace)
        wait_recorded(namespace, fix)
        assert value(namespace) == fix

    def test_an_image_field(self, namespace: Namespace, registry: Registry) -> None:
        image = set_image("web", registry.address, REPOSITORY, TAG, container="web")
        first = settle(namespace, registry, image)
        bad = fail(namespace, registry)

        assert text(namespace).endswith(f"@{first}")
        wait_rolled_out(namespace)
        assert state(namespace.deployment("web"))["failed"] == bad

    def test_nothing_goes_back_to_a_digest_of_another_repository(
        self, namespace: Namespace, registry: Registry
    ) -> None:
        """B1: it is not there."""
        settle(namespace, registry, set_image("web", registry.address, REPOSITORY, TAG, **WEB))
        bad = registry.publish(ELSEWHERE, TAG, bad=True)

        follow_elsewhere(namespace, registry)
        wait_asked(namespace, bad)

        with impatient(namespace):
            found = wait_ready(namespace, status="False", reason="RolloutFailed")
        assert "rolled back" not in message(found)
        assert text(namespace) == f"{registry.address}/{ELSEWHERE}:{TAG}@{bad}"
        assert record(namespace.deployment("web")) is None

    def test_a_first_digest_has_nothing_to_go_back_to(
        self, namespace: Namespace, registry: Registry
    ) -> None:
        bad = registry.publish(REPOSITORY, TAG, bad=True)
        namespace.create(web(registry))
        namespace.create(web_policy(web_set_env(registry), rollout=ROLLBACK))
        wait_asked(namespace, bad)

        with impatient(namespace):
            found = wait_ready(namespace, status="False", reason="RolloutFailed")

        assert (entry(found)["failed"], value(namespace)) == (bad, bad)
        assert "rolled back" not in message(found)
