"""`python -m proof faults`: every fault at every write of every scenario, and the table."""

import argparse
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from proof.faults.images import Images
from proof.faults.kinds import Kind
from proof.faults.lane import lane
from proof.faults.prove import Report, prove
from proof.faults.scenarios import SCENARIOS, Scenario
from proof.faults.table import summary, table
from testbed.controlplane import ControlPlane
from testbed.installation import install_cluster_part
from testbed.registry import Registry

_LANES = 2


def main(arguments: list[str]) -> int:
    """0 if all cases hold."""
    parser = argparse.ArgumentParser(prog="python -m proof faults", description=__doc__)
    parser.add_argument("--lanes", type=int, default=_LANES, help="scenarios at once")
    parser.add_argument("--scenario", action="append", help="only these, by name")
    parser.add_argument("--kind", action="append", type=Kind, help="only these faults")
    parser.add_argument("--logs", type=Path, help="a folder to keep all logs in")
    options = parser.parse_args(arguments)
    chosen = [each for each in SCENARIOS if each.name in (options.scenario or [each.name])]
    kinds = options.kind or list(Kind)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="imagerefresh-proof-") as name:
        folder = options.logs or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        reports = _prove_all(folder, chosen, kinds, options.lanes)
    minutes = (time.monotonic() - began) / 60
    print(f"{summary(reports)}; {minutes:.1f} minutes")
    return 0 if all(report.is_proven for report in reports) else 1


def _prove_all(
    folder: Path, scenarios: Sequence[Scenario], kinds: Sequence[Kind], lanes: int
) -> list[Report]:
    reports = []
    with (
        ControlPlane(folder) as control_plane,
        Registry(folder) as registry,
        ThreadPoolExecutor(lanes) as pool,
    ):
        install_cluster_part(control_plane)
        images = Images.publish(registry)

        def run(scenario: Scenario) -> Report:
            with lane(control_plane, images, scenario) as found:
                return prove(found, kinds)

        for done in as_completed([pool.submit(run, scenario) for scenario in scenarios]):
            reports.append(done.result())
            print(table(reports[-1], kinds), end="\n\n", flush=True)
    return reports
