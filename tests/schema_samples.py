"""Values that a policy's spec takes and refuses, for the API server and the operator alike. Pure.

Both are asked the same: CEL and Python are two halves of each rule (B3).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from schema_documents import SPEC, Json, image, restart, set_env, set_image


@dataclass(frozen=True)
class Samples:
    """What one rule takes and refuses at each of its places."""

    paths: tuple[str, ...]
    message: str
    """How the refusal begins."""
    good: Sequence[Json]
    bad: Sequence[Json]


def _spec_with(**members: Json) -> dict[str, Json]:
    """The spec without interval, and with other members."""
    return {key: value for key, value in SPEC.items() if key != "interval"} | members


def _words(text: str) -> list[str]:
    return text.split()


def _schedules(*schedules: str) -> list[dict[str, Json]]:
    return [_spec_with(schedule=schedule) for schedule in schedules]


def _zones(*zones: str) -> list[dict[str, Json]]:
    return [_spec_with(schedule="0 3 * * *", timeZone=zone) for zone in zones]


SAMPLES: Final = (
    Samples(
        ("images.0.name",),
        "must be a DNS label",
        good=["a", "0", "web-api", "a" * 41],
        bad=["", "A", "a_b", "a.b", "-a", "a-", "ä", "a\n"],
    ),
    Samples(
        (
            "images.0.action.restart.containers.0",
            "images.1.action.setEnv.container",
            "images.2.action.setImage.container",
        ),
        "must be a container's name",
        good=["a", "0", "web-api", "a" * 63],
        bad=["", "A", "a_b", "a.b", "-a", "a-"],
    ),
    Samples(
        ("targetRef.name", "imagePullSecrets.0.name", "annotationPrefix"),
        "must be a DNS subdomain",
        good=["a", "web.example-1.com", "a" * 253],
        bad=["", "A", "a_b", ".a", "a.", "a..b", "a-.b", "a/b"],
    ),
    Samples(
        ("images.0.registry",),
        "must be a host, with a port if need be",
        good=[
            *_words("docker.io GHCR.io localhost:5000 registry a.b:1 a.b:65535 127.0.0.1:5000"),
            *_words("[::1] [2001:DB8::1]:5000 xn--4gbrim.example"),
            "a" * 255,
        ],
        bad=[
            *_words(
                "https://ghcr.io ghcr.io/ ghcr.io/example me@ghcr.io a_b.io .io a..b -a.io a-.io"
            ),
            *_words("a.io: a.io:0 a.io:65536 a.io:99999 a.io:http ::1 [::1 [::1]5000 [::1%eth0]"),
            *_words("[1:2] [::ffff:1.2.3.4] []"),
            "",
            "a.io\n",
        ],
    ),
    Samples(
        ("images.0.repository",),
        "must be a repository's path",
        good=["nginx", "a/b/c", "a.b_c__d-e--f/0", "a/" + "b" * 253],
        bad=["", "A/b", "/a", "a/", "a//b", "a..b", "a___b", "a:b", "a@b", "a b", "-a"],
    ),
    Samples(
        ("images.0.tag",),
        "must be a tag",
        good=["prod", "0.3", "_", "a" * 128],
        bad=["", ".a", "-a", "a:b", "a b", "a\n"],
    ),
    Samples(
        ("images.0.tag",),
        "must not be latest",
        good=["Latest", "latest-1", "stable"],
        bad=["latest"],
    ),
    Samples(
        ("images.1.action.setEnv.variable",),
        "must be the name of an environment variable",
        good=["INGESTOR_IMAGE_DIGEST", "_", "a.b-c", "a" * 253],
        bad=["", "0A", "A=B", "A B", "Ä"],
    ),
    Samples(
        ("interval", "rollout.timeout"),
        "must be a duration from 10s to 720h",
        good=_words("10s 15m 1h30m 720h 719h60m 0h0m10s 00720h00000m00000s"),
        bad=[
            *_words("9s 0s 0h0m9s 720h1s 43201m 99999h 100000s 15 m 1d 1.5h -15m +15m 5s1m 1m1m"),
            *_words("500ms 15M"),
            *("", "15m\n", " 15m"),
        ],
    ),
    Samples(
        ("",),
        "must be a cron schedule of five fields",
        good=_schedules(
            "* * * * *",
            "7,22,37,52 * * * *",
            "*/15 8-18/2 1,15 */3 1-5",
            "00 03  * * 07",
            "5/10 * * * *",
            "0 0 29 2 *",
            "0 0 31 2 1",
            "0 0 30,31 2,3 *",
            "59 23 31 12 7",
            "0-59/59 0 1-31/30 1-12 0-7",
            "10" + ",0" * 45 + " * * * *",
        ),
        bad=_schedules(
            "",
            "* * * *",
            "* * * * * *",
            "@hourly",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * 32 * *",
            "* * * 0 *",
            "* * * 13 *",
            "* * * * 8",
            "*/0 * * * *",
            "30-10 * * * *",
            "* 9-08 * * *",
            "0 0 * * 1,6-5/2",
            "1- * * * *",
            "-1 * * * *",
            "1,,2 * * * *",
            "*-5 * * * *",
            "1/2/3 * * * *",
            "* * * JAN *",
            "* * * * MON-FRI",
            "* * L * *",
            "* * * * 5L",
            "* * * * 1#2",
            "0 0 30 2 *",
            "0 0 31 4,06,11 *",
            "0 0 30-31 2 */2",
            "0 0 31/1,30-31/1 02 *",
            "0 0 31-31,31 11,4 *",
            " * * * * *",
            "* * * * * ",
            "*\t* * * *",
            "* * * * *\n",
        ),
    ),
    Samples(
        ("",),
        "must be an IANA time zone",
        good=_zones(
            "UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "EST5EDT"
        ),
        bad=_zones(
            "", "Local", "localtime", "europe/berlin", "Mars/Phobos", "+02:00", "02:00", "-1"
        )
        + _zones("CEST", "../UTC", "/UTC", "Europe", "Europe/", "posix/UTC", "Europe/Berlin\n"),
    ),
    Samples(
        ("",),
        "must not set both interval and schedule",
        good=[_spec_with(), _spec_with(interval="1m"), _spec_with(schedule="* * * * *")],
        bad=[_spec_with(interval="1m", schedule="* * * * *")],
    ),
    Samples(
        ("",),
        "must not set timeZone without schedule",
        good=_zones("UTC"),
        bad=[_spec_with(timeZone="UTC"), _spec_with(interval="1m", timeZone="UTC")],
    ),
    Samples(
        ("images.0.action",),
        "must not hold restart unless type is Restart",
        good=[restart(), {"type": "Restart", "restart": {}}, restart(containers=[])],
        bad=[set_env("other", "DIGEST") | {"restart": {}}],
    ),
    Samples(
        ("images.0.action",),
        "must hold setEnv exactly if type is SetEnv",
        good=[set_env("other", "DIGEST")],
        bad=[{"type": "SetEnv"}, restart() | {"setEnv": {"container": "a", "variable": "B"}}],
    ),
    Samples(
        ("images.0.action",),
        "must hold setImage exactly if type is SetImage",
        good=[set_image("other")],
        bad=[{"type": "SetImage"}, restart() | {"setImage": {"container": "a"}}],
    ),
    Samples(
        ("images",),
        "must write each variable and each image field from one image only",
        good=[
            [
                image("a", set_env("app", "X")),
                image("b", set_env("app", "x")),
                image("c", set_env("worker", "X")),
                image("d", set_image("app")),
                image("e", set_image("worker")),
                image("f", restart()),
                image("g", restart()),
            ],
            # The dearest list that the bounds allow must stay within the API server's budget.
            [
                image(
                    f"{number:041}",
                    set_env("c" * 63, "V" * 250 + f"{number:03}"),
                    registry="r" * 255,
                    repository="p" * 255,
                    tag="t" * 128,
                )
                for number in range(50)
            ],
        ],
        bad=[
            [image("a", set_env("app", "X")), image("b", set_env("app", "X"))],
            [image("a", set_image("app")), image("b", set_image("app"))],
            [image("a", set_image("app")), image("b", set_image("app"), pinned=True)],
        ],
    ),
)
