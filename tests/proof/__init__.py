"""Proofs that take longer than a test may, each with a table of what it found.

`python -m proof NAME` runs one in full; a sample of it is among the tests.
"""
