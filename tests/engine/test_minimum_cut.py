"""Minimum cuts against scipy's maximum flow, large ones to the last digits, and stopped in the middle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import maximum_flow

from cflengine.engine import minimum_cut as module
from cflengine.engine.minimum_cut import minimum_cut


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 9), st.integers(0, 10**6), st.sampled_from([1e-9, 1.0, 1e9]))
def test_a_cut_costs_what_flows(n, seed, scale):
    rng = np.random.default_rng(seed)
    pairs = np.array([(a, b) for a in range(n) for b in range(n) if a != b and rng.random() < 0.5] or [(0, 1)])
    capacity = rng.integers(0, 20, len(pairs))
    side = minimum_cut(pairs[:, 0], pairs[:, 1], capacity * scale, n)
    assert side[0] and not side[1]
    cost = capacity[side[pairs[:, 0]] & ~side[pairs[:, 1]]].sum()
    graph = coo_matrix((capacity.astype(np.int32), (pairs[:, 0], pairs[:, 1])), shape=(n, n)).tocsr()
    assert cost == maximum_flow(graph, 0, 1).flow_value


def paths(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """n ways of two arcs from 0 to 1: tails, heads, capacities, and which of the two arcs is cheaper (0 or 1)."""
    rng = np.random.default_rng(n)
    middle = np.arange(2, n + 2)
    capacity = rng.uniform(1.0, 2.0, (2, n))
    capacity[1] = capacity[0] * (1.0 + rng.choice([-1, 1], n) * 1e-9)
    tail, head = np.concatenate([np.zeros(n, dtype=np.int64), middle]), np.concatenate([middle, np.ones(n, np.int64)])
    return tail, head, capacity.ravel(), capacity.argmin(axis=0)


def test_of_100_000_segments_each_is_right():
    """Capacities that differ by a billionth, among so many: sums of floats would not tell them apart."""
    n = 100_000
    tail, head, capacity, cheaper = paths(n)
    side = minimum_cut(tail, head, capacity, n + 2)
    np.testing.assert_array_equal(side[2:], cheaper == 1)


def test_a_cut_can_be_stopped_in_the_middle(monkeypatch):
    monkeypatch.setattr(module, "_ARCS", 1_000)
    tail, head, capacity, _ = paths(20_000)
    asked = []

    def poll() -> bool:
        asked.append(0)
        return len(asked) < 5

    assert minimum_cut(tail, head, capacity, 20_002, poll) is None and len(asked) == 5
    assert minimum_cut(tail, head, capacity, 20_002) is not None


@pytest.mark.parametrize("capacity", [np.zeros(2), np.array([0.0, np.inf]), np.array([np.inf, 3.0])])
def test_arcs_that_cost_nothing_or_must_not_be_cut(capacity):
    side = minimum_cut(np.array([0, 2]), np.array([2, 1]), capacity, 3)
    assert side[0] and not side[1] and side[2] == np.isinf(capacity[0])
