"""The pages as a user meets them, without a browser: every page, corpora of all kinds, addresses."""

from __future__ import annotations

import ast
import io
import json
import re
import threading
import zipfile
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from visiting import (
    TINY,
    captions,
    in_address,
    numbers,
    path_job,
    press,
    show,
    sidebar,
    sound,
    unfold,
    until,
    upload,
    use,
)

from cflengine import Corpus, CorpusError
from pages.parts.shared import corpora, jobs, state
from pages.parts.shared import sidebar as sidebar_of_the_app
from pages.parts.shared.path_run import PathRun
from sample_data.solve import LAMS

ROOT = Path(__file__).resolve().parents[2]
PAGES = {"corpus": "See what your text is made of", "solve": "Watch the solver", "pointers": "Read",
         "features": "Export", "path": "Words to phrases", "race": "Race", "vocabulary": "My word list",
         "phrases": "Phrases", "compare": "Compare",
         "overtime": "Over time", "boilerplate": "Boilerplate",
         "models": "Saved models", "tokenizer": "Tokenizer", "toy": "How it works"}  # fmt: skip
SAMPLE_COUNTS = {"Documents": "2,000", "Tokens": "110,058", "Types": "3,330", "Left out": "0"}


# ---- every page


@pytest.mark.parametrize("page", PAGES)
def test_every_page_of_a_new_session(open_app, page):
    app = open_app(page)
    assert [title.value for title in app.title] == [PAGES[page]] and not app.error
    assert "reviews.csv" in sidebar(app) and "2,000 documents" in sidebar(app)
    assert "Nothing is compressed yet" not in [info.value for info in app.info], "the sample's path is there"


def test_the_first_screen_is_drawn_once(open_app, monkeypatch):
    """A run that begins anew in its middle is waited for twice as long."""
    drawn, draw = [], sidebar_of_the_app.draw_sidebar
    monkeypatch.setattr(sidebar_of_the_app, "draw_sidebar", lambda: (drawn.append("once"), draw()))
    open_app()
    assert drawn == ["once"]


def test_the_path_that_pages_rest_on_outlives_all_other_jobs(open_app, board):
    app = use(open_app())
    press(show(app, "features"), "Compress it")
    job = jobs.BOARD.get(in_address(app, "path"))
    until(lambda: not job.active)
    sound(app.run())
    for n in range(jobs.KEEP_JOBS + 2):  # of this tab and of others
        board.submit(jobs.Job(str(n), ("another corpus",), lambda job: 1)).result(timeout=10)
    assert in_address(sound(app.run()), "path") == job.id and jobs.BOARD.get(job.id) is job


def test_the_bar_says_that_a_corpus_is_being_compressed(open_app, board, monkeypatch):
    app, go_on = use(open_app()), threading.Event()
    assert "not compressed yet" in captions(app)
    monkeypatch.setattr(PathRun, "solve", lambda *given, **named: go_on.wait(30))
    press(show(app, "features"), "Compress it")
    assert "being compressed" in captions(sound(app.run())) and "not compressed yet" not in captions(app)
    go_on.set()


def test_a_stop_stays_at_its_place_whatever_the_sidebar_says_above_it(open_app, board, monkeypatch):
    """Streamlit drops the click on a button whose fragment has moved since it was drawn."""
    app, go_on = use(open_app()), threading.Event()
    note = PathRun.note
    monkeypatch.setattr(PathRun, "note", lambda *given, **how: (note(*given, **how), go_on.wait(30))[0])
    press(show(app, "features"), "Compress it")
    job = jobs.BOARD.get(in_address(app, "path"))
    until(lambda: job.so_far.points)
    before = place_of(app.run().sidebar, "Stop")
    app.session_state["notice"] = "something *to* be said"
    monkeypatch.setattr(sidebar_of_the_app, "engine_is_warm", lambda: False)
    after = place_of(sound(app.run()).sidebar, "Stop")
    assert (
        job.active
        and app.sidebar.info[0].value == "something \\*to\\* be said"
        and "Compiling the engine" in sidebar(app)
    )
    go_on.set()
    assert after == before


