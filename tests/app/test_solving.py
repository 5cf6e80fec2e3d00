"""Solving in the app: run, watch, stop, queue, leave and come back, fail, change the settings."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from visiting import captions, in_address, job_of, numbers, press, show, sidebar, solved, sound, until, use

from cflengine import CompressiveFeatures
from cflengine.engine.memory import MemoryLimitError
from pages.parts.lab import scrubber
from pages.parts.shared import controls, jobs
from pages.parts.shared.corpora import recall
from pages.parts.shared.words import gap_text


def test_run_watch_stop(open_app):
    app = open_app("solve", k="8")
    assert "Press **Run**" in app.info[0].value
    sound(app.button(key="run").click().run())
    job = job_of(app)
    assert in_address(app, "job") == job.id
    seen = []
    for _ in range(3):
        until(lambda: len(job.rows) > 2 + (seen[-1] if seen else 0) or not job.active)
        assert sound(app.run()).button(key="run").disabled and not app.button(key="stop").disabled
        seen.append(int(numbers(app)["Step"].replace(",", "")))
    assert seen == sorted(set(seen)), "the trace grows"
    sound(app.button(key="stop").click().run())
    until(lambda: not job.active)
    sound(app.run())
    result = job.result.result_
    assert str(result.reason) == "interrupted" and "interrupted" in sidebar(app)
    assert result.certificate.covered and 0 < result.lower_bound <= result.objective
    assert result.gap == result.objective / result.lower_bound - 1
    shown = numbers(app)
    assert shown["Best cost"] == f"{result.objective:,.0f}" and shown["Gap, proved"] == gap_text(result.gap)
    assert not app.button(key="run").disabled and app.button(key="stop").disabled


def test_stopping_before_the_first_step_still_gives_a_solution(open_app, monkeypatch):
    begun, go_on = threading.Event(), threading.Event()
    fit = CompressiveFeatures.fit_tokens

    def slow(model, table, **others):
        begun.set()
        assert go_on.wait(30)
        return fit(model, table, **others)

    monkeypatch.setattr(CompressiveFeatures, "fit_tokens", slow)
    app = show(use(open_app()), "solve")
    sound(app.button(key="run").click().run())
    assert begun.wait(30)
    sound(app.button(key="stop").click().run())
    assert "Stopping" in sidebar(app) + captions(app)
    go_on.set()
    until(lambda: not job_of(app).active)
    sound(app.run())
    assert job_of(app).state == jobs.DONE and not app.error
    assert job_of(app).result.result_.certificate.covered


def test_the_guided_solver_reaches_its_gap(tiny):
    result = job_of(tiny).result.result_
    assert result.solver == "relay" and str(result.reason) == "converged" and len(result.stages) == 11
    assert numbers(tiny)["Best cost"] == f"{result.objective:,.0f}"
    solved(tiny, solver="guided")
    assert job_of(tiny).result.result_.solver == "guided"
    assert "Along the homotopy" not in [header.value for header in tiny.header]


def test_the_homotopy_is_first_where_it_is_quick_and_a_choice_elsewhere(open_app, monkeypatch):
    app = show(use(open_app()), "solve")
    assert not app.radio and app.expander[0].label == "Solver: homotopy, then guided"
    monkeypatch.setattr("pages.parts.shared.settings.QUICK_S", 0.0)
    sound(app.run())
    assert app.expander[0].label == "Solver: guided"
    assert "about" in app.radio[0].options[0] and "homotopy first" in app.radio[0].options[1]
    sound(app.radio[0].set_value("relay").run())
    assert app.radio[0].value == "relay" and app.expander[0].label == "Solver: homotopy, then guided"
    sound(app.radio[0].set_value("guided").run())
    assert app.expander[0].label == "Solver: guided"
    sound(app.radio[0].set_value("relay").run())
    sound(app.button(key="run").click().run())
    until(lambda: not job_of(app).active)
    stages = {row["stage"].split(":")[0] for row in job_of(app).rows}
    assert {"relaxation", "re-encoded"} <= stages and film_of(sound(app.run()))


def film_of(app):
    """What the film of the homotopy is sent."""
    return json.loads(app.session_state["scrub_film"][1].payload)


def test_the_film_opens_on_the_document_that_changes_most(monkeypatch):
    doc_ptr = np.array([0, 3, 3, 8, 14])
    first, last = np.zeros(14, dtype=np.uint8), np.zeros(14, dtype=np.uint8)
    last[[1, 4, 6, 8, 9, 10]] = 2
    stages = [SimpleNamespace(cover=cover) for cover in (first, first, last)]
    assert scrubber.most_changed(stages, doc_ptr) == 3
    monkeypatch.setattr(scrubber, "READABLE", 5)
    assert scrubber.most_changed(stages, doc_ptr) == 2
    monkeypatch.setattr(scrubber, "READABLE", -1)
    assert scrubber.most_changed(stages, doc_ptr) == 3, "where none can be read at a glance"
    assert scrubber.most_changed([stages[0]] * 2, doc_ptr) == 0


def test_each_solver_has_its_own_settings(open_app):
    app = show(use(open_app()), "solve")
    own = {"guided": {"widget_gap"}, "homotopy": {"widget_steps"}, "reweighting": {"widget_rounds"}, "exact": set(),
           "relay": {"widget_gap", "widget_steps"}}  # fmt: skip
    for solver, widget in own.items():
        sound(app.segmented_control(key="widget_solver").set_value(solver).run())
        keys = {element.key for kind in ("number_input", "select_slider", "selectbox") for element in app.get(kind)}
        assert keys & set().union(*own.values()) == widget
        assert "widget_limit" in keys and app.expander[0].label == f"Solver: {controls.TITLES[solver]}"
        assert in_address(app, "solver") == solver
        sound(app.button(key="run").click().run())
        until(lambda: not job_of(app).active)
        assert job_of(sound(app.run())).result.result_.solver == solver and not app.error
        assert "changed" not in captions(app) and f"{controls.TITLES[solver]}: converged" in sidebar(app)
    sound(app.segmented_control(key="widget_solver").set_value("guided").run())
    sound(app.select_slider(key="widget_gap").set_value(0.01).run())
    assert app.session_state["settings"].solver_settings().tol == 0.01


def test_words_may_stand_in_the_text_as_they_are(open_app):
    app = show(use(open_app()), "solve")
    sound(app.toggle(key="widget_plain").set_value(True).run())
    sound(app.number_input(key="widget_plain_cost").set_value(0.5).run())
    sound(app.button(key="run").click().run())
    until(lambda: not job_of(app).active)
    model = job_of(app).result
    words = model.index_.lengths() == 1
    assert model.plain_cost == 0.5 and model.costs_at(1.0).pointer_by_length.tolist() == [0.5, 1.0, 1.0]
    assert not model.costs_at(1.0).dictionary[words].any() and model.result_.gap < 0.1
    shown = "\n".join(code.value for code in show(sound(app.run()), "features").code)
    assert "--plain-cost=0.5" in shown and "plain_cost=0.5" in shown


def test_the_exact_solver_says_when_a_corpus_is_too_large(open_app):
    app = open_app("solve", solver="exact")
    assert app.button(key="run").disabled and "takes 150,000 at most" in app.warning[0].value
    lengths = np.diff(recall("sample").table.doc_ptr)
    n = int(3 * lengths.sum() - len(lengths) - np.minimum(lengths, 2).sum())
    assert f"this one has {n:,} pointers" in app.warning[0].value
    app.session_state["settings"] = replace(app.session_state["settings"], max_gram=1)
    assert not sound(app.run()).button(key="run").disabled and not app.warning


def test_run_to_the_end(tiny):
    solved(tiny, solver="homotopy")
    result = job_of(tiny).result.result_
    assert str(result.reason) == "converged" and result.gap < 0.2
    shown = numbers(tiny)
    assert shown["Best cost"] == f"{result.objective:,.0f}" and shown["Proved bound"] == f"{result.lower_bound:,.0f}"
    assert shown["K-grams kept"] == str(result.dictionary_size)
    assert [stage["zeta"] for stage in film_of(tiny)["stages"]] == [round(k / 10, 1) for k in range(11)]


def test_the_film_has_every_stage_and_survives_a_shorter_run(tiny):
    solved(tiny, solver="homotopy")
    result, sent = job_of(tiny).result.result_, film_of(tiny)
    for stage, shown in zip(result.stages, sent["stages"], strict=True):
        assert (shown["pointers"], shown["cost"]) == (stage.n_pointers, pytest.approx(stage.objective))
        assert shown["repaired"] == pytest.approx(stage.repaired) and shown["counts"]["weighted"]
    assert sent["bound"] == pytest.approx(result.lower_bound)
    document = tiny.number_input(key="scrub_document").value
    encoding = job_of(tiny).result.encoding_
    assert len(sent["end"]["documents"][0]["start"]) == len(encoding.start_char[encoding.of_document(document)])
    before = tiny.session_state["scrub_film"]
    assert sound(tiny.run()).session_state["scrub_film"] is before, "encoded once"
    sound(tiny.number_input(key="scrub_document").set_value(2).run())
    assert film_of(tiny)["shared"][0]["title"] == "Document 2"
    for limit in (1e-6, 0.02):  # none of the stages, some of them
        solved(tiny, solver="homotopy", time_limit=limit)
        assert job_of(tiny).state == jobs.DONE and not tiny.error
    solved(tiny, solver="homotopy", lam=1.0)
    assert len(film_of(tiny)["stages"]) == 11


def test_a_long_document_is_sent_as_far_as_a_film_may_be(tiny, monkeypatch):
    monkeypatch.setattr(scrubber, "MOST_MOVED", 44)  # four tokens at each of eleven stages
    solved(tiny, solver="homotopy")
    model, sent = job_of(tiny).result, film_of(tiny)
    document = tiny.number_input(key="scrub_document").value
    first, past = model.table_.doc_ptr[document : document + 2]
    cut = int(model.table_.end[first + 3])
    assert past - first > 4 and sent["shared"][0]["text"].endswith(" …")
    for state in (*sent["stages"], sent["end"]):
        assert max(state["documents"][0]["end"]) <= cut
    assert f"The first 4 words of {past - first}" in captions(tiny)


@pytest.mark.parametrize(("data", "gram"), [(b"word", 8), (b"one\ntwo\none", 3), (b"a b\nc d", 8), (b"a a a a a a", 1)])
def test_tiny_corpora_are_solved(open_app, data, gram):
    app = solved(use(open_app(), "x.txt", data), max_gram=gram)
    assert job_of(app).state == jobs.DONE, job_of(app).error
    assert job_of(app).result.result_.gap < 0.5
    for page in ("pointers", "features"):
        assert not show(app, page).error


def test_changed_settings_are_said_to_be_new(tiny):
    assert "changed" not in captions(tiny)
    sound(tiny.select_slider(key="widget_lam").set_value(5.0).run())
    assert "settings have changed since the last run" in captions(tiny) and "Settings have changed" in sidebar(tiny)
    assert numbers(tiny)["Best cost"] != "–", "the old result stays"
    sound(tiny.select_slider(key="widget_lam").set_value(1.0).run())
    assert "changed" not in captions(tiny) + sidebar(tiny)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            MemoryLimitError("This needs about 9.0 GB of memory, but only 1.0 GB are free: take fewer documents."),
            "take fewer documents",
        ),
        (ZeroDivisionError("secret detail"), "The solver failed unexpectedly"),
    ],
)
def test_a_failed_solve_says_so_and_the_next_one_works(open_app, monkeypatch, error, sentence):
    def fail(*_, **__):
        raise error

    app = use(open_app())
    with monkeypatch.context() as patch:
        patch.setattr(CompressiveFeatures, "fit_tokens", fail)
        solved(app)
    assert sentence in app.main.get("error")[0].value.replace("\\", "") and sentence in sidebar(app)
    assert "secret" not in sidebar(app)
    assert not app.button(key="run").disabled
    assert not solved(app).error and numbers(app)["Best cost"] != "–"


def test_a_solve_goes_on_while_other_pages_are_read(open_app):
    app = open_app("solve", k="8")
    sound(app.button(key="run").click().run())
    job = job_of(app)
    until(lambda: job.rows)
    for page in ("corpus", "features", "pointers"):
        show(app, page)
        assert job_of(app) is job and not job.stop.is_set()
    show(app, "solve")
    assert job_of(app) is job
    if job.active:
        sound(app.button(key="stop_sidebar_job").click().run())
    until(lambda: not job.active)
    assert "proved bound" in sidebar(sound(app.run()))


def test_the_last_result_stays_in_view_while_the_next_one_is_made(tiny, monkeypatch):
    before, go_on = job_of(tiny).result, threading.Event()
    fit = CompressiveFeatures.fit_tokens
    monkeypatch.setattr(CompressiveFeatures, "fit_tokens", lambda *of, **how: go_on.wait(30) and fit(*of, **how))
    sound(tiny.select_slider(key="widget_lam").set_value(5.0).run())
    sound(tiny.button(key="run").click().run())
    assert numbers(show(tiny, "features"))["Features"] == str(len(before.grams_))
    assert "--lam=1 " in tiny.code[1].value
    go_on.set()
    until(lambda: not job_of(tiny).active)
    assert "--lam=5 " in sound(tiny.run()).code[1].value


def test_a_second_session_waits_for_the_first(open_app):
    first, second = open_app("solve", k="8"), open_app("solve", lam="3")
    sound(first.button(key="run").click().run())
    until(lambda: job_of(first).state == jobs.RUNNING)
    sound(second.button(key="run").click().run())
    assert job_of(second).state == jobs.QUEUED and "Queued: 1 solve before yours." in sidebar(second)
    assert "Queued: 1 solve before yours." in captions(second)
    sound(second.button(key="stop").click().run())
    sound(first.button(key="stop").click().run())
    until(lambda: not job_of(second).active)
    sound(second.run())
    assert "Stopped before it began" in sidebar(second)
    assert job_of(first).state == jobs.DONE


def test_an_address_brings_a_running_solve_and_its_result_to_another_session(tiny, open_app):
    again = open_app("solve", corpus=in_address(tiny, "corpus"), job=in_address(tiny, "job"))
    assert job_of(again) is job_of(tiny) and numbers(again)["Best cost"] == numbers(tiny)["Best cost"]
    assert numbers(show(again, "features"))["Documents"] == "3"


def test_a_closed_tab_stops_its_solve_after_the_grace(open_app, close_tab, monkeypatch):
    monkeypatch.setattr(jobs, "GRACE_S", 0.2)
    app = open_app("solve", k="8")
    sound(app.button(key="run").click().run())
    job = job_of(app)
    until(lambda: job.rows)
    close_tab()
    assert job.active and not job.stop.is_set()
    until(lambda: not job.active, 10)
    assert job.stop.is_set() and job.state == jobs.DONE and str(job.result.result_.reason) == "interrupted"


def test_another_corpus_stops_the_solve_of_this_one(open_app):
    app = open_app("solve", k="8")
    sound(app.button(key="run").click().run())
    job = job_of(app)
    until(lambda: job.rows)
    use(show(app, "corpus"))
    assert not job.stop.is_set()
    press(app, "Stop it and go on")
    assert job.stop.is_set() and "job" not in app.query_params
    assert show(app, "solve").info and not show(app, "pointers").metric
    until(lambda: not job.active)


@pytest.fixture
def little_memory(monkeypatch):
    """A machine on which this corpus fits in shards, but not in one piece; until the button is pressed."""
    needed = {"whole": 3_000_000, "shards": 2_000_000}
    monkeypatch.setattr(controls, "needed_bytes", lambda *_: needed["whole"])
    monkeypatch.setattr(controls, "fits", lambda n: n < needed["whole"])
    monkeypatch.setattr(controls, "enough_shards", lambda *_: (3, needed["shards"]))
    return needed


def test_a_corpus_beyond_memory_is_offered_shards_with_minutes(open_app, little_memory):
    app = show(use(open_app()), "solve")
    assert "In 3 shards, which wait on disk, it takes 1.9 MB, and about" in app.warning[0].value
    assert app.button(key="run").disabled and not app.info  # it would be refused
    sound(app.button(key="solve_in_shards").click().run())
    job = job_of(app)
    assert job.solver == "sharded"
    until(lambda: not job.active)
    sound(app.run())
    result = job.result.result_
    assert result.solver == "sharded" and result.certificate.covered and result.settings["shards"] == 3
    assert not app.warning and numbers(app)["Best cost"] == f"{result.objective:,.0f}"


def test_a_corpus_that_fits_is_not_offered_shards(open_app):
    assert not show(use(open_app()), "solve").warning


def test_where_no_number_of_shards_is_enough_that_is_said(open_app, little_memory, monkeypatch):
    monkeypatch.setattr(controls, "enough_shards", lambda *_: None)
    app = show(use(open_app()), "solve")
    assert "Take a smaller K, or fewer documents" in app.warning[0].value
    assert "solve_in_shards" not in [button.key for button in app.button]


def test_a_job_says_what_it_does_before_its_first_event():
    from cflengine.engine import Watch

    job = jobs.Job("corpus", ("id",), lambda job: None, so_far=Watch())
    assert job.stage == ""
    job.so_far.begin("making shards", "shards", 8)
    job.so_far.at(3)
    assert job.stage == "making shards, 3 of 8 shards"
    job.rows.append({"stage": "relaxation"})
    assert job.stage == ""


def test_the_page_stays_with_its_run_when_λ_is_chosen_anew(open_app):
    words = np.random.default_rng(0).choice([f"w{i}" for i in range(12)], (90, 20))
    texts = "text\n" + "".join(" ".join(row) + "\n" for row in words)
    app = solved(use(open_app(), "random.csv", texts.encode()), lam=1.0, max_gram=3)
    sound(app.toggle(key="tightness").set_value(True).run())

    def told(app) -> str:
        return next(part.value for part in app.markdown if "above the bound" in part.value)

    before, result = told(app), job_of(app).result.result_
    app.session_state.settings = replace(app.session_state.settings, lam=1.5)
    sound(app.run())
    assert job_of(app).result.result_ is result and told(app) == before


def test_where_the_proof_is_not_tight_is_told_by_document_and_phrase(open_app):
    words = np.random.default_rng(0).choice([f"w{i}" for i in range(12)], (90, 20))  # too much for branching trees
    texts = "text\n" + "".join(" ".join(row) + "\n" for row in words)
    app = solved(use(open_app(), "random.csv", texts.encode()), lam=1.0, max_gram=3)
    assert "above the bound" not in "".join(part.value for part in app.markdown)
    sound(app.toggle(key="tightness").set_value(True).run())
    result = job_of(app).result.result_
    told = next(part.value for part in app.markdown if "above the bound" in part.value)
    gap = result.objective - result.lower_bound
    assert float(told.split()[3].replace(",", "")) == pytest.approx(gap, abs=0.06)
    documents, grams = (frame.value for frame in app.dataframe if "share" in frame.value)
    assert 0 < documents["share"].sum() <= 1 + 1e-9 and documents["share"].is_monotonic_decreasing
    assert grams["share"].max() <= 1 + 1e-9 and set(grams["gram"]) <= set(job_of(app).result.dictionary_["gram"])


def test_an_optimum_is_called_one(tiny):
    """Also in the bar of every page; and not where what is open may be more than two costs can differ by."""
    assert job_of(tiny).result.result_.optimal and numbers(tiny)["Gap, proved"] == "optimal"
    assert "none is cheaper, proved" in captions(show(tiny, "pointers"))
    solved(tiny, lam=0.3)
    assert not job_of(tiny).result.result_.optimal and numbers(tiny)["Gap, proved"].endswith("%")
    assert "proved within" in captions(tiny)


def test_pages_wait_for_a_solve_that_shows_nothing_before_its_end(open_app, board):
    app = use(open_app())
    go_on = threading.Event()
    key = (app.session_state["corpus_id"], "shards")

    def work(job):
        job.note({"i": 5, "gap": 0.0123, "stage": "relaxation", "phase": 0.0})
        go_on.wait(60)
        raise MemoryError("It ends without a result.")

    job = jobs.Job("shards", key, work, solver="guided")
    app.session_state["job_id"] = job.id
    board.submit(job)
    until(lambda: job.rows)
    app = show(app, "pointers")
    assert "proved so far: within 1.23 % of the best" in app.info[0].value and "being compressed" in captions(app)
    assert not [button for button in app.button if button.label == "Compress it"]
    go_on.set()
    until(lambda: not job.active)
    assert [button for button in sound(app.run()).button if button.label == "Compress it"]
