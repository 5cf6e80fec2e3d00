"""Solvers by name, the guided solver's settings, polish in the estimator, and what must not matter to the solver."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from sklearn.base import clone

from cflengine import (
    CompressiveFeatures,
    ExactSettings,
    GuidedSettings,
    HomotopySettings,
    RelaySettings,
    ReweightingSettings,
    ShardedSettings,
)
from cflengine.compression.search.refine import RECOMBINATION, SEARCH
from cflengine.compression.solvers.guided.solver import GuidedSolver, solve_guided
from cflengine.compression.solvers.registry import SOLVERS
from cflengine.engine.progress import TerminationReason
from cflengine.text.kgrams import index_kgrams
from naive.corpora import SMALL, costs_of, index_of, random_words, repeated_phrases
from naive.programs import certificate_of, solve_exactly, solve_relaxation

TEXTS = SMALL["random words"]
SETTINGS = {
    "guided": GuidedSettings(annealings=1, anneal_rounds=2, anneal_steps=10),
    "homotopy": HomotopySettings(relaxation_iterations=60, zeta_step=0.5, stage_iterations=10),
    "reweighting": ReweightingSettings(rounds=2),
    "relay": RelaySettings(
        homotopy=HomotopySettings(relaxation_iterations=60, zeta_step=0.5, stage_iterations=10),
        guided=GuidedSettings(annealings=1, anneal_rounds=2, anneal_steps=10),
    ),
    "sharded": ShardedSettings(
        shards=3, in_memory=True, guided=GuidedSettings(annealings=1, anneal_rounds=2, anneal_steps=10)
    ),
    "exact": ExactSettings(),
}


# by name


def test_every_solver_has_its_name_settings_and_a_summary():
    assert list(SOLVERS) == list(SETTINGS) == [solver.name for solver in SOLVERS.values()]
    for name, solver in SOLVERS.items():
        assert SOLVERS.find(name) is solver and isinstance(SETTINGS[name], solver.settings) and solver.summary


@pytest.mark.parametrize("wrong", ["", "Guided", "ip", None, 3, ["guided"]])
def test_unknown_solvers_raise_and_the_known_are_listed(wrong):
    with pytest.raises(ValueError, match="guided, homotopy, reweighting, relay, sharded, exact"):
        SOLVERS.find(wrong)
    with pytest.raises(ValueError, match="solver must be one of"):
        CompressiveFeatures(solver=wrong).fit(TEXTS)


@pytest.mark.parametrize("name", SOLVERS)
def test_settings_are_the_solvers_own_or_its_defaults(name):
    solver = SOLVERS.find(name)
    assert solver.check(None) == solver.settings() and solver.check(SETTINGS[name]) is SETTINGS[name]
    for other, settings in SETTINGS.items():
        if other != name:
            with pytest.raises(ValueError, match=f"settings must be a {solver.settings.__name__}"):
                solver.check(settings)
            with pytest.raises(ValueError, match="settings must be"):
                CompressiveFeatures(solver=name, settings=settings).fit(TEXTS)


@pytest.mark.parametrize("name", SOLVERS)
def test_each_solver_fits_and_answers_with_a_proof(name):
    if name == "exact":
        pytest.importorskip("highspy")
    index = index_of(TEXTS)
    costs = costs_of(index)
    relaxation, optimum = solve_relaxation(index, costs).value, solve_exactly(index, costs)
    heard = []
    model = CompressiveFeatures(solver=name, settings=SETTINGS[name], listeners=[heard.append]).fit(TEXTS)
    result = model.result_
    assert result.solver == name and result.certificate.covered and heard
    assert result.lower_bound <= optimum * (1 + 1e-7) <= result.objective * (1 + 2e-7)
    assert bool(result.branchings) or result.lower_bound <= relaxation * (1 + 1e-7)
    assert result.lower_bound == pytest.approx(certificate_of(result, index, costs).lower_bound, rel=1e-9)
    assert model.transform(TEXTS).shape == (len(TEXTS), len(model.grams_))


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("after", [1, 3])
def test_a_stop_within_the_first_steps_leaves_more_than_single_words(name, after):
    if name == "exact":
        pytest.importorskip("highspy")
    index = index_of(repeated_phrases(11, 400, 6))
    costs = costs_of(index)
    result = SOLVERS.find(name).solve(index, costs, SETTINGS[name], listeners=[lambda stats: stats.iteration < after])
    assert result.reason is TerminationReason.INTERRUPTED and result.certificate.covered
    assert result.gap < 0.2 and result.n_iterations < 25
    assert result.objective < 0.5 * (index.n_tokens + index.len_ptr[1])  # a pointer to a word for every token


def test_guided_is_the_default():
    assert CompressiveFeatures().solver == "guided"
    assert CompressiveFeatures().fit(["a b"]).result_.solver == "guided"


class Asked:
    """A listener of the app's kind: says stop between events, from the given question on."""

    def __init__(self, stop_at: float) -> None:
        self.stop_at, self.questions, self.events = stop_at, 0, []

    def __call__(self, stats) -> bool:
        self.events.append(stats)
        return self.questions < self.stop_at

    def poll(self) -> bool:
        self.questions += 1
        return self.questions < self.stop_at


