"""The policies may not be watched for a while: the operator goes on by itself once they may.

B28, B29. It says why it is not ready, and it is no reason to restart it.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cluster.conftest import StartOperator
from cluster.story import move, rollouts, settle
from testbed.installation import install_operator_part
from testbed.namespace import Namespace
from testbed.operator_process import OperatorProcess
from testbed.proxy import TcpProxy
from testbed.registry import Registry
from testbed.waiting import eventually

ROLES = "rbac.authorization.k8s.io/v1/roles"
POLICIES = "imagerefreshpolicies.imagerefresh.dev"


@contextmanager
def without(namespace: Namespace, *verbs: str) -> Iterator[None]:
    """The operator's Role lacks these verbs on policies."""
    api = namespace.control_plane.api
    rules = api.get(ROLES, namespace.name, "imagerefresh")["rules"]
    fewer = [
        rule | {"verbs": [each for each in rule["verbs"] if each not in verbs]}
        if "imagerefreshpolicies" in rule["resources"]
        else rule
        for rule in rules
    ]
    api.patch(ROLES, namespace.name, "imagerefresh", {"rules": fewer})
    eventually(lambda: not may(namespace, verbs[0]), describe="the right is gone")
    try:
        yield
    finally:
        api.patch(ROLES, namespace.name, "imagerefresh", {"rules": rules})
    eventually(lambda: may(namespace, verbs[0]), describe="the right is back")


def may(namespace: Namespace, verb: str) -> bool:
    account = f"system:serviceaccount:{namespace.name}:imagerefresh"
    answer = namespace.control_plane.kubectl(
        "auth", "can-i", verb, POLICIES, f"--namespace={namespace.name}", f"--as={account}",
        check=False,
    )  # fmt: skip
    return answer.strip() == "yes"


def watch_anew(proxy: TcpProxy) -> None:
    """Rights count when a watch begins."""
    proxy.cut()
    proxy.restore()


def wait_refused(operator: OperatorProcess, verb: str) -> None:
    eventually(
        lambda: f'cannot {verb} resource "imagerefreshpolicies"' in operator.logs(),
        timeout=60,
        describe="it says what it may not do",
    )
    eventually(lambda: operator.status_of("/readyz") == 503, timeout=60, describe="not ready")
    assert operator.status_of("/healthz") == 200


def test_a_right_that_is_taken_away_and_given_back(
    namespace: Namespace, registry: Registry, start_operator: StartOperator, api_proxy: TcpProxy
) -> None:
    operator = start_operator(server=api_proxy.server)
    settle(namespace, registry)
    with without(namespace, "list", "watch"):
        watch_anew(api_proxy)
        wait_refused(operator, "list")

    eventually(lambda: operator.status_of("/readyz") == 200, timeout=60, describe="ready again")
    second = move(namespace, registry)

    assert rollouts(namespace) == [None, second]
    assert operator.exit_code is None


def test_a_right_that_comes_late(namespace: Namespace, registry: Registry, tmp_path: Path) -> None:
    """The Role is applied after the operator's Deployment, say."""
    control_plane = namespace.control_plane
    account = install_operator_part(control_plane, namespace.name)
    kubeconfig = control_plane.service_account_kubeconfig(namespace.name, account)
    log = tmp_path / "operator.log"
    namespace.operator_logs.append(log)
    with ExitStack() as running:
        with without(namespace, "list", "watch"):
            start = OperatorProcess(kubeconfig, log=log, namespaces=namespace.name)
            operator = running.enter_context(start)
            wait_refused(operator, "list")

        operator.wait_ready()
        settle(namespace, registry)

        assert operator.exit_code is None
        assert "Traceback" not in operator.logs()


def test_a_right_that_lacks_in_part(
    namespace: Namespace, registry: Registry, start_operator: StartOperator, api_proxy: TcpProxy
) -> None:
    """Policies may be listed, but not watched: the start can't tell."""
    operator = start_operator(server=api_proxy.server)
    settle(namespace, registry)
    with without(namespace, "watch"):
        watch_anew(api_proxy)
        eventually(
            lambda: "beginning anew" in operator.logs(), timeout=60, describe="it begins anew"
        )

    move(namespace, registry)

    assert operator.exit_code is None


def test_a_token_that_is_refused_for_a_while(
    namespace: Namespace, registry: Registry, api_proxy: TcpProxy, tmp_path: Path
) -> None:
    """B29: 401 reads the rotated token again, the watch's too, and however late it comes."""
    control_plane = namespace.control_plane
    account = install_operator_part(control_plane, namespace.name)
    kubeconfig = control_plane.service_account_kubeconfig(
        namespace.name, account, server=api_proxy.server
    )
    log = tmp_path / "operator.log"
    namespace.operator_logs.append(log)
    with OperatorProcess(kubeconfig, log=log, namespaces=namespace.name) as operator:
        operator.wait_ready()
        settle(namespace, registry)
        namespace.delete("ServiceAccount", account)
        eventually(lambda: not knows(namespace, kubeconfig), describe="the token is refused")
        watch_anew(api_proxy)
        eventually(
            lambda: "beginning anew" in operator.logs(), timeout=60, describe="it begins anew"
        )
        eventually(lambda: "waiting for the API server" in operator.logs(), describe="it waits")

        install_operator_part(control_plane, namespace.name)
        fresh = control_plane.service_account_kubeconfig(
            namespace.name, account, server=api_proxy.server
        )
        fresh.replace(kubeconfig)

        move(namespace, registry)

        assert operator.exit_code is None


def knows(namespace: Namespace, kubeconfig: Path) -> bool:
    """Whether the API server knows the bearer of the token; it remembers one for 10 s."""
    who = namespace.control_plane.kubectl(
        f"--kubeconfig={kubeconfig}", "auth", "whoami", check=False
    )
    return "serviceaccount" in who
