"""The command `imagerefresh`."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from imagerefresh import __version__, handlers, resolve
from imagerefresh.cluster.errors import NotConfigured
from imagerefresh.reference import InvalidReference, Reference, parse
from imagerefresh.registries import Registries
from imagerefresh.registry import (
    Credential,
    InvalidConfigError,
    Keyring,
    read_docker_config,
)
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
    command.add_argument(
        "--docker-config",
        type=Path,
        metavar="PATH",
        help="credentials, in the form that pull secrets hold; without it there are none",
    )
    command.add_argument(
        "--namespace",
        default="",
        metavar="NAME",
        help="use the credentials that the registries file has for the policies of a namespace",
    )
    given = parser.parse_args(arguments)
    try:
        settings = Settings.from_environment(os.environ)
        if given.command == "resolve":
            return resolve_image(
                given.image, given.output, given.docker_config, given.namespace, settings
            )
        Registries.open(settings, lambda _: None)  # a bad file is told before anything starts
    except (SettingsError, InvalidConfigError, InvalidReference) as error:
        print(error, file=sys.stderr)
        return USAGE_ERROR
    return run(settings)


def run(settings: Settings) -> int:
    """Runs the operator until it is told to stop."""
    try:
        asyncio.run(handlers.operate(settings.namespaces))
    except NotConfigured as error:
        print(error, file=sys.stderr)
        return USAGE_ERROR
    return 0


def resolve_image(
    image: str, output: str, docker_config: Path | None, namespace: str, settings: Settings
) -> int:
    """Shows what an image reference stands for.

    Raises:
        InvalidReference: it is none.
        InvalidConfigError: the registries file can't be used.
        SettingsError: the docker config can't be read.
    """
    reference = parse(image)
    for problem in settings.proxies.problems:
        print(problem, file=sys.stderr)
    credentials = _credentials(docker_config, reference) if docker_config else []
    found = asyncio.run(resolve.look(reference, settings, credentials, namespace))
    print(resolve.FORMATS[output](found))
    return 0 if found.trouble is None else NOT_FOUND


def _credentials(path: Path, reference: Reference) -> list[Credential]:
    """Those of a docker config that are meant for an image."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SettingsError(f"{path}: {(error.strerror or 'not readable').lower()}") from None
    config = read_docker_config(content, str(path))
    for problem in config.problems:
        print(problem, file=sys.stderr)
    return Keyring([config]).credentials_for(reference)
