"""Rows on who else is led to: by redirects, by other headers, by the policy itself (B10, B28)."""

from collections.abc import Callable

from unit.registry.attacks.marks import registry_token
from unit.registry.attacks.rows_realms import bearer
from unit.registry.attacks.stage import (
    BY_DIGEST,
    DENIED,
    MANIFEST,
    MISCONFIGURED,
    UNAVAILABLE,
    Check,
    Stage,
    attack,
    on_manifest,
)
from unit.registry.scripted import Reply, Seen, challenge, manifest, token

FOUND = (f"HEAD {MANIFEST}", f"GET {BY_DIGEST}")
"""What is asked where the image is."""


def redirect(target: str, status: int = 307) -> Reply:
    return Reply(status, (("Location", target),))


def _to_thief(stage: Stage) -> Callable[[Seen], Reply]:
    return lambda seen: redirect(f"{stage.thief.url}{seen.path}")


@attack(DENIED, thief_hears=[f"HEAD {MANIFEST}"], is_trusted=True)
def a_redirect_to_a_host_that_asks_for_a_password(stage: Stage) -> None:
    stage.serve(_to_thief(stage))
    on_manifest(stage.thief, challenge('Basic realm="x"'))


@attack(DENIED, thief_hears=[f"HEAD {MANIFEST}"], is_trusted=True, credential=registry_token)
def a_redirect_with_a_token_to_a_host_that_asks_for_one(stage: Stage) -> None:
    stage.serve(_to_thief(stage), bearer(f"{stage.registry.url}/token"))
    stage.registry.on("GET", "/token", Reply(401))
    on_manifest(stage.thief, challenge('Basic realm="x"'))


@attack(None, thief_hears=[*FOUND, "GET /token"], is_trusted=True)
def a_redirect_to_a_host_with_a_token_service(stage: Stage) -> Check:
    """It is asked as anybody could ask it, and may answer: the registry says so."""
    _behind_tokens(stage)
    stage.thief.on("GET", "/token", token("anonymous"))
    demand = bearer(f"{stage.thief.url}/token")
    on_manifest(
        stage.thief,
        lambda seen: manifest() if seen.authorization == "Bearer anonymous" else demand,
    )
    return lambda: stage.bearer.is_in(stage.registry.received)


@attack(DENIED, thief_hears=[f"HEAD {MANIFEST}"], is_trusted=True)
def a_redirect_to_a_host_that_names_our_token_service(stage: Stage) -> Check:
    """Which would give a token for the credential, were it shown there once more."""
    _behind_tokens(stage)
    on_manifest(stage.thief, bearer(f"{stage.registry.url}/token"))
    return lambda: stage.bearer.is_in(stage.registry.received)


def _behind_tokens(stage: Stage) -> None:
    """The registry gives a token to who shows the credential, and redirects who shows the token."""

    def give(seen: Seen) -> Reply:
        return token(stage.bearer.core) if seen.authorization else Reply(401)

    stage.registry.on("GET", "/token", give)
    stage.serve(_to_thief(stage), bearer(f"{stage.registry.url}/token"))


@attack(DENIED, thief_hears=[f"GET {MANIFEST}"], is_trusted=True)
def a_redirect_of_get_alone(stage: Stage) -> None:
    stage.serve(lambda seen: Reply(405) if seen.method == "HEAD" else _to_thief(stage)(seen))
    on_manifest(stage.thief, challenge('Basic realm="x"'))


@attack(None, thief_hears=FOUND, is_trusted=True)
def a_redirect_to_another_host_and_back(stage: Stage) -> Check:
    """What was left out for a host on the way is not brought along again."""
    stage.serve(_to_thief(stage))
    on_manifest(stage.thief, redirect(f"{stage.registry.url}/back"))
    for method in ("HEAD", "GET"):
        stage.registry.on(method, "/back", manifest())
    return lambda: (
        {seen.authorization for seen in stage.registry.heard if seen.path == "/back"} == {None}
    )


@attack(MISCONFIGURED, "from https to plain http", is_trusted=True, over_tls=True)
def a_redirect_from_tls_to_plain_http(stage: Stage) -> None:
    stage.serve(_to_thief(stage))


@attack(MISCONFIGURED, "from https to plain http", is_trusted=True, over_tls=True)
def a_redirect_from_tls_to_plain_http_on_the_same_host(stage: Stage) -> None:
    stage.serve(redirect(f"http://{stage.registry.address}{MANIFEST}"))


