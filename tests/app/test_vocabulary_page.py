"""The page on the user's own vocabulary: reading it, the proved figures, hostile input, and the page as it is met."""

from __future__ import annotations

import math
import re
import threading

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from visiting import job_of, numbers, press, show, sound, until

from cflengine import CompressiveFeatures, CorpusError, GuidedSettings
from cflengine.compression import count_uses
from cflengine.compression.codebook import count_matrix
from cflengine.compression.model.certificate import binary_solution
from cflengine.engine.files import frame_csv
from pages.parts.lab import vocabulary
from pages.parts.lab.vocabulary import Brought, measure, read_phrases, verdict
from pages.parts.shared import corpora, jobs
from pages.parts.shared.words import at_least

HOSTILE = ["<script>alert(1)</script>", "**bold** $x$ :red[a]", "=cmd()|' /C calc'!A0", "[x](javascript:alert(1))"]


@pytest.fixture(scope="module")
def reviews(warm) -> CompressiveFeatures:
    """The first 150 of the sample's reviews, solved well."""
    texts = corpora.recall(corpora.SAMPLE).corpus.texts[:150]
    return CompressiveFeatures(lam=1.0, max_gram=3, settings=GuidedSettings(tol=5e-3)).fit(texts)


def lines(*phrases: str, name: str = "") -> Brought:
    return Brought(name, "\n".join(phrases).encode())


# ---- reading


