"""Which tests prove which rule of docs/contract.md.

A test proves the rules that its docstring names, and those that the docstring of its module names,
each as `B7` or in a range: `B5 to B9`.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_RULE: Final = re.compile(r"^- \*\*B(\d+)\*\* ", re.MULTILINE)
_NAMED: Final = re.compile(r"\bB(\d+)(?:\s+to\s+B(\d+))?\b")


@dataclass(frozen=True)
class Proofs:
    """How many tests name each rule: by their own docstring, and by that of their module alone."""

    own: Counter[int]
    by_module: Counter[int]

    @property
    def rules(self) -> set[int]:
        """The rules that a test names."""
        return self.own.keys() | self.by_module.keys()


def rules() -> set[int]:
    """The numbers of the rules in docs/contract.md."""
    text = (ROOT / "docs" / "contract.md").read_text(encoding="utf-8")
    return {int(number) for number in _RULE.findall(text)}


def proofs(tests: Path = ROOT / "tests") -> Proofs:
    """Of all tests below a folder."""
    found = Proofs(Counter(), Counter())
    for file in sorted(tests.rglob("test_*.py")):
        module = ast.parse(file.read_text(encoding="utf-8"), file)
        of_module = named(ast.get_docstring(module))
        for test in ast.walk(module):
            if isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef) and _is_test(test.name):
                own = named(ast.get_docstring(test))
                found.own.update(own)
                found.by_module.update(of_module - own)
    return found


def named(text: str | None) -> set[int]:
    """The rules that a text names."""
    return set(_numbers(text or ""))


def _numbers(text: str) -> Iterator[int]:
    for first, last in _NAMED.findall(text):
        yield from range(int(first), int(last or first) + 1)


def _is_test(name: str) -> bool:
    return name.startswith("test_")


def main(arguments: list[str]) -> int:
    """Print the number of tests of each rule; 1 if a rule has none or a test names none."""
    if arguments:
        print("usage: python -m proof contract", file=sys.stderr)
        return 2
    known, found = rules(), proofs()
    print("rule   tests that name it   tests of modules that do")
    for rule in sorted(known):
        print(f"B{rule:<3} {found.own[rule]:>20} {found.by_module[rule]:>26}")
    unproven, unknown = sorted(known - found.rules), sorted(found.rules - known)
    for rule in unproven:
        print(f"no test names B{rule}", file=sys.stderr)
    for rule in unknown:
        print(f"tests name B{rule}, which docs/contract.md does not have", file=sys.stderr)
    return 1 if unproven or unknown else 0
