"""The λ-path page: what is proved between the points, what a slider that is let go starts, and the page around it."""

from __future__ import annotations

import json
import math
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from test_results import downloads  # noqa: F401
from visiting import captions, in_address, path_job, pathed, show, sidebar, sound, until, use

from cflengine import CompressiveFeatures, GuidedSettings
from cflengine.compression.model.certificate import binary_solution, certify, dual_bound
from cflengine.compression.solvers.lambda_path import CompressionPath, path_lams
from cflengine.text.tokens import DEFAULT_TOKEN_PATTERN, Tokenizer
from naive.programs import solve_relaxation
from pages.parts.components import path_bars, path_chart
from pages.parts.shared import jobs, path_run
from pages.parts.shared.jobs import BOARD, Job
from pages.parts.shared.path_run import PathRun
from pages.parts.shared.words import gap_text

ROOT = Path(__file__).resolve().parents[2]
LAMS = (0.05, 0.3, 2.0)
SETTINGS = GuidedSettings(tol=1e-4)


def going(stats) -> bool:
    return True


def twelve_texts() -> list[str]:
    rng = np.random.default_rng(2)
    words = [f"w{k}" for k in range(25)]
    probability = 1 / np.arange(1, 26)
    return [" ".join(rng.choice(words, 60, p=probability / probability.sum())) for _ in range(12)]


TEXTS = twelve_texts()


@pytest.fixture(scope="module")
def table(warm):
    return Tokenizer(DEFAULT_TOKEN_PATTERN, True)(TEXTS)


def solved_run(table, lams=LAMS, settings=SETTINGS) -> PathRun:
    run = PathRun(lams, 3, settings, TEXTS)
    run.solve(table, going)
    return run


@pytest.fixture(scope="module")
def solved(table) -> PathRun:
    """A path that is not refined."""
    return solved_run(table)


# ---- between the points


@pytest.mark.parametrize("lam", [0.01, 0.05, 0.06, 0.15, 0.2999, 0.3, 0.7, 1.7, 2.0, 2.5])
def test_what_is_said_of_any_lam_holds(solved, lam):
    index, costs = solved.corpus.index, solved.corpus.costs(lam)
    here = solved.at(lam)
    value, covered, n_pointers, used = binary_solution(here.point.result.cover, index.gram_of, costs)
    assert covered and here.objective == pytest.approx(value, rel=1e-12)
    assert (n_pointers, used.sum()) == (here.point.result.n_pointers, here.point.result.dictionary_size)
    costs_there = [binary_solution(p.result.cover, index.gram_of, costs)[0] for p in solved.points]
    assert here.objective == pytest.approx(min(costs_there), rel=1e-12)
    # the mixed prices prove the bound by themselves (they are kept in float32), and no bound is above the relaxation
    proved, shrink = dual_bound(solved._prices(lam), index.gram_of, costs)
    assert proved == pytest.approx(here.lower_bound, rel=1e-5) and shrink > 1 - 1e-5
    assert here.lower_bound <= solve_relaxation(index, costs).value * (1 + 1e-9)
    assert here.gap == pytest.approx(here.objective / here.lower_bound - 1) and here.gap >= 0
    assert here.solved == (here.point.lam == lam)


def test_the_points_themselves_are_as_certified(solved):
    for point in solved.points:
        here = solved.at(point.lam)
        assert (here.lower_bound, here.solved) == (point.result.lower_bound, True)
        assert here.objective <= point.result.objective


