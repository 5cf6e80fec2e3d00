"""Permutation test, jackknife, witness, simulation: against doing it by hand, and their level."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from cflengine.embedding.identity import identity_kernel, identity_sums
from cflengine.embedding.inference import (
    document_gram,
    interval,
    jackknife,
    p_value,
    permuted_statistics,
    tie_tolerance,
)
from cflengine.embedding.laws import DocumentKernel, WordLaws
from cflengine.embedding.pairs import pair_sums, witness_frame, witness_values
from cflengine.embedding.problem import wmmd2
from cflengine.embedding.random_features import feature_sums
from cflengine.embedding.settings import Kernel
from cflengine.embedding.simulation import BetaBinomial, PowerSettings, power
from cflengine.engine.progress import Stopped
from tests.embedding.test_statistic import KERNELS, random_laws


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("V", [40, 600])
def test_the_kernel_between_documents(kernel, V):
    laws, _ = random_laws(30, V, 3)
    M = np.random.default_rng(1).normal(size=(V, 4))
    dense = laws.laws.toarray()
    np.testing.assert_allclose(document_gram(laws, M, kernel), dense @ kernel(M, M) @ dense.T, atol=1e-7)
    with pytest.raises(Stopped):
        if kernel.family == "linear":
            raise Stopped  # no pass, nothing to stop
        document_gram(laws, M, kernel, poll=lambda: False)


def test_permuted_statistics_are_those_of_permuted_labels():
    laws, _ = random_laws(20, 30, 3, seed=2)
    M, kernel = np.random.default_rng(3).normal(size=(30, 4)), KERNELS[0]
    found = permuted_statistics(DocumentKernel(document_gram(laws, M, kernel)), laws.y, 3, 5, seed=4)
    K, rng = kernel(M, M), np.random.default_rng(4)
    expected = [wmmd2(laws.laws.toarray(), laws.y, K)]
    expected += [wmmd2(laws.laws.toarray(), rng.permutation(laws.y), K) for _ in range(5)]
    np.testing.assert_allclose(found, expected, atol=1e-13)


def test_features_are_a_kernel_between_documents():
    laws, _ = random_laws(20, 30, seed=5)
    M = np.random.default_rng(6).normal(size=(30, 4))
    found = feature_sums(laws, M, KERNELS[0], 50)
    documents = DocumentKernel(features=found.features)
    null = permuted_statistics(documents, laws.y, 2, 9)
    assert null[0] == pytest.approx(found.sums.total(), abs=1e-13)
    gram = DocumentKernel(gram=found.features @ found.features.T)
    np.testing.assert_allclose(permuted_statistics(gram, laws.y, 2, 9), null, atol=1e-13)
    chosen = np.arange(0, 20, 3)
    np.testing.assert_allclose(documents.of(chosen).times(np.eye(7)), gram.of(chosen).gram, atol=1e-14)


def test_a_stop_leaves_the_permutations_that_were_done():
    laws, _ = random_laws(20, 30)
    gram, asked = DocumentKernel(document_gram(laws, np.eye(30), KERNELS[0])), iter([True, True, False])
    found = permuted_statistics(gram, laws.y, 2, 999, poll=lambda: next(asked))
    assert len(found) == 256
    whole = permuted_statistics(gram, laws.y, 2, 999)
    np.testing.assert_array_equal(found, whole[:256])


def test_a_tie_is_what_rounding_can_do_to_the_largest_term():
    """1e-12 of it for each pair of classes: nothing where there is nothing, and of the size of the terms."""
    assert tie_tolerance(np.empty(0)) == 0.0
    assert tie_tolerance(np.array([2.0, -5.0])) == pytest.approx(4 * 5e-12)
    assert tie_tolerance(np.array([2.0, 5e6]), 3) == pytest.approx(9 * 5e-6)


def test_p_values():
    assert p_value(np.array([1.0, 0.5, 2.0, 1.0])) == 3 / 4
    assert p_value(np.array([3.0, *np.zeros(99)])) == 1 / 100
    assert np.isnan(p_value(np.array([3.0])))
    assert np.isnan(p_value(np.empty(0)))
    assert np.isnan(p_value(np.array([np.nan, 1.0])))
    assert p_value(np.array([1.0, 1.0 - 1e-13, 0.0]), 1e-12) == 2 / 3


@pytest.mark.parametrize("width", [1.0, 1e4])
def test_labels_exchanged_as_a_whole_tie(width):
    rng, M = np.random.default_rng(0), np.random.default_rng(1).normal(size=(20, 3))
    for seed in range(10):
        drawn = BetaBinomial(n_words=20).documents(6, 4, rng)
        documents = DocumentKernel(document_gram(drawn, M, Kernel("gaussian", (width,))))
        null = permuted_statistics(documents, drawn.y, 2, 199, seed=seed)
        assert p_value(null, tie_tolerance(documents.diagonal)) > 0.05  # of twenty splits, each has its mirror


def test_simulations_need_four_documents():
    with pytest.raises(ValueError, match="four documents"):
        power(BetaBinomial(n_words=9), [3], np.eye(9), KERNELS[0])


def test_the_test_keeps_its_level():
    """Of documents of one law, five in a hundred are called different, give or take."""
    rng, laws = np.random.default_rng(7), BetaBinomial(n_words=20, second=(0.5, 0.5))
    M = rng.normal(size=(20, 3))
    p = []
    for k in range(400):
        drawn = laws.documents(12, [1, 3, 9], rng)
        gram = DocumentKernel(document_gram(drawn, M, KERNELS[0]))
        p.append(p_value(permuted_statistics(gram, drawn.y, 2, 39, seed=k)))
    assert 0.025 < np.mean(np.array(p) <= 0.05) < 0.085
    assert 0.4 < np.mean(np.array(p) <= 0.5) < 0.6


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_jackknife_leaves_out_one_document_at_a_time(n_classes):
    laws, _ = random_laws(18, 30, n_classes, seed=8)
    M, kernel = np.random.default_rng(9).normal(size=(30, 4)), KERNELS[1]
    K, dense, variance = kernel(M, M), laws.laws.toarray(), 0.0
    for c in range(n_classes):
        values = []
        for i in np.flatnonzero(laws.y == c):
            kept = np.delete(np.arange(18), i)
            values.append(wmmd2(dense[kept], laws.y[kept], K))
        n = len(values)
        variance += (n - 1) / n * ((values - np.mean(values)) ** 2).sum()
    sums = pair_sums(laws, M, kernel)
    assert jackknife(sums) == pytest.approx(np.sqrt(variance), rel=1e-9)
    if n_classes == 2:
        assert jackknife(sums, [(0, 1)]) == jackknife(sums)
    low, high = interval(sums.total(), jackknife(sums))
    assert low < sums.total() < high


def test_the_jackknife_needs_three_of_a_class():
    laws, _ = random_laws(4, 10)
    assert np.isnan(jackknife(pair_sums(laws, np.eye(10), KERNELS[0])))


def test_the_interval_covers_the_truth():
    laws, rng = BetaBinomial(n_words=30, first=(0.7, 0.7), second=(3.0, 2.0)), np.random.default_rng(10)
    M, kernel = rng.normal(size=(30, 4)), Kernel("gaussian", (1.5,))
    truth, hits = laws.population(M, kernel), 0
    for _ in range(200):
        sums = pair_sums(laws.documents(60, [4, 12], rng), M, kernel)
        low, high = interval(sums.total(), jackknife(sums))
        hits += low <= truth <= high
    assert hits >= 175


def test_the_witness_is_the_difference_of_means():
    laws, _ = random_laws(20, 30, seed=11)
    M, kernel = np.random.default_rng(12).normal(size=(30, 4)), KERNELS[0]
    sums = pair_sums(laws, M, kernel)
    h = witness_values(sums)
    mean = laws.sums / laws.sizes
    K = kernel(M, M)
    difference = mean[:, 0] - mean[:, 1]
    distance = np.sqrt(difference @ K @ difference)
    np.testing.assert_allclose(h, K @ difference / distance, atol=1e-12)
    frame = witness_frame(sums, [f"w{v}" for v in range(30)], ["a", "b"])
    assert frame["contribution"].sum() == pytest.approx(distance, abs=1e-12)
    assert frame["contribution"].is_monotonic_decreasing
    assert (frame.loc[frame["witness"] > 0, "class"] == "a").all()
    np.testing.assert_allclose(witness_values(sums, 1, 0), -h, atol=1e-14)


def test_classes_with_the_same_mean_have_no_witness():
    counts = sparse.csr_matrix(np.array([[1, 0], [0, 1], [1, 0], [0, 1]]))
    sums = pair_sums(WordLaws.of(counts, np.array([0, 0, 1, 1])), np.eye(2), KERNELS[0])
    assert (witness_values(sums) == 0).all()


def test_identity_between_documents():
    laws, _ = random_laws(20, 30, 2)
    null = permuted_statistics(identity_kernel(laws, "gaussian"), laws.y, 2, 3)
    assert null[0] == pytest.approx(identity_sums(laws, "gaussian").total(), abs=1e-14)


def test_power_grows_with_documents_and_with_the_difference():
    rng = np.random.default_rng(13)
    settings = PowerSettings(n_repeats=40, n_permutations=39, length=5)
    M, kernel = rng.normal(size=(150, 5)), Kernel("gaussian", (2.0,))
    far = power(BetaBinomial(n_words=50, irrelevant=0.2), [8, 100], M, kernel, settings)
    assert far["power"].iloc[0] < 0.8 < far["power"].iloc[1]
    assert (abs(far["mean_statistic"] - far["population"]) < 4 * far["statistic_error"]).all()
    assert far["overlap"].iloc[0] == BetaBinomial(n_words=50, irrelevant=0.2).overlap()
    near = power(BetaBinomial(n_words=50, irrelevant=0.2, second=(0.6, 0.6)), [100], M, kernel, settings)
    assert near["power"].iloc[0] < far["power"].iloc[1]
    assert BetaBinomial(second=(0.5, 0.5)).overlap() == pytest.approx(1.0)
    assert BetaBinomial(second=(50, 1)).overlap() < BetaBinomial(second=(0.6, 0.6)).overlap()
    with pytest.raises(Stopped):
        power(BetaBinomial(n_words=150), [8], M, kernel, settings, poll=lambda: False)


def test_support_and_irrelevant_words():
    laws = BetaBinomial(n_words=7, irrelevant=0.25, n_irrelevant=3).laws()
    assert laws.shape == (2, 10)
    np.testing.assert_allclose(laws.sum(axis=1), 1.0)
    np.testing.assert_allclose(laws[:, 7:], 0.25 / 3)
    assert laws[0, 0] > laws[1, 0] > 0  # from 0 on; α = β = 0.5 is largest at both ends
    drawn = BetaBinomial(n_words=7).documents(9, 4, np.random.default_rng(0))
    assert (drawn.lengths == 4).all()
    assert drawn.laws.shape == (9, 7)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_words": 1},
        {"first": (0, 1)},
        {"first": (1.0,)},
        {"irrelevant": 1.0},
        {"irrelevant": -0.1},
        {"n_irrelevant": 0},
    ],
)
def test_simulations_that_are_none(wrong):
    with pytest.raises(ValueError):
        BetaBinomial(**wrong)


def test_the_second_law_moves_towards_the_first():
    laws = BetaBinomial(n_words=50, irrelevant=0.2)
    overlaps = [laws.towards(share).overlap() for share in (1.0, 0.75, 0.5, 0.25, 0.0)]
    assert laws.towards(1.0) == laws
    assert overlaps == sorted(overlaps)
    assert overlaps[-1] == pytest.approx(1.0)
