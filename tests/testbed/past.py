"""What a lagging cache of the API server would answer: objects as they were before a write."""

import threading
from collections.abc import Mapping

from testbed.api import Manifest


class Past:
    """Objects by their path. Each is shown once alone and once in a list, when told to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._before: dict[str, Manifest] = {}
        self._alone: set[str] = set()
        self._in_lists: set[str] = set()

    def remember(self, path: str, before: Manifest) -> None:
        """Keep an object that is about to be written; the latest write counts."""
        with self._lock:
            self._before[path] = before

    def forget(self) -> None:
        with self._lock:
            for each in (self._before, self._alone, self._in_lists):
                each.clear()

    def show(self, path: str) -> bool:
        """Show the object at its next reads; False if it was never written."""
        with self._lock:
            if path not in self._before:
                return False
            self._alone.add(path)
            self._in_lists.add(path)
            return True

    def is_unread(self, path: str) -> bool:
        """Whether no read has met what was to be shown."""
        with self._lock:
            return path in self._alone and path in self._in_lists

    def take(self, path: str) -> Manifest | None:
        """The object to answer a read of it with, instead of what is there now."""
        with self._lock:
            if path not in self._alone:
                return None
            self._alone.remove(path)
            return self._before[path]

    def take_items(self, collection: str) -> dict[str, Manifest]:
        """Objects to put in a list of `collection`, by name."""
        with self._lock:
            paths = [each for each in self._in_lists if each.rpartition("/")[0] == collection]
            self._in_lists.difference_update(paths)
            return {path.rpartition("/")[2]: self._before[path] for path in paths}


def with_items(listed: Manifest, past: Mapping[str, Manifest]) -> Manifest:
    """A list with these objects, and as old as the oldest of them: a watch from there goes on."""
    items = [past.get(item["metadata"]["name"], item) for item in listed["items"]]
    oldest = min((each["metadata"]["resourceVersion"] for each in past.values()), key=int)
    metadata = listed["metadata"] | {"resourceVersion": oldest}
    return listed | {"items": items, "metadata": metadata}
