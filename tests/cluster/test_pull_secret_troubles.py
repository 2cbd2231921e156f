"""Pull secrets that are refused, missing, broken or out of reach: named, the rest is used (B10)."""

import json

from cluster.conftest import StartOperator
from cluster.private import (
    GRANTED,
    SECRET,
    WRONG,
    assert_nothing_leaked,
    content,
    grant,
    named,
    problem,
    pull_secret,
    requests,
    with_secrets,
)
from cluster.story import (
    REPOSITORY,
    TAG,
    check,
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
from testbed.registry import Registry
from testbed.waiting import eventually


def test_a_refused_secret_is_named_and_the_next_one_is_used(
    namespace: Namespace, private: Registry, start_operator: StartOperator
) -> None:
    """The policy's come before the target's."""
    start_operator(components=GRANTED)
    grant(namespace, "outdated")
    digest = private.publish(REPOSITORY, TAG)
    namespace.create(pull_secret(private))
    namespace.create(pull_secret(private, WRONG, name="outdated"))
    namespace.create(with_secrets(web(private), SECRET))
    namespace.create(web_policy(web_set_env(private), imagePullSecrets=named("outdated")))
    wait_recorded(namespace, digest)
    expected = f'{private.address} refused the credentials of secret "outdated"'
    assert problem(wait_ready(namespace)) == expected
    assert problem(check(namespace)) == expected
    [note] = told(namespace, "PullSecretTrouble", 1)
    assert note.endswith(expected)
    assert_nothing_leaked(namespace)


def test_secrets_that_cannot_be_used_are_named_and_a_public_image_is_followed(
    namespace: Namespace, registry: Registry, start_operator: StartOperator
) -> None:
    """Broken, not granted, missing; Ready says nothing of them."""
    start_operator(components=GRANTED)
    digest = registry.publish(REPOSITORY, TAG)
    namespace.create(
        pull_secret(registry)
        | {"stringData": {".dockerconfigjson": json.dumps({"auths": {"r.example.com": {}}})}}
    )
    namespace.create(pull_secret(registry, name="not-granted"))
    namespace.create(web(registry))
    namespace.create(
        web_policy(web_set_env(registry), imagePullSecrets=named(SECRET, "not-granted"))
    )
    wait_recorded(namespace, digest)
    assert problem(wait_ready(namespace)) == (
        'secret "regcred": the entry "r.example.com" can\'t be used: it holds no credentials;'
        ' secret "not-granted" may not be read: the operator needs the right to get secrets named'
        " not-granted (see deploy/components/pull-secrets)"
    )

    namespace.patch("Secret", SECRET, {"stringData": content(registry, WRONG)})
    namespace.patch("ImageRefreshPolicy", "web", {"spec": {"imagePullSecrets": named(SECRET)}})
    eventually(lambda: problem(namespace.policy("web")) == "", describe="mended")
    namespace.delete("Secret", SECRET)
    assert problem(check(namespace)) == 'secret "regcred" does not exist'
    assert ready(namespace.policy("web")) == ("True", "UpToDate")
    assert_nothing_leaked(namespace)


def test_without_the_rights_a_public_image_is_followed_and_the_secret_named(
    namespace: Namespace, registry: Registry, start_operator: StartOperator
) -> None:
    """B28: as shipped no secret may be read."""
    digest = registry.publish(REPOSITORY, TAG)
    namespace.create(pull_secret(registry))
    namespace.create(with_secrets(web(registry), SECRET))
    namespace.create(web_policy(web_set_env(registry)))
    start_operator()
    wait_recorded(namespace, digest)
    assert problem(wait_ready(namespace)) == (
        'secret "regcred" may not be read: the operator needs the right to get secrets named'
        " regcred (see deploy/components/pull-secrets)"
    )
    told(namespace, "PullSecretTrouble", 1)
    assert requests(namespace, "serviceaccounts") == []


def test_without_the_rights_a_denial_names_the_ServiceAccount(  # noqa: N802
    namespace: Namespace, private: Registry, start_operator: StartOperator
) -> None:
    """B8: and the trouble is told by its own event alone."""
    private.publish(REPOSITORY, TAG)
    namespace.create(web(private))
    namespace.create(web_policy(web_set_env(private)))
    start_operator()
    policy = wait_ready(namespace, status="False", reason="ImageNotFoundOrDenied")
    assert message(policy).endswith(
        'ServiceAccount "default" may not be read: the operator needs the right to get'
        " serviceaccounts named default (see deploy/components/pull-secrets)"
    )
    told(namespace, "RegistryTrouble", 1)
    assert events(namespace, "PullSecretTrouble") == []
