"""Steps of linearised ADMM against §4.2 in float64 with a dense matrix, and the memory they take."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cflengine.compression.model.certificate import binary_solution
from cflengine.compression.model.problem import objective, spectral_bound
from cflengine.compression.passes import layout as module
from cflengine.compression.solvers.linearised_admm import LinearisedAdmm, RhoRule
from cflengine.compression.solvers.memory import state_bytes
from cflengine.engine.progress import Progress, TerminationReason
from cflengine.text.kgrams import index_kgrams
from naive.admm import NaiveAdmm
from naive.corpora import SMALL, costs_of, index_of, random_words, repeated_phrases, uneven_costs
from naive.cover import cheapest, pointers_of
from naive.programs import solve_relaxation

CORPORA = {
    "random words": random_words(1, 6, 10, 9),
    "phrases": repeated_phrases(2, 5, 3),
    "short": SMALL["many short documents"][20:50],
    "one word": ["la " * 30, "la la", "la"],
}


def quick_rule(index) -> RhoRule:
    """ρ rises several times within a few dozen steps."""
    return RhoRule(1.0 / index.max_gram, 1.5, 4, 0.5)


def by_pointer(reference: NaiveAdmm, admm: LinearisedAdmm, vector: np.ndarray) -> np.ndarray:
    """A float32 vector in the layout's places, in the reference's order of pointers."""
    return np.array([vector[admm.layout.slot[k, i]] for k, i in reference.pointers])


class Pair:
    """The engine and its reference, side by side; they see the same ρ."""

    def __init__(self, texts: list[str], max_gram: int, costs=uneven_costs) -> None:
        self.index = index_of(texts, max_gram)
        self.costs = costs(self.index)
        self.admm = LinearisedAdmm(self.index, self.costs, quick_rule(self.index))
        self.reference = NaiveAdmm(self.index, self.costs, spectral_bound(max_gram))
        self.rhos: list[float] = []

    def step(self, zeta: float) -> None:
        rho, rho_next = self.admm.rho, self.admm.rule.rho
        assert self.admm.step(zeta, Progress())
        self.reference.step(zeta, rho, rho_next)
        self.rhos.append(self.admm.rho)

    def assert_close(self, tolerance: float = 2e-4) -> None:
        admm, reference = self.admm, self.reference
        scale = max(1.0, np.abs(reference.y).max())
        np.testing.assert_allclose(admm.y, reference.y, atol=tolerance * scale)
        np.testing.assert_allclose(admm.z, reference.z, atol=tolerance)
        np.testing.assert_allclose([admm.r, admm.u], [reference.r, reference.u], atol=tolerance)
        assert admm.relaxation == pytest.approx(reference.relaxation, rel=tolerance, abs=tolerance)
        assert abs(admm.support - reference.support) <= 2, "but for levels within rounding of zero"
        w = reference.next_w()
        np.testing.assert_allclose(by_pointer(reference, admm, admm.current_w()), w, atol=tolerance)


@pytest.mark.parametrize("max_gram", [1, 3, 5])
@pytest.mark.parametrize("kind", CORPORA)
def test_forty_steps_on_the_relaxation_are_the_papers(kind, max_gram):
    pair = Pair(CORPORA[kind], max_gram)
    for _ in range(40):
        pair.step(0.0)
        pair.assert_close()
    assert len(set(pair.rhos)) > 2, "ρ must change for the test to tell"


@pytest.mark.parametrize("max_gram", [2, 4])
@pytest.mark.parametrize("kind", ["random words", "phrases", "short"])
def test_forty_steps_of_the_homotopy_are_the_papers(kind, max_gram):
    pair = Pair(CORPORA[kind], max_gram)
    changes = 0
    for zeta in (0.0, 0.1, 0.4, 0.8, 1.0):
        for _ in range(8):
            pair.step(zeta)
            pair.assert_close(1e-3)
            if zeta > 0:
                changes += assert_same_theta_update(pair, zeta)
    assert changes > 0, "the encoder must have had to raise some θ to ζ"


def assert_same_theta_update(pair: Pair, zeta: float) -> int:
    """ψ covers, is as cheap as the cheapest by the reference's η, and gives the same multiplier and objective."""
    admm, reference, index = pair.admm, pair.reference, pair.index
    chosen = pointers_of(admm.cover)
    eta = {(k + 1, i): price for (k, i), price in zip(reference.pointers, reference.eta, strict=True)}
    assert sum(eta[pointer] for pointer in chosen) == pytest.approx(cheapest(eta, index.n_tokens), abs=1e-3)
    value, covered, _, used = binary_solution(admm.cover, index.gram_of, pair.costs)
    assert covered and admm.objective == pytest.approx(value, rel=1e-6)
    np.testing.assert_array_equal(admm.used > 0, used)
    multiplier = np.array([admm.multiplier[k, i] for k, i in reference.pointers]) * admm.rho
    np.testing.assert_allclose(multiplier, reference.y_theta, atol=1e-3 * max(1.0, np.abs(reference.y_theta).max()))
    return int((reference.y_theta < -0.01).sum())


