"""The test bed keeps its promises; the other tests in this folder rest on them."""

import http.client
import itertools
import os
import signal
import ssl
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from testbed import images
from testbed.api import Api, ApiError
from testbed.audit import service_account_user
from testbed.controlplane import ControlPlane
from testbed.images import BAD
from testbed.namespace import Namespace
from testbed.process import free_port
from testbed.proxy import TcpProxy
from testbed.registry import Registry
from testbed.waiting import eventually
from testbed.workloads import condition, container, rolled_out, workload

GOOD = f"sha256:{'0' * 64}"
BROKEN = f"{BAD}{'0' * 61}"


def create(namespace: Namespace, digest: str = GOOD, **annotations: str) -> None:
    app = container("app", "registry.example/app:prod", env={"DIGEST": digest})
    namespace.create(workload("app", [app], progress_deadline_seconds=1, annotations=annotations))


def wait_rolled_out(namespace: Namespace) -> None:
    eventually(lambda: rolled_out(namespace.deployment("app")), describe="rolled out")


def wait_held_back(namespace: Namespace) -> None:
    """Wait until the kubelet has said that it can't run the pod; it says no more after that."""

    def reasons() -> list[str]:
        states = [
            each["state"]
            for pod in namespace.pods("app")
            for each in pod["status"].get("containerStatuses", [])
        ]
        return [each["waiting"]["reason"] for each in states if "waiting" in each]

    eventually(lambda: reasons() == ["ImagePullBackOff"], describe="it can't pull its image")


def test_a_deployment_becomes_available(bare_namespace: Namespace) -> None:
    create(bare_namespace)
    wait_rolled_out(bare_namespace)
    assert len(bare_namespace.replica_sets("app")) == 1
    assert [pod["status"]["phase"] for pod in bare_namespace.pods("app")] == ["Running"]


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_other_workloads_become_ready(bare_namespace: Namespace, kind: str) -> None:
    app = container("app", f"registry.example/app:prod@{GOOD}")
    bare_namespace.create(workload("app", [app], kind=kind))
    eventually(
        lambda: [
            pod
            for pod in bare_namespace.pods("app")
            if (condition(pod, "Ready") or {}).get("status") == "True"
        ],
        describe="a ready pod",
    )


def test_a_broken_digest_fails_at_the_progress_deadline(bare_namespace: Namespace) -> None:
    create(bare_namespace, BROKEN)

    def reason() -> str:
        found = condition(bare_namespace.deployment("app"), "Progressing") or {}
        return str(found.get("reason"))

    eventually(lambda: reason() == "ProgressDeadlineExceeded", describe="the deadline has passed")
    assert not rolled_out(bare_namespace.deployment("app"))
    wait_held_back(bare_namespace)


def test_a_broken_digest_can_be_made_to_run_after_all(bare_namespace: Namespace) -> None:
    create(bare_namespace, BROKEN)
    wait_held_back(bare_namespace)
    bare_namespace.run_pods("app", image_id=GOOD)
    wait_rolled_out(bare_namespace)
    [pod] = bare_namespace.pods("app")
    assert [state["imageID"] for state in pod["status"]["containerStatuses"]] == [GOOD]


def test_of_pods_that_are_gone_none_is_made_to_run(bare_namespace: Namespace) -> None:
    """A pod that runs lets the one before go, while both are on a list."""
    create(bare_namespace, BROKEN)
    [pod] = eventually(lambda: bare_namespace.pods("app"), describe="a pod")
    bare_namespace.delete("Deployment", "app")
    name = pod["metadata"]["name"]
    eventually(lambda: bare_namespace.find("Pod", name) is None, describe="no pod")

    bare_namespace.run_pod(pod)

    assert bare_namespace.find("Pod", name) is None


def test_undo_takes_the_annotations_back_too(bare_namespace: Namespace) -> None:
    """What makes B22 necessary."""
    create(bare_namespace, example="first")
    wait_rolled_out(bare_namespace)
    template = {"metadata": {"annotations": {"stamp": "second"}}}
    bare_namespace.patch(
        "Deployment",
        "app",
        {"metadata": {"annotations": {"example": "second"}}, "spec": {"template": template}},
    )
    wait_rolled_out(bare_namespace)

    bare_namespace.undo("app")

    assert bare_namespace.deployment("app")["metadata"]["annotations"]["example"] == "first"


@pytest.mark.parametrize("bad", [False, True])
@pytest.mark.parametrize("docker", [False, True])
@pytest.mark.parametrize("platforms", [("linux/amd64",), images.PLATFORMS])
def test_a_published_digest_is_the_one_that_the_registry_names(
    registry: Registry, platforms: tuple[str, ...], *, docker: bool, bad: bool
) -> None:
    digest = registry.publish(
        "example/app",
        "prod",
        platforms=platforms,
        attestation=not docker,
        docker=docker,
        bad=bad,
    )
    assert registry.head("example/app", "prod") == digest
    assert digest.startswith(BAD) == bad


