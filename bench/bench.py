"""Measures the operator's speed and cost on a real control plane, and prints a table.

Everything in it comes from one run. Nothing else should be running on the machine meanwhile: the
control plane shares its processors with the operator.
"""

import argparse
import os
import signal
import sys
import threading
import time

from meter import resident_bytes
from moves import Moves
from report import FanOut, Figures, Shared, report, shown
from rig import INTERVAL, rig
from testbed import build
from testbed.build import BuildError
from testbed.process import ProcessError

MAX_IMAGES = 100
MOVES_OF_ONE = 10  # of the only image there is
SHARED_STEP = 5  # of images with several workloads each, every fifth: rollouts cost the machine
MOVES_SECONDS = 60  # over which moves of many images are spread
FAN_OUT = 100  # workloads on one image
FAN_OUT_MOVES = 5
IDLE_SECONDS = 60

_begin = time.monotonic()


def main() -> int:
    """Run all scenarios; 0 if they came to an end."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument(
        "--sizes", default="1,100,1000", help="numbers of policies, comma-separated"
    )
    arguments.add_argument(
        "--idle", type=int, default=IDLE_SECONDS, help="seconds to measure at rest"
    )
    options = arguments.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    load_before = os.getloadavg()[0]
    try:
        build.tools()
        figures = [_measure(size, options.idle) for size in sizes]
        fan_out = _measure_fan_out()
        shared = _measure_shared(max(sizes), options.idle)
    except KeyboardInterrupt:
        return 130
    except (BuildError, ProcessError, TimeoutError, OSError) as error:
        sys.stderr.write(f"bench: {error}\n")
        return 1
    sys.stdout.write(report(figures, fan_out, shared, options.idle, load_before))
    return 0


def _measure(policies: int, idle_seconds: int) -> Figures:
    images = min(policies, MAX_IMAGES)
    _say(f"{policies} policies on {images} images: setting up")
    with rig(policies, images) as it:
        watched = it.wait_watched()
        _say(f"all watched after {watched:.1f} s; waiting until all is recorded")
        recorded = it.wait_settled()
        _rest(INTERVAL)
        _say(f"at rest for {idle_seconds} s")
        meter = it.meter()
        _rest(idle_seconds)
        cost, memory = meter.read(), resident_bytes(it.operator.pid)
        moves = Moves(it)
        if images == 1:
            _say(f"moving the image {MOVES_OF_ONE} times")
            found = moves.one_after_another(0, MOVES_OF_ONE)
            seconds = [each for move in found for each in move]
        else:
            step = SHARED_STEP if policies > images else 1
            chosen = range(0, images, step)
            _say(f"moving {len(chosen)} images within {MOVES_SECONDS} s")
            seconds = moves.spread(chosen, MOVES_SECONDS)
        it.wait_settled()
        _say("restarting the operator")
        it.restart()
        after_restart = it.meter()
        _rest(INTERVAL)
        burst = after_restart.read()
    turns = cost.seconds / INTERVAL
    figures = Figures(
        policies=policies,
        images=images,
        requests_per_turn=cost.registry_requests / images / turns,
        busiest_tenth=cost.busiest_second,
        requests_after_restart=burst.registry_requests / images,
        moves=seconds,
        watched=watched,
        recorded=recorded,
        processor_share=cost.processor_seconds / cost.seconds,
        memory=memory,
        api_requests=cost.api_requests / cost.seconds,
        api_writes=cost.api_writes,
    )
    _say("; ".join(f"{title}: {value}" for title, value in shown(figures)))
    return figures


def _measure_fan_out() -> FanOut:
    _say(f"{FAN_OUT} policies on one image: setting up")
    with rig(FAN_OUT, 1) as it:
        _say(f"moving the image {FAN_OUT_MOVES} times")
        return FanOut(FAN_OUT, Moves(it).one_after_another(0, FAN_OUT_MOVES))


def _measure_shared(policies: int, idle_seconds: int) -> Shared:
    _say(f"{policies} policies on one image: setting up")
    with rig(policies, 1) as it:
        it.wait_settled()
        _rest(INTERVAL)
        _say(f"at rest for {idle_seconds} s")
        meter = it.meter()
        _rest(idle_seconds)
        cost = meter.read()
    return Shared(policies, cost.registry_requests / (cost.seconds / INTERVAL))


def _rest(seconds: float) -> None:
    threading.Event().wait(seconds)


def _say(text: str) -> None:
    sys.stderr.write(f"{time.monotonic() - _begin:6.0f} s  {text}\n")


if __name__ == "__main__":
    sys.exit(main())
