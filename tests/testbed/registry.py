"""The CNCF registry as a child process, content in memory, behind a front for tests to steer."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from testbed import build, images, publish
from testbed.api import Manifest
from testbed.front import RegistryFront
from testbed.process import Child

_LISTENING = re.compile(r"listening on (127\.0\.0\.1:\d+)")
_CONFIGURATION = {
    "version": "0.1",
    "log": {"level": "info"},
    "storage": {"inmemory": {}, "delete": {"enabled": True}},
    "http": {"addr": "127.0.0.1:0", "secret": "one process, nothing to share"},
}


@dataclass(frozen=True)
class Login:
    """A user of a registry; the hash is bcrypt's."""

    username: str
    password: str
    password_hash: str


ROBOT = Login(
    "robot",
    "s3cr3t-Of-Robot",
    "$2b$04$imagerefreshtestbed.Oub3seYTHBeZ4I6QlvAIoMhS5/zjnnflq",
)


class Registry:
    """One registry: plain http, deletes allowed, on a loopback port of its own. It is open to all,
    or with `login` to nobody else, or as `auth` of its configuration says. Its content is in
    memory, or in the folder `storage` if that is given.

    `address` ("host:port") is that of its `front`, which counts requests and can be told to fail;
    the methods here go to the registry itself (`upstream`), so they are never counted and never
    fail. One with `auth` does not let them in: they go to another one on the same `storage`
    then, whose `upstream` is given.
    """

    def __init__(
        self,
        folder: Path,
        name: str = "registry",
        *,
        login: Login | None = None,
        auth: Manifest | None = None,
        storage: Path | None = None,
        upstream: str = "",
    ) -> None:
        """Start it; its log goes to `folder`/`name`.log."""
        configuration = folder / f"{name}.yaml"
        settings: Manifest = dict(_CONFIGURATION)
        if storage:
            settings["storage"] = {"filesystem": {"rootdirectory": str(storage)}}
        if auth:
            settings["auth"] = auth
        if login:
            passwords = folder / f"{name}.htpasswd"
            passwords.write_text(f"{login.username}:{login.password_hash}\n")
            settings["auth"] = {"htpasswd": {"realm": "test bed", "path": str(passwords)}}
        configuration.write_text(json.dumps(settings))
        self._child = Child(
            [str(build.tools()["registry"]), "serve", str(configuration)],
            log=folder / f"{name}.log",
        )
        try:
            match = self._child.wait_ready(lambda: _LISTENING.search(self._child.output()))
            assert match is not None
            address = match.group(1)
            prefix = f"{login.username}:{login.password}@" if login else ""
            self.upstream = upstream or f"{prefix}{address}"
            self.front = RegistryFront(address)
        except BaseException:
            self._child.kill()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def address(self) -> str:
        return self.front.address

    def stop(self) -> None:
        self.front.stop()
        self._child.kill()

    def publish(
        self,
        repository: str,
        tag: str,
        *,
        label: str | None = None,
        platforms: Sequence[str] = images.PLATFORMS,
        attestation: bool = True,
        docker: bool = False,
        bad: bool = False,
    ) -> str:
        """Publish an image and return the digest that the tag has now; see publish.publish."""
        return publish.publish(
            self.upstream,
            repository,
            tag,
            label=label,
            platforms=platforms,
            attestation=attestation,
            docker=docker,
            bad=bad,
        )

    def publish_artifact(self, repository: str, tag: str, *, by_config: bool = False) -> str:
        """Publish something that is no image; see images.artifact."""
        bundle = images.artifact(f"{repository}:{tag}", by_config=by_config)
        return publish.push(self.upstream, repository, tag, bundle)

    def retag(self, repository: str, tag: str, digest: str) -> None:
        """Point `tag` to what is there under `digest`."""
        publish.retag(self.upstream, repository, tag, digest)

    def delete(self, repository: str, reference: str) -> None:
        """Delete a tag, or by digest a manifest with all its tags."""
        publish.delete(self.upstream, repository, reference)

    def head(self, repository: str, reference: str) -> str:
        """The digest that the registry itself names."""
        return publish.head(self.upstream, repository, reference)

    def read_manifest(self, repository: str, reference: str) -> Manifest:
        """The manifest or index as JSON."""
        return publish.read_manifest(self.upstream, repository, reference)
