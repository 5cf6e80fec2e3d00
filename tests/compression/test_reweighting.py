"""Iterative reweighting: the weighted prox and the projection against generic solvers, steps against the twin, runs."""

from __future__ import annotations

import math
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from cflengine.compression import kernels_projection as projection
from cflengine.compression import kernels_reweighting as kernels
from cflengine.compression import layout
from cflengine.compression.certificate import binary_solution, certify
from cflengine.compression.kernels_prox import PROX
from cflengine.compression.layout import BIN_POINTERS
from cflengine.compression.reweighting import REWEIGHTING, ReweightingSettings, WeightedAdmm, solve_reweighting
from cflengine.compression.run import FINISHED
from cflengine.engine import progress as progress_module
from cflengine.engine.progress import Progress, TerminationReason
from cflengine.text.kgrams import index_kgrams
from naive.corpora import CHARACTERS, SMALL, costs_by_kind, costs_of, index_of, random_words
from naive.programs import solve_exactly, solve_relaxation
from naive.reweighting import NaiveReweighting, cover_nearby, weighted_prox, weighted_prox_objective

COSTS = ["pointers free", "pointers cheap", "pointers as a word", "pointers dear", "by length", "by pointer",
         "dictionary free", "external macro"]  # fmt: skip
TIGHT = ReweightingSettings(tol=1e-6, absolute=1e-7, round_iterations=3000, rounds=1)


# the weighted prox (§1.1)


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


def zipf_index(n=20_000, max_gram=2):
    tokens = np.minimum(np.random.default_rng(1).zipf(1.4, n), 3_000).astype(np.int32)
    return index_kgrams(tokens, np.arange(0, n + 1, 50), max_gram)


def giant_index():
    """One K-gram with more pointers than a bin holds, among small ones."""
    n = BIN_POINTERS + 1_000
    tokens = np.concatenate([np.zeros(n, np.int32), np.arange(300, dtype=np.int32) % 90 + 1])
    return index_kgrams(tokens, np.array([0, n + 300]), 1)


INDICES = {
    "zipf": zipf_index,
    "giant group": giant_index,
    "singletons": lambda: index_of(SMALL["all words distinct"]),
    "one word": lambda: index_of(SMALL["one word again and again"], 8),
    "phrases": lambda: index_of(SMALL["repeated phrases"]),
}


def prox_of_all(admm, v, weight, inv_rho):
    """(w, dictionary cost, groups not zero) of the layout's groups."""
    lay, w = admm.layout, v.copy()
    cost, support = np.zeros(lay.n_bins), np.zeros(lay.n_bins, np.int64)
    kernels.prox_of_groups(w, weight, lay.rank, admm.index.grp_ptr, lay.bins, lay.bin_ptr, lay.order,
                           admm.costs.dictionary, inv_rho, cost, support)  # fmt: skip
    return w, cost.sum(), support.sum()


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


# the projection (§1.2, §2)


def coverage_of(n, max_gram):
    """X of one document, pointers by length, then start."""
    token = np.arange(n)
    starts = [(k, i) for k in range(1, max_gram + 1) for i in range(n - k + 1)]
    return np.array([(token >= i) & (token < i + k) for k, i in starts], dtype=float).T


def dense_product(n, max_gram):
    """H as the kernel multiplies by it."""
    table = projection.overlaps(max_gram)
    H = np.zeros((n, n))
    for j in range(n):
        projection.add_product(table, np.eye(n)[j], H[j])
    return H


@pytest.mark.parametrize("max_gram", range(1, 9))
def test_h_is_x_times_its_transpose_and_banded(max_gram):
    for n in (1, 2, 3, max_gram, 2 * max_gram - 1, 2 * max_gram + 3):
        X = coverage_of(n, max_gram)
        H = X @ X.T
        np.testing.assert_array_equal(dense_product(n, max_gram), H)
        j, i = np.nonzero(H)
        assert np.abs(j - i).max() == min(n, max_gram) - 1
    inside = H[max_gram, max_gram : 2 * max_gram] if n > 2 * max_gram else H[0]
    assert inside.tolist() == [(max_gram - d) * (max_gram - d + 1) / 2 for d in range(max_gram)]