def test_costs_by_length_take_the_same_steps():
    pair = Pair(CORPORA["phrases"], 3, lambda index: costs_of(index, pointer_cost=np.array([0.4, 1.1, 1.3])))
    for zeta in (0.0,) * 30:
        pair.step(zeta)
        pair.assert_close()


@pytest.mark.parametrize("kind", CORPORA)
def test_bound_in_the_run_is_the_lagrangian_bound_and_valid(kind):
    pair = Pair(CORPORA[kind], 3)
    optimum = solve_relaxation(pair.index, pair.costs).value
    best = 0.0
    for _ in range(10):
        for _ in range(4):
            pair.step(0.0)
        pair.admm.bound.update(pair.admm.y)
        best = max(best, pair.reference.lower_bound())
        assert pair.admm.bound.value == pytest.approx(best, rel=1e-4)
        assert pair.admm.bound.value <= optimum * (1 + 1e-7)
    assert pair.admm.bound.alpha().sum() == pytest.approx(pair.admm.bound.value, rel=1e-6)


def test_bound_stands_when_the_multiplier_gets_worse():
    pair = Pair(CORPORA["phrases"], 3)
    for _ in range(60):
        pair.step(0.0)
    pair.admm.bound.update(pair.admm.y)
    best, alpha = pair.admm.bound.value, pair.admm.bound.alpha()
    pair.admm.y[:] = 0.0
    pair.admm.bound.update(pair.admm.y)
    assert pair.admm.bound.value == best
    np.testing.assert_array_equal(pair.admm.bound.alpha(), alpha)


def test_feasible_value_is_the_objective_of_a_point_that_covers():
    """From any w > 0: it is no less than the optimum, and w itself where w covers."""
    index = index_of(CORPORA["random words"], 3)
    costs = uneven_costs(index)
    admm = LinearisedAdmm(index, costs, quick_rule(index))
    optimum = solve_relaxation(index, costs).value
    rng = np.random.default_rng(0)
    for _ in range(5):
        w = rng.uniform(0.01, 0.3, index.n_pointers).astype(np.float32)
        before = w.copy()
        assert admm.feasible_value(w) >= optimum * (1 - 1e-6)
        # w is left as the point that covers: no entry fell, and its value is the one that was returned
        assert (w >= before).all()
    ones = np.zeros(index.n_pointers, dtype=np.float32)
    ones[admm.layout.slot[0]] = 1.0
    by_position = np.zeros(index.gram_of.shape)
    by_position[0] = 1.0
    assert admm.feasible_value(ones.copy()) == pytest.approx(objective(by_position, index.gram_of, costs), rel=1e-5)
    assert admm.feasible_value(np.zeros_like(ones)) == math.inf
    uncovered = ones.copy()
    uncovered[admm.layout.slot[0, 7]] = 1e-4
    assert admm.feasible_value(uncovered) == math.inf


def test_binary_share_counts_ones_among_the_positive():
    index = index_of(["a b c d"], 2)
    admm = LinearisedAdmm(index, costs_of(index), quick_rule(index))
    w = np.zeros(index.n_pointers, dtype=np.float32)
    assert admm.binary_share(w) == 1.0
    w[admm.layout.slot[0]] = [1.0, 0.995, 0.5, 0.005]
    assert admm.binary_share(w) == pytest.approx(2 / 3)


# the rule for ρ (§4.2.4)


def test_rho_rises_when_the_mean_ratio_of_a_full_window_exceeds_the_limit():
    rule = RhoRule(1.0, 1.5, 3, 5.0)
    for r, expected in ((6, 1.0), (6, 1.0), (6, 1.5)):
        rule.observe(r, 1.0)
        assert rule.rho == expected
    # not again within a window, though the ratios stay high
    for expected in (1.5, 1.5, 2.25):
        rule.observe(6.0, 1.0)
        assert rule.rho == expected


