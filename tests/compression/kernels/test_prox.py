"""Operations on groups of pointers, all bins at once, against one group at a time by the book."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import brentq, minimize_scalar

from cflengine.compression.kernels.prox import PROX, SHARE, TOP
from cflengine.compression.solvers.linearised_admm import LinearisedAdmm, RhoRule
from cflengine.text.kgrams import KGramIndex, index_kgrams
from naive.corpora import INDICES, costs_of, zipf_index
from naive.prox import prox, prox_objective, share

VALUES = hnp.arrays(
    np.float64, st.integers(1, 12), elements=st.sampled_from([-2.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.0, 3.0])
)


# the reference itself, against two other ways


@given(VALUES, st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.5, 100.0]))
def test_naive_prox_solves_the_level_equation(q, kappa):
    positive = np.maximum(q, 0.0)
    if positive.sum() <= kappa:
        expected = np.zeros_like(q)
    else:
        level = brentq(lambda t: np.maximum(positive - t, 0.0).sum() - kappa, 0.0, positive.max(), xtol=1e-14)
        expected = np.minimum(positive, level)
    np.testing.assert_allclose(prox(q, kappa), expected, atol=1e-12)


@given(VALUES, st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.5]))
def test_naive_prox_is_at_least_as_good_as_any_level(q, kappa):
    positive = np.maximum(q, 0.0)
    best = prox_objective(prox(q, kappa), q, kappa)
    for level in np.linspace(0.0, positive.max() + 0.1, 200):
        assert best <= prox_objective(np.minimum(positive, level), q, kappa) + 1e-12


# the kernels


def admm_of(index: KGramIndex, dictionary: np.ndarray) -> LinearisedAdmm:
    return LinearisedAdmm(index, costs_of(index, 1.0, dictionary_cost=dictionary), RhoRule(1.0, 1.5, 15, 5.0))


def groups_of(admm: LinearisedAdmm) -> list[np.ndarray]:
    """Places of each K-gram's pointers."""
    index = admm.index
    places = admm.layout.slot[index.gram_of >= 0]
    grams = index.gram_of[index.gram_of >= 0]
    order = np.argsort(grams, kind="stable")
    return np.split(places[order], np.cumsum(index.counts())[:-1])


VECTORS = {
    "random": lambda rng, m: rng.normal(0.3, 1.0, m),
    "ties": lambda rng, m: rng.choice([-1.0, 0.0, 0.5, 0.5, 1.0], m),
    "all equal": lambda rng, m: np.full(m, 0.75),
    "zeros": lambda rng, m: np.zeros(m),
    "negative": lambda rng, m: -rng.uniform(0.1, 1.0, m),
    "wide range": lambda rng, m: rng.normal(size=m) * 10.0 ** rng.integers(-6, 5, m),
}


@pytest.fixture(scope="module", params=INDICES)
def setting(request):
    index = INDICES[request.param]()
    rng = np.random.default_rng(7)
    dictionary = rng.choice([0.0, 0.3, 1.0, 5.0], index.n_grams)
    admm = admm_of(index, dictionary)
    return admm, groups_of(admm), dictionary


@pytest.mark.parametrize("kind", VECTORS)
@pytest.mark.parametrize("inv_mu", [0.05, 1.0, 40.0])
def test_prox_of_every_group(setting, kind, inv_mu):
    admm, groups, dictionary = setting
    q = VECTORS[kind](np.random.default_rng(3), admm.index.n_pointers).astype(np.float32)
    expected = np.empty(len(q))
    total = 0.0
    for s, group in enumerate(groups):
        expected[group] = prox(q[group].astype(np.float64), dictionary[s] * inv_mu)
        total += dictionary[s] * expected[group].max()
    admm.inv_mu = np.full(admm.index.max_gram, inv_mu)
    w = q.copy()
    cost = admm.groups.apply(PROX, w, admm.costs.dictionary, inv_mu=admm.inv_mu)
    scale = float(np.abs(q).max()) + 1e-6
    np.testing.assert_allclose(w, expected, rtol=2e-6, atol=1e-6 * scale)
    assert w.min() >= 0.0
    assert cost == pytest.approx(total, rel=1e-5, abs=1e-4 * scale)


@pytest.mark.parametrize("kind", VECTORS)
def test_top_leaves_the_vector_alone_and_adds_up_maxima(setting, kind):
    admm, groups, dictionary = setting
    w = np.maximum(VECTORS[kind](np.random.default_rng(4), admm.index.n_pointers), 0.0).astype(np.float32)
    before = w.copy()
    expected = sum(c * float(w[group].max()) for c, group in zip(dictionary, groups, strict=True))
    assert admm.groups.apply(TOP, w, admm.costs.dictionary) == pytest.approx(expected, rel=1e-6)
    np.testing.assert_array_equal(w, before)


@pytest.mark.parametrize("kind", VECTORS)
def test_shares_use_each_budget_but_never_more(setting, kind):
    admm, groups, dictionary = setting
    excess = np.maximum(VECTORS[kind](np.random.default_rng(5), admm.index.n_pointers), 0.0).astype(np.float32)
    shares = excess.copy()
    admm.groups.apply(SHARE, shares, admm.costs.dictionary)
    assert shares.min() >= 0.0
    for s, group in enumerate(groups):
        assert shares[group].sum(dtype=np.float64) <= dictionary[s]
        np.testing.assert_allclose(
            shares[group], share(excess[group].astype(np.float64), dictionary[s]), rtol=1e-5, atol=3e-6 * dictionary[s]
        )


@given(VALUES, st.sampled_from([0.01, 0.5, 1.0, 2.0]))
def test_prox_of_one_group_is_a_minimum(q, kappa):
    index = index_kgrams(np.zeros(len(q), np.int32), np.array([0, len(q)]), 1)
    admm = admm_of(index, np.array([kappa]))
    admm.inv_mu = np.ones(admm.index.max_gram)
    w = q.astype(np.float32)
    admm.groups.apply(PROX, w, admm.costs.dictionary, inv_mu=admm.inv_mu)
    best = prox_objective(w.astype(np.float64), q, kappa)
    found = minimize_scalar(
        lambda t: prox_objective(np.minimum(np.maximum(q, 0.0), t), q, kappa), bounds=(0.0, 4.0), method="bounded"
    )
    assert best <= found.fun + 1e-5


def test_order_of_bins_and_chunks_do_not_matter(monkeypatch):
    from cflengine.compression.passes import layout as module

    index = zipf_index()
    admm = admm_of(index, np.ones(index.n_grams))
    q = np.random.default_rng(0).normal(size=index.n_pointers).astype(np.float32)
    whole, pieces = q.copy(), q.copy()
    cost = admm.groups.apply(PROX, whole, admm.costs.dictionary, inv_mu=admm.inv_mu)
    monkeypatch.setattr(module, "CHUNK_POINTERS", 1_000)
    assert admm.groups.apply(PROX, pieces, admm.costs.dictionary, inv_mu=admm.inv_mu) == cost
    np.testing.assert_array_equal(whole, pieces)
