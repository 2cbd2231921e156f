"""Rows on challenges, token services and credentials."""

from yarl import URL

from imagerefresh.registry.outcomes import RegistryError
from imagerefresh.registry.realm import may_see_credentials, token_service
from unit.registry.quirks import DENIED, MISCONFIGURED, Check, Scene, quirk
from unit.registry.resolving import ONE, SECRETS, TWO
from unit.registry.scripted import Reply, Seen, challenge, errors, manifest, token

BASIC_ONE = "Basic b25lOnBhc3Mtb25l"


def behind(scene: Scene, demand: Reply, authorization: str = "Bearer t0ken") -> None:
    """Serve the tag to who brings the right authorization."""
    scene.registry.on_tag(
        "HEAD", lambda seen: manifest() if seen.authorization == authorization else demand
    )
    scene.registry.on("GET", "/token", token())


@quirk(1, 7, outcome=MISCONFIGURED)
def a_foreign_realm(scene: Scene) -> Check:
    behind(scene, scene.registry.bearer(realm="https://login.attacker.test/token"))
    return lambda _: scene.names.asked == []


@quirk(2, 11)
def a_realm_on_another_port_of_a_private_host(scene: Scene) -> Check:
    behind(scene, scene.registry.bearer(realm=f"{scene.other.url}/token"))
    scene.other.on("GET", "/token", token())
    return lambda _: scene.other.seen[0].authorization == BASIC_ONE


@quirk(3, outcome=MISCONFIGURED)
def a_realm_by_name_to_a_metadata_service(scene: Scene) -> None:
    scene.credentials = ()
    scene.names.addresses["sneaky.test"] = ["169.254.169.254"]
    behind(scene, scene.registry.bearer(realm="https://sneaky.test/token"))


@quirk(4, outcome=MISCONFIGURED)
def a_token_service_that_redirects(scene: Scene) -> Check:
    behind(scene, scene.registry.bearer())
    target = (("Location", f"{scene.other.url}/latest/meta-data"),)
    scene.registry.on("GET", "/token", Reply(302, target))
    return lambda _: scene.other.seen == []


@quirk(5, 18)
def a_redirect_to_another_host_that_wants_a_token_of_its_own(scene: Scene) -> Check:
    target = (("Location", f"{scene.other.url}/v2/team/app/manifests/prod"),)
    behind(scene, scene.registry.bearer())
    scene.registry.on_tag(
        "HEAD",
        lambda seen: Reply(307, target) if seen.authorization else scene.registry.bearer(),
    )
    scene.other.on_tag(
        "HEAD",
        lambda seen: (
            manifest() if seen.authorization == "Bearer anonymous" else scene.other.bearer()
        ),
    )
    scene.other.on("GET", "/token", token("anonymous"))

    def check(_: object) -> bool:
        sent = repr([dict(seen.headers) for seen in scene.other.seen])
        return not any(secret in sent for secret in (*SECRETS, "t0ken"))

    return check


@quirk(8)
def a_token_service_in_the_same_domain_only(scene: Scene) -> Check:
    behind(scene, scene.registry.bearer())
    hub = URL("https://registry-1.docker.io/v2/")
    return lambda _: (
        may_see_credentials(URL("https://auth.docker.io/token"), hub)
        and not may_see_credentials(URL("https://auth.docker.io.attacker.test/token"), hub)
    )


@quirk(9, 10)
def a_plain_http_realm_of_a_registry_over_tls(scene: Scene) -> Check:
    behind(scene, scene.registry.bearer())
    registry = URL("https://harbor.example.com/v2/")

    def asked(realm: str) -> str:
        try:
            return str(token_service(realm, registry, allows_plain_http=lambda _: True))
        except RegistryError as error:
            return error.reason

    return lambda _: (
        asked("http://harbor.example.com/service/token")
        == "https://harbor.example.com/service/token"
        and asked("http://harbor-core.default.svc/service/token") == MISCONFIGURED
    )


