"""Writes that admission changed (B29)."""

from typing import Final

import pytest

from imagerefresh.api.status import parse_status
from imagerefresh.plan.decide import decide
from imagerefresh.plan.findings import Findings
from imagerefresh.plan.steps import Step
from imagerefresh.plan.summary import report, tells_something_new
from imagerefresh.reconcile.run import Run
from imagerefresh.reconcile.seeing import note_mutations, see
from unit.plan.builders import (
    D1,
    D2,
    D3,
    VARIABLE,
    Json,
    a_memory,
    a_target,
    an_image,
    annotated,
    image_json,
    patched,
)
from unit.reconcile.builders import a_policy
from unit.reconcile.runs import RESTART, SET_ENV, UP, a_run, a_sight, answer, the_image


class TestMutations:
    """B29: what came back different is not written again until spec, tag or field changes."""

    def write(self, run: Run, before: dict[str, Json], admission: Json) -> Findings:
        """A look, its plan, and what was stored of it."""
        view = see(run, a_sight(before))
        plan = decide(view)
        assert plan.patch is not None
        found = run.found(view=view, plan=plan)
        stored = patched(before, plan.patch)
        for container in stored["spec"]["template"]["spec"]["containers"]:
            container.update(admission.get(container["name"], {}))
        note_mutations(run, found, stored)
        run.before = report(found)
        self.stored = stored
        return found

    ENV: Final = {"api": {"env": [{"name": VARIABLE, "value": D3}]}}

    def mutated(self) -> Run:
        """A run whose ask admission has changed."""
        run = a_run(UP, answers={"ingestor": answer(D2)})
        self.write(run, a_target(variable=D1), self.ENV)
        return run

    def test_it_is_seen_at_once_and_says_where(self) -> None:
        run = self.mutated()
        own = the_image(see(run, a_sight(self.stored)))
        assert own.mutation is not None
        assert VARIABLE in own.mutation.message
        assert decide(see(run, a_sight(self.stored))).patch is None

    def test_what_was_stored_as_sent_is_none(self) -> None:
        run = a_run(UP, answers={"ingestor": answer(D2)})
        self.write(run, a_target(variable=D1), {})
        assert the_image(see(run, a_sight(self.stored))).mutation is None

    def test_it_outlasts_a_restart(self) -> None:
        run = self.mutated()
        status = report(run.found(view=see(run, a_sight(self.stored))))
        again = a_run(parse_status(status.to_json()))
        assert decide(see(again, a_sight(self.stored))).patch is None

    def test_and_an_outage(self) -> None:
        """B7: an unknown tag is no other tag."""
        run = self.mutated()
        run.track.answers["ingestor"] = answer()
        assert decide(see(run, a_sight(self.stored))).patch is None

    def test_also_where_it_was_written_in_one(self) -> None:
        """B17: a set-back needs no registry."""
        run = a_run(UP, answers={"ingestor": answer()})
        found = self.write(run, a_target(variable=D2), self.ENV)
        assert found.plan is not None
        assert found.plan.outcomes["ingestor"].step is Step.SET_BACK
        assert decide(see(run, a_sight(self.stored))).patch is None

    def test_its_words_do_not_pile_up(self) -> None:
        """B27: in an outage, after a restart."""
        run = self.mutated()
        run.track.answers["ingestor"] = answer()
        status = report(run.found(view=see(run, a_sight(self.stored))))
        for _ in range(2):
            again = a_run(status, answers={"ingestor": answer()})
            after = report(again.found(view=see(again, a_sight(self.stored))))
            assert not tells_something_new(status, after)
            status = after

    @pytest.mark.parametrize(
        "change",
        [
            pytest.param({"ingestor": answer(D1)}, id="tag"),
            pytest.param({"policy": a_policy(generation=4, suspend=False)}, id="spec"),
            pytest.param({"target": a_target(variable=D2)}, id="field"),
        ],
    )
    def test_it_ends_with_a_change(self, change: dict[str, Json]) -> None:
        run = self.mutated()
        target = change.get("target") or self.stored
        run.policy = change.get("policy", run.policy)
        run.track.answers.update({k: v for k, v in change.items() if k == "ingestor"})
        assert the_image(see(run, a_sight(target))).mutation is None

    def test_it_concerns_the_image_whose_field_it_was(self) -> None:
        """A neighbour in the same patch goes on."""
        kinds = (SET_ENV, RESTART)
        images = [an_image(kind) for kind in kinds]
        policy = a_policy(*(image_json(kind) for kind in kinds))
        memories = {
            image.name: a_memory(D1, recorded=D1, reference=str(image.reference))
            for image in images
        }
        annotations: dict[str, str] = {}
        for name, memory in memories.items():
            annotations |= annotated(name, memory)
        answers = {image.name: answer(D2, reference=str(image.reference)) for image in images}
        run = a_run(policy=policy, answers=answers)
        self.write(run, a_target(variable=D1, annotations=annotations), self.ENV)
        mutations = {o.image.name: o.mutation for o in see(run, a_sight(self.stored)).images}
        assert mutations["ingestor"] is not None
        assert mutations["web"] is None
