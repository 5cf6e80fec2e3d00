"""wMMD²: as printed, its gradient, its widths, its bias, by any number of threads."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from cflengine.embedding import kernels, width
from cflengine.embedding.identity import identity_sums
from cflengine.embedding.laws import WordLaws
from cflengine.embedding.pairs import pair_sums
from cflengine.embedding.problem import wmmd2
from cflengine.embedding.random_features import feature_sums
from cflengine.embedding.settings import Kernel
from cflengine.embedding.simulation import BetaBinomial
from cflengine.embedding.width import median_width
from cflengine.engine.kernels_exp import exp_row
from cflengine.engine.progress import Stopped
from tests.naive import wmmd as naive

KERNELS = [
    Kernel("gaussian", (1.7,)),
    Kernel("gaussian", (0.8, 3.0)),
    Kernel("laplace", (1.5,)),
    Kernel("laplace", (0.7, 2.0)),
    Kernel("linear"),
]


def random_laws(n=24, V=40, n_classes=2, seed=0, rate=0.4):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rate * rng.random(V) ** 2, size=(n, V))
    counts[np.arange(n), rng.integers(0, V, n)] += 1  # none is empty
    return WordLaws.of(sparse.csr_matrix(counts), np.arange(n) % n_classes), counts


def as_words(counts):
    return [np.repeat(np.arange(len(row)), row) for row in counts]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("equal", [True, False])
def test_the_estimate_is_the_printed_one(kernel, equal):
    rng = np.random.default_rng(3)
    documents = [rng.integers(0, 15, 5 if equal else rng.integers(1, 9)) for _ in range(9)]
    y = np.array([0, 1, 0, 1, 1, 0, 0, 1, 1])
    M = rng.normal(size=(15, 4))
    if kernel.family == "linear":
        k = naive.linear
    else:
        one = naive.gaussian if kernel.family == "gaussian" else naive.laplace
        parts = [one(w) for w in kernel.widths]
        k = lambda a, b: float(np.mean([part(a, b) for part in parts]))  # noqa: E731
    counts = np.stack([np.bincount(doc, minlength=15) for doc in documents])
    laws = WordLaws.of(sparse.csr_matrix(counts), y)
    expected = naive.wmmd2(documents, y, M, k)
    near = 1e-7 if kernel.family == "laplace" else 1e-12
    assert pair_sums(laws, M, kernel).total() == pytest.approx(expected, abs=near)
    assert wmmd2(laws.laws.toarray(), y, kernel(M, M)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("V", [40, 700])
def test_the_gradient_is_that_of_finite_differences(kernel, V):
    laws, _ = random_laws(30, V, 3, seed=1)
    M = np.random.default_rng(2).normal(size=(V, 5))
    dense = laws.laws.toarray()
    found = pair_sums(laws, M, kernel, gradient=True)
    assert found.total() == pytest.approx(wmmd2(dense, laws.y, kernel(M, M)), abs=1e-8)
    for v in np.argsort(-dense.sum(axis=0))[[0, 3, 11]]:
        for j in (0, 4):
            up, down = M.copy(), M.copy()
            up[v, j] += 1e-4
            down[v, j] -= 1e-4
            slope = (wmmd2(dense, laws.y, kernel(up, up)) - wmmd2(dense, laws.y, kernel(down, down))) / 2e-4
            assert found.gradient[v, j] == pytest.approx(slope, abs=2e-9 + 1e-5 * abs(slope))


def test_the_gradient_of_one_pair_of_classes():
    laws, _ = random_laws(30, 40, 3, seed=4)
    M = np.random.default_rng(5).normal(size=(40, 5))
    kernel = KERNELS[0]
    parts = [pair_sums(laws, M, kernel, gradient=True, pairs=[pair]).gradient for pair in combinations(range(3), 2)]
    whole = pair_sums(laws, M, kernel, gradient=True)
    np.testing.assert_allclose(sum(parts), whole.gradient, atol=1e-13)
    pair = pair_sums(laws.of_pair(0, 2), M, kernel, gradient=True)
    assert pair.total() == pytest.approx(whole.statistic(0, 2), abs=1e-14)
    np.testing.assert_allclose(parts[1], pair.gradient, atol=1e-13)


def test_long_documents_take_several_tiles(monkeypatch):
    V = 2 * kernels.TILE + 60
    rng = np.random.default_rng(6)
    counts = sparse.csr_matrix(rng.poisson(0.9, size=(5, V)))
    laws = WordLaws.of(counts, np.array([0, 1, 0, 1, 1]))
    assert np.diff(laws.laws.indptr).min() > kernels.TILE
    M, kernel = rng.normal(size=(V, 3)), Kernel("gaussian", (2.0,))
    found = pair_sums(laws, M, kernel, gradient=True)
    dense, K = laws.laws.toarray(), kernel(M, M)
    np.testing.assert_allclose(found.within, np.einsum("iv,vw,iw->i", dense, K, dense), rtol=1e-12)
    np.testing.assert_allclose(found.KP, K @ laws.sums, rtol=1e-12)
    W = -K * (dense.T @ (np.array([1 / 2, 1 / 6, 1 / 2, 1 / 6, 1 / 6])[:, None] * dense))
    coefficients = np.array([[1 / 2, -1 / 6], [-1 / 6, 1 / 6]])
    W += K * (laws.sums @ coefficients @ laws.sums.T)
    expected = 2.0 / 4.0 * (W @ M - W.sum(axis=1)[:, None] * M)
    np.testing.assert_allclose(found.gradient, expected, atol=1e-14)


def test_any_number_of_threads_gives_the_same_bytes():
    laws, _ = random_laws(40, 900, 2, seed=7)
    M = np.random.default_rng(8).normal(size=(900, 6))
    one, two = (pair_sums(laws, M, KERNELS[0], gradient=True, n_threads=n) for n in (1, 2))
    assert one.KP.tobytes() == two.KP.tobytes()
    assert one.within.tobytes() == two.within.tobytes()
    assert one.gradient.tobytes() == two.gradient.tobytes()
    assert median_width(laws, M, n_threads=1) == median_width(laws, M, n_threads=2)


def test_a_stop_is_heard():
    laws, _ = random_laws(40, 900)
    with pytest.raises(Stopped):
        pair_sums(laws, np.zeros((900, 2)), KERNELS[0], poll=lambda: False)


@given(st.lists(st.floats(-800, 0), min_size=1, max_size=40))
def test_exp_of_a_row(values):
    x = np.array(values)
    found = x.copy()
    exp_row(found)
    inside = x > -700
    np.testing.assert_allclose(found[inside], np.exp(x[inside]), rtol=1e-15 * 3)
    assert (found[~inside] < 1e-300).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_median_is_that_of_all_pairs_of_documents(n_classes):
    laws, _ = random_laws(12, 30, n_classes, seed=9)
    M = np.random.default_rng(10).normal(size=(30, 3))
    M[:4] = M[0]  # equal vectors: distances of 0 between words that differ
    squared = ((M[:, None] - M) ** 2).sum(axis=2)
    weights = np.zeros((30, 30))
    dense = laws.laws.toarray()
    for i in range(12):
        for j in range(12):
            if i != j:
                weights += np.outer(dense[i], dense[j])
    expected = naive.weighted_median(squared.ravel(), weights.ravel())
    assert median_width(laws, M) ** 2 == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("likely", ["true", "below", "above"])
def test_the_median_of_many_words_is_sought_where_it_is_likely(likely, monkeypatch):
    laws, _ = random_laws(30, 1_100, seed=2, rate=0.2)
    M = np.random.default_rng(3).normal(size=(1_100, 4))
    squared, dense = ((M[:, None] - M) ** 2).sum(axis=2), laws.laws.toarray()
    weights = np.outer(dense.sum(axis=0), dense.sum(axis=0)) - dense.T @ dense
    expected = naive.weighted_median(squared.ravel(), weights.ravel())
    low, high = width._likely(laws.laws, M)
    assert low < expected < high < 1.2 * low
    if likely != "true":
        wrong = (0.5 * low, low) if likely == "below" else (high, 2.0 * high)
        monkeypatch.setattr(width, "_likely", lambda laws, M: wrong)
    assert median_width(laws, M) ** 2 == pytest.approx(expected, rel=1e-8)
    assert median_width(laws, M, rounds=2) ** 2 == pytest.approx(expected, rel=1e-5)


def test_a_median_of_zero_is_zero():
    counts = np.zeros((6, 4), dtype=int)
    counts[:, 0] = 9
    counts[:, 1:] = np.random.default_rng(0).integers(0, 2, (6, 3))
    laws = WordLaws.of(sparse.csr_matrix(counts), np.arange(6) % 2)
    assert median_width(laws, np.random.default_rng(1).normal(size=(4, 3))) == 0.0
    assert median_width(laws, np.ones((4, 3))) == 0.0


def test_drawn_pairs_have_the_median_of_all(monkeypatch):
    laws, _ = random_laws(60, 300, seed=11, rate=1.0)
    M = np.random.default_rng(12).normal(size=(300, 8))
    exact = median_width(laws, M)
    monkeypatch.setattr(width, "MOST_EXACT", 10)
    assert median_width(laws, M) == pytest.approx(exact, rel=5e-3)
    assert median_width(laws, M) == median_width(laws, M)


@pytest.mark.parametrize("kernel", KERNELS[:4], ids=str)
def test_random_features_come_close_and_say_how_close(kernel):
    laws, _ = random_laws(40, 80, 3, seed=13)
    M = np.random.default_rng(14).normal(size=(80, 6))
    exact = pair_sums(laws, M, kernel)
    found = feature_sums(laws, M, kernel, 3000)
    assert found.estimates.mean() == pytest.approx(found.sums.total(), abs=1e-12)
    assert abs(found.sums.total() - exact.total()) < 4 * found.standard_error
    assert 0 < found.standard_error < 0.05 * np.abs(exact.between).max()
    np.testing.assert_allclose(found.sums.KP / exact.laws.sizes, exact.KP / exact.laws.sizes, atol=0.12)


def test_random_features_of_a_linear_kernel_are_refused():
    laws, _ = random_laws()
    with pytest.raises(ValueError, match="exact without"):
        feature_sums(laws, np.ones((40, 2)), Kernel("linear"), 10)


@pytest.mark.parametrize("kernel", [Kernel("gaussian", (1.3,)), Kernel("laplace", (1.1,))], ids=str)
def test_unequal_lengths_leave_no_bias(kernel):
    """Lemma 1, for a fixed width: the mean of estimates is wMMD² of the laws, within its standard error."""
    laws = BetaBinomial(n_words=30, first=(0.7, 0.7), second=(3.0, 2.0))
    M = np.random.default_rng(15).normal(size=(30, 4))
    truth = laws.population(M, kernel)
    rng = np.random.default_rng(16)
    found = [pair_sums(laws.documents(10, [2, 5, 30], rng), M, kernel).total() for _ in range(600)]
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    assert abs(np.mean(found) - truth) < 3.5 * error
    assert error < 0.1 * truth


def test_pooled_counts_would_be_biased():
    """Half of the documents of either class are long, half short, drawn at random; in one class the long ones say one
    word, in the other the short ones. A position drawn at random has the same law in both, pooled words have not."""
    rng = np.random.default_rng(17)
    kernel, M, y = Kernel("gaussian", (0.5,)), np.eye(2), np.repeat([0, 1], 8)
    fair, pooled = [], []
    for _ in range(600):
        long = rng.random(16) < 0.5
        lengths = np.where(long, 40, 4)
        zeros = rng.binomial(lengths, np.where(long == (y == 0), 0.8, 0.2))
        counts = np.stack([zeros, lengths - zeros], axis=1)
        fair.append(pair_sums(WordLaws.of(sparse.csr_matrix(counts), y), M, kernel).total())
        totals = np.stack([counts[y == c].sum(axis=0) / counts[y == c].sum() for c in (0, 1)])
        difference = totals[0] - totals[1]
        pooled.append(difference @ kernel(M, M) @ difference)
    assert abs(np.mean(fair)) < 3.5 * np.std(fair) / np.sqrt(600)
    assert np.mean(pooled) > 0.2


def test_a_universal_kernel_sees_what_a_linear_one_does_not():
    """Equal means, other spread: wMMD of a linear kernel is 0, of a universal one it is not."""
    M = np.array([[0.0], [-1.0], [1.0]])
    first, second = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.5, 0.5])
    for kernel, zero in ((Kernel("linear"), True), (KERNELS[0], False), (KERNELS[2], False)):
        value = (first - second) @ kernel(M, M) @ (first - second)
        assert (abs(value) < 1e-15) == zero


def test_words_of_one_vector_are_one_word():
    """A universal kernel tells laws of M_X apart, and of X only where M's rows differ."""
    laws, counts = random_laws(20, 10)
    M = np.repeat(np.random.default_rng(0).normal(size=(5, 3)), 2, axis=0)
    merged = WordLaws.of(sparse.csr_matrix(counts[:, ::2] + counts[:, 1::2]), laws.y)
    expected = pair_sums(merged, M[::2], KERNELS[0]).total()
    assert pair_sums(laws, M, KERNELS[0]).total() == pytest.approx(expected, abs=1e-14)