def test_the_slider_has_the_path_and_round_values_between(solved):
    choices = solved.choices
    assert choices == sorted(set(choices)) and set(LAMS) <= set(choices)
    assert len(choices) == 3 + 2 * path_run.BETWEEN
    assert all(value == float(f"{value:.3g}") for value in choices)
    ratios = np.diff(np.log(choices[:11]))
    assert np.allclose(ratios, ratios[0], rtol=0.05)
    uneven = PathRun([0.1, 0.2, 1.0, 8.0], 3, SETTINGS, TEXTS)
    uneven.points = [SimpleNamespace(lam=lam) for lam in uneven.lams]
    ratios = np.diff(np.log(uneven.choices))
    assert len(ratios) == 30 and ratios.max() < 1.25 * ratios.min(), "as the chart's axis, which is logarithmic"
    uneven.points = uneven.points[1::2]  # two that are solved, one between them that is not
    assert uneven.choices[0] == 0.2 and uneven.choices[-1] == 8.0 and np.diff(np.log(uneven.choices)).max() < 0.2
    near = PathRun([1.0, 1.001], 3, SETTINGS, TEXTS)
    assert near.choices == [] and not near.points
    with pytest.raises(ValueError, match="no λ is solved yet"):
        near.at(1.0)


def test_points_appear_as_they_are_certified_and_a_stop_keeps_them(table):
    run, seen = PathRun(LAMS, 3, SETTINGS, TEXTS), []

    def listener(stats) -> bool:
        seen.append([point.lam for point in run.points])
        return stats.lam < 2.0

    run.solve(table, listener)
    assert [] in seen and [0.05] in seen and [0.05, 0.3] in seen
    assert [point.lam for point in run.points] == list(LAMS), "the last as far as it came"
    assert str(run.points[-1].result.reason) == "interrupted"
    assert 2.0 in run.choices


def test_in_larger_corpora_every_lam_is_solved_briefly_before_any_is_thoroughly(table, monkeypatch):
    monkeypatch.setattr(path_run, "BRIEF_TOKENS", 0)
    monkeypatch.setattr(path_run, "BRIEF_GAP", 0.5)
    run, seen = PathRun(LAMS, 3, SETTINGS, TEXTS), []

    def listener(stats) -> bool:
        seen.append([point.result.gap for point in run.points])
        return True

    run.solve(table, listener, first=0.3)
    whole = next(gaps for gaps in seen if len(gaps) == len(LAMS))
    assert max(whole) > 0.001, "briefly"
    assert all(point.result.gap <= gap for point, gap in zip(run.points, whole, strict=True))
    assert max(point.result.gap for point in run.points) < max(whole)


def test_what_a_stopped_path_has_is_the_beginning_of_the_next(table, monkeypatch):
    stopped = PathRun(LAMS, 3, SETTINGS, TEXTS)
    stopped.solve(table, lambda stats: stats.lam < 0.3)
    known = stopped.points
    assert [point.lam for point in known] == [0.05, 0.3]
    run = PathRun(LAMS, 3, SETTINGS, TEXTS)
    run.points, run.corpus = known, stopped.corpus
    monkeypatch.setattr(PathRun, "_begin", lambda *_: pytest.fail("no λ is solved before the others"))
    run.solve(table, going, first=2.0)  # where the slider has gone to meanwhile
    assert [point.lam for point in run.points] == list(LAMS)
    for before, now in zip(known, run.points, strict=False):
        assert now.result.gap <= before.result.gap and now.seconds >= before.seconds, "nothing that was known is lost"


@pytest.mark.parametrize("quick", [20.0, 0.0], ids=["homotopy", "guided"])
def test_what_the_first_solve_has_so_far_opens_every_page(table, monkeypatch, quick):
    monkeypatch.setattr(path_run, "EARLY_S", 0.0)
    monkeypatch.setattr(path_run, "LOOK_S", 0.0)
    monkeypatch.setattr(path_run, "QUICK_S", quick)
    run, early, gaps = PathRun(LAMS, 3, SETTINGS, TEXTS), [], [np.inf]

    def listener(stats) -> bool:
        if run.early and run.points not in early:
            early.append(run.points)  # since the last event, when so much was proved
            assert run.points[0].result.gap <= gaps[-1] * 1.0001 + 1e-6
        gaps.append(stats.gap)
        return True

    run.solve(table, listener, first=0.3)
    assert early and not run.early and run.by_homotopy == (quick > 0) and len(run.points) == len(LAMS)
    for (point,) in early:
        result = point.result
        proved = certify(result.cover, result.alpha, run.corpus.index.gram_of, run.corpus.costs(0.3))
        assert point.lam == 0.3 and proved.covered and proved.objective == result.objective
        assert proved.lower_bound == pytest.approx(result.lower_bound, rel=1e-6) and 0 <= result.gap < np.inf
    noted = [point.result.gap for (point,) in early]
    assert noted == sorted(noted, reverse=True) and run.at(0.3).gap <= noted[-1]
    monkeypatch.setattr(path_run, "fits", lambda needed: needed <= 0)
    alone = PathRun(LAMS, 3, SETTINGS, TEXTS)
    alone.solve(table, lambda stats: not alone.early, first=0.3)
    assert len(alone.points) == len(LAMS), "where memory is short nothing is proved in between"
    for point, other in zip(run.points, alone.points, strict=True):  # looking at it changes nothing
        np.testing.assert_array_equal(point.result.cover, other.result.cover)
        assert point.result.lower_bound == other.result.lower_bound


