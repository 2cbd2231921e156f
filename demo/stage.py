"""What the demo plays on: a control plane, two registries, the example and the operator.

It brings things up and answers questions about them; what happens when is the story's.
"""

import string
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from narrator import Narrator
from testbed import build
from testbed.api import Manifest
from testbed.controlplane import ControlPlane
from testbed.installation import install_cluster_part, install_operator_part
from testbed.operator_process import OperatorProcess
from testbed.registry import Registry
from testbed.workloads import RESOURCES, condition

NAMESPACE = "default"  # that of deploy/, and the one that kubectl looks at unasked
NAME = "jobs-manager"  # of the Deployment, and of the policy
LOG = "operator.log"
_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Stage:
    """Everything that runs. `first` and `second` are the registries."""

    folder: Path
    control_plane: ControlPlane
    first: Registry
    second: Registry

    @property
    def deployment(self) -> Manifest:
        """As it is now."""
        return self.control_plane.api.get(RESOURCES["Deployment"], NAMESPACE, NAME)

    @property
    def policy(self) -> Manifest:
        """As it is now."""
        return self.control_plane.api.get(RESOURCES["ImageRefreshPolicy"], NAMESPACE, NAME)

    @property
    def revision(self) -> int:
        """How many rollouts the Deployment has seen."""
        return int(self.deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"])

    @property
    def is_serving(self) -> bool:
        """Whether as many pods as wanted are available, be they old or new."""
        deployment = self.deployment
        return bool(
            deployment["status"].get("availableReplicas", 0) >= deployment["spec"]["replicas"]
        )

    def ready(self) -> tuple[str, str]:
        """Status and reason of the policy's condition Ready."""
        found = condition(self.policy, "Ready") or {}
        return found.get("status", ""), found.get("reason", "")

    def recorded(self, image: str) -> str | None:
        """The digest that the Deployment's own annotation says was proven last."""
        key = f"imagerefresh.dev/last-refreshed-{image}-digest"
        digest: str | None = self.deployment["metadata"]["annotations"].get(key)
        return digest

    def start_operator(self) -> OperatorProcess:
        """Run the operator as a process of its own, with the rights of its ServiceAccount."""
        account = install_operator_part(self.control_plane, NAMESPACE)
        kubeconfig = self.control_plane.service_account_kubeconfig(NAMESPACE, account)
        return OperatorProcess(kubeconfig, log=self.folder / LOG, namespaces=NAMESPACE)

    def apply(self, file: str, **values: str) -> str:
        """Apply a manifest of this folder, `values` and the registries filled in; returns it."""
        template = string.Template(_HERE.joinpath(file).read_text())
        manifest = template.substitute(
            FIRST_REGISTRY=self.first.address, SECOND_REGISTRY=self.second.address, **values
        )
        self.control_plane.kubectl("apply", "--filename=-", stdin=manifest)
        return manifest


@contextmanager
def stage(folder: Path, narrator: Narrator) -> Iterator[Stage]:
    """Bring up the control plane with the CRD in it, and two registries."""
    narrator.say(
        "Looking for etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl, kwok "
        "and a registry; what this machine does not have is compiled, once, which takes minutes."
    )
    build.tools()
    narrator.say("Starting a control plane and two registries.")
    with (
        ControlPlane(folder) as control_plane,
        Registry(folder, "first-registry") as first,
        Registry(folder, "second-registry") as second,
    ):
        install_cluster_part(control_plane)
        narrator.say(
            f"Up: {control_plane.server}, registries {first.address} and {second.address}. "
            "Only the kubelet is simulated: it can't run an image whose digest begins with bad."
        )
        yield Stage(folder, control_plane, first, second)
