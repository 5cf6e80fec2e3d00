"""Rounding, local search and recombination: the best never gets worse, whatever says stop, and wherever."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cflengine import GuidedSettings
from cflengine.compression.model.certificate import binary_solution
from cflengine.compression.passes import blocks, layout
from cflengine.compression.passes.groups import Groups
from cflengine.compression.search.refine import RECOMBINATION, SEARCH, Refinement
from cflengine.compression.solvers.homotopy import HomotopySettings
from cflengine.compression.solvers.registry import SOLVERS
from cflengine.compression.solvers.reweighting_settings import ReweightingSettings
from cflengine.compression.solvers.run import CompressionRun, Problem
from cflengine.engine.progress import TerminationReason
from naive.corpora import SMALL, costs_by_kind, costs_of, index_of, random_words, uneven_costs
from naive.cover import by_document, cheapest, prices_from
from naive.programs import solve_exactly

KINDS = ["random words", "repeated phrases", "one long document", "one word again and again"]


class MinimalRun(CompressionRun):
    """A run without a solver."""

    solver = "none"
    lower_bound = math.nan

    def __init__(self, index, costs, listeners=(), bound: float = math.nan, time_limit: float | None = None) -> None:
        self.places = layout.PointerLayout.of(index)
        problem = Problem(index, costs)
        super().__init__(problem, GuidedSettings(time_limit=time_limit), blocks=self.places.blocks, listeners=listeners)
        self.lower_bound = bound

    def refinement(self, *, gap: float = 0.0, patience: int = 2, seed: int = 0) -> Refinement:
        data = np.full(self.index.n_pointers, 7.0, dtype=np.float32)
        groups = Groups(self.index, self.places)
        return Refinement(self, groups, data, tol=gap, patience=patience, least_gain=1e-5, seed=seed)

    @property
    def stages(self) -> list[str]:
        return [record.stage for record in self.progress.records]

    @stages.setter
    def stages(self, value) -> None:
        """Run keeps snapshots there, which are not taken here."""


class StopAtPoll:
    """Says stop at the question of that number, and counts them."""

    def __init__(self, number: float = math.inf) -> None:
        self.number, self.asked = number, 0

    def __call__(self, stats) -> None:
        return None

    def poll(self) -> bool:
        self.asked += 1
        return self.asked < self.number


def counts(index) -> np.ndarray:
    return index.counts().astype(np.float32)


def assert_sound(run: MinimalRun) -> None:
    """The best is a cover of the value that is said, and every event's best is no better than the one before it."""
    value, covered, _, _ = binary_solution(run.best_cover, run.index.gram_of, run.costs)
    assert covered and run.best_objective == pytest.approx(value, rel=1e-12)
    best = [record.best_objective for record in run.progress.records]
    assert best == sorted(best, reverse=True)
    for record in run.progress.records:
        assert math.isnan(record.objective) or record.best_objective <= record.objective < math.inf


@pytest.fixture
def words():
    index = index_of(SMALL["random words"] + random_words(9, 20, 15, 30))
    return index, uneven_costs(index)


# rounding


@pytest.mark.parametrize("cost", ["pointers free", "pointers as a word", "by pointer", "dictionary free"])
@pytest.mark.parametrize("kind", KINDS)
def test_rounding_keeps_the_best_and_answers_with_its_dictionary(kind, cost):
    index = index_of(SMALL[kind])
    costs = costs_by_kind(index)[cost]
    run = MinimalRun(index, costs)
    single = run.unit * run.best_objective
    dictionary = run.refinement().round(counts(index))
    assert dictionary.dtype == np.uint8 and dictionary.shape == (index.n_grams,)
    assert_sound(run)
    prices = costs.pointer_by_length[:, None] + (costs.pointer_extra if costs.pointer_extra.size else 0.0)
    prices = prices_from(np.where(dictionary[index.gram_of] * (index.gram_of >= 0) > 0, prices, np.inf))
    value = sum(cheapest(part, n) for part, n in by_document(prices, index.doc_ptr.tolist()))
    value += costs.dictionary[dictionary > 0].sum()
    assert run.unit * run.best_objective == pytest.approx(min(value, single), rel=1e-6)


