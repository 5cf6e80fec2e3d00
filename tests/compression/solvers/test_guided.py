"""The guided solver: what it proves against HiGHS, how near it comes, and how a run ends."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from cflengine import CompressiveFeatures, GuidedSettings, read_corpus
from cflengine.compression.model.certificate import certify
from cflengine.compression.passes import layout
from cflengine.compression.search import branching
from cflengine.compression.search.refine import RECOMBINATION, SEARCH
from cflengine.compression.solvers import lifting
from cflengine.compression.solvers.guided.phases import ANNEALING, RELAXATION
from cflengine.compression.solvers.guided.solver import GuidedSolver, solve_guided
from cflengine.compression.solvers.lifting import BRANCHING
from cflengine.compression.solvers.run import FINISHED
from cflengine.engine import progress as progress_module
from cflengine.engine.jit import thread_count
from cflengine.engine.progress import TerminationReason
from naive.corpora import CHARACTERS, SMALL, costs_by_kind, costs_of, index_of, random_words, uneven_costs
from naive.programs import certificate_of, solve_exactly, solve_relaxation
from naive.results import assert_result_sound

SAMPLE = Path(__file__).resolve().parents[3] / "sample_data" / "reviews.csv"

COSTS = ["pointers free", "pointers as a word", "pointers expensive", "by length", "by pointer", "dictionary free",
         "external macro"]  # fmt: skip
QUICK = GuidedSettings(annealings=1, anneal_rounds=2, anneal_steps=10)
STAGES = (RELAXATION, ANNEALING, SEARCH, RECOMBINATION)
# the guided solver has to go through all of its stages here
HARD = random_words(7, 30, 20, 12)


@cache
def optima(kind: str, max_gram: int, lam: float) -> tuple[float, float]:
    """Optimum of the relaxation and of problem (1), by HiGHS."""
    index = index_of(SMALL[kind], max_gram)
    costs = costs_of(index, lam)
    return solve_relaxation(index, costs).value, solve_exactly(index, costs)


def assert_sound(result, index, costs, relaxation: float, optimum: float) -> None:
    """Everything that must hold of any result, however its run ended; relaxation and optimum: of the problem."""
    assert_result_sound(result, index, costs, relaxation, optimum)
    slack = 1e-9
    assert relaxation <= optimum * (1 + 1e-7) + slack
    plain = certify(result.cover, result.alpha, index.gram_of, costs).lower_bound
    assert plain <= result.lower_bound * (1 + 1e-9), "trees only lift the bound"
    assert result.certificate.shrink > 1 - 1e-9, "prices of the encoding programme are feasible as they are"
    trace = result.trace
    bounds, best = trace["lower_bound"].dropna(), trace["best_objective"]
    by_trees = trace["stage"].isin([BRANCHING, FINISHED])[bounds.index] & bool(result.branchings)
    least = np.where(by_trees, optimum, relaxation)  # of what each bound must not exceed
    assert (bounds <= least * (1 + 1e-6) + slack).all()
    assert (best >= optimum * (1 - 1e-6) - slack).all() and best.is_monotonic_decreasing
    current = trace["objective"].dropna()
    assert np.isfinite(current).all() and (current >= best[current.index] * (1 - 1e-12)).all()


# what is proved


PROBLEMS = [(1, 1.0), (2, 0.1), (2, 1.0), (2, 3.0), (3, 0.0), (3, 0.1), (3, 1.0), (3, 3.0), (3, 100.0), (6, 1.0),
            (6, 100.0)]  # fmt: skip
# HiGHS takes long over the symmetries of one word's 6-grams
EVERY = [(kind, *p) for kind in SMALL for p in PROBLEMS if p[0] < 6 or kind != "one word again and again"]


@pytest.mark.parametrize(("kind", "max_gram", "lam"), EVERY)
def test_bound_relaxation_optimum_and_objective_are_in_this_order(kind, max_gram, lam):
    index = index_of(SMALL[kind], max_gram)
    costs = costs_of(index, lam)
    relaxation, optimum = optima(kind, max_gram, lam)
    result = solve_guided(index, costs, QUICK, lam=lam)
    assert_sound(result, index, costs, relaxation, optimum)
    assert result.lower_bound >= relaxation * (1 - 2e-3) and result.objective <= optimum * 1.06
    assert result.reason is TerminationReason.CONVERGED and result.solver == "guided"
    assert (result.trace["lam"] == lam).all() and result.settings["annealings"] == 1


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("kind", SMALL)
def test_the_same_for_every_way_to_state_costs(kind, cost):
    index = index_of(SMALL[kind])
    costs = costs_by_kind(index)[cost]
    relaxation, optimum = solve_relaxation(index, costs).value, solve_exactly(index, costs)
    result = solve_guided(index, costs, QUICK)
    assert_sound(result, index, costs, relaxation, optimum)
    assert result.lower_bound >= relaxation * (1 - 2e-3) and result.objective <= optimum * 1.05


@pytest.mark.parametrize("max_gram", [1, 2, 5, 8])
def test_characters_and_what_storing_them_costs(max_gram):
    index = index_of(CHARACTERS, max_gram, ".")
    for costs in (costs_of(index, 0.6), costs_of(index, 2.0, dictionary_cost=3.0 * index.lengths() - 1)):
        relaxation, optimum = solve_relaxation(index, costs).value, solve_exactly(index, costs)
        assert_sound(solve_guided(index, costs, QUICK), index, costs, relaxation, optimum)


@pytest.mark.parametrize("scale", [1e-3, 1e3, 1e5])
def test_scale_of_costs_does_not_matter(scale):
    index = index_of(SMALL["random words"])
    costs = costs_of(index, scale, dictionary_cost=scale * index.lengths())
    relaxation, optimum = (scale * value for value in optima("random words", 3, 1.0))
    result = solve_guided(index, costs)
    assert_sound(result, index, costs, relaxation, optimum)
    assert result.objective <= optimum * 1.01 and result.lower_bound >= relaxation * (1 - 1e-3)


# elsewhere the relaxation itself is further from the optimum
TIGHT = [(kind, lam) for kind in SMALL for lam in (0.1, 1.0, 3.0) if (kind, lam) not in {
    ("random words", 1.0), ("random words", 3.0), ("one long document", 3.0), ("documents between empty ones", 1.0),
} and kind != "one word again and again"]  # fmt: skip


@pytest.mark.parametrize(("kind", "lam"), TIGHT)
def test_gap_that_is_asked_for_is_reached_where_the_relaxation_allows(kind, lam):
    relaxation, optimum = optima(kind, 3, lam)
    assert optimum <= relaxation * (1 + 1e-4)
    index = index_of(SMALL[kind])
    for gap in (1e-2, 1e-3):
        result = solve_guided(index, costs_of(index, lam), GuidedSettings(tol=gap))
        assert result.gap <= gap and result.reason is TerminationReason.CONVERGED
        before = result.trace["gap"].iloc[:-2]
        # a gap that is reached is noticed at the next bound or the end of a search, not within
        steps = result.trace["stage"].iloc[:-2]
        assert not ((before <= gap) & (steps == RECOMBINATION)).any()


DEGENERATE = {
    "one token": ["a"],
    "one document": ["a b a b a b c"],
    "identical documents": ["x y z x y"] * 9,
    "documents of one word": ["a", "b", "a", "c"],
    "empty documents": ["", "a b", "", "", "a b", ""],
    "one word": ["a a a a a a"],
}


@pytest.mark.parametrize("max_gram", [1, 3, 8])
@pytest.mark.parametrize("kind", DEGENERATE)
def test_degenerate_corpora_are_solved_to_the_optimum(kind, max_gram):
    index = index_of(DEGENERATE[kind], max_gram)
    for lam in (0.0, 0.4, 2.5):
        costs = costs_of(index, lam)
        relaxation, optimum = solve_relaxation(index, costs).value, solve_exactly(index, costs)
        result = solve_guided(index, costs, QUICK)
        assert_sound(result, index, costs, relaxation, optimum)
        assert result.objective <= optimum * 1.15, "copies of one word compete"


def test_where_nothing_costs_anything():
    index = index_of(SMALL["random words"])
    costs = costs_of(index, 0.0, dictionary_cost=np.zeros(index.n_grams))
    result = solve_guided(index, costs, QUICK)
    assert (result.objective, result.lower_bound, result.gap) == (0.0, 0.0, 0.0) and result.certificate.covered


# relaxation_only


@pytest.mark.parametrize("gap", [1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("cost", ["pointers cheap", "pointers expensive", "by pointer"])
def test_relaxation_alone_is_proved_from_both_sides(cost, gap):
    index = index_of(SMALL["random words"])
    costs = costs_by_kind(index)[cost]
    relaxation = solve_relaxation(index, costs).value
    result = solve_guided(index, costs, GuidedSettings(relaxation_only=True, relaxation_gap=gap))
    assert result.relaxation_upper / result.lower_bound - 1 <= gap
    assert result.lower_bound <= relaxation * (1 + 1e-7) and relaxation <= result.relaxation_upper * (1 + 2e-6)
    assert result.relaxation == pytest.approx(relaxation, rel=2 * gap)
    assert set(result.trace["stage"]) == {RELAXATION, FINISHED} and result.certificate.covered
    assert result.reason is TerminationReason.CONVERGED


def test_relaxation_alone_is_rounded_as_well():
    index = index_of(SMALL["repeated phrases"])
    costs = costs_of(index)
    result = solve_guided(index, costs, GuidedSettings(relaxation_only=True))
    assert result.objective < 1.1 * result.lower_bound < result.trace["best_objective"].iloc[0]


def test_limit_on_steps_is_kept_and_said():
    index = index_of(HARD)
    costs = costs_of(index)
    settings = GuidedSettings(relaxation_only=True, relaxation_gap=1e-9, relaxation_iterations=30)
    result = solve_guided(index, costs, settings)
    assert result.n_iterations == 30 and result.reason is TerminationReason.ITERATION_LIMIT
    searched = solve_guided(index, costs, GuidedSettings(relaxation_iterations=30, tol=1e-9, branching=False))
    assert searched.reason is TerminationReason.CONVERGED, "the search went on until it was over"
    assert searched.objective <= result.objective and searched.lower_bound >= result.lower_bound


# the course of a run


@pytest.fixture(scope="module")
def hard():
    index = index_of(HARD)
    costs = costs_of(index)
    return index, costs, solve_relaxation(index, costs).value, solve_guided(index, costs)


def test_stages_come_in_order_and_carry_what_they_should(hard):
    index, _, _, result = hard
    trace = result.trace
    assert set(trace["stage"]) == {*STAGES, BRANCHING, FINISHED} and trace["stage"].iloc[-1] == FINISHED
    order = (RELAXATION, SEARCH, ANNEALING, RECOMBINATION, BRANCHING)
    first = [trace["stage"].tolist().index(stage) for stage in order]
    assert first == sorted(first) and first[0] == 0
    assert (trace.loc[trace["stage"] == RELAXATION, "zeta"] == 0).all()
    assert trace.loc[trace["stage"].isin([ANNEALING, SEARCH, RECOMBINATION]), "zeta"].isna().all()
    assert trace.loc[trace["stage"].isin([SEARCH, RECOMBINATION]), "objective"].notna().all()
    assert trace.loc[trace["stage"] == ANNEALING, "relaxation"].isna().all(), "not the relaxation's any more"
    assert trace["iteration"].tolist() == [*range(result.n_iterations + 1), result.n_iterations]
    assert (trace["support"] <= index.n_grams).all() and trace["elapsed_s"].is_monotonic_increasing


def test_each_stage_brings_something(hard):
    _, _, relaxation, result = hard
    best = result.trace["best_objective"]
    last = {stage: best[result.trace["stage"] == stage].iloc[-1] for stage in STAGES}
    first_search = best[result.trace["stage"] == SEARCH].iloc[0]
    assert best.iloc[0] > first_search > last[SEARCH] and last[RECOMBINATION] <= last[SEARCH]
    assert result.objective <= 1.06 * relaxation and result.lower_bound >= relaxation * (1 - 1e-3)


@pytest.mark.parametrize("early", [True, False])
def test_the_first_search_comes_early_and_changes_nothing_in_the_relaxation(early):
    index = index_of(HARD)
    costs = costs_of(index, 2.0)
    settings = GuidedSettings(
        early=early, annealings=1, patience=0, tighten=False, relaxation_gap=1e-6, tol=0.0, branching=False
    )
    trace = solve_guided(index, costs, settings).trace
    stages = trace["stage"].tolist()
    first, annealed = stages.index(SEARCH), stages.index(ANNEALING)
    assert (first < max(i for i in range(annealed) if stages[i] == RELAXATION) - 1) == early
    if early:
        # the bound was bettered between the step and the search
        assert abs(trace["relaxation"][first - 1] / trace["lower_bound"][first] - 1) <= 2e-3
        assert trace["best_objective"][first] <= trace["best_objective"][first - 1]
    relaxed = trace.loc[trace["stage"] == RELAXATION, "relaxation"].dropna().tolist()
    other = solve_guided(index, costs, replace(settings, early=not early)).trace
    assert relaxed == other.loc[other["stage"] == RELAXATION, "relaxation"].dropna().tolist()


def test_more_annealings_and_more_patience_are_never_worse_here():
    index = index_of(HARD)
    costs = costs_of(index, 2.0)
    least, most = (
        solve_guided(index, costs, GuidedSettings(annealings=n, patience=n, tol=0.0, branching=False)).objective
        for n in (0, 2)
    )
    assert least >= most


# how a run ends


@pytest.mark.parametrize("name", ["20news_bydate"])
def test_three_hundred_real_documents_to_a_thousandth(real_documents, name):
    texts = real_documents(name, 300)
    heard = []
    model = CompressiveFeatures(1.0, 3, listeners=[heard.append]).fit(texts)
    result = model.result_
    assert result.gap <= 1e-3 and result.certificate.covered and result.reason is TerminationReason.CONVERGED
    index, costs = model.index_, costs_of(model.index_)
    proof = certify(result.cover, result.alpha, index.gram_of, costs)
    assert (proof.objective, proof.covered) == (result.objective, True) and proof.gap <= 1.0001e-3
    best = [event.best_objective for event in heard]
    assert best == sorted(best, reverse=True) and min(best) >= result.lower_bound


class StopInside:
    """Says stop at one of the questions that are asked after the first event of a stage."""

    def __init__(self, stage: str, number: int) -> None:
        self.stage, self.left, self.inside = stage, number, False

    def __call__(self, stats) -> None:
        self.inside = self.inside or stats.stage == self.stage

    def poll(self) -> bool:
        self.left -= self.inside
        return self.left > 0


@pytest.fixture(scope="module")
def small():
    index = index_of(SMALL["random words"])
    costs = uneven_costs(index)
    return index, costs, solve_relaxation(index, costs).value, solve_exactly(index, costs)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("stage", STAGES)
def test_stop_inside_a_stage_still_certifies(small, stage, number):
    index, costs, relaxation, optimum = small
    result = solve_guided(index, costs, GuidedSettings(tol=0.0), listeners=[StopInside(stage, number)])
    assert result.reason is TerminationReason.INTERRUPTED
    assert result.trace["stage"].iloc[-1] == FINISHED
    assert_sound(result, index, costs, relaxation, optimum)


def test_stop_at_any_question_around_the_first_rounding_and_the_search(small):
    """Where a dictionary is half made and where documents are half encoded."""
    index, costs, relaxation, optimum = small
    settings = GuidedSettings(
        tol=0.0, relaxation_iterations=26, annealings=1, anneal_rounds=1, anneal_steps=2, branching=False
    )

    class Counting(StopInside):
        asked = 0

        def poll(self) -> bool:
            self.asked += 1
            return super().poll()

    everything = Counting(RELAXATION, 10**9)
    whole = solve_guided(index, costs, settings, listeners=[everything])
    early, values = [], []
    for number in range(1, everything.asked + 1, 7):
        result = solve_guided(index, costs, settings, listeners=[StopInside(RELAXATION, number)])
        assert result.reason is TerminationReason.INTERRUPTED
        assert_sound(result, index, costs, relaxation, optimum)
        (early if result.n_iterations < 25 else values).append(result.objective)
    assert len(values) > 10 and min(values) >= whole.objective and values == sorted(values, reverse=True)
    # before the first look the relaxation is rounded as the stop finds it: no order, but never far off
    assert early and max(early) < 1.2 * whole.objective and min(early) >= whole.objective


@pytest.mark.parametrize("number", [1, 30, 60, 80, 110, 140])
def test_stop_between_the_chunks_of_a_pass_still_certifies(monkeypatch, number):
    """Chunks so small that a stop leaves some documents encoded and others not."""
    monkeypatch.setattr(layout, "CHUNK_POINTERS", 8_000)
    index = index_of(random_words(2, 300, 25, 60), 2)
    costs = costs_of(index)
    settings = GuidedSettings(tol=0.0, relaxation_iterations=10, annealings=1, anneal_rounds=1, anneal_steps=2)
    result = solve_guided(index, costs, settings, listeners=[StopInside(RELAXATION, number)])
    assert result.reason is TerminationReason.INTERRUPTED and result.certificate.covered
    assert result.objective >= result.lower_bound >= 0


@pytest.mark.parametrize("stage", STAGES)
def test_stop_by_a_listener_ends_at_the_event_it_answered(small, stage):
    index, costs, relaxation, optimum = small
    seen = []

    def stop(stats):
        seen.append(stats.stage)
        return stats.stage != stage

    result = solve_guided(index, costs, GuidedSettings(tol=0.0), listeners=[stop])
    assert seen[-2:] == [stage, FINISHED] and result.reason is TerminationReason.INTERRUPTED
    assert_sound(result, index, costs, relaxation, optimum)


@pytest.mark.parametrize("limit", [1e-9, 50.0, 300.0, 2000.0])
def test_time_limit_stops_and_still_certifies(small, monkeypatch, limit):
    """The clock advances a second whenever it is read."""
    index, costs, relaxation, optimum = small
    ticks = iter(range(10**9))
    monkeypatch.setattr(progress_module, "time", SimpleNamespace(perf_counter=lambda: float(next(ticks))))
    result = solve_guided(index, costs, GuidedSettings(tol=0.0, time_limit=limit))
    assert result.reason is TerminationReason.TIME_LIMIT
    assert_sound(result, index, costs, relaxation, optimum)


def test_exception_in_a_listener_propagates_and_leaves_threads_as_they_were(small):
    index, costs, relaxation, optimum = small

    def broken(stats):
        if stats.iteration == 5:
            raise ZeroDivisionError("listener")

    before = thread_count()
    with pytest.raises(ZeroDivisionError, match="listener"):
        solve_guided(index, costs, listeners=[broken], n_threads=1)
    assert thread_count() == before
    assert_sound(solve_guided(index, costs), index, costs, relaxation, optimum)


@pytest.mark.parametrize("wild", [{"rho": 1e-6}, {"rho": 1e9}, {"over": 1.999}, {"epsilon": 1e-9}, {"epsilon": 1e9},
                                  {"bound_every": 300}, {"anneal_rounds": 1, "anneal_steps": 1}], ids=str)  # fmt: skip
def test_wild_settings_still_leave_valid_bounds(small, wild):
    index, costs, relaxation, optimum = small
    result = solve_guided(index, costs, GuidedSettings(**{"relaxation_iterations": 200, **wild}))
    assert_sound(result, index, costs, relaxation, optimum)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("rho", [3e38, 1e300, 1e-300])
def test_numerical_error_is_said_and_the_next_solve_is_none_the_worse(small, rho):
    index, costs, relaxation, optimum = small
    solver = GuidedSolver(index)
    result = solver.solve(costs, GuidedSettings(rho=rho))
    assert result.reason is TerminationReason.NUMERICAL_ERROR
    assert_sound(result, index, costs, relaxation, optimum)
    again = solver.solve(costs)
    assert again.reason is TerminationReason.CONVERGED and again.lower_bound >= relaxation * (1 - 1e-3)
    assert_sound(again, index, costs, relaxation, optimum)


def test_a_coarse_gap_is_proved_by_the_relaxation_and_a_first_search():
    """The relaxation does not end while its bound still rises, whatever the value at w says of it."""
    texts = read_corpus(SAMPLE, text_column="text", limit=800).texts
    result = CompressiveFeatures(settings=GuidedSettings(tol=0.01)).fit(texts).result_
    assert ANNEALING not in set(result.trace["stage"]) and result.gap <= 0.01
    tight = CompressiveFeatures(settings=GuidedSettings(tol=1e-3)).fit(texts).result_
    assert result.lower_bound >= 0.995 * tight.lower_bound


def test_trees_close_what_the_relaxation_leaves_open_and_only_of_a_single_solve():
    index = index_of(["c b c a a", "y x y z z"], 2)
    costs, settings = costs_of(index), GuidedSettings(tol=0.0)
    result = solve_guided(index, costs, settings)
    assert result.gap < 1e-9 and result.branchings and result.objective == solve_exactly(index, costs)
    bounds = result.trace["lower_bound"].dropna().to_numpy()
    assert (np.diff(bounds) >= -1e-9 * bounds[-1]).all() and (bounds <= result.objective).all()
    assert result.trace["stage"].iloc[-2] == BRANCHING
    for other in (solve_guided(index, costs, replace(settings, branching=False)), GuidedSolver(index).solve(costs)):
        assert not other.branchings and other.gap > 0.05
    with_tol = solve_guided(index, costs, GuidedSettings(tol=0.2))
    assert not with_tol.branchings  # the gap was reached without


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_stop_among_trees_leaves_what_they_prove_by_then(after, monkeypatch):
    monkeypatch.setattr(branching, "PART_TOKENS", 0)
    monkeypatch.setattr(lifting, "EVERY", 1)
    index = index_of([f"c{i} b{i} c{i} a{i} a{i}" for i in range(12)], 2)
    told = []

    def listen(stats):
        told.extend([stats] if stats.stage == BRANCHING else [])
        return len(told) <= after

    result = solve_guided(index, costs_of(index), GuidedSettings(tol=0.0), listeners=(listen,))
    assert result.reason is TerminationReason.INTERRUPTED and len(result.branchings) == after
    assert result.lower_bound == certificate_of(result, index, costs_of(index)).lower_bound
    assert result.lower_bound >= told[-1].lower_bound * (1 - 1e-9)


def test_without_a_tree_that_helps_the_bound_is_the_prices():
    index = index_of(SMALL["all words distinct"])
    result = solve_guided(index, costs_of(index), GuidedSettings(tol=0.0))
    assert not result.branchings and result.lower_bound == pytest.approx(result.alpha.sum())
