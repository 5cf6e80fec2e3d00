"""The outer loop: what it promises about bounds, stages, limits and stops, on every kind of corpus and cost."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from cflengine.compression.model.certificate import binary_solution
from cflengine.compression.passes import layout
from cflengine.compression.solvers.homotopy import HOMOTOPY, RELAXATION, HomotopySettings, solve_homotopy
from cflengine.compression.solvers.run import FINISHED
from cflengine.engine import progress as progress_module
from cflengine.engine.jit import thread_count
from cflengine.engine.progress import TerminationReason
from naive.corpora import CHARACTERS, SMALL, costs_by_kind, costs_of, index_of, random_words, uneven_costs
from naive.cover import by_document, cheapest, prices_from
from naive.programs import solve_relaxation
from naive.results import assert_relaxation_estimated, assert_result_sound

COSTS = ["pointers free", "pointers cheap", "pointers as a word", "pointers expensive", "by length", "by pointer",
         "dictionary free", "external macro"]  # fmt: skip
# with ρ held still the relaxation converges to any gap; the paper's rule for ρ, made for speed, stops short of that
TIGHT = HomotopySettings(
    rho=0.3,
    rho_factor=1.0,
    residual_tol=1e-7,
    relaxation_gap=1e-3,
    relaxation_iterations=2000,
    zeta_step=0.25,
    stage_iterations=25,
)


def assert_sound(result, index, costs, optimum: float) -> None:
    """Everything that must hold of any result, however its run ended; optimum: of the relaxation."""
    assert_result_sound(result, index, costs, optimum)
    assert_relaxation_estimated(result, optimum)
    assert result.certificate.shrink > 1 - 1e-9, "prices of the encoding programme are feasible as they are"


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("kind", SMALL)
def test_bounds_hold_and_meet_at_the_relaxations_optimum(kind, cost):
    index = index_of(SMALL[kind])
    costs = costs_by_kind(index)[cost]
    optimum = solve_relaxation(index, costs).value
    result = solve_homotopy(index, costs, TIGHT)
    assert_sound(result, index, costs, optimum)
    assert result.reason is TerminationReason.CONVERGED
    assert result.relaxation_upper <= 1.001001 * optimum and result.lower_bound >= 0.999 * optimum


@pytest.mark.parametrize("max_gram", [1, 2, 8])
def test_characters_of_every_length_of_gram(max_gram):
    index = index_of(CHARACTERS, max_gram, ".")
    costs = costs_of(index, 0.6)
    assert_sound(solve_homotopy(index, costs, TIGHT), index, costs, solve_relaxation(index, costs).value)


# the course of a run


@pytest.fixture(scope="module")
def paper():
    """A run with the paper's own settings."""
    index = index_of(random_words(11, 40, 25, 60))
    costs = costs_of(index)
    return index, costs, solve_homotopy(index, costs, HomotopySettings(keep_stages=True), lam=1.0)


def test_zeta_rises_by_tenths_from_0_to_1(paper):
    trace = paper[2].trace
    steps = trace[trace["stage"] != FINISHED]
    assert steps["zeta"].drop_duplicates().tolist() == [round(i / 10, 1) for i in range(11)]
    assert (steps["stage"] == np.where(steps["zeta"] > 0, HOMOTOPY, RELAXATION)).all()
    assert trace["stage"].tolist()[-1] == FINISHED and (trace["stage"] == FINISHED).sum() == 1
    assert trace["iteration"].tolist() == [*range(paper[2].n_iterations + 1), paper[2].n_iterations]


def test_stages_end_by_residuals_or_after_150_steps(paper):
    trace = paper[2].trace
    steps = trace[(trace["stage"] != FINISHED) & (trace["iteration"] > 0)]
    small = np.maximum(steps["r"], steps["u"]) < steps["rho"] * 1e-3
    for zeta, stage in steps.groupby("zeta"):
        assert not small[stage.index[:-1]].any(), "a stage goes on no longer than it must"
        assert small[stage.index[-1]] or (zeta > 0 and len(stage) == 150)


def test_relaxation_is_solved_to_tolerance(paper):
    index, costs, result = paper
    optimum = solve_relaxation(index, costs).value
    assert result.relaxation == pytest.approx(optimum, rel=5e-3)
    assert result.relaxation_upper <= optimum * 1.005 and result.lower_bound >= optimum * 0.995


def test_reencoding_makes_nothing_worse(paper):
    index, costs, result = paper
    assert_sound(result, index, costs, solve_relaxation(index, costs).value)
    before = result.trace["best_objective"].iloc[-2]
    assert result.objective <= before
    assert result.reason is TerminationReason.CONVERGED
    assert (result.trace["lam"] == 1.0).all()


