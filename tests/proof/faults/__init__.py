"""Faults at every write of the operator, on a real API server.

Each story of `scenarios` is played once undisturbed, and its writes are told apart (`writes`). Then
it is played again for each write and each kind of fault (`kinds`), and has to come to the same end
by as many rollouts (`prove`). A `lane` plays many at once.
"""

from proof.faults.command import main

__all__ = ["main"]
