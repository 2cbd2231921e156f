"""The API server says no, or something else than what was sent: shown, and tried again in time.

B29.
"""

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cluster.admission import forced_variable, frozen_template
from cluster.conftest import StartOperator
from cluster.story import (
    REPOSITORY,
    TAG,
    VARIABLE,
    check,
    entry,
    is_stalled,
    message,
    ready,
    record,
    request,
    rollouts,
    settle,
    told,
    value,
    wait_asked,
    wait_recorded,
    web_set_env,
)
from testbed.audit import AuditedRequest, service_account_user
from testbed.namespace import Namespace
from testbed.registry import Registry
from testbed.waiting import eventually

FIRST_BACKOFF = 10
"""Seconds (B29)."""


@pytest.fixture
def first(namespace: Namespace, registry: Registry, start_operator: StartOperator) -> str:
    start_operator()
    return settle(namespace, registry)


def patches(namespace: Namespace) -> list[AuditedRequest]:
    """The operator's patches of the Deployment so far."""
    user = service_account_user(namespace.name, "imagerefresh")
    return [
        each
        for each in namespace.control_plane.audit.requests(user)
        if (each.verb, each.resource) == ("patch", "deployments")
    ]


def test_a_refused_ask_is_shown_and_done_once_it_is_allowed(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B29: with the server's words, one event, and ten seconds until it is tried by itself."""
    words = "nothing moves until Monday"
    with frozen_template(namespace, words):
        second = registry.publish(REPOSITORY, TAG)
        found = check(namespace)
        assert ready(found) == ("False", "PatchRefused")
        assert words in message(found)
        assert entry(found)["reason"] != "RegistryUnavailable"

        found = check(namespace)

        assert ready(found) == ("False", "PatchRefused")
        assert not is_stalled(found)
        told(namespace, "PatchRefused", 1)
        assert record(namespace.deployment("web")) == first
        assert rollouts(namespace) == [None]

    wait_asked(namespace, second)
    found = wait_recorded(namespace, second)

    assert ready(found) == ("True", "UpToDate")
    assert rollouts(namespace) == [None, second]
    told(namespace, "PatchRefused", 1)
    refused = [each for each in patches(namespace) if each.code == 422]
    asked = next(each for each in patches(namespace) if each.time > refused[-1].time)
    own_tries = len(refused) - 2  # two were asked for; more come only where the machine is slow
    pause = (asked.time - refused[-1].time).total_seconds()
    assert FIRST_BACKOFF - 1 < pause < 2 * FIRST_BACKOFF * 2**own_tries
    assert (refused[-1].time - refused[0].time).total_seconds() >= own_tries * (FIRST_BACKOFF - 1)


def test_a_right_that_was_taken_away_is_named(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B28, B29: a person has to grant it again."""
    rbac = "rbac.authorization.k8s.io/v1/roles"
    api = namespace.control_plane.api
    rules = api.get(rbac, namespace.name, "imagerefresh")["rules"]
    without = [
        rule | {"verbs": ["get"]} if "deployments" in rule["resources"] else rule for rule in rules
    ]
    api.patch(rbac, namespace.name, "imagerefresh", {"rules": without})
    eventually(lambda: may_patch(namespace) == "no", describe="the right is gone")
    second = registry.publish(REPOSITORY, TAG)

    found = check(namespace)

    assert ready(found) == ("False", "Forbidden")
    assert is_stalled(found)
    assert 'cannot patch resource "deployments"' in message(found)
    api.patch(rbac, namespace.name, "imagerefresh", {"rules": rules})
    eventually(lambda: may_patch(namespace) == "yes", describe="the right is back")
    check(namespace)
    wait_recorded(namespace, second)


def may_patch(namespace: Namespace) -> str:
    user = service_account_user(namespace.name, "imagerefresh")
    return namespace.control_plane.kubectl(
        "auth",
        "can-i",
        "patch",
        "deployments.apps",
        f"--namespace={namespace.name}",
        f"--as={user}",
        check=False,
    ).strip()


def test_a_write_that_admission_changes_is_not_repeated(
    namespace: Namespace, registry: Registry, start_operator: StartOperator
) -> None:
    """B29: until the tag changes."""
    start_operator()
    first = settle(namespace, registry, web_set_env(registry))
    assert value(namespace) == first
    with forced_variable(namespace, VARIABLE, first):
        registry.publish(REPOSITORY, TAG)
        found = check(namespace)
        assert ready(found) == ("False", "MutatedByAdmission")
        assert is_stalled(found)
        assert f"[{VARIABLE}]" in message(found)
        told(namespace, "MutatedByAdmission", 1)
        before = namespace.deployment("web")

        check(namespace)

        after = namespace.deployment("web")
        assert after["metadata"]["generation"] == before["metadata"]["generation"]
        assert value(namespace) == first
    check(namespace)
    assert ready(namespace.policy("web")) == ("False", "MutatedByAdmission")

    third = registry.publish(REPOSITORY, TAG)
    check(namespace)

    wait_recorded(namespace, third)
    assert value(namespace) == third


@contextmanager
def busy(namespace: Namespace) -> Iterator[None]:
    """Somebody else writes the Deployment all the time.

    But for a breath after so many writes: on a busy machine nobody else would ever get in between.
    """
    end = threading.Event()

    def write() -> None:
        for count in itertools.count(1):
            if end.wait(0.02 if count % 20 else 0.5):
                return
            namespace.annotate("Deployment", "web", **{"example.com/count": str(count)})

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        end.set()
        writer.join()


def test_a_busy_target_does_not_starve_an_ask(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B29: a conflict is decided again at once."""
    with busy(namespace):
        second = registry.publish(REPOSITORY, TAG)
        request(namespace)
        wait_asked(namespace, second)
    wait_recorded(namespace, second)
    assert rollouts(namespace) == [None, second]
