"""Every solver against the others, scipy and scikit-learn; the paper's scheme and its controls."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from benchmarks.loglinear.dense import BFGS, CLUSTERS_OVER_BFGS, FIS
from benchmarks.loglinear.scheme import at_random, restart
from cflengine.engine.jit import threads
from cflengine.engine.progress import Progress, TerminationReason
from cflengine.linear.design import Design
from cflengine.loglinear.model.certificate import certify_binary
from cflengine.loglinear.model.chain import ChainModel
from cflengine.loglinear.model.losses import BinaryModel
from cflengine.loglinear.model.objective import Objective
from cflengine.loglinear.solvers.owlqn import pseudo_gradient
from cflengine.loglinear.solvers.registry import SOLVERS, solve
from cflengine.loglinear.solvers.settings import (
    CLUSTERINGS,
    AutoSettings,
    ClusteredSettings,
    DualSettings,
    Iterations,
    LBFGSSettings,
    NewtonSettings,
)
from naive.loglinear import binary, multinomial

TIGHT = 1e-9
CONTROLS = (BFGS, FIS)


@pytest.mark.parametrize("solver", [*SOLVERS, *CONTROLS], ids=lambda solver: getattr(solver, "name", solver))
@pytest.mark.parametrize("ridge", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("ones", [True, False])
def test_every_solver_ends_at_the_same_certified_optimum(solver, ridge, ones):
    model = binary(5, ones=ones)
    tol = 1e-6 if solver is FIS else TIGHT
    limit = 100_000
    settings = Iterations if solver in CONTROLS else SOLVERS[solver].settings
    result = solve(model, ridge, solver, settings(tol=tol, max_iter=limit))
    assert result.reason is TerminationReason.CONVERGED and result.gap <= tol
    checked = certify_binary(model.design.X, model.y, result.w, ridge, alpha=result.alpha)
    assert checked.objective == pytest.approx(result.objective, rel=1e-10)
    assert checked.gap <= 2 * tol
    best = solve(model, ridge, "newton-cg", NewtonSettings(tol=1e-12)).objective
    assert best * (1 - 1e-12) <= result.objective <= best * (1 + tol)
    trace = result.trace
    assert (np.diff(trace["work"]) > 0).all() and trace["work"].iloc[-1] == pytest.approx(result.n_passes)
    assert (np.diff(trace["lower_bound"]) >= 0).all() and (trace["lower_bound"] <= best * (1 + 1e-9)).all()


@pytest.mark.parametrize("solver", ["lbfgs", "clustered", "newton-cg"])
def test_the_multinomial_model(solver):
    model = multinomial(6)
    result = solve(model, 0.5, solver, SOLVERS[solver].settings(tol=TIGHT))
    assert result.gap <= TIGHT
    from sklearn.linear_model import LogisticRegression

    peer = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10, max_iter=10_000)
    peer.fit(model.design.X, model.label)
    np.testing.assert_allclose(result.w.reshape(-1, 4).T, peer.coef_, atol=1e-4)


@pytest.mark.parametrize("ridge", [0.01, 1.0])
def test_binary_weights_are_scikit_learns(ridge):
    from sklearn.linear_model import LogisticRegression

    model = binary(7)
    peer = LogisticRegression(C=1 / ridge, fit_intercept=False, solver="liblinear", tol=1e-12, max_iter=100_000)
    peer.fit(model.design.X, model.y)
    result = solve(model, ridge, "newton-cg", NewtonSettings(tol=1e-12))
    np.testing.assert_allclose(result.w, peer.coef_[0], atol=1e-5)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ridge", [1e-5, 0.1])
def test_plain_lbfgs_takes_no_more_passes_than_scipys(seed, ridge):
    model = binary(seed, n=200, d=120)
    objective = Objective(model, ridge)

    def value(w):
        point = objective.at(w)
        return point.value, point.gradient

    best = solve(model, ridge, "newton-cg", NewtonSettings(tol=1e-10)).objective
    target = best * (1 + 1e-6)
    calls = []

    def counted(w):
        answer = value(w)
        calls.append(answer[0])
        return answer

    minimize(counted, np.zeros(model.n_weights), jac=True, method="L-BFGS-B",
             options={"maxiter": 5000, "maxfun": 5000, "ftol": 1e-15, "gtol": 1e-10})  # fmt: skip
    theirs = 1 + int(np.argmax(np.array(calls) <= target))
    trace = solve(model, ridge, "lbfgs", LBFGSSettings(tol=1e-8)).trace
    ours = trace["work"][trace["objective"] <= target].min()
    assert min(calls) <= target and ours <= theirs


def test_an_iteration_costs_one_pass_however_long_it_searches():
    trace = solve(binary(3), 0.01, "lbfgs", LBFGSSettings()).trace
    assert set(np.round(np.diff(trace["work"]), 9)) == {1.0}


@pytest.mark.parametrize("clustering", [*CLUSTERINGS, at_random, restart])
@pytest.mark.parametrize("lift", ["replicate", "increment"])
@pytest.mark.parametrize("merge", [False, True])
def test_the_scheme_ends_at_the_optimum_whatever_its_policies(clustering, lift, merge):
    model = binary(8, n=150, d=100)
    settings = ClusteredSettings(
        tol=TIGHT, rounds=3, fine_iter=4, cluster_factor=6, clustering=clustering, lift=lift, merge=merge
    )
    result = solve(model, 1e-2, "clustered", settings)
    best = solve(model, 1e-2, "newton-cg", NewtonSettings(tol=1e-12)).objective
    assert result.gap <= TIGHT and result.objective == pytest.approx(best, rel=1e-8)
    stages = result.trace["stage"].tolist()
    assert len(result.clusters) == (0 if clustering is restart else 3)
    assert stages.count("lifted") == len(result.clusters) and stages[0] == "start" and stages[-1] == "fine"
    for row, found in result.clusters:
        assert stages[row] == "coarse" and stages[row - 1] == "fine"
        assert found.n_clusters == len(np.unique(found.cluster_of)) <= 100 / 6 + 1


@pytest.mark.parametrize("ridge", [1e-3, 1.0])
def test_iterative_scaling_goes_on_where_documents_are_long(ridge):
    """Documents of 60 features: Newton's method on a feature's own bound must not jump over its solution."""
    generator = np.random.default_rng(0)
    X = sparse.csr_matrix((generator.random((300, 80)) < 0.75).astype(np.float64))
    y = np.where(X @ generator.normal(size=80) > 0, 1.0, -1.0)
    model = BinaryModel(Design(X), y)
    best = solve(model, ridge, "newton-cg", NewtonSettings(tol=1e-9)).objective
    result = solve(model, ridge, FIS, Iterations(max_iter=400))
    values = result.trace["objective"].to_numpy()
    assert result.n_iterations == 400 and (np.diff(values) < 0).all()
    assert values[-1] - best < 0.2 * (values[0] - best)


def test_the_scheme_over_dense_bfgs():
    """Section III-D: k-means, coarse steps to convergence, five fine steps first."""
    model = binary(8, n=150, d=100)
    settings = ClusteredSettings(tol=TIGHT, rounds=1, clustering="kmeans", coarse_tol=1e-10)
    result = solve(model, 1e-2, CLUSTERS_OVER_BFGS, settings)
    plain = solve(model, 1e-2, BFGS, Iterations(tol=TIGHT))
    assert result.gap <= 1.2 * TIGHT and result.objective == pytest.approx(plain.objective, rel=1e-8)
    assert len(result.clusters) == 1


def test_lifting_by_increments_never_loses_what_was_gained():
    """β + Pδ starts at β; replication may throw away what tells a cluster's members apart."""
    model = binary(9, n=150, d=100)
    for lift, monotone in (("increment", True), ("replicate", False)):
        result = solve(model, 1e-3, "clustered", ClusteredSettings(lift=lift, cluster_factor=25, rounds=3))
        values = result.trace["objective"].to_numpy()
        assert bool((np.diff(values) <= 1e-12).all()) is monotone


