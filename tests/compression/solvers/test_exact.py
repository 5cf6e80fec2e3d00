"""The exact solver against HiGHS on the plain programme and against trying every dictionary."""

from __future__ import annotations

import builtins
import math
from itertools import product

import numpy as np
import pytest

from cflengine.compression.model.certificate import Certificate, binary_solution, certify
from cflengine.compression.model.linear_program import IntegerProgram, common_step
from cflengine.compression.solvers.exact import (
    BRANCHING,
    RELAXATION,
    ExactSettings,
    solve_exact,
    solve_exact_from_guided,
)
from cflengine.compression.solvers.run import FINISHED
from cflengine.engine.progress import TerminationReason
from naive.corpora import CHARACTERS, SMALL, costs_by_kind, costs_of, index_of, random_words, uneven_costs
from naive.cover import by_document, cheapest, pointers_of
from naive.programs import solve_exactly, solve_relaxation
from naive.results import assert_result_sound

pytest.importorskip("highspy")

COSTS = ["pointers free", "pointers cheap", "pointers as a word", "pointers expensive", "by length", "by pointer",
         "dictionary free", "external macro"]  # fmt: skip
# the relaxation is fractional here, so that there is something to branch on
HARD = random_words(7, 12, 10, 8)


def plain_certificate(result, index, costs) -> Certificate:
    """Of the prices alone."""
    return certify(result.cover, result.alpha, index.gram_of, costs)


def assert_sound(result, index, costs, optimum: float | None = None) -> None:
    """What must hold of any result, however its run ended; optimum: or a bound that it may not pass, where known."""
    optimum = solve_exactly(index, costs) if optimum is None else optimum
    assert_result_sound(result, index, costs, solve_relaxation(index, costs).value, optimum)
    assert result.trace["best_objective"].is_monotonic_decreasing
    assert result.trace["mip_bound"].dropna().is_monotonic_increasing


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("kind", SMALL)
def test_optimum_is_that_of_the_plain_programme(kind, cost):
    index = index_of(SMALL[kind])
    costs = costs_by_kind(index)[cost]
    result = solve_exact(index, costs)
    assert_sound(result, index, costs)
    assert result.reason is TerminationReason.CONVERGED and result.solver == "exact"
    assert result.objective == pytest.approx(solve_exactly(index, costs), rel=1e-7, abs=1e-7)
    # the certificate proves the relaxation, to which HiGHS's prices are the key
    relaxation = solve_relaxation(index, costs).value
    plain = plain_certificate(result, index, costs).lower_bound
    assert plain == pytest.approx(relaxation, rel=1e-6, abs=1e-6)
    # and trees, which is what it lacks: a corpus of so few words is one part
    assert result.lower_bound == pytest.approx(result.objective, rel=1e-6, abs=1e-6)
    assert result.certificate.shrink > 1 - 1e-9
    if result.relaxation_upper < math.inf:
        assert relaxation * (1 - 1e-9) <= result.relaxation_upper <= relaxation * (1 + 1e-6)
    mip_bound = result.trace["mip_bound"].iloc[-1]
    assert mip_bound <= result.objective * (1 + 1e-7) + 1e-7
    assert mip_bound >= result.objective * (1 - 1e-7) - max(IntegerProgram(index, costs).step, 1e-6)


def optimum_by_trying_all(index, costs) -> float:
    """Every dictionary, each with its cheapest cover of every document."""
    pointers = [(int(k), int(i)) for k, i in np.argwhere(index.gram_of >= 0)]
    best = math.inf
    for chosen in product((False, True), repeat=index.n_grams):
        prices = {}
        for k, i in pointers:
            if chosen[index.gram_of[k, i]]:
                extra = costs.pointer_extra[k, i] if costs.pointer_extra.size else 0.0
                prices[k + 1, i] = float(costs.pointer_by_length[k] + extra)
        covered = sum(cheapest(part, n) for part, n in by_document(prices, index.doc_ptr.tolist()))
        best = min(best, covered + float(costs.dictionary @ np.array(chosen)))
    return best


@pytest.mark.parametrize(
    ("texts", "max_gram"),
    [(["a b a b", "b a"], 3), (["a a a a", "a"], 4), (["a b c", "a b c", "a b"], 3), (["a b", "", "b a b"], 1)],
)
@pytest.mark.parametrize("lam", [0.0, 0.3, 1.0, 2.5, "uneven"])
def test_optimum_is_that_of_trying_every_dictionary(texts, max_gram, lam):
    index = index_of(texts, max_gram)
    assert index.n_grams <= 11
    costs = uneven_costs(index) if lam == "uneven" else costs_of(index, lam)
    assert solve_exact(index, costs).objective == pytest.approx(optimum_by_trying_all(index, costs), rel=1e-7)