def test_the_k_grams_of_a_point_are_those_of_its_model(solved):
    for point in solved.points:
        frame = solved.model(point.lam).dictionary_
        top = solved.top(point, 1, 10_000)
        assert [x["count"] for x in top] == sorted(frame["count"], reverse=True)
        counted = frame.set_index("gram")
        for x in top:
            assert counted.loc[x["label"], "count"] == x["count"] == solved.count(point, x["gram"])
            assert counted.loc[x["label"], "length"] == x["length"]
        assert [x for x in top if x["length"] >= 2][:3] == solved.top(point, 2, 3)
    gram = solved.top(solved.points[-1], 3, 1)[0]["gram"]
    assert len(solved.label(gram).split()) == 3, "one number, one K-gram, all along the path"
    assert solved.count(solved.points[0], gram) <= solved.count(solved.points[-1], gram)


# ---- solving where the slider is


def test_a_solve_betters_what_was_known_in_two_efforts(table):
    run = solved_run(table)
    lam, before = 0.7, run.at(0.7)
    assert run.effort(lam) == 1 and not before.solved
    run.refine(lam, going)
    brief = run.at(lam)
    assert brief.solved and brief.objective <= before.objective and brief.lower_bound >= before.lower_bound * (1 - 1e-6)
    if run.effort(lam) == 2:
        run.refine(lam, going)
    after = run.at(lam)
    assert run.effort(lam) == 0 and after.gap <= brief.gap
    settings = replace(SETTINGS, branching=False)  # trees are for a single solve
    cold = CompressiveFeatures(lam=lam, settings=settings).fit_tokens(table).result_
    assert after.gap <= max(1e-4, 1.5 * cold.gap)
    assert run.at(0.69).gap < before.gap, "its neighbours gain, too"
    assert lam in [point.lam for point in run.points] and lam not in run.choices and run.model(lam).lam == lam
    points = run.points
    run.refine(lam, going)
    assert run.points is points, "nothing is left to do"


def test_nothing_is_solved_where_nothing_can_be_gained(table):
    run = solved_run(table, settings=GuidedSettings(tol=0.5))
    assert run.at(0.7).gap < 0.5 and [run.effort(lam) for lam in (0.05, 0.7, 2.0)] == [0, 0, 0]
    assert PathRun(LAMS, 3, SETTINGS, TEXTS).effort(0.7) == 0


def test_a_solve_that_is_stopped_leaves_nothing(table):
    run = solved_run(table)
    points = run.points
    run.refine(0.7, lambda stats: False)
    assert run.points is points and run.effort(0.7) == 1


def test_the_oldest_of_many_solutions_is_forgotten(table, monkeypatch):
    monkeypatch.setattr(path_run, "KEEP_ASKED", 2)
    run = solved_run(table)
    for lam in (0.1, 0.7, 1.2):
        run.refine(lam, going)
    assert [point.lam for point in run.points] == [0.05, 0.3, 0.7, 1.2, 2.0]
    assert run.effort(0.1) == 1 and set(LAMS) <= {point.lam for point in run.points}


# ---- what goes to the browser


