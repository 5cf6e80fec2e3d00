"""The kernels' sums over windows against coverage by definition, one block at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cflengine.compression.kernels import cover as kernels_cover
from cflengine.compression.kernels.arrays import Step
from cflengine.compression.model.problem import PointerCosts
from naive.cover import covers

SIZES = st.tuples(st.integers(1, 8), st.integers(0, 12))


def block(shape: tuple[int, int], seed: int) -> np.ndarray:
    """w with zeros where a pointer would run out of the block, as :func:`load_tokens` leaves them."""
    K, size = shape
    w = np.random.default_rng(seed).integers(0, 9, shape).astype(np.float32)
    for k in range(K):
        w[k, max(size - k, 0) :] = 0
    return w


def run_coverage(function, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """With a guard behind each work array, to see writes beyond its end."""
    size = w.shape[1]
    guarded = [np.full(size + 1, -7, dtype=np.float32) for _ in range(3)]
    function(w, *(array[:size] for array in guarded))
    assert [array[size] for array in guarded] == [-7] * 3
    return guarded[0][:size], guarded[1][:size]


@pytest.mark.parametrize("compiled", [True, False])
@given(SIZES, st.integers(0, 99))
def test_coverage_by_definition_also_of_a_block_of_empty_documents(compiled, shape, seed):
    w = block(shape, seed)
    function = kernels_cover.coverage if compiled else kernels_cover.coverage.py_func
    covered, tail = run_coverage(function, w)
    K, size = shape
    expected = [sum(w[k, i] for k in range(K) for i in range(size) if covers((k + 1, i), j)) for j in range(size)]
    assert covered.tolist() == expected
    assert tail.tolist() == w.sum(axis=0).tolist()


@given(SIZES, st.integers(0, 99))
def test_descent_subtracts_the_adjoint_and_the_costs(shape, seed):
    K, size = shape
    w = block(shape, seed)
    g = np.random.default_rng(seed + 1).integers(-4, 5, size).astype(np.float32)
    d = np.arange(1, K + 1, dtype=np.float32)
    extra = np.random.default_rng(seed + 2).integers(0, 3, shape).astype(np.float32)
    steps = 2.0 ** np.arange(1, K + 1, dtype=np.float32)
    for d_extra in (np.empty((K, 0), np.float32), extra):
        q = w.copy()
        one = np.float32(1.0)
        step = Step(one, np.float32(8.0), one, np.float32(0.5), steps, np.float32(0.0))
        kernels_cover.descend(q, 0, g, np.empty(size, np.float32), PointerCosts(d, d_extra), step)
        for k in range(K):
            for i in range(size - k):
                cost = d[k] + (d_extra[k, i] if d_extra.size else 0.0)
                assert q[k, i] == 0.5 * w[k, i] - steps[k] * (g[i : i + k + 1].sum() + 0.125 * cost)


def test_blocks_are_loaded_with_zeros_for_missing_pointers_and_stored_back():
    slot = np.array([[0, 3, 2, 1], [4, -1, 5, -1]], dtype=np.int32)
    data = np.arange(10, 16, dtype=np.float32)
    w = np.full((2, 3), -1, dtype=np.float32)
    kernels_cover.load_tokens(data, slot, 1, 1 + w.shape[1], 1, w)
    assert w.tolist() == [[13, 12, 11], [0, 15, 0]]
    w += 100
    kernels_cover.store_block(w, data, slot, 1, 1 + w.shape[1], 1)
    assert data.tolist() == [10, 111, 112, 113, 14, 115]