def test_coarse_points_are_points_of_all_weights():
    """A coarse step's objective is that of the weights it stands for, and no coarse bound counts."""
    model = binary(4, n=150, d=100)
    everything = np.arange(model.n_weights)
    for lift in ("replicate", "increment"):
        for merge in (False, True):
            settings = ClusteredSettings(lift=lift, merge=merge, cluster_factor=10)
            result = solve(model, 0.1, "clustered", settings, watch=everything)
            assert result.trajectories.shape == (len(result.trace), model.n_weights)
            for row, w in enumerate(result.trajectories):
                there = certify_binary(model.design.X, model.y, w, 0.1)
                assert there.objective == pytest.approx(result.trace["objective"][row], rel=1e-9)
                assert result.trace["lower_bound"][row] <= result.objective


def test_merged_features_cost_their_share_of_a_pass():
    model = binary(4, n=150, d=100)
    merged = solve(model, 0.1, "clustered", ClusteredSettings(merge=True, cluster_factor=50))
    plain = solve(model, 0.1, "clustered", ClusteredSettings(merge=False, cluster_factor=50))
    coarse = {}
    for name, result in (("merged", merged), ("plain", plain)):
        work, stage = result.trace["work"].to_numpy(), result.trace["stage"].to_numpy()
        coarse[name] = np.diff(work)[(stage[1:] == "coarse") & (stage[:-1] == "coarse")]
    assert coarse["merged"].max() < 1.0 and coarse["plain"] == pytest.approx(1.0)