@pytest.mark.parametrize("lam", [0.5, 2.0])
def test_gap_that_the_relaxation_leaves_is_closed(lam):
    index = index_of(HARD)
    costs = costs_of(index, lam)
    result = solve_exact(index, costs, lam=lam)
    assert_sound(result, index, costs)
    assert result.objective == pytest.approx(solve_exactly(index, costs))
    plain = plain_certificate(result, index, costs)
    assert plain.gap > 1e-4, "the relaxation must be fractional for the test to tell"
    assert result.gap < 1e-9 and result.branchings
    stages = result.trace["stage"].tolist()
    assert stages[:2] == [RELAXATION, RELAXATION] and BRANCHING in stages and stages[-1] == FINISHED
    assert (result.trace["lam"] == lam).all()
    assert result.relaxation == pytest.approx(solve_relaxation(index, costs).value)
    # what HiGHS says of itself never counts as proved
    assert result.trace["mip_bound"].iloc[-1] > plain.lower_bound
    said = result.trace["mip_bound"].iloc[-1]
    if said > result.lower_bound:
        assert result.to_dict()["unverified_bound"] == result.unverified_bound == said
    else:  # it is left out
        assert np.isnan(result.to_dict()["unverified_bound"])


def test_single_words_alone():
    index = index_of(HARD, 1)
    result = solve_exact(index, costs_of(index, 0.7))
    assert result.objective == pytest.approx(0.7 * index.n_tokens + index.n_grams)
    assert result.gap == pytest.approx(0.0, abs=1e-9) and (result.cover == 1).all()


def test_characters_as_tokens():
    index = index_of(CHARACTERS, 5, "(?s).")
    costs = costs_of(index, 1.0)
    assert solve_exact(index, costs).objective == pytest.approx(solve_exactly(index, costs))


def test_free_storage_costs_nothing():
    index = index_of(HARD)
    costs = costs_of(index, 0.0, dictionary_cost=np.zeros(index.n_grams))
    result = solve_exact(index, costs)
    assert (result.objective, result.lower_bound, result.gap) == (0.0, 0.0, 0.0)
    assert result.reason is TerminationReason.CONVERGED and result.certificate.covered


def test_larger_problems_are_refused_before_any_work():
    index = index_of(HARD)
    told = []
    with pytest.raises(ValueError, match=r"small corpora: 324 pointers are more than max_pointers = 323; take"):
        solve_exact(index, costs_of(index), ExactSettings(max_pointers=323), listeners=[told.append])
    assert not told and index.n_pointers == 324
    solve_exact(index, costs_of(index, 0.0), ExactSettings(max_pointers=324))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"tol": -0.1}, "tol must be"),
        ({"tol": math.nan}, "tol must be"),
        ({"tol": True}, "tol must be"),
        ({"time_limit": 0.0}, "time_limit must be"),
        ({"time_limit": "1"}, "time_limit must be"),
        ({"max_pointers": 0}, "max_pointers must be"),
        ({"max_pointers": 1.5}, "max_pointers must be"),
    ],
)
def test_impossible_settings_raise(changed, message):
    with pytest.raises(ValueError, match=message):
        ExactSettings(**changed)


def test_without_highspy_it_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def absent(name, *args, **kwargs):
        if name == "highspy":
            raise ModuleNotFoundError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", absent)
    index = index_of(["a b a b"])
    with pytest.raises(ImportError, match="pip install 'highspy"):
        solve_exact(index, costs_of(index))


# stops


@pytest.mark.parametrize("limit", [1e-9, 0.05, 0.5])
def test_time_limit_leaves_a_certified_solution(limit):
    index = index_of(random_words(8, 60, 60, 60), 5)
    costs = costs_of(index, 4.0)
    result = solve_exact(index, costs, ExactSettings(time_limit=limit))
    assert result.reason is TerminationReason.TIME_LIMIT
    proof = certify(result.cover, result.alpha, index.gram_of, costs)
    assert proof.covered and proof.objective == result.objective >= result.lower_bound >= 0
    assert result.settings["time_limit"] == limit


@pytest.mark.parametrize("stage", [RELAXATION, BRANCHING])
def test_listener_stops_it_between_and_within_steps(stage):
    index = index_of(HARD)
    costs = costs_of(index, 2.0)
    seen = []

    def listener(stats):
        seen.append(stats.stage)
        return stats.stage != stage

    result = solve_exact(index, costs, listeners=[listener])
    assert_sound(result, index, costs)
    assert result.reason is TerminationReason.INTERRUPTED
    assert seen.count(stage) == 1 and seen[-1] == FINISHED
    assert (BRANCHING in seen) == (stage == BRANCHING)


class StopsAfter:
    """Says stop at the given question between events."""

    def __init__(self, polls: int) -> None:
        self.left = polls

    def __call__(self, stats) -> None:
        """Events do not stop it."""

    def poll(self) -> bool:
        self.left -= 1
        return self.left > 0


