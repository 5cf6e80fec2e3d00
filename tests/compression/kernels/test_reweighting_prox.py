"""The weighted prox of reweighting (NIPS 2013, supplement §1.1) against a generic solver, and in linear time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from cflengine.compression.kernels import reweighting as kernels
from cflengine.compression.kernels.arrays import GroupSums
from cflengine.compression.kernels.prox import PROX
from cflengine.compression.solvers.reweighting_settings import ReweightingSettings
from cflengine.compression.solvers.weighted_admm import WeightedAdmm
from naive.corpora import INDICES, costs_of
from naive.reweighting import weighted_prox, weighted_prox_objective


def prox(v, weight, kappa):
    """One group through the kernel; (w, level)."""
    values, weights = np.array(v, dtype=np.float32), np.array(weight, dtype=np.float32)
    work = np.empty(len(values), np.float32), np.empty(len(values), np.float32)
    level = kernels.weighted_prox(values, weights, 0, len(values), kappa, *work)
    return values.astype(np.float64), level


def assert_optimal(w, v, weight, kappa, tol=2e-6):
    """KKT of (4): w = q − Dα with α ≥ 0 of sum κ, or at most κ where w = 0, and α = 0 off the maximum."""
    v, weight = np.float32(v).astype(np.float64), np.float32(weight).astype(np.float64)
    q = np.maximum(v, 0.0)
    scale = max(1.0, np.abs(v).max())
    alpha = (q - w) / weight
    assert w.min() >= 0 and alpha.min() >= -tol * scale
    if not w.any():
        assert alpha.sum() <= kappa * (1 + tol) + 1e-12
        return
    top = (weight * w).max()
    below = weight * w < top * (1 - 1e-5)
    np.testing.assert_allclose(w[below], q[below], atol=1e-7 * scale)
    # float32 leaves an error of its own in every element of the sum
    assert alpha.sum() == pytest.approx(kappa, rel=1e-5, abs=tol * scale * (1 / weight).sum())


VALUES = st.lists(st.sampled_from([-2.0, -0.5, 0.0, 0.25, 0.5, 0.5, 1.0, 1.0, 3.0]), min_size=1, max_size=7)
KAPPAS = st.sampled_from([0.0, 0.01, 0.1, 0.5, 1.0, 2.5, 100.0])


@given(VALUES, KAPPAS, st.data())
def test_prox_is_the_minimum_that_a_generic_solver_finds(v, kappa, data):
    """The epigraph form (4), variables w and t, by SLSQP."""
    v = np.array(v)
    weight = np.array(
        data.draw(st.lists(st.sampled_from([1.0, 1.0, 1.25, 2.0, 2.5]), min_size=len(v), max_size=len(v)))
    )
    w, _ = prox(v, weight, kappa)
    assert_optimal(w, v, weight, kappa)
    np.testing.assert_allclose(w, weighted_prox(v, weight, kappa), atol=2e-6)
    q = np.maximum(v, 0.0)
    found = minimize(
        lambda x: 0.5 * ((x[:-1] - v) ** 2).sum() + kappa * x[-1],
        np.append(q, (weight * q).max()),
        jac=lambda x: np.append(x[:-1] - v, kappa),
        bounds=[(0, None)] * (len(v) + 1),
        constraints={
            "type": "ineq",
            "fun": lambda x: x[-1] - weight * x[:-1],
            "jac": lambda x: np.hstack([-np.diag(weight), np.ones((len(v), 1))]),
        },
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert weighted_prox_objective(w, v, weight, kappa) <= found.fun + 1e-6


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_k_maximal_elements(k):
    """Equations (13) to (20): f = Dv falls from 6 to 1; κ is such that the level lies just above f_{k+1}."""
    weight = np.array([1.0, 2.0, 1.5, 1.0, 3.0, 2.5])
    v = np.arange(6.0, 0.0, -1.0) / weight
    level = 6 - k + 0.25
    kappa = float(((6 - np.arange(k)) / weight[:k] ** 2 - level / weight[:k] ** 2).sum())
    w, t = prox(v, weight, kappa)
    assert t == pytest.approx(level, rel=1e-6)
    assert np.isclose(weight * w, level, rtol=1e-5).sum() == k
    assert_optimal(w, v, weight, kappa)
    inverse = 1 / weight[:k] ** 2
    np.testing.assert_allclose(t, (inverse @ (weight * v)[:k] - kappa) / inverse.sum(), rtol=1e-6)  # (21)


@pytest.mark.parametrize("size", [1, 3, 50])
def test_w_is_zero_exactly_up_to_the_budget_of_equation_12(size):
    rng = np.random.default_rng(size)
    v, weight = rng.normal(0.2, 1.0, size), rng.uniform(1.0, 2.5, size)
    v[0] = 0.7
    q, d = np.maximum(np.float32(v), 0).astype(np.float64), np.float32(weight).astype(np.float64)
    edge = float((q / d).sum())
    assert not prox(v, weight, edge * (1 + 1e-9))[0].any()
    w, level = prox(v, weight, edge * (1 - 1e-4))
    assert w.any() and level > 0
    assert_optimal(w, v, weight, edge * (1 - 1e-4))


ORDERS = {
    "ascending": lambda n: np.arange(1, n + 1),
    "descending": lambda n: np.arange(n, 0, -1),
    "organ pipes": lambda n: np.minimum(np.arange(1, n + 1), np.arange(n, 0, -1)),
    "valley": lambda n: 1 + np.abs(np.arange(n) - n // 2),
    "all equal": lambda n: np.ones(n),
    "two values": lambda n: 1 + np.arange(n) % 2,
    "doubling": lambda n: 1.5 ** (np.arange(n) % 120),
    "random": lambda n: np.random.default_rng(n).uniform(0.01, 5.0, n),
}


@pytest.mark.parametrize("share", [1e-4, 0.3, 0.97])
@pytest.mark.parametrize("order", ORDERS)
def test_a_group_of_10000(order, share):
    v = ORDERS[order](10_000).astype(np.float64)
    weight = np.random.default_rng(1).choice([1.0, 1.4, 2.5], 10_000)
    kappa = share * float((v / weight).sum())
    w, _ = prox(v, weight, kappa)
    assert_optimal(w, v, weight, kappa)
    np.testing.assert_allclose(w, weighted_prox(np.float32(v).astype(float), np.float32(weight).astype(float), kappa),
                               rtol=1e-5, atol=1e-6 * v.max())  # fmt: skip


def test_halfway_pivot_halves_the_floats_between():
    values = np.array([1e-30, 5.0, 3.0, 1e20], np.float32)
    bits = values.view(np.int32).astype(np.int64)
    middle = np.float32(kernels._halfway(values, 0, 4)).view(np.int32)
    assert middle == (bits.min() + bits.max()) // 2
    assert kernels._halfway(values, 1, 2) == 5.0
    low, high = np.float32(3.0), np.nextafter(np.float32(3.0), np.float32(4.0))
    assert kernels._halfway(np.array([high, low]), 0, 2) == low


def against_the_median_of_three(n):
    """Numbers in an order where the elements that it looks at are always the largest ones left; and the elements that
    selection by it alone would have to pass over. Made by playing the selection with the answers still open."""
    made, left, passed = np.zeros(n, np.float32), n + 10.0, 0
    values, ids = np.zeros(n, np.float32), np.arange(n, dtype=np.float32)
    lo, hi = 0, n
    while lo < hi:
        looked = [lo, lo + (hi - lo) // 2, hi - 1]
        for place in looked:
            if made[int(ids[place])] == 0.0:
                made[int(ids[place])] = values[place] = left
                left -= 1.0
        passed += hi - lo
        _, lo, _, _ = kernels._split(values, ids, lo, hi, np.float32(sorted(values[looked])[1]))
    return made, passed


def test_selection_is_linear_also_where_every_median_of_three_is_poor():
    n = 4_000
    values, alone = against_the_median_of_three(n)
    assert alone > 200 * n
    passed = []

    def counted(*arguments):
        passed.append(arguments[3] - arguments[2])
        return kernels._split(*arguments)

    function = kernels.weighted_level.py_func
    level = type(function)(function.__code__, {**function.__globals__, "_split": counted})
    kappa = 0.9 * float(values.sum(dtype=np.float64))
    found = level(values.copy(), np.ones(n, np.float32), n, kappa)
    assert found == pytest.approx(weighted_prox(values.astype(np.float64), np.ones(n), kappa).max(), rel=1e-6)
    assert sum(passed) < 20 * n


def test_prox_of_one_element():
    for v, weight, kappa, expected in [
        (2.0, 1.0, 0.5, 1.5),
        (2.0, 2.0, 0.5, 1.0),
        (1.0, 2.0, 0.5, 0.0),
        (-1.0, 1.0, 0, 0),
    ]:
        assert prox([v], [weight], kappa)[0].tolist() == [expected]


def prox_of_all(admm, v, weight, inv_rho):
    """(w, dictionary cost, groups not zero) of the layout's groups."""
    lay, w = admm.layout, v.copy()
    sums = GroupSums(np.empty(0, np.float32), np.zeros(lay.n_bins), np.zeros(lay.n_bins, np.int64))
    chunk = (0, len(lay.order))
    kernels.prox_of_groups(w, weight, admm.groups.bins, lay.order, admm.costs.dictionary, inv_rho, sums, chunk)

    return w, sums.totals.sum(), sums.support.sum()


