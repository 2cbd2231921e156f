"""What holds of every status, whatever a run finds (B26, B27)."""

from dataclasses import replace
from datetime import timedelta
from typing import Final

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from imagerefresh.api.reasons import Reason
from imagerefresh.api.status import Status, parse_status
from imagerefresh.plan.decide import decide
from imagerefresh.plan.findings import Findings
from imagerefresh.plan.news import transitions
from imagerefresh.plan.summary import report, tells_something_new
from imagerefresh.plan.template import Problem
from unit.plan.builders import NOW, an_own, patched
from unit.plan.conditions import check
from unit.plan.telling import DENIED, findings, trouble
from unit.plan.worlds import views

REFUSED: Final = Problem(Reason.PatchRefused, "admission webhook said no")
GONE: Final = Problem(Reason.TargetNotFound, "Deployment web does not exist")
problems = st.sampled_from([None, None, None, REFUSED, GONE, Problem(Reason.Forbidden, "x" * 4000)])
TROUBLES: Final = st.sampled_from([trouble(1), trouble(3), trouble(1, DENIED)])


@st.composite
def all_findings(draw: st.DrawFn) -> Findings:
    """Anything that a run may come to know."""
    view = draw(views())
    problem = draw(problems)
    troubles = {
        own.image.name: draw(TROUBLES)
        for own in view.images
        if own.latest is None and not own.image.pinned
    }
    found = findings(
        view,
        is_acted=problem is None and draw(st.booleans()),
        problem=problem,
        troubles=troubles,
        generation=draw(st.integers(1, 2)),
        now=NOW + timedelta(minutes=draw(st.integers(0, 9))),
    )
    if problem is GONE:
        return replace(found, view=None)
    if draw(st.integers(0, 9)) == 9:
        return replace(found, spec=None, view=None, problem=Problem(Reason.InvalidSpec, "bad"))
    return found


@settings(max_examples=80)
@given(st.lists(all_findings(), min_size=1, max_size=3))
def test_every_status_follows_the_rules(history: list[Findings]) -> None:
    """B26: whatever is found, after whatever was told before."""
    before = Status()
    for each in history:
        found = replace(each, before=before)
        after = report(found)
        check(before, after, generation=found.generation, now=found.now)
        for news in transitions(found, after):
            assert news.note
        before = parse_status(after.to_json())


@settings(max_examples=80)
@given(all_findings())
def test_nothing_is_told_again(found: Findings) -> None:
    """B27: a second run that finds the same writes nothing, and has no news."""
    first = report(found)
    if found.view and found.plan:
        outcomes, retry_at = found.plan.outcomes, found.view.retry_at
        target = patched(found.view.target, found.plan.patch)
        images = tuple(
            replace(
                own,
                memory=outcomes[own.image.name].memory,
                carried=an_own(own.image, target, outcomes[own.image.name].memory).carried,
                is_missing_on_target=False,
            )
            for own in found.view.images
        )
        is_handled = first.last_handled_retry_at == retry_at
        view = replace(found.view, images=images, retry_at=None if is_handled else retry_at)
        has_written = found.plan.patch is not None
        found = replace(found, view=view, plan=decide(view))
        assume(found.plan is not None and found.plan.patch is None)  # or there is more to do
        if has_written:  # a run decides again, and writes what it then finds
            first = report(replace(found, before=first))
    event("compared")
    later = replace(
        found,
        before=first,
        now=found.now + timedelta(minutes=1),
        troubles_told=frozenset(found.troubles),
    )
    second = report(later)
    assert not tells_something_new(first, second)
    assert list(transitions(later, second)) == []