def test_the_exact_solver_can_be_stopped_while_the_guided_one_looks_for_its_start():
    pytest.importorskip("highspy")
    index = index_of(random_words(3, 30, 15, 25))
    costs = costs_of(index)
    never, early = Asked(math.inf), Asked(5)
    whole, stopped = (
        SOLVERS.find("exact").solve(index, costs, ExactSettings(time_limit=60.0), listeners=[asked])
        for asked in (never, early)
    )
    assert whole.reason is TerminationReason.CONVERGED and stopped.reason is TerminationReason.INTERRUPTED
    assert never.questions > 20 and early.questions < 12 and stopped.objective >= whole.objective
    assert whole.settings["time_limit"] == 60.0
    for asked in (never, early):  # one solve, also for a listener without a poll: the guided one is its first part
        stages = [event.stage for event in asked.events]
        assert any(stage.startswith("guided: ") for stage in stages)
        assert {stage for stage in stages if ":" not in stage} <= {
            "relaxation", "branch and cut", "branching trees", "re-encoded",
        }  # fmt: skip
    assert whole.seconds >= max(event.elapsed_s for event in never.events if event.stage.startswith("guided: "))
    for asked in (never, early):
        assert [event.elapsed_s for event in asked.events] == sorted(event.elapsed_s for event in asked.events)


# polish


@pytest.mark.parametrize("name", ["guided", "relay", "exact"])
def test_solvers_that_need_no_polish_say_so(name):
    with pytest.raises(ValueError, match=f"{name!r} needs none"):
        CompressiveFeatures(solver=name, polish=True).fit(TEXTS)
    with pytest.raises(ValueError, match="polish"):
        SOLVERS.find(name).check(SETTINGS[name], polish=True)


@pytest.mark.parametrize("settings", [None, SETTINGS["homotopy"]])
def test_polish_makes_the_estimators_homotopy_no_worse(settings):
    plain, polished = (
        CompressiveFeatures(solver="homotopy", settings=settings, polish=polish).fit(TEXTS) for polish in (False, True)
    )
    assert polished.result_.objective <= plain.result_.objective
    assert polished.result_.settings["polish"] and not plain.result_.settings["polish"]
    assert {SEARCH, RECOMBINATION} & set(polished.result_.trace["stage"])
    assert polished.settings is settings and clone(polished).polish, "settings that were given are left alone"


def test_polish_keeps_the_other_settings():
    settings = HomotopySettings(residual_tol=0.5, stage_iterations=3)
    checked = SOLVERS.find("homotopy").check(settings, polish=True)
    assert (checked.residual_tol, checked.stage_iterations, checked.polish) == (0.5, 3, True) and not settings.polish