@pytest.mark.parametrize("kind", ["random words", "repeated phrases", "one long document"])
def test_solution_is_the_cheapest_encoding_with_its_own_dictionary(kind):
    """Also where the iterate was poor: stopped early and rounded."""
    index = index_of(SMALL[kind])
    costs = uneven_costs(index)
    for iterations in (10, 20, 40):
        result = solve_homotopy(index, costs, HomotopySettings(relaxation_iterations=iterations, last_zeta=0.0))
        chosen = np.isin(index.gram_of, result.dictionary)
        prices = prices_from(np.where(chosen, costs.pointer_extra, np.inf))
        pointer_cost = sum(cheapest(part, n) for part, n in by_document(prices, index.doc_ptr.tolist()))
        assert result.objective == pytest.approx(pointer_cost + costs.dictionary[result.dictionary].sum(), rel=1e-6)


def test_support_in_the_trace_counts_grams_of_w(paper):
    """Also where a bound was computed in the same step, which works on groups in its own way."""
    trace = paper[2].trace
    support = trace.loc[trace["stage"] == RELAXATION, "support"].to_numpy()[5:]
    assert len(support) > 40 and (support > 0).all() and (support <= paper[0].n_grams).all()
    assert np.abs(np.diff(support)).max() < 0.7 * support.max()


def test_snapshots_are_the_binary_solutions_at_the_end_of_each_zeta(paper):
    index, costs, result = paper
    assert [stage.zeta for stage in result.stages] == [round(i / 10, 1) for i in range(11)]
    last_of = result.trace[result.trace["stage"] == HOMOTOPY].groupby("zeta").last()
    for stage in result.stages:
        value, covered, n_pointers, used = binary_solution(stage.cover, index.gram_of, costs)
        assert covered and value == pytest.approx(stage.objective)
        assert (stage.n_pointers, stage.dictionary_size) == (n_pointers, used.sum())
        assert 0 <= stage.binary_share <= 1
        assert stage.weights.shape == index.gram_of.shape and not stage.weights[index.gram_of < 0].any()
        assert set(stage.summary()) == {
            "zeta", "iteration", "objective", "relaxation", "n_pointers", "dictionary_size", "binary_share", "repaired",
            "stays_optimal",
        }  # fmt: skip
        assert result.objective <= stage.repaired <= stage.objective
        assert np.isfinite(stage.stays_optimal) == (stage.zeta == 0) and not stage.stays_optimal > 1
        if stage.zeta > 0:
            assert stage.iteration == last_of.loc[stage.zeta, "iteration"]
            assert stage.objective == pytest.approx(last_of.loc[stage.zeta, "objective"])
    assert result.stages[-1].binary_share > result.stages[0].binary_share


def test_what_was_cut_short_is_not_said_to_stay_optimal(paper):
    index, costs, _ = paper
    for steps in (3, 20):
        settings = HomotopySettings(relaxation_iterations=steps, last_zeta=0.0, keep_stages=True)
        assert np.isnan(solve_homotopy(index, costs, settings).stages[0].stays_optimal)


def test_weights_are_left_out_where_they_would_be_too_large():
    index = index_of(SMALL["random words"])
    size = index.gram_of.size * 3
    for limit, kept in ((size, True), (size - 1, False)):
        settings = HomotopySettings(
            relaxation_iterations=5, stage_iterations=2, zeta_step=0.5, keep_stages=True, weights_bytes=limit
        )
        stages = solve_homotopy(index, costs_of(index), settings).stages
        assert [stage.weights is not None for stage in stages] == [kept] * 3


@pytest.mark.parametrize("keep", [False, True])
def test_keeping_stages_changes_no_number(keep):
    index = index_of(SMALL["repeated phrases"])
    settings = [
        HomotopySettings(relaxation_iterations=40, stage_iterations=10, keep_stages=flag) for flag in (keep, False)
    ]
    one, other = (solve_homotopy(index, costs_of(index), s) for s in settings)
    np.testing.assert_array_equal(one.cover, other.cover)
    assert one.trace["relaxation"].equals(other.trace["relaxation"]) and bool(one.stages) == keep


# how a run ends


@pytest.fixture(scope="module")
def small():
    index = index_of(SMALL["repeated phrases"] + SMALL["random words"])
    costs = costs_of(index)
    return index, costs, solve_relaxation(index, costs).value