def project(X, max_gram, point, beta, tol=1e-9, limit=60):
    """β of the point's projection by the kernel, from ``beta``, which z = point + Xᵀβ belongs to; and the rounds."""
    n = len(X)
    g, beta = X @ point - 1 + X @ X.T @ beta, beta.copy()
    rounds = projection.project_document(
        projection.overlaps(max_gram), g, beta, tol, limit, np.full((max_gram, n + 3), 7.0), np.full(n, 7.0)
    )
    np.testing.assert_allclose(g, X @ (point + X.T @ beta) - 1, atol=1e-9 * max(1.0, np.abs(point).max()))
    return beta, rounds


@given(st.integers(1, 8), st.integers(1, 14), st.integers(0, 10**6), st.sampled_from([0.01, 0.3, 1.0, 30.0]))
def test_projection_is_nearest_and_covers_every_token(max_gram, n, seed, spread):
    rng = np.random.default_rng(seed)
    X = coverage_of(n, max_gram)
    point = rng.normal(0.3, spread, X.shape[1])
    start = rng.choice([0.0, 0.5, 3.0], n)
    beta, rounds = project(X, max_gram, point, start)
    z, expected_beta = cover_nearby(X, point)
    np.testing.assert_allclose(point + X.T @ beta, z, atol=1e-7 * max(1.0, spread))
    np.testing.assert_allclose(beta, expected_beta, atol=1e-7 * max(1.0, spread))  # H is positive definite: one β
    slack = X @ (point + X.T @ beta) - 1
    assert rounds < 60 and beta.min() >= 0 and slack.min() >= -1e-9
    assert np.abs(slack[beta > 0]).max(initial=0.0) <= 1e-9


@pytest.mark.parametrize("max_gram", [3, 8])
def test_every_round_of_the_projection_lowers_its_objective(max_gram):
    """Also where Newton's projected step would not: it is undone then."""
    X = coverage_of(60, max_gram)
    H = X @ X.T
    undone = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        point = rng.normal(0.0, 1.0, X.shape[1]) * 10.0 ** rng.integers(-2, 3)
        right, start = 1 - X @ point, rng.choice([0.0, 5.0], 60)
        values = [0.5 * beta @ H @ beta - right @ beta for beta in
                  (project(X, max_gram, point, start, 1e-10, limit)[0] for limit in range(12))]  # fmt: skip
        assert all(b <= a + 1e-9 * (1 + abs(a)) for a, b in pairwise(values))
        step, g = np.empty(60), X @ point - 1 + H @ start
        projection.newton_step(projection.overlaps(max_gram), g, start, np.empty((max_gram, 60)), step)
        undone += step @ (2 * g + H @ step) > 0
    assert undone > 0, "the examples must contain a step that has to be undone"


def test_newton_step_solves_for_the_free_variables():
    rng = np.random.default_rng(3)
    for max_gram in (1, 2, 5):
        X = coverage_of(23, max_gram)
        H = X @ X.T
        beta, g = rng.choice([0.0, 0.5, 90.0], 23), rng.normal(size=23)
        free = (beta > 0) | (g < 0)
        step = np.empty(23)
        projection.newton_step(projection.overlaps(max_gram), g, beta, np.empty((max_gram, 23)), step)
        p = np.zeros(23)
        p[free] = np.linalg.solve(H[np.ix_(free, free)], -g[free])
        np.testing.assert_allclose(step, np.maximum(beta + p, 0) - beta, atol=1e-12)


def test_gauss_seidel_alone_finds_the_same():
    X = coverage_of(15, 3)
    point = np.random.default_rng(0).normal(0.2, 0.5, X.shape[1])
    g, beta = X @ point - 1, np.zeros(15)
    for _ in range(200):
        projection.gauss_seidel(projection.overlaps(3), g, beta)
    assert projection.optimality(g, beta) < 1e-12
    np.testing.assert_allclose(beta, cover_nearby(X, point)[1], atol=1e-9)


def test_bare_tokens_are_counted():
    marks = np.array([1, 4, 0, 0, 0, 2, 1, 0, 0], np.uint8)  # bit k-1: a pointer of length k
    assert projection.bare_tokens(marks, 0, 9) == 3  # tokens 4, 7 and 8
    assert projection.bare_tokens(marks, 0, 4) == 0
    assert projection.bare_tokens(marks, 2, 5) == 3


