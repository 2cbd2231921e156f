"""Many policies through a long time of moves, edits, failures and kills, on a real API server.

A `crowd` of policies suffers `people`, an `observer` takes down what the operator does about it,
and in the end the `history` of each image and what is left `unsettled` are judged.
"""

from proof.soak.command import main

__all__ = ["main"]
