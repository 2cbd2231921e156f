"""Real registries, each set up in its own way, on one folder of images."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import bcrypt
import trustme

from imagerefresh.registry import Credential
from testbed import build, publish
from testbed.process import Child

REPOSITORY = "team/app"
TAG = "prod"
BOB = Credential('secret "bob"', username="bob", password="s3cr\u00e9t:x")
EVE = Credential('secret "eve"', username="eve", password="guess")
"""Bob may pull, where anybody is asked who they are."""

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


@contextmanager
def tls_registry(folder: Path, *names: str) -> Iterator[tuple[str, Path]]:
    """Start a registry that lets Bob in, by password and over TLS.

    Args:
        folder: as for `registry`.
        names: hosts that its certificate is made out to.

    Yields host and port, and the file of the certificate's issuer, whom nobody else trusts.
    """
    ca = trustme.CA()
    leaf = ca.issue_cert(*names)
    ca_file, cert, key = (folder / name for name in ("ca.crt", "tls.crt", "tls.key"))
    ca.cert_pem.write_to_path(str(ca_file))
    leaf.cert_chain_pems[0].write_to_path(str(cert))
    leaf.private_key_pem.write_to_path(str(key))
    hashed = bcrypt.hashpw(BOB.password.encode(), bcrypt.gensalt(4)).decode()
    passwords = folder / "htpasswd"
    passwords.write_text(f"{BOB.username}:{hashed}\n")
    with registry(
        folder,
        "guarded",
        auth={"htpasswd": {"realm": "basic-realm", "path": str(passwords)}},
        http={"tls": {"certificate": str(cert), "key": str(key)}},
    ) as address:
        yield address, ca_file