def test_the_chart_is_told_in_plain_numbers(solved, monkeypatch):
    sent = {}
    monkeypatch.setattr(path_chart, "_component", lambda **given: sent.update(given))
    path_chart.path_chart(
        solved.points,
        span=(0.05, 2.0),
        key="k",
        asked=[0.3],
        choices=solved.choices,
        lam=0.3,
        gram=("<b>a</b>", [1, 2, 3]),
    )
    data = json.loads(json.dumps(sent["data"], allow_nan=False))
    assert [point["asked"] for point in data["points"]] == [False, True, False]
    assert [sum(point["shares"]) for point in data["points"]] == pytest.approx([1.0] * 3)
    assert data["gram"] == {"label": "<b>a</b>", "counts": [1, 2, 3]} and data["stream"] is None
    with pytest.raises(ValueError, match="not a path on this site"):
        path_chart.path_chart([], span=(1, 2), key="k", stream_url="//example.org")


def test_bars_are_told_in_plain_values(monkeypatch):
    sent = {}
    monkeypatch.setattr(path_bars, "_component", lambda **given: sent.update(given))
    item = {"gram": np.int32(3), "label": "<i>x</i>", "length": np.int8(2), "count": np.int64(5)}
    path_bars.path_bars([item], key="k", selected=3)
    assert json.loads(json.dumps(sent["data"])) == {"rows": [[3, "<i>x</i>", 2, 5]], "selected": 3}


# ---- the page


def move(app, lam: float, *, held: bool):
    app.session_state["path_here"] = {"lam": lam, "held": held, "n": 1}
    return sound(app.run())


@pytest.fixture
def page(open_app):
    return pathed(use(open_app()))


def proved(result) -> str:
    """What the line of numbers says of a solution."""
    return "**none is cheaper**, proved" if result.optimal else f"gap **{gap_text(result.gap)}** proved"


def test_a_path_from_start_to_slider(page):
    job = path_job(page)
    assert job.state == jobs.DONE and in_address(page, "path") == job.id and not page.info
    assert job.so_far.lams == tuple(path_lams(0.05, 2.0, 3)) and "Solved and certified on the path" in captions(page)
    assert "changed" not in captions(page) and "Words to phrases" not in sidebar(page)
    numbers = "\n".join(text.value for text in page.markdown)
    here = job.so_far.at(job.so_far.points.nearest(1.0).lam)
    assert proved(here.point.result) in numbers and f"**{here.point.result.n_pointers}** uses" in numbers


def test_while_the_slider_is_held_the_best_known_solution_is_shown(page):
    run = path_job(page).so_far
    lam = run.choices[4]
    move(page, lam, held=True)
    assert "priced and certified at this λ" in captions(page)
    assert f"gap **{gap_text(run.at(lam).gap)}** proved" in "\n".join(text.value for text in page.markdown)
    assert len(run.points) == 3 and page.session_state["path_refine"] is None


def test_the_slider_moves_while_the_path_is_still_solved(page, monkeypatch):
    job = path_job(page)
    run, every = job.so_far, job.so_far.points
    monkeypatch.setattr(run, "points", CompressionPath(every[:2]))
    monkeypatch.setattr(job, "state", jobs.RUNNING)
    lam = run.choices[4]
    move(page, lam, held=False)
    numbers = "\n".join(text.value for text in page.markdown)
    assert f"gap **{gap_text(run.at(lam).gap)}** proved" in numbers
    assert "A λ that is still to be solved may give a better one." in captions(page)
    assert page.session_state["path_refine"] is None, "one session solves for both"
    move(page, run.points[0].lam, held=False)
    assert "Solved and certified on the path." in captions(page)
    monkeypatch.setattr(run, "points", CompressionPath(every[:1]))
    sound(page.run())
    assert " uses, of" not in "\n".join(text.value for text in page.markdown), "no slider with one point"
    monkeypatch.undo()