def test_dictionary_of_the_best_round_is_answered(words):
    index, costs = words
    for seed in range(12):
        uses = np.random.default_rng(seed).exponential(3.0, index.n_grams).astype(np.float32)
        run = MinimalRun(index, costs)
        kept = []
        run.update_incumbent = lambda objective, cover, kept=kept: kept.append(objective)
        dictionary = run.refinement().round(uses)
        value, _, used = run.coder.evaluate(run.coder.encode_with(dictionary))
        assert value == min(kept)
        np.testing.assert_array_equal(used, dictionary)


def test_first_round_prices_a_gram_by_its_uses():
    """u = 3 makes a pair that costs 2 cheaper than two words; u = 2.4 does not."""
    index = index_of(["a b", "a b", "a b", "a b", "a", "b"], 2)
    costs = costs_of(index, 0.4)
    pair = index.gram_of[1, 0]
    for uses_of_pair, chosen in ((3.0, True), (2.4, False)):
        uses = np.full(index.n_grams, 5.0, dtype=np.float32)
        uses[pair] = uses_of_pair
        dictionary = MinimalRun(index, costs).refinement().round(uses, rounds=1)
        # a word: 0.4 + 1/5, twice; the pair: 0.4 + 2/u
        assert bool(dictionary[pair]) == chosen and dictionary[: index.len_ptr[1]].all()


def test_more_rounds_are_never_worse(words):
    index, costs = words
    values = []
    for rounds in (1, 2, 3, 6):
        run = MinimalRun(index, costs)
        run.refinement().round(counts(index), rounds=rounds)
        values.append(run.best_objective)
    assert values == sorted(values, reverse=True) and values[0] > values[-1]


@pytest.mark.parametrize("number", [1, 2])
def test_rounding_that_is_stopped_still_answers_with_a_dictionary(words, number):
    """The search reads it without looking at its length."""
    index, costs = words
    run = MinimalRun(index, costs, [StopAtPoll(number)])
    refinement = run.refinement()
    dictionary = refinement.round(counts(index))
    assert run.progress.reason is TerminationReason.INTERRUPTED
    assert dictionary.shape == (index.n_grams,) and dictionary.any()
    assert not refinement.descend(dictionary)
    assert_sound(run)


# local search and recombination


@pytest.mark.parametrize("cost", ["pointers free", "pointers cheap", "pointers as a word", "by pointer"])
@pytest.mark.parametrize("kind", KINDS)
def test_search_and_recombination_come_near_the_optimum_and_never_get_worse(kind, cost):
    index = index_of(SMALL[kind])
    costs = costs_by_kind(index)[cost]
    optimum = solve_exactly(index, costs)
    run = MinimalRun(index, costs)
    refinement = run.refinement()
    values = [run.best_objective]
    assert refinement.descend(refinement.round(counts(index)))
    values.append(run.best_objective)
    refinement.recombine()
    values.append(run.best_objective)
    assert values == sorted(values, reverse=True)
    assert_sound(run)
    assert optimum * (1 - 1e-7) - 1e-9 <= run.unit * run.best_objective <= 1.1 * optimum
    assert run.stages[0] == SEARCH and set(run.stages[1:]) == {RECOMBINATION}
    assert run.iteration == len(run.stages)


def test_a_stop_within_a_descent_keeps_what_it_had_found(words):
    """All but the last question of a whole descent: nothing that was found before the stop is lost."""
    index, costs = words
    whole = MinimalRun(index, costs, [asked := StopAtPoll()])
    assert whole.refinement().descend(np.ones(index.n_grams, dtype=np.uint8))
    values = []
    for number in range(2, asked.asked + 1):
        run = MinimalRun(index, costs, [StopAtPoll(number)])
        assert not run.refinement().descend(np.ones(index.n_grams, dtype=np.uint8))
        values.append(run.best_objective)
        assert_sound(run)
    assert values == sorted(values, reverse=True) and len(set(values)) > 2
    assert whole.best_objective <= values[-1] < MinimalRun(index, costs).best_objective


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_search_from_any_dictionary_leaves_the_best_no_worse(words, share):
    index, costs = words
    run = MinimalRun(index, costs)
    refinement = run.refinement()
    rng = np.random.default_rng(0)
    values = []
    for _ in range(4):
        assert refinement.descend((rng.random(index.n_grams) < share).astype(np.uint8))
        values.append(run.best_objective)
    assert values == sorted(values, reverse=True)
    assert_sound(run)


