"""From a target and what is remembered of it to the view that is decided from."""

from dataclasses import replace
from datetime import timedelta
from typing import Final

import pytest

from imagerefresh.api.policy import ActionType
from imagerefresh.api.reasons import Reason
from imagerefresh.plan.evidence import Evidence
from imagerefresh.plan.health import Counts, Health, Verdict
from imagerefresh.plan.memory import Memory
from imagerefresh.plan.summary import report
from imagerefresh.reconcile.run import Run
from imagerefresh.reconcile.seeing import see
from unit.plan.builders import (
    D1,
    D2,
    D3,
    HEALTHY,
    IDLE,
    LATE,
    NOW,
    PAUSED,
    PROGRESSING,
    UNPROVABLE,
    Json,
    a_memory,
    a_target,
    an_image,
    annotated,
    image_json,
)
from unit.plan.telling import one, only_image, told
from unit.reconcile.builders import a_policy
from unit.reconcile.runs import (
    MOVING,
    PROVEN,
    REFERENCE,
    RESTART,
    SEEN,
    SET_ENV,
    UP,
    a_run,
    a_sight,
    answer,
    the_image,
)


class TestMemory:
    """B22."""

    def test_of_a_new_policy_is_that_of_the_target(self) -> None:
        target = a_target(variable=D1, annotations=annotated("ingestor", PROVEN))
        assert the_image(see(a_run(), a_sight(target))).memory == replace(PROVEN, claim=CLAIM)

    def test_of_a_stripped_target_is_that_of_status(self) -> None:
        own = the_image(see(a_run(UP), a_sight(a_target(variable=D1))))
        assert (own.memory.asked, own.memory.recorded) == (D1, D1)
        assert own.is_missing_on_target

    def test_of_another_target_is_none(self) -> None:
        """B22: another UID."""
        target = a_target()
        target["metadata"]["uid"] = "another"
        own = the_image(see(a_run(UP), a_sight(target)))
        assert own.memory.is_first_observation
        assert not own.is_missing_on_target

    def test_of_another_target_with_annotations_is_theirs(self) -> None:
        target = a_target(variable=D1, annotations=annotated("ingestor", MOVING))
        target["metadata"]["uid"] = "another"
        assert the_image(see(a_run(UP), a_sight(target))).memory == replace(MOVING, claim=CLAIM)

    def test_is_looked_for_under_the_prefix_of_the_policy(self) -> None:
        """B22: a target that another tool annotated before."""
        record = {"other.example.com/last-refreshed-ingestor-digest": D1}
        target = a_target(variable=D1, annotations=record)
        policy = a_policy(annotationPrefix="other.example.com")
        assert the_image(see(a_run(policy=policy), a_sight(target))).memory.is_proven
        assert the_image(see(a_run(), a_sight(target))).memory.is_first_observation


class TestLatest:
    def test_is_the_registrys_last_word(self) -> None:
        view = see(a_run(UP, answers={"ingestor": answer(D2)}), a_sight(a_target(variable=D1)))
        assert (the_image(view).latest, the_image(view).is_reachable) == (D2, True)

    def test_is_unknown_in_trouble(self) -> None:
        view = see(a_run(UP, answers={"ingestor": answer()}), a_sight(a_target(variable=D1)))
        assert (the_image(view).latest, the_image(view).is_reachable) == (None, False)

    def test_is_unknown_before_the_first_look(self) -> None:
        view = see(a_run(UP), a_sight(a_target(variable=D1)))
        assert (the_image(view).latest, the_image(view).is_reachable) == (None, True)

    def test_of_another_reference_is_not_that_of_this_one(self) -> None:
        """B1."""
        run = a_run(UP, answers={"ingestor": answer(D2, reference="docker.io/library/old:1")})
        assert the_image(see(run, a_sight(a_target(variable=D1)))).latest is None

    @pytest.mark.parametrize(
        ("sent_at", "expected"), [(SEEN - 0.001, False), (SEEN, True), (SEEN + 1, True)]
    )
    def test_is_confirmed_by_a_request_that_was_sent_after_the_look(
        self, sent_at: float, expected: bool
    ) -> None:
        """B14: past any cache."""
        run = a_run(UP, answers={"ingestor": answer(D1, sent_at)})
        assert the_image(see(run, a_sight(a_target(variable=D1)))).is_confirmed is expected

    def test_trouble_confirms_nothing(self) -> None:
        run = a_run(UP, answers={"ingestor": answer(None, SEEN + 1)})
        assert not the_image(see(run, a_sight(a_target(variable=D1)))).is_confirmed