# steps


def by_pointer(admm, naive, array):
    """An array (K, n) or, by the layout, (m,), in the twin's order."""
    if array.ndim == 1:
        return array[[admm.layout.slot[k, i] for k, i in naive.pointers]].astype(np.float64)
    return array[tuple(np.transpose(naive.pointers))].astype(np.float64)


@pytest.mark.parametrize("cost", ["pointers as a word", "by pointer", "external macro"])
@pytest.mark.parametrize("kind", ["repeated phrases", "documents between empty ones", "one word again and again"])
def test_steps_are_the_supplements(kind, cost):
    """Also over a change of ρ and of weights; y is never stored, and comes out as −ρXᵀβ."""
    index = index_of(SMALL[kind][:6])
    costs = costs_by_kind(index)[cost]
    settings = ReweightingSettings(rho=0.8, rho_factor=3.0, rho_ratio=1.0, rho_window=4)
    admm, naive, progress = WeightedAdmm(index, costs, settings), NaiveReweighting(index, costs), Progress()
    rhos, best = set(), np.inf
    for step in range(24):
        rho = admm.rho
        rhos.add(rho)
        assert admm.step(progress)
        naive.step(rho)
        close = {"atol": 3e-5, "rtol": 3e-5}
        np.testing.assert_allclose(by_pointer(admm, naive, admm.z), naive.z, **close)
        np.testing.assert_allclose(admm.beta * admm.rho, naive.beta * rho, **close)
        np.testing.assert_allclose(-naive.X.T @ admm.beta * admm.rho, naive.y, **close)
        v = naive.z - (naive.weight * naive.d + naive.y) / admm.rho
        np.testing.assert_allclose(by_pointer(admm, naive, admm.data), v, atol=1e-4, rtol=3e-5)
        assert (admm.r, admm.u) == pytest.approx((naive.r, naive.u), abs=3e-5, rel=1e-4)
        near = np.abs(naive.z - settings.nonzero).min() < 1e-4
        if not near:
            np.testing.assert_array_equal(admm.marks, naive.rounded(settings.nonzero))
        if step < 12:
            assert admm.value == pytest.approx(naive.value(), rel=1e-4, abs=1e-3)
        if admm.objective <= best:  # of equals the later one
            best, kept = admm.objective, by_pointer(admm, naive, admm.z)
        if step == 11:
            np.testing.assert_array_equal(by_pointer(admm, naive, admm.best), kept)
            naive.reweight(kept, 0.3)
            admm.reweight(0.3)
            np.testing.assert_allclose(by_pointer(admm, naive, admm.weight), naive.weight, rtol=1e-6)
            best = np.inf
    assert len(rhos) > 2


def test_rounding_that_leaves_a_token_bare_is_no_solution():
    index = index_of(SMALL["repeated phrases"])
    settings = ReweightingSettings()
    object.__setattr__(settings, "nonzero", 0.9)  # none that a user could make
    admm = WeightedAdmm(index, costs_of(index), settings)
    admm.step(Progress())
    assert admm.objective == np.inf and admm.best_objective == np.inf
    assert not binary_solution(admm.marks, index.doc_ptr, index.gram_of, admm.costs)[1]


# runs


