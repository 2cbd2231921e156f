"""Objects changed one field at a time on a real API server, while the operator runs.

`steps` gathers the changes that `schema_changes`, `workload_changes` and `annotation_changes` come
up with. A `subject` is a policy and its target, which undergo them, and a `verdict` says of what
they then are whether it will do.
"""

from proof.objects.command import main

__all__ = ["main"]
