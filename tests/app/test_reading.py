"""Corpora that take long to read: progress, Stop, other pages meanwhile, failures."""

from __future__ import annotations

import gzip
import io
import threading

import pandas as pd
import pytest
from visiting import (
    TINY,
    in_address,
    markdown,
    pathed,
    press,
    read,
    show,
    sidebar,
    solved,
    sound,
    unfold,
    until,
    upload,
)

from cflengine.engine import Stopped, Watch
from cflengine.text import Tokenizer, read_corpus, reading_watched
from pages.parts.corpus import reading, sources
from pages.parts.export.snippets import sklearn_lines
from pages.parts.shared import corpora, jobs, state
from pages.parts.shared.commands import command_line
from pages.parts.shared.jobs import BOARD


@pytest.fixture
def slow(monkeypatch):
    """Reading that waits to be let go, and shows its place meanwhile; no script run waits for it."""
    go_on, read_it = threading.Event(), sources.read_corpus
    monkeypatch.setattr(reading, "PATIENCE_S", 0.01)

    def waiting(path, **options):
        until(lambda: go_on.wait(0.01) or reading_stopped())
        return read_it(path, **options)

    def reading_stopped() -> bool:
        from cflengine.text.reading.budget import ask_watch

        ask_watch()
        return False

    monkeypatch.setattr(sources, "read_corpus", waiting)
    yield go_on
    go_on.set()


def errors(app) -> list[str]:
    return [error.value.replace("\\", "") for error in app.error]


def begin(app, name="long.csv", data=b""):
    return sound(app.file_uploader[0].upload(name, data or TINY.encode(), "text/csv").run())


def test_the_page_goes_on_while_a_corpus_is_read(open_app, slow):
    app = begin(open_app())
    assert "reviews.csv" in sidebar(app), "the corpus from before is still in use"
    assert "Reading" in sidebar(app) and "reading …" in sidebar(app)
    assert BOARD.get(in_address(app, "reading")).active
    show(app, "phrases")
    assert "Reading" in sidebar(app)
    slow.set()
    read(app)
    assert "long.csv" in sidebar(app) and "3 documents" in sidebar(app), "it is there, whatever page is looked at"
    assert in_address(app, "reading") is None


def test_the_same_texts_under_another_name_have_that_name(open_app):
    app = upload(open_app(), "first.csv", TINY.encode())
    assert "first.csv" in sidebar(app)
    assert "second.csv" in sidebar(upload(app, "second.csv", TINY.encode()))


def test_what_was_done_on_another_corpus_is_found_again(open_app, board, monkeypatch):
    app = pathed(solved(upload(open_app(), "mine.csv", TINY.encode()), lam=0.5))
    mine = {name: app.session_state[name] for name in ("corpus_id", "job_id", "path_id")}
    show(app, "corpus")
    assert not [button for button in app.button if button.label.startswith("Back to")]
    app.session_state["weights_ties"] = "of a job of mine.csv"
    app = upload(app, "other.csv", TINY.replace("cat", "goat").encode())
    assert "weights_ties" not in app.session_state
    assert app.session_state["job_id"] is None and app.session_state["path_id"] is None
    for number in range(2 * jobs.KEEP_JOBS):  # the work of others pushes out nothing that there is a way back to
        board.add(finished(str(number)))
    press(app, r"Back to mine\.csv")
    assert {name: app.session_state[name] for name in mine} == mine
    assert app.session_state["settings"].lam == 0.5 and in_address(app, "path") == mine["path_id"]
    assert len(shown_points(show(app, "phrases"))) == 3
    press(show(app, "corpus"), r"Back to other\.csv")
    assert app.session_state["path_id"] is None
    monkeypatch.setattr(state, "KEEP_BYTES", 1)  # too much to be held beside what is shown
    for number in range(2 * jobs.KEEP_JOBS):
        board.add(finished(str(number)))
    show(app, "phrases")
    for number in range(2 * jobs.KEEP_JOBS):
        board.add(finished(str(number)))
    press(show(app, "corpus"), r"Back to mine\.csv")
    assert app.session_state["corpus_id"] == mine["corpus_id"] and app.session_state["path_id"] is None


def finished(name: str) -> jobs.Job:
    """A job that is done, of another session."""
    done = jobs.Job(name, ("elsewhere",), print)
    done.state = jobs.DONE
    return done


def shown_points(app):
    return BOARD.get(app.session_state["path_id"]).so_far.points


def test_html_is_named_and_taken_out_at_a_press(open_app):
    rows = "".join(f"<b>good</b> beer {k}.<br />Salt &amp; pepper,{k % 2}\n" for k in range(12))
    app = upload(open_app(), "web.csv", ("text,label\n" + rows).encode())
    assert "12 documents hold HTML, such as <b>" in markdown(app).replace("\\", "")
    app = read(press(app, "Take the HTML out"))
    assert corpora.recall(app.session_state["corpus_id"]).corpus.texts[0] == "good beer 0.\nSalt & pepper"
    assert "Take the HTML out" not in [button.label for button in app.button]
    assert "HTML was taken out of 12 of 12 records\\." in [one.value for one in app.warning]
    loaded = corpora.recall(app.session_state["corpus_id"])
    assert "--strip-html" in command_line("compress", loaded, {}, "run").split()
    assert "map(without_html)" in sklearn_lines(loaded)