def test_identity_is_vectors_that_are_equally_far_apart():
    laws, _ = random_laws(20, 30, 3)
    for family, width_ in (("gaussian", 2**0.5), ("laplace", 2**0.5)):
        expected = pair_sums(laws, np.eye(30), Kernel(family, (width_,))).total()
        assert identity_sums(laws, family).total() == pytest.approx(expected, abs=1e-8)
    assert identity_sums(laws, "linear").total() == pytest.approx(
        pair_sums(laws, np.eye(30), Kernel("linear")).total(), abs=1e-14
    )


@given(st.integers(0, 10_000), st.floats(0.1, 10.0), st.floats(-5.0, 5.0))
def test_moves_and_scales_change_nothing(seed, scale, shift):
    laws, _ = random_laws(10, 12, seed=seed)
    M = np.random.default_rng(seed).normal(size=(12, 3))
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    first = pair_sums(laws, M, Kernel("gaussian", (1.0,))).total()
    other = pair_sums(laws, scale * (M @ Q) + shift, Kernel("gaussian", (scale,))).total()
    assert other == pytest.approx(first, abs=1e-11)


def test_vectors_whose_distances_are_no_numbers():
    laws, _ = random_laws()
    M = np.random.default_rng(0).normal(size=(40, 3)) * 1e200
    with pytest.raises(ValueError, match="divide them"):
        median_width(laws, M)
    with pytest.raises(ValueError, match="divide them"):
        pair_sums(laws, M, KERNELS[0])


