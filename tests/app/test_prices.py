"""Prices of tokens: sums over documents, sentences and words, the scale of colours, and the page that shows them."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest
from visiting import captions, choose_rows, job_of, show, solved, sound

from cflengine import CompressiveFeatures, Corpus
from cflengine.compression.model.certificate import dual_bound
from cflengine.text.sentences import sentence_spans
from cflengine.text.tokens import DEFAULT_TOKEN_PATTERN, Tokenizer
from pages.parts.read import explorer, prices

ROOT = Path(__file__).resolve().parents[2]
TEXTS = [
    "The cat sat on the mat; the cat sat. Dr. Smith sat on the mat!\n\nThe end? The cat sat, e.g. on the mat",
    "The dog sat on the mat.",
    "  A cat, a dog and 👩‍🚀 on the mat!\n\n\nThe cat\tsat...  ",
    "猫坐在垫子上。狗坐在垫子上。",
    "x",
]
ROUNDING = 1e-12  # of sums in float64, relative


SOLVES = [(1.0, 3, "homotopy"), (0.2, 5, "homotopy"), (0.0, 2, "homotopy"), (8.0, 4, "guided"), (0.2, 3, "reweighting")]


@pytest.fixture(scope="module", params=SOLVES, ids=str)
def model(request, warm):
    lam, K, solver = request.param
    return CompressiveFeatures(lam=lam, max_gram=K, solver=solver).fit(TEXTS)


@pytest.fixture(scope="module")
def book(model):
    return prices.price_book.__wrapped__("job", model, Corpus.from_texts(TEXTS))


# ---- sums


def test_documents_and_sentences_add_up_to_the_proved_bound(model, book):
    result, table = model.result_, model.table_
    alpha = result.alpha
    proved, _ = dual_bound(alpha, model.index_.gram_of, model.costs_at(model.lam))
    assert result.lower_bound == pytest.approx(proved, rel=1e-9)
    assert book.bound == result.lower_bound and book.documents["tokens"].sum() == table.n_tokens
    sentences = prices.sentence_prices(alpha, table, TEXTS, range(len(TEXTS)))
    for frame in (book.documents, sentences):
        assert math.fsum(frame["price"]) == pytest.approx(result.lower_bound, rel=ROUNDING)
    assert math.fsum(book.documents["share"]) == pytest.approx(1.0, rel=ROUNDING)
    of_documents = sentences.groupby("document")[["price", "tokens"]].sum()
    assert of_documents["tokens"].tolist() == book.documents["tokens"].tolist()
    assert np.allclose(of_documents["price"], book.documents["price"], rtol=ROUNDING, atol=0)
    words = book.word_mean * book.word_count
    assert math.fsum(words) == pytest.approx(result.lower_bound, rel=ROUNDING)


@st.composite
def priced_documents(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Prices, and documents some of which hold no token."""
    sizes = draw(st.lists(st.integers(0, 6), max_size=8))
    price = st.floats(0, 10, allow_subnormal=False)
    alpha = draw(st.lists(price, min_size=sum(sizes), max_size=sum(sizes)))
    return np.array(alpha, dtype=np.float64), np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@given(priced_documents())
def test_documents_with_and_without_tokens(case):
    alpha, doc_ptr = case
    frame = prices.document_prices(alpha, doc_ptr)
    total = math.fsum(alpha)
    assert frame["document"].tolist() == list(range(len(doc_ptr) - 1))
    for row in frame.itertuples():
        own = alpha[doc_ptr[row.document] : doc_ptr[row.document + 1]]
        price = math.fsum(own)
        assert row.price == pytest.approx(price, rel=ROUNDING) and row.tokens == len(own)
        assert row.share == pytest.approx(price / total if total else 0.0, rel=1e-9)
        assert row.each == pytest.approx(price / len(own), rel=ROUNDING) if len(own) else math.isnan(row.each)


def test_a_token_belongs_to_the_sentence_it_starts_in():
    table = Tokenizer(DEFAULT_TOKEN_PATTERN, lowercase=True)(TEXTS)
    alpha = np.random.default_rng(1).random(table.n_tokens)
    frame = prices.sentence_prices(alpha, table, TEXTS, [2, 0, 3])
    assert list(dict.fromkeys(frame["document"])) == [2, 0, 3]
    assert len(frame[frame["document"] == 0]) == len(sentence_spans(TEXTS[0])) > 3
    for row in frame.itertuples():
        inside = [
            i
            for i in range(table.doc_ptr[row.document], table.doc_ptr[row.document + 1])
            if row.start <= table.start[i] < row.end
        ]
        assert row.tokens == len(inside) and row.price == pytest.approx(math.fsum(alpha[inside]), rel=ROUNDING)
        assert row.sentence == " ".join(TEXTS[row.document][row.start : row.end].split())