def test_the_slider_and_the_lam_of_all_pages_are_one(page):
    run = path_job(page).so_far
    move(page, run.choices[0], held=True)
    assert page.session_state["settings"].lam == 1.0, "while it is held, nothing else moves"
    move(page, run.lams[0], held=False)
    assert page.session_state["settings"].lam == run.lams[0]
    (bar,) = [box for box in page.selectbox if str(box.key).startswith("widget_bar_")]
    assert bar.value == run.lams[0]
    sound(bar.set_value(run.lams[2]).run())
    assert page.session_state["settings"].lam == run.lams[2] and page.session_state["path_here"] is None
    numbers = "\n".join(text.value for text in page.markdown)
    assert f"**{run.points[2].result.n_pointers}** uses" in numbers


def test_a_slider_that_is_let_go_is_solved_for(page, monkeypatch):
    run = path_job(page).so_far
    monkeypatch.setattr(PathRun, "effort", lambda run, lam: 0 if any(p.lam == lam for p in run.points) else 1)
    lam = run.choices[4]
    move(page, lam, held=False)
    job = BOARD.get(page.session_state["path_refine"])
    assert job.key[-1] == lam and job.passing
    until(lambda: not job.active)
    assert job.state == jobs.DONE
    sound(page.run())
    assert "Solved and certified at this λ." in captions(page) and len(run.points) == 4
    assert path_job(page) is not job and in_address(page, "path") != job.id
    move(page, run.lams[0], held=False)
    assert "Solved and certified on the path." in captions(page)


def test_the_solve_of_a_lam_that_was_left_is_stopped(page, board, monkeypatch):
    run = path_job(page).so_far
    monkeypatch.setattr(PathRun, "effort", lambda run, lam: 1)
    go_on = threading.Event()
    board.submit(Job("long", ("x",), lambda job: go_on.wait(30)))
    move(page, run.choices[4], held=False)
    first = BOARD.get(page.session_state["path_refine"])
    assert first.active and "A better one is being sought" in captions(page)
    move(page, run.choices[5], held=True)
    assert not first.stop.is_set(), "as long as it is held that is not known"
    move(page, run.choices[5], held=False)
    second = BOARD.get(page.session_state["path_refine"])
    assert first.stop.is_set() and second is not first and not second.stop.is_set()
    go_on.set()
    until(lambda: not first.active and not second.active)
    assert len(run.points) == 4


def test_a_solve_that_fails_under_the_slider_is_said_once(page, monkeypatch):
    run = path_job(page).so_far
    tried = []

    def fail(run, lam, listener):
        tried.append(lam)
        raise MemoryError("This needs about 9.0 GB of memory.")

    monkeypatch.setattr(PathRun, "effort", lambda run, lam: 1)
    monkeypatch.setattr(PathRun, "refine", fail)
    for _ in range(3):
        move(page, run.choices[4], held=False)
        until(lambda: not BOARD.get(page.session_state["path_refine"]).active)
        sound(page.run())
    assert "9.0 GB" in page.main.get("error")[0].value.replace("\\", "") and len(tried) == 1
    move(page, run.choices[5], held=True)
    assert not page.error


def test_features_and_the_table_can_be_taken_away(page, downloads):  # noqa: F811
    run = path_job(page).so_far
    sound(page.toggle(key="path_features").set_value(True).run())
    lines = downloads["Table as CSV"]().decode().splitlines()
    assert len(lines) == 4 and lines[0].replace('"', "").startswith("lam,objective,lower_bound,gap")
    model = run.model(run.points.nearest(1.0).lam)
    names = downloads["Feature names"]().decode().splitlines()
    assert names == list(model.get_feature_names_out()) and f"× {len(names)} K-grams" in captions(page)
    move(page, run.choices[4], held=True)
    assert "let go of the slider" in captions(page)


def test_a_k_gram_stays_chosen_along_the_path(page):
    run = path_job(page).so_far
    gram = run.top(run.points[-1], 2, 1)[0]["gram"]
    page.session_state["phrase_query"] = run.label(gram).upper()  # chosen on another page
    for lam in run.lams:
        move(page, lam, held=True)
        assert page.session_state["path_gram"] == gram
    use(show(page, "corpus"), "other.csv", b"text\nsome other words\nsome other words\n")
    assert "path" not in page.query_params and show(page, "path").info
    pathed(page)
    assert page.session_state["path_gram"] is None, "another corpus, other numbers"


