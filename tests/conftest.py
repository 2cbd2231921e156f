"""What all tests share: hypothesis draws the same examples in every CI run, and others at home."""

import os

import pytest
from hypothesis import settings

# No deadline: a shared machine is slow at times, and that is no fault of the code.
settings.register_profile("home", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "home")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow tests first: begun last, one worker would still run them when the others are done."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
