"""A sample of `python -m proof histories`."""

from proof.histories import try_histories


def test_histories_hold() -> None:
    try_histories(examples=15, steps=30)
