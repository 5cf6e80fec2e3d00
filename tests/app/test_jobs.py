"""The job board: one worker, a queue, orphans, what is forgotten, and the trace that is pushed to the browser."""

from __future__ import annotations

import asyncio
import functools
import gc
import json
import math
import threading
import time
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from starlette.requests import Request
from streamlit.testing.v1 import AppTest
from visiting import until

from cflengine import IterationStats
from pages.parts.shared import jobs, state
from pages.parts.shared.jobs import DONE, FAILED, QUEUED, RUNNING, Job, JobBoard


def work_until_stopped(job: Job) -> str:
    while job.poll():
        time.sleep(0.002)
    return "stopped"


def stats(**values) -> IterationStats:
    extra = {name: values.pop(name) for name in ("zeta", "relaxation", "rho", "round") if name in values}
    step, stage = values.pop("iteration", 1), values.pop("stage", "s")
    return IterationStats(iteration=step, stage=stage, elapsed_s=0.5, extra=extra | values.pop("extra", {}), **values)


@pytest.fixture
def own_board(monkeypatch):
    monkeypatch.setattr(jobs, "KEEP_BYTES", 1 << 20)
    board = JobBoard()
    yield board
    for job in board._jobs.values():
        job.stop.set()
    board._pool.shutdown()


def test_a_job_runs_reports_and_ends(own_board):
    job = Job("a", ("key",), lambda job: job(stats(best_objective=3.0, relaxation=2.0, zeta=0.0)) and "done")
    own_board.submit(job).result(timeout=10)
    assert (job.state, job.result, job.active) == (DONE, "done", False)
    assert [(row["best"], row["i"]) for row in job.rows] == [(3.0, 1)]
    assert own_board.get(job.id) is job and own_board.get(None) is None and own_board.get("no") is None


def test_an_end_is_waited_for_a_moment_and_only_where_something_runs(own_board, monkeypatch):
    monkeypatch.setattr("pages.parts.shared.jobs.STOPPING_S", 30.0)
    job, behind = Job("a", (), work_until_stopped), Job("b", (), work_until_stopped)
    own_board.submit(job)
    own_board.submit(behind)
    until(lambda: job.state == RUNNING)
    began = time.monotonic()
    behind.end()  # it has not begun, and will not
    assert time.monotonic() - began < 5 and behind.stop.is_set() and job.active
    job.end()
    assert (job.state, job.result) == (DONE, "stopped") and time.monotonic() - began < 20
    assert behind.ended.wait(10) and behind.state == FAILED


def test_an_end_that_takes_long_is_not_waited_for(own_board, monkeypatch):
    monkeypatch.setattr("pages.parts.shared.jobs.STOPPING_S", 0.05)
    go_on = threading.Event()
    job = Job("a", (), lambda job: go_on.wait(10))
    own_board.submit(job)
    until(lambda: job.state == RUNNING)
    job.end()
    assert job.active and job.stop.is_set()
    go_on.set()
    assert job.ended.wait(10) and job.state == DONE


def test_ids_can_be_part_of_a_components_key():
    # Streamlit keeps "__" for itself, and refuses a key that holds it
    ids = {Job("a", (), print).id for _ in range(2000)}
    assert len(ids) == 2000
    assert not [id for id in ids if "__" in f"chart_{id}" or not id.replace("-", "").replace("_", "").isalnum()]


def test_the_relaxation_is_only_shown_while_it_is_solved():
    job = Job("a", (), print)
    for iteration, stage in ((0, "relaxation"), (5, "relaxation"), (9, "homotopy")):
        job(stats(iteration=iteration, relaxation=7.0, stage=stage, zeta=0.1))
    assert [row["relaxed"] == 7.0 for row in job.rows] == [False, True, False]