@attack(MISCONFIGURED, "with a user name in it", is_trusted=True)
def a_redirect_to_an_address_with_a_password(stage: Stage) -> None:
    stage.serve(redirect(f"http://user:{stage.bearer.core}@{stage.thief.address}{MANIFEST}"))


@attack(MISCONFIGURED, "a metadata service", is_trusted=True)
def a_redirect_to_a_metadata_service(stage: Stage) -> None:
    stage.serve(redirect("http://169.254.169.254/latest/meta-data/iam/security-credentials/"))


@attack(MISCONFIGURED, "an address in an unusual form", is_trusted=True)
def a_redirect_to_a_number(stage: Stage) -> None:
    """Which the C library would read as 127.0.0.1."""
    port = stage.hidden.address.partition(":")[2]
    stage.serve(redirect(f"http://2130706433:{port}{MANIFEST}"))


@attack(MISCONFIGURED, "a loopback address", is_trusted=True)
def a_redirect_to_what_listens_beside_the_operator(stage: Stage) -> None:
    stage.serve(redirect(f"{stage.hidden.url}{MANIFEST}"))


@attack(UNAVAILABLE, "a redirect without a usable target", is_trusted=True)
def a_redirect_to_a_file(stage: Stage) -> None:
    stage.serve(redirect("file:///etc/passwd"))


@attack(UNAVAILABLE, "more than 5 redirects", thief_hears=[f"HEAD {MANIFEST}"], is_trusted=True)
def redirects_without_end(stage: Stage) -> None:
    """To and fro between two hosts."""
    stage.serve(_to_thief(stage))
    on_manifest(stage.thief, redirect(f"{stage.registry.url}/back"))
    stage.registry.on("HEAD", "/back", redirect(f"{stage.thief.url}{MANIFEST}"))


@attack(None, is_trusted=True)
def headers_that_name_another_host(stage: Stage) -> Check:
    """Link, and all the others that a client might follow. No list of tags is ever asked for, so a
    Link to its next page has nothing to lead astray; it is not followed where it stands, either.
    """
    there = f"{stage.thief.url}/v2/{stage.reference.repository}/tags/list?last=a"
    leads = (
        ("Link", f'<{there}>; rel="next"'),
        ("Location", there),
        ("Content-Location", there),
        ("Refresh", f"0; url={there}"),
        ("Alt-Svc", f'h2="{stage.thief.address}"; ma=3600'),
        ("Set-Cookie", f"session={stage.bearer.core}; Path=/"),
    )
    good = manifest()
    stage.serve(Reply(200, good.headers + leads, good.body))
    return lambda: not any("Cookie" in seen.headers for seen in stage.registry.heard)


def _named(stage: Stage, host: str) -> None:
    stage.host = host.format(port=stage.hidden.address.partition(":")[2])


@attack(MISCONFIGURED, "a loopback address")
def a_policy_that_names_this_machine(stage: Stage) -> None:
    _named(stage, "127.0.0.1:{port}")


@attack(MISCONFIGURED, "a loopback address")
def a_policy_that_names_this_machine_by_name(stage: Stage) -> None:
    _named(stage, "localhost:{port}")


@attack(MISCONFIGURED, "a loopback address")
def a_policy_that_names_this_machine_in_the_other_family(stage: Stage) -> None:
    _named(stage, "[::1]:{port}")


@attack(MISCONFIGURED, "an address in an unusual form")
def a_policy_that_names_this_machine_in_short(stage: Stage) -> None:
    _named(stage, "127.1:{port}")


@attack(MISCONFIGURED, "an address that is not one machine's")
def a_policy_that_names_any_machine(stage: Stage) -> None:
    _named(stage, "0.0.0.0:{port}")


@attack(MISCONFIGURED, "a link-local address")
def a_policy_that_names_a_neighbour_on_the_link(stage: Stage) -> None:
    _named(stage, "169.254.1.1")


@attack(MISCONFIGURED, "a metadata service")
def a_policy_that_names_a_metadata_service(stage: Stage) -> None:
    _named(stage, "169.254.169.254")


@attack(MISCONFIGURED, "a metadata service")
def a_policy_that_names_a_metadata_service_in_the_other_family(stage: Stage) -> None:
    _named(stage, "[fd00:ec2::254]")
