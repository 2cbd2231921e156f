"""What all tests share: hypothesis draws the same examples in every CI run, and others at home."""

import os

from hypothesis import settings

# No deadline: a shared machine is slow at times, and that is no fault of the code.
settings.register_profile("home", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "home")