def assert_sound(result, index, costs, optimum):
    """Everything that must hold of any result, however its run ended; optimum: of the relaxation."""
    proof = certify(result.marks, result.alpha, index.doc_ptr, index.gram_of, costs)
    assert proof.covered and proof.objective == result.objective
    assert result.lower_bound == pytest.approx(proof.lower_bound, rel=1e-9)
    assert result.lower_bound <= optimum * (1 + 1e-7) + 1e-9 <= result.objective * (1 + 2e-7) + 2e-9
    assert math.isnan(result.relaxation_upper) or result.relaxation_upper >= optimum * (1 - 2e-6)
    assert result.certificate.shrink > 1 - 1e-9
    used = binary_solution(result.marks, index.doc_ptr, index.gram_of, costs)[3]
    assert result.dictionary.tolist() == np.flatnonzero(used).tolist()
    trace = result.trace
    bounds = trace["lower_bound"].dropna()
    assert (bounds <= optimum * (1 + 1e-6)).all() and bounds.is_monotonic_increasing
    best = trace["best_objective"].dropna()
    assert best.is_monotonic_decreasing and best.iloc[-1] == pytest.approx(result.objective, rel=1e-9)
    steps = trace[trace["stage"] == REWEIGHTING]
    failed = result.reason is TerminationReason.NUMERICAL_ERROR  # the last step is not reported then
    assert steps["iteration"].tolist() == list(range(result.n_iterations + (not failed)))
    assert (steps["best_objective"] <= steps["objective"].cummin().fillna(np.inf)).all()


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("kind", SMALL)
def test_first_round_solves_the_relaxation(kind, cost):
    index = index_of(SMALL[kind])
    costs = costs_by_kind(index)[cost]
    optimum = solve_relaxation(index, costs).value
    result = solve_reweighting(index, costs, TIGHT)
    assert_sound(result, index, costs, optimum)
    assert result.relaxation == pytest.approx(optimum, rel=1e-3)
    assert result.relaxation_upper <= 1.001 * optimum + 1e-9 and result.lower_bound >= 0.999 * optimum


@pytest.mark.parametrize("max_gram", [1, 2, 8])
def test_characters_of_every_length_of_gram(max_gram):
    index = index_of(CHARACTERS, max_gram, ".")
    costs = costs_of(index, 0.6)
    optimum = solve_relaxation(index, costs).value
    result = solve_reweighting(index, costs)
    assert_sound(result, index, costs, optimum)
    assert result.lower_bound >= 0.98 * optimum


@pytest.fixture(scope="module")
def shares():
    """WeightedAdmm.binary_share's answers, as a run asks for them."""
    with pytest.MonkeyPatch.context() as patch:
        answers = []
        asked = WeightedAdmm.binary_share

        def share(self):
            answers.append(asked(self))
            return answers[-1]

        patch.setattr(WeightedAdmm, "binary_share", share)
        yield answers


@pytest.mark.parametrize("kind", SMALL)
def test_rounds_go_on_until_binary(shares, kind):
    """No two solutions cost the same here; equals can stay fractional for ever."""
    index = index_of(SMALL[kind])
    costs = costs_by_kind(index)["by pointer"]
    shares.clear()
    result = solve_reweighting(index, costs)
    assert_sound(result, index, costs, solve_relaxation(index, costs).value)
    rounds = result.trace["round"].max()
    assert result.reason is TerminationReason.CONVERGED and rounds == len(shares) <= 12
    assert shares[-1] >= 0.999 and all(share < 0.999 for share in shares[:-1])


@pytest.fixture(scope="module")
def run():
    """A run with the defaults on a corpus that takes several rounds."""
    index = index_of(random_words(11, 40, 25, 60))
    costs = costs_of(index)
    return index, costs, solve_reweighting(index, costs, lam=1.0)


def test_rounds_end_by_residuals_and_report_what_they_did(run):
    index, costs, result = run
    assert_sound(result, index, costs, solve_relaxation(index, costs).value)
    trace = result.trace
    steps = trace[trace["stage"] == REWEIGHTING]
    assert trace["stage"].tolist()[-1] == FINISHED and (trace["stage"] == FINISHED).sum() == 1
    counts = steps["round"].iloc[1:].value_counts().sort_index()
    assert counts.index.tolist() == list(range(1, len(counts) + 1)) and len(counts) > 2
    assert counts.min() >= 10 and counts.max() < 500
    assert steps.loc[steps["round"] == 1, "relaxation"].iloc[1:].notna().all()
    assert steps.loc[steps["round"] > 1, "relaxation"].isna().all()
    assert steps["zeta"].isna().all() and (trace["lam"] == 1.0).all()
    assert (steps["support"].iloc[10:] > 0).all() and (steps["support"] <= index.n_grams).all()
    assert np.isfinite(steps[["r", "u"]].iloc[1:]).all().all()
    assert result.solver == "reweighting" and result.settings["epsilon"] == 0.4


