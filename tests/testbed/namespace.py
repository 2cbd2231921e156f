"""One test's namespace: create, read and change what is in it, as administrator."""

from datetime import UTC, datetime
from pathlib import Path

from testbed.api import Manifest, if_found
from testbed.controlplane import ControlPlane
from testbed.workloads import RESOURCES

_REVISION = "deployment.kubernetes.io/revision"


class Namespace:
    """A namespace of `control_plane`, named `name`."""

    operator_logs: list[Path]
    """Of the operators that were started for it, to be shown if the test fails."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self.control_plane = control_plane
        self.name = control_plane.create_namespace()
        self.operator_logs = []

    def create(self, manifest: Manifest) -> Manifest:
        """Create the object here, whatever namespace it names."""
        metadata = manifest["metadata"] | {"namespace": self.name}
        resource = RESOURCES[manifest["kind"]]
        return self.control_plane.api.create(resource, manifest | {"metadata": metadata})

    def get(self, kind: str, name: str) -> Manifest:
        return self.control_plane.api.get(RESOURCES[kind], self.name, name)

    def find(self, kind: str, name: str) -> Manifest | None:
        """As get, but None if it doesn't exist."""
        return self.control_plane.api.find(RESOURCES[kind], self.name, name)

    def items(self, kind: str, *, selector: str = "") -> list[Manifest]:
        found = self.control_plane.api.items(RESOURCES[kind], self.name, selector=selector)
        return [{"kind": kind} | item for item in found]  # which the items of a list lack

    def patch(
        self, kind: str, name: str, patch: object, *, how: str = "merge", subresource: str = ""
    ) -> Manifest:
        """Patch; `how` is "merge", "strategic" or "json"."""
        return self.control_plane.api.patch(
            RESOURCES[kind], self.name, name, patch, kind=how, subresource=subresource
        )

    def annotate(self, kind: str, name: str, **annotations: str | None) -> Manifest:
        """Set annotations; None removes one. Pass names with dots and slashes by `**{...}`."""
        return self.patch(kind, name, {"metadata": {"annotations": annotations}})

    def delete(self, kind: str, name: str) -> None:
        self.control_plane.api.delete(RESOURCES[kind], self.name, name)

    def deployment(self, name: str) -> Manifest:
        return self.get("Deployment", name)

    def policy(self, name: str) -> Manifest:
        return self.get("ImageRefreshPolicy", name)

    def replica_sets(self, deployment: str) -> list[Manifest]:
        """Its ReplicaSets, one per distinct pod template, the latest revision last.

        Those of an earlier one of the same name may be there for a while; they are none of its own.
        """
        uid = self.deployment(deployment)["metadata"]["uid"]
        found = [
            item
            for item in self.items("ReplicaSet")
            if any(owner["uid"] == uid for owner in item["metadata"].get("ownerReferences", []))
        ]
        return sorted(found, key=lambda item: int(item["metadata"]["annotations"][_REVISION]))

    def pods(self, workload: str) -> list[Manifest]:
        """The pods of a workload made by workloads.workload, without those that are leaving."""
        found = self.items("Pod", selector=f"app={workload}")
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def run_pods(self, workload: str, *, image_id: str = "") -> None:
        """Let its present pods run with this imageID, even those that the kubelet holds back.

        The simulated kubelet leaves them alone from then on.
        """
        for pod in self.pods(workload):
            self.run_pod(pod, image_id=image_id)

    def run_pod(self, pod: Manifest, *, image_id: str = "") -> None:
        """As run_pods. A pod that is gone is left out: one that runs lets another one go."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        status = {
            "phase": "Running",
            "startTime": now,
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": now}
                for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
            ],
            "containerStatuses": [
                {
                    "name": item["name"],
                    "image": item["image"],
                    "imageID": image_id,
                    "ready": True,
                    "restartCount": 0,
                    "state": {"running": {"startedAt": now}},
                }
                for item in pod["spec"]["containers"]
            ],
        }
        with if_found():
            self.patch("Pod", pod["metadata"]["name"], {"status": status}, subresource="status")

    def delete_pods(self, workload: str) -> None:
        for pod in self.pods(workload):
            with if_found():
                self.delete("Pod", pod["metadata"]["name"])

    def kubectl(self, *args: str, stdin: str | None = None) -> str:
        return self.control_plane.kubectl("--namespace", self.name, *args, stdin=stdin)

    def undo(self, deployment: str) -> None:
        """`kubectl rollout undo`: back to the revision before."""
        self.kubectl("rollout", "undo", f"deployment/{deployment}")

    def describe(self) -> str:
        """The policies and workloads here as YAML, and the events: what a failed test shows."""
        kinds = "imagerefreshpolicies,deployments,statefulsets,daemonsets"
        if not self.control_plane.api.find(
            "apiextensions.k8s.io/v1/customresourcedefinitions",
            "",
            "imagerefreshpolicies.imagerefresh.dev",
        ):
            kinds = kinds.partition(",")[2]
        return "\n".join(
            (
                self.kubectl("get", kinds, "--output=yaml"),
                self.kubectl("get", "replicasets,pods", "--output=wide"),
                self.kubectl("get", "events", "--sort-by=.metadata.creationTimestamp"),
            )
        )

    def abandon(self) -> None:
        """Leave it until the control plane ends, but for the policies, which an operator for all
        namespaces would go on following. To delete it would cost hundreds of requests.
        """
        with if_found():
            self.control_plane.api.delete_all(RESOURCES["ImageRefreshPolicy"], self.name)