# the guided solver's settings


@pytest.mark.parametrize(
    "wrong",
    [{name: value} for name in ("tol", "time_limit", "relaxation_gap", "rho", "over", "epsilon", "least_gain")
     for value in (-1.0, math.nan, math.inf, "1", True)]
    + [{name: 0} for name in ("time_limit", "relaxation_gap", "rho", "epsilon", "anneal_rounds", "anneal_steps",
                              "bound_every")]
    + [{name: value} for name in ("relaxation_iterations", "annealings", "anneal_rounds", "anneal_steps", "patience",
                                  "random_state", "bound_every") for value in (-1, 1.5, None, True)]
    + [{"over": 2.0}, {"over": 0.99}, {"tol": None}, {"epsilon": None}],
    ids=str,
)  # fmt: skip
def test_invalid_settings_raise_and_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        GuidedSettings(**wrong)


@pytest.mark.parametrize(
    "fine",
    [{"tol": 0}, {"least_gain": 0.0}, {"over": 1}, {"over": 1.99}, {"annealings": 0}, {"relaxation_iterations": 0},
     {"patience": 0}, {"random_state": np.int64(3)}, {"time_limit": None}, {"rho": 5}],
    ids=str,
)  # fmt: skip
def test_the_ends_of_their_ranges_are_allowed(fine):
    settings = GuidedSettings(**fine)
    assert solve_guided(index_of(["a b a b"]), costs_of(index_of(["a b a b"])), settings).certificate.covered


def test_the_relaxations_gap_is_a_quarter_of_the_gap_unless_said():
    assert GuidedSettings(tol=0.01).wanted_relaxation_gap == 0.0025
    assert GuidedSettings(tol=0.01, relaxation_gap=0.1).wanted_relaxation_gap == 0.1
    assert GuidedSettings(tol=0).wanted_relaxation_gap > 0


# what must not matter


def assert_same_bytes(one, other) -> None:
    np.testing.assert_array_equal(one.cover, other.cover)
    np.testing.assert_array_equal(one.alpha, other.alpha)
    np.testing.assert_array_equal(one.dictionary, other.dictionary)
    assert one.certificate == other.certificate and one.reason == other.reason and one.digest == other.digest
    assert one.trace.drop(columns="elapsed_s").equals(other.trace.drop(columns="elapsed_s"))


SHORT = GuidedSettings(relaxation_iterations=60, annealings=1, anneal_rounds=2, anneal_steps=15, tol=0.0)


@pytest.fixture(scope="module")
def several_blocks():
    """10,000 tokens: several blocks and bins, so that threads have something to disagree on."""
    index = index_of(random_words(5, 200, 50, 1_000), 3)
    return index, costs_of(index)


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="this machine has one core")
def test_one_thread_and_two_give_the_same_bytes(several_blocks):
    assert_same_bytes(*(solve_guided(*several_blocks, SHORT, n_threads=n) for n in (1, 2)))


def test_a_second_run_gives_the_same_bytes_also_warm(several_blocks):
    index, costs = several_blocks
    solvers = [GuidedSolver(index) for _ in range(2)]
    assert_same_bytes(*(solver.solve(costs, SHORT) for solver in solvers))
    assert_same_bytes(*(solver.solve(costs_of(index, 2.0), SHORT) for solver in solvers))


def test_numbers_of_tokens_do_not_matter():
    index = index_of(repeated_phrases(0, 30, 5))
    renumbered = index_kgrams(np.int32(2**31 - 1) - 7 * index.tokens, index.doc_ptr, 3)
    one, other = (solve_guided(i, costs_of(i), SHORT) for i in (index, renumbered))
    np.testing.assert_array_equal(one.cover, other.cover)
    np.testing.assert_array_equal(one.alpha, other.alpha)
