"""What a policy's fields may hold: each with a bound, a rule and a message that says what to do.

Objects and rules between fields are in `policy`.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from ipaddress import IPv6Address
from typing import Annotated, Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from pydantic import BeforeValidator, Field, GetPydanticSchema, PlainSerializer
from pydantic_core import core_schema

from imagerefresh.api import duration
from imagerefresh.api.model import Rule, grammar

_LABEL = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?"
_HOST_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"
_PATH = r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*"

# `last-refreshed-<name>-digest` must fit into the 63 characters of an annotation's name (B1).
ImageName = Annotated[
    str,
    Field(max_length=41),
    grammar(
        f"^{_LABEL}$",
        "must be a DNS label: use lower-case letters, digits and '-' between them, such as web-api",
    ),
]

DnsLabel = Annotated[
    str,
    Field(max_length=63),
    grammar(
        f"^{_LABEL}$",
        "must be a container's name: use lower-case letters, digits and '-' between them",
    ),
]

DnsSubdomain = Annotated[
    str,
    Field(max_length=253),
    grammar(
        rf"^{_LABEL}(\.{_LABEL})*$",
        "must be a DNS subdomain: use lower-case letters, digits, '-' and '.', such as"
        " web.example.com",
    ),
]

# Registry, Repository and Tag are the domain, path and tag of the grammar of image references.
_HOST: Final = (
    rf"({_HOST_LABEL}(\.{_HOST_LABEL})*|\[[0-9A-Fa-f:]+\])"
    r"(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?"
)


def _is_host(text: str) -> bool:
    if not re.fullmatch(_HOST, text):
        return False
    try:
        return not text.startswith("[") or bool(IPv6Address(text[1 : text.index("]")]))
    except ValueError:
        return False


Registry = Annotated[
    str,
    Field(max_length=255),
    Rule(
        f"self.matches(r'^{_HOST}$')"
        " && (!self.startsWith('[') || isIP(self.substring(1, self.indexOf(']'))))",
        "must be a host, with a port if need be, such as ghcr.io or [2001:db8::1]:5000: leave out"
        " https://, and put the path into repository",
        _is_host,
    ),
]

Repository = Annotated[
    str,
    Field(max_length=255),
    grammar(
        f"^{_PATH}(/{_PATH})*$",
        "must be a repository's path in lower case, such as example/web: put the host into registry"
        " and the tag into tag",
    ),
]

Tag = Annotated[
    str,
    Field(max_length=128),
    grammar(
        r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$",
        "must be a tag, such as prod or \"0.3\": use letters, digits, '_', '.' and '-', and quote"
        " numbers",
    ),
    Rule(
        "self != 'latest'",
        "must not be latest, which promises nothing: track a floating tag that its publisher moves"
        ' on purpose, such as prod or "0.3"',
        lambda text: text != "latest",
    ),
]

VariableName = Annotated[
    str,
    Field(max_length=253),
    grammar(
        r"^[-._a-zA-Z][-._a-zA-Z0-9]*$",
        "must be the name of an environment variable: use letters, digits, '_', '-' and '.', and"
        " begin with no digit",
    ),
]

MINIMUM_DURATION: Final = timedelta(seconds=10)
MAXIMUM_DURATION: Final = timedelta(hours=720)

_DurationText = Annotated[
    str,
    Field(max_length=18),
    Rule(
        f"self != '' && self.matches(r'{duration.PATTERN}')"
        " && duration(self) >= duration('10s') && duration(self) <= duration('720h')",
        "must be a duration from 10s to 720h: write hours, minutes and seconds, such as 15m or"
        " 1h30m",
        lambda text: (
            bool(text)
            and re.fullmatch(duration.PATTERN, text) is not None
            and MINIMUM_DURATION <= duration.parse(text) <= MAXIMUM_DURATION
        ),
    ),
]

Duration = Annotated[
    timedelta,
    GetPydanticSchema(
        lambda _source, handler: core_schema.no_info_after_validator_function(
            duration.parse, handler.generate_schema(_DurationText)
        )
    ),
    BeforeValidator(
        lambda value: duration.format(value) if isinstance(value, timedelta) else value
    ),
    PlainSerializer(duration.format, return_type=str),
]
"""A `timedelta` in whole seconds; in JSON the text of `imagerefresh.api.duration`."""


def _cron_field(value: str) -> str:
    item = rf"(\*|{value}(-{value})?)(/[1-9][0-9]?)?"
    return f"{item}(,{item})*"


_CRON: Final = " +".join(
    _cron_field(value)
    for value in (
        "[0-5]?[0-9]",
        "([01]?[0-9]|2[0-3])",
        "(0?[1-9]|[12][0-9]|3[01])",
        "(0?[1-9]|1[0-2])",
        "0?[0-7]",
    )
)
# As far as a pattern can say it; steps of months are left to the operator.
_DAY_NO_MONTH_HAS: Final = (
    r"[^ ]+ +[^ ]+ +((3[01](-31)?(/[0-9]+)?,?)+ +0?2|(31(-31)?(/[0-9]+)?,?)+ +((0?[2469]|11),?)+)"
    r" +\*.*"
)


@lru_cache(maxsize=1024)
def _is_schedule(text: str) -> bool:
    """The parser has the last word: what it accepts can also be followed."""
    if not re.fullmatch(_CRON, text):
        return False
    try:
        CronSim(text, datetime(2000, 1, 1, tzinfo=UTC))
    except CronSimError:
        return False
    return True


# cronsim rather than an own parser: it is well-kept, has no dependencies, and follows Debian's cron
# through clock changes.
Schedule = Annotated[
    str,
    Field(max_length=100),
    Rule(
        f"self.matches(r'^{_CRON}$')"
        " && self.findAll(r'[0-9]+-[0-9]+').all(r, int(r.split('-')[0]) <= int(r.split('-')[1]))"
        f" && !self.matches(r'^{_DAY_NO_MONTH_HAS}$')",
        "must be a cron schedule of five fields (minute, hour, day of month, month, day of week) in"
        " numbers: use *, lists, ranges from low to high and steps, such as"
        ' "7,37 8-18 * * 1-5", and days that the months have',
        _is_schedule,
    ),
]

_ZONE: Final = r"[A-Z][A-Za-z0-9_+-]*(/[A-Z][A-Za-z0-9_+-]*)*"


@lru_cache(maxsize=1024)
def _is_zone(name: str) -> bool:
    if name == "Local" or not re.fullmatch(_ZONE, name):
        return False
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # ZoneInfo lets the file system's errors through
        return False
    return True


# CEL knows a zone only by using it, and fails on an unknown one: the answer then holds the cause
# and this message. What only Go takes for a zone (+02:00, Local, nothing) the grammar refuses. The
# API server forgives an unchanged value that breaks a rule, but not one on which a rule fails; such
# a policy could not even get a status any more, hence the comparison.
TimeZone = Annotated[
    str,
    Field(max_length=64),
    Rule(
        "(oldSelf.hasValue() && oldSelf.value() == self) ||"
        f" (self.matches(r'^{_ZONE}$') && self != 'Local'"
        " && timestamp('2000-01-01T00:00:00Z').getHours(self) >= 0)",
        "must be an IANA time zone: use a name of the time zone database, such as Europe/Berlin or"
        " UTC",
        _is_zone,
        optional_old_self=True,
    ),
]
