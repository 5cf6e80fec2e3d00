"""Clusters of weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.loglinear.scheme import at_random
from cflengine.loglinear.solvers.clusters import (
    chunks,
    explained_variance,
    lloyd_clusters,
    optimal_clusters,
    trajectory_clusters,
)
from naive.loglinear import kmeans_by_cuts, spread


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=12), st.integers(1, 5))
def test_optimal_clusters_are_optimal(values, k):
    w = np.array(values, dtype=np.float64) / 7 + 1000.0
    found = optimal_clusters(w, [k])[k]
    distinct = len(set(values))
    assert len(set(found.tolist())) == min(k, distinct)
    best = kmeans_by_cuts(w, min(k, distinct)) if k < distinct else 0.0
    assert spread(w, found) == pytest.approx(best, abs=1e-9)
    order = np.argsort(w, kind="stable")
    assert (np.diff(found[order]) >= 0).all() and found.min() == 0


def test_many_numbers_of_clusters_at_once():
    w = np.random.default_rng(0).normal(size=3000)
    found = optimal_clusters(w, [1, 2, 5, 64])
    explained = [explained_variance(w, found[k]) for k in (1, 2, 5, 64)]
    assert explained[0] == pytest.approx(0.0) and explained[-1] > 0.999 and (np.diff(explained) > 0).all()
    assert explained[1] == pytest.approx(2 / np.pi, abs=0.02)  # of the normal distribution, halved
    for k in (2, 5, 64):
        assert len(np.unique(found[k])) == k
        assert (optimal_clusters(w, [k])[k] == found[k]).all()


def test_chunks_are_contiguous_and_of_equal_size():
    w = np.random.default_rng(1).normal(size=103)
    found = chunks(w, 10)
    sizes = np.bincount(found)
    assert len(sizes) == 11 and sizes.min() >= 9 and sizes.max() <= 10
    assert (np.diff(found[np.argsort(w)]) >= 0).all()
    assert chunks(w, 1).tolist() == np.argsort(np.argsort(w)).tolist()
    assert set(chunks(w, 1e9)) == {0}


def test_no_chunk_is_larger_than_the_papers_cap():
    for n, factor in ((500, 15), (500, 16), (7, 2), (1, 50), (1000, 33.3)):
        assert np.bincount(chunks(np.arange(float(n)), factor)).max() <= factor


def test_lloyd_betters_chunks_and_keeps_every_cluster():
    w = np.random.default_rng(2).standard_cauchy(size=500)
    found = lloyd_clusters(w, 25)
    assert len(np.unique(found)) == 20 and spread(w, found) < spread(w, chunks(w, 25))
    assert (np.diff(found[np.argsort(w)]) >= 0).all()
    assert spread(w, found) >= spread(w, optimal_clusters(w, [20])[20])
    same = lloyd_clusters(np.zeros(7), 2)
    assert len(np.unique(same)) == 4


def test_random_clusters_know_nothing_of_the_weights():
    recent = [np.arange(1000.0)]
    first = at_random(recent, 10, np.random.default_rng(0))
    assert np.bincount(first).tolist() == [10] * 100
    assert (first == at_random(recent, 10, np.random.default_rng(0))).all()
    assert abs(np.corrcoef(np.arange(1000), first)[0, 1]) < 0.1


def test_trajectories_that_move_together_are_found():
    generator = np.random.default_rng(0)
    paths = np.array([[0, 1, 2, 3], [0, -1, -2, -3], [3, 3, 3, 3.0]])
    kind = generator.integers(0, 3, 60)
    points = paths[kind] + 0.01 * generator.normal(size=(60, 4))
    found = trajectory_clusters(list(points.T), 20, np.random.default_rng(0))
    assert len({(a, b) for a, b in zip(kind.tolist(), found.tolist(), strict=True)}) == 3
    assert (found == trajectory_clusters(list(points.T), 20, np.random.default_rng(0))).all()


def test_explained_variance():
    w = np.array([0.0, 0.0, 1.0, 1.0])
    assert explained_variance(w, np.array([0, 0, 1, 1])) == 1.0
    assert explained_variance(w, np.array([0, 1, 0, 1])) == 0.0
    assert explained_variance(np.ones(4), np.zeros(4, dtype=np.int64)) == 1.0