@pytest.mark.parametrize(
    ("event", "words", "phase"),
    [
        ({"stage": "relaxation", "zeta": 0.0}, "relaxation", 0.0),
        ({"stage": "homotopy", "zeta": 0.3}, "ζ = 0.3", 1.0),
        ({"stage": "annealing"}, "annealing", 1.0),
        ({"stage": "local search"}, "local search", 1.0),
        ({"stage": "reweighting", "extra": {"round": 1}}, "round 1", 0.0),
        ({"stage": "reweighting", "extra": {"round": 2}}, "round 2", 1.0),
        ({"stage": "branch and cut"}, "branch and cut", 1.0),
        ({"stage": "re-encoded", "zeta": 1.0}, "re-encoded", None),
    ],
)
def test_a_row_says_the_stage_in_words_and_whether_the_search_has_begun(event, words, phase):
    row = jobs.trace_row(stats(lam=0.5, **event))
    assert row["stage"] == words and row["lam"] == 0.5
    assert math.isnan(row["phase"]) if phase is None else row["phase"] == phase


def test_jobs_queue_and_are_told_how_many_are_ahead(own_board):
    first, second, third = (Job(name, (), work_until_stopped) for name in "abc")
    for job in (first, second, third):
        own_board.submit(job)
    until(lambda: first.state == RUNNING)
    assert [own_board.before(job) for job in (first, second, third)] == [0, 1, 2]
    assert second.state == third.state == QUEUED
    second.stop.set()
    first.stop.set()
    until(lambda: third.state == RUNNING)
    assert own_board.before(third) == 0
    assert second.state == FAILED and second.error == "Stopped before it began."
    assert first.state == DONE and own_board.before(first) == 0


@pytest.mark.parametrize("error", [ValueError("lam must be a number."), MemoryError("too large.")])
def test_a_sentence_for_the_user_is_kept(own_board, error):
    def fail(job):
        raise error

    job = Job("a", (), fail)
    own_board.submit(job)
    until(lambda: not job.active)
    assert job.state == FAILED and job.error == str(error)


def test_an_unexpected_failure_says_where_to_look_and_does_say_it_there(own_board, caplog):
    job = Job("a", (), lambda job: [][1])
    own_board.submit(job)
    until(lambda: not job.active)
    assert job.state == FAILED and "the terminal has the details" in job.error
    until(lambda: "IndexError" in caplog.text)
    after = Job("b", (), lambda job: 1)
    own_board.submit(after)
    until(lambda: after.state == DONE)


def test_an_orphan_is_stopped_after_the_grace_and_a_reload_saves_it(own_board, monkeypatch):
    monkeypatch.setattr(jobs, "GRACE_S", 0.05)
    monkeypatch.setattr(state, "BOARD", own_board)
    job = Job("a", (), work_until_stopped)
    own_board.submit(job)
    until(lambda: job.state == RUNNING)
    state._orphan([job.id, "forgotten"])
    job.touch()
    time.sleep(0.1)
    assert job.state == RUNNING, "it was looked at again within the grace"
    state._orphan([job.id])
    until(lambda: job.state == DONE, 5)
    finished_at = job.orphaned_at
    state._orphan([job.id])
    assert job.orphaned_at == finished_at


def test_silence_stops_a_job(own_board, monkeypatch):
    monkeypatch.setattr(jobs, "SILENCE_S", 0.05)
    job = Job("a", (), work_until_stopped)
    own_board.submit(job)
    until(lambda: job.state == DONE, 5)
    assert job.stop.is_set(), "the silence stopped it, not a press of Stop"


def test_old_finished_jobs_are_forgotten_and_running_ones_are_not(own_board):
    running = Job("running", (), work_until_stopped)
    own_board.submit(running)
    later = [Job(str(n), (), lambda job: job.label) for n in range(jobs.KEEP_JOBS + 5)]
    for job in later:
        own_board.submit(job)
    assert all(own_board.get(job.id) for job in (running, *later)), "none is finished yet"
    running.stop.set()
    until(lambda: later[-1].state == DONE)
    own_board.submit(last := Job("last", (), lambda job: 1))
    assert len(own_board._jobs) == jobs.KEEP_JOBS and own_board.get(last.id) and own_board.get(later[-1].id)
    assert own_board.get(running.id) is None


