"""Nearest and shrunken centroids, against scikit-learn; intervals and tests, against what is known."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import NearestCentroid

from cflengine.experiments.centroids import ShrunkenCentroids, class_means, nearest
from cflengine.experiments.statistics import (
    Resampling,
    macro_f1,
    paired_p,
    r_squared,
    weighted_mean,
    whole,
)


def data(n=80, d=25, classes=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = rng.poisson(0.7 + 1.5 * (np.arange(d) % classes == y[:, None])).astype(float)
    return sparse.csr_matrix(X), y


def test_euclidean_is_scikit_learns_nearest_centroid():
    X, y = data()
    theirs = NearestCentroid().fit(X.toarray(), y).predict(X.toarray())
    np.testing.assert_array_equal(nearest(X, class_means(X, y, 4), "euclidean"), theirs)


def test_cosine_does_not_look_at_lengths():
    X, y = data()
    means = class_means(X, y, 4)
    longer = sparse.csr_matrix(sparse.diags([1.0, 9.0, 0.2, 3.0]) @ means)
    np.testing.assert_array_equal(nearest(X, means, "cosine"), nearest(X * 7.0, longer, "cosine"))


def test_many_rows_are_done_in_chunks(monkeypatch):
    from cflengine.experiments import centroids

    X, y = data()
    whole_ = nearest(X, class_means(X, y, 4), "cosine")
    monkeypatch.setattr(centroids, "_CHUNK_SCORES", 12)
    np.testing.assert_array_equal(nearest(X, class_means(X, y, 4), "cosine"), whole_)


def test_unshrunken_centroids_are_the_standardised_nearest_ones():
    X, y = data()
    model, dense = ShrunkenCentroids(X, y, 4), X.toarray()
    means = np.stack([dense[y == k].mean(axis=0) for k in range(4)])
    distance = (((dense[:, None] - means) / model.scale) ** 2).sum(axis=2) - 2 * np.log(0.25)
    np.testing.assert_array_equal(model.predict(X, 0.0), distance.argmin(axis=1))


def test_shrunken_centroids_by_the_definition():
    X, y = data(seed=3)
    delta, dense = 0.8, X.toarray()
    n, counts, mean = len(y), np.bincount(y), dense.mean(axis=0)
    means = np.stack([dense[y == k].mean(axis=0) for k in range(4)])
    s = np.sqrt(sum(((dense[y == k] - means[k]) ** 2).sum(axis=0) for k in range(4)) / (n - 4))
    scale, m = s + np.median(s[s > 0]), np.sqrt(1 / counts - 1 / n)
    d = (means - mean) / (m[:, None] * scale)
    shrunken = mean + m[:, None] * scale * np.sign(d) * np.maximum(np.abs(d) - delta, 0)
    expected = (((dense[:, None] - shrunken) / scale) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(ShrunkenCentroids(X, y, 4).predict(X, delta), expected)


def test_everything_shrunken_leaves_the_prior():
    X, y = data(n=81)  # the first class has one more
    assert set(ShrunkenCentroids(X, y, 4).predict(X, 1e6)) == {0}


def test_an_interval_of_a_mean_is_about_its_standard_error():
    values = np.random.default_rng(0).normal(size=400)
    low, high = Resampling(400).interval(weighted_mean(values))
    assert low < values.mean() < high
    assert (high - low) / 2 == pytest.approx(1.96 * values.std() / 20, rel=0.12)


def test_groups_are_drawn_whole():
    values = np.repeat(np.random.default_rng(0).normal(size=20), 20)
    alone = np.diff(Resampling(400).interval(weighted_mean(values)))
    together = np.diff(Resampling(400, np.repeat(np.arange(20), 20)).interval(weighted_mean(values)))
    assert together > 3 * alone
    weights = next(Resampling(6, np.array([0, 0, 1, 1, -1, -1])).weights())
    assert (weights[:, 0] == weights[:, 1]).all() and (weights[:, 4] != weights[:, 5]).any()


def test_measures_are_scikit_learns():
    from sklearn.metrics import f1_score, r2_score

    rng = np.random.default_rng(1)
    truth, said = rng.integers(0, 4, 90), rng.integers(0, 4, 90)
    assert whole(macro_f1(truth, said, 5), 90) == pytest.approx(f1_score(truth, said, average="macro"))
    x, z = rng.normal(size=50), rng.normal(size=50)
    assert whole(r_squared(x, z), 50) == pytest.approx(r2_score(x, z))


def test_paired_tests():
    right = np.array([True] * 50 + [False] * 10)
    assert paired_p(right, right) == 1.0
    assert paired_p(right, np.zeros(60, dtype=bool)) < 1e-10
    errors = np.random.default_rng(0).random(80)
    for scale in (1e-170, 1e160):  # squares of either are none
        assert paired_p(errors * scale, errors[::-1] * scale) == pytest.approx(paired_p(errors, errors[::-1]))
    assert paired_p(errors, errors) == 1.0 and paired_p(errors, errors + 0.1 + 0.01 * np.arange(80)) < 1e-10


def test_of_few_units_p_is_exact_and_no_interval_is_told():
    """The paired t-test has no spread to go by where sums of groups are equal."""
    groups = np.array([0, 0, 1, 1, 2, 2])
    swapped = np.array([1, 0, 1, 0, 1, 0], dtype=bool)
    assert paired_p(swapped, ~swapped, groups) == 1.0  # each group has one right by either
    one = np.array([1, 1, 1, 0], dtype=bool), np.array([0, 1, 0, 0], dtype=bool)
    assert paired_p(*one, np.array([0, 0, 1, 1])) == 0.5
    assert paired_p(*one, np.zeros(4, dtype=int)) == 1.0  # one group tells of no direction
    errors = np.arange(3.0)
    assert paired_p(errors + 1, errors) == 0.25 and paired_p(errors[:1] + 1, errors[:1]) == 1.0
    assert paired_p(np.arange(20.0) + 1, np.arange(20.0)) == 2.0**-19
    rng = np.random.default_rng(3)
    difference = rng.normal(0.4, 1.0, 12)
    every = np.array(list(product((-1, 1), repeat=12))) @ difference
    assert paired_p(difference, np.zeros(12)) == pytest.approx(np.mean(np.abs(every) >= abs(difference.sum()) - 1e-12))
    for few, drawn in ((groups, 3), (np.array([-1, -1, 0, 0, 0, 0]), 3)):
        found = Resampling(6, few)
        assert found.n_drawn == drawn and np.isnan(found.interval(weighted_mean(swapped * 1.0))).all()
    assert np.isfinite(Resampling(6).interval(weighted_mean(swapped * 1.0))).all()
    assert np.isnan(Resampling(0).interval(weighted_mean(np.zeros(0)))).all()


def test_groups_are_not_taken_for_independent_documents():
    rng = np.random.default_rng(0)
    shift = np.repeat(rng.normal(size=8), 50)
    errors = rng.random(400)
    groups = np.repeat(np.arange(8), 50)
    assert paired_p(errors, errors + 0.1 + shift, groups) > 20 * paired_p(errors, errors + 0.1 + shift)


def test_r_squared_of_a_constant_is_not_known():
    assert np.isnan(whole(r_squared(np.full(7, 0.1), np.zeros(7)), 7))
    far = 1e9 + np.arange(7.0)
    assert whole(r_squared(far, far), 7) == 1.0


def test_macro_f1_of_thousands_of_classes_stays_small():
    truth = np.arange(20_000) % 5_000
    assert whole(macro_f1(truth, truth, 5_000), 20_000) == 1.0


def test_a_share_of_all_or_none_has_the_exact_interval():
    right, drawn = np.ones(120, dtype=bool), Resampling(120)
    assert drawn.share_interval(right) == (pytest.approx(0.025 ** (1 / 120)), 1.0)
    assert drawn.share_interval(~right) == (0.0, pytest.approx(1 - 0.025 ** (1 / 120)))
    right[:30] = False
    assert drawn.share_interval(right) == drawn.interval(weighted_mean(right * 1.0))
    grouped = Resampling(120, np.repeat(np.arange(10), 12))
    assert grouped.share_interval(np.ones(120, dtype=bool))[0] == pytest.approx(0.025**0.1)
    assert np.isnan(Resampling(4).share_interval(np.ones(4, dtype=bool))).all()