def test_indicators_rounded_up_are_poor_first_and_good_last(run):
    """AISTATS 2014, §5.2: many redundant pointers until late; large fluctuations at the beginning of every round."""
    result = run[2]
    steps = result.trace[result.trace["stage"] == REWEIGHTING].iloc[1:]
    rounds = steps.groupby("round")["objective"]
    assert rounds.first().iloc[1] > 1.2 * rounds.min().iloc[0] > 1.2 * 1.05 * result.objective
    assert rounds.min().iloc[-1] <= 1.02 * result.objective
    assert result.objective <= 1.02 * result.relaxation_upper
    assert result.trace["best_objective"].iloc[-2] >= result.objective  # re-encoding drops redundant pointers


@pytest.mark.parametrize("cost", ["pointers cheap", "pointers as a word", "by length", "by pointer", "external macro"])
@pytest.mark.parametrize("seed", range(3))
def test_objective_is_never_below_the_exact_optimum(seed, cost):
    index = index_of(random_words(seed, 4, 9, 5), 3)
    costs = costs_by_kind(index)[cost]
    optimum = solve_exactly(index, costs)
    result = solve_reweighting(index, costs)
    # exact ties that stay at ½ are rounded up to both: far from optimal on corpora as small as these
    assert optimum * (1 - 1e-9) <= result.objective <= 1.15 * optimum
    assert result.lower_bound <= optimum * (1 + 1e-9)


@pytest.mark.parametrize("scale", [1e-3, 30.0, 1e4])
def test_costs_of_every_scale(scale):
    """All costs times a number, and ρ with them, is the same problem."""
    index = index_of(SMALL["repeated phrases"])
    costs = costs_of(index, scale, dictionary_cost=scale * index.lengths())
    optimum = solve_relaxation(index, costs).value
    rho = scale if scale < 1 else None
    result = solve_reweighting(index, costs, ReweightingSettings(rho=rho, absolute=1e-5 * min(scale, 1.0)))
    assert_sound(result, index, costs, optimum)
    assert result.reason is TerminationReason.CONVERGED and result.objective <= 1.1 * optimum
    assert result.lower_bound >= 0.98 * optimum


def test_same_bytes_for_any_number_of_threads_and_chunks(monkeypatch):
    index = index_of(random_words(2, 300, 25, 60), 3)
    costs = costs_of(index)
    settings = ReweightingSettings(rounds=3, round_iterations=20)
    one, two = (solve_reweighting(index, costs, settings, n_threads=n) for n in (1, 2))
    monkeypatch.setattr(layout, "CHUNK_POINTERS", 8_000)
    pieces = solve_reweighting(index, costs, settings)
    for other in (two, pieces):
        np.testing.assert_array_equal(one.marks, other.marks)
        np.testing.assert_array_equal(one.alpha, other.alpha)
        columns = ["objective", "relaxation", "lower_bound", "rho", "support", "r", "u"]
        assert one.trace[columns].equals(other.trace[columns])


# how a run ends


@pytest.fixture(scope="module")
def small():
    index = index_of(SMALL["repeated phrases"] + SMALL["random words"])
    costs = costs_of(index)
    return index, costs, solve_relaxation(index, costs).value


class Stop:
    """Says stop at an event or at a poll."""

    def __init__(self, events=10**9, polls=10**9):
        self.events, self.polls = events, polls

    def __call__(self, stats):
        self.events -= 1
        return self.events >= 0

    def poll(self):
        self.polls -= 1
        return self.polls >= 0


@pytest.mark.parametrize("event", [0, 1, 2, 10, 19, 20, 21, 45])
def test_stop_by_a_listener_still_certifies(small, event):
    index, costs, optimum = small
    result = solve_reweighting(index, costs, ReweightingSettings(round_iterations=20), listeners=[Stop(events=event)])
    assert result.reason is TerminationReason.INTERRUPTED and result.n_iterations == event
    assert_sound(result, index, costs, optimum)
    assert result.lower_bound > 0 and math.isnan(result.relaxation) == (event == 0)