@pytest.mark.parametrize("solver", ["lbfgs", "clustered"])
def test_chains(chain, solver):
    data, features = chain
    model = ChainModel(data, features)
    settings = SOLVERS[solver].settings(tol=TIGHT)
    result = solve(model, 0.3, solver, settings, n_tied=features.n_states)
    other = solve(model, 0.3, BFGS, Iterations(tol=TIGHT))
    assert result.objective == pytest.approx(other.objective, rel=1e-8)
    for _, found in result.clusters:
        transitions = found.cluster_of[features.n_states :]
        assert len(set(transitions.tolist())) == len(transitions)
        assert not set(transitions.tolist()) & set(found.cluster_of[: features.n_states].tolist())


@pytest.mark.parametrize("ridge", [0.0, 0.2])
@pytest.mark.parametrize("lasso", [0.3, 3.0])
def test_owlqn_ends_where_the_smallest_subgradient_vanishes(ridge, lasso):
    model = binary(2)
    result = solve(model, ridge, "lbfgs", LBFGSSettings(tol=1e-6, max_iter=5000), lasso=lasso)
    point = Objective(model, ridge).at(result.w)
    assert np.abs(pseudo_gradient(result.w, point.gradient, lasso)).max() < 1e-2 * lasso
    assert result.gap <= 1e-6 and 0 < np.count_nonzero(result.w) < model.n_weights
    if ridge == 0:
        from sklearn.linear_model import LogisticRegression

        peer = LogisticRegression(
            l1_ratio=1.0, C=1 / lasso, solver="liblinear", fit_intercept=False, tol=1e-10, max_iter=100_000
        ).fit(model.design.X, model.y)
        there = Objective(model, 0.0).at(peer.coef_[0]).value + lasso * np.abs(peer.coef_).sum()
        assert result.objective <= there * (1 + 1e-6)


def test_with_an_enormous_lasso_nothing_is_left():
    result = solve(binary(2), 0.0, "lbfgs", LBFGSSettings(), lasso=1e6)
    assert not result.w.any() and 0.0 <= result.gap < 1e-12


@pytest.mark.parametrize("solver", ["lbfgs", "clustered", "newton-cg", "dual"])
def test_the_same_bytes_with_one_thread_and_two(solver):
    answers = []
    for n in (1, 2):
        with threads(n):
            answers.append(solve(binary(1), 0.1, solver, SOLVERS[solver].settings(tol=1e-8)).w.tobytes())
    assert answers[0] == answers[1]


@pytest.mark.parametrize("solver", ["lbfgs", "clustered", "newton-cg"])
def test_every_start_ends_at_the_same_optimum(solver):
    model = binary(1)
    start = 3 * np.random.default_rng(0).normal(size=model.n_weights)
    near, far = (solve(model, 0.1, solver, SOLVERS[solver].settings(tol=TIGHT), start=w) for w in (None, start))
    assert near.objective == pytest.approx(far.objective, rel=1e-8)


def test_limits_and_listeners_end_a_solve_with_the_best_so_far():
    model = binary(1)
    result = solve(model, 1e-4, "lbfgs", LBFGSSettings(max_iter=3))
    assert result.reason is TerminationReason.ITERATION_LIMIT and result.n_iterations == 3
    assert result.objective == pytest.approx(result.trace["objective"].min(), rel=1e-11)
    heard = []
    stopped = solve(model, 1e-4, "lbfgs", LBFGSSettings(), listeners=[lambda s: heard.append(s) or len(heard) < 5])
    assert stopped.reason is TerminationReason.INTERRUPTED and len(heard) == 5
    late = solve(model, 1e-4, "lbfgs", LBFGSSettings(time_limit=1e-9))
    assert late.reason is TerminationReason.TIME_LIMIT and late.gap < np.inf
    # what cannot be reached in float64 ends by itself, and says so
    dry = solve(model, 1.0, "lbfgs", LBFGSSettings(tol=1e-300))
    assert dry.reason in (TerminationReason.NUMERICAL_ERROR, TerminationReason.CONVERGED) and dry.gap < 1e-10


