"""Solving again from where the last solve ended, and constraints, against fresh solves and HiGHS with other costs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from cflengine import CompressionSession, CompressiveFeatures, ConstraintPrice, GuidedSettings, HomotopySettings
from cflengine.compression import session as session_module
from cflengine.compression.model.certificate import binary_solution, certify
from cflengine.compression.search.refine import SEARCH
from cflengine.compression.solvers.guided.phases import ANNEALING, RELAXATION
from cflengine.compression.solvers.guided.solver import GuidedSolver, solve_guided
from cflengine.compression.solvers.linearised_admm import LinearisedAdmm
from cflengine.engine.progress import TerminationReason
from cflengine.text.tokens import Tokenizer
from naive.corpora import SMALL, costs_by_kind, costs_of, index_of, random_words, uneven_costs
from naive.programs import solve_exactly, solve_relaxation

TEXTS = random_words(5, 8, 9, 6)
QUICK = GuidedSettings(annealings=1, anneal_rounds=2, anneal_steps=10)


def assert_proved(result, index, costs, optimum: float) -> None:
    """Valid for the problem at these costs, by the certificate and by HiGHS."""
    proof = certify(result.cover, result.alpha, index.gram_of, costs)
    assert proof.covered and proof.objective == result.objective
    assert result.lower_bound == pytest.approx(proof.lower_bound, rel=1e-6)
    assert result.lower_bound <= optimum * (1 + 1e-7) + 1e-9
    assert optimum <= result.objective * (1 + 1e-7) + 1e-9


# warm solves


@pytest.mark.parametrize("kind", ["random words", "repeated phrases", "one long document"])
def test_a_warm_solve_is_as_good_as_a_cold_one(kind):
    index = index_of(SMALL[kind])
    solver = GuidedSolver(index)
    for lam in (1.0, 3.0, 0.1, 3.0, 0.0, 30.0):
        costs = costs_of(index, lam)
        relaxation, optimum = solve_relaxation(index, costs).value, solve_exactly(index, costs)
        warm, cold = solver.solve(costs, lam=lam), solve_guided(index, costs)
        assert_proved(warm, index, costs, optimum)
        assert warm.lower_bound >= relaxation * (1 - 2e-3)
        assert warm.objective <= 1.01 * optimum and warm.objective <= 1.01 * cold.objective
        assert (warm.trace["lam"] == lam).all() and warm.reason is TerminationReason.CONVERGED


def test_first_solve_is_a_cold_one():
    index = index_of(SMALL["random words"])
    costs = uneven_costs(index)
    one, other = GuidedSolver(index).solve(costs, QUICK), solve_guided(index, costs, replace(QUICK, branching=False))
    np.testing.assert_array_equal(one.cover, other.cover)
    np.testing.assert_array_equal(one.alpha, other.alpha)
    assert one.trace.drop(columns="elapsed_s").equals(other.trace.drop(columns="elapsed_s"))


def test_other_costs_of_every_kind_follow_each_other():
    index = index_of(SMALL["repeated phrases"])
    solver = GuidedSolver(index)
    for costs in [*costs_by_kind(index).values(), uneven_costs(index, 5), costs_of(index)]:
        assert_proved(solver.solve(costs, QUICK), index, costs, solve_exactly(index, costs))


def test_a_warm_solve_starts_from_what_the_last_one_left():
    index = index_of(SMALL["random words"])
    solver, costs = GuidedSolver(index), costs_of(index)
    first = solver.solve(costs)
    again = solver.solve(costs)
    assert again.trace["best_objective"].iloc[0] == pytest.approx(first.objective)
    assert again.trace["lower_bound"].iloc[0] >= first.lower_bound * (1 - 1e-3)
    assert again.objective <= first.objective
    steps = [(result.trace["stage"] == RELAXATION).sum() for result in (again, solve_guided(index, costs))]
    assert steps[0] <= steps[1]
    # at other costs: the last dictionary, encoded anew
    costlier = costs_of(index, 2.0)
    start = solver.solve(costlier, replace(QUICK, relaxation_iterations=0)).trace["best_objective"].iloc[0]
    assert start <= binary_solution(again.cover, index.gram_of, costlier)[0]


def test_what_is_told_of_the_relaxation_is_of_these_costs():
    """Without a single step nothing is known of it; the value at other costs is no value of this one."""
    index = index_of(SMALL["random words"])
    solver = GuidedSolver(index)
    solver.solve(costs_of(index, 1.0))
    events = []
    costs = costs_of(index, 30.0)
    result = solver.solve(costs, replace(QUICK, relaxation_iterations=0), listeners=[events.append])
    assert np.isnan(result.relaxation) and np.isnan(events[0].get("relaxation"))
    optimum = solve_relaxation(index, costs).value
    assert solver.solve(costs).relaxation == pytest.approx(optimum, rel=1e-2)


@pytest.mark.parametrize("annealings", [0, 1])
def test_the_relaxation_is_rounded_and_not_what_the_search_wrote_over_it(monkeypatch, annealings):
    index = index_of(SMALL["random words"])
    solver = GuidedSolver(index)
    solver.solve(costs_of(index, 1.0), QUICK)
    taken = []
    lent_w = LinearisedAdmm.lent_w

    @contextmanager
    def spied(self):
        with lent_w(self) as w:
            taken.append(np.array(w))
            yield w

    monkeypatch.setattr(LinearisedAdmm, "lent_w", spied)
    solver.solve(costs_of(index, 2.0), replace(QUICK, annealings=annealings, relaxation_iterations=30))
    # prices of K-grams are far above 1, and a w of the relaxation is not
    assert taken and all(w.max() < 1.5 for w in taken)


def test_annealing_charges_the_slope_of_the_concave_cost_and_only_while_it_lasts():
    """Between its values at t = 1 and t = 0: c/((t + ε) log(1 + 1/ε)), ε = 2 and then 1."""
    index = index_of(SMALL["random words"])
    costs = uneven_costs(index)
    solver, charged = GuidedSolver(index), []

    def look(stats):
        charged.append((stats.stage, solver.admm.group_cost / costs.dictionary))

    solver.solve(costs, GuidedSettings(tol=0.0, annealings=2, epsilon=2.0, patience=1), listeners=[look])
    annealed = [ratio for stage, ratio in charged if stage == ANNEALING]
    assert len(annealed) >= 80
    for ratio, epsilon in ((annealed[:40], 2.0), (annealed[-40:], 1.0)):
        most, least = (1.0 / ((t + epsilon) * np.log1p(1.0 / epsilon)) for t in (0.0, 1.0))
        for value in ratio:
            assert value.min() >= least * (1 - 1e-6) and value.max() <= most * (1 + 1e-6)
            assert value.max() > 1.0 > value.min(), "costlier where it is hardly used, cheaper where it is"
    assert all((ratio == 1.0).all() for stage, ratio in charged if stage != ANNEALING)


def test_known_solutions_and_prices_are_not_lost():
    index = index_of(SMALL["random words"])
    costs = uneven_costs(index)
    good = solve_guided(index, costs, GuidedSettings(branching=False))
    lazy = GuidedSettings(relaxation_iterations=0, annealings=0, patience=0)
    result = GuidedSolver(index).solve(costs, lazy, known=[(good.cover, good.alpha.astype(np.float32))])
    assert result.objective <= good.objective
    # prices are proved anew from float32: a millionth is lost
    assert result.lower_bound >= good.lower_bound * (1 - 1e-5)
    assert result.trace["best_objective"].iloc[0] == pytest.approx(good.objective)
    assert_proved(result, index, costs, solve_exactly(index, costs))
    elsewhere = GuidedSolver(index)
    elsewhere.solve(costs_of(index, 30.0))
    warm = elsewhere.solve(costs, lazy, known=[(good.cover, good.alpha)])
    assert warm.objective <= good.objective and warm.lower_bound >= good.lower_bound * (1 - 1e-5)
    poor = (np.ones(index.n_tokens, dtype=np.uint8), np.zeros(index.n_tokens))
    assert GuidedSolver(index).solve(costs, known=[poor]).objective <= 1.01 * good.objective


@pytest.mark.parametrize("event", [1, 3, 30, 80])
def test_a_solve_that_was_stopped_leaves_a_solver_that_works(event):
    index = index_of(SMALL["random words"])
    solver = GuidedSolver(index)
    costs = costs_of(index)
    stopped = solver.solve(costs, listeners=[lambda stats: stats.iteration < event])
    assert stopped.reason is TerminationReason.INTERRUPTED
    optimum = solve_exactly(index, costs)
    assert_proved(stopped, index, costs, optimum)
    result = solver.solve(costs)
    assert_proved(result, index, costs, optimum)
    assert result.objective <= min(1.01 * optimum, stopped.objective)


# a session


def session_of(texts=TEXTS, **settings) -> CompressionSession:
    estimator = CompressiveFeatures(**settings)
    return CompressionSession(estimator, Tokenizer()(texts))


def test_session_solves_as_fit_does():
    session = session_of()
    index = session.estimator.index_
    for lam in (1.0, 0.2, 3.0):
        model = session.solve(lam)
        fresh = CompressiveFeatures(lam).fit(TEXTS)
        costs = costs_of(index, lam)
        assert_proved(model.result_, index, costs, solve_exactly(index, costs))
        assert model.result_.objective <= 1.01 * fresh.result_.objective
        assert model.lam == lam and model.get_params()["solver"] == "guided"
        assert model.decode(model.encode(TEXTS)) == fresh.decode(fresh.encode(TEXTS))
        assert model.transform(TEXTS).shape == (len(TEXTS), len(model.grams_))
        assert sum(model.dictionary_["cost"]) + lam * model.result_.n_pointers == pytest.approx(model.result_.objective)
    first = session_of().solve(1.0).result_
    np.testing.assert_array_equal(first.cover, CompressiveFeatures(1.0).fit(TEXTS).result_.cover)


def test_estimators_settings_hold_for_every_solve_that_has_none_of_its_own():
    session = session_of(settings=GuidedSettings(tol=0.5, random_state=7))
    assert session.solve(1.0).result_.settings["random_state"] == 7
    assert session.solve(1.0, settings=QUICK).result_.settings["random_state"] == 0
    assert session_of().solve(1.0).result_.settings["tol"] == GuidedSettings().tol


def test_session_leaves_the_estimator_it_was_given_alone():
    estimator = CompressiveFeatures(2.0)
    session = CompressionSession(estimator, Tokenizer()(TEXTS))
    session.solve(0.5)
    assert estimator.lam == 2.0 and not hasattr(estimator, "result_") and not hasattr(estimator, "index_")
    with pytest.raises(ValueError, match="no token"):
        session_of(["", " "])
    with pytest.raises(ValueError, match="lam"):
        session.solve(-1.0)


def test_session_of_a_fitted_estimator_of_any_solver_takes_up_its_corpus():
    fitted = CompressiveFeatures(
        solver="homotopy", dictionary_cost="characters", settings=HomotopySettings(last_zeta=0.0), weighting="tf"
    ).fit(TEXTS)
    session = CompressionSession(fitted)
    model = session.solve(2.0, known=fitted.result_)
    index = fitted.index_
    assert (
        model.index_ is index and model.weighting == "tf" and model.solver == "guided" and fitted.solver == "homotopy"
    )
    costs = costs_of(index, 2.0, dictionary_cost=[len(" ".join(gram)) for gram in words_of(fitted)])
    assert_proved(model.result_, index, costs, solve_exactly(index, costs))


def words_of(model) -> list[list[str]]:
    index = model.index_
    first = index.first_positions(np.arange(index.n_grams)).tolist()
    return [[model.table_.vocabulary[t] for t in index.tokens[i : i + index.length(g)]] for g, i in enumerate(first)]


def test_known_result_at_the_same_lam_is_kept():
    good = session_of().solve(1.0).result_
    session = session_of()
    lazy = GuidedSettings(relaxation_iterations=0, annealings=0, patience=0)
    for _ in range(2):
        result = session.solve(1.0, settings=lazy, known=good).result_
        assert result.objective <= good.objective and result.lower_bound >= good.lower_bound * (1 - 1e-5)


def test_listeners_hear_and_stop():
    heard = []

    def stop(stats):
        heard.append(stats.lam)
        return len(heard) < 4

    result = session_of().solve(0.7, listeners=[stop]).result_
    assert result.reason is TerminationReason.INTERRUPTED and set(heard) == {0.7} and result.certificate.covered


# constraints


def with_constraints(index, lam: float, force=(), forbid=()):
    """The same by other means: what is forced costs nothing, and what is forbidden more than single words do."""
    costs = costs_of(index, lam)
    paid = costs.dictionary[list(force)].sum()
    costs.dictionary[list(force)] = 0.0
    costs.dictionary[list(forbid)] = 10.0 * (lam * index.n_tokens + index.n_grams)
    return paid + solve_exactly(index, costs)


def some_grams(index, seed: int) -> list[int]:
    """K-grams of two words or more, frequent and rare."""
    rng = np.random.default_rng(seed)
    first = int(index.len_ptr[1])
    return [first, first + 1, *(first + rng.choice(index.n_grams - first, 3, replace=False)).tolist()]


@pytest.mark.parametrize("lam", [0.3, 1.0, 4.0])
def test_price_of_a_constraint_lies_between_its_proved_limits(lam):
    session = session_of()
    index = session.estimator.index_
    free = session.solve(lam).result_
    optimum = solve_exactly(index, costs_of(index, lam))
    constraints = [{kind: [gram]} for gram in some_grams(index, 1) for kind in ("force", "forbid")]
    constraints += [
        {"force": some_grams(index, 2)[:2], "forbid": some_grams(index, 3)[-1:]},
        {"force": [], "forbid": []},
    ]
    for constraint in constraints:
        result = session.solve(lam, **constraint, known=free).result_
        constrained = with_constraints(index, lam, **constraint)
        price = ConstraintPrice.of(result, free)
        slack = 1e-6 * optimum
        assert result.lower_bound <= constrained + slack and constrained <= result.objective + slack
        assert 0.0 <= price.least <= constrained - optimum + slack and constrained - optimum <= price.most + slack
        assert price.least <= price.estimate + slack and price.estimate <= price.most + slack
        assert result.gap == pytest.approx(result.objective / result.lower_bound - 1)
        assert not set(constraint["forbid"]) & set(result.dictionary) if "forbid" in constraint else True
        assert result.objective <= constrained * 1.03


def test_forcing_what_is_stored_anyway_costs_nothing_and_what_is_useless_its_entry():
    session = session_of(["a b c"] * 6 + ["d e"])
    index = session.estimator.index_
    free = session.solve(1.0).result_
    phrase, rare = (int(index.gram_of[k, i]) for k, i in ((2, 0), (1, 0)))
    assert phrase in free.dictionary and rare not in free.dictionary
    kept, idle = (session.solve(1.0, force=[gram]).result_ for gram in (phrase, rare))
    assert kept.objective == pytest.approx(free.objective)
    assert idle.objective == pytest.approx(free.objective + 2.0)
    assert kept.lower_bound == pytest.approx(free.lower_bound, rel=2e-3)
    assert idle.lower_bound == pytest.approx(free.lower_bound + 2.0, rel=2e-3)


def test_a_constraint_named_twice_is_one_constraint():
    session = session_of()
    index = session.estimator.index_
    gram = some_grams(index, 0)[0]
    once, twice = session_of().solve(1.0, force=[gram]).result_, session_of().solve(1.0, force=[gram, gram]).result_
    assert once.objective == twice.objective and twice.lower_bound <= with_constraints(index, 1.0, force=[gram]) + 1e-6
    assert session.solve(1.0, forbid=[gram, gram]).result_.certificate.covered


def test_a_word_can_be_forbidden_where_longer_grams_cover_it():
    session = session_of(["a b", "a b", "b", "a b b"], max_gram=2)
    index = session.estimator.index_
    word = int(index.gram_of[0, 0])
    model = session.solve(1.0, forbid=[word])
    assert word not in model.result_.dictionary and model.result_.certificate.covered
    assert model.result_.objective == pytest.approx(with_constraints(index, 1.0, forbid=[word]))


def test_an_impossible_constraint_is_refused_before_anything_is_solved():
    session = session_of(["a b", "b", "a b b"])
    heard = []
    with pytest.raises(ValueError, match="cannot be covered without"):
        session.solve(1.0, forbid=[int(session.estimator.index_.gram_of[0, 2])], listeners=[heard.append])
    assert not heard


@pytest.mark.parametrize("lam", [0.3, 2.0])
def test_the_search_begins_with_a_solution_that_keeps_the_ban(lam):
    session = session_of()
    index = session.estimator.index_
    free = session.solve(lam).result_
    banned = [int(gram) for gram in free.dictionary if index.length(int(gram)) > 1][:2]
    assert banned
    heard = []
    result = session.solve(lam, forbid=banned, known=free, listeners=[heard.append]).result_
    assert heard[0].best_objective < 1.5 * free.objective and not set(banned) & set(result.dictionary)
    assert result.objective <= heard[0].best_objective


def test_impossible_constraints_raise():
    session = session_of(["a b", "b", "a b b"])
    index = session.estimator.index_
    only, pair = int(index.gram_of[0, 2]), int(index.gram_of[1, 0])
    with pytest.raises(ValueError, match="cannot be covered without"):
        session.solve(1.0, forbid=[only])
    with pytest.raises(ValueError, match="forced and forbidden"):
        session.solve(1.0, force=[pair, only], forbid=[pair])
    after = session.solve(1.0).result_
    assert after.objective == pytest.approx(solve_exactly(index, costs_of(index)), rel=0.01), (
        "a constraint leaves no trace"
    )


@pytest.mark.parametrize("quick", [True, False])
def test_a_frequent_word_can_be_forbidden_and_at_nearly_the_least_cost(quick):
    """Its uses outnumber what stands for "impossible" in the search (1e6 each) against any fixed price of the
    constraint."""
    texts = [" the ".join(text.split()) for text in random_words(3, 200, 8, 200)]
    session = session_of(texts)
    index = session.estimator.index_
    free = session.solve(1.0).result_
    word = int(index.gram_of[0, 1])
    assert index.counts()[word] > 1000 and word in free.dictionary
    result = session.solve(1.0, forbid=[word], known=free, settings=session_module.QUICK if quick else None).result_
    assert word not in result.dictionary and result.gap <= 0.03
    price = ConstraintPrice.of(result, free)
    assert 0.0 <= price.least <= price.estimate <= price.most <= 0.05 * free.objective


def test_quick_answers_are_proved_too():
    session = session_of()
    index = session.estimator.index_
    free = session.solve(1.0).result_
    for gram in some_grams(index, 5):
        for constraint in ({"force": [gram]}, {"forbid": [gram]}):
            result = session.solve(1.0, **constraint, known=free, settings=session_module.QUICK).result_
            constrained = with_constraints(index, 1.0, **constraint)
            assert result.lower_bound <= constrained + 1e-6 and constrained <= result.objective + 1e-6
            assert result.objective <= constrained * 1.1


@pytest.mark.parametrize("stage", [RELAXATION, SEARCH])
def test_stop_while_a_word_is_forbidden_is_no_proof_that_it_cannot_be(stage):
    """The solution of single words, with which a run begins, uses the word; that is not the constraint's fault."""
    session = session_of([f"{text} la" for text in TEXTS], settings=GuidedSettings(tol=0.0))
    word = int(session.estimator.index_.gram_of[0, 9])
    model = session.solve(1.0, forbid=[word], listeners=[lambda stats: stats.stage != stage])
    assert model.result_.reason is TerminationReason.INTERRUPTED and model.result_.certificate.covered
    assert word not in model.result_.dictionary