def test_what_the_search_finds_is_kept_also_beside_a_huge_cost():
    """Combining rounds costs to 32 bits in all: with a K-gram of cost 1e9 in the best so far, small ones are lost."""
    texts = random_words(9, 30, 12, 40)
    index = index_of(texts)
    plain = costs_of(index)
    plain.dictionary[0] = 1e9
    run = MinimalRun(index, plain)
    assert run.best_objective > 1e9
    refinement = run.refinement()
    refinement.descend((np.arange(index.n_grams) > 0).astype(np.uint8))
    assert refinement.search.objective < 1e9
    assert run.best_objective <= refinement.search.objective
    assert_sound(run)


def test_recombination_stops_after_rounds_that_bring_nothing(words):
    index, costs = words
    for patience in (0, 1, 3):
        run = MinimalRun(index, costs)
        refinement = run.refinement(patience=patience)
        refinement.descend(refinement.round(counts(index)))
        before = run.best_objective
        refinement.recombine()
        values = [before] + [record.best_objective for record in run.progress.records[1:]]
        quiet = [values[i] - values[i + 1] <= 1e-5 * values[i] for i in range(len(values) - 1)]
        assert all(quiet[len(quiet) - patience :]) and len(quiet) >= patience
        if patience:
            runs = "".join("q" if q else "." for q in quiet)
            assert "q" * patience not in runs[:-1]
        assert patience or not quiet


def test_recombination_stops_at_the_gap(words):
    index, costs = words
    run = MinimalRun(index, costs)
    refinement = run.refinement(patience=50)
    refinement.descend(refinement.round(counts(index)))
    run.lower_bound = run.best_objective / 1.01
    refinement.tol = 0.0101
    assert refinement.done
    events = len(run.stages)
    refinement.recombine()
    assert len(run.stages) == events
    refinement.tol = 0.0099
    assert not refinement.done


def test_a_bound_that_is_unknown_is_no_gap_reached(words):
    run = MinimalRun(*words)
    assert math.isnan(run.gap) and not run.refinement(gap=1e9).done


def test_what_a_perturbation_changes_stays_at_first(words, monkeypatch):
    """Additions before the removals that they make possible, removals before additions; then everything is free."""
    index, costs = words
    run = MinimalRun(index, costs)
    refinement = run.refinement()
    refinement.descend(refinement.round(counts(index)))
    search, calls = refinement.search, []
    improve, evaluate = search.improve, search.evaluate
    monkeypatch.setattr(search, "improve", lambda **k: (calls.append((k["adding"], k.get("protect"))), improve(**k))[1])
    taken = []
    monkeypatch.setattr(search, "evaluate", lambda present, progress: (
        taken.append(present.copy()), evaluate(present, progress))[1])  # fmt: skip
    for adding in (True, False):
        calls.clear(), taken.clear()
        assert refinement.perturb(adding=adding)
        changed = np.flatnonzero(taken[0] != taken[1])
        assert len(changed) and (taken[1][changed] == adding).all()
        first = 2 if adding else 1
        assert [kind for kind, _ in calls] == ([False] * 2 if adding else [True]) + [False, True] * 2
        assert all(np.array_equal(protect, changed) for _, protect in calls[:first])
        assert all(protect is None for _, protect in calls[first:])