@pytest.mark.parametrize("polls", [0, 1, 2, 3, 4, 7, 20, 41, 61])
def test_stop_within_a_step_still_certifies(monkeypatch, polls):
    """Chunks so small that a stop leaves some groups, or some documents, in the last step and others in the next."""
    monkeypatch.setattr(layout, "CHUNK_POINTERS", 2_000)
    index = index_of(random_words(2, 200, 25, 60), 2)
    costs = costs_of(index)
    settings = ReweightingSettings(round_iterations=11, rounds=2)
    result = solve_reweighting(index, costs, settings, listeners=[Stop(polls=polls)])
    assert result.reason is TerminationReason.INTERRUPTED and result.certificate.covered
    assert result.n_iterations < 20 and result.objective >= result.lower_bound > 0


@pytest.mark.parametrize("limit", [1e-9, 30.0, 300.0])
def test_time_limit_stops_and_still_certifies(small, monkeypatch, limit):
    """The clock advances a second whenever it is read."""
    index, costs, optimum = small
    ticks = iter(range(10**9))
    monkeypatch.setattr(progress_module, "time", SimpleNamespace(perf_counter=lambda: float(next(ticks))))
    result = solve_reweighting(index, costs, ReweightingSettings(time_limit=limit))
    assert result.reason is TerminationReason.TIME_LIMIT and result.n_iterations < limit
    assert_sound(result, index, costs, optimum)


def test_limits_of_rounds_and_patience(small):
    index, costs, optimum = small
    limited = solve_reweighting(index, costs, ReweightingSettings(rounds=2, round_iterations=15, binary=1.0))
    assert limited.reason is TerminationReason.ITERATION_LIMIT and limited.n_iterations == 30
    # at ε = 1 all weights stay 1: every round is the first one over again
    settings = ReweightingSettings(epsilon=1.0, patience=2, binary=1.0)
    stalled = solve_reweighting(index, costs, settings)
    assert stalled.reason is TerminationReason.CONVERGED and stalled.trace["round"].max() < 20
    for result in (limited, stalled):
        assert_sound(result, index, costs, optimum)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("rho", [3e38, 1e300, 1e-300, 1e-38])
def test_a_rho_beyond_all_reason_still_leaves_valid_bounds(small, rho):
    index, costs, optimum = small
    result = solve_reweighting(index, costs, ReweightingSettings(rho=rho, rho_factor=1.0, round_iterations=60))
    assert_sound(result, index, costs, optimum)
    assert result.lower_bound > 0
    if rho < 1:  # w stays 0: the relaxation is far from solved, and that is said
        assert result.reason is TerminationReason.ITERATION_LIMIT and result.relaxation == 0


def test_numerical_error_is_said_and_leaves_a_certified_solution(small, monkeypatch):
    index, costs, optimum = small
    step = WeightedAdmm.step

    def overflow(self, progress):
        if self.objective < 400:
            self.data[:] = np.inf
        return step(self, progress)

    monkeypatch.setattr(WeightedAdmm, "step", overflow)
    with np.errstate(invalid="ignore"):
        result = solve_reweighting(index, costs)
    assert result.reason is TerminationReason.NUMERICAL_ERROR
    assert_sound(result, index, costs, optimum)


# settings


@pytest.mark.parametrize(
    "wrong",
    [{name: value} for name in ("rho", "rho_factor", "rho_ratio", "tol", "absolute", "epsilon", "projection_tol",
                                "time_limit") for value in (0.0, -1.0, math.nan, math.inf, "1")]
    + [{name: value} for name in ("rho_window", "rho_steps", "least_iterations", "round_iterations", "rounds",
                                  "patience", "projection_iterations", "bound_every") for value in (0, 1.5, None, True)]
    + [{"rho_factor": 0.99}, {"rho_ratio": 0.5}, {"nonzero": 0.0}, {"nonzero": 0.03}, {"margin": 0.6}, {"margin": 0.0},
       {"binary": 1.01}, {"binary": math.nan}],
    ids=str,
)  # fmt: skip
def test_invalid_settings_raise_and_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ReweightingSettings(**wrong)


def test_defaults():
    index = index_of(SMALL["random words"], 4)
    trace = solve_reweighting(index, costs_of(index), ReweightingSettings(round_iterations=1, rounds=1)).trace
    assert trace["rho"][0] == 1.0
    dear = solve_reweighting(index, costs_of(index, 50.0), ReweightingSettings(round_iterations=1, rounds=1)).trace
    assert dear["rho"][0] == 5.0
