"""One gap for everybody, and sums that are rounded to the safe side."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cflengine.engine.gaps import add_exactly, lower_sum, relative_gap, sum_above, upper_sum

NUMBERS = st.floats(-1e12, 1e12, allow_subnormal=False)


@pytest.mark.parametrize(
    ("objective", "bound", "gap"),
    [(3.0, 2.0, 0.5), (0.0, 0.0, 0.0), (1.0, 0.0, math.inf), (1.0, -1.0, math.inf), (math.nan, 1.0, math.nan),
     (-2.0, -3.0, 0.5), (-2.0, -2.0, 0.0), (-1.0, -math.inf, math.inf), (-3.0, -2.0, -1 / 3), (0.0, -1.0, math.inf),
     (1.0, math.nan, math.nan), (math.nan, math.nan, math.nan), (1.0, 2.0, -0.5), (math.inf, 1.0, math.inf)],
)  # fmt: skip
def test_relative_gap(objective, bound, gap):
    assert relative_gap(objective, bound) == pytest.approx(gap, nan_ok=True)


@given(st.lists(NUMBERS, max_size=300))
def test_sums_lie_on_the_safe_side(values):
    exact = sum(map(Fraction, values), Fraction(0))
    array = np.array(values)
    assert Fraction(lower_sum(array)) <= exact <= Fraction(upper_sum(array))
    scale = float(np.abs(array).sum())
    assert upper_sum(array) - lower_sum(array) <= 1e-13 * scale


@given(st.lists(st.integers(-(10**6), 10**6), max_size=50))
def test_whole_numbers_are_not_rounded(values):
    array = np.array(values, dtype=np.float64)
    assert add_exactly(array) and lower_sum(array) == upper_sum(array) == sum(values)


@given(NUMBERS, NUMBERS)
def test_a_sum_of_two_is_never_below(first, second):
    exact = Fraction(first) + Fraction(second)
    found = Fraction(sum_above(first, second))
    assert exact <= found and (exact == found or Fraction(math.nextafter(float(found), -math.inf)) < exact)
