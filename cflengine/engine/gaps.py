"""Gaps, and float64 numbers rounded so that they stay proofs.

A sum of ``terms`` rounded additions and products is wrong by at most ``terms`` · ε of the sum of the magnitudes
(Higham, *Accuracy and Stability of Numerical Algorithms*, §4.2, to first order). A certificate moves its objective up
and its bound down by that much, so that a proved bound never exceeds the objective it is compared with.
"""

from __future__ import annotations

import math

import numpy as np

EPSILON = 2.0**-52  # twice the unit roundoff, which pays for the higher orders


def relative_gap(objective: float, lower_bound: float) -> float:
    """(objective − lower_bound) / min(|objective|, |lower_bound|), where both are above 0 or both below.

    So it is objective / lower_bound − 1 where an objective cannot be below 0, and at least what the objective is above
    the optimum, relative to the optimum. Never clipped: a gap below 0 would be an error of the certificate, and has to
    be seen.

    Parameters
    ----------
    objective : float
        Of a solution.
    lower_bound : float
        Proved.

    Returns
    -------
    float
        NaN where either is unknown (NaN); 0 where both are 0; inf where the bound alone is 0, or below.
    """
    if math.isnan(objective) or math.isnan(lower_bound):
        return math.nan
    if lower_bound > 0:
        return objective / lower_bound - 1.0
    if objective < 0:
        return lower_bound / objective - 1.0
    return 0.0 if objective == 0 and lower_bound == 0 else math.inf


def open_gap(gap: float) -> float:
    """A gap to compare by: infinite where none is proved (NaN)."""
    return math.inf if math.isnan(gap) else gap


def round_up(value: float, terms: float, magnitude: float | None = None) -> float:
    """A number that is at least what ``value`` stands for.

    Parameters
    ----------
    value : float
        A sum.
    terms : float
        How many roundings it was added up from.
    magnitude : float, optional
        The sum of the terms' absolute values, where they are not all of one sign.

    Returns
    -------
    float
        At least the exact sum.
    """
    return value + EPSILON * terms * abs(value if magnitude is None else magnitude)


def round_down(value: float, terms: float, magnitude: float | None = None) -> float:
    """A number that is at most what ``value`` stands for (see :func:`round_up`).

    Parameters
    ----------
    value : float
        A sum.
    terms : float
        How many roundings it was added up from.
    magnitude : float, optional
        The sum of the terms' absolute values, where they are not all of one sign.

    Returns
    -------
    float
        At most the exact sum.
    """
    return value - EPSILON * terms * abs(value if magnitude is None else magnitude)


def sum_terms(n: int) -> float:
    """How many roundings numpy's pairwise sum of ``n`` contiguous numbers comes to: blocks of 128 in eight runs."""
    return 32.0 + math.log2(max(n, 1))


def add_exactly(*arrays: np.ndarray) -> bool:
    """Whether sums of these numbers need no rounding: multiples of 2⁻²⁰ of at most 2³² in all, such as whole
    numbers."""
    size = 0.0
    for array in arrays:
        scaled = np.ldexp(array, 20)
        if not np.array_equal(scaled, np.rint(scaled)):
            return False
        size += float(np.abs(array).sum())
    return size <= 2.0**32


def upper_sum(values: np.ndarray) -> float:
    """The sum of a contiguous float64 array, rounded up."""
    return -lower_sum(-values)


def lower_sum(values: np.ndarray) -> float:
    """The sum of a contiguous float64 array, rounded down."""
    if add_exactly(values):
        return float(values.sum())
    return round_down(float(values.sum()), sum_terms(values.size), float(np.abs(values).sum()))


def sum_above(first: float, second: float) -> float:
    """first + second, rounded up only if it was rounded down."""
    total = first + second
    if not math.isfinite(total):
        return total
    return math.nextafter(total, math.inf) if math.fsum((first, second, -total)) > 0 else total