def test_another_encoding_can_be_chosen(open_app):
    """Of a text too short to tell its language from others in the same alphabet's place."""
    rows = "text,label\n" + "".join(f"привет пиво {k},a\n" for k in range(8))
    app = unfold(upload(open_app(), "beer.csv", rows.encode("koi8-r")))
    (box,) = [box for box in app.selectbox if box.label == "Encoding"]
    sound(box.set_value("koi8-r").run())
    press(app, "Use this corpus")
    loaded = corpora.recall(app.session_state["corpus_id"])
    assert loaded.corpus.texts[0] == "привет пиво 0" and loaded.options["encoding"] == "koi8-r"
    assert "--encoding=koi8-r" in command_line("compress", loaded, {}, "run").split()
    (box,) = [box for box in app.selectbox if box.label == "Encoding"]
    assert box.value == "koi8-r"


def test_two_tabs_with_the_address_of_one_reading(open_app, slow):
    app = begin(open_app())
    other = open_app(reading=in_address(app, "reading"))
    slow.set()
    read(app)
    sound(other.run())
    assert "long.csv" in sidebar(app) and not other.error


def test_a_reading_that_is_stopped_leaves_the_corpus_alone(open_app, slow):
    app = begin(open_app())
    sound(app.button(key="stop_reading").click().run())
    read(app)
    assert "Reading was stopped; the corpus from before is still here." in errors(app)
    assert "reviews.csv" in sidebar(app)


def test_a_second_upload_takes_the_place_of_the_first(open_app, slow):
    app = begin(open_app())
    first = BOARD.get(in_address(app, "reading"))
    begin(app, "other.csv", b"text\na cat and a dog\na dog and a cat\n")
    until(lambda: not first.active)
    slow.set()
    read(app)
    assert "other.csv" in sidebar(app) and not app.error


def test_what_fails_unexpectedly_is_said_and_kept_out(open_app, monkeypatch):
    def broken(path, **options):
        raise RuntimeError("no such thing")

    app = open_app()
    monkeypatch.setattr(sources, "read_corpus", broken)
    read(begin(app))
    assert "Reading failed unexpectedly; the terminal has the details." in errors(app)
    assert "reviews.csv" in sidebar(app)


def test_a_watch_is_told_of_bytes_and_documents(tmp_path):
    path = tmp_path / "many.txt.gz"
    path.write_bytes(gzip.compress("\n".join(f"document {i} of many" for i in range(50_000)).encode()))
    seen = []

    class Recorder(Watch):
        def at(self, done):
            seen.append((self.stage, done))
            super().at(done)

    watch = Recorder()
    watch.begin("reading", "bytes", path.stat().st_size)
    with reading_watched(watch):
        corpus = read_corpus(path)
    assert 0 < max(done for _, done in seen) <= path.stat().st_size and watch.fraction <= 1
    for pattern in (Tokenizer().pattern, r"\w\w+"):
        table = Tokenizer(pattern)(corpus.texts, watch)
        assert watch.stage == "counting words" and watch.total == 50_000 == len(table.doc_ptr) - 1
    assert [done for _, done in seen] != sorted(done for _, done in seen), "each stage counts from its own start"


@pytest.mark.parametrize("pattern", [Tokenizer().pattern, r"\w\w+"])
def test_a_watch_stops_reading_and_counting(tmp_path, pattern):
    path = tmp_path / "some.txt"
    path.write_text("\n".join(f"document {i}" for i in range(1000)))
    asked = []

    def poll() -> bool:
        asked.append(1)
        return len(asked) < 3

    with reading_watched(Watch(poll)), pytest.raises(Stopped):
        for _ in range(3):
            read_corpus(path)
    asked.clear()
    with pytest.raises(Stopped):
        for _ in range(3):
            Tokenizer(pattern)(["a few words"] * 1000, Watch(poll))


def test_what_a_workbook_begins_with_is_read_once(open_app, monkeypatch):
    seen = []
    inner = sources.preview_corpus
    monkeypatch.setattr(sources, "preview_corpus", lambda *given, **more: seen.append(more) or inner(*given, **more))
    book = io.BytesIO()
    pd.DataFrame({"text": ["a cat", "a dog"]}).to_excel(book, index=False)
    app = upload(open_app(), "beer.xlsx", book.getvalue())
    assert len(seen) == 1, "how it may be read otherwise is folded away"
    unfold(app)
    assert len(seen) == 2 and len(app.dataframe[0].value) == 2
    sound(app.run())
    assert len(seen) == 2