@pytest.mark.parametrize("event", [0, 1, 2, 19, 20, 21, 35, 60])
def test_stop_by_a_listener_still_certifies(small, event):
    index, costs, optimum = small
    seen = []

    def stop(stats):
        seen.append(stats)
        return len(seen) <= event

    settings = HomotopySettings(relaxation_iterations=30, stage_iterations=10, keep_stages=True)
    result = solve_homotopy(index, costs, settings, listeners=[stop])
    assert result.reason is TerminationReason.INTERRUPTED and result.n_iterations == event
    assert [stats.stage for stats in seen].count(FINISHED) == 1 and seen[-1].objective == result.objective
    assert_sound(result, index, costs, optimum)


class StopAtPoll:
    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, stats) -> None:
        return None

    def poll(self) -> bool:
        self.left -= 1
        return self.left > 0


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("number", [1, 2, 3, 6, 7, 8, 9, 12])
def test_stop_between_the_sweeps_of_a_step_still_certifies(small, number, keep):
    """The relaxation takes polls 1 to 6; poll 7 comes before the first pass at ζ > 0."""
    index, costs, optimum = small
    settings = HomotopySettings(relaxation_iterations=3, stage_iterations=5, keep_stages=keep)
    result = solve_homotopy(index, costs, settings, listeners=[StopAtPoll(number)])
    assert result.reason is TerminationReason.INTERRUPTED
    assert_sound(result, index, costs, optimum)
    for stage in result.stages:
        assert len(stage.cover) == index.n_tokens
        assert binary_solution(stage.cover, index.gram_of, costs)[1]


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("number", [4, 9, 13, 15, 16, 17, 18, 22])
def test_stop_between_the_chunks_of_a_sweep_still_certifies(monkeypatch, number, keep):
    """Chunks so small that a stop leaves some documents encoded and others not."""
    monkeypatch.setattr(layout, "CHUNK_POINTERS", 8_000)
    index = index_of(random_words(2, 300, 25, 60), 2)
    costs = costs_of(index)
    settings = HomotopySettings(relaxation_iterations=2, stage_iterations=5, keep_stages=keep)
    result = solve_homotopy(index, costs, settings, listeners=[StopAtPoll(number)])
    assert result.reason is TerminationReason.INTERRUPTED and result.certificate.covered
    assert result.objective >= result.lower_bound > 0
    for stage in result.stages:
        assert binary_solution(stage.cover, index.gram_of, costs)[1]


@pytest.mark.parametrize("limit", [1e-9, 30.0, 300.0])
def test_time_limit_stops_and_still_certifies(small, monkeypatch, limit):
    """The clock advances a second whenever it is read."""
    index, costs, optimum = small
    ticks = iter(range(10**9))
    monkeypatch.setattr(progress_module, "time", SimpleNamespace(perf_counter=lambda: float(next(ticks))))
    result = solve_homotopy(index, costs, HomotopySettings(time_limit=limit, keep_stages=True))
    assert result.reason is TerminationReason.TIME_LIMIT
    assert result.n_iterations < limit
    assert_sound(result, index, costs, optimum)


def test_iteration_limit_of_the_relaxation_is_said(small):
    index, costs, optimum = small
    for last_zeta in (0.0, 0.2):
        settings = HomotopySettings(relaxation_iterations=7, stage_iterations=4, last_zeta=last_zeta)
        result = solve_homotopy(index, costs, settings)
        assert result.reason is TerminationReason.ITERATION_LIMIT
        assert result.n_iterations == 7 + (8 if last_zeta else 0)
        assert_sound(result, index, costs, optimum)


def test_relaxation_gap_ends_the_relaxation_when_it_is_proved(small):
    index, costs, optimum = small
    steps = []
    for gap in (0.1, 1e-2, 1e-3):
        settings = replace(TIGHT, last_zeta=0.0, relaxation_gap=gap, bound_every=10)
        result = solve_homotopy(index, costs, settings)
        assert result.reason is TerminationReason.CONVERGED and result.n_iterations % 10 == 0
        assert result.relaxation_upper / result.lower_bound - 1 <= gap
        assert_sound(result, index, costs, optimum)
        steps.append(result.n_iterations)
    assert steps == sorted(set(steps)), "a smaller gap takes longer"


def test_exception_in_a_listener_propagates_and_leaves_nothing_behind(small):
    index, costs, optimum = small

    def broken(stats):
        if stats.iteration == 5:
            raise ZeroDivisionError("listener")

    before = thread_count()
    with pytest.raises(ZeroDivisionError, match="listener"):
        solve_homotopy(index, costs, TIGHT, listeners=[broken], n_threads=1)
    assert thread_count() == before
    assert_sound(solve_homotopy(index, costs, TIGHT), index, costs, optimum)