def test_poll_stops_the_relaxation_half_way_and_what_it_had_proved_stays(monkeypatch):
    monkeypatch.setattr("cflengine.compression.solvers.exact.POLL_S", 0.0)
    index = index_of(random_words(8, 20, 30, 30))
    costs = costs_of(index, 4.0)
    result = solve_exact(index, costs, listeners=[StopsAfter(400)])
    assert result.reason is TerminationReason.INTERRUPTED and math.isnan(result.relaxation)
    assert_sound(result, index, costs, solve_relaxation(index, costs).value)
    assert result.trace["stage"].tolist() == [RELAXATION, FINISHED]


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_exception_of_a_listener_comes_through_highs(kind):
    index = index_of(HARD)

    def listener(stats):
        if stats.stage == BRANCHING:
            raise kind("a listener's own")

    with pytest.raises(kind, match="a listener's own"):
        solve_exact(index, costs_of(index, 2.0), listeners=[listener])


def test_gap_asked_for_ends_it_early():
    index = index_of(HARD)
    costs = costs_of(index, 2.0)
    result = solve_exact(index, costs, ExactSettings(tol=0.5))
    assert result.reason is TerminationReason.CONVERGED and result.gap <= 0.5
    assert BRANCHING not in result.trace["stage"].tolist()


# starts, determinism


def test_from_the_guided_solver_it_is_one_solve():
    index = index_of(HARD)
    result = solve_exact_from_guided(index, costs_of(index, 2.0))
    trace = result.trace
    assert trace["stage"].str.startswith("guided: ").any() and RELAXATION in trace["stage"].tolist()
    for name in ("iteration", "work", "elapsed_s"):
        assert trace[name].is_monotonic_increasing, name
    assert result.n_iterations == trace["iteration"].iloc[-1] and result.n_passes == trace["work"].iloc[-1] > 0


def test_start_is_where_it_begins():
    index = index_of(HARD)
    costs = costs_of(index, 2.0)
    best = solve_exact(index, costs)
    again = solve_exact(index, costs, start=best.cover)
    assert again.trace["best_objective"].iloc[0] == again.objective == best.objective
    uncovered = best.cover.copy()
    uncovered[index.doc_ptr[3] : index.doc_ptr[4]] = 0
    with pytest.raises(ValueError, match="uncovered"):
        solve_exact(index, costs, start=uncovered)


def test_same_bytes_again_and_with_any_number_of_threads():
    index = index_of(HARD)
    results = [solve_exact(index, costs_of(index, 2.0), n_threads=threads) for threads in (None, 1, 2)]
    for other in results[1:]:
        assert other.cover.tobytes() == results[0].cover.tobytes()
        assert other.alpha.tobytes() == results[0].alpha.tobytes()
        assert other.certificate == results[0].certificate and other.n_iterations == results[0].n_iterations


# the programme


@pytest.mark.parametrize("cost", ["pointers as a word", "by pointer", "dictionary free"])
def test_programme_prices_binary_solutions_as_the_certificate_does(cost):
    index = index_of(SMALL["repeated phrases"], 4)
    costs = costs_by_kind(index)[cost]
    program = IntegerProgram(index, costs)
    assert not (program.shared & (index.counts() == 1)).any() and not (program.shared & (costs.dictionary == 0)).any()
    cover = np.ones(index.n_tokens, dtype=np.uint8)
    cover[index.doc_ptr[2]] |= 0b1110
    point = program.point(cover)
    assert program.cost @ point == pytest.approx(binary_solution(cover, index.gram_of, costs)[0])
    assert (program.rows @ point >= program.lower).all()
    pointers = zip(program.lengths + 1, program.starts, strict=True)
    taken = [pointer for pointer, w in zip(pointers, program.chosen(cover), strict=True) if w]
    assert sorted(taken) == sorted(pointers_of(cover))
    # a K-gram that is pointed at but not stored breaks a row, and so does an uncovered token
    for stored in program.n_pointers + np.flatnonzero(point[program.n_pointers :]):
        assert (program.rows @ np.where(np.arange(len(point)) == stored, 0.0, point) < program.lower).any()
    assert (program.rows @ np.where(np.arange(len(point)) == len(cover) - 1, 0.0, point) < program.lower).any()


def test_relaxed_value_bounds_from_above():
    index = index_of(HARD)
    costs = costs_of(index, 2.0)
    program, optimum = IntegerProgram(index, costs), solve_relaxation(index, costs).value
    rng = np.random.default_rng(0)
    for _ in range(5):
        assert program.relaxed_value(rng.random(program.n_pointers)) >= optimum
    assert program.relaxed_value(np.zeros(program.n_pointers)) == math.inf


@pytest.mark.parametrize(
    ("values", "step"),
    [([1.0, 3.0, 0.0], 1.0), ([0.3, 1.0, 2.0], 0.1), ([0.25, 1.0], 0.05), ([0.5], 0.5), ([math.pi], 0.0), ([], 1.0),
     ([1 / 3, 1.0], 0.0), ([1e6, 0.001], 0.001), ([1.0, 1.0 + 1e-9], 0.0)],
)  # fmt: skip
def test_common_step(values, step):
    assert common_step(np.array(values)) == step
