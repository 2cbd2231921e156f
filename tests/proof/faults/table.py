"""The table of all cases: a row for each write, a column for each kind of fault. Pure."""

from collections import Counter
from collections.abc import Sequence

from proof.faults.kinds import Kind
from proof.faults.prove import Report, Verdict


def table(report: Report, kinds: Sequence[Kind]) -> str:
    """One scenario's."""
    scenario = report.scenario
    lines = [f"{scenario.name}: {len(report.points)} writes, {scenario.rollouts} rollouts"]
    width = max((len(f"{each}") for each in report.points), default=0)
    lines += [f"     {'':{width}}  " + "  ".join(map(str, kinds))]
    for number, point in enumerate(report.points, 1):
        cells = [
            f"{report.verdicts.get((point, kind), Verdict.NO_CASE):<{len(kind)}}" for kind in kinds
        ]
        lines.append(f"  {number:2} {f'{point}':{width}}  " + "  ".join(cells).rstrip())
    lines += [f"  ! {problem}" for problem in report.problems]
    return "\n".join(lines)


def summary(reports: Sequence[Report]) -> str:
    """All cases, counted."""
    counts = Counter(verdict for report in reports for verdict in report.verdicts.values())
    told = ", ".join(
        f"{counts[verdict]} {verdict}" for verdict in Verdict if verdict is not Verdict.NO_CASE
    )
    cases = sum(counts.values()) - counts[Verdict.NO_CASE]
    return f"{len(reports)} scenarios, {cases} cases: {told}"
