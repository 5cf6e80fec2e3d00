"""Checks of parameters: what passes, and one sentence that names what does not."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from cflengine.engine.checks import check_positive, check_whole, is_number


@pytest.mark.parametrize("value", [1, 0.5, np.float32(2), np.int64(3), math.inf])
def test_numbers(value):
    assert is_number(value)


@pytest.mark.parametrize("value", [True, np.True_, "1", None, 1j, [1]])
def test_no_numbers(value):
    assert not is_number(value)


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan, "1", True, None])
def test_positive(value):
    check_positive(SimpleNamespace(a=1e-9, b=None), ("a", "b"), optional=("b",))
    with pytest.raises(ValueError, match="size must be a positive number, not"):
        check_positive(SimpleNamespace(size=value), ("size",))


@pytest.mark.parametrize("value", [1, 2.0, True, "3", None])
def test_whole(value):
    check_whole(SimpleNamespace(a=2, b=np.int32(5), c=None), {"a": 2, "b": 0, "c": 1}, optional=("c",))
    with pytest.raises(ValueError, match="count must be a whole number of at least 2, not"):
        check_whole(SimpleNamespace(count=value), {"count": 2})