def test_rho_looks_at_the_last_window_only_and_never_falls():
    rule = RhoRule(1.0, 1.5, 2, 5.0)
    for r in (1.0, 1.0, 1.0, 5.0, 5.0, 4.0, 0.0):
        rule.observe(r, 1.0)
        assert rule.rho == 1.0
    rule.observe(10.5, 1.0)
    assert rule.rho == 1.5
    for _ in range(10):
        rule.observe(0.0, 1.0)
    assert rule.rho == 1.5


@pytest.mark.parametrize(("ratios", "rises"), [((0.0, 9.0), False), ((20.0, 1.0), True), ((5.0, 5.0), False)])
def test_rho_goes_by_the_mean_and_not_by_the_last_step(ratios, rises):
    rule = RhoRule(1.0, 1.5, 2, 5.0)
    for ratio in ratios:
        rule.observe(ratio, 1.0)
    assert rule.rho == (1.5 if rises else 1.0)


def test_rho_takes_a_still_z_for_an_infinite_ratio_and_no_residual_for_none():
    rule = RhoRule(1.0, 2.0, 1, 5.0)
    rule.observe(0.0, 0.0)
    assert rule.rho == 1.0
    rule.observe(1e-9, 0.0)
    assert rule.rho == 2.0


# how a step is cut up


@pytest.mark.parametrize("zetas", [(0.0,) * 12, (0.0,) * 5 + (0.3,) * 7])
def test_chunks_change_no_bit(monkeypatch, zetas):
    texts = random_words(3, 400, 40, 300)
    index = index_of(texts, 3)
    runs = []
    for chunk in (module.CHUNK_POINTERS, 5_000):
        monkeypatch.setattr(module, "CHUNK_POINTERS", chunk)
        admm = LinearisedAdmm(index, costs_of(index), quick_rule(index))
        for zeta in zetas:
            admm.step(zeta, Progress())
        admm.bound.update(admm.y)
        runs.append((admm.q, admm.y, admm.cover, admm.bound.value, admm.relaxation, admm.round(admm.current_w())))
    for whole, pieces in zip(*runs, strict=True):
        np.testing.assert_array_equal(whole, pieces)


class AfterPolls:
    """A listener that says stop at the n-th poll."""

    def __init__(self, n: int) -> None:
        self.left = n

    def __call__(self, stats) -> None:
        return None

    def poll(self) -> bool:
        self.left -= 1
        return self.left > 0


def test_step_stops_between_chunks(monkeypatch):
    monkeypatch.setattr(module, "CHUNK_POINTERS", 2_000)
    index = index_of(random_words(3, 200, 40, 300), 3)
    admm = LinearisedAdmm(index, costs_of(index), quick_rule(index))
    polls = 0
    while True:
        polls += 1
        progress = Progress([AfterPolls(polls)])
        if admm.step(0.0, progress):
            break
        assert progress.reason is TerminationReason.INTERRUPTED
    assert polls > 5


# memory


@pytest.mark.parametrize("max_gram", [1, 3, 6])
@pytest.mark.parametrize("homotopy", [False, True])
def test_state_bytes_are_those_of_the_arrays(max_gram, homotopy):
    tokens = np.minimum(np.random.default_rng(0).zipf(1.2, 60_000), 9_000).astype(np.int32)
    index = index_kgrams(tokens, np.arange(0, 60_001, 150), max_gram)
    admm = LinearisedAdmm(index, costs_of(index), quick_rule(index))
    admm.step(0.5 if homotopy else 0.0, Progress())
    held = index.nbytes + admm.layout.nbytes + admm.costs.dictionary.nbytes
    held += sum(array.nbytes for array in (admm.q, admm.y, admm.z, admm.bound.best_y))
    held += admm.multiplier.nbytes + admm.cover.nbytes + admm.used.nbytes
    # beside these, the shares while a bound is computed, and a copy of the cover for the best solution
    held += admm.q.nbytes + (admm.cover.nbytes if homotopy else 0)
    ratio = index.n_grams / index.n_tokens
    assert state_bytes(
        index.n_tokens, max_gram, "homotopy" if homotopy else "relaxation", grams_per_token=ratio
    ) == pytest.approx(held, rel=0.04)


def test_documented_bytes_a_token():
    assert state_bytes(10**6, 3, "relaxation", grams_per_token=0.56) / 10**6 == pytest.approx(78, abs=0.5)
    assert state_bytes(10**6, 3, "homotopy", grams_per_token=0.56) / 10**6 == pytest.approx(91, abs=0.8)


def test_a_hundred_and_fifty_million_tokens_fit_the_papers_machine():
    assert state_bytes(150_000_000, 3) < 24 << 30
