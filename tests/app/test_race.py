"""The race: each solver alone against the clock, told of live, and the page around it."""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest
from visiting import captions, in_address, numbers, press, show, sidebar, sound, until, use

from cflengine import CompressiveFeatures, IterationStats
from cflengine.compression.solvers.registry import SOLVERS
from cflengine.engine.registry import Registry
from cflengine.text.tokens import DEFAULT_TOKEN_PATTERN, Tokenizer
from pages.parts.lab import race
from pages.parts.lab.race import Lane, Race, Standing, in_seconds, race_table, reached, run_race, standings, verdict
from pages.parts.shared import jobs
from pages.parts.shared.jobs import BOARD, Job

TEXTS = ["the cat sat on the mat ; the cat sat .", "the dog sat on the mat .", "a cat , a dog and the mat !"] * 3
NAN = math.nan


@pytest.fixture(scope="module")
def table(warm):
    return Tokenizer(DEFAULT_TOKEN_PATTERN, True)(TEXTS)


def job_of_race(work=print) -> Job:
    return Job("r", ("c", "race"), work)


def run(job: Job, names, table, **more) -> Race:
    return run_race(job, names, table, **({"lam": 1.0, "max_gram": 3, "time_limit": 60.0} | more))


# ---- the race itself


def test_every_solver_does_what_it_does_alone(table):
    job, names = job_of_race(), ("guided", "homotopy", "reweighting")
    over = run(job, names, table).over
    assert [one.solver for one in over] == list(names) and job.so_far.over is over
    for s, one in enumerate(over):
        alone = (
            CompressiveFeatures(solver=one.solver, settings=SOLVERS[one.solver].settings()).fit_tokens(table).result_
        )
        assert (one.objective, one.gap, one.steps, one.dictionary_size, one.ended) == (
            alone.objective, alone.gap, alone.n_iterations, alone.dictionary_size, str(alone.reason),
        )  # fmt: skip
        rows = [row for row in job.rows if row["s"] == s]
        assert {row["who"] for row in rows} == {one.solver}
        assert [(row["i"], row["best"]) for row in rows] == list(
            zip(alone.trace["iteration"], alone.trace["best_objective"], strict=True)
        )
        times = [row["t"] for row in rows]
        assert times == sorted(times) and times[0] >= 0 and one.seconds == times[-1]
        assert one.reached == reached(rows)
    assert [row["s"] for row in job.rows] == sorted(row["s"] for row in job.rows), "one after the other"


