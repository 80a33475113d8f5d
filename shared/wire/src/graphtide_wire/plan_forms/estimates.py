"""Estimates as JSON, which has no infinity: one without bound becomes the largest number there is."""

from __future__ import annotations

import sys

Estimates = tuple[float, ...]
Rows = tuple[Estimates, ...]
Cardinalities = tuple[tuple[str, float], ...]


def finite(number: float) -> float:
    """Return the number, or the nearest that JSON has."""
    return min(max(number, -sys.float_info.max), sys.float_info.max)


def finite_row(numbers: Estimates) -> Estimates:
    """Return the same of each number."""
    return tuple(finite(number) for number in numbers)


def finite_rows(rows: Rows) -> Rows:
    """Return the same of each number of each row."""
    return tuple(finite_row(row) for row in rows)


def finite_cardinalities(cardinalities: Cardinalities) -> Cardinalities:
    """Return the same of each number that has a name."""
    return tuple((name, finite(number)) for name, number in cardinalities)
