"""L-BFGS's matrix: the direction is that of the paper's Figure 1, two loops over the memory."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from cflengine.engine.jit import threads
from cflengine.loglinear.kernels.history import BLOCK
from cflengine.loglinear.solvers.lbfgs import History


def two_loops(pairs: list[tuple[np.ndarray, np.ndarray]], gradient: np.ndarray, scaled: bool) -> np.ndarray:
    """Figure 1, the pairs from the oldest to the newest."""
    q, alpha = gradient.copy(), []
    for s, y in reversed(pairs):
        alpha.append(s @ q / (s @ y))
        q -= alpha[-1] * y
    if scaled and pairs:
        s, y = pairs[-1]
        q *= s @ y / (y @ y)
    for (s, y), a in zip(pairs, reversed(alpha), strict=True):
        q += (a - y @ q / (s @ y)) * s
    return -q


def points(n_points: int, size: int, seed: int = 0) -> list[SimpleNamespace]:
    """A walk over a quadratic, whose gradients belong to it."""
    rng = np.random.default_rng(seed)
    curvature = rng.uniform(0.1, 10.0, size)
    w = np.cumsum(rng.normal(size=(n_points, size)), axis=0)
    return [SimpleNamespace(w=one, gradient=curvature * one) for one in w]


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize(("size", "memory", "moves"), [(5, 3, 0), (5, 3, 2), (40, 4, 11), (2 * BLOCK + 17, 6, 9)])
def test_the_direction_is_that_of_the_two_loops(size, memory, moves, scaled):
    history, walk = History(size, memory, scaled=scaled), points(moves + 1, size)
    pairs = []
    for before, after in pairwise(walk):
        history.add(before, after)
        step, change = (after.w - before.w).astype(np.float32), (after.gradient - before.gradient).astype(np.float32)
        pairs.append((step.astype(np.float64), change.astype(np.float64)))
        found = history.direction(after.gradient)
        np.testing.assert_allclose(found, two_loops(pairs[-memory:], after.gradient, scaled), rtol=1e-9, atol=1e-9)
        assert found @ after.gradient < 0
    if not moves:
        np.testing.assert_array_equal(history.direction(walk[0].gradient), -walk[0].gradient)


def test_a_pair_that_is_left_out_leaves_the_direction_as_it_was():
    """Also with a full memory, whose oldest pair is still in use."""
    size, memory = 30, 3
    history, walk = History(size, memory), points(memory + 2, size)
    for before, after in pairwise(walk):
        history.add(before, after)
        expected = history.direction(after.gradient)
    last = walk[-1]
    history.add(last, SimpleNamespace(w=last.w + 1.0, gradient=last.gradient - 1.0))  # bends the wrong way
    np.testing.assert_array_equal(history.direction(last.gradient), expected)


def test_any_number_of_threads_gives_the_same_bytes():
    walk, found = points(8, 5 * BLOCK + 3), []
    for n_threads in (1, 2):
        history = History(len(walk[0].w), 5)
        with threads(n_threads):
            for before, after in pairwise(walk):
                history.add(before, after)
                direction = history.direction(after.gradient)
        found.append(direction.tobytes())
    assert found[0] == found[1]
