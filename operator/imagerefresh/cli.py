"""The command `imagerefresh`."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence

from imagerefresh import __version__, handlers
from imagerefresh.settings import Settings, SettingsError

USAGE_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="imagerefresh", description="Follows published image tags and proves each rollout."
    )
    parser.add_argument("--version", action="version", version=f"imagerefresh {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run", help="run the operator; settings come from environment variables")
    parser.parse_args(arguments)
    return run()


def run() -> int:
    """Runs the operator until it is told to stop."""
    try:
        settings = Settings.from_environment(os.environ)
    except SettingsError as error:
        print(error, file=sys.stderr)
        return USAGE_ERROR
    asyncio.run(handlers.operate(settings.namespaces))
    return 0
