"""The Boilerplate page: passages found, documents marked, the clean corpus taken away and gone on with."""

from __future__ import annotations

import io

import pandas as pd
import pytest
from test_results import downloads  # noqa: F401
from visiting import captions, numbers, press, show, sound, until, use

from cflengine import Corpus
from cflengine.text.tokens import Tokenizer
from pages.parts.boilerplate.run import BoilerplateRun
from pages.parts.boilerplate.view import has_words
from pages.parts.shared.corpora import recall
from pages.parts.shared.jobs import BOARD, Job

SIGNED = "<b>Yours</b> truly, John Smith from the small office at the lake"
TEXTS = [
    f"Something about dogs. {SIGNED}.",
    f"{SIGNED}!",
    "All new words stand here",
    f"And there is more to say here, my friends. {SIGNED}. The end.",
]


def csv() -> bytes:
    return pd.DataFrame({"text": TEXTS, "who": list("abcd")}).to_csv(index=False).encode()


@pytest.fixture
def looked(open_app):
    app = show(use(open_app(), "mails.csv", csv()), "boilerplate")
    press(app, "Look")
    until(lambda: not BOARD.get(app.session_state["boilerplate_id"]).active)
    return sound(app.run())


def test_passages_and_documents_are_found(looked):
    shown = numbers(looked)
    assert shown["Different passages"] == "2" and shown["Documents with one"] == "2"
    passages, documents = (frame.value for frame in looked.dataframe[:2])
    assert passages["documents"].tolist() == [2, 3] and "<b>Yours" in passages["passage"][0]
    assert documents["document"].iloc[0] == 1 and "each" not in documents
    assert "In 2 documents: 0, 3" in captions(looked)
    marked = next(one.body for one in looked.get("html") if "bp" in one.body)
    assert "&lt;b&gt;" in marked and "<b>" not in marked


def test_prices_are_there_after_a_solve(looked):
    show(looked, "phrases")
    press(looked, "Compress it")
    until(lambda: not BOARD.get(looked.session_state["path_id"]).active)
    app = show(looked, "boilerplate")
    assert "have changed since" in captions(app).replace("has", "have")
    press(app, "Look")
    until(lambda: not BOARD.get(app.session_state["boilerplate_id"]).active)
    documents = sound(app.run()).dataframe[1].value
    assert documents.set_index("document")["each"].idxmax() == 2, "the document that shares nothing costs most"


def test_the_clean_corpus(looked, downloads):  # noqa: F811
    show(looked, "boilerplate")
    frame = pd.read_csv(io.BytesIO(downloads["Clean corpus (CSV)"]()))
    assert frame["record"].tolist() == [0, 2, 3] and frame["who"].tolist() == ["a", "c", "d"]
    sound(looked.toggle(key="boilerplate_cut").set_value(True).run())
    frame = pd.read_csv(io.BytesIO(downloads["Clean corpus (CSV)"]()))
    assert "John" not in frame["text"][2] and frame["text"][2].startswith("And there is more")
    press(looked, "Go on with the clean corpus")
    loaded = recall(looked.session_state["corpus_id"])
    assert loaded.corpus.name == "mails, clean" and len(loaded.corpus) == 3


@pytest.mark.parametrize(
    ("passage", "words"),
    [
        ("In reply to John", True), ("---- 12 34 ----", False), ("| a | b | 3 |", False), ("Straße", False),
        ("这家酒店的服务很好", True), ("ราคาไม่แพง", True), ("第3页", False),
    ],
)  # fmt: skip
def test_what_a_passage_needs_to_have_words(passage, words):
    assert has_words(passage) == words


def test_what_is_cut_and_left_out():
    corpus, run = Corpus.from_texts(TEXTS), BoilerplateRun(8)
    run.run(Tokenizer()(TEXTS), None, Job("b", ("c",), print))
    assert [len(run.spans(d)) for d in range(4)] == [0, 1, 0, 1]
    texts, kept = run.clean(corpus, 1.0, True)
    assert kept.tolist()[:1] == [0] and texts[0] == TEXTS[0]
    assert all("John" not in text for text in texts[1:])
    assert run.clean(corpus, 0.0, False)[1].tolist() == [0, 2]


def test_what_is_counted_is_what_is_taken_away(open_app, downloads):  # noqa: F811
    """Also where nothing but a copy is left of a document, and where a passage's first copy is left out."""
    a, b = (" ".join(f"{name}{k}" for k in range(size)) for name, size in (("a", 100), ("b", 20)))
    texts = [a, f"{a} {b}", f"{b} {a}", b, "quite other words", a]
    app = use(open_app(), "copies.csv", pd.DataFrame({"text": texts}).to_csv(index=False).encode())
    press(show(app, "boilerplate"), "Look")
    until(lambda: not BOARD.get(app.session_state["boilerplate_id"]).active)
    sound(app.run())
    for most, cut, kept in ((80, False, [0, 3, 4]), (100, True, [0, 1, 4]), (100, False, [0, 1, 2, 3, 4, 5])):
        app.slider(key="boilerplate_most").set_value(most)
        sound(app.toggle(key="boilerplate_cut").set_value(cut).run())
        frame = pd.read_csv(io.BytesIO(downloads["Clean corpus (CSV)"]()))
        assert frame["record"].tolist() == kept and " ".join(frame["text"]).count("b19") == (
            1 if most < 100 or cut else 3
        )
        said = next(one.value for one in app.markdown if " stay: " in one.value)
        assert said.startswith(f"**{len(kept)} documents** of 6")
        assert not cut or "1 document gets shorter" in captions(app).replace("\u00a0", " ")


def test_a_stop_before_anything_is_told():
    job = Job("b", ("c",), print)
    job.stop.set()
    with pytest.raises(ValueError, match="before the passages"):
        BoilerplateRun(8).run(Tokenizer()(TEXTS), None, job)


def test_a_corpus_that_repeats_nothing(open_app):
    app = show(use(open_app(), "a.csv", b"text\nsome words\nmore words\n"), "boilerplate")
    press(app, "Look")
    until(lambda: not BOARD.get(app.session_state["boilerplate_id"]).active)
    assert any("No passage of 12 words" in info.value for info in sound(app.run()).info)
