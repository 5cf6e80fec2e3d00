"""The λ-path: every point proved against HiGHS, in order, and what is left of it after a stop."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from cflengine import GuidedSettings
from cflengine.compression.model.certificate import binary_solution, certify
from cflengine.compression.solvers.guided.solver import GuidedSolver, solve_guided
from cflengine.compression.solvers.lambda_path import PATH_SETTINGS, CompressionPath, PathPoint, path_lams, solve_path
from cflengine.compression.solvers.run import FINISHED
from cflengine.engine import progress as progress_module
from cflengine.engine.progress import TerminationReason
from naive.corpora import SMALL, costs_of, index_of, random_words
from naive.programs import solve_exactly, solve_relaxation

LAMS = [0.0, 0.1, 0.5, 1.0, 3.0, 30.0]


@pytest.fixture(scope="module")
def words():
    """A corpus with an integrality gap, so that both sweeps have something to do."""
    index = index_of(SMALL["random words"])
    events = []
    return index, solve_path(index, LAMS, listeners=[events.append]), events


def assert_point_proved(point: PathPoint, index, costs) -> None:
    result = point.result
    proof = certify(result.cover, result.alpha, index.gram_of, costs)
    assert proof.covered and proof.objective == pytest.approx(result.objective, rel=1e-12)
    # the prices are kept in float32
    assert proof.lower_bound == pytest.approx(result.lower_bound, rel=1e-6)
    optimum = solve_exactly(index, costs)
    assert result.lower_bound <= optimum * (1 + 1e-7) + 1e-9 and optimum <= result.objective * (1 + 1e-7) + 1e-9


@pytest.mark.parametrize("kind", SMALL)
def test_every_point_is_proved_and_near_the_optimum(kind):
    index = index_of(SMALL[kind], 2)
    for point in solve_path(index, LAMS[1:5]):
        costs = costs_of(index, point.lam)
        assert_point_proved(point, index, costs)
        relaxation, optimum = solve_relaxation(index, costs).value, solve_exactly(index, costs)
        assert point.result.lower_bound >= relaxation * (1 - 3e-3) and point.result.objective <= 1.03 * optimum


def test_points_are_sorted_and_each_is_of_its_own_lam(words):
    index, path, events = words
    assert [point.lam for point in path] == LAMS == [path[i].lam for i in range(len(path))] and len(path) == len(LAMS)
    for point in path:
        assert_point_proved(point, index, costs_of(index, point.lam))
        assert (point.result.trace["lam"] == point.lam).all()
        assert point.result.reason is TerminationReason.CONVERGED and point.result.alpha.dtype == np.float32
    assert {event.lam for event in events} == set(LAMS)


def test_every_event_of_both_sweeps_is_valid(words):
    index, _, events = words
    optima = {lam: solve_exactly(index, costs_of(index, lam)) for lam in LAMS}
    for event in events:
        assert event.best_objective >= optima[event.lam] * (1 - 1e-6)
        assert not event.lower_bound > optima[event.lam] * (1 + 1e-6)


def test_first_sweep_goes_up_and_second_comes_down(words):
    _, path, events = words
    lams = [event.lam for event in events]
    sweeps = [lam for i, lam in enumerate(lams) if i == 0 or lam != lams[i - 1]]
    assert sweeps[: len(LAMS)] == LAMS
    back = sweeps[len(LAMS) :]
    assert back and back == sorted(back, reverse=True) and LAMS[-1] not in back
    # only where the first sweep left the gap open
    gap = PATH_SETTINGS.tol
    ends = {event.lam: event.gap for event in events[: lams.index(LAMS[-1])]}
    assert set(back) == {lam for lam in LAMS[:-1] if ends[lam] > gap}
    assert all(path.nearest(lam).result.gap <= ends[lam] * (1 + 1e-9) for lam in back), "and never for the worse"


def test_brief_settings_first_give_every_lam_a_point_soon(words):
    index, events = words[0], []
    passes = [replace(PATH_SETTINGS, tol=0.05), replace(PATH_SETTINGS, tol=1e-6)]
    both = solve_path(index, LAMS, passes, listeners=[events.append])
    lams = [event.lam for event in events]
    first = lams.index(LAMS[-1])  # until the last λ is begun
    ends = {event.lam: event.gap for event in events[:first]}
    assert list(ends) == LAMS[:-1] and LAMS[0] in lams[first:], "all briefly, then thoroughly"
    for point in both:
        assert point.result.gap <= 0.05 and point.result.gap <= ends.get(point.lam, 1.0) + 1e-7  # float32
    assert any(both.nearest(lam).result.gap < ends[lam] for lam in LAMS[:-1])

    stop = {"asked": False}

    def listener(event):
        stop["asked"] |= event.lam == LAMS[1]
        return not stop["asked"]

    stopped = solve_path(index, LAMS, passes, listeners=[listener])
    assert [point.lam for point in stopped] == LAMS[:2], "a stop ends both passes"


def test_the_better_of_both_sweeps_is_kept():
    """With hardly any search on the way up, the way down finds something."""
    improved = 0
    for seed in range(4):
        index = index_of(random_words(seed, 30, 20, 12))
        events = []
        lazy = GuidedSettings(annealings=0, patience=0)
        path = solve_path(index, [0.5, 1.0, 2.0, 4.0], lazy, listeners=[events.append])
        for point in path:
            own = [event for event in events if event.lam == point.lam]
            assert point.result.objective == pytest.approx(min(event.best_objective for event in own))
            proved = max(event.lower_bound for event in own if event.lower_bound > 0)
            assert point.result.lower_bound == pytest.approx(proved, rel=1e-5)
            first = next(i for i, event in enumerate(own) if event.stage == FINISHED)
            improved += own[first].best_objective > point.result.objective + 1e-9
    assert improved >= 3


def test_lams_in_any_order_and_twice_are_one_path():
    index = index_of(SMALL["repeated phrases"])
    one, other = solve_path(index, [0.5, 2.0]), solve_path(index, (lam for lam in (2.0, 0.5, 2, 0.5)))
    for a, b in zip(one, other, strict=True):
        assert a.lam == b.lam
        np.testing.assert_array_equal(a.result.cover, b.result.cover)


def test_optima_rise_with_lam_and_pointers_fall(words):
    path = words[1]
    bounds = [point.result.lower_bound for point in path]
    assert bounds == sorted(bounds)
    pointers = [point.result.n_pointers for point in path]
    assert pointers[0] > pointers[-1] and pointers[0] == words[0].n_tokens


def test_shares_are_those_of_the_cover(words):
    for point in words[1]:
        counts = [sum(bits >> k & 1 for bits in point.result.cover.tolist()) for k in range(3)]
        assert point.pointers_by_length.tolist() == counts and sum(counts) == point.result.n_pointers
        assert point.shares.sum() == pytest.approx(1.0) and (point.shares >= 0).all()
        np.testing.assert_allclose(point.shares, np.array(counts) / sum(counts))
    assert words[1][0].shares.tolist() == [1.0, 0.0, 0.0], "free pointers: words alone"


def test_frame_has_a_row_a_lam(words):
    frame = words[1].frame()
    assert frame.columns.tolist() == [
        "lam", "objective", "lower_bound", "gap", "dictionary_size", "n_pointers", "share_1", "share_2", "share_3",
        "seconds", "reason",
    ]  # fmt: skip
    assert frame["lam"].tolist() == LAMS and (frame["seconds"] > 0).all() and set(frame["reason"]) == {"converged"}
    for row, point in zip(frame.itertuples(), words[1], strict=True):
        assert (row.objective, row.gap, row.share_2) == (point.result.objective, point.result.gap, point.shares[1])
        assert row.dictionary_size == len(point.result.dictionary)


@pytest.mark.parametrize(
    ("lam", "nearest"),
    [
        (0.0, 0.0),
        (1e-4, 0.0),
        (0.009, 0.0),
        (0.011, 0.0),
        (0.06, 0.1),
        (0.2, 0.1),
        (0.24, 0.5),
        (1.0, 1.0),
        (2.0, 3.0),
        (1e6, 30.0),
    ],
)
def test_nearest_is_by_ratio(words, lam, nearest):
    assert words[1].nearest(lam).lam == nearest


def test_a_point_without_pointers_has_no_shares():
    point = PathPoint(1.0, None, np.zeros(3, dtype=np.int64), 0.0)
    assert point.shares.tolist() == [0.0, 0.0, 0.0]


def test_slices_and_iteration(words):
    path = words[1]
    assert path[1:3] == tuple(path)[1:3] and path[-1].lam == LAMS[-1] and list(path) == [path[i] for i in range(6)]
    assert CompressionPath(reversed(list(path))).points == path.points


# stops


@pytest.mark.parametrize("events", [1, 40, 400, 900])
def test_stop_returns_the_points_that_are_there(events):
    index = index_of(SMALL["random words"])
    heard = []

    def stop(stats):
        heard.append(stats.lam)
        return len(heard) < events

    path = solve_path(index, [0.5, 1.0, 2.0, 4.0], listeners=[stop])
    assert 1 <= len(path) <= 4 and [point.lam for point in path] == sorted(set(heard))
    for point in path:
        assert_point_proved(point, index, costs_of(index, point.lam))
    # at each stop one event more, the last of the solve that was stopped
    assert len(heard) == events + 1 or len(path) == 4
    if events == 1:
        assert path[0].result.reason is TerminationReason.INTERRUPTED


def test_stop_on_the_way_down_keeps_what_was_found_on_the_way_up():
    index = index_of(SMALL["random words"])
    whole = solve_path(index, [0.5, 1.0, 2.0])
    seen = []

    def stop(stats):
        seen.append(stats.lam)
        return not (2.0 in seen and stats.lam < 2.0)

    path = solve_path(index, [0.5, 1.0, 2.0], listeners=[stop])
    assert len(path) == 3 and seen[-1] < 2.0
    for point, other in zip(path, whole, strict=True):
        assert_point_proved(point, index, costs_of(index, point.lam))
        assert point.result.objective <= other.result.objective * 1.03


def test_time_limit_is_for_each_lam(monkeypatch):
    ticks = iter(range(10**9))
    monkeypatch.setattr(progress_module, "time", SimpleNamespace(perf_counter=lambda: float(next(ticks))))
    index = index_of(SMALL["random words"])
    path = solve_path(index, [0.5, 1.0, 2.0], GuidedSettings(tol=0.0, time_limit=100.0))
    # the way down may still come to an end at the lower ones
    assert len(path) == 3 and path[-1].result.reason is TerminationReason.TIME_LIMIT
    for point in path:
        assert_point_proved(point, index, costs_of(index, point.lam))


# settings


def test_a_warm_solver_is_used_and_left_warm():
    index = index_of(SMALL["random words"])
    solver = GuidedSolver(index)
    path = solve_path(index, [0.5, 1.0], solver=solver)
    assert solver.warm is not None
    assert_point_proved(path[0], index, costs_of(index, 0.5))
    result = solver.solve(costs_of(index, 0.5))
    assert result.objective <= path[0].result.objective * 1.01


def test_costs_at_gives_the_costs():
    index = index_of(SMALL["repeated phrases"])
    dictionary = 2.0 * index.lengths()
    asked = []

    def costs_at(lam):
        asked.append(lam)
        return costs_of(index, lam, dictionary_cost=dictionary)

    for point in solve_path(index, [0.5, 2.0], costs_at=costs_at):
        assert_point_proved(point, index, costs_of(index, point.lam, dictionary_cost=dictionary))
    assert set(asked) == {0.5, 2.0}


def test_settings_are_kept():
    index = index_of(SMALL["repeated phrases"])
    path = solve_path(index, [0.5, 2.0], GuidedSettings(random_state=3, tol=0.02))
    assert all(point.result.settings["random_state"] == 3 for point in path)
    assert all(point.result.gap <= 0.02 for point in path)


def test_a_path_is_as_good_as_solves_one_by_one():
    index = index_of(SMALL["one long document"])
    settings = GuidedSettings()
    for point in solve_path(index, LAMS[1:], settings):
        alone = solve_guided(index, costs_of(index, point.lam), settings)
        assert point.result.objective <= alone.objective * 1.01
        value = binary_solution(point.result.cover, index.gram_of, costs_of(index, point.lam))[0]
        assert value == pytest.approx(point.result.objective)


@pytest.mark.parametrize(
    ("lams", "message"), [([], "at least one"), ([1.0, -0.1], "between 0"), (["1"], "number"), ([np.nan], "between 0")]
)
def test_invalid_lams_raise(lams, message):
    with pytest.raises(ValueError, match=message):
        solve_path(index_of(["a b"]), lams)


def test_lams_are_evenly_spaced_in_ratio():
    lams = path_lams(0.01, 3.0, 10)
    assert len(lams) == 10 and (lams[0], lams[-1]) == (0.01, 3.0) and lams == sorted(lams)
    ratios = np.diff(np.log(lams))
    np.testing.assert_allclose(ratios, ratios[0])
    assert path_lams(2.0, 2.0, 1) == [2.0] and path_lams(0.5, 2.0, 3) == [0.5, 1.0, 2.0]
    assert path_lams(1e-14, 1e-12, 3) == [1e-14, 1e-13, 1e-12]


@pytest.mark.parametrize("wrong", [(0.0, 1.0, 3), (2.0, 1.0, 3), (0.1, 1.0, 0), (-1.0, 1.0, 2), (np.nan, 1.0, 2)])
def test_paths_that_lead_nowhere_raise(wrong):
    with pytest.raises(ValueError, match="a path goes from"):
        path_lams(*wrong)
    with pytest.raises(ValueError, match="between 0"):
        path_lams(1.0, 1e7, 3)
