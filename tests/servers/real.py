"""Real registries, each set up in its own way, on one folder of images."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from testbed import build, publish
from testbed.process import Child

REPOSITORY = "team/app"
TAG = "prod"

_LISTENING = re.compile(r"listening on (127\.0\.0\.1:\d+)")


@contextmanager
def registry(folder: Path, name: str, **settings: object) -> Iterator[str]:
    """Start the CNCF registry; yields host and port.

    Args:
        folder: for its configuration and log; images are kept in `folder`/images.
        name: of this registry.
        settings: parts of its configuration; `http` is joined with the usual one.
    """
    http = settings.pop("http", {})
    assert isinstance(http, Mapping)
    configuration = {
        "version": "0.1",
        "log": {"level": "info"},
        "storage": {"filesystem": {"rootdirectory": str(folder / "images")}},
        "http": {"addr": "127.0.0.1:0", "secret": "one process, nothing to share", **http},
        **settings,
    }
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(configuration))
    command = [str(build.tools()["registry"]), "serve", str(path)]
    with Child(command, log=folder / f"{name}.log") as child:
        found = child.wait_ready(lambda: _LISTENING.search(child.output()))
        assert found is not None
        yield found.group(1)


def publish_image(folder: Path) -> str:
    """Put an image for two platforms, with an attestation, into `folder`; returns its digest."""
    with registry(folder, "open") as address:
        return publish.publish(address, REPOSITORY, TAG)
