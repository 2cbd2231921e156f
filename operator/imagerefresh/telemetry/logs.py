"""Set-up of logging: a line per record, for people or collectors, with the policy it is about.

Credentials are kept out of messages where they are made. The redaction here is a second line of
defence, for what a library or an exception might say.
"""

import json
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Final, TextIO

from typing_extensions import override

_policy: ContextVar[str] = ContextVar("policy", default="")

QUIET: Final = ("kopf", "kubernetes_asyncio", "aiohttp", "asyncio")
"""Loggers of libraries: below WARNING they tell of each tick and request, with whole bodies."""

MUTE: Final = ("kopf.objects",)
"""Below ERROR they tell of each keeper that is stopped, which is nothing to be warned of."""

_SECRETS: Final = re.compile(
    r"""
      (?P<header> \b (?:proxy-)?authorization ["']? \s* [:=] \s* ["']? (?:basic|bearer)? \s*)
      (?P<value> [^\r\n"']+)
    | (?P<scheme> \b (?:basic|bearer) \s+)
      (?! (?:realm|scope|service|error) = | (?:authentication|challenge|credentials?) \b )
      (?P<token> [A-Za-z0-9._~+/=-]{8,})
    | (?P<url> :// [^\s/:@"']* :) (?P<password> [^\s/@"']+) (?= @)
    | (?P<jwt> \b eyJ [\w-]+ \. [\w-]+ \. [\w-]+ )
    """,
    re.IGNORECASE | re.VERBOSE,
)


def configure(*, json_lines: bool, level: str, stream: TextIO = sys.stderr) -> None:
    """Sends all records to `stream`. `level` is the name of one of Python's levels, in any case."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_JsonFormatter() if json_lines else _TextFormatter())
    handler.addFilter(_soften)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.root.level))
    for name in MUTE:
        logging.getLogger(name).setLevel(logging.ERROR)


@contextmanager
def about_policy(namespace: str, name: str) -> Iterator[None]:
    """Records made within, also in tasks started within, name this policy."""
    token = _policy.set(f"{namespace}/{name}")
    try:
        yield
    finally:
        _policy.reset(token)


def redact(text: str) -> str:
    """The text without what looks like credentials: values of Authorization, passwords in URLs."""
    return _SECRETS.sub(_keep_the_rest, text)


def _keep_the_rest(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return (groups["header"] or groups["scheme"] or groups["url"] or "") + "[redacted]"


def _soften(record: logging.LogRecord) -> bool:
    """Kopf calls it an error when the API server has to be asked once more (B29)."""
    if record.name.startswith("kopf.") and "failed; will retry" in record.getMessage():
        record.levelno, record.levelname = logging.WARNING, "WARNING"
    return True


class _TextFormatter(logging.Formatter):
    @override
    def format(self, record: logging.LogRecord) -> str:
        policy = _policy.get()
        about = f" [{policy}]" if policy else ""
        text = f"{_time(record)} {record.levelname} {record.name}{about} {record.getMessage()}"
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return redact(text)


class _JsonFormatter(logging.Formatter):
    @override
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": redact(record.getMessage()),
        }
        if policy := _policy.get():
            line["policy"] = policy
        if record.exc_info:
            line["exception"] = redact(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
