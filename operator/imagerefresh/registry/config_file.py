"""The registries file on disk: read, opened as far as it names other files, and read again when
anything of that changes.

A mounted ConfigMap is changed by pointing a symbolic link elsewhere, so a change is seen by what
stands behind the path: inode, time and size.
"""

import ssl
from collections.abc import Iterable, Iterator
from pathlib import Path

from imagerefresh.registry.config import Config, Credentials, Host, Insecure
from imagerefresh.registry.config_text import ConfigText, InvalidConfigError
from imagerefresh.registry.dockerconfig import read_docker_config
from imagerefresh.registry.keyring import Keyring
from imagerefresh.registry.proxies import Proxies
from imagerefresh.registry.rules import Rules

_MAX_SIZE = 1024 * 1024
_LEGACY_NAME = ".dockercfg"

_Stamp = tuple[Path, int, int, int]


class ConfigFile:
    """One registries file."""

    def __init__(self, path: Path, *, allow_loopback: bool, proxies: Proxies | None = None) -> None:
        """Take its path, and what of the process's settings `Rules` wants."""
        self._path = path
        self._allow_loopback = allow_loopback
        self._proxies = proxies
        self._seen: tuple[_Stamp, ...] = ()

    def load(self) -> Rules:
        """Read it; raises InvalidConfigError."""
        self._seen = tuple(_stamps([self._path]))  # first: what changes meanwhile is seen next time
        try:
            data = _read(self._path)
        except _UnreadableError as why:
            raise InvalidConfigError(f"{self._path}: {why}") from None
        text = ConfigText(self._path, data)
        config = text.config()
        self._seen += tuple(_stamps(_named(config)))
        contexts = {
            name: _context(text, name, host) for name, host in config.hosts.items() if host.has_tls
        }
        keyrings = [_keyring(text, number, each) for number, each in enumerate(config.credentials)]
        return Rules(
            config,
            contexts,
            keyrings,
            allow_loopback=self._allow_loopback,
            proxies=self._proxies,
        )

    def load_if_changed(self) -> Rules | None:
        """Read it if it, or a file that it names, has changed since it was last read.

        Returns None if nothing has changed; raises InvalidConfigError, once for each change.
        """
        seen = tuple(_stamps(path for path, *_ in self._seen))
        return None if seen == self._seen else self.load()


def _context(text: ConfigText, name: str, host: Host) -> ssl.SSLContext:
    """Return how TLS is spoken to a host; the files are read now."""
    context = ssl.create_default_context()
    if host.insecure is Insecure.SKIP_VERIFY:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if host.ca_file is not None:
        try:
            context.load_verify_locations(cafile=host.ca_file)
        except OSError as error:
            raise text.problem(("hosts", name, "caFile"), _reason(error)) from None
    if host.client_certificate is not None:
        files = host.client_certificate
        try:
            # A password would be asked for at the terminal.
            context.load_cert_chain(files.cert_file, files.key_file, password="")
        except OSError as error:
            raise text.problem(("hosts", name, "clientCertificate"), _reason(error)) from None
    return context


def _keyring(text: ConfigText, number: int, credentials: Credentials) -> Keyring:
    """Return what a docker config holds. Unlike a pull secret it is an administrator's, who is told
    of each fault in it and has the last good one in force meanwhile.
    """
    path, place = credentials.docker_config_file, ("credentials", number, "dockerConfigFile")
    try:
        content = _read(path)
    except _UnreadableError as why:
        raise text.problem(place, f"{path}: {why}") from None
    found = read_docker_config(
        content, f'docker config "{path}"', is_legacy=path.name == _LEGACY_NAME
    )
    if found.problems:
        raise text.problem(place, "; ".join(found.problems))
    return Keyring([found])


def _named(config: Config) -> Iterator[Path]:
    for host in config.hosts.values():
        if host.ca_file is not None:
            yield host.ca_file
        if host.client_certificate is not None:
            yield host.client_certificate.cert_file
            yield host.client_certificate.key_file
    for credentials in config.credentials:
        yield credentials.docker_config_file


class _UnreadableError(Exception):
    """Why a file can't be read."""


def _read(path: Path) -> bytes:
    """Read a file; raises _UnreadableError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _UnreadableError(_reason(error)) from None
    if len(data) > _MAX_SIZE:
        raise _UnreadableError(f"larger than {_MAX_SIZE} bytes")
    return data


def _stamps(paths: Iterable[Path]) -> Iterator[_Stamp]:
    """What stands behind the paths now; zeros for nothing."""
    for path in paths:
        try:
            found = path.stat()
        except OSError:
            yield path, 0, 0, 0
        else:
            yield path, found.st_ino, found.st_mtime_ns, found.st_size


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return "not a usable file in PEM format"
    return (error.strerror or "can't be read").lower()