def place_of(block, label: str, above: tuple[int, ...] = ()) -> tuple[int, ...] | None:
    """Where in a container, as Streamlit counts, a button stands."""
    for index, child in block.children.items():
        if getattr(child, "label", None) == label:
            return (*above, index)
        if hasattr(child, "children"):
            found = place_of(child, label, (*above, index))
            if found is not None:
                return found
    return None


@pytest.mark.parametrize("page", ["pointers", "features", "vocabulary"])
def test_every_page_of_a_corpus_that_nobody_has_solved(open_app, page):
    app = show(use(open_app()), page)
    assert "Nothing is compressed yet" in app.info[0].value
    press(app, "Compress it")
    job = jobs.BOARD.get(in_address(app, "path"))
    until(lambda: not job.active)
    sound(app.run())
    assert not app.info or page == "vocabulary"


def test_what_is_certified_opens_pages_while_the_solver_works(open_app, board, monkeypatch):
    app, go_on = use(open_app()), threading.Event()
    begin = PathRun.note

    def note(run, lam, result, seconds, **how):
        begin(run, lam, result, seconds, **how)
        go_on.wait(30)

    monkeypatch.setattr(PathRun, "note", note)
    app = show(app, "features")
    press(app, "Compress it")
    job = jobs.BOARD.get(in_address(app, "path"))
    until(lambda: job.so_far.points)
    sound(app.run())
    assert job.active and "Still improving" in captions(app)
    assert numbers(app)["Documents"] == "3"
    go_on.set()
    until(lambda: not job.active)
    assert "Still improving" not in captions(sound(app.run()))


# ---- the first screen


@pytest.mark.parametrize("exploring", [True])
def test_a_file_that_is_dropped_is_read_and_solved_without_a_click(open_app, exploring):
    app = use(open_app())
    job = jobs.BOARD.get(in_address(app, "path"))
    until(lambda: not job.active)
    assert job.state == jobs.DONE and job.so_far.first == 1.0
    assert len(job.so_far.points) == len(job.so_far.lams) and job.so_far.stages
    sound(app.run())
    assert not app.error and not app.info


@pytest.mark.parametrize("exploring", [True])
def test_nothing_is_stopped_unasked(open_app, board, exploring, monkeypatch):
    go_on = threading.Event()
    board.submit(jobs.Job("long", ("x",), lambda job: go_on.wait(30)))
    app = use(open_app())
    first = jobs.BOARD.get(in_address(app, "path"))
    assert first.active
    use(app, "other.csv", b"text\nsome other words\nand more words\n")
    assert first.active and "still running" in app.warning[0].value
    press(app, "Let it run")
    assert not app.warning and app.session_state["path_id"] == first.id and not first.stop.is_set()
    use(app, "other.csv", b"text\nsome other words\nand more words\n")
    press(app, "Stop it and go on")
    assert first.stop.is_set() and "other.csv" in sidebar(app)
    go_on.set()


def test_the_shipped_path_is_shown_at_once(open_app):
    app = open_app()
    job = jobs.BOARD.get(app.session_state["path_id"])
    assert job.id == "sample" and "path" not in app.query_params
    shown = app.session_state["first_points"][1]
    assert len(shown.documents) == 3 and [point.lam for point in shown.points] == list(LAMS)
    line = "".join(part for part, _ in next(point for point in shown.points if point.lam == 1.0).line)
    assert re.fullmatch(
        r"2,000 reviews are built from 6,\d{3} pieces; no dictionary of phrases up to three words can do more than "
        r"0\.0\d+ % better \(proved\)\.",
        line,
    )


@pytest.mark.parametrize("page, key, named", [("corpus", "first_points", 1), ("pointers", "read_points", 2)])
def test_the_text_under_the_slider_is_encoded_once(open_app, page, key, named):
    app = show(open_app(), page)
    payload = app.session_state[key][named].packed
    assert b'"lam":1.0' in payload[0]
    assert app.run().session_state[key][named].packed is payload