@quirk(30)
def an_expired_token_is_a_bad_request(scene: Scene) -> Check:
    scene.turns = 2
    given = iter(["first", "second"])
    scene.registry.on("GET", "/token", lambda _: token(next(given)))

    def answer(seen: Seen) -> Reply:
        if seen.authorization is None:
            return scene.registry.bearer()
        used = sum(s.authorization == "Bearer first" for s in scene.registry.seen)
        return manifest() if seen.authorization == "Bearer second" or used == 1 else Reply(400)

    scene.registry.on_tag("HEAD", answer)
    return lambda _: len(scene.queries()) == 2


@quirk(31, outcome=DENIED)
def no_anonymous_pull(scene: Scene) -> Check:
    scene.credentials = ()
    behind(scene, challenge('Basic realm="https://1.dkr.ecr.eu-central-1.amazonaws.com/"'), "x")
    return lambda found: "needs a pull secret" in repr(found)


@quirk(32, 33, outcome=DENIED)
def a_missing_repository_is_401(scene: Scene) -> Check:
    scene.credentials = ()
    behind(scene, scene.registry.bearer(), "never")
    return lambda found: "no such image, or no permission" in repr(found)


@quirk(35)
def a_denial_at_the_token_service_lets_the_next_credential_try(scene: Scene) -> Check:
    scene.credentials = (ONE, TWO)
    behind(scene, scene.registry.bearer())
    no = errors(403, "DENIED", "denied (or it may not exist)")
    scene.registry.on(
        "GET", "/token", lambda seen: no if seen.authorization == BASIC_ONE else token()
    )
    return lambda found: found.rejected == (ONE.source,)


@quirk(36, outcome=DENIED)
def denied_at_the_token_service(scene: Scene) -> Check:
    scene.credentials = ()
    behind(scene, scene.registry.bearer())
    scene.registry.on("GET", "/token", errors(403, "DENIED", "requested access is denied"))
    return lambda found: "requested access is denied" in repr(found)


@quirk(37)
def a_scope_with_more_than_pull(scene: Scene) -> Check:
    behind(scene, scene.registry.bearer(scope="repository:team/app:metadata_read,pull"))
    return lambda _: ("scope", "repository:team/app:metadata_read,pull") in scene.queries()[0]


@quirk(38)
def basic_and_bearer_side_by_side(scene: Scene) -> Check:
    bearer = dict(scene.registry.bearer().headers)["WWW-Authenticate"]
    behind(scene, challenge('Basic realm="x"', bearer))

    def check(_: object) -> bool:
        (seen,) = (seen for seen in scene.registry.seen if seen.path == "/token")
        asked = dict(seen.query)
        return (
            seen.method == "GET"
            and seen.authorization == BASIC_ONE
            and asked == {"service": "registry.test", "scope": "repository:team/app:pull"}
        )

    return check


@quirk(39)
def two_scopes_in_one_challenge(scene: Scene) -> Check:
    behind(scene, scene.registry.bearer(scope="repository:a:pull repository:b:pull"))
    return lambda _: (
        [value for key, value in scene.queries()[0] if key == "scope"]
        == ["repository:a:pull", "repository:b:pull"]
    )


@quirk(42)
def no_offline_token_is_asked_for(scene: Scene) -> Check:
    behind(scene, scene.registry.bearer())
    return lambda _: (
        {key for query in scene.queries() for key, _ in query} <= {"service", "scope", "account"}
    )


@quirk(43)
def an_empty_service(scene: Scene) -> Check:
    behind(scene, scene.registry.bearer(service=""))
    return lambda _: all(key != "service" for key, _ in scene.queries()[0])


@quirk(44)
def negotiate_comes_first(scene: Scene) -> None:
    behind(scene, challenge("Negotiate", 'Basic realm="x"'), BASIC_ONE)
