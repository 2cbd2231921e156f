import functools
import re
from dataclasses import replace
from typing import Final

import pytest

from imagerefresh import __version__
from imagerefresh.telemetry.metrics import Metrics, PolicyMetrics

MOMENT: Final = 1_767_225_600.0


def series(metrics: Metrics) -> dict[str, float]:
    lines = metrics.exposition().decode().splitlines()
    return {
        name: float(value)
        for name, _, value in (line.rpartition(" ") for line in lines if not line.startswith("#"))
    }


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


def test_requests_are_counted_by_outcome(metrics: Metrics) -> None:
    metrics.registry_request("ghcr.io", "200")
    metrics.registry_request("ghcr.io", "200")
    metrics.registry_request("ghcr.io", "429")
    metrics.api_request("PATCH", "409")
    found = series(metrics)
    assert found['imagerefresh_registry_requests_total{host="ghcr.io",outcome="200"}'] == 2
    assert found['imagerefresh_registry_requests_total{host="ghcr.io",outcome="429"}'] == 1
    assert found['imagerefresh_api_requests_total{code="409",verb="PATCH"}'] == 1


def test_hosts_that_servers_make_up_are_counted_together(metrics: Metrics) -> None:
    """Redirects and realms name hosts, and each would be a series for ever."""
    for number in range(3000):
        metrics.registry_request(f"{number}.example.com", "200")
    metrics.registry_request("0.example.com", "429")
    metrics.registry_request("new.example.com", "429")
    found = {name: n for name, n in series(metrics).items() if "registry_requests_total" in name}
    assert len(found) < 1100
    assert sum(found.values()) == 3002
    first = 'imagerefresh_registry_requests_total{host="0.example.com",outcome="429"}'
    assert found[first] == 1
    assert found['imagerefresh_registry_requests_total{host="others",outcome="429"}'] == 1


def test_runs_are_measured(metrics: Metrics) -> None:
    metrics.run_finished(0.2)
    metrics.run_finished(40)
    found = series(metrics)
    assert found["imagerefresh_run_duration_seconds_count"] == 2
    assert found['imagerefresh_run_duration_seconds_bucket{le="0.3"}'] == 1


def test_a_policy_shows_its_times_and_the_state_of_its_images(metrics: Metrics) -> None:
    """B27: the times of the last and next check are metrics, asked for when they are read."""
    told = PolicyMetrics(last_check=MOMENT, images={"api": "RollingOut"})
    metrics.policy_watched("shop", "web", lambda: told)
    metrics.policy_watched("shop", "new", PolicyMetrics)
    found = series(metrics)
    labels = 'name="web",namespace="shop"'
    assert found["imagerefresh_policies"] == 2
    last = f"imagerefresh_policy_last_check_timestamp_seconds{{{labels}}}"
    assert found[last] == MOMENT
    assert not [name for name in found if "next_check" in name]
    assert found[f'imagerefresh_image_state{{image="api",{labels},state="RollingOut"}}'] == 1

    told = PolicyMetrics(last_check=MOMENT, next_check=MOMENT + 10)
    found = series(metrics)
    following = f"imagerefresh_policy_next_check_timestamp_seconds{{{labels}}}"
    assert found[following] == MOMENT + 10
    assert not [name for name in found if "image_state" in name]


def test_a_deleted_policy_leaves_no_series_behind(metrics: Metrics) -> None:
    def count_all(name: str) -> None:
        for count in (metrics.asked, metrics.recorded, metrics.failed):
            count("shop", name)

    for name in ("web", "other"):
        told = PolicyMetrics(MOMENT, MOMENT, {"api": "RollingOut"})
        metrics.policy_watched("shop", name, functools.partial(replace, told))
        count_all(name)
    metrics.policy_gone("shop", "web")
    count_all("web")  # by a run that was under way
    metrics.policy_gone("shop", "never-seen")
    names = {
        match[1] for line in series(metrics) if (match := re.search(r'[{,]name="(\w+)"', line))
    }
    assert names == {"other"}
    assert len([line for line in series(metrics) if '"other"' in line]) == 6


def test_the_process_and_its_version_are_shown_and_no_time_of_creation(metrics: Metrics) -> None:
    metrics.policy_watched("shop", "web", PolicyMetrics)
    metrics.asked("shop", "web")
    found = series(metrics)
    assert found[f'imagerefresh_build_info{{version="{__version__}"}}'] == 1
    assert "process_cpu_seconds_total" in found
    assert not [name for name in found if "_created" in name]


def test_two_objects_share_nothing() -> None:
    first, second = Metrics(), Metrics()
    first.policy_watched("shop", "web", PolicyMetrics)
    first.asked("shop", "web")
    assert [name for name in series(first) if "shop" in name]
    assert not [name for name in series(second) if "shop" in name]