@pytest.mark.parametrize("pattern", [r"(?s).", r"\s+", r"cat. S|\w+"])
def test_every_token_is_counted_whatever_the_pattern(pattern):
    # white space as tokens, tokens before the first sentence, and tokens across the end of one
    texts = ["  Cat. Sat. Cat. Sat.\n\nEnd.  ", " \n ", ""]
    table = Tokenizer(pattern, lowercase=False)(texts)
    alpha = np.arange(1.0, table.n_tokens + 1)
    frame = prices.sentence_prices(alpha, table, texts, range(3))
    assert frame["price"].sum() == alpha.sum() and frame["tokens"].sum() == table.n_tokens


def test_no_documents_and_long_sentences():
    table = Tokenizer(DEFAULT_TOKEN_PATTERN, lowercase=True)(["word " * 500])
    alpha = np.ones(500)
    assert prices.sentence_prices(alpha, table, ["word " * 500], []).empty
    (row,) = prices.sentence_prices(alpha, table, ["word " * 500], [0]).itertuples()
    assert (row.price, row.tokens, row.each) == (500, 500, 1)
    assert len(row.sentence) == prices.SNIPPET and row.sentence.endswith("…")


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 5)), max_size=30))
def test_words_cost_what_their_tokens_cost_on_average(pairs):
    tokens = np.array([word for word, _ in pairs], dtype=np.int32)
    mean, count = prices.word_prices(np.array([price for _, price in pairs], dtype=np.float64), tokens, 6)
    for word in range(6):
        own = [price for other, price in pairs if other == word]
        assert count[word] == len(own)
        assert mean[word] == pytest.approx(math.fsum(own) / len(own)) if own else math.isnan(mean[word])


# ---- one token


def test_what_is_told_about_a_token(model, book):
    table, encoding, alpha = model.table_, model.encoding_, model.result_.alpha
    for d in range(table.n_documents):
        a, e = table.doc_ptr[d : d + 2].tolist()
        for i in range(a, e):
            told = prices.token_price(model, book, d, int(table.start[i]))
            form = table.vocabulary[table.tokens[i]]
            same = [alpha[j] for j in range(table.n_tokens) if table.vocabulary[table.tokens[j]] == form]
            assert (told.word, told.price, told.count) == (form, alpha[i], len(same))
            assert told.mean == pytest.approx(sum(same) / len(same))
            less = sum(price < alpha[i] - 1e-6 * alpha.max() for price in same)
            assert told.cheaper == (less / (len(same) - 1) if len(same) > 1 else 0)
            expected = [
                (int(encoding.gram[p]), sum(alpha[a + s] for s in range(first, first + length)))
                for p in range(len(encoding))
                for first, length in [(int(encoding.start[p]), int(encoding.length[p]))]
                if encoding.document[p] == d and first <= i - a < first + length
            ]
            assert expected, "every token is covered"
            assert [gram for gram, _ in told.pointers] == [gram for gram, _ in expected]
            assert np.allclose([words for _, words in told.pointers], [words for _, words in expected])
    assert prices.token_price(model, book, 0, 1) is None and prices.token_price(model, book, 0, 10_000) is None


# ---- scale


@given(st.lists(st.floats(1e-4, 1e4), min_size=1, max_size=60), st.integers(-3, 6))
def test_the_scale_ends_at_a_round_number_near_the_quantile(values, power):
    alpha = np.array(values) * 10.0**power
    scale = prices.price_scale(alpha)
    aim = np.quantile(alpha, prices.QUANTILE)
    assert aim / 1.01 <= scale.top * (1 + 1e-9) and scale.top <= 1.34 * aim
    assert scale.above == np.mean(alpha > scale.top) and scale.highest == alpha.max()
    for tick in (scale.top / 4, scale.top / 2, scale.top):
        assert float(f"{tick:.3g}") == pytest.approx(tick, rel=1e-9), "short to write"


def test_a_few_extremes_do_not_stretch_the_scale():
    alpha = np.concatenate([np.linspace(0, 1, 1000), [500.0] * 5])
    scale = prices.price_scale(alpha)
    assert scale.top == 1.0 and scale.above == pytest.approx(5 / 1005) and scale.highest == 500


