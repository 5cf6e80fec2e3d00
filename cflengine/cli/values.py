"""What options hold: types for argparse, each with one sentence for what is none of its values."""

from __future__ import annotations

import argparse
import csv
import math
from typing import Any


def number(kind: type, least: float, most: float = math.inf) -> Any:
    """A type for argparse: a ``kind`` (int or float) within limits."""

    def parse(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not {'a whole' if kind is int else 'a'} number") from None
        if not least <= value <= most:
            limits = f"at least {least:g}" if most == math.inf else f"between {least:g} and {most:.10g}"
            raise argparse.ArgumentTypeError(f"{text} is not {limits}")
        return value

    return parse


def pattern(text: str) -> str:
    """A token pattern; argparse's error for one that cannot be used."""
    from cflengine.text import check_pattern

    try:
        return check_pattern(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error).rstrip(".")) from None


def penalty_values(text: str) -> list[float]:
    """Values above 0 separated by commas; argparse's error for anything else."""
    found = _finite_values(text)
    if not found or found[0] <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers above 0, such as 0.1,1,10")
    return found


def penalty_values_or_0(text: str) -> list[float]:
    """Values of 0 or above separated by commas; argparse's error for anything else."""
    found = _finite_values(text)
    if not found or found[0] < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers, none below 0, such as 0,0.1,1")
    return found


def _finite_values(text: str) -> list[float]:
    """Ascending, each once; empty where one is no number."""
    try:
        found = sorted({float(value) for value in text.split(",")})
    except ValueError:
        return []
    return found if all(map(math.isfinite, found)) else []


def names(text: str) -> list[str]:
    """Values separated by commas, as a row of CSV: one that holds a comma or a line break is quoted."""
    from cflengine.text import long_fields

    try:
        with long_fields():
            return next(csv.reader([text], skipinitialspace=False), [])
    except csv.Error as error:
        raise argparse.ArgumentTypeError(f"no list of names: {error}; quote names with line breaks") from None
