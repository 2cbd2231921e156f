"""The text of a registries file: YAML to `Config`, and each problem with its line.

Problems tell keys and reasons, and nothing with an @ in it: people write addresses with a password.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml
from pydantic import ValidationError

from imagerefresh.registry.config import Config, host_name

_MAX_PROBLEMS = 20
_QUOTED = re.compile(r"'[^'<][^']+'")  # names and tags; not single characters and kinds of nodes
_MERGE_TAG = "tag:yaml.org,2002:merge"


class InvalidConfigError(ValueError):
    """The registries file can't be used; one line per problem."""


class ConfigText:
    """A text and where in it things stand."""

    def __init__(self, path: Path, data: bytes) -> None:
        """Read the YAML; raises InvalidConfigError."""
        self._path = path
        try:
            self._root = yaml.compose(data, Loader=yaml.SafeLoader)
            self._value = yaml.safe_load(data)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = f":{mark.line + 1}" if mark else ""
            told = _QUOTED.sub("...", error.problem or "")
            raise InvalidConfigError(f"{path}{line}: not YAML: {told}") from None
        except (yaml.YAMLError, ValueError, RecursionError):
            raise InvalidConfigError(f"{path}: not YAML") from None

    def config(self) -> Config:
        """Check it; raises InvalidConfigError with all problems at once."""
        twice = next(_duplicates(self._root), None)
        if twice is not None:
            line = twice.start_mark.line + 1
            raise InvalidConfigError(f"{self._path}:{line}: a key stands there twice")
        try:
            config = Config.model_validate({} if self._value is None else self._value)
        except ValidationError as error:
            problems = error.errors(include_url=False, include_context=False, include_input=False)
            raise InvalidConfigError(
                "\n".join(
                    str(self.problem(problem["loc"], _told(problem["msg"])))
                    for problem in problems[:_MAX_PROBLEMS]
                )
            ) from None
        self._check_hosts()
        return config

    def _check_hosts(self) -> None:
        """Raise InvalidConfigError if two entries of a good file are about one host."""
        seen: dict[str, str] = {}
        for host in (self._value or {}).get("hosts") or ():
            other = seen.setdefault(host_name(host), host)
            if other != host:
                told = f"names the same host as {other}: join the two entries"
                raise self.problem(("hosts", host), told)

    def problem(self, place: Sequence[str | int], reason: str) -> InvalidConfigError:
        """Return an error about one place in the file."""
        keys = ".".join(_shown(part) for part in place if part != "[key]")
        where = f"{keys}: " if keys else ""
        return InvalidConfigError(f"{self._path}:{self._line(place)}: {where}{reason}")

    def _line(self, place: Sequence[str | int]) -> int:
        """Return the line of a place, or of the last of its parts that is there."""
        node, line = self._root, 1
        for part in place:
            if isinstance(node, yaml.MappingNode):
                found = next(((k, v) for k, v in node.value if k.value == part), None)
                if found is None:
                    break
                line, node = found[0].start_mark.line + 1, found[1]
            elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
                node = node.value[part]
                line = node.start_mark.line + 1
            else:
                break
        return line


def _shown(part: str | int) -> str:
    return "..." if "@" in str(part) else str(part)


def _told(message: str) -> str:
    return message.removeprefix("Value error, ")


def _duplicates(root: yaml.Node | None) -> Iterator[yaml.Node]:
    """The keys that stand in one mapping twice."""
    waiting, seen = [root], set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:  # an alias
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)
        elif isinstance(node, yaml.MappingNode):
            keys = set()
            for key, value in node.value:
                waiting.append(value)
                if key.tag != _MERGE_TAG and isinstance(key.value, str):
                    if key.value in keys:
                        yield key
                    keys.add(key.value)