def test_seed_decides_the_perturbations(words):
    index, costs = words
    found = []
    for seed in (0, 0, 1):
        run = MinimalRun(index, costs)
        refinement = run.refinement(seed=seed)
        refinement.descend(refinement.round(counts(index)))
        refinement.recombine()
        found.append((run.best_cover.tobytes(), [record.objective for record in run.progress.records]))
    assert found[0] == found[1] != found[2]


def test_work_space_that_somebody_else_has_used_meanwhile_does_no_harm(monkeypatch):
    """Between two searches the solver has its w there; blocks that the dictionaries agree on are evaluated too."""
    monkeypatch.setattr(blocks, "BLOCK_TOKENS", 16)
    index = index_of(random_words(4, 40, 6, 60))
    costs = uneven_costs(index)
    dictionary = (np.random.default_rng(0).random(index.n_grams) < 0.3).astype(np.uint8)
    found = []
    for disturbed in (False, True):
        run = MinimalRun(index, costs)
        refinement = run.refinement()
        assert run.coder.n_blocks > 8
        refinement.search.evaluate(dictionary)
        if disturbed:
            refinement.search.data[:] = 100.0
        refinement.descend(dictionary)
        found.append(refinement.search.objective)
    assert found[0] == found[1]


# stops


def test_stop_at_any_question_leaves_a_sound_best(words):
    index, costs = words

    def everything(stop) -> MinimalRun:
        run = MinimalRun(index, costs, [stop])
        refinement = run.refinement()
        if refinement.descend(refinement.round(counts(index))):
            refinement.recombine()
        return run

    whole = StopAtPoll()
    final = everything(whole).best_objective
    values = []
    for number in range(1, whole.asked + 1):
        run = everything(StopAtPoll(number))
        assert run.progress.reason is TerminationReason.INTERRUPTED
        assert_sound(run)
        values.append(run.best_objective)
    assert len(values) > 15 and values == sorted(values, reverse=True) and values[-1] >= final


@pytest.mark.parametrize("event", [1, 2, 3])
def test_stop_by_a_listener_ends_at_that_event(words, event):
    index, costs = words
    seen = []

    def stop(stats):
        seen.append(stats)
        return len(seen) < event

    run = MinimalRun(index, costs, [stop])
    refinement = run.refinement()
    going = refinement.descend(refinement.round(counts(index)))
    assert going == (event > 1)
    if going:
        refinement.recombine()
    assert len(seen) == event and run.progress.reason is TerminationReason.INTERRUPTED
    assert_sound(run)


# polish


QUICK = {
    "homotopy": HomotopySettings(relaxation_iterations=60, zeta_step=0.5, stage_iterations=10),
    "reweighting": ReweightingSettings(rounds=2),
}


def solve_with(name: str, index, costs, polish: bool, **more):
    solver = SOLVERS.find(name)
    return solver.solve(index, costs, solver.check(QUICK[name], polish=polish), **more)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", QUICK)
def test_polish_makes_no_solution_worse_and_touches_no_bound(solver, kind):
    index = index_of(SMALL[kind])
    better = 0
    for cost in ("pointers cheap", "pointers as a word", "by pointer"):
        costs = costs_by_kind(index)[cost]
        plain, polished = (solve_with(solver, index, costs, polish) for polish in (False, True))
        assert polished.objective <= plain.objective * (1 + 1e-12)
        assert polished.lower_bound == plain.lower_bound and polished.certificate.covered
        better += polished.objective < plain.objective
        stages = polished.trace["stage"].tolist()
        assert SEARCH in stages and stages.index(SEARCH) > len(plain.trace) - 3
        assert SEARCH not in plain.trace["stage"].tolist()
        assert polished.solver == solver and polished.settings["polish"]
    assert better or kind != "random words"


@pytest.mark.parametrize("solver", QUICK)
def test_a_run_that_was_stopped_is_not_polished(solver):
    index = index_of(SMALL["random words"])
    costs = costs_of(index)
    result = solve_with(solver, index, costs, True, listeners=[lambda stats: stats.iteration < 20])
    assert result.reason is TerminationReason.INTERRUPTED and SEARCH not in set(result.trace["stage"])
    assert result.certificate.covered