def test_refusals():
    with pytest.raises(ValueError, match="two classes"):
        solve(multinomial(0), 1.0, "dual", DualSettings())
    with pytest.raises(ValueError, match="at most 5,000 weights"):
        solve(binary(0, d=5001, n=20), 1.0, BFGS, Iterations())
    with pytest.raises(ValueError, match="knows no c1"):
        solve(binary(0), 1.0, "newton-cg", NewtonSettings(), lasso=1.0)
    negative = binary(0)
    negative.design.X.data[0] = -1.0
    with pytest.raises(ValueError, match="at least 0"):
        solve(negative, 1.0, FIS, Iterations())


@pytest.mark.parametrize(
    ("settings", "wrong", "said"),
    [
        (LBFGSSettings, {"tol": 0}, "tol must be a positive"),
        (LBFGSSettings, {"memory": 0}, "memory must be a whole number"),
        (LBFGSSettings, {"curvature": 1.0}, "curvature must be below 1"),
        (LBFGSSettings, {"time_limit": -1}, "time_limit must be"),
        (ClusteredSettings, {"cluster_factor": 0.5}, "cluster_factor must be"),
        (ClusteredSettings, {"clustering": "magic"}, "clustering must be one of"),
        (ClusteredSettings, {"lift": ["replicate"]}, "lift must be one of"),
        (ClusteredSettings, {"window": 1}, "window must be"),
        (ClusteredSettings, {"rounds": True}, "rounds must be"),
        (NewtonSettings, {"forcing": float("nan")}, "forcing must be"),
        (DualSettings, {"random_state": -1}, "random_state must be"),
        (Iterations, {"max_iter": 0}, "max_iter must be"),
    ],
)
def test_wrong_settings_are_said(settings, wrong, said):
    with pytest.raises(ValueError, match=said):
        settings(**wrong)


def test_settings_belong_to_a_solver():
    assert SOLVERS["auto"].check(None, tol=1e-3) == AutoSettings(tol=1e-3)
    assert SOLVERS["dual"].check(None, tol=1e-3) == DualSettings(tol=1e-3)
    with pytest.raises(ValueError, match="must be a ClusteredSettings"):
        SOLVERS["clustered"].check(LBFGSSettings())
    with pytest.raises(ValueError, match="must be a LBFGSSettings"):
        SOLVERS["lbfgs"].check(ClusteredSettings())
    with pytest.raises(ValueError, match="solver must be one of"):
        SOLVERS.find("sgd")
    with pytest.raises(ValueError, match="tol must be"):
        SOLVERS["auto"].check(None, tol=-1.0)


def test_the_rule_of_auto(chain):
    """Easy classes: dual descent alone. Classes that overlap, at a small ridge: Newton goes on from where it stands."""
    easy = solve(binary(5), 1.0, "auto", AutoSettings())
    assert set(easy.trace["stage"]) == {"start", "dual"} and "dual" in easy.why
    hard = binary(5, n=400, d=30)
    hard.y[::3] *= -1.0
    result = solve(hard, 1e-6, "auto", AutoSettings(tol=1e-8))
    stages = result.trace["stage"].tolist()
    assert stages[1] == "dual" and stages[-1] == "newton-cg" and "Newton" in result.why and result.gap <= 1e-8
    assert 15 <= stages.count("dual") <= 75 and stages.count("dual") % 5 == 0
    assert result.trace["objective"].iloc[-1] == result.trace["objective"].min()
    data, features = chain
    for model in (multinomial(0), ChainModel(data, features)):
        assert set(solve(model, 1.0, "auto", AutoSettings()).trace["stage"]) == {"start", "lbfgs"}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("solver", ["dual", "lbfgs", "newton-cg"])
def test_no_event_has_a_bound_above_what_was_reached(solver, seed):
    model, heard = binary(seed), []
    result = solve(
        model, 0.3, solver, SOLVERS[solver].settings(tol=1e-15, max_iter=400),
        progress=Progress([heard.append]),
    )  # fmt: skip
    trace = result.trace
    assert (trace["lower_bound"] <= trace["best_objective"]).all() and len(heard) == len(trace)
    assert all(not event.gap < 0 for event in heard)