@pytest.mark.parametrize(("first", "last"), [(2.0, 0.05), (1.0, 1.0)])
def test_a_path_must_go_upwards(open_app, first, last):
    app = open_app("path")
    app.number_input(key="widget_first").set_value(first)
    sound(app.number_input(key="widget_last").set_value(last).run())
    assert app.button(key="run").disabled and "must be above the first" in captions(app)


def test_settings_of_the_path_last_and_are_said_to_be_new(page):
    sound(page.number_input(key="widget_count").set_value(4).run())
    assert "settings have changed since this path" in captions(page)
    show(page, "corpus")
    assert show(page, "path").number_input(key="widget_count").value == 4


def test_a_path_is_watched_and_stopped(open_app):
    some = pd.read_csv(ROOT / "sample_data" / "reviews.csv", nrows=300).to_csv(index=False)
    app = show(use(open_app(), "some.csv", some.encode()), "path")
    sound(app.button(key="run").click().run())
    job = path_job(app)
    until(lambda: job.so_far.points, 60)
    sound(app.run())
    assert "Words to phrases" in sidebar(app) and app.button(key="run").disabled
    sound(app.button(key="stop_sidebar_path").click().run())
    until(lambda: not job.active, 60)
    sound(app.run())
    assert job.state == jobs.DONE and 1 <= len(job.so_far.points) < 10 and not app.error
    assert "certified" in captions(app)
    again = open_app("path", path=in_address(app, "path"), corpus=in_address(app, "corpus"))
    assert path_job(again) is job and "certified" in captions(again)


def test_a_path_that_was_stopped_is_gone_on_with(open_app, monkeypatch):
    some = pd.read_csv(ROOT / "sample_data" / "reviews.csv", nrows=300).to_csv(index=False)
    app = show(use(open_app(), "some.csv", some.encode()), "path")
    sound(app.button(key="run").click().run())
    job = path_job(app)
    until(lambda: job.so_far.points and not job.so_far.early, 60)
    job.stop.set()
    until(lambda: not job.active, 60)
    known = job.so_far.points
    sound(show(app, "corpus").run())
    assert f"Stopped: {len(known)} of {len(job.so_far.lams)} λ are certified." in captions(app)
    sound(app.button(key="go_on_first").click().run())
    again = path_job(app)
    assert again is not job and again.so_far.first == job.so_far.first
    until(lambda: not again.active, 120)
    done = {point.lam: point.result for point in again.so_far.points}
    assert list(done) == list(job.so_far.lams)
    assert all(done[point.lam].gap <= point.result.gap for point in known), "nothing that was known is lost"
    assert "Stopped:" not in captions(sound(app.run()))


def test_a_path_stopped_before_its_first_point(open_app, board):
    go_on = threading.Event()
    board.submit(Job("long", ("x",), lambda job: go_on.wait(30)))
    app = show(use(open_app()), "path")
    sound(app.button(key="run").click().run())
    assert "Queued: 1 solve before yours." in captions(app)
    sound(app.button(key="stop").click().run())
    go_on.set()
    until(lambda: not path_job(app).active)
    assert "Stopped before it began" in sound(app.run()).main.get("error")[0].value
    assert math.isfinite(pathed(app).session_state["path_wanted"][0]) and not app.error


@pytest.mark.parametrize(("data", "gram"), [(b"word", 8), (b"a a a a a a", 1), (b"one\ntwo\none", 3)])
def test_tiny_corpora_have_a_path(open_app, data, gram):
    app = open_app("path", k=str(gram))
    app = pathed(use(show(app, "corpus"), "x.txt", data))
    assert path_job(app).state == jobs.DONE, path_job(app).error
    run = path_job(app).so_far
    for lam in run.choices[::7]:
        move(app, lam, held=False)
        until(lambda: not any(job.active for job in BOARD._jobs.values()))
        sound(app.run())
