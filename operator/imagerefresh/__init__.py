"""Follows published images and brings workloads to each new one, once, proven.

Only the version lives here: importing the package must stay cheap and without side effects.
"""

__version__ = "0.1.0"