def test_what_an_open_tab_shows_is_not_forgotten(own_board):
    shown = Job("shown", (), lambda job: np.zeros(jobs.KEEP_BYTES // 8))
    own_board.submit(shown).result(timeout=10)
    own_board.hold(1, [shown.id, "of another server"])
    for n in range(jobs.KEEP_JOBS + 3):
        own_board.submit(other := Job(str(n), (), lambda job: 1)).result(timeout=10)
    assert own_board.get(shown.id) is shown and own_board.get(other.id) is other
    own_board.hold(1, [other.id])
    own_board.hold(2, [shown.id])
    own_board.release(2)
    own_board.submit(Job("last", (), lambda job: 1)).result(timeout=10)
    assert own_board.get(shown.id) is None and own_board.get(other.id) is other


def test_what_is_listed_when_all_places_are_taken_is_there(own_board):
    """A path out of a project's file is done when it is listed, and no tab shows it yet."""
    for k in range(jobs.KEEP_JOBS):
        own_board.submit(Job("a", (k,), lambda job: "done")).result(timeout=10)
    done = Job("b", (), print, so_far=np.zeros(jobs.KEEP_BYTES // 4))
    done.state = DONE
    own_board.add(done)
    assert own_board.get(done.id) is done


def test_jobs_that_were_stopped_are_none_that_go_before(own_board):
    first, second, third = (Job(name, (), work_until_stopped) for name in "abc")
    for job in (first, second, third):
        own_board.submit(job)
    until(lambda: first.state == RUNNING)
    assert own_board.place(third) == "Queued: 2 solves before yours."
    second.stop.set()
    assert own_board.place(third) == "Queued: 1 solve before yours."


def test_a_job_that_is_stopped_while_it_waits_ends_at_once(own_board):
    first, second, done = Job("a", (), work_until_stopped), Job("b", (), lambda job: done.append(1)), []
    for job in (first, second):
        own_board.submit(job)
    until(lambda: first.state == RUNNING)
    second.end()
    assert (second.state, second.error) == (FAILED, "Stopped before it began.") and second.ended.is_set()
    assert first.state == RUNNING and not own_board.place(second)
    first.end()
    until(lambda: not own_board.busy)
    own_board.submit(last := Job("c", (), lambda job: 1)).result(timeout=10)
    assert last.result == 1 and second.state == FAILED and not done, "its turn has come and gone"


def test_jobs_in_passing_are_forgotten_before_any_other(own_board):
    kept = Job("kept", (), lambda job: 1)
    own_board.submit(kept).result(timeout=10)
    for _ in range(jobs.KEEP_JOBS + 2):
        own_board.submit(passing := Job("passing", (), lambda job: 1, passing=True)).result(timeout=10)
        assert own_board.get(passing.id) is passing, "until the next one comes"
    assert own_board.get(kept.id) is kept and len(own_board._jobs) == 2


def test_why_a_job_ended(own_board):
    done, failed, stopped = (
        Job("d", (), lambda job: 1),
        Job("f", (), lambda job: [][1]),
        Job("s", (), work_until_stopped),
    )
    solved = Job("r", (), lambda job: SimpleNamespace(result_=SimpleNamespace(reason="time limit")))
    for job in (done, failed, solved, stopped):
        own_board.submit(job)
    until(lambda: stopped.state == RUNNING)
    stopped.stop.set()
    until(lambda: not stopped.active)
    assert [job.reason for job in (done, failed, solved, stopped)] == ["done", "failed", "time limit", "interrupted"]


def test_a_trace_of_hours_has_a_length_too(monkeypatch):
    monkeypatch.setattr(jobs, "KEEP_ROWS", 100)
    job = Job("long", (), print)
    for n in range(20_000):
        job.note({"i": n, "phase": 0.0 if n < 15_001 else 1.0})
    seen = [row["i"] for row in job.rows]
    assert seen[:100] == list(range(100)) and len(seen) < 900 and seen == sorted(seen)
    assert 15_001 in seen, "where a phase begins"
    job.note({"i": -1, "phase": math.nan})
    assert job.rows[-1]["i"] == -1, "the end"


def test_large_results_are_forgotten_sooner(own_board):
    half = np.zeros(jobs.KEEP_BYTES // 16 + 1)
    for n in range(3):
        own_board.submit(Job(str(n), (), lambda job: half.copy())).result(timeout=10)
    assert 0 < jobs.held_bytes(own_board._jobs.values()) <= jobs.KEEP_BYTES and len(own_board._jobs) == 1
    for n in range(3):
        own_board.submit(Job(str(n), (), lambda job: half)).result(timeout=10)
    own_board.submit(last := Job("last", (), lambda job: 1)).result(timeout=10)
    assert own_board.get(last.id) and len(own_board._jobs) == 4, "what they share is in memory once"


def test_what_is_done_holds_its_result_and_not_what_it_was_made_of(own_board):
    class Corpus:
        pass

    corpus = Corpus()
    gone = weakref.ref(corpus)
    own_board.submit(job := Job("a", (), lambda job, corpus=corpus: len(repr(corpus)))).result(timeout=10)
    del corpus
    gc.collect()
    assert job.result and gone() is None


def test_short_work_is_done_and_not_listed(own_board):
    mine = Job("mine", (), lambda job: 1)
    own_board.submit(mine).result(timeout=10)
    for n in range(jobs.KEEP_JOBS + 2):
        assert own_board.enqueue(lambda n=n: n).result(timeout=10) == n
    assert own_board.get(mine.id) is mine
    with pytest.raises(ZeroDivisionError):
        own_board.enqueue(lambda: 1 // 0).result(timeout=10)


def test_short_work_that_is_given_up_is_not_done(own_board):
    long, behind = Job("long", (), work_until_stopped), Job("behind", (), work_until_stopped)
    own_board.submit(long)
    began = threading.Event()
    assert own_board.enqueue(began.set).cancel()
    own_board.submit(behind)
    assert own_board.before(behind) == 1, "no job waits for what was given up"
    long.stop.set()
    behind.stop.set()
    own_board.enqueue(lambda: None).result(timeout=10)
    assert not began.is_set()


def test_what_a_slider_adds_to_a_path_is_weighed(own_board):
    run = {"points": [np.zeros(1_000)]}
    own_board.submit(path := Job("path", (), lambda job: run, so_far=run)).result(timeout=10)
    before = jobs.held_bytes([path])
    run["points"].append(np.zeros(2_000))
    own_board.submit(Job("slider", (), lambda job: run, passing=True)).result(timeout=10)
    assert 8_000 <= before < 9_000 and jobs.held_bytes([path]) >= 24_000


def test_what_is_asked_for_passes_what_began_by_itself(own_board):
    done, step, go_on = [], threading.Event(), threading.Event()

    def path(job: Job) -> None:
        for lam in (1, 2, 3):
            step.set()
            assert go_on.wait(10)
            done.append(lam)
            job(stats())

    by_itself = Job("path", (), path)
    by_itself.gives_way = True
    own_board.submit(by_itself)
    assert step.wait(10)
    asked = [Job(name, (), lambda job: done.append(job.label)) for name in ("compare", "tasks")]
    later = Job("path", (), lambda job: None)
    later.gives_way = True
    last = [own_board.submit(job) for job in (*asked, later)][-1]
    questions = [own_board.enqueue(lambda n=n: done.append(n) or 6 // n) for n in (0.5, 0, 9)]
    assert questions[2].cancel()
    assert own_board.place(asked[0]) == "Queued: it begins in a moment."
    assert own_board.place(asked[1]) == "Queued: 1 solve before yours." and own_board.before(later) == 3
    go_on.set()
    last.result(timeout=10)
    assert done == [1, "compare", "tasks", 0.5, 0, 2, 3] and questions[0].result(10) == 12
    with pytest.raises(ZeroDivisionError):
        questions[1].result(10)
    assert [job.state for job in (by_itself, *asked, later)] == [DONE] * 4
    assert own_board.place(asked[0]) == ""


def test_a_question_is_answered_in_the_midst_of_any_job_and_no_job_is(own_board):
    done, step, go_on = [], threading.Event(), threading.Event()

    def solve(job: Job) -> None:
        step.set()
        assert go_on.wait(10)
        job(stats())
        done.append("solved")

    mine = Job("mine", (), solve)
    own_board.submit(mine)
    assert step.wait(10)
    other = own_board.submit(Job("theirs", (), lambda job: done.append("theirs")))
    long = own_board.enqueue(lambda: done.append("long"))
    question = own_board.enqueue(lambda: done.append(threading.current_thread().name), short=True)
    beside = Job("beside", (), lambda job: [job(stats()) for _ in range(3)])
    beside.between = functools.partial(own_board.let_pass, True)
    own_board.start(beside).join(timeout=10)
    assert beside.state == DONE and not done, "in another thread no kernel may run"
    go_on.set()
    for future in (question, other, long):
        future.result(timeout=10)
    assert done[0].startswith("solver") and done[1:] == ["solved", "theirs", "long"]


def test_what_fails_while_it_passes_leaves_the_other_at_work(own_board):
    failing = Job("compare", (), lambda job: 1 // 0)

    def path(job: Job) -> str:
        own_board.submit(failing)
        return "whole" if job(stats()) else "stopped"

    by_itself = Job("path", (), path)
    by_itself.gives_way = True
    own_board.submit(by_itself).result(timeout=10)
    assert failing.state == FAILED and by_itself.result == "whole"


def events(job: Job) -> list[str]:
    """What the trace route sends for a job of the server's board."""

    async def read() -> list[str]:
        request = Request({"type": "http", "method": "GET", "path": "/", "headers": [], "path_params": {"job": job.id}})
        response = await jobs.trace_route().endpoint(request)
        if response.status_code != 200:
            return [str(response.status_code)]
        assert response.media_type == "text/event-stream" and response.headers["cache-control"] == "no-store"
        return [event async for event in response.body_iterator]

    return asyncio.run(read())


def test_the_trace_is_pushed_to_its_end(board):
    def work(job: Job) -> SimpleNamespace:
        for n in range(1, 4):
            job(stats(iteration=n, best_objective=float(n)))
            time.sleep(0.08)
        return SimpleNamespace(result_=SimpleNamespace(reason="converged", objective=5.0, lower_bound=4.0, gap=0.25))

    job = Job("a", (), work)
    board.submit(job)
    sent = events(job)
    assert sent[0].startswith("retry:")
    rows = [row for event in sent if event.startswith("data: ") for row in json.loads(event.removeprefix("data: "))]
    assert [row["i"] for row in rows] == [1.0, 2.0, 3.0]
    assert sent[-1].startswith("event: done") and '"reason": "converged"' in sent[-1] and '"gap": 0.25' in sent[-1]
    assert events(job)[-1] == sent[-1], "a late reader gets all of it"
    assert events(Job("unknown", (), print)) == ["404"]


def test_a_failed_solve_ends_its_stream(board):
    job = Job("a", (), lambda job: [][1])
    board.submit(job)
    assert '"reason": "failed"' in events(job)[-1]


def test_the_stream_of_a_closed_tab_does_not_take_the_orphan_back(board, monkeypatch):
    # session and stream of a closed tab end in either order: a last turn of the stream is no sign of life
    job = Job("a", (), work_until_stopped)
    board.submit(job)
    until(lambda: job.state == RUNNING)

    async def one_turn_after_the_release() -> None:
        stream = jobs._events(job)
        await anext(stream)
        reader = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.02)
        state._orphan([job.id])
        await asyncio.sleep(0.1)
        reader.cancel()

    asyncio.run(one_turn_after_the_release())
    assert job.orphaned_at is not None


def test_the_worker_is_alone(board):
    names = []
    for _ in range(2):
        board.submit(Job("a", (), lambda job: names.append(threading.current_thread().name))).result(timeout=10)
    assert len(set(names)) == 1 and names[0].startswith("solver")


# ---- runs that are ended


def interrupted() -> None:
    """A script whose first run is ended, by a request for the next, between two things."""
    import streamlit as st
    from streamlit.runtime.scriptrunner import get_script_run_ctx
    from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

    from pages.parts.shared.guard import whole

    def two_things() -> None:
        state = st.session_state
        state.first = state.get("first", 0) + 1
        if state.first == 1:
            get_script_run_ctx().script_requests.request_rerun(RerunData())
        state.second = state.get("second", 0) + 1
        if state.get("fails"):
            raise ValueError("in the midst")

    try:
        (whole(two_things) if st.session_state.guarded else two_things)()
    except ValueError as error:
        st.error(str(error))


@pytest.mark.parametrize(("guarded", "second"), [(True, 2), (False, 1)])
def test_what_is_guarded_is_done_whole_also_where_its_run_is_ended(guarded, second):
    app = AppTest.from_function(interrupted)
    app.session_state["guarded"] = guarded
    app.run()
    assert not app.exception and (app.session_state["first"], app.session_state["second"]) == (2, second)
    app.session_state["fails"] = True
    assert [one.value for one in app.run().error] == ["in the midst"]
