"""The registries file on disk: changes are seen, whatever way they come."""

from pathlib import Path

import pytest
import trustme

from imagerefresh.registry.bucket import DEFAULT_RATE, Rate
from imagerefresh.registry.config_file import ConfigFile
from imagerefresh.registry.config_text import InvalidConfigError

LIMIT = "hosts: {{a.test: {{rateLimit: {{requestsPerSecond: {}}}}}}}\n"


def write(path: Path, text: str) -> None:
    """Replace it as editors do."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "registries.yaml"
    path.write_text(LIMIT.format(1))
    return path


@pytest.fixture
def file(path: Path) -> ConfigFile:
    return ConfigFile(path, allow_loopback=False)


def test_it_is_read_again_only_when_it_changes(file: ConfigFile, path: Path) -> None:
    assert file.load().rate_of("a.test") == Rate(1, 1)
    assert file.load_if_changed() is None
    write(path, LIMIT.format(2))
    changed = file.load_if_changed()
    assert changed is not None
    assert changed.rate_of("a.test") == Rate(2, 1)
    assert file.load_if_changed() is None


def test_a_mounted_config_map_changes_by_its_link(tmp_path: Path) -> None:
    for number in (1, 2):
        folder = tmp_path / f"..{number}"
        folder.mkdir()
        (folder / "registries.yaml").write_text(LIMIT.format(number))
    data = tmp_path / "..data"
    data.symlink_to("..1")
    path = tmp_path / "registries.yaml"
    path.symlink_to("..data/registries.yaml")
    file = ConfigFile(path, allow_loopback=False)
    file.load()
    new = tmp_path / "..data_tmp"
    new.symlink_to("..2")
    new.replace(data)
    changed = file.load_if_changed()
    assert changed is not None
    assert changed.rate_of("a.test") == Rate(2, 1)


def test_a_bad_file_is_told_once_and_a_good_one_taken_again(file: ConfigFile, path: Path) -> None:
    file.load()
    for bad in ("hosts: [", "host: {}\n"):
        write(path, bad)
        with pytest.raises(InvalidConfigError):
            file.load_if_changed()
        assert file.load_if_changed() is None
    path.unlink()
    with pytest.raises(InvalidConfigError, match="no such file"):
        file.load_if_changed()
    assert file.load_if_changed() is None
    write(path, LIMIT.format(3))
    changed = file.load_if_changed()
    assert changed is not None
    assert changed.rate_of("a.test") == Rate(3, 1)


def test_a_file_that_it_names_counts_too(tmp_path: Path, path: Path) -> None:
    """Certificates are renewed without a change of the file."""
    ca = tmp_path / "ca.crt"
    ca.write_bytes(trustme.CA().cert_pem.bytes())
    path.write_text(f"\nhosts:\n  a.test:\n    caFile: {ca}\n")
    file = ConfigFile(path, allow_loopback=False)
    before = file.load().for_host("a.test", 443).tls
    assert before is not None
    assert file.load().for_host("b.test", 443).tls is None
    ca.write_bytes(trustme.CA().cert_pem.bytes())
    changed = file.load_if_changed()
    assert changed is not None
    assert changed.for_host("a.test", 443).tls is not before
    ca.write_text("no certificate")
    with pytest.raises(InvalidConfigError, match=r":4: hosts\.a\.test\.caFile: not a usable file"):
        file.load_if_changed()
    ca.unlink()
    with pytest.raises(InvalidConfigError, match=r":4: hosts\.a\.test\.caFile: no such file"):
        file.load_if_changed()
    ca.write_bytes(trustme.CA().cert_pem.bytes())
    assert file.load_if_changed() is not None


def test_client_certificates(tmp_path: Path, path: Path) -> None:
    leaf = trustme.CA().issue_cert("client.test")
    cert, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    leaf.cert_chain_pems[0].write_to_path(str(cert))
    leaf.private_key_pem.write_to_path(str(key))
    path.write_text(
        f"hosts:\n a.test:\n  clientCertificate:\n   certFile: {cert}\n   keyFile: {key}\n"
    )
    file = ConfigFile(path, allow_loopback=False)
    assert file.load().for_host("a.test", 443).tls is not None
    key.write_bytes(trustme.CA().issue_cert("x.test").private_key_pem.bytes())
    with pytest.raises(InvalidConfigError, match=r":3: hosts\.a\.test\.clientCertificate: not a"):
        file.load_if_changed()


def test_a_huge_file_and_a_folder_are_refused(file: ConfigFile, path: Path) -> None:
    write(path, "#" * 2_000_000)
    with pytest.raises(InvalidConfigError, match="larger than"):
        file.load()
    with pytest.raises(InvalidConfigError, match="is a directory"):
        ConfigFile(path.parent, allow_loopback=False).load()


def test_an_unreadable_file_is_told(file: ConfigFile, path: Path) -> None:
    path.unlink()
    with pytest.raises(InvalidConfigError, match="no such file"):
        file.load()
    assert file.load_if_changed() is None
    write(path, "{}")
    changed = file.load_if_changed()
    assert changed is not None
    assert changed.rate_of("a.test") == DEFAULT_RATE
