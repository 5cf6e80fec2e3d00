"""The certificate: bounds that no linear program undercuts, from any dual vector; solutions that are checked."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cflengine.compression.model import certificate
from cflengine.compression.model.certificate import binary_solution, certify, dual_bound, exact_step
from cflengine.compression.model.parts import PartsCertificate, part_facts
from cflengine.compression.model.problem import StorageCosts, coverage_matrix, objective
from cflengine.compression.solvers.guided.solver import solve_guided
from cflengine.engine.gaps import relative_gap
from cflengine.text.kgrams import KGramIndex
from naive.corpora import CHARACTERS, SMALL, costs_by_kind, costs_of, index_of, uneven_costs
from naive.cover import coverage, pointers_of
from naive.programs import solve_exactly, solve_relaxation

COSTS = ["pointers free", "pointers cheap", "pointers as a word", "pointers expensive", "by length", "by pointer",
         "dictionary free", "external macro"]  # fmt: skip


def excess_of(alpha: np.ndarray, index: KGramIndex, costs) -> np.ndarray:
    """Σ over J(s) of ((Xᵀα)_i − d_i)₊ for every K-gram, by definition."""
    charged = (coverage_matrix(index.gram_of).T @ alpha).reshape(index.gram_of.shape)
    total = np.zeros(index.n_grams)
    for k, i in np.argwhere(index.gram_of >= 0):
        d = costs.pointer_by_length[k] + (costs.pointer_extra[k, i] if costs.pointer_extra.size else 0.0)
        total[index.gram_of[k, i]] += max(0.0, charged[k, i] - d)
    return total


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("kind", SMALL)
def test_dual_prices_of_the_linear_program_prove_its_optimum(kind, cost):
    index = index_of(SMALL[kind])
    costs = costs_by_kind(index)[cost]
    program = solve_relaxation(index, costs)
    bound, shrink = dual_bound(program.prices, index.gram_of, costs)
    assert bound == pytest.approx(program.value, rel=1e-6, abs=1e-6) and shrink > 1 - 1e-6


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("kind", ["random words", "many short documents", "one word again and again"])
def test_any_vector_of_prices_proves_a_valid_bound(kind, cost):
    index = index_of(SMALL[kind])
    costs = costs_by_kind(index)[cost]
    optimum = solve_relaxation(index, costs).value
    rng = np.random.default_rng(0)
    n = index.n_tokens
    for alpha in (
        *(rng.exponential(scale, n) for scale in (0.01, 0.3, 1.0, 30.0)),
        np.full(n, 2.0),
        np.eye(1, n)[0] * 50,
    ):
        bound, shrink = dual_bound(alpha, index.gram_of, costs)
        assert bound <= optimum * (1 + 1e-7) + 1e-7
        assert 0 <= shrink <= 1 and bound == pytest.approx(alpha.sum() * shrink)
        assert (excess_of(alpha * shrink, index, costs) <= costs.dictionary + 1e-9).all()


@settings(max_examples=100)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.1, 1.0]), st.sampled_from(["words", "by pointer"]))
def test_shrunk_prices_are_feasible_in_exact_arithmetic(seed, stored, kind):
    """Also of prices that add up to what a pointer costs once they are rounded, and to a little more before."""
    rng = np.random.default_rng(seed)
    index = index_of([" ".join(rng.choice(list("ab"), 3)) for _ in range(4)], 3)
    costs = costs_of(index, 1.0, dictionary_cost=np.full(index.n_grams, stored))
    if kind == "by pointer":
        costs = uneven_costs(index)
    two = rng.uniform(0.0, 0.5, (4, 2))
    alpha = np.column_stack([two, 1.0 - two.sum(axis=1)]).ravel()
    bound, shrink = dual_bound(alpha, index.gram_of, costs)
    exact = [Fraction(shrink) * Fraction(value) for value in alpha.tolist()]
    spent = [Fraction(0)] * index.n_grams
    for k, i in np.argwhere(index.gram_of >= 0):
        d = Fraction(float(costs.pointer_by_length[k]))
        d += Fraction(float(costs.pointer_extra[k, i])) if costs.pointer_extra.size else 0
        spent[index.gram_of[k, i]] += max(sum(exact[i : i + k + 1], -d), 0)
    assert all(amount <= Fraction(float(c)) for amount, c in zip(spent, costs.dictionary, strict=True))
    assert Fraction(bound) <= sum(exact)


def test_infeasible_prices_are_shrunk_only_as_far_as_needed():
    """One K-gram of one pointer, d = 1, c = 2: the price may be 3; 12 must shrink to it or below."""
    index = index_of(["word"], 1)
    costs = costs_of(index, 1.0, dictionary_cost=np.array([2.0]))
    assert dual_bound(np.array([3.0]), index.gram_of, costs) == (3.0, 1.0)
    # a little too expensive is too expensive
    bound, shrink = dual_bound(np.array([3.05]), index.gram_of, costs)
    assert shrink == pytest.approx(2 / 2.05) and bound < 3.0
    bound, shrink = dual_bound(np.array([12.0]), index.gram_of, costs)
    # τ = c / excess = 2/11 is what the argument in the docstring gives
    assert shrink == pytest.approx(2 / 11) and bound == pytest.approx(12 * 2 / 11)
    # c = 0: shrinking to d/x leaves no excess
    free = costs_of(index, 1.0, dictionary_cost=np.array([0.0]))
    assert dual_bound(np.array([4.0]), index.gram_of, free) == pytest.approx((1.0, 0.25), rel=1e-12)


def test_negative_prices_count_as_zero():
    index = index_of(["a b c"], 2)
    costs = costs_of(index)
    alpha = np.array([1.0, -7.0, 0.5])
    assert dual_bound(alpha, index.gram_of, costs) == dual_bound(np.maximum(alpha, 0), index.gram_of, costs)


def test_chunks_change_nothing(monkeypatch):
    index = index_of(SMALL["documents between empty ones"] + SMALL["random words"], 5)
    costs = uneven_costs(index)
    alpha = np.random.default_rng(0).uniform(0, 2, index.n_tokens)
    whole = dual_bound(alpha, index.gram_of, costs)
    monkeypatch.setattr(certificate, "_CHUNK_TOKENS", 10)
    assert dual_bound(alpha, index.gram_of, costs) == pytest.approx(whole, rel=1e-12)
    assert whole[1] < 1, "the corpus must tell"


# binary solutions


def random_cover(index: KGramIndex, seed: int) -> np.ndarray:
    chosen = (np.random.default_rng(seed).random(index.gram_of.shape) < 0.4) & (index.gram_of >= 0)
    return (chosen << np.arange(index.max_gram)[:, None]).sum(axis=0).astype(np.uint8)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("cost", ["pointers as a word", "by pointer"])
def test_binary_solution_by_definition(seed, cost):
    index = index_of(SMALL["many short documents"], 3)
    costs = costs_by_kind(index)[cost]
    cover = random_cover(index, seed)
    pointers = pointers_of(cover)
    w = np.zeros(index.gram_of.shape)
    for k, i in pointers:
        w[k - 1, i] = 1.0
    value, covered, n_pointers, used = binary_solution(cover, index.gram_of, costs)
    assert value == pytest.approx(objective(w, index.gram_of, costs))
    assert n_pointers == len(pointers)
    assert set(np.flatnonzero(used)) == {index.gram_of[k - 1, i] for k, i in pointers}
    assert covered == bool((coverage(dict.fromkeys(pointers, 1), index.n_tokens) > 0).all())


def test_one_uncovered_token_is_detected_wherever_it_is():
    index = index_of(SMALL["documents between empty ones"], 3)
    costs = costs_of(index)
    cover = np.ones(index.n_tokens, dtype=np.uint8)
    assert binary_solution(cover, index.gram_of, costs)[1]
    for uncovered in range(index.n_tokens):
        cover[uncovered] = 0
        assert not binary_solution(cover, index.gram_of, costs)[1]
        cover[uncovered] = 1


def test_pointer_across_a_border_is_refused():
    index = index_of(["a b", "c d"], 2)
    cover = np.array([2, 2, 0, 2], dtype=np.uint8)
    for wrong in ([0, 2, 0, 0], [0, 0, 0, 2]):
        with pytest.raises(ValueError, match="crosses a document's end"):
            binary_solution(np.array(wrong, dtype=np.uint8), index.gram_of, costs_of(index))
    with pytest.raises(ValueError, match="crosses"):
        certify(cover, np.zeros(4), index.gram_of, costs_of(index))


@pytest.mark.parametrize(
    ("objective_", "bound", "gap"),
    [
        (11.0, 10.0, 0.1),
        (10.0, 10.0, 0.0),
        (0.0, 0.0, 0.0),
        (1.0, 0.0, math.inf),
        (math.nan, 1.0, math.nan),
        (1.0, math.nan, math.nan),
    ],
)
def test_relative_gap(objective_, bound, gap):
    assert relative_gap(objective_, bound) == pytest.approx(gap, nan_ok=True)


def test_certificate_is_what_its_parts_say():
    index = index_of(CHARACTERS, 4, ".")
    costs = costs_of(index, 0.5)
    cover = np.ones(index.n_tokens, dtype=np.uint8)
    alpha = np.full(index.n_tokens, 0.4)
    proof = certify(cover, alpha, index.gram_of, costs)
    assert proof.objective == 0.5 * index.n_tokens + len(set("".join(CHARACTERS)))
    assert (proof.n_pointers, proof.dictionary_size) == (index.n_tokens, len(set("".join(CHARACTERS))))
    assert (proof.lower_bound, proof.shrink) == dual_bound(alpha, index.gram_of, costs)
    assert proof.gap == relative_gap(proof.objective, proof.lower_bound) and proof.covered is True
    assert proof.to_dict()["objective"] == proof.objective


numbers = st.one_of(st.integers(0, 99).map(float), st.floats(0, 9), st.integers(0, 2**24).map(lambda k: k / 2**20))


@given(st.lists(numbers, max_size=4), st.lists(numbers, max_size=6))
def test_the_step_is_the_largest_power_of_two_that_divides_every_cost(by_length, dictionary):
    step = exact_step(
        StorageCosts(np.array(by_length), np.zeros((len(by_length), 0), np.float32), np.array(dictionary))
    )
    known = [Fraction(value) for value in (*by_length, *dictionary)]
    dividing = [0.5**k for k in range(21) if all((value / Fraction(0.5**k)).denominator == 1 for value in known)]
    assert step == (max(dividing) if dividing else 0.0)


def test_pointers_with_costs_of_their_own_have_no_step_and_chunks_change_nothing(monkeypatch):
    assert exact_step(uneven_costs(index_of(CHARACTERS, 3, "."))) == 0.0
    monkeypatch.setattr(certificate, "_CHUNK_TOKENS", 2)
    for last, step in ((3.0, 1.0), (0.25, 0.25), (0.1, 0.0)):
        assert exact_step(StorageCosts(np.ones(3), np.zeros((3, 0), np.float32), np.array([1.0, 2, 5, last]))) == step


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("kind", SMALL)
def test_what_is_said_to_be_optimal_is_what_highs_finds(kind, cost):
    """And it is said of good solutions alone; also where parts are certified one by one."""
    index = index_of(SMALL[kind])
    costs = costs_by_kind(index)[cost]
    result, optimum = solve_guided(index, costs), solve_exactly(index, costs)
    single = certify(np.ones(index.n_tokens, dtype=np.uint8), result.alpha, index.gram_of, costs)
    for proof in (result.certificate, single):
        if proof.optimal:
            assert proof.objective == pytest.approx(optimum, rel=1e-9, abs=1e-9)
    if result.certificate.step and result.objective - result.lower_bound < 0.9 * result.certificate.step:
        assert result.optimal and result.to_dict()["optimal"]
    if not result.branchings:
        parts = PartsCertificate(np.zeros(0))
        none = np.zeros(0, dtype=np.int64)
        parts.add(part_facts(result.cover, result.alpha, index.gram_of, costs, none), none)
        whole = parts.certificate()
        assert (whole.step, whole.optimal) == (result.certificate.step, result.optimal)


def test_a_tenth_is_no_step_and_nothing_is_optimal_without_one():
    index = index_of(CHARACTERS, 4, ".")
    result = solve_guided(index, costs_of(index, 0.3))
    assert result.certificate.step == 0.0 and not result.optimal
    assert solve_guided(index, costs_of(index, 1.0)).certificate.step == 1.0
