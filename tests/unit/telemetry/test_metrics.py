import re
from datetime import UTC, datetime

import pytest

from imagerefresh import __version__
from imagerefresh.telemetry.metrics import Metrics

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


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


def test_runs_are_measured(metrics: Metrics) -> None:
    metrics.run_finished(0.2)
    metrics.run_finished(40)
    found = series(metrics)
    assert found["imagerefresh_run_duration_seconds_count"] == 2
    assert found['imagerefresh_run_duration_seconds_bucket{le="0.3"}'] == 1


def test_a_policy_shows_its_times_and_the_state_of_its_images(metrics: Metrics) -> None:
    """B27: the times of the last and next check are metrics."""
    metrics.policy_watched("shop", "web")
    metrics.policy_checked(
        "shop", "web", last_check=MOMENT, next_check=None, images={"api": "Asked"}
    )
    metrics.policy_watched("shop", "web")
    metrics.policy_watched("shop", "new")
    found = series(metrics)
    labels = 'name="web",namespace="shop"'
    assert found["imagerefresh_policies"] == 2
    last = f"imagerefresh_policy_last_check_timestamp_seconds{{{labels}}}"
    assert found[last] == MOMENT.timestamp()
    assert not [name for name in found if "next_check" in name]
    assert found[f'imagerefresh_image_state{{image="api",{labels},state="Asked"}}'] == 1

    metrics.policy_checked("shop", "web", last_check=MOMENT, next_check=MOMENT, images={})
    found = series(metrics)
    following = f"imagerefresh_policy_next_check_timestamp_seconds{{{labels}}}"
    assert found[following] == MOMENT.timestamp()
    assert not [name for name in found if "image_state" in name]


def test_a_deleted_policy_leaves_no_series_behind(metrics: Metrics) -> None:
    def tell_all(name: str) -> None:
        metrics.policy_checked(
            "shop", name, last_check=MOMENT, next_check=MOMENT, images={"api": "Asked"}
        )
        for tell in (metrics.asked, metrics.recorded, metrics.failed):
            tell("shop", name)

    for name in ("web", "other"):
        metrics.policy_watched("shop", name)
        tell_all(name)
    metrics.policy_gone("shop", "web")
    tell_all("web")  # by a run that was under way
    metrics.policy_gone("shop", "never-seen")
    names = {
        match[1] for line in series(metrics) if (match := re.search(r'[{,]name="(\w+)"', line))
    }
    assert names == {"other"}
    assert len([line for line in series(metrics) if '"other"' in line]) == 6


def test_the_process_and_its_version_are_shown_and_no_time_of_creation(metrics: Metrics) -> None:
    metrics.policy_watched("shop", "web")
    metrics.asked("shop", "web")
    found = series(metrics)
    assert found[f'imagerefresh_build_info{{version="{__version__}"}}'] == 1
    assert "process_cpu_seconds_total" in found
    assert not [name for name in found if "_created" in name]


def test_two_objects_share_nothing() -> None:
    first, second = Metrics(), Metrics()
    first.policy_watched("shop", "web")
    first.asked("shop", "web")
    assert [name for name in series(first) if "shop" in name]
    assert not [name for name in series(second) if "shop" in name]