def test_the_scale_of_a_large_corpus_is_that_of_a_sample(monkeypatch):
    alpha = np.random.default_rng(2).random(20_000) ** 2
    whole = prices.price_scale(alpha)
    monkeypatch.setattr(prices, "SAMPLED", 2_000)
    assert prices.price_scale(alpha) == whole


def test_scales_of_next_to_nothing():
    assert prices.price_scale(np.zeros(5)) == prices.PriceScale(1.0, 0.0, 0.0)
    assert prices.price_scale(np.zeros(0)).top == 1.0
    assert prices.price_scale(np.array([0.0] * 999 + [3.0])).top == pytest.approx(3.2)


# The colours, computed as the style sheet describes them: a straight path in Oklab (Ottosson 2020).
_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
# Machado, Oliveira, Fernandes 2009, severity 1, on linear RGB: protanopia, deuteranopia, tritanopia
_BLIND = np.array(
    [
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ]
)
_LUMINANCE = np.array([0.2126, 0.7152, 0.0722])


def linear(colour: str) -> np.ndarray:
    rgb = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def heat_path(page: str, hot: str) -> np.ndarray:
    """Linear RGB of the scale's 21 colours, float64 (21, 3)."""
    a, b = (_TO_LAB @ np.cbrt(_TO_LMS @ linear(colour)) for colour in (page, hot))
    lab = a + (b - a) * np.linspace(0, 1, 21)[:, None]
    return np.clip((np.linalg.inv(_TO_LMS) @ (np.linalg.inv(_TO_LAB) @ lab.T) ** 3).T, 0, 1)


def test_the_colours_are_in_order_for_every_eye_and_text_stays_readable_on_them():
    css = ROOT.joinpath("pages/parts/components/browser/text_view.css").read_text("utf-8")
    ((light, dark),) = re.findall(r"--hot: light-dark\((#\w+), (#\w+)\)", css)
    assert re.search(r"\.heat \.p \{[^}]*color-mix\(in oklab, var\(--hot\) var\(--level\)", css)
    for page, hot, text in (("#ffffff", light, 0.0), ("#0e1117", dark, 1.0), ("#191815", dark, 1.0)):
        path = heat_path(page, hot)
        luminance = path @ _LUMINANCE
        contrast = (np.maximum(luminance, text) + 0.05) / (np.minimum(luminance, text) + 0.05)
        assert contrast.min() >= 6
        steps = np.diff(_TO_LAB @ np.cbrt(_TO_LMS @ path.T), axis=1)
        size = np.linalg.norm(steps, axis=0)
        assert np.allclose(size, size[0], rtol=0.02) and size[0] > 0.015, "even, and wide enough to be seen"
        for matrix in _BLIND:
            seen = np.clip(path @ matrix.T, 0, 1) @ _LUMINANCE
            assert np.all(np.diff(seen) * (1 if text else -1) > 0)
    steps = dict(re.findall(r"\.q(\d+) \{ --q: (\d+); \}", css))
    assert steps == {str(k): str(k) for k in range(21)}


# ---- the page


@pytest.fixture
def priced(tiny) -> AppTest:
    show(tiny, "pointers")
    return sound(tiny.segmented_control(key="widget_mode").set_value(explorer.PRICES).run())


def drawn(monkeypatch, click: dict | None = None) -> list[SimpleNamespace]:
    """What the text view was given on each run; ``click`` is returned once."""
    calls: list[SimpleNamespace] = []

    def view(documents, **named):
        calls.append(SimpleNamespace(documents=documents, **named))
        return click if len(calls) == 1 else None

    monkeypatch.setattr(explorer, "text_view", view)
    return calls


def test_prices_are_shown_beside_their_sums(priced):
    result = job_of(priced).result.result_
    in_all = result.alpha.sum()
    assert in_all <= result.lower_bound * (1 + 1e-9)  # branching trees may prove more
    assert "**price**" in captions(priced) and f"{in_all:,.0f} in all" in captions(priced)
    sentences = priced.dataframe[0].value
    assert list(sentences.columns) == ["each", "price", "tokens", "document", "sentence"]
    assert sentences["each"].is_monotonic_decreasing
    assert sentences["price"].sum() == pytest.approx(in_all)
    sound(priced.segmented_control(key="price_table").set_value("Documents").run())
    documents = priced.dataframe[0].value
    assert documents["tokens"].sum() == 37 and documents["share"].sum() == pytest.approx(100)
    assert "100.0 % of the proved bound" in captions(priced)
    sound(priced.number_input(key="least_tokens").set_value(10).run())
    assert 0 < len(priced.dataframe[0].value) < 3 and (priced.dataframe[0].value["tokens"] >= 10).all()
    sound(priced.number_input(key="least_tokens").set_value(1000).run())
    assert priced.dataframe[0].value.empty