@pytest.mark.parametrize("page", PAGES)
def test_every_page_after_a_solve(tiny, page):
    app = show(tiny, page)
    assert [title.value for title in app.title] == [PAGES[page]] and not app.error
    assert bool(app.info) == (
        page in ("path", "race", "vocabulary", "models", "compare", "overtime", "boilerplate", "tokenizer")
    ), "these have something of their own to do first"
    assert "proved bound" in sidebar(app) and "converged" in sidebar(app)


def test_the_solve_pages_first_address_leads_there(open_app):
    app = open_app("homotopy", k="5", solver="reweighting")
    assert [title.value for title in app.title] == ["Watch the solver"] and "K = 5 · count · reweighting" in sidebar(
        app
    )
    assert (in_address(app, "k"), in_address(app, "solver")) == ("5", "reweighting")


def test_a_deep_link_to_a_new_server_goes_through_the_router(warm, board):
    # no ``visited`` here: this is the very first run of a server's life
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    app = show(app, "pointers")
    assert [title.value for title in app.title] == ["Read"] and "2,000 documents" in sidebar(app)


# ---- corpora


def test_the_homotopy_of_the_sample_is_under_the_users_hand(open_app):
    app = open_app()
    run = path_job(app).so_far
    assert not run.stages, "read when it is looked at"
    app.session_state["first_stages"] = True
    sound(app.run())
    assert len(run.stages) == 11 and run.first == 1.0
    film = json.loads(app.session_state["scrub_film"][1].payload)
    assert [stage["cost"] for stage in film["stages"]] == [stage.objective for stage in run.stages]


def test_the_sample_is_there_with_its_counts(open_app):
    app = open_app()
    assert numbers(app) == SAMPLE_COUNTS
    assert app.session_state["corpus_id"] == "sample" and "corpus" not in app.query_params


def test_an_upload_is_read_and_can_be_read_otherwise(open_app):
    app = unfold(upload(open_app(), "tiny.csv", TINY.encode()))
    assert app.selectbox(key="column_tiny.csv").value == "text"
    assert app.dataframe[0].value["text"].tolist()[1] == "The dog sat on the mat."
    assert numbers(app) == {"Documents": "3", "Tokens": "37", "Types": "19", "Left out": "1"}
    assert in_address(app, "corpus") == app.session_state["corpus_id"]
    assert any("1 record left out" in expander.label for expander in app.expander)
    assert list(app.dataframe[-1].value.columns)[:2] == ["record", "text"]
    show(app, "solve")
    assert "tiny.csv" in sidebar(app) and "3 documents" in app.info[0].value
    app = show(app, "corpus")
    press(app, "Sample reviews")
    assert numbers(app) == SAMPLE_COUNTS


def test_another_column_and_fewer_documents(open_app):
    app = unfold(upload(open_app(), "tiny.csv", TINY.encode()))
    app.selectbox(key="column_tiny.csv").set_value("=who")
    [limit] = [box for box in app.number_input if box.label.startswith("Read at most")]
    limit.set_value(2)
    press(app, "Use this corpus")
    assert numbers(app)["Documents"] == "2" and app.dataframe[-1].value["text"].tolist() == ["=cmd()", "b"]


@pytest.mark.parametrize(
    ("name", "data", "documents"),
    [
        ("lines.txt", b"one two\n\nthree\n", 2),
        ("rows.tsv", b"n\ttext\n1\tone two three\n2\tfour five six\n", 2),
        ("rows.jsonl", b'{"text": "one two", "tags": ["a", {"b": 1}]}\n{"text": "three", "tags": null}\n', 2),
        (
            "names.csv",
            b"record,text,record ,body\n1,x,2,the longest text of these columns\n3,y,4,another long text here\n",
            2,
        ),
        ("<b>*name*</b> $x$.csv", TINY.encode(), 3),
        ("one.txt", b"word", 1),
    ],
)
def test_other_files(open_app, name, data, documents):
    app = use(open_app(), name, data)
    assert not app.error and numbers(app)["Documents"] == str(documents)