@pytest.mark.parametrize(
    "wild", [{"sigma": 0.01}, {"sigma": 1e-6}, {"rho": 1e30}, {"rho": 1e-30}, {"rho_factor": 1e10}], ids=str
)
def test_settings_that_diverge_still_leave_valid_bounds(small, wild):
    index, costs, optimum = small
    settings = HomotopySettings(relaxation_iterations=60, stage_iterations=5, zeta_step=0.5, **wild)
    assert_sound(solve_homotopy(index, costs, settings), index, costs, optimum)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("wild", [{"rho": 3e38}, {"rho": 1e300}, {"rho": 1e-300}, {"sigma": 1e-300}], ids=str)
def test_numerical_error_is_said_and_leaves_a_certified_solution(small, wild):
    index, costs, optimum = small
    result = solve_homotopy(index, costs, HomotopySettings(relaxation_iterations=400, residual_tol=1e-9, **wild))
    assert result.reason is TerminationReason.NUMERICAL_ERROR
    assert_sound(result, index, costs, optimum)
    assert result.lower_bound > 0


EXPENSIVE = {
    "lam 30": lambda index: costs_of(index, 30.0),
    "lam 1,000": lambda index: costs_of(index, 1e3),
    "lam 100,000": lambda index: costs_of(index, 1e5),
    "lam 1,000,000": lambda index: costs_of(index, 1e6),
    "by pointer": lambda index: costs_of(index, pointer_cost=np.full(index.gram_of.shape, 1e5)),
    "dictionary": lambda index: costs_of(index, 1.0, dictionary_cost=1e5 * index.lengths()),
}


@pytest.mark.parametrize("cost", EXPENSIVE)
def test_relaxation_is_solved_at_every_scale_of_costs(cost):
    index = index_of(SMALL["many short documents"])
    costs = EXPENSIVE[cost](index)
    optimum = solve_relaxation(index, costs).value
    result = solve_homotopy(index, costs)
    assert_sound(result, index, costs, optimum)
    assert result.reason is TerminationReason.CONVERGED
    assert result.relaxation == pytest.approx(optimum, rel=0.01)
    assert result.relaxation_upper <= 1.01 * optimum


# settings


def test_defaults_are_the_papers():
    s = HomotopySettings()
    assert (s.rho_factor, s.rho_window, s.rho_ratio, s.residual_tol, s.zeta_step, s.stage_iterations) == (
        1.5,
        15,
        5.0,
        1e-3,
        0.1,
        150,
    )
    assert s.rho is None and s.sigma is None and s.relaxation_iterations is None and s.last_zeta == 1.0
    index = index_of(SMALL["random words"], 4)
    trace = solve_homotopy(index, costs_of(index), HomotopySettings(relaxation_iterations=1, last_zeta=0.0)).trace
    assert trace["rho"][0] == 1 / 4


@pytest.mark.parametrize(
    "wrong",
    [{name: value}
     for name in ("rho", "rho_factor", "sigma", "residual_tol", "zeta_step", "relaxation_gap", "time_limit")
     for value in (0.0, -1.0, math.nan, math.inf)]
    + [{name: 0} for name in ("rho_window", "stage_iterations", "bound_every", "relaxation_iterations")]
    + [{"rho_factor": 0.99}, {"last_zeta": -0.1}, {"last_zeta": 1.1}, {"last_zeta": math.nan}, {"rho_ratio": math.nan},
       {"zeta_step": 1e-9}, {"weights_bytes": "a"}, {"weights_bytes": -1}],
    ids=str,
)  # fmt: skip
def test_invalid_settings_raise_and_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        HomotopySettings(**wrong)


@pytest.mark.parametrize(
    ("last", "step", "expected"),
    [(1.0, 0.25, [0, 0.25, 0.5, 0.75, 1]), (1.0, 0.3, [0, 0.3, 0.6, 0.9, 1]), (0.0, 0.1, [0]), (0.05, 0.1, [0, 0.05]),
     (0.3, 0.1, [0, 0.1, 0.2, 0.3]), (1.0, 5.0, [0, 1]), (0.7, 0.7, [0, 0.7])],
)  # fmt: skip
def test_schedule_of_zeta(last, step, expected):
    zetas = HomotopySettings(last_zeta=last, zeta_step=step).zetas()
    assert zetas == expected and all(a < b for a, b in pairwise(zetas))
