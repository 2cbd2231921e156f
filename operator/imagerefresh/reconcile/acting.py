"""The one patch of the target: only for a policy that is still there, and compared with its answer
(B24, B29).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from imagerefresh.api.policy import TargetRef
from imagerefresh.api.reasons import Reason
from imagerefresh.cluster.client import Cluster
from imagerefresh.cluster.errors import NotFound, Refused
from imagerefresh.plan.template import Problem


class PolicyChanged(Exception):  # noqa: N818 no fault: the run has nothing to do any more
    """The policy is of another generation by now: what was decided for it is void."""


class PolicyGone(PolicyChanged):
    """The policy was deleted, or is another object of the same name, and the watch missed it."""


class WriteRefused(Exception):  # noqa: N818 it names what people see
    """The API server said no to the patch; `problem` says it in its words."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


async def patch_target(
    cluster: Cluster,
    policy: Mapping[str, Any],
    ref: TargetRef,
    target: Mapping[str, Any],
    patch: Mapping[str, Any],
) -> dict[str, Any]:
    """Patches the target at the version that the decision was made from; returns the object as
    stored.

    Raises:
        PolicyChanged: by a person, since the run began.
        PolicyGone: a lost watch event must not leave a ghost that restarts things.
        WriteRefused: by admission or by the operator's Role.
        Conflict: somebody else wrote first: look and decide again.
        ClusterError: it is not known whether the patch was done; the next look tells.
    """
    metadata = policy["metadata"]
    namespace: str = metadata["namespace"]
    try:
        current = (await cluster.get_policy(namespace, metadata["name"]))["metadata"]
    except NotFound:
        raise PolicyGone from None
    if current["uid"] != metadata["uid"] or current.get("deletionTimestamp"):
        raise PolicyGone
    if current["generation"] != metadata["generation"]:
        raise PolicyChanged
    try:
        return await cluster.patch_target(
            namespace, ref.kind, ref.name, dict(patch), target["metadata"]["resourceVersion"]
        )
    except Refused as error:
        reason = Reason.Forbidden if error.forbidden_by_rbac else Reason.PatchRefused
        raise WriteRefused(Problem(reason, str(error))) from None


def unmet(patch: Any, stored: Any, path: str = "") -> Iterator[str]:  # noqa: ANN401 any JSON value
    """Paths at which an object as stored differs from the patch that was sent, lists of named
    objects being merged.
    """
    if isinstance(patch, Mapping):
        present = stored if isinstance(stored, Mapping) else {}
        for key, value in patch.items():
            yield from unmet(value, present.get(key), f"{path}.{key}" if path else key)
    elif isinstance(patch, list):
        by_name = {entry.get("name"): entry for entry in stored or [] if isinstance(entry, Mapping)}
        for entry in patch:
            yield from unmet(entry, by_name.get(entry["name"]), f"{path}[{entry['name']}]")
    elif patch != stored:
        yield path