def test_paragraphs(open_app):
    app = unfold(upload(open_app(), "x.txt", b"one\ntwo\n\nthree four\n"))
    sound(app.toggle[0].set_value(True).run())
    assert len(app.dataframe[0].value) == 2
    press(app, "Use this corpus")
    assert numbers(app)["Documents"] == "2"


def traversal() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("../../evil.txt", "a b c")
    return packed.getvalue()


BAD_UPLOADS = {
    "empty.csv": (b"", "is empty"),
    "binary.csv": (bytes(range(256)) * 20, "NUL bytes|binary data"),
    "quotes.csv": (b'id,text\n1,fine\n2,"not closed\n3,more\n', "quoted field"),
    "line.jsonl": (b'{"text": "' + b"never closed " * 800_000, "line 1: not valid JSON"),
    "nan.csv": (b"id,text\n1,NaN\n2,\n3,NaN\n", "None of the 3 records|no column"),
    "numbers.csv": (b"id,n\n1,2\n3,4\n", ""),
    "traversal.zip": (traversal(), "leads out of the archive"),
    "page.csv": (b"<!DOCTYPE html><html><script>alert(1)</script>", "web page"),
    "marks.txt": (b"... !!!\n???\n", "None of the 2 records"),
    "<img src=x onerror=alert(1)>.csv": (b"", "is empty"),
}


@pytest.mark.parametrize("name", BAD_UPLOADS)
def test_a_bad_upload_is_one_sentence_and_keeps_the_corpus(open_app, name):
    data, message = BAD_UPLOADS[name]
    app = upload(open_app(), name, data)
    ready = [button for button in app.button if button.label == "Use this corpus"]
    if ready and not ready[0].disabled:
        press(app, "Use this corpus")
    if ready and ready[0].disabled:  # nothing looks like text: the user has to say
        assert app.selectbox(key=f"column_{name}").value is None and not app.error
    else:
        (error,) = app.error
        sentence = error.value.replace("\\", "")
        assert re.search(message, sentence), sentence[:300]
        assert len(sentence) < 500 and sentence.endswith(".") and "\n" not in sentence
        assert "cflengine" not in sentence, "the temporary file is not named"
    assert numbers(app) == SAMPLE_COUNTS and app.session_state["corpus_id"] == "sample"
    assert use(app).session_state["corpus_id"] != "sample", "the next upload works"


def test_a_line_of_ten_megabytes_is_read_and_not_sent_whole(open_app):
    app = unfold(
        upload(open_app(), "line.csv", b"text,more\n" + b"x" * (10 << 20) + b"," + b"y z " * (1 << 18) + b"\n")
    )
    sound(app.selectbox(key="column_line.csv").set_value("text").run())
    press(app, "Use this corpus")
    assert numbers(app)["Tokens"] == "1"
    for table in [table for table in app.dataframe if "text" in table.value]:
        assert table.value[["text", "more"]].map(len).max(axis=None) < 10_000


def test_an_upload_that_the_server_has_removed_is_asked_for_again(open_app, close_tab):
    app = upload(open_app(), "tiny.csv", TINY.encode())
    path = app.session_state["opened"]["path"]
    close_tab()  # a lost connection does that, and the session comes back
    assert not path.exists()
    sound(app.run())
    assert not any("cflengine" in error.value for error in app.error)
    assert numbers(use(app))["Documents"] == "3"


def test_a_path_on_this_computer(open_app, tmp_path):
    app = open_app()
    sound(app.text_input(key="path").set_value(str(tmp_path / "missing.csv")).run())
    assert "There is no file or folder" in app.error[0].value
    for n in range(3):
        (tmp_path / f"{n}.txt").write_text("some words here")
    sound(app.text_input(key="path").set_value(str(tmp_path)).run())
    assert numbers(app)["Documents"] == "3"


