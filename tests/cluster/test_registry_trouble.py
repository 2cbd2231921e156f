"""Registries that fail, limit, or answer oddly: shown, never acted on, and over when it is over.

B5, B7 to B9.
"""

import time

import pytest

from cluster.story import (
    REPOSITORY,
    TAG,
    check,
    entry,
    let_run,
    message,
    ours,
    ready,
    record,
    rollouts,
    settle,
    told,
    wait_asked,
    wait_ready,
    wait_recorded,
    wait_stuck,
    web,
    web_container,
    web_policy,
    web_restart,
    web_set_env,
)
from imagerefresh.api.policy import parse_spec
from imagerefresh.api.timestamps import parse_timestamp
from imagerefresh.plan.due import latest_turn
from testbed.api import Manifest
from testbed.images import DOCKER_LIST, DOCKER_MANIFEST, OCI_INDEX, OCI_MANIFEST
from testbed.namespace import Namespace
from testbed.process import dead_port
from testbed.registry import Registry
from testbed.waiting import eventually
from testbed.workloads import condition, container, restart, workload

pytestmark = pytest.mark.usefixtures("operator")


@pytest.fixture
def first(namespace: Namespace, registry: Registry) -> str:
    """Deployment and policy `web`, settled on the digest that this returns."""
    return settle(namespace, registry)


def check_until_asked(namespace: Namespace, digest: str) -> None:
    """Ask for looks until one gets through."""
    eventually(
        lambda: entry(check(namespace)).get("asked") == digest, describe=f"{digest} is asked"
    )


# Trouble that passes.


