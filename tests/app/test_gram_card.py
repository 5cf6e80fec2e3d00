"""The card of a K-gram on the Pointers page: ledger, lost occurrences, constraints."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from visiting import captions, job_of, numbers, show, sound, until

from cflengine import Corpus
from cflengine.compression.analysis.ledger import explain, ledger
from cflengine.text import Phrasebook
from pages.parts.read import documents, gram_card
from pages.parts.shared import corpora, selection


@pytest.fixture
def chosen(tiny):
    """The tiny corpus solved, on the Pointers page, with its longest K-gram chosen; the row in the dictionary."""
    model = job_of(tiny).result
    feature = int(model.dictionary_["length"].to_numpy().argmax())
    show(tiny, "pointers")  # which forgets K-grams of other results
    tiny.session_state["gram"] = feature
    return sound(tiny.run()), model, feature


def corpus_of(app) -> Corpus:
    return corpora.recall(app.session_state["corpus_id"]).corpus


def markdown(app) -> str:
    return " ".join(block.value for block in app.markdown)


def test_the_card_shows_the_ledger(chosen):
    app, model, feature = chosen
    entry, gram = model.dictionary_.iloc[feature], int(model.gram_ids_[feature])
    found = explain(model.index_, model.costs_at(model.lam), model.result_.cover, gram)
    shown = numbers(app)
    assert shown["Uses"] == str(entry["count"]) and shown["Stored once for"] == f"{entry['cost']:,.0f}"
    assert shown["Stands in the text"] == f"{len(found.positions):,} times"
    assert shown["Saves"] == f"{found.saves:,.2f}"
    assert "Runner-up" in captions(app)


def test_the_dictionary_says_what_each_gram_saves(chosen):
    app, model, _ = chosen
    book = ledger(model.index_, model.costs_at(model.lam), model.result_.cover)
    until(lambda: app.session_state["asked_savings"][1].done())  # the page does not wait for it
    sound(app.run())
    table = next(frame.value for frame in app.dataframe if "saves" in frame.value)
    saves = dict(zip(book.gram.tolist(), book.saves, strict=True))
    assert table["saves"].to_numpy() == pytest.approx([saves[g] for g in model.gram_ids_[table.index]])


def test_a_forbidden_gram_has_its_price(chosen):
    app, model, feature = chosen
    gram = int(model.gram_ids_[feature])
    sound(app.button(key=f"forbid_{gram}").click().run())
    job_id, about, force, _ = app.session_state["constraint"]
    constrained = app.session_state["asked_constraint"][1].result()
    assert (job_id, about, force) == (job_of(app).id, gram, False)
    assert gram not in constrained.result_.dictionary and constrained.result_.certificate.covered
    assert "Without" in markdown(app) and "proved: between" in markdown(app)


def test_a_phrase_is_forced_in_or_refused(chosen):
    app, model, _ = chosen
    index = model.index_
    book = Phrasebook(corpus_of(app).texts, model.table_, index)
    absent = int(np.setdiff1d(np.arange(index.n_grams), model.result_.dictionary)[-1])
    phrase = gram_card.gram_names(book, [absent]).strip("“”")
    (submit,) = [button for button in app.button if button.label == "Solve again"]
    app.text_input(key="force_phrase").set_value(phrase)
    sound(submit.click().run())
    assert app.session_state["forced"] == absent and "With “" in markdown(app)
    for words, answer in (("zebra <b>*x*</b>", "stands nowhere"), (model.dictionary_["gram"].iloc[0], "already")):
        app.text_input(key="force_phrase").set_value(words)
        (submit,) = [button for button in app.button if button.label == "Solve again"]
        sound(submit.click().run())
        assert answer in " ".join(box.value for box in [*app.warning, *app.info])


def test_lost_occurrences_name_their_winners(tiny):
    model = job_of(tiny).result
    costs, cover = model.costs_at(model.lam), model.result_.cover
    corpus = corpus_of(tiny)
    book = Phrasebook(corpus.texts, model.table_, model.index_)
    seen = 0
    for gram in model.result_.dictionary.tolist():
        found = explain(model.index_, costs, cover, gram)
        table = gram_card.lost_occurrences(model, corpus, book, found)
        assert len(table) == int((~found.used).sum())
        seen += len(table)
        for _, row in table.iterrows():
            assert row["K-gram"].lower() in corpus.texts[row["document"]].lower().replace("\n", " ")
            assert row["lost to"].startswith("“")
    assert seen, "a corpus in which some K-gram loses somewhere"


@pytest.mark.parametrize(("own", "expected"), [({}, 4), ({"following": 10}, 0), ({"following": 0}, 0)])
def test_a_document_that_uses_a_phrase_comes_on_show_where_none_there_does(own, expected, monkeypatch):
    """As many are there as the page begins with, or was told."""

    class State(dict):
        __getattr__, __setattr__ = dict.__getitem__, dict.__setitem__

    state = State(document=0, **own)
    for module in (documents, selection):
        monkeypatch.setattr(module, "st", SimpleNamespace(session_state=state))
    monkeypatch.setattr(documents, "_usual", lambda table, first: 0)  # long documents: one at a time
    table = SimpleNamespace(doc_ptr=np.arange(7))
    encoding = SimpleNamespace(document=np.array([0, 4, 4]), gram=np.array([1, 0, 0]))
    documents.go_to_use(SimpleNamespace(encoding_=encoding), table, 0)
    assert state.document == expected
    state.document = 2
    documents.go_to_use(SimpleNamespace(encoding_=encoding), table, 1, np.array([4, 5]))
    assert state.document == 0, "where no document of the group uses it, another one"
    documents.go_to_use(SimpleNamespace(encoding_=encoding), table, 1, np.array([4, 5]))
    assert state.document == 0, "one that is on show uses it, though it is none of the group"
