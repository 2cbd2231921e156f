import pytest

from imagerefresh.registry import limits
from imagerefresh.registry.limits import Host, Hosts
from imagerefresh.registry.outcomes import RegistryError, TroubleReason

RATE_LIMITED = TroubleReason.RateLimited


@pytest.fixture
def host() -> Host:
    return Hosts(8).get("ghcr.io", 0)


def refused(host: Host, now: float) -> RegistryError | None:
    try:
        host.check(now, now)
    except RegistryError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("asked", "quiet"),
    [
        (60.0, 60.0),
        (0.000880092, 1.0),  # a minimum, or the next request is the next 429
        (3600.0, 3600.0),
        (1e9, 6 * 3600.0),  # a mistake must not silence it for good
        (None, 30.0),
    ],
)
def test_cool_down_lasts_as_long_as_asked_within_bounds(
    host: Host, asked: float | None, quiet: float
) -> None:
    """B9."""
    host.cool_down(asked, 1000.0, RATE_LIMITED)
    assert refused(host, 1000.0 + quiet - 0.01) is not None
    assert refused(host, 1000.0 + quiet) is None


def test_callers_return_after_the_end_and_spread(host: Host) -> None:
    """B9: jitter only upward."""
    host.cool_down(600, 1000.0, RATE_LIMITED)
    times = [error.retry_at for _ in range(50) if (error := refused(host, 1000.0))]
    assert len(times) == 50
    assert all(at is not None and 1600 <= at <= 1660 for at in times)
    assert len(set(times)) > 10


def test_repeated_limits_make_it_wait_longer_until_an_answer(host: Host) -> None:
    """B9: never hammer."""
    now = 0.0
    waits = []
    for _ in range(12):
        host.cool_down(0.001, now, RATE_LIMITED)
        wait = next(step for step in range(1, 2000) if refused(host, now + step) is None)
        waits.append(wait)
        now += wait
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]
    host.answered()
    host.cool_down(0.001, now, RATE_LIMITED)
    assert refused(host, now + 1) is None


def test_limits_that_were_in_flight_together_count_once(host: Host) -> None:
    """B9: the longest wait holds."""
    for asked in (5.0, 60.0, 5.0):
        host.cool_down(asked, 0.0, RATE_LIMITED)
    assert refused(host, 59.9) is not None
    assert refused(host, 60.0) is None
    host.cool_down(0.001, 60.0, RATE_LIMITED)
    assert refused(host, 61.9) is not None
    assert refused(host, 62.0) is None  # the second strike, not the fourth


def test_the_reason_is_that_of_the_last_limit(host: Host) -> None:
    host.cool_down(60, 0.0, TroubleReason.RegistryUnavailable)
    error = refused(host, 1.0)
    assert error is not None
    assert error.reason is TroubleReason.RegistryUnavailable
    host.cool_down(60, 1.0, RATE_LIMITED)
    error = refused(host, 2.0)
    assert error is not None
    assert error.reason is RATE_LIMITED
    assert "ghcr.io" in error.message


def test_who_waited_behind_a_failure_shares_it(host: Host) -> None:
    """B7: a long queue to a host that is down ends at once, not one timeout after the other."""
    host.failed("timeout", 10.0)
    with pytest.raises(RegistryError, match="timeout"):
        host.check(10.1, 9.0)
    host.check(10.1, 10.05)  # came later: may try
    host.answered()
    host.check(10.1, 9.0)


def test_hosts_are_independent() -> None:
    """B9: one limiting host holds up no other."""
    hosts = Hosts(8)
    hosts.get("a", 0).cool_down(60, 0, RATE_LIMITED)
    assert hosts.get("a", 0) is hosts.get("a", 0)
    assert refused(hosts.get("a", 1), 1) is not None
    assert refused(hosts.get("b", 1), 1) is None


def test_hosts_are_bounded_but_a_cooling_one_is_not_forgotten() -> None:
    hosts = Hosts(8)
    hosts.get("limited", 0).cool_down(900, 0, RATE_LIMITED)
    for number in range(2 * limits._MAX_HOSTS):
        hosts.get(f"host-{number}", 0)
    assert len(hosts._hosts) == limits._MAX_HOSTS
    assert refused(hosts.get("limited", 1), 1) is not None
