"""Private images at a real registry that wants tokens, as most do: from pull secrets to the token
service and back to the registry (B10).
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cluster.behind_tokens import (
    BY_IDENTITY,
    IDENTITY,
    MISTAKEN,
    PASSWORD,
    RIGHT,
    WRONG,
    BehindTokens,
    behind_tokens,
)
from cluster.conftest import StartOperator
from cluster.private import GRANTED, SECRET, grant, named, problem, said, with_secrets
from cluster.story import (
    REPOSITORY,
    TAG,
    check,
    entry,
    events,
    message,
    ready,
    told,
    wait_ready,
    wait_recorded,
    web,
    web_policy,
    web_set_env,
)
from testbed.namespace import Namespace
from testbed.waiting import eventually


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[BehindTokens]:
    with behind_tokens(tmp_path) as guarded:
        yield guarded


@pytest.fixture(autouse=True)
def _nothing_goes_astray(namespace: Namespace, guarded: BehindTokens) -> Iterator[None]:
    """In the end no credential and no token is in anything that people can read, and the registry
    has seen tokens alone.
    """
    yield
    for where, text in said(namespace).items():
        assert not guarded.secrets_in(text), where
    brought = {each.headers.get("authorization") for each in guarded.registry.front.requests()}
    tokens = {f"Bearer {token}" for token in guarded.service.tokens}
    assert brought <= {None, *tokens}
    assert brought & tokens


Naming = Callable[[Namespace, BehindTokens], None]
"""Creates target and policy, so that one of them, or what it names, names the pull secret."""


def named_by_policy(namespace: Namespace, guarded: BehindTokens) -> None:
    namespace.create(web(guarded.registry))
    create_policy(namespace, guarded, SECRET)


def named_by_target(namespace: Namespace, guarded: BehindTokens) -> None:
    namespace.create(with_secrets(web(guarded.registry), SECRET))
    create_policy(namespace, guarded)


def named_by_account(namespace: Namespace, guarded: BehindTokens) -> None:
    namespace.create(
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "puller"},
            "imagePullSecrets": named(SECRET),
        }
    )
    namespace.create(with_secrets(web(guarded.registry), account="puller"))
    create_policy(namespace, guarded)


def create_policy(namespace: Namespace, guarded: BehindTokens, *secrets: str) -> None:
    image = web_set_env(guarded.registry)
    namespace.create(web_policy(image, imagePullSecrets=named(*secrets)))


@pytest.mark.parametrize("naming", [named_by_policy, named_by_target, named_by_account])
def test_a_secret_opens_the_way_to_a_private_image(
    namespace: Namespace, start_operator: StartOperator, guarded: BehindTokens, naming: Naming
) -> None:
    """And a move is followed, with the token that is there already."""
    start_operator(components=GRANTED)
    digest = guarded.registry.publish(REPOSITORY, TAG)
    namespace.create(guarded.secret(SECRET, RIGHT))
    naming(namespace, guarded)
    wait_recorded(namespace, digest)
    assert problem(wait_ready(namespace)) == ""

    digest = guarded.registry.publish(REPOSITORY, TAG)
    check(namespace)
    wait_recorded(namespace, digest)
    assert events(namespace, "RegistryTrouble") == []
    assert guarded.times(PASSWORD) == 1


def test_an_identity_token_is_exchanged(
    namespace: Namespace, start_operator: StartOperator, guarded: BehindTokens
) -> None:
    """In the body of a POST, as it must be in no address."""
    start_operator(components=GRANTED)
    digest = guarded.registry.publish(REPOSITORY, TAG)
    namespace.create(guarded.secret(SECRET, BY_IDENTITY))
    named_by_policy(namespace, guarded)
    wait_recorded(namespace, digest)
    assert guarded.door.lines() == ["POST /token"]
    assert guarded.times(IDENTITY) == 1


def test_a_wrong_secret_is_named_and_the_next_one_used(
    namespace: Namespace, start_operator: StartOperator, guarded: BehindTokens
) -> None:
    """And not shown again at each turn: that may lock an account."""
    start_operator(components=GRANTED)
    grant(namespace, "outdated")
    digest = guarded.registry.publish(REPOSITORY, TAG)
    namespace.create(guarded.secret("outdated", MISTAKEN))
    namespace.create(guarded.secret(SECRET, RIGHT))
    namespace.create(with_secrets(web(guarded.registry), SECRET))
    create_policy(namespace, guarded, "outdated")
    wait_recorded(namespace, digest)
    expected = f'{guarded.registry.address} refused the credentials of secret "outdated"'
    assert problem(wait_ready(namespace)) == expected
    assert problem(check(namespace)) == expected
    [note] = told(namespace, "PullSecretTrouble", 1)
    assert note.endswith(expected)
    assert (guarded.times(WRONG), guarded.times(PASSWORD)) == (1, 1)


def test_a_secret_that_was_mended_counts_at_once(
    namespace: Namespace, start_operator: StartOperator, guarded: BehindTokens
) -> None:
    """Though the wrong one is still remembered as refused."""
    start_operator(components=GRANTED)
    digest = guarded.registry.publish(REPOSITORY, TAG)
    namespace.create(guarded.secret(SECRET, MISTAKEN))
    named_by_policy(namespace, guarded)
    policy = wait_ready(namespace, status="False", reason="ImageNotFoundOrDenied")
    assert 'the credentials of secret "regcred", which were refused' in message(policy)
    namespace.patch("Secret", SECRET, guarded.secret(SECRET, RIGHT))
    check(namespace)
    wait_recorded(namespace, digest)


def test_a_token_that_ends_between_two_turns_is_renewed(
    namespace: Namespace, start_operator: StartOperator, guarded: BehindTokens
) -> None:
    """Before its promised end, as clocks differ: nobody is told, and a move is not missed."""
    guarded.service.life = -55  # the registry bears a minute: it ends in five seconds
    start_operator(components=GRANTED)
    digest = guarded.registry.publish(REPOSITORY, TAG)
    namespace.create(guarded.secret(SECRET, RIGHT))
    named_by_policy(namespace, guarded)
    wait_recorded(namespace, digest)
    guarded.service.life = 300
    eventually(lambda: check(namespace) and guarded.times(PASSWORD) > 1, describe="another token")
    digest = guarded.registry.publish(REPOSITORY, TAG)
    check(namespace)
    wait_recorded(namespace, digest)
    assert ready(wait_ready(namespace)) == ("True", "UpToDate")
    assert events(namespace, "RegistryTrouble") == []
    assert guarded.times(PASSWORD) == 2


def test_a_token_service_that_is_down_is_trouble_that_passes(
    namespace: Namespace, start_operator: StartOperator, guarded: BehindTokens
) -> None:
    """B7: it is no verdict on the image or on the secret."""
    operator = start_operator(components=GRANTED)
    digest = guarded.registry.publish(REPOSITORY, TAG)
    namespace.create(guarded.secret(SECRET, RIGHT))
    named_by_policy(namespace, guarded)
    wait_recorded(namespace, digest)
    operator.terminate()
    guarded.door.stop()
    start_operator(components=GRANTED)
    found = check(namespace)
    assert ready(found) == ("True", "UpToDate")
    image = entry(found)
    assert (image["state"], image["reason"]) == ("Current", "RegistryUnavailable")
    assert f"{guarded.door.address}: connection refused" in image["message"]
    assert problem(found) == ""