def test_newsgroups_without_a_network(open_app, monkeypatch):
    def load() -> Corpus:
        raise CorpusError("20 Newsgroups could not be fetched (URLError): it needs the network once.")

    monkeypatch.setattr(corpora, "load_newsgroups", load)
    app = open_app()
    press(app, "Fetch and use 20 Newsgroups")
    assert "needs the network once" in app.error[0].value and numbers(app) == SAMPLE_COUNTS
    monkeypatch.setattr(
        corpora, "load_newsgroups", lambda: Corpus.from_texts(["a post", "a post"], name="20 Newsgroups")
    )
    press(app, "Fetch and use 20 Newsgroups")
    assert numbers(app)["Documents"] == "2" and app.session_state["corpus_id"] == "20newsgroups"


# ---- addresses


def test_settings_last_across_pages_and_stand_in_the_address(open_app):
    app = open_app("solve")
    app.select_slider(key="widget_lam").set_value(0.3)
    app.slider(key="widget_k").set_value(5)
    sound(app.run())
    assert (in_address(app, "lam"), in_address(app, "k")) == ("0.3", "5")
    for page in ("toy", "corpus", "solve"):
        show(app, page)
        assert "λ = 0.3 · K = 5" in sidebar(app)
    assert app.select_slider(key="widget_lam").value == 0.3 and app.slider(key="widget_k").value == 5
    sound(app.slider(key="widget_k").set_value(3).run())
    assert "k" not in app.query_params, "a default needs no mention"


def test_an_address_restores_settings(open_app):
    app = open_app("solve", lam="3", k="2", weighting="tf")
    assert app.select_slider(key="widget_lam").value == 3.0 and app.slider(key="widget_k").value == 2
    assert app.session_state["settings"].weighting == "tf"


@pytest.mark.parametrize("lam", ["10", "0.02", "0.0316227766"])
def test_an_address_restores_any_certified_lam(open_app, lam):
    app = open_app("solve", lam=lam)
    assert app.session_state["settings"].lam == float(lam) and in_address(app, "lam") == lam
    assert app.select_slider(key="widget_lam").value == float(lam)


@pytest.mark.parametrize(
    "query", [{"lam": "nan"}, {"lam": "many"}, {"k": "12"}, {"k": "-1"}, {"weighting": "<b>"}, {"job": "x"}]
)
def test_nonsense_in_an_address_is_ignored(open_app, query):
    app = open_app("solve", **query)
    assert app.session_state["settings"] == state.Settings() and not app.error
    assert app.slider(key="widget_k").max == 8 and not set(query) & set(app.query_params)


def test_a_corpus_that_is_gone_is_said_to_be_gone(open_app):
    app = open_app("solve", corpus="0123456789abcdef", job="x")
    assert "not on this server" in sidebar(app) and "2,000 documents" in sidebar(app)
    assert not {"corpus", "job"} & set(app.query_params)


def test_the_address_is_plain_json_free_text(tiny):
    # what stands in the address are short names; nothing of the corpus's text may get there
    assert set(tiny.query_params) <= {"corpus", "lam", "k", "weighting", "job"}
    assert "cat" not in json.dumps(dict(tiny.query_params))


def test_what_a_look_at_the_corpus_found_is_said(open_app):
    long = "the same long text with many words that stands in this file more than one time "
    rows = "\n".join(f'{k},"{long}{"x" * (k > 1)}",{"train" if k else "test"}' for k in range(3))
    app = use(open_app(), "doubles.csv", f"n,text,split\n{rows}\n".encode())
    said = "\n".join(text.value for text in app.markdown)
    assert "1 document repeats an earlier one word by word (1)" in said
    assert "split: pages take it" in str(app.dataframe[-1].value) + "".join(str(d.value) for d in app.dataframe)


def test_every_figure_and_every_table_says_what_it_shows_to_those_who_do_not_see_it():
    for file in [ROOT / "app.py", *(ROOT / "pages").rglob("*.py")]:
        for call in ast.walk(ast.parse(file.read_text("utf-8"))):
            name = getattr(getattr(call, "func", None), "attr", "") if isinstance(call, ast.Call) else ""
            if name in ("dataframe", "plotly_chart", "data_editor"):
                assert "alt" in {keyword.arg for keyword in call.keywords}, f"{file.name}:{call.lineno}"
