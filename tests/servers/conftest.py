"""Fixtures of the tests on real registries; no control plane is needed."""

from pathlib import Path

import pytest

from servers.real import publish_image
from testbed import build


@pytest.fixture(scope="session", autouse=True)
def _tools(pytestconfig: pytest.Config) -> None:
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():  # a first build takes minutes: show its progress
        build.tools()


@pytest.fixture
def digest(tmp_path: Path) -> str:
    """Of the image that is there, in the folder of the test."""
    return publish_image(tmp_path)
