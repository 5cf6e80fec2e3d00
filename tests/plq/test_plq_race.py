"""Pure and primal-dual coordinate descent: the same steps, at other costs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

from cflengine.engine.checks import InputError
from cflengine.engine.progress import TerminationReason
from cflengine.plq.race import FORMS, MOST, DualSVM
from cflengine.plq.settings import DescentSettings


def data(n: int = 60, d: int = 8, *, dense: bool = True):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n, d)) * (generator.random((n, d)) < 0.5)
    y = np.where(X[:, 0] + 0.5 * generator.normal(size=n) > 0, 1.0, -1.0)
    return (X if dense else sparse.csr_matrix(X)), y


@pytest.mark.parametrize("dense", [True, False])
def test_both_take_the_same_steps(dense):
    X, y = data(dense=dense)
    for sweeps in (1, 2, 7):
        runs = {name: DualSVM(name, X, y, 0.7, DescentSettings(tol=None, max_iter=sweeps)) for name in FORMS}
        results = {name: run.run() for name, run in runs.items()}
        np.testing.assert_allclose(runs["pure"].alpha, runs["primal-dual"].alpha, atol=1e-12)
        assert (runs["pure"].alpha >= 0).all() and (runs["pure"].alpha <= 0.7).all()
        np.testing.assert_allclose(results["pure"].w, results["primal-dual"].w, atol=1e-11)
        assert all(result.reason is TerminationReason.ITERATION_LIMIT for result in results.values())
    np.testing.assert_allclose(runs["primal-dual"].beta, results["primal-dual"].w, atol=1e-11)


def test_operations_are_n_squared_and_n_d():
    X, y = data(50, 6)
    heard: dict[str, list[float]] = {name: [] for name in FORMS}
    for name in FORMS:
        listener = lambda stats, own=heard[name]: own.append(stats.extra["operations"])  # noqa: E731
        DualSVM(name, X, y, 1.0, DescentSettings(tol=None, max_iter=5), [listener]).run()
    pure, carried = np.diff(heard["pure"]), np.diff(heard["primal-dual"])
    assert heard["pure"][0] == 50 * 50 * 6 and (pure == 50 * 50).all()
    assert (carried >= 50 * 6).all() and (carried <= 2 * 50 * 6).all()


@pytest.mark.parametrize("name", FORMS)
def test_the_end_is_the_svm_certified(name):
    X, y = data(200, 5)
    result = DualSVM(name, X, y, 0.5, DescentSettings(tol=1e-6)).run()
    assert result.reason is TerminationReason.CONVERGED and result.gap <= 1e-6
    peer = LinearSVC(C=0.5, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=10**6).fit(X, y)
    np.testing.assert_allclose(result.w, peer.coef_[0], atol=2e-3)


def test_rows_of_zeros_and_stops():
    X, y = data(20, 4)
    X[3] = 0.0
    for name in FORMS:
        run = DualSVM(name, X, y, 2.0, DescentSettings(tol=1e-8, max_iter=10_000))
        assert run.run().gap <= 1e-8 and run.alpha[3] == 2.0
        stopped = DualSVM(name, X, y, 2.0, DescentSettings(tol=None), [lambda stats: stats.iteration < 3]).run()
        assert stopped.reason is TerminationReason.INTERRUPTED and stopped.n_iterations == 3


def test_too_many_observations_are_refused_before_any_work():
    X = np.ones((MOST + 1, 1))
    with pytest.raises(InputError, match="at most 6,000"):
        DualSVM("pure", X, np.ones(MOST + 1), 1.0, DescentSettings())
    DualSVM("primal-dual", X, np.ones(MOST + 1), 1.0, DescentSettings())
