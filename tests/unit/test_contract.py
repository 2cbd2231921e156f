"""docs/contract.md has each rule that is named anywhere; and how the proofs of one are counted."""

from collections import Counter
from pathlib import Path

import pytest

from proof.contract import ROOT, named, proofs, rules

_TEXTS = [
    file
    for folder, pattern in (("operator", "*.py"), ("tests", "*.py"), ("docs", "*.md"))
    for file in (ROOT / folder).rglob(pattern)
    if file != Path(__file__)
]


def test_rules_are_numbered_from_one() -> None:
    assert rules() == set(range(1, len(rules()) + 1))


def test_each_rule_has_a_proof() -> None:
    """`python -m proof contract` says how many each has."""
    assert rules() - proofs().rules == set()


def test_what_is_named_is_there() -> None:
    found = {file.name: named(file.read_text(encoding="utf-8")) - rules() for file in _TEXTS}
    assert {name: unknown for name, unknown in found.items() if unknown} == {}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        (None, set()),
        ("B7.", {7}),
        ("Trouble (B7, B29) and B5 to B8", {5, 6, 7, 8, 29}),
        ("B5\nto B7: over two lines", {5, 6, 7}),
        ("AB7, B7x and b7 are none", set()),
    ],
)
def test_rules_that_a_text_names(text: str | None, numbers: set[int]) -> None:
    assert named(text) == numbers


def test_proofs_are_counted_by_test(tmp_path: Path) -> None:
    (tmp_path / "deeper").mkdir()
    (tmp_path / "test_one.py").write_text(
        '"""About B1 to B2."""\ndef test_a():\n    """B2."""\ndef test_b():\n    pass\n'
        'def helper():\n    """B3."""\n'
    )
    (tmp_path / "deeper" / "test_two.py").write_text(
        'class TestIt:\n    async def test_c(self):\n        """B4: a method."""\n'
    )
    (tmp_path / "other.py").write_text('def test_d():\n    """B5."""\n')

    found = proofs(tmp_path)

    assert found.own == Counter({2: 1, 4: 1})
    assert found.by_module == Counter({1: 2, 2: 1})
