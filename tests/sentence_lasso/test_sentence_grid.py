"""Grid search: every combination, the best on the development set, ties to the smaller model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from cflengine import ADMMSettings, MajoriseSettings
from cflengine.engine.progress import NAN, TerminationReason
from cflengine.linear.search import GridPoint, GridSearch
from cflengine.sentence_lasso.grid import PAPER_GRID, fit_classes, grid_search
from cflengine.sentence_lasso.model.penalties import PENALTIES, Penalty, TrainingData
from cflengine.sentence_lasso.solvers.registry import solve
from naive.sentence_lasso import random_case

VALUES = [0.1, 1.0, 0.3]


@pytest.fixture(scope="module")
def setting():
    case = random_case(0, 40, 15)
    cut = int(np.searchsorted(case.document, 28))
    X = sparse.csr_matrix(case.X)
    data = TrainingData(X[:28], sparse.csr_matrix(case.counts[:cut].astype(float)))
    y = (case.y > 0).astype(int)
    return data, y[:28], X[28:], y[28:]


@pytest.fixture(scope="module", params=PENALTIES)
def searched(request, setting):
    return request.param, grid_search(*setting, request.param, VALUES, settings=MajoriseSettings(tol=1e-6))


def test_every_combination_once(searched):
    kind, search = searched
    names = PENALTIES[kind]
    found = [tuple(point.penalty.parameters.values()) for point in search.points]
    assert len(found) == len(set(found)) == 3 ** len(names)
    assert set(np.ravel(found)) == set(VALUES) and all(point.penalty.kind == kind for point in search.points)


def test_chains_of_warm_starts_give_what_cold_solves_give(searched, setting):
    _, search = searched
    data, y, _, _ = setting
    for point in search.points:
        cold = solve(data.start(2.0 * y - 1.0, point.penalty), MajoriseSettings(tol=1e-6))
        (warm,) = point.results
        assert warm.reason == TerminationReason.CONVERGED and warm.gap <= 1e-6
        assert warm.objective == pytest.approx(cold.objective, rel=2e-6)
        assert warm.lower_bound <= cold.objective * (1 + 1e-9)


def test_accuracy_is_that_on_the_development_set(searched, setting):
    _, search = searched
    *_, dev_X, dev_y = setting
    for point in search.points:
        scores = dev_X.toarray() @ point.results[0].w + point.results[0].bias
        assert point.accuracy == pytest.approx(np.mean((scores > 0) == dev_y))


def test_the_best_is_the_most_accurate_then_the_smallest(searched):
    _, search = searched
    top = [p for p in search.points if p.accuracy == max(p.accuracy for p in search.points)]
    assert search.best.accuracy == top[0].accuracy and search.best.model.size == min(p.model.size for p in top)


def test_ties_go_to_the_smaller_model_then_to_the_stronger_penalty(searched):
    """Accuracies made equal, then supports too."""
    kind, search = searched
    level = GridSearch(tuple(GridPoint(p.penalty, p.results, 0.5) for p in search.points))
    assert level.best.model.size == min(p.model.size for p in search.points)
    empty = replace(search.points[0].results[0], w=np.zeros(15))
    same = GridSearch(tuple(GridPoint(p.penalty, (empty,), 0.5) for p in search.points))
    assert set(same.best.penalty.parameters.values()) == {max(VALUES)} and same.best.penalty.kind == kind


def test_what_was_cut_off_says_nothing_of_its_penalty(searched):
    """However accurate it is; where all were, the one nearest to its end is the best."""
    _, search = searched
    first, second, *_ = search.points

    def cut(point, reason, gap, accuracy):
        return GridPoint(point.penalty, tuple(replace(r, reason=reason, gap=gap) for r in point.results), accuracy)

    for reason in (TerminationReason.INTERRUPTED, TerminationReason.TIME_LIMIT):
        early, late, unknown = (
            cut(first, reason, 393.0, 1.0),
            cut(second, reason, 2.0, 0.4),
            cut(first, reason, NAN, 1.0),
        )
        assert GridSearch((early, replace(second, accuracy=0.5))).best.penalty is second.penalty
        for points in ((early, late, unknown), (unknown, early, late), (late, unknown, early)):
            assert GridSearch(points).best is late


def test_frame_has_a_row_a_point(searched):
    kind, search = searched
    frame = search.frame()
    assert len(frame) == len(search.points) and set(PENALTIES[kind]) <= set(frame.columns)
    assert frame["accuracy"].max() == search.best.accuracy and (frame["gap"] <= 1e-6).all()
    assert (frame["features"] == [np.count_nonzero(p.results[0].w) for p in search.points]).all()


@pytest.mark.parametrize("n_threads", [1, 4])
def test_number_of_threads_changes_nothing(setting, n_threads):
    one = grid_search(*setting, "sentence", VALUES, n_threads=2)
    other = grid_search(*setting, "sentence", VALUES, n_threads=n_threads)
    for a, b in zip(one.points, other.points, strict=True):
        assert a.penalty == b.penalty and a.results[0].w.tobytes() == b.results[0].w.tobytes()


def test_on_point_hears_of_every_point_and_can_stop(setting):
    heard = []
    whole = grid_search(*setting, "lasso", VALUES, on_point=heard.append)
    assert heard == list(whole.points)
    stopped = grid_search(*setting, "sentence", VALUES, on_point=lambda point: False, n_threads=1)
    assert len(stopped.points) == 1 and stopped.best is stopped.points[0]
    both = grid_search(*setting, "sentence", VALUES, on_point=lambda point: False, n_threads=2)
    assert 1 <= len(both.points) <= 2


def test_listeners_hear_every_solve(setting):
    heard = []
    search = grid_search(*setting, "elastic", [1.0, 10.0], listeners=[heard.append], n_threads=1)
    assert sum(stats.stage == "start" for stats in heard) == len(search.points) == 4


def test_the_papers_algorithm_in_the_grid(setting):
    search = grid_search(*setting, "sentence", [1.0], settings=ADMMSettings(max_iter=5))
    assert search.best.results[0].solver == "admm" and search.best.results[0].copies is not None
    with pytest.raises(ValueError, match="Algorithm 1"):
        grid_search(*setting, "ridge", [1.0], settings=ADMMSettings())


def test_more_than_two_classes_are_each_against_the_rest(setting):
    data, y, dev_X, dev_y = setting
    three, dev_three = np.where(np.arange(28) % 3, y, 2), np.where(np.arange(12) % 3, dev_y, 2)
    point = grid_search(data, three, dev_X, dev_three, "sentence", [0.1]).best
    alone = fit_classes(data, (three == 2).astype(int), 2, point.penalty, MajoriseSettings(tol=1e-3))
    assert len(point.results) == 3 and point.results[2].w.tobytes() == alone[0].w.tobytes()
    scores = np.array([dev_X.toarray() @ result.w + result.bias for result in point.results])
    assert point.accuracy == pytest.approx(np.mean(scores.argmax(axis=0) == dev_three))
    assert point.model.size == np.count_nonzero(np.any([result.w for result in point.results], axis=0))


def test_values_by_the_name_of_their_lam(setting):
    search = grid_search(*setting, "sentence", {"lam_sen": [0.1, 1.0, 10.0], "lam_las": [0.5]})
    assert {p.penalty.lam_las for p in search.points} == {0.5} and len(search.points) == 3
    with pytest.raises(ValueError, match="grid is empty"):
        grid_search(*setting, "sentence", {"lam_sen": [0.1], "lam_las": []})


@pytest.mark.parametrize("labels", [0, 1])
def test_one_class_only(setting, labels):
    data, y, dev_X, dev_y = setting
    with pytest.raises(ValueError, match="two classes"):
        grid_search(data, np.full_like(y, labels), dev_X, dev_y)


def test_repeated_values_are_solved_once(setting):
    assert len(grid_search(*setting, "lasso", [1.0, 1, 1.0]).points) == 1


def test_the_papers_values():
    assert PAPER_GRID == (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)


@pytest.mark.parametrize("values", [[0.0], [-1.0], [float("nan")], [float("inf")]])
def test_values_that_are_no_lams(setting, values):
    with pytest.raises(ValueError, match="above 0"):
        grid_search(*setting, "lasso", values)


def test_nothing_to_choose_by_or_from(setting):
    data, y, dev_X, _ = setting
    with pytest.raises(ValueError, match="development set is empty"):
        grid_search(data, y, dev_X[:0], np.zeros(0))
    with pytest.raises(ValueError, match="grid is empty"):
        grid_search(*setting, "lasso", [])
    with pytest.raises(ValueError, match="penalty must be one of"):
        grid_search(*setting, "group", VALUES)


# penalties


def test_penalties_have_their_own_lams_alone():
    assert Penalty("elastic", lam_las=1, lam_rid=2).parameters == {"lam_rid": 2.0, "lam_las": 1.0}
    with pytest.raises(ValueError, match="no lam_sen"):
        Penalty("lasso", lam_las=1.0, lam_sen=1.0)
    with pytest.raises(ValueError, match="lam_sen"):
        Penalty("sentence", lam_las=1.0)
    assert Penalty("sentence", lam_sen=1.0).parameters == {"lam_sen": 1.0, "lam_las": 0.0}
    with pytest.raises(ValueError, match="lam_las"):
        Penalty("lasso")


def test_the_ridge_counts_its_square_whole(setting):
    """λ‖w‖², not half of it; the frequency-weighted one is ρ/2 Σ N_i w_i², as in the paper."""
    data, y, *_ = setting
    y, w = 2.0 * y - 1.0, np.ones(15)
    base = data.problem(y, Penalty("lasso", lam_las=1.0))
    assert data.problem(y, Penalty("ridge", lam_rid=0.7)).penalty(w) == pytest.approx(0.7 * 15)
    assert data.problem(y, Penalty("elastic", lam_rid=0.7, lam_las=1.0)).penalty(w) == pytest.approx(0.7 * 15 + 15)
    frequency = data.problem(y, Penalty("frequency", lam_rid=0.7, lam_las=1.0)).penalty(w)
    assert frequency == pytest.approx(0.35 * data.counts.sum() + base.penalty(w))
