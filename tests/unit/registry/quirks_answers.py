"""Rows on manifests, limits, redirects and names."""

import json
import time

from yarl import URL

from imagerefresh.reference import parse
from imagerefresh.registry import Credential, Trouble, manifests
from imagerefresh.registry.lookup import manifest_url
from imagerefresh.registry.urls import foreign_url
from unit.registry.quirks import (
    DENIED,
    LIMITED,
    NOT_AN_IMAGE,
    UNAVAILABLE,
    Check,
    Found,
    Scene,
    quirk,
)
from unit.registry.resolving import DIGEST
from unit.registry.scripted import INDEX, Reply, challenge, errors, manifest

TYPE = ("Content-Type", manifests.OCI_INDEX)
BARE = Reply(200, (TYPE,), INDEX)


@quirk(12, 14)
def no_digest_header(scene: Scene) -> None:
    scene.registry.on_tag("HEAD", BARE)
    scene.registry.on_tag("GET", BARE)


@quirk(13)
def the_digest_header_comes_with_head_only(scene: Scene) -> Check:
    scene.registry.on_tag("HEAD", manifest())
    scene.registry.on("GET", f"/v2/team/app/manifests/{DIGEST}", BARE)
    return lambda _: len(scene.registry.seen) == 2  # with the look at what it is


@quirk(15)
def a_digest_header_of_bare_hex(scene: Scene) -> None:
    headers = (TYPE, ("Docker-Content-Digest", DIGEST.removeprefix("sha256:")))
    for method in ("HEAD", "GET"):
        scene.registry.on_tag(method, Reply(200, headers, INDEX))


@quirk(16)
def a_digest_header_of_something_else(scene: Scene) -> None:
    headers = (TYPE, ("Docker-Content-Digest", f"sha256:{'0' * 64}"))
    scene.registry.on_tag("HEAD", Reply(405))
    scene.registry.on_tag("GET", Reply(200, headers, INDEX))


@quirk(17)
def head_says_404_where_get_works(scene: Scene) -> None:
    scene.registry.on_tag("HEAD", Reply(404))
    scene.registry.on_tag("GET", manifest())


@quirk(19, 20, outcome=DENIED)
def head_says_403_and_get_says_why(scene: Scene) -> Check:
    scene.registry.on_tag("HEAD", Reply(403))
    scene.registry.on_tag("GET", errors(403, "FORBIDDEN", "team may not read it"))
    return lambda found: "team may not read it" in repr(found)


@quirk(34)
def docker_hub_wants_library(scene: Scene) -> Check:
    scene.registry.on_tag("HEAD", manifest())
    hub = parse("nginx:1")
    url = manifest_url("https", hub.registry, hub.repository, "1")
    return lambda _: str(url) == "https://registry-1.docker.io/v2/library/nginx/manifests/1"


def _waits(found: Found, seconds: float) -> bool:
    return (
        isinstance(found, Trouble)
        and found.retry_at is not None
        and found.retry_at - time.monotonic() > seconds - 30  # on a busy machine
    )


@quirk(40, outcome=LIMITED)
def a_wait_of_microseconds_inside_the_message(scene: Scene) -> Check:
    text = "retry-after: 880.092us, allowed: 44000/minute"
    scene.registry.on_tag("HEAD", errors(429, "TOOMANYREQUESTS", text))
    scene.registry.on_tag("GET", errors(429, "TOOMANYREQUESTS", text))
    scene.turns = 3
    began = time.monotonic()  # a second at least between two
    return lambda _: 1 <= len(scene.registry.seen) <= 1 + (time.monotonic() - began)


@quirk(41, outcome=LIMITED)
def a_wait_as_unix_time_and_limits_without_numbers(scene: Scene) -> Check:
    headers = (("Retry-After", str(int(time.time()) + 300)), ("RateLimit-Limit", ";w=21600"))
    scene.registry.on_tag("HEAD", Reply(429, headers))
    return lambda found: _waits(found, 300)


@quirk(46)
def docker_hub_has_four_names(scene: Scene) -> Check:
    scene.registry.on_tag("HEAD", manifest())
    names = ("docker.io", "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com")
    return lambda _: len({parse(f"{name}/library/nginx:1") for name in names}) == 1


@quirk(47)
def lengths_differ(scene: Scene) -> None:
    scene.registry.on_tag("HEAD", Reply(200, manifest().headers, INDEX + b"much longer"))
    scene.registry.on("GET", f"/v2/team/app/manifests/{DIGEST}", manifest())


@quirk(48)
def a_get_by_tag_spends_the_upstreams_quota(scene: Scene) -> Check:
    scene.registry.on_tag("HEAD", manifest())
    scene.registry.on("GET", f"/v2/team/app/manifests/{DIGEST}", manifest())
    path = "/v2/team/app/manifests"
    return lambda _: scene.registry.methods() == [f"HEAD {path}/prod", f"GET {path}/{DIGEST}"]


@quirk(49)
def basic_in_upper_case_and_utf_8(scene: Scene) -> None:
    scene.credentials = (Credential("s", username="us\u00e9r", password="p\u00e4ss"),)
    demand = challenge('BASIC realm="Sonatype Nexus Repository Manager"')
    wanted = "Basic dXPDqXI6cMOkc3M="
    scene.registry.on_tag(
        "HEAD", lambda seen: manifest() if seen.authorization == wanted else demand
    )


@quirk(50, outcome=NOT_AN_IMAGE)
def children_that_are_no_images(scene: Scene) -> None:
    child = {
        "mediaType": manifests.OCI_MANIFEST,
        "platform": {"os": "unknown", "architecture": "unknown"},
    }
    body = json.dumps({"mediaType": manifests.OCI_INDEX, "manifests": [child]}).encode()
    digest = dict(manifest(body).headers)["Docker-Content-Digest"]
    scene.registry.on_tag("HEAD", manifest(body))
    scene.registry.on("GET", f"/v2/team/app/manifests/{digest}", manifest(body))


@quirk(51)
def the_digest_is_that_of_the_index(scene: Scene) -> Check:
    scene.registry.on_tag("HEAD", manifest())
    return lambda found: "1" * 64 not in repr(found)  # the platform's


@quirk(52)
def signed_addresses_stay_as_they_are(scene: Scene) -> Check:
    scene.registry.on_tag("HEAD", manifest())
    signed = "https://store.test/b%2Fc?sig=a%2Fb%27c%2B=&x=%7E"
    return lambda _: str(foreign_url(signed, URL("https://a.test/"))) == signed


@quirk(53, outcome=UNAVAILABLE)
def a_mirror_that_answers_500_for_a_denial(scene: Scene) -> Check:
    scene.registry.on_tag("HEAD", Reply(500))
    return lambda found: isinstance(found, Trouble) and found.transient


@quirk(54)
def all_types_in_one_line(scene: Scene) -> Check:
    scene.registry.on_tag("HEAD", manifest())
    types = (
        manifests.OCI_INDEX,
        manifests.DOCKER_LIST,
        manifests.OCI_MANIFEST,
        manifests.DOCKER_MANIFEST,
    )
    return lambda _: all(kind in scene.registry.seen[0].headers["Accept"] for kind in types)