@pytest.mark.parametrize(
    ("name", "data", "phrases"),
    [
        ("", b"the cat\n\n  the   cat \nsat\r\non\n", ["the cat", "sat", "on"]),
        ("a.txt", b"'quoted\n=sum\n", ["'quoted", "=sum"]),
        ("a.txt", "schöne Blume\nüber\n".encode("utf-16"), ["schöne Blume", "über"]),
        ("a.txt", "ein schönes Bier\nüber den Bergen\n".encode("cp1252"), ["ein schönes Bier", "über den Bergen"]),
        ("a.csv", b'"gram","length"\n"\'- a",2\n"\'\'tis",1\n"the, cat",3\n', ["- a", "'tis", "the, cat"]),
        ("a.csv", b"the cat\n'tis true\nsat on\n", ["the cat", "'tis true", "sat on"]),
        ("a.CSV", b"phrase;count\nthe cat;3\non the;2\n", ["the cat", "on the"]),
        ("a.csv", b"count,gram\n3,the cat\n2,on the\n", ["the cat", "on the"]),
        ("a.csv", b"id,question\n1,the cat\n2,on the\n", ["the cat", "on the"]),
    ],
)
def test_what_is_read(name, data, phrases):
    assert read_phrases(Brought(name, data)) == phrases


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("", b" \n\n", "holds no phrase"),
        ("a.csv", b"", "is empty"),
        ("a.csv", b"gram,length\n,2\n", "holds no phrase"),
        ("a.txt", b"the\0cat", "NUL bytes"),
        ("a.txt", b"\xff\xfea", "not valid utf-16"),
        ("a.txt", b"x" * (vocabulary.MAX_BYTES + 1), "larger than 20 MB"),
        ("a.txt", b"x\n" * (vocabulary.MAX_LINES + 1), "more than 2,000,000 lines"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(name, data, message):
    with pytest.raises(CorpusError, match=message) as caught:
        read_phrases(Brought(name, data))
    sentence = str(caught.value)
    assert sentence.endswith(".") and "\n" not in sentence and len(sentence) < 200


# ---- measuring


def test_phrases_are_matched_and_the_others_are_sorted(reviews):
    words = [reviews.table_.vocabulary[t] for t in reviews.table_.tokens[:4]]
    check = measure(reviews, lines(" ".join(words[:2]).upper(), " ".join(words[:2]), " ".join(words[:4]), "xy xy xy"))
    assert (check.n_phrases, check.n_too_long, check.n_absent, check.n_grams) == (4, 1, 1, 1)
    assert check.absent == ("xy xy xy",) and check.too_long == (" ".join(words[:4]),)
    assert len(check.used) + check.n_unused == check.n_grams


def test_the_figures_are_those_of_the_encoding(reviews):
    mine = reviews.dictionary_["gram"].tolist()[::2]
    check = measure(reviews, lines(*mine))
    costs = reviews.costs_at(1.0)
    index = reviews.index_
    cost, covered, n_pointers, used = binary_solution(check.cover, index.gram_of, costs)
    assert covered and math.isclose(cost, check.cost)
    assert cost > reviews.result_.objective * 1.0001, "half a dictionary is a worse one"
    named = set(mine)
    counts = count_uses(reviews.index_, check.cover)
    assert counts.sum() == n_pointers and np.array_equal(counts > 0, used)
    assert set(check.used["gram"]) <= named and not set(check.unused["gram"]) & set(check.used["gram"])
    assert check.n_added == used.sum() - len(check.used)
    theirs = reviews.dictionary_.query("length > 1")
    lacking = theirs[~theirs["gram"].isin(named)].sort_values("count", ascending=False, kind="stable")
    assert check.n_lacking == len(lacking) and set(check.lacking["gram"]) <= set(lacking["gram"])
    assert check.lacking["count"].tolist() == lacking["count"].tolist()[: vocabulary.LISTED]


def test_pointers_are_counted_like_features(reviews):
    counts = count_uses(reviews.index_, reviews.result_.cover)
    features = count_matrix(reviews.encoding_, len(reviews.grams_))
    assert sorted(counts[counts > 0]) == sorted(np.asarray(features.sum(axis=0)).ravel())


@pytest.mark.parametrize("name", ["", "dictionary.csv"])
def test_the_solvers_own_dictionary_is_as_good_as_the_solver(reviews, name):
    data = frame_csv(reviews.dictionary_) if name else "\n".join(reviews.dictionary_["gram"]).encode()
    check = measure(reviews, Brought(name, data))
    assert check.n_grams == len(reviews.dictionary_) and check.n_absent == check.n_too_long == check.n_lacking == 0
    assert reviews.result_.lower_bound <= check.cost <= 1.0001 * reviews.result_.objective


def test_the_used_part_costs_no_more_when_it_comes_back(reviews):
    grams = [" ".join(pair) for pair in zip(reviews.table_.vocabulary, reviews.table_.vocabulary[1:], strict=False)]
    check = measure(reviews, lines(*reviews.dictionary_["gram"].tolist()[::3], *grams))
    again = measure(reviews, Brought("vocabulary-used.csv", frame_csv(check.used)))
    assert again.n_grams == len(check.used) and again.cost <= check.cost * (1 + 1e-12)


def test_nothing_that_matches_leaves_single_words(reviews):
    check = measure(reviews, lines("xyzzy plugh"))
    words = len(reviews.table_.vocabulary)
    assert math.isclose(check.cost, reviews.index_.n_tokens + words)
    assert (check.n_grams, check.n_added, len(check.used), len(check.unused)) == (0, words, 0, 0)


def test_no_claim_goes_too_far():
    assert "at most 10.01 %" in verdict(110.001, 105.0, 100.0)[0] and "4.76 % more" in verdict(110.001, 105.0, 100.0)[1]
    assert "at most 10.00 %" in verdict(110.0, 110.0, 100.0)[0] and "own dictionary" in verdict(110.0, 110.0, 100.0)[1]
    assert "4.54 % less" in verdict(105.0, 110.0, 100.0)[1]
    assert "before anything was proved" in verdict(105.0, 110.0, 0.0)[0]


# ---- the page


def send(app: AppTest, text: str) -> AppTest:
    app.text_area(key="widget_vocabulary").set_value(text)
    return press(app, "Measure it")


def texts(app: AppTest) -> str:
    return "\n".join(element.value for kind in ("markdown", "caption", "header") for element in app.main.get(kind))


@pytest.fixture
def page(tiny) -> AppTest:
    return show(tiny, "vocabulary")


def test_a_vocabulary_is_measured_and_kept(page):
    assert "Measure it" in page.info[0].value and not page.metric
    app = send(page, "the cat\nThe Cat\non the mat\nthe cat sat on the mat\nunicorn")
    shown, result = numbers(app), job_of(app).result.result_
    assert not app.error and not app.info
    assert shown["Proved bound"] == at_least(result.lower_bound) and shown["K-grams of yours"] == "2"
    said = texts(app)
    assert "5 phrases: 3 found in the corpus, 1 longer than K = 3 words, 1 not in the corpus" in said
    assert "Not in the corpus: unicorn" in said and "at most" in said
    show(app, "toy")
    app = show(app, "vocabulary")
    assert numbers(app) == shown and "unicorn" in app.text_area(key="widget_vocabulary").value


@pytest.mark.parametrize("name", ["", "mine.txt"])
def test_a_reload_finds_it_again(page, open_app, name):
    if name:
        page.file_uploader[0].upload(name, b"the cat\non the mat", "text/plain")
        press(page, "Measure it")
    else:
        send(page, "the cat\non the mat")
    assert "cat" not in str(dict(page.query_params))
    app = open_app("vocabulary", **dict(page.query_params))
    assert numbers(app) == numbers(page) and numbers(app)["K-grams of yours"] == "2"
    assert app.text_area(key="widget_vocabulary").value == ("" if name else "the cat\non the mat")
    assert f"From {name or 'the box'}" in texts(app).replace("\\", "")


def test_an_empty_box_is_said_to_be_empty(page):
    app = send(page, " \n ")
    (error,) = app.error
    assert error.value == "The box is empty: write a phrase a line, or choose a .txt or .csv file."
    assert not send(app, "the cat").error and numbers(app)["K-grams of yours"] == "1"


def test_a_file_counts_instead_of_the_box(page):
    model = job_of(page).result
    page.text_area(key="widget_vocabulary").set_value("unicorn")
    page.file_uploader[0].upload("<b>*mine*</b>.csv", frame_csv(model.dictionary_), "text/csv")
    app = press(page, "Measure it")
    assert float(numbers(app)["With your vocabulary"].replace(",", "")) <= 1.0001 * model.result_.objective + 0.5
    assert numbers(app)["K-grams of yours"] == str(len(model.dictionary_))
    assert r"\<b\>\*mine\*" in texts(app), "a file's name is shown as it is"
    assert "The file alone. To measure the phrases in the box" in texts(app)
    before = numbers(app)
    app.text_area(key="widget_vocabulary").set_value("")
    app = press(app, "Measure it")  # the uploader is empty by now, and so is the box
    assert numbers(app) == before and not app.error


def test_a_bad_file_is_one_sentence_and_the_next_one_works(page):
    page.file_uploader[0].upload("<b>$bad$.txt", b"the\0cat", "text/plain")
    app = press(page, "Measure it")
    (error,) = app.error
    assert "NUL bytes" in error.value and r"\<b\>\$bad\$" in error.value and not app.metric
    assert not send(app, "the cat").error


def test_hostile_phrases_are_shown_as_they_are(page):
    app = send(page, "\n".join([*HOSTILE, "the mat", *(f"absent{n}" for n in range(30))]))
    said = texts(app)
    assert not app.error and not any(phrase in said for phrase in HOSTILE)
    assert not re.search(r"(?<!\\)<script|(?<!\\)\$x|(?<!\\)\[x|(?<!\\):red", said)
    assert said.count("absent") == vocabulary.SHOWN and "… and 10 more" in said


def test_what_takes_long_is_measured_in_the_background(page, monkeypatch):
    expected = numbers(send(page, "the cat\nthe dog"))
    monkeypatch.setattr(vocabulary, "PATIENCE_S", 0.0)
    app = send(page, "the dog\nthe cat")
    until(lambda: "vocabulary_check" in app.session_state and not (
        app.session_state["vocabulary_job"] and app.session_state["vocabulary_job"].active))  # fmt: skip
    assert numbers(sound(app.run())) == expected


def test_a_busy_solver_is_waited_for(page, board):
    go_on = threading.Event()
    board.submit(jobs.Job("long", ("x",), lambda job: go_on.wait(30)))
    app = send(page, "the cat")
    assert "Measuring … Queued: 1 solve before yours." in app.info[0].value and not app.error and not app.metric
    go_on.set()
    until(lambda: not app.session_state["vocabulary_job"].active)
    assert numbers(sound(app.run()))["K-grams of yours"] == "1" and not app.info