def test_one_label_is_one_digest(registry: Registry) -> None:
    first, second, again = (
        registry.publish("example/app", "prod", label=label) for label in ("1", "2", "1")
    )
    assert first == again != second
    registry.retag("example/app", "prod", second)
    assert registry.head("example/app", "prod") == second


def test_an_index_lists_its_platforms_and_attestations(registry: Registry) -> None:
    registry.publish("example/app", "prod")
    children = registry.read_manifest("example/app", "prod")["manifests"]
    assert [child["platform"]["architecture"] for child in children] == [
        "amd64",
        "unknown",
        "arm64",
        "unknown",
    ]
    subject = children[1]["annotations"]["vnd.docker.reference.digest"]
    assert subject == children[0]["digest"]


def head(address: str, path: str = "/v2/example/app/manifests/prod") -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(address, timeout=10)
    try:
        connection.request("HEAD", path, headers={"Accept": images.OCI_INDEX})
        return connection.getresponse()
    finally:
        connection.close()


def test_a_front_counts_fails_and_heals(registry: Registry) -> None:
    digest = registry.publish("example/app", "prod")
    assert registry.front.requests() == []

    registry.front.digest_header = "docker-CONTENT-digest"
    names = dict(head(registry.address).getheaders())
    assert names["docker-CONTENT-digest"] == digest

    registry.front.fail(429, headers={"Retry-After": "7"}, path="manifests/prod$", times=1)
    refused = head(registry.address)
    assert (refused.status, refused.headers["Retry-After"]) == (429, "7")
    assert head(registry.address).status == 200

    registry.front.fail(500)
    assert head(registry.address).status == 500
    registry.front.heal()
    assert head(registry.address).status == 200
    statuses = [request.status for request in registry.front.requests("HEAD", "example/app")]
    assert statuses == [200, 429, 200, 500, 200]


def test_service_account_requests_are_audited(bare_namespace: Namespace) -> None:
    control_plane = bare_namespace.control_plane
    bare_namespace.create(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "someone"}}
    )
    kubeconfig = control_plane.service_account_kubeconfig(bare_namespace.name, "someone")
    control_plane.kubectl(f"--kubeconfig={kubeconfig}", "get", "secret/none", check=False)

    user = service_account_user(bare_namespace.name, "someone")

    def refused() -> list[tuple[str, str, str, int]]:
        return [
            (request.verb, request.resource, request.name, request.code)
            for request in control_plane.audit.requests(user)
            if request.resource == "secrets"
        ]

    assert eventually(refused) == [("get", "secrets", "none", 403)]


def test_a_cut_proxy_passes_nothing_until_restored(
    bare_control_plane: ControlPlane, api_proxy: TcpProxy
) -> None:
    api = Api(api_proxy.server, bare_control_plane.token, bare_control_plane.ca)
    try:
        assert api.request("GET", "/readyz") == {"text": "ok"}
        api_proxy.cut()
        with pytest.raises((ConnectionError, ssl.SSLError)):
            api.request("GET", "/readyz")
        api_proxy.restore()
        assert api.request("GET", "/readyz") == {"text": "ok"}
    finally:
        api.close()


def test_children_die_with_whoever_started_them(tmp_path: Path) -> None:
    starter = tmp_path / "starter.py"
    starter.write_text(
        "import os, pathlib, signal, sys\n"
        "from testbed.process import Child\n"
        "child = Child(['/bin/cat', sys.argv[2]], log=pathlib.Path(sys.argv[1]))\n"
        "print(child.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    endless = tmp_path / "endless"
    os.mkfifo(endless)
    done = subprocess.run(
        [sys.executable, str(starter), str(tmp_path / "log"), str(endless)],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == -signal.SIGKILL
    eventually(lambda: not is_running(int(done.stdout)), describe="the child is gone")


def is_running(pid: int) -> bool:
    command = ["ps", "-o", "stat=", "-p", str(pid)]
    state = subprocess.run(command, capture_output=True, check=False, text=True).stdout.strip()
    return state[:1] not in ("", "Z")  # a zombie only waits to be counted


def test_two_control_planes_side_by_side(
    bare_control_plane: ControlPlane,
    bare_namespace: Namespace,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Even when the second finds its port taken by the first."""
    taken = urlsplit(bare_control_plane.server).port
    ports = itertools.chain((taken,), iter(free_port, None))
    monkeypatch.setattr("testbed.controlplane.free_port", lambda: next(ports))
    with ControlPlane(tmp_path) as other:
        assert other.server != bare_control_plane.server
        with pytest.raises(ApiError, match="not found"):
            other.api.get("v1/namespaces", "", bare_namespace.name)
