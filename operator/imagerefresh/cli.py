"""The command `imagerefresh`."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence

from imagerefresh import __version__, handlers, resolve
from imagerefresh.reference import InvalidReference, parse
from imagerefresh.registries import Registries
from imagerefresh.registry import InvalidConfigError
from imagerefresh.settings import Settings, SettingsError

NOT_FOUND = 1
USAGE_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="imagerefresh", description="Follows published image tags and proves each rollout."
    )
    parser.add_argument("--version", action="version", version=f"imagerefresh {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run", help="run the operator; settings come from environment variables")
    command = commands.add_parser(
        "resolve",
        help="show what the operator would see at the registry of an image; needs no cluster",
        description="Resolves a tag as the operator does, with the same settings, and shows each "
        "request. Exit codes: 0 an image was found, 1 none was, 2 the command can't be run.",
    )
    command.add_argument("image", help="as in the image field of a container")
    command.add_argument("--output", choices=resolve.FORMATS, default="text", help="default: text")
    given = parser.parse_args(arguments)
    try:
        settings = Settings.from_environment(os.environ)
        if given.command == "resolve":
            return resolve_image(given.image, given.output, settings)
        Registries.open(settings, lambda _: None)  # a bad file is told before anything starts
    except (SettingsError, InvalidConfigError, InvalidReference) as error:
        print(error, file=sys.stderr)
        return USAGE_ERROR
    return run(settings)


def run(settings: Settings) -> int:
    """Runs the operator until it is told to stop."""
    asyncio.run(handlers.operate(settings.namespaces))
    return 0


def resolve_image(image: str, output: str, settings: Settings) -> int:
    """Shows what an image reference stands for.

    Raises:
        InvalidReference: it is none.
        InvalidConfigError: the registries file can't be used.
    """
    found = asyncio.run(resolve.look(parse(image), settings))
    print(resolve.FORMATS[output](found))
    return 0 if found.trouble is None else NOT_FOUND
