"""Guards on how the tree itself is laid out."""

import importlib.metadata
import operator
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import imagerefresh

ROOT = Path(__file__).resolve().parents[2]
STDLIB = Path(sysconfig.get_path("stdlib"))


def test_operator_folder_is_not_a_package() -> None:
    assert not (ROOT / "operator" / "__init__.py").exists()


@pytest.mark.parametrize("folder", [".", "operator", "tests"])
def test_operator_is_the_standard_library_from(folder: str) -> None:
    """A script, or `python -m`, puts its folder first on sys.path."""
    found = subprocess.run(
        [sys.executable, "-c", "import operator; print(operator.__file__)"],
        cwd=ROOT / folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(found.stdout.strip()).parent == STDLIB


def test_operator_is_the_standard_library_in_the_tests() -> None:
    assert Path(operator.__file__).parent == STDLIB


def test_package_is_imported_from_the_tree() -> None:
    assert Path(imagerefresh.__file__).parent == ROOT / "operator" / "imagerefresh"


def test_version_has_one_source() -> None:
    assert importlib.metadata.version("imagerefresh") == imagerefresh.__version__