@pytest.mark.parametrize("width_", [0.01, 1.0])
def test_equal_vectors_of_a_narrow_laplace_kernel(width_):
    laws, _ = random_laws(20, 30)
    M = np.repeat(np.random.default_rng(1).normal(size=(10, 10)), 3, axis=0)
    kernel = Kernel("laplace", (width_,))
    expected = wmmd2(laws.laws.toarray(), laws.y, kernel(M, M))
    assert pair_sums(laws, M, kernel).total() == pytest.approx(expected, abs=1e-12)


def test_ranges_of_documents_hold_each_once():
    for sizes in ([], [0], [3, 5], [9_000, 1, 1, 9_000], [1_000] * 50):
        parts = list(width.document_parts(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)))
        covered = [d for first, last in parts for d in range(first, last)]
        assert covered == list(range(len(sizes)))
    assert len(parts) > 1


def test_a_document_without_words_has_no_law():
    with pytest.raises(ValueError, match="document 1 has no words"):
        WordLaws.of(sparse.csr_matrix(np.array([[1, 0], [0, 0]])), np.array([0, 1]))


@pytest.mark.parametrize(
    ("family", "widths", "said"),
    [
        ("cauchy", (1.0,), "kernel must be one of"),
        ("gaussian", (), "has one or more"),
        ("linear", (1.0,), "has no width"),
        ("gaussian", (0.0,), "above 0"),
        ("gaussian", (float("nan"),), "above 0"),
        ("laplace", (True,), "above 0"),
    ],
)
def test_kernels_that_are_none(family, widths, said):
    with pytest.raises(ValueError, match=said):
        Kernel(family, widths)
