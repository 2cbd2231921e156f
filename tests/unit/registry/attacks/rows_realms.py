"""Rows on who is asked for a token, and what they make of it (B8, B10, B28)."""

import base64
from urllib.parse import quote

from unit.registry.attacks.marks import identity_token, registry_token
from unit.registry.attacks.stage import DENIED, MISCONFIGURED, Check, Stage, attack
from unit.registry.scripted import Reply, Seen, challenge, errors, token

NOT_SENT = "so they were not sent"


def bearer(realm: str) -> Reply:
    return challenge(f'Bearer realm="{realm}",service="registry.test"')


def give_tokens(stage: Stage) -> None:
    """The thief would give a token to anybody, if only they came."""
    for method in ("GET", "POST"):
        stage.thief.on(method, "/token", token("from-the-thief"))


@attack(MISCONFIGURED, NOT_SENT)
def a_foreign_realm(stage: Stage) -> None:
    give_tokens(stage)
    stage.on_tag(bearer(f"{stage.thief.url}/token"))


@attack(MISCONFIGURED, NOT_SENT, credential=identity_token)
def a_foreign_realm_for_an_identity_token(stage: Stage) -> None:
    give_tokens(stage)
    stage.on_tag(bearer(f"{stage.thief.url}/token"))


@attack(MISCONFIGURED, NOT_SENT)
def a_foreign_realm_before_a_harmless_one(stage: Stage) -> None:
    give_tokens(stage)
    realms = (f"{stage.thief.url}/token", f"{stage.registry.url}/token")
    stage.on_tag(challenge(*(f'Bearer realm="{realm}"' for realm in realms), "Basic realm=x"))


@attack(MISCONFIGURED, NOT_SENT)
def a_foreign_realm_where_the_api_begins(stage: Stage) -> None:
    """A registry that says only there how to log in is asked there, bare."""
    give_tokens(stage)
    stage.on_tag(Reply(401))
    stage.registry.on("GET", "/v2/", bearer(f"{stage.thief.url}/token"))


@attack(DENIED)
def a_redirect_where_the_api_begins(stage: Stage) -> Check:
    stage.on_tag(Reply(401))
    stage.registry.on("GET", "/v2/", Reply(307, (("Location", f"{stage.thief.url}/v2/"),)))
    return lambda: "GET /v2/" in stage.registry.lines()


@attack(MISCONFIGURED, "user name")
def a_realm_that_shows_our_host_as_its_user_name(stage: Stage) -> None:
    give_tokens(stage)
    stage.on_tag(bearer(f"http://{stage.registry.address}@{stage.thief.address}/token"))


@attack(MISCONFIGURED, "user name")
def a_realm_with_a_password(stage: Stage) -> None:
    """The password is the registry's own affair, but may be anybody's: nobody gets to see it."""
    url = f"http://user:{stage.bearer.core}@{stage.registry.address}/token"
    stage.registry.on("GET", "/token", token())
    stage.on_tag(bearer(url))


@attack(MISCONFIGURED, "an unusable address")
def a_realm_that_is_no_web_address(stage: Stage) -> None:
    stage.on_tag(bearer("file:///etc/passwd"))


@attack(MISCONFIGURED, "in plain http", over_tls=True)
def a_plain_http_realm_of_a_registry_over_tls(stage: Stage) -> None:
    give_tokens(stage)
    stage.on_tag(bearer(f"{stage.thief.url}/token"))


@attack(MISCONFIGURED, NOT_SENT)
def a_realm_at_a_metadata_service(stage: Stage) -> None:
    stage.on_tag(bearer("https://169.254.169.254/latest/meta-data/token"))


def _redirecting(stage: Stage, status: int) -> None:
    give_tokens(stage)
    reply = Reply(status, (("Location", f"{stage.thief.url}/token"),))
    for method in ("GET", "POST"):
        stage.registry.on(method, "/token", reply)
    stage.on_tag(bearer(f"{stage.registry.url}/token"))


@attack(MISCONFIGURED, "a redirect, which is not followed", is_trusted=True)
def a_token_service_that_redirects(stage: Stage) -> None:
    _redirecting(stage, 302)


@attack(MISCONFIGURED, "a redirect, which is not followed", is_trusted=True)
def a_token_service_that_redirects_for_good(stage: Stage) -> None:
    _redirecting(stage, 308)


@attack(
    MISCONFIGURED,
    "a redirect, which is not followed",
    is_trusted=True,
    credential=identity_token,
)
def a_token_service_that_redirects_an_identity_token(stage: Stage) -> None:
    """307 would have the whole form sent again."""
    _redirecting(stage, 307)


@attack(DENIED, "refused", is_trusted=True)
def a_token_service_that_asks_to_log_in_elsewhere(stage: Stage) -> None:
    give_tokens(stage)
    stage.registry.on("GET", "/token", bearer(f"{stage.thief.url}/token"))
    stage.on_tag(bearer(f"{stage.registry.url}/token"))


def _repeating(stage: Stage, demand: Reply) -> None:
    """Whoever is shown a credential shows it to everybody, as some do who want to help."""

    def repeat(seen: Seen) -> Reply:
        if not (seen.authorization or seen.body):
            return Reply(401)
        scheme, _, shown = (seen.authorization or "").partition(" ")
        pair = base64.b64decode(shown).decode() if scheme == "Basic" else ""
        said = f"{seen.authorization} is {pair}, {quote(pair)}; {seen.body}"
        return errors(401 if seen.path == "/token" else 403, "DENIED", said)

    for method in ("GET", "POST"):
        stage.registry.on(method, "/token", repeat)
    stage.serve(repeat, demand)


@attack(DENIED, "[hidden]", is_trusted=True)
def a_registry_that_repeats_a_password(stage: Stage) -> None:
    """B8, B10: the text of errors is shown, but nothing that was brought along."""
    _repeating(stage, challenge('Basic realm="x"'))


@attack(DENIED, "[hidden]", is_trusted=True, credential=registry_token)
def a_registry_that_repeats_a_token(stage: Stage) -> None:
    _repeating(stage, bearer(f"{stage.registry.url}/token"))


@attack(DENIED, "[hidden]", is_trusted=True)
def a_token_service_that_repeats_a_password(stage: Stage) -> None:
    _repeating(stage, bearer(f"{stage.registry.url}/token"))


@attack(DENIED, "[hidden]", is_trusted=True, credential=identity_token)
def a_token_service_that_repeats_an_identity_token(stage: Stage) -> None:
    _repeating(stage, bearer(f"{stage.registry.url}/token"))
