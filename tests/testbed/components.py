"""Command lines and configuration of the control plane's programs. Starts nothing itself."""

import json
from dataclasses import dataclass
from pathlib import Path

from testbed.api import Manifest

HOST = "127.0.0.1"
NODE = "simulated"

_HERE = Path(__file__).parent
_ADMIN = "testbed-admin"
_QPS = 1000  # no client of ours is to wait for its own limiter when a bench makes 1,000 objects
# What tests need; each further controller costs start-up time and processor time at rest.
_CONTROLLERS = (
    "clusterrole-aggregation-controller",
    "daemonset-controller",
    "deployment-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "replicaset-controller",
    "serviceaccount-controller",
    "statefulset-controller",
    "validatingadmissionpolicy-status-controller",
)
_CONCURRENT = ("deployment", "gc", "namespace", "replicaset", "statefulset")
_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "userGroups": ["system:serviceaccounts"]},
        {"level": "None"},
    ],
}


@dataclass(frozen=True)
class Files:
    """Where one control plane keeps its files."""

    folder: Path

    @property
    def etcd(self) -> Path:
        return self.folder / "etcd"

    @property
    def certificates(self) -> Path:
        return self.folder / "certificates"

    @property
    def ca(self) -> Path:
        """The API server makes its own certificate; the file holds its issuer too."""
        return self.certificates / "apiserver.crt"

    @property
    def key(self) -> Path:
        return self.certificates / "apiserver.key"

    @property
    def tokens(self) -> Path:
        return self.folder / "tokens.csv"

    @property
    def audit_policy(self) -> Path:
        return self.folder / "audit-policy.yaml"

    @property
    def audit_log(self) -> Path:
        return self.folder / "audit.log"

    @property
    def scheduler(self) -> Path:
        return self.folder / "scheduler.yaml"

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "admin.kubeconfig"

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"


def write_configuration(files: Files, token: str) -> None:
    files.tokens.write_text(f'{token},{_ADMIN},{_ADMIN},"system:masters"\n')
    files.tokens.chmod(0o600)
    files.audit_policy.write_text(json.dumps(_AUDIT_POLICY))
    files.scheduler.write_text(
        json.dumps(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "clientConnection": {
                    "kubeconfig": str(files.kubeconfig),
                    "qps": _QPS,
                    "burst": _QPS,
                },
                "leaderElection": {"leaderElect": False},
            }
        )
    )


def kubeconfig(server: str, ca: Path, token: str, namespace: str = "default") -> str:
    """A kubeconfig file's content, in JSON, which is YAML."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "testbed",
            "clusters": [
                {
                    "name": "testbed",
                    "cluster": {"server": server, "certificate-authority": str(ca)},
                }
            ],
            "users": [{"name": "testbed", "user": {"token": token}}],
            "contexts": [
                {
                    "name": "testbed",
                    "context": {"cluster": "testbed", "user": "testbed", "namespace": namespace},
                }
            ],
        },
        indent=2,
    )


def node() -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": NODE,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {"kubernetes.io/hostname": NODE, "kubernetes.io/os": "linux"},
        },
    }


def etcd(files: Files) -> list[str]:
    anywhere = f"http://{HOST}:0"
    return [
        f"--data-dir={files.etcd}",
        "--unsafe-no-fsync",
        f"--listen-client-urls={anywhere}",
        f"--advertise-client-urls={anywhere}",
        f"--listen-peer-urls={anywhere}",
    ]


def kube_apiserver(files: Files, etcd_address: str, port: int) -> list[str]:
    return [
        f"--etcd-servers=http://{etcd_address}",
        f"--cert-dir={files.certificates}",
        f"--secure-port={port}",
        f"--bind-address={HOST}",
        f"--advertise-address={HOST}",  # the certificate is made out to it
        "--endpoint-reconciler-type=none",  # a loopback address can't be a Service's endpoint
        # One key for both: the API server makes it before it reads it as the signing key.
        f"--service-account-key-file={files.key}",
        f"--service-account-signing-key-file={files.key}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--token-auth-file={files.tokens}",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.0.0.0/24",
        # Pods need no token here; the simulated node is ready from its first heartbeat.
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
        f"--audit-policy-file={files.audit_policy}",
        f"--audit-log-path={files.audit_log}",
        "--audit-log-maxsize=10000",  # MB; a rotated log would look like a quiet one
    ]


def kube_controller_manager(files: Files) -> list[str]:
    return [
        f"--kubeconfig={files.kubeconfig}",
        "--leader-elect=false",
        "--secure-port=0",
        f"--controllers={','.join(_CONTROLLERS)}",
        f"--kube-api-qps={_QPS}",
        f"--kube-api-burst={_QPS}",
        *(f"--concurrent-{kind}-syncs=20" for kind in _CONCURRENT),
    ]


def kube_scheduler(files: Files) -> list[str]:
    return [f"--config={files.scheduler}", "--secure-port=0"]


def kwok(files: Files) -> list[str]:
    return [
        f"--kubeconfig={files.kubeconfig}",
        f"--config={_HERE / 'stages.yaml'}",
        "--manage-all-nodes=false",
        "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
        "--node-lease-duration-seconds=40",
    ]