def test_the_whole_story_with_trouble_in_between(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B7, B9: move and record, both held up by 500 and by 429 with Retry-After."""
    before = ours(namespace.deployment("web"))
    registry.front.fail(500)
    second = registry.publish(REPOSITORY, TAG, bad=True)
    found = check(namespace)
    assert ready(found) == ("True", "UpToDate")
    assert (entry(found)["state"], entry(found)["reason"]) == ("Current", "RegistryUnavailable")
    assert "500" in entry(found)["message"]
    assert entry(found)["latest"] == first

    registry.front.heal()
    registry.front.fail(429, headers={"Retry-After": "2"}, times=1)
    limited = time.monotonic()
    found = check(namespace)
    assert (ready(found)[0], entry(found)["reason"]) == ("True", "RateLimited")
    assert ours(namespace.deployment("web")) == before
    assert rollouts(namespace) == [None]
    check_until_asked(namespace, second)
    assert time.monotonic() - limited > 2
    later = [each for each in registry.front.requests("HEAD") if each.time > limited]
    assert [each.status for each in later[:2]] == [429, 200]
    assert later[1].time - later[0].time > 2

    wait_stuck(namespace)
    registry.front.fail(503)
    let_run(namespace)
    namespace.kubectl("rollout", "status", "deployment/web")
    found = check(namespace)
    assert (entry(found)["asked"], entry(found)["recorded"]) == (second, first)
    assert record(namespace.deployment("web")) == first

    registry.front.heal()
    eventually(lambda: entry(check(namespace))["recorded"] == second, describe="recorded")
    assert ready(wait_ready(namespace)) == ("True", "UpToDate")
    assert rollouts(namespace) == [None, second]


def test_set_env_is_recorded_while_the_registry_is_down(
    namespace: Namespace, registry: Registry
) -> None:
    """B14, B7: what runs is named in the template, so health is proof enough."""
    first = registry.publish(REPOSITORY, TAG)
    namespace.create(workload("web", [web_container(registry, DIGEST=first)]))
    namespace.create(web_policy(web_set_env(registry)))
    wait_recorded(namespace, first)
    second = registry.publish(REPOSITORY, TAG, bad=True)
    check(namespace)
    wait_stuck(namespace)

    registry.front.fail(503)
    let_run(namespace)

    wait_recorded(namespace, second)


def test_ready_outlasts_two_failed_turns_and_ends_with_the_third(
    namespace: Namespace, registry: Registry
) -> None:
    """B7: and comes back with the first turn that succeeds; one event for each end of it."""
    registry.publish(REPOSITORY, TAG)
    namespace.create(web(registry))
    manifest = web_policy(web_restart(registry), interval="10s")
    namespace.create(manifest)
    wait_ready(namespace)
    spec = parse_spec(manifest["spec"])
    reference = str(spec.images[0].reference)
    registry.front.forget()
    registry.front.fail(502)
    before = ours(namespace.deployment("web"))

    found = eventually(lambda: _troubled(namespace), describe="trouble is shown")
    assert ready(found)[0] == "True"
    checked = parse_timestamp(found["status"]["lastCheckTime"])
    assert checked is not None
    third = latest_turn(spec, reference, checked.timestamp() + 1) + 2 * 10
    found = wait_ready(namespace, status="False", reason="RegistryUnavailable", timeout=60)

    now = time.time() - time.monotonic()
    failed = [each for each in registry.front.requests("HEAD") if each.status == 502]
    assert len({latest_turn(spec, reference, now + each.time + 1) for each in failed}) == 3
    ended = condition(found, "Ready") or {}
    assert ended["lastTransitionTime"] >= _timestamp(third)
    assert ours(namespace.deployment("web")) == before
    registry.front.heal()
    assert ready(wait_ready(namespace)) == ("True", "UpToDate")
    told(namespace, "RegistryTrouble", 1)
    told(namespace, "RegistryRecovered", 1)


def _troubled(namespace: Namespace) -> Manifest:
    found = namespace.policy("web")
    return found if entry(found).get("reason") == "RegistryUnavailable" else {}


def _timestamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def test_a_registry_that_nobody_runs_is_shown_with_its_cause(
    namespace: Namespace, registry: Registry
) -> None:
    """B7: nothing is known of the image yet, so it is not Ready, but nothing has ended either."""
    with dead_port() as port:
        address = f"127.0.0.1:{port}"
        namespace.create(workload("web", [container("web", f"{address}/{REPOSITORY}:{TAG}")]))
        namespace.create(web_policy(restart("web", address, REPOSITORY, TAG)))

        found = wait_ready(namespace, status="Unknown", reason="Checking")

    assert entry(found)["reason"] == "RegistryUnavailable"
    assert f"{address}: connection refused" in entry(found)["message"]
    assert ours(namespace.deployment("web")) == {}


# Trouble that waits for a person.


def test_a_tag_that_does_not_exist_is_shown_at_once(
    namespace: Namespace, registry: Registry
) -> None:
    """B8: with the registry's words; the other image goes on, and publishing ends it."""
    digest = registry.publish(REPOSITORY, TAG)
    side = container("side", f"{registry.address}/example/side:{TAG}")
    namespace.create(workload("web", [web_container(registry), side]))
    missing = restart("side", registry.address, "example/side", TAG)
    namespace.create(web_policy(web_restart(registry), missing))

    found = wait_ready(namespace, status="False", reason="ImageNotFoundOrDenied")

    assert f"example/side:{TAG}" in message(found)
    assert entry(found, "side")["reason"] == "ImageNotFoundOrDenied"
    wait_recorded(namespace, digest)
    told(namespace, "RegistryTrouble", 1)
    side_digest = registry.publish("example/side", TAG)
    check(namespace)
    wait_recorded(namespace, side_digest, of="side")
    wait_ready(namespace)
    assert rollouts(namespace) == [None]
    told(namespace, "RegistryRecovered", 1)


def test_a_tag_that_was_deleted_is_shown_at_once(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B8: what is recorded stays, and its target runs on."""
    registry.delete(REPOSITORY, TAG)

    found = check(namespace)

    assert ready(found) == ("False", "ImageNotFoundOrDenied")
    assert entry(found)["recorded"] == first
    assert record(namespace.deployment("web")) == first
    registry.retag(REPOSITORY, TAG, first)
    assert ready(check(namespace)) == ("True", "UpToDate")
    assert rollouts(namespace) == [None]


def test_only_the_text_of_oci_errors_is_shown(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B8: cut, and without control characters."""
    said = '{"errors":[{"code":"DENIED","message":"ask \\u001b[31mthe owner","detail":"id 4711"}]}'
    registry.front.fail(403, body=said)

    found = check(namespace)

    assert ready(found) == ("False", "ImageNotFoundOrDenied")
    assert "the owner" in message(found)
    assert "\x1b" not in message(found)
    assert "4711" not in message(found)


def test_what_is_no_image_is_shown_and_not_asked(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B5: it takes one GET after the move, and none after that."""
    registry.front.forget()
    registry.publish_artifact(REPOSITORY, TAG)

    found = check(namespace)

    assert ready(found) == ("False", "NotAnImage")
    assert entry(found)["asked"] == first
    check(namespace)
    assert len(registry.front.requests("GET", "manifests/")) == 1
    assert rollouts(namespace) == [None]
    digest = registry.publish(REPOSITORY, TAG)
    check(namespace)
    wait_recorded(namespace, digest)


# Answers that are right, but oddly spelt.


def test_the_spelling_of_the_digest_header_does_not_matter(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B5: neither its case, nor that it is missing, for which one GET more makes up."""
    digests: list[str] = []
    for spelling in ("docker-content-digest", "DOCKER-Content-DIGEST", "Docker-Content-Digest"):
        registry.front.digest_header = spelling
        digests.append(registry.publish(REPOSITORY, TAG))
        check(namespace)
        wait_recorded(namespace, digests[-1])

    registry.front.leave_out = {"docker-content-digest"}
    digests.append(registry.publish(REPOSITORY, TAG))
    check(namespace)
    wait_recorded(namespace, digests[-1])

    assert rollouts(namespace) == [None, *digests]
    wait_asked(namespace, digests[-1])


def test_a_quiet_look_is_one_head_with_all_types(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B5: no ping, no token request, one Accept header."""
    registry.front.forget()

    check(namespace)

    [look] = registry.front.requests()
    assert (look.method, look.path) == ("HEAD", f"/v2/{REPOSITORY}/manifests/{TAG}")
    accepted = {each.strip() for each in look.headers["accept"].split(",")}
    assert accepted >= {OCI_INDEX, OCI_MANIFEST, DOCKER_LIST, DOCKER_MANIFEST}
