"""`python -m testbed`: build the programs, publish an image, or bring everything up by hand."""

import argparse
import signal
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from testbed import build, publish
from testbed.controlplane import ControlPlane
from testbed.installation import install_cluster_part
from testbed.process import ProcessError
from testbed.registry import Registry


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m testbed", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build", help="compile what this machine lacks, and show where all is")
    commands.add_parser("up", help="start a control plane with the CRD, and two registries")
    one = commands.add_parser("publish", help="publish a small image and print its digest")
    one.add_argument("image", metavar="HOST:PORT/REPOSITORY:TAG")
    one.add_argument("--bad", action="store_true", help="one that never becomes ready")
    one.add_argument("--label", help="the same label gives the same digest; default: a new one")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):  # clean up, even if a shell had SIGINT ignored
        signal.signal(number, signal.default_int_handler)
    try:
        if options.command == "build":
            _build()
        elif options.command == "up":
            _up()
        else:
            _publish(options.image, label=options.label, bad=options.bad)
    except (build.BuildError, publish.PublishError, ProcessError, OSError) as error:
        sys.stderr.write(f"testbed: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _build() -> None:
    for name, path in build.tools().items():
        sys.stdout.write(f"{name:24} {path}\n")


def _up() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="testbed-") as folder,
        ControlPlane(Path(folder)) as control_plane,
        Registry(Path(folder)) as registry,
        Registry(Path(folder), "second-registry") as second,
    ):
        install_cluster_part(control_plane)
        sys.stdout.write(
            f"export KUBECONFIG={control_plane.kubeconfig}\n"
            f"# registries: {registry.address} and {second.address}; logs: {folder}\n"
            "# Ctrl-C stops everything\n"
        )
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


def _publish(image: str, *, label: str | None, bad: bool) -> None:
    registry, slash, rest = image.partition("/")
    repository, colon, tag = rest.rpartition(":")
    if not (slash and colon):
        raise SystemExit(f"testbed: {image!r} is not HOST:PORT/REPOSITORY:TAG")
    digest = publish.publish(registry, repository, tag, label=label, bad=bad)
    sys.stdout.write(f"{digest}\n")


if __name__ == "__main__":
    sys.exit(main())