@pytest.mark.parametrize("lam", [1e3, 1e6])
def test_a_word_can_be_forbidden_at_any_pointer_cost(lam):
    """Doing without it costs 300 pointers, which is far more than a fixed price of 1e9 where a pointer costs 1e6."""
    texts = ["a b"] * 1500 + ["a c", "b d"]
    session = session_of(texts, max_gram=2)
    pair = int(session.estimator.index_.gram_of[1, 0])
    model = session.solve(lam, forbid=[pair], settings=QUICK)
    assert pair not in model.result_.dictionary
    assert model.result_.lower_bound <= 3002 * lam + 6 <= model.result_.objective + 1e-3


def test_limits_of_a_price_are_rounded_outward():
    rng = np.random.default_rng(0)
    for _ in range(300):
        a, b, c, d = rng.uniform(1.0, 1e4, 4).tolist()
        held = SimpleNamespace(objective=max(a, b) + 1e4, lower_bound=min(a, b) + 1e4)
        free = SimpleNamespace(objective=max(c, d), lower_bound=min(c, d))
        price = ConstraintPrice.of(held, free)
        assert Fraction(price.least) <= Fraction(held.lower_bound) - Fraction(free.objective)
        assert Fraction(price.most) >= Fraction(held.objective) - Fraction(free.lower_bound)
    whole = ConstraintPrice.of(
        SimpleNamespace(objective=9.0, lower_bound=8.0), SimpleNamespace(objective=6.0, lower_bound=5.0)
    )
    assert (whole.least, whole.most) == (2.0, 4.0)
