"""The page Tokenizer: vocabularies of several sizes with their proofs, the user's own beside them, files."""

from __future__ import annotations

import json
import re
import shlex

import numpy as np
import pytest
from visiting import captions, numbers, press, show, until

from cflengine import SubwordTokenizer
from cflengine.cli import main
from cflengine.engine import InputError
from pages.parts.lab.vocabulary import Brought
from pages.parts.shared import state
from pages.parts.shared.jobs import Job
from pages.parts.subwords.controls import described
from pages.parts.subwords.run import CAN_COMPARE, SubwordChoice, SubwordRun, cut
from pages.parts.subwords.view import _beginning, _json, _visible, pieces_view, size_figure

WORDS = [
    f"{a}{b}{c}" for a in ("<b>", "over", "un", "*re*") for b in ("talk", "walk", "ö") for c in ("", "ing", "ed", "s")
]
TEXTS = [" ".join(np.random.default_rng(seed).choice(WORDS, 30)) for seed in range(40)]


SCALE = (200, 270, 300)


def finished(choice: SubwordChoice, brought: Brought | None = None, texts: list[str] = TEXTS) -> SubwordRun:
    run = SubwordRun(choice, SCALE)
    run.run(texts, brought, Job("t", ("c",), print))
    return run


@pytest.fixture(scope="module")
def small():
    return finished(SubwordChoice())


def test_every_size_has_its_vocabulary_and_proof(small):
    frame = small.table()
    assert frame["entries"].tolist() == [270, 300] == list(small.models)
    assert (frame["at_least"] <= frame["per_word"]).all() and (frame["per_word"].diff()[1:] < 0).all()
    result = small.models[300].result_
    assert frame["tokens"].iloc[1] == sum(len(small.models[300].encode(text)) for text in TEXTS) == result.objective
    before, came, gone = small.changes(300)
    assert before == 270 and len(came) - len(gone) == 30 and small.changes(270)[0] is None
    names = [trace.name for trace in size_figure(small).data]
    assert "found here" in names and "proved: none below" in names


def test_bpe_of_the_same_size_takes_as_many_tokens_as_its_library_says(small):
    pytest.importorskip("tokenizers")
    for size, (other, tokens) in small.bpe.items():
        assert len(other.names) == size
        assert tokens == sum(len(cut(other, text)) for text in TEXTS) >= small.models[size].result_.lower_bound


def test_pieces_make_up_the_text_they_are_cut_from(small):
    for text in (TEXTS[0], "naïve 漢字\n<i>x</i>"):
        pieces = cut(small.models[300], text)
        (document,), grams = pieces_view(pieces)
        shown = [re.sub(r"\\x([0-9a-f]{2})", lambda byte: f"⟨{byte[1].upper()}⟩", piece) for piece in pieces]
        assert document["text"] == "".join(shown) and document["pointers"]["end"][-1] == len(document["text"])
        assert {grams[g]["label"] for g in document["pointers"]["gram"]} == set(shown)
        if text == TEXTS[0]:
            assert document["text"] == text
    assert _visible(" a`b\n") == "␣aˋb⏎" and _visible("字\\xe3\\x81") == "字⟨E3 81⟩"


def test_bytes_of_a_character_that_is_cut_count_as_one():
    (document,), _ = pieces_view(["\\xe3\\x81", "\\x82本", "\\x41"])  # the last was typed like that
    assert document["text"] == "⟨E3 81⟩⟨82⟩本\\x41"
    assert document["pointers"]["length"] == [1, 2, 4]


def test_a_long_first_text_gives_its_first_words_on_one_line():
    assert _beginning("one\ntwo  three") == "one two three"
    first = _beginning("word\n" * 100)
    assert len(first) <= 200 and set(first.split()) == {"word"}


def test_a_tokenizer_of_ones_own_is_held_against_the_best(small):
    pytest.importorskip("tokenizers")
    brought = Brought("mine.json", _json(small.models[270]))
    run = finished(SubwordChoice(largest=270, theirs=brought.digest), brought)
    report = run.report
    assert report.tokens == small.models[270].result_.objective and report.above_at_most < 0.05
    assert "yours" in [trace.name for trace in size_figure(run).data]
    assert described(brought) == "Hugging Face Unigram of bytes, 270 entries"
    for wrong in (b"{}", brought.data[:-9], b"PK", b""):
        with pytest.raises(InputError, match="is no tokenizer"):
            described(Brought("cut.json", wrong))
    with pytest.raises(InputError, match="no tokenizer"):
        finished(SubwordChoice(), Brought("x.json", b"{}"))


