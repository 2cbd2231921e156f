"""`python -m proof NAME ...`: run a proof, and exit with 1 if it does not hold."""

import sys
from importlib import import_module
from typing import Final

PROOFS: Final = {
    "contract": "which tests prove which rule of docs/contract.md",
    "objects": "objects changed one field at a time while the operator runs",
    "soak": "many policies through moves, edits, failures and kills",
    "model": "every state that a small model of a cluster can reach, around the real operator",
    "mutation": "that the search of the model catches an operator broken on purpose",
    "histories": "long histories of several policies with many images",
    "faults": "every fault at every write of every story",
}
"""Modules of this package with a function `main`, which takes the arguments and returns the exit
status.
"""


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in PROOFS:
        print("usage: python -m proof NAME, with NAME one of", file=sys.stderr)
        for name, what in PROOFS.items():
            print(f"  {name:<10} {what}", file=sys.stderr)
        return 2
    name, *rest = arguments
    status: int = import_module(f"proof.{name}").main(rest)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