def test_the_mode_lasts_while_other_pages_are_visited(priced):
    show(priced, "features")
    assert show(priced, "pointers").segmented_control(key="widget_mode").value == explorer.PRICES
    sound(priced.segmented_control(key="widget_mode").set_value(explorer.POINTERS).run())
    assert priced.text_input(key="filter") is not None


def test_a_row_of_sentences_is_marked_in_the_text(priced, monkeypatch):
    calls = drawn(monkeypatch)
    sentences = priced.dataframe[0].value
    row = int(np.flatnonzero(sentences["document"] == 1)[0])
    choose_rows(priced, 0, row)
    document, start, end = priced.session_state["marked"]
    assert document == 1 and calls[-1].marked == (1, start, end)
    text = calls[-1].documents[1]["text"][start:end]
    assert sentences["sentence"].iloc[row] == " ".join(text.split())
    sound(priced.number_input(key="widget_document").set_value(1).run())
    assert calls[-1].marked == (0, start, end), "counted from the first document on show"
    sound(priced.number_input(key="widget_document").set_value(2).run())
    assert calls[-1].marked is None


def test_a_row_of_documents_opens_its_document(priced):
    sound(priced.segmented_control(key="price_table").set_value("Documents").run())
    row = int(np.flatnonzero(priced.dataframe[0].value["document"] == 2)[0])
    choose_rows(priced, 0, row)
    assert priced.number_input(key="widget_document").value == 2


def test_a_click_tells_what_a_token_costs_and_who_covers_it(priced, monkeypatch):
    model = job_of(priced).result
    table = model.table_
    i = int(table.doc_ptr[1])  # "The", of "The dog sat on the mat."
    click = {"gram": int(table.tokens[i]), "document": 1, "start": 0, "end": 3}
    calls = drawn(monkeypatch, click)
    sound(priced.run())
    assert calls[-1].marked == (1, 0, 3) and priced.session_state["token"] == (1, 0)
    assert calls[-1].scale.top > 0 and calls[-1].documents[1]["pointers"]["price"][0] == model.result_.alpha[i]
    (card,) = [element.value for element in priced.markdown if "document 1: price" in element.value]
    assert f"**{model.result_.alpha[i]:,.4f}**" in card and "“the”" in card
    assert "over its 6 occurrences" in captions(priced) and "of the others cost less" in captions(priced)
    (cover,) = [button for button in priced.button if (button.key or "").startswith("cover_")]
    sound(cover.click().run())
    assert priced.header[0].value == cover.label
    assert priced.session_state["gram"] == int(cover.key.removeprefix("cover_"))


def test_another_solve_forgets_the_chosen_token(priced):
    priced.session_state["token"] = (2, 0)
    priced.session_state["marked"] = (2, 0, 1)
    show(solved(priced, lam=3.0), "pointers")
    assert priced.session_state["token"] is None and priced.session_state["marked"] is None
    assert "Click a token" in captions(priced)


def test_without_a_proof_there_are_no_prices(priced):
    model = job_of(priced).result
    model.result_ = dataclasses.replace(model.result_, lower_bound=0.0, alpha=np.zeros(37))
    assert "no prices" in sound(priced.run()).info[0].value and not priced.dataframe


def test_long_lists_of_documents_keep_both_ends(priced, monkeypatch):
    monkeypatch.setattr(explorer, "LISTED_DOCUMENTS", 2)
    sound(priced.segmented_control(key="price_table").set_value("Documents").run())
    every = prices.document_prices(job_of(priced).result.result_.alpha, job_of(priced).result.table_.doc_ptr)
    ranked = every.sort_values("each", ascending=False)["document"].tolist()
    assert priced.dataframe[0].value["document"].tolist() == [ranked[0], ranked[-1]]
    assert "3 documents (listed: the 2 at both ends)" in captions(priced)


def test_occurrences_may_have_further_columns():
    def page():
        import pandas as pd

        from pages.parts.read.explorer import draw_occurrences

        row = {"document": 7, "before": "a", "K-gram": "b", "after": "c", "lost to": "d"}
        draw_occurrences(pd.DataFrame([row]), key="lost")

    app = sound(AppTest.from_function(page).run())
    assert list(app.dataframe[0].value.columns)[-1] == "lost to"
    choose_rows(app, 0, 0)
    assert app.session_state["document"] == 7 and isinstance(app.dataframe[0].value, pd.DataFrame)