def test_what_is_there_is_not_solved_again(small, monkeypatch):
    brought = Brought("mine.json", _json(small.models[270]))
    run = SubwordRun(SubwordChoice(theirs=brought.digest), SCALE)
    run.take_over(small)
    monkeypatch.setattr(SubwordRun, "_chosen", None)
    run.run(TEXTS, brought, Job("t", ("c",), print))
    assert run.models == small.models and run.bpe == small.bpe and run.n_running == small.n_running
    assert run.report is not None and not run.refused
    for other, taken in (
        (SubwordChoice(lowercase=True), []), (SubwordChoice(unit="character"), []), (SubwordChoice(largest=270), [270]),
    ):  # fmt: skip
        run = SubwordRun(other, SCALE)
        run.take_over(small)
        assert list(run.models) == taken


def test_a_stopped_vocabulary_is_solved_for_again():
    job, run = Job("t", ("c",), print), SubwordRun(SubwordChoice(), SCALE)
    chosen = run._chosen

    def stop_at_300(size, counts, job):
        if size == 300:
            job.stop.set()
        return chosen(size, counts, job)

    run._chosen = stop_at_300
    run.run(TEXTS, None, job)
    again = SubwordRun(SubwordChoice(), SCALE)
    again.take_over(run)
    assert list(run.models) == [270, 300] and list(again.models) == [270]


def test_what_the_users_own_cannot_do_costs_no_vocabulary(small, monkeypatch):
    def refuse(*_, **__):
        raise InputError("It knows <b>no</b> word.")

    monkeypatch.setattr("pages.parts.subwords.run.tokenizer_report", refuse)
    brought = Brought("mine.json", _json(small.models[270]))
    run = finished(SubwordChoice(theirs=brought.digest), brought)
    assert list(run.models) == [270, 300] and run.report is None and "no</b> word" in run.refused


def test_a_character_that_is_in_no_vocabulary_is_one_that_is_unknown():
    found = SubwordRun(SubwordChoice(unit="character"), (290,))
    found.run(["the cat and the hat", "The cat sat on the mat"] * 10, None, Job("t", ("c",), print))
    assert "".join(cut(found.models[290], "the 漢 cat")) == "the <0xE6><0xBC><0xA2> cat"
    if CAN_COMPARE:
        assert "<unk>" in cut(found.bpe[290][0], "the 漢 cat")


def test_small_corpora_and_empty_ones():
    run = finished(SubwordChoice(unit="character", lowercase=True), texts=["Abab abc"])
    (size,) = run.models
    assert size > 257 and run.models[size].result_.lower_bound <= run.models[size].result_.objective
    with pytest.raises(InputError, match="no word"):
        finished(SubwordChoice(), texts=["", ""])


def test_a_run_that_is_stopped_keeps_what_it_has():
    job = Job("t", ("c",), print)
    run = SubwordRun(SubwordChoice())
    job.stop.set()
    run.run(TEXTS, None, job)
    assert not run.models


def test_the_page_from_button_to_command(tiny, tmp_path, monkeypatch):
    app = show(tiny, "tokenizer")
    assert any("Choose" in info.value for info in app.info)
    app = press(app, "Choose")
    until(lambda: not state.BOARD.get(app.session_state["subwords_id"]).active, 120)
    app = app.run()
    assert not app.exception and not app.error
    shown = numbers(app)
    assert float(shown["At least, proved"]) <= float(shown["Tokens a word"])
    assert "Recomputed from the words" in captions(app)
    assert re.search(r"have \d{3} different pieces", captions(app))
    job = state.BOARD.get(app.session_state["subwords_id"])
    model = next(iter(job.result.models.values()))
    assert isinstance(model, SubwordTokenizer) and json.loads(_json(model))["model"]["type"] == "Unigram"
    (command,) = [code.value for code in app.code if "tokenizer" in code.value]
    (tmp_path / "tiny.csv").write_bytes(b"text\nthe cat sat on the mat\n")
    words = shlex.split(command)
    assert words[:2] == ["cflengine", "tokenizer"]
    monkeypatch.chdir(tmp_path)
    small = [word for word in words[3:] if not word.startswith(("--vocab", "--text", "--out"))]
    assert main(["tokenizer", "tiny.csv", *small, "--vocab-size=258", "--out=run", "--quiet"]) == 0