class TestProgress:
    """B19."""

    ROLLING: Final = told(one(MOVING, D2, health=PROGRESSING))

    @staticmethod
    def stalled(
        run: Run, seconds: float, health: Health = PROGRESSING, target: Json = None
    ) -> float:
        """Seconds without progress, as a look so many seconds later finds."""
        sight = a_sight(target or a_target(variable=D2), health, SEEN + seconds)
        return see(run, sight).stalled_for.total_seconds()

    def test_time_goes_by_between_looks(self) -> None:
        run = a_run(self.ROLLING)
        assert [self.stalled(run, seconds) for seconds in (0, 60, 300)] == [0, 60, 300]

    def test_a_healthy_target_with_nothing_under_way_has_none(self) -> None:
        run = a_run(UP)
        assert self.stalled(run, 0, HEALTHY, a_target(variable=D1)) == 0
        assert run.track.progress is None

    def test_somebody_elses_rollout_is_watched_as_well(self) -> None:
        """B20."""
        run = a_run(UP)
        target = a_target(variable=D1)
        assert [self.stalled(run, s, PROGRESSING, target) for s in (0, 700)] == [0, 700]

    @pytest.mark.parametrize("left", [PAUSED, UNPROVABLE])
    def test_time_stands_still_while_a_person_keeps_it(self, left: Health) -> None:
        """A pause, OnDelete or a partition: the rollout goes on when somebody lets it."""
        run = a_run(self.ROLLING)
        self.stalled(run, 0)
        assert self.stalled(run, 3600, left) == 0
        assert self.stalled(run, 3660) == 60

    def test_a_rollout_from_zero_begins_anew(self) -> None:
        run = a_run(self.ROLLING)
        assert [self.stalled(run, seconds) for seconds in (0, 500)] == [0, 500]
        assert self.stalled(run, 510, IDLE) == 0
        assert [self.stalled(run, seconds) for seconds in (3600, 4199)] == [0, 599]

    @pytest.mark.parametrize(("kind", "expected"), [(RESTART, 0), (SET_ENV, 600)])
    def test_time_stands_still_for_a_restart_that_cannot_be_pulled(
        self, kind: ActionType, expected: float
    ) -> None:
        """B21."""
        name, reference = an_image(kind).name, str(an_image(kind).reference)
        memory = a_memory(D2, recorded=D1, reference=reference)
        target = a_target(variable=D2, annotations=annotated(name, memory))
        down = {name: answer(None, reference=reference)}
        run = a_run(policy=a_policy(image_json(kind)), answers=down)
        see(run, a_sight(target, PROGRESSING, SEEN))
        view = see(run, a_sight(target, PROGRESSING, SEEN + 600))
        assert view.stalled_for == timedelta(seconds=expected)

    def test_a_rollout_goes_on_through_a_restart(self) -> None:
        run = a_run(self.ROLLING)
        self.stalled(run, 0)
        stored = report(run.found(view=see(run, a_sight(a_target(variable=D2), PROGRESSING))))
        later = a_run(stored, began=SEEN + 300)
        assert self.stalled(later, 300) == 300

    def test_a_newer_ask_begins_anew(self) -> None:
        run = a_run(self.ROLLING)
        assert [self.stalled(run, seconds) for seconds in (0, 500)] == [0, 500]
        asked = a_memory(D3, recorded=D1, reference=REFERENCE, serial=9)
        target = a_target(variable=D3, annotations=annotated("ingestor", asked))
        assert self.stalled(run, 501, target=target) == 0

    def test_progress_ends_the_wait(self) -> None:
        run = a_run(self.ROLLING)
        self.stalled(run, 0)
        further = Health(Verdict.PROGRESSING, "2 of 3", Counts(2, 3, 3, 2))
        assert self.stalled(run, 400, further) == 0


@pytest.mark.parametrize("reason", [Reason.Contested, Reason.UpToDate])
def test_a_fight_is_remembered(reason: Reason) -> None:
    """B17."""
    image = only_image(UP).model_copy(update={"reason": reason})
    run = a_run(UP.model_copy(update={"images": [image]}))
    expected = reason is Reason.Contested
    assert the_image(see(run, a_sight(a_target(variable=D3)))).was_contested is expected


class TestPods:
    """B15."""

    @pytest.mark.parametrize(
        ("digest", "expected"), [(D2, Evidence.DIFFERS), (D1, Evidence.UNSOUGHT)]
    )
    def test_what_they_said_counts_for_the_digest_in_question(
        self, digest: str, expected: Evidence
    ) -> None:
        target = a_target(variable=D2, annotations=annotated("ingestor", MOVING))
        sight = a_sight(target)
        sight.testimony["ingestor", digest] = Evidence.DIFFERS
        assert the_image(see(a_run(), sight)).evidence is expected

    @pytest.mark.parametrize(
        ("memory", "expected"),
        [(MOVING, True), (replace(MOVING, asked_time="2026-02-03T12:00:00Z", serial=9), False)],
        ids=["the same ask", "another one"],
    )
    def test_a_mismatch_is_remembered_of_the_ask_it_was_found_for(
        self, memory: Memory, expected: bool
    ) -> None:
        image = only_image(told(one(MOVING, D2))).model_copy(
            update={"reason": Reason.DigestMismatch, "recorded": D1}
        )
        status = told(one(MOVING, D2)).model_copy(update={"images": [image]})
        target = a_target(variable=D2, annotations=annotated("ingestor", memory))
        assert the_image(see(a_run(status), a_sight(target))).was_mismatched is expected


CLAIM: Final = "variable api/INGESTOR_DIGEST"


def test_a_view_has_what_the_run_is_about() -> None:
    policy = a_policy(status=UP, retry="r1")
    target = a_target(variable=D1)
    view = see(a_run(policy=policy), a_sight(target, LATE))
    assert (view.target, view.health, view.now, view.retry_at) == (target, LATE, NOW, "r1")
    assert [own.image.name for own in view.images] == ["ingestor"]


def test_a_first_look_knows_nothing() -> None:
    own = the_image(see(a_run(), a_sight(a_target())))
    assert own.memory == Memory(reference=REFERENCE, claim=CLAIM)