def test_the_clock_begins_before_the_solver_makes_its_state(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(race, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    job = job_of_race()
    lane = Lane(job, 1, "x")
    now[0] = 103.0  # of which the solver's own clock has seen one second
    lane(IterationStats(0, "relaxation", 1.0))
    now[0] = 110.0  # listeners took three of these seconds
    lane(IterationStats(1, "relaxation", 5.0))
    assert [row["t"] for row in job.rows] == [3.0, 7.0] and job.rows is not lane.rows
    assert lane.poll() and lane(IterationStats(2, "relaxation", 6.0))
    job.stop.set()
    assert not lane.poll() and not lane(IterationStats(3, "relaxation", 7.0))


def test_a_stop_keeps_what_is_over_and_starts_nobody_else(table):
    job = job_of_race()

    class Stopping(list):
        def append(self, row):
            super().append(row)
            if row["who"] == "homotopy" and row["i"] == 3:
                job.stop.set()

    job.rows = Stopping()
    over = run(job, ("guided", "homotopy", "reweighting"), table).over
    assert [one.ended for one in over] == ["converged", "interrupted"] and over[1].steps <= 4
    assert over[1].objective > 0 and job.rows[-1]["who"] == "homotopy"
    job = job_of_race()
    job.stop.set()
    assert run(job, ("guided",), table).over == [] and not job.rows


def test_a_time_limit_is_for_each(table, monkeypatch):
    given = []

    def spied(solver):
        return replace(solver, solve=lambda *a, **b: given.append(a[2]) or solver.solve(*a, **b))

    monkeypatch.setattr(race, "SOLVERS", Registry(*(spied(solver) for solver in SOLVERS.values())))
    run(job_of_race(), ("guided", "homotopy"), table, time_limit=7.0)
    assert given == [SOLVERS[n].settings(time_limit=7.0) for n in ("guided", "homotopy")]


def test_a_solver_that_refuses_the_corpus_says_why_and_the_others_run(table, monkeypatch):
    def refuse(*_, **__):
        raise ValueError("the exact solver is for small corpora.")

    refusing = [replace(s, solve=refuse) if s.name == "exact" else s for s in SOLVERS.values()]
    monkeypatch.setattr(race, "SOLVERS", Registry(*refusing))
    over = run(job_of_race(), ("exact", "guided"), table).over
    assert over[0].ended == "the exact solver is for small corpora." and over[1].ended == "converged"
    frame = race_table(over)
    assert frame["cost"].tolist()[0] == frame["s to 2 %"].tolist()[0] == frame["steps"].tolist()[0] == "–"


# ---- its table


def rows_of(*points: tuple[float, float], s: int = 0) -> list[dict]:
    return [{"t": t, "i": i, "s": s, "best": 100.0 + i, "gap": gap} for i, (t, gap) in enumerate(points)]


def test_seconds_to_a_gap_are_those_of_the_first_row_that_has_it():
    rows = rows_of((0.1, NAN), (0.5, 0.02), (1.0, 0.015), (2.0, 0.005), (3.0, 0.005))
    assert reached(rows)[:3] == (0.5, 2.0, 2.0) and math.isnan(reached(rows)[3])
    assert all(map(math.isnan, reached([])))


def test_standings_of_those_over_running_and_to_come():
    over = Standing("a", (1.0, 2.0, 3.0, NAN), 4.0, 10, 100.0, 0.005, 7, "converged")
    found = standings(Race(("a", "b", "c"), [over]), rows_of((0.2, NAN), (0.4, 0.5), s=1))
    assert found[0] is over
    assert (found[1].solver, found[1].seconds, found[1].steps, found[1].objective, found[1].ended) == (
        "b", 0.4, 1, 101.0, "",
    )  # fmt: skip
    frame = race_table(found)
    assert frame["ended"].tolist() == ["converged", "running …", "to come"]
    assert frame["s to 0.1 %"].tolist() == ["–"] * 3 and frame["s to 2 %"].tolist() == ["1.0", "–", "–"]
    assert frame["K-grams"].tolist() == ["7", "–", "–"] and frame["proved gap"].tolist() == ["0.50 %", "50.00 %", "–"]
    assert frame["cost"].tolist() == ["100", "101", "–"]
    assert race_table([replace(over, objective=2.5)])["cost"].tolist() == ["2.5"]


def test_the_verdict_is_on_the_smallest_gap_that_two_have_reached():
    def one(name, *times):
        return Standing(name, times, 9.0, 1, 1.0, 0.1)

    fast, slow, never = one("f", 0.5, 1.0, 2.0, 4.0), one("s", 5.0, 20.0, NAN, NAN), one("n", NAN, NAN, NAN, NAN)
    assert verdict([slow, fast, never]) == (
        "A gap of 1 % was proved by f after 1.0 s, s after 20.0 s (20 × as long), n not at all."
    )
    assert verdict([never, fast]) == "A gap of 0.1 % was proved by f after 4.0 s, n not at all."
    assert verdict([never]) == "" == verdict([])
    assert [in_seconds(t) for t in (0.0349, 0.4, 0.996, 12.34)] == ["0.035 s", "0.4 s", "1.0 s", "12.3 s"]


# ---- the page


def race_job(app) -> Job:
    return BOARD.get(app.session_state["race_id"])


def raced(app):
    sound(app.button(key="run").click().run())
    until(lambda: not race_job(app).active, 60)
    return sound(app.run())


def test_a_race_from_start_to_table(open_app):
    app = show(use(open_app()), "race")
    assert "Press **Start** to race on tiny" in app.info[0].value.replace("\\", "")
    raced(app)
    job = race_job(app)
    assert job.state == jobs.DONE and not app.info and in_address(app, "race") == job.id
    frame = app.dataframe[0].value
    assert frame["solver"].tolist() == ["guided", "homotopy", "reweighting"]
    assert set(frame["ended"]) == {"converged"} and "A gap of" in "\n".join(m.value for m in app.markdown)
    assert "job" not in app.query_params and not numbers(show(app, "pointers")), "a race is no solve"
    assert "λ = 1, K = 3" in captions(show(app, "race")) and "changed" not in captions(app)
    sound(app.select_slider(key="widget_lam").set_value(5.0).run())
    assert "settings have changed since this race" in captions(app) and "λ = 1, K = 3" in captions(app)


def test_solvers_and_limit_last_and_start_in_their_order(open_app):
    app = show(use(open_app()), "race")
    app.pills(key="widget_solvers").set_value(["reweighting", "guided"])
    sound(app.number_input(key="widget_race_limit").set_value(30.0).run())
    show(app, "corpus")
    app = raced(show(app, "race"))
    assert race_job(app).key[-2:] == (("guided", "reweighting"), 30.0)
    assert app.dataframe[0].value["solver"].tolist() == ["guided", "reweighting"]
    sound(app.pills(key="widget_solvers").set_value([]).run())
    assert app.button(key="run").disabled


def test_a_race_is_stopped_from_its_page_and_from_the_sidebar(open_app):
    for key in ("stop", "stop_sidebar_race"):
        app = open_app("race", k="8")
        sound(app.pills(key="widget_solvers").set_value(["homotopy", "reweighting"]).run())
        sound(app.button(key="run").click().run())
        job = race_job(app)
        until(lambda job=job: len(job.rows) > 3)
        sound(app.run())
        assert app.button(key="run").disabled and "homotopy: relaxation" in sidebar(app)
        assert app.dataframe[0].value["ended"].tolist() == ["running …", "to come"]
        sound(app.button(key=key).click().run())
        until(lambda job=job: not job.active)
        sound(app.run())
        assert [one.ended for one in job.result.over] == ["interrupted"]
        assert app.dataframe[0].value["ended"].tolist() == ["interrupted", "not begun"], "none is to come any more"
        assert "Race" not in sidebar(app)


def test_a_race_waits_for_a_solve_and_another_corpus_ends_it(open_app, board):
    go_on = threading.Event()
    board.submit(Job("long", ("x",), lambda job: go_on.wait(30)))
    app = show(use(open_app()), "race")
    sound(app.button(key="run").click().run())
    assert "Queued: 1 solve before yours." in sidebar(app) and "Queued: 1 solve" in captions(app)
    job = race_job(app)
    use(show(app, "corpus"), "other.csv", b"text\nsome other words\nand more words\n")
    assert not job.stop.is_set()
    press(app, "Stop it and go on")
    assert job.stop.is_set() and "race" not in app.query_params
    go_on.set()
    until(lambda: not job.active)
    assert show(app, "race").info


def test_an_address_brings_a_race_to_another_session(open_app):
    app = raced(show(use(open_app()), "race"))
    again = open_app("race", corpus=in_address(app, "corpus"), race=in_address(app, "race"))
    assert race_job(again) is race_job(app)
    assert again.dataframe[0].value.equals(app.dataframe[0].value)


def test_a_race_that_fails_says_so(open_app, monkeypatch):
    def fail(model, table):
        raise MemoryError("This needs about 9.0 GB of memory.")

    monkeypatch.setattr(CompressiveFeatures, "prepare", fail)
    app = raced(show(use(open_app()), "race"))
    assert "9.0 GB" in app.main.get("error")[0].value.replace("\\", "")


def test_what_comes_before_the_first_solver_is_said_and_may_be_stopped(open_app, monkeypatch):
    go_on, prepare = threading.Event(), CompressiveFeatures.prepare

    def wait(model, table):
        go_on.wait(30)
        return prepare(model, table)

    monkeypatch.setattr(CompressiveFeatures, "prepare", wait)
    app = show(use(open_app()), "race")
    sound(app.button(key="run").click().run())
    until(lambda: race_job(app).so_far is not None and "phrase" in race_job(app).so_far.stage)
    assert not sound(app.run()).dataframe
    assert any("Looking for every phrase" in one.proto.text for one in app.get("progress"))
    sound(app.button(key="stop").click().run())
    go_on.set()
    until(lambda: not race_job(app).active)
    assert "before the first solver" in sound(app.run()).info[0].value and not app.dataframe
