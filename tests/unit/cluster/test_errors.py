import json

import pytest

from imagerefresh.cluster.errors import (
    DEFAULT_RETRY_AFTER,
    MESSAGE_LIMIT,
    ClusterError,
    Conflict,
    NotFound,
    NotServed,
    Refused,
    Throttled,
    Unauthorized,
    Unavailable,
    error_from_answer,
)
from unit.cluster.scripted import status

WEBHOOK_DENIAL = 'admission webhook "guard.example.com" denied the request: not on a Friday'
WEBHOOK_BROKEN = (
    'Internal error occurred: failed calling webhook "guard.example.com": failed to call webhook: '
    "connect: connection refused"
)
POLICY_DENIAL = (
    "deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'freeze' with binding "
    "'freeze' denied request: frozen for the release"
)
RBAC = (
    'deployments.apps "web" is forbidden: User "system:serviceaccount:shop:imagerefresh" cannot '
    'patch resource "deployments" in API group "apps" in the namespace "shop"'
)


def error(code: int, said: str, **headers: str) -> ClusterError:
    return error_from_answer(code, headers, json.dumps(status(code, said)).encode())


@pytest.mark.parametrize(
    ("code", "said", "kind"),
    [
        (400, "the body could not be parsed", Refused),
        (401, "Unauthorized", Unauthorized),
        (403, RBAC, Refused),
        (404, 'deployments.apps "web" not found', NotFound),
        (408, "timed out", Unavailable),
        (409, "the object has been modified", Conflict),
        (413, "too large", Refused),
        (422, POLICY_DENIAL, Refused),
        (429, "too many requests", Throttled),
        (500, "etcdserver: request timed out", Unavailable),
        (500, WEBHOOK_BROKEN, Refused),
        (503, "apiserver is shutting down", Unavailable),
        (599, "", Unavailable),
        (302, "", Unavailable),
    ],
)
def test_each_code_has_its_error(code: int, said: str, kind: type[ClusterError]) -> None:
    assert type(error(code, said)) is kind


@pytest.mark.parametrize("body", [b"404 page not found\n", b"<html>not here</html>", b"", b"{}"])
def test_a_404_without_the_words_of_the_api_says_nothing_of_an_object(body: bytes) -> None:
    """B24, B29: a proxy's stray one must not count as the end of a policy."""
    assert type(error_from_answer(404, {}, body)) is NotServed


@pytest.mark.parametrize("code", [400, 401, 403, 404, 409, 418, 429, 500, 503])
def test_a_webhook_that_denies_is_a_refusal_with_whatever_code_it_chose(code: int) -> None:
    """B29: a webhook's 5xx is a refused patch, not an outage."""
    refused = error(code, WEBHOOK_DENIAL)
    assert type(refused) is Refused
    assert "not on a Friday" in str(refused)
    assert not refused.forbidden_by_rbac


@pytest.mark.parametrize(("said", "by_rbac"), [(RBAC, True), (POLICY_DENIAL, False)])
def test_a_missing_permission_is_told_from_an_admission_denial(said: str, *, by_rbac: bool) -> None:
    refused = error(403, said)
    assert isinstance(refused, Refused)
    assert refused.forbidden_by_rbac is by_rbac


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("", DEFAULT_RETRY_AFTER),
        ("soon", DEFAULT_RETRY_AFTER),
        ("-3", DEFAULT_RETRY_AFTER),
        ("9" * 400, DEFAULT_RETRY_AFTER),
        ("Wed, 21 Oct 2026 07:28:00 GMT", DEFAULT_RETRY_AFTER),
    ],
)
def test_retry_after_in_whole_seconds_or_the_default(header: str, seconds: float) -> None:
    """B29."""
    throttled = error(429, "too many requests", **{"Retry-After": header})
    assert isinstance(throttled, Throttled)
    assert throttled.retry_after == seconds


def test_the_words_of_the_server_are_one_bounded_line() -> None:
    text = str(error(422, "first\nsecond\t\x1b[31mthird\x00 " + "é" * 5000))
    assert text.startswith("first second [31mthird é")
    assert text.isprintable()
    assert len(text) <= MESSAGE_LIMIT + len(" (HTTP 422)")
    assert "…" in text


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>secret</html>",
        b'"secret"',
        b'{"message": "secret"}',
        b'{"kind": "Status", "message": {"a": "secret"}}',
        b"\xff\xfesecret",
    ],
)
def test_of_any_other_body_nothing_is_shown(body: bytes) -> None:
    assert str(error_from_answer(502, {}, body)) == "HTTP 502 from the API server"
