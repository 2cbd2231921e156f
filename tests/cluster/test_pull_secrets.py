"""Private images by pull secrets: of the policy, the target and its ServiceAccount (B10).

The registry is a real one that lets one user in.
"""

from cluster.conftest import StartOperator
from cluster.private import (
    GRANTED,
    SECRET,
    WRONG,
    assert_nothing_leaked,
    content,
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
from testbed.audit import AuditedRequest, service_account_user
from testbed.namespace import Namespace
from testbed.registry import ROBOT, Registry
from testbed.waiting import eventually


def test_by_a_secret_of_the_policy(
    namespace: Namespace, private: Registry, start_operator: StartOperator
) -> None:
    """A move of a private image is followed, and a look into it (B5) works, too."""
    start_operator(components=GRANTED)
    digest = private.publish(REPOSITORY, TAG)
    namespace.create(pull_secret(private))
    namespace.create(web(private))
    namespace.create(web_policy(web_set_env(private), imagePullSecrets=named(SECRET)))
    wait_recorded(namespace, digest)
    assert problem(wait_ready(namespace)) == ""

    digest = private.publish(REPOSITORY, TAG)
    check(namespace)
    wait_recorded(namespace, digest)
    assert requests(namespace, "serviceaccounts") == []
    assert {each.code for each in requests(namespace, "secrets")} == {200}
    assert_nothing_leaked(namespace)


def test_by_a_secret_of_the_target(
    namespace: Namespace, private: Registry, start_operator: StartOperator
) -> None:
    start_operator(components=GRANTED)
    digest = private.publish(REPOSITORY, TAG)
    namespace.create(pull_secret(private))
    namespace.create(with_secrets(web(private), SECRET))
    namespace.create(web_policy(web_set_env(private)))
    wait_recorded(namespace, digest)
    assert requests(namespace, "serviceaccounts") == []


def test_by_a_secret_of_the_ServiceAccount(  # noqa: N802 as it is written
    namespace: Namespace, private: Registry, start_operator: StartOperator
) -> None:
    start_operator(components=GRANTED)
    digest = private.publish(REPOSITORY, TAG)
    namespace.create(pull_secret(private))
    namespace.create(
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "puller"},
            "imagePullSecrets": named(SECRET),
        }
    )
    namespace.create(with_secrets(web(private), account="puller"))
    namespace.create(web_policy(web_set_env(private)))
    wait_recorded(namespace, digest)
    assert problem(wait_ready(namespace)) == ""


def test_after_a_restart_the_target_is_asked_again(
    namespace: Namespace, private: Registry, start_operator: StartOperator
) -> None:
    """What the process remembers of the target's pull secrets may be lost (B6)."""
    private.publish(REPOSITORY, TAG)
    namespace.create(pull_secret(private))
    namespace.create(with_secrets(web(private), SECRET))
    namespace.create(web_policy(web_set_env(private)))
    operator = start_operator(components=GRANTED)
    wait_ready(namespace)
    operator.kill()

    digest = private.publish(REPOSITORY, TAG)
    start_operator(components=GRANTED)
    check(namespace)
    wait_recorded(namespace, digest)
    assert events(namespace, "RegistryTrouble") == []


def test_a_changed_secret_counts_from_the_next_turn_on(
    namespace: Namespace, private: Registry, start_operator: StartOperator
) -> None:
    """And one that is no longer accepted, too."""
    start_operator(components=GRANTED)
    digest = private.publish(REPOSITORY, TAG)
    namespace.create(pull_secret(private, WRONG))
    namespace.create(web(private))
    namespace.create(
        web_policy(web_set_env(private), interval="10s", imagePullSecrets=named(SECRET))
    )
    policy = wait_ready(namespace, status="False", reason="ImageNotFoundOrDenied")
    assert 'the credentials of secret "regcred", which were refused' in message(policy)

    namespace.patch("Secret", SECRET, {"stringData": content(private, ROBOT.password)})
    wait_recorded(namespace, digest)
    wait_ready(namespace)
    told(namespace, "RegistryRecovered", 1)

    namespace.patch("Secret", SECRET, {"stringData": content(private, WRONG)})
    assert ready(check(namespace)) == ("False", "ImageNotFoundOrDenied")
    assert_nothing_leaked(namespace)


def test_a_quiet_turn_reads_each_secret_once_for_all_policies(
    namespace: Namespace, private: Registry, start_operator: StartOperator
) -> None:
    """B27: and nothing else but the target now and then, and writes nothing."""
    operator = start_operator(components=GRANTED)
    private.publish(REPOSITORY, TAG)
    namespace.create(pull_secret(private))
    names = ("web", "shop")
    for name in names:
        deployment = with_secrets(web(private), SECRET)
        deployment["metadata"]["name"] = name
        namespace.create(deployment)
        policy = web_policy(web_set_env(private), interval="10s", imagePullSecrets=named(SECRET))
        policy["metadata"]["name"] = policy["spec"]["targetRef"]["name"] = name
        namespace.create(policy)
    for name in names:
        wait_ready(namespace, name)

    private.front.forget()
    wait_heads(private, 2)  # the first turn may need a run, as status was just written
    others = everything_but_secrets(namespace)
    reads = len(requests(namespace, "secrets"))
    wait_heads(private, 3)
    operator.terminate()
    turns = len(private.front.requests("HEAD")) - 2
    eventually(
        lambda: len(requests(namespace, "secrets")) - reads == turns,
        describe=lambda: f"{turns} reads: {requests(namespace, 'secrets')[reads:]}",
    )
    assert everything_but_secrets(namespace) == others


def wait_heads(registry: Registry, count: int) -> None:
    eventually(
        lambda: len(registry.front.requests("HEAD")) >= count,
        timeout=60,
        describe=f"{count} looks at the registry",
    )


def everything_but_secrets(namespace: Namespace) -> list[AuditedRequest]:
    """What the operator asked of the API server for as long as it runs, its watches left out, and
    its looks at targets.
    """
    user = service_account_user(namespace.name, "imagerefresh")
    return [
        each
        for each in namespace.control_plane.audit.requests(user)
        if each.resource != "secrets"
        and each.verb not in ("list", "watch")
        and (each.verb, each.resource) != ("get", "deployments")
    ]


def test_a_policy_without_pull_secrets_asks_for_none(
    namespace: Namespace, registry: Registry, start_operator: StartOperator
) -> None:
    start_operator(components=GRANTED)
    digest = registry.publish(REPOSITORY, TAG)
    namespace.create(web(registry))
    namespace.create(web_policy(web_set_env(registry)))
    wait_recorded(namespace, digest)
    check(namespace)
    assert requests(namespace, "secrets") == []
    assert requests(namespace, "serviceaccounts") == []
