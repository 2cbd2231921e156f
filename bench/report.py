"""The bench's figures as a table, beside those to beat, and how each was measured. Pure."""

import os
import platform
import statistics
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from meter import percentile
from rig import INTERVAL

_PEERS = "peers, as measured earlier on such a machine"
_HOW = """\
Policies: one Restart image each, one workload of one pod each. Up to 100 policies every policy has
an image of its own; beyond, 100 images are shared evenly (1,000 policies: ten per image). Control
plane, registry and operator are processes of this machine, new ones for each column; only the
kubelet is simulated.
Requests per image and turn: HEAD and GET of manifests in the registry's own access log, at rest.
Busiest tenth: of the same requests, the largest share that came in one and the same tenth of the
turn; a tenth is even, two are the most that it should be. In the turn after a restart: requests by
image from the kill of the operator until an interval later.
Move to patch: from the registry's answer to the publisher until the API server tells a watcher of
the workload's new pod template. The wait for the image's turn is in it, half an interval on
average. One image: ten moves, spread evenly over the turn. More: each of 100 images moves once
(20 images if they are shared), spread over 60 s, and the waits for their turns evenly over a turn.
Start to all watched: from the start of the operator's process until its metrics say of each of the
policies, all new to it, that its tag was looked up. To all recorded: until each is Ready, with the
digest recorded on its workload and in its status, which is bound by the API server.
Processor share, memory, requests to the API server: {idle} s at rest, after all policies were Ready
for a turn. Processor: user and system time of the operator by elapsed time, 100 % is one
processor. Memory: resident, at the end, in millions of bytes. Requests: the API server's audit log.
{fan_out} workloads on one image: as move to patch, until the last of them is patched; median and
longest of {times} moves, spread evenly over the turn. {shared} policies on one image: requests per
turn, as above."""


@dataclass(frozen=True)
class Figures:
    """One size. Seconds, bytes, shares of 1, requests per second."""

    policies: int
    images: int
    requests_per_turn: float
    busiest_tenth: float
    requests_after_restart: float
    moves: Sequence[float]
    watched: float
    recorded: float
    processor_share: float
    memory: int
    api_requests: float
    api_writes: int


@dataclass(frozen=True)
class FanOut:
    """Seconds to each of the workloads on one image, per move."""

    workloads: int
    moves: Sequence[Sequence[float]]


def _busiest_tenth(it: Figures) -> str:
    return f"{it.busiest_tenth:.0%}" if it.images > 1 else "-"


@dataclass(frozen=True)
class Shared:
    """All policies on one image: requests to the registry per turn."""

    policies: int
    requests_per_turn: float


_ROWS: Sequence[tuple[str, Callable[[Figures], str], str]] = (
    ("requests per image and turn", lambda it: f"{it.requests_per_turn:.2f}", "1.00"),
    ("busiest tenth of the turn", _busiest_tenth, ""),
    (
        "requests per image after a restart",
        lambda it: f"{it.requests_after_restart:.2f}",
        "",
    ),
    ("move to patch, p50", lambda it: f"{percentile(it.moves, 0.5):.1f} s", "6 s"),
    ("move to patch, p99", lambda it: f"{percentile(it.moves, 0.99):.1f} s", "12 s"),
    ("start to all watched", lambda it: f"{it.watched:.1f} s", "8 s at 100, 41 s at 1,000"),
    ("start to all recorded", lambda it: f"{it.recorded:.1f} s", ""),
    (
        "processor share at rest",
        lambda it: f"{it.processor_share:.2%}",
        "2.4% at 100, 4.9% at 1,000",
    ),
    ("memory", lambda it: f"{it.memory / 1e6:.0f} MB", "141 MB at 100, 172 MB at 1,000"),
    ("requests to the API server per s", lambda it: f"{it.api_requests:.2f}", "0.4"),
    ("writes to the API server at rest", lambda it: f"{it.api_writes}", ""),
)


def shown(figures: Figures) -> list[tuple[str, str]]:
    """Title and value of each of the figures, as the table has them."""
    return [(title, show(figures)) for title, show, _ in _ROWS]


def report(
    figures: Sequence[Figures],
    fan_out: FanOut,
    shared: Shared,
    idle_seconds: int,
    load_before: float,
) -> str:
    """The whole text."""
    last = [max(move) for move in fan_out.moves]
    spans = [max(move) - min(move) for move in fan_out.moves]
    how = _HOW.format(
        idle=idle_seconds,
        fan_out=fan_out.workloads,
        times=len(fan_out.moves),
        shared=f"{shared.policies:,}",
    )
    return f"""\
{len(os.sched_getaffinity(0))} processors ({platform.machine()}), Python \
{platform.python_version()}, load average {load_before:.1f} before the run
interval of every policy: {INTERVAL} s

{_line("policies", [f"{each.policies:,}" for each in figures], _PEERS)}
{"".join(_line(title, map(show, figures), peers) for title, show, peers in _ROWS)}
{fan_out.workloads} workloads on one image, move to last patch: {statistics.median(last):.1f} s, \
longest {max(last):.1f} s (peers: 10 s); first to last patch: {statistics.median(spans):.1f} s
{shared.policies:,} policies on one image: {shared.requests_per_turn:.2f} requests per turn

How it is measured

{textwrap.indent(how, "  ")}
"""


def _line(title: str, values: Iterable[str], peers: str) -> str:
    return f"{title:34}{''.join(f'{value:>10}' for value in values)}   {peers}".rstrip() + "\n"