@pytest.fixture(scope="module", params=INDICES)
def setting(request):
    index = INDICES[request.param]()
    rng = np.random.default_rng(7)
    costs = costs_of(index, 1.0, dictionary_cost=rng.choice([0.0, 0.3, 1.0, 5.0], index.n_grams))
    admm = WeightedAdmm(index, costs, ReweightingSettings())
    grams, places = index.gram_of[index.gram_of >= 0], admm.layout.slot[index.gram_of >= 0]
    groups = np.split(places[np.argsort(grams, kind="stable")], np.cumsum(index.counts())[:-1])
    v = rng.normal(0.3, 1.0, index.n_pointers).astype(np.float32)
    return admm, groups, v, rng.uniform(1.0, 2.5, index.n_pointers).astype(np.float32)


@pytest.mark.parametrize("inv_rho", [0.05, 1.0, 40.0])
def test_prox_of_every_group(setting, inv_rho):
    admm, groups, v, weight = setting
    w, cost, support = prox_of_all(admm, v, weight, inv_rho)
    total = alive = 0
    for s, group in enumerate(groups):
        c, D = admm.costs.dictionary[s], weight[group].astype(np.float64)
        expected = weighted_prox(v[group].astype(np.float64), D, c * inv_rho)
        np.testing.assert_allclose(w[group], expected, atol=3e-6)
        total += c * (D * expected).max()
        alive += w[group].max() > 0
    assert cost == pytest.approx(total, rel=1e-5, abs=1e-5) and support == alive


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_equal_weights_are_the_plain_prox(setting, factor):
    """D = δI makes κ‖Dw‖∞ = κδ‖w‖∞."""
    admm, _, v, weight = setting
    plain = v.copy()
    cost = admm.groups.apply(PROX, plain, admm.costs.dictionary, inv_mu=np.full(admm.index.max_gram, 0.7 * factor))
    w, weighted_cost, _ = prox_of_all(admm, v, np.full_like(weight, factor), 0.7)
    np.testing.assert_allclose(w, plain, atol=2e-6)
    assert weighted_cost == pytest.approx(cost * factor, rel=1e-5, abs=1e-6)
