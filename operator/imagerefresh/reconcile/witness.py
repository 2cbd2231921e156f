"""The look at the pods: do they run what is about to be recorded (B15), and which of them is stuck?

Only where the operator may list pods, and only where that decides something. Registries are
asked only if the pods name a digest other than the one in question, which may be that of a platform
or of a config of the same image.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from imagerefresh.cluster.pods import Pods
from imagerefresh.plan.evidence import Evidence, broken_pod, running_digests, weigh
from imagerefresh.plan.view import ImageView, View
from imagerefresh.reconcile.run import Run
from imagerefresh.registry import RegistryClient

Testimony: TypeAlias = dict[tuple[str, str], Evidence]
"""What pods said, by an image's name and the digest in question."""


@dataclass(frozen=True, slots=True)
class Witness:
    """Looks at the pods of targets."""

    pods: Pods
    registry: RegistryClient

    async def hear(self, run: Run, view: View, questions: Mapping[str, str]) -> Testimony:
        """What the pods say; `questions` gives by image name the digest in question.

        Raises:
            ClusterError: the API server can't be asked now.
        """
        pods = await self._pods_of(run, view)
        if pods is None:
            return dict.fromkeys(questions.items(), Evidence.UNKNOWN)
        return {
            (own.image.name, digest): await self._examine(run, view.target, own, digest, pods)
            for own in view.images
            if (digest := questions.get(own.image.name))
        }

    async def name_broken_pod(self, run: Run, view: View) -> View:
        """The view with the very pod that a rollout waits for, where pods may be listed.

        Raises:
            ClusterError: the API server can't be asked now.
        """
        pods = await self._pods_of(run, view)
        name = broken_pod(view.target, pods) if pods else None
        if name is None:
            return view
        return replace(view, health=replace(view.health, broken_pod=f"pod {name}"))

    async def _pods_of(self, run: Run, view: View) -> list[dict[str, Any]] | None:
        namespace: str = run.policy["metadata"]["namespace"]
        return await self.pods.find(namespace, view.target["spec"]["selector"])

    async def _examine(
        self,
        run: Run,
        target: Mapping[str, Any],
        own: ImageView,
        digest: str,
        pods: list[dict[str, Any]],
    ) -> Evidence:
        found = running_digests(target, pods, own.carried.containers)
        evidence = weigh(found, {digest})
        if evidence is not Evidence.DIFFERS:
            return evidence
        reference = own.image.reference
        keys = run.track.keys
        credentials = (
            await keys.credentials(self.registry, run.spec, reference) if keys is not None else ()
        )
        digests = await self.registry.digests(reference, digest, credentials)
        return Evidence.UNKNOWN if digests is None else weigh(found, digests)
