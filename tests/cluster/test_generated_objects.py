"""A sample of the changes of objects that `python -m proof objects` makes in full.

B3, B18, B22, B25, B26: whatever a field comes to hold, a policy converges or says why it can't.
"""

from cluster.conftest import StartOperator
from proof.objects.command import chosen, failures, past_the_schema, run, table
from testbed.namespace import Namespace
from testbed.registry import Registry
from testbed.ruleless import no_rules

STEPS = 30
SUBJECTS = {"Deployment": 4, "StatefulSet": 1, "DaemonSet": 1}
STORED = 12


def test_a_sample_of_changes(
    namespace: Namespace, registry: Registry, start_operator: StartOperator
) -> None:
    operator = start_operator()
    todo = chosen(registry.address, STEPS)

    results = run(namespace, registry, todo, SUBJECTS)

    assert failures(results, operator) == []
    assert len(results) == STEPS, table(results)


def test_a_sample_of_specs_from_before_the_rules(
    namespace: Namespace, registry: Registry, start_operator: StartOperator
) -> None:
    """B3: stored before a rule or a field existed, explicit nulls, other types."""
    operator = start_operator()
    todo = past_the_schema(chosen(registry.address, None))[:: 470 // STORED]

    with no_rules(namespace):
        results = run(namespace, registry, todo, {"Deployment": 4})

    assert failures(results, operator) == []
