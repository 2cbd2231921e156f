"""A dictionary of bounded size that forgets what was used least recently."""

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LRU(Generic[K, V]):
    """Keeps at most `size` entries."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """Return the value, now the most recently used; None if there is none."""
        value = self._entries.get(key)
        if value is not None:
            self._entries.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        """Add or replace; forgets the oldest entry if there are too many."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._size:
            self._entries.popitem(last=False)

    def pop(self, key: K) -> None:
        """Forget one."""
        self._entries.pop(key, None)

    def __len__(self) -> int:
        return len(self._entries)
