"""The price of every token, added up: by document, by sentence, by word, and as a scale of colours.

The dual vector α ≥ 0 of the relaxation prices tokens such that no K-gram, wherever it is pointed at, can cover
words worth more than its pointers and its entry cost (``cflengine.compression.model.certificate``). Hence Σ α is the
proved lower bound on the cost of the corpus, and α_j is what token j adds to it. α need not be unique: words that
always stand together can share a price in more than one way.

Every token belongs to one document and to one sentence, so the sums of either add up to the bound (to the rounding
of float64). Shapes: alpha float64 (n,), in the order of the token table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import streamlit as st

from cflengine import CompressiveFeatures, Corpus
from cflengine.text import TokenTable, sentence_spans

QUANTILE = 0.98  # of all prices, where the scale of colours ends
SAMPLED = 1_000_000  # prices looked at to find that quantile
SNIPPET = 160  # characters of a text in a table
_ROUND = (1.0, 1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 4.8, 6.0, 8.0, 10.0)  # ends of a scale whose quarters are short numbers


@dataclass(frozen=True)
class PriceScale:
    """Prices from 0 to ``top`` get colours of their own, higher ones the last.

    above: share of the corpus's tokens whose price is above ``top``; highest: the highest price.
    """

    top: float
    above: float
    highest: float


@dataclass(frozen=True)
class PriceBook:
    """What is asked of the prices of a solve again and again.

    documents: a row a document, see :func:`document_prices`, and "begins", its first words; word_mean: float64 (V,),
    the mean price of a word of the vocabulary; word_count: int64 (V,); scale: of the whole corpus, so that a colour
    means the same in every document; bound: what prices prove, their sum; branching trees may prove more.
    """

    documents: pd.DataFrame = field(repr=False)
    word_mean: np.ndarray = field(repr=False)
    word_count: np.ndarray = field(repr=False)
    scale: PriceScale
    bound: float


@dataclass(frozen=True)
class TokenPrice:
    """One token: its word, its price; the pointers that cover it, as (row of ``dictionary_``, price of its words in
    all); and its word's occurrences in the corpus: how many, their mean price, the share of the others that cost less.
    """

    word: str
    price: float
    pointers: tuple[tuple[int, float], ...]
    count: int
    mean: float
    cheaper: float


@st.cache_resource(max_entries=4, show_spinner=False)
def price_book(job_id: str, _model: CompressiveFeatures, _corpus: Corpus) -> PriceBook:
    """The book of a finished job, made once, Θ(n). In the cache's key the job stands for the arrays."""
    result, table = _model.result_, _model.table_
    documents = document_prices(result.alpha, table.doc_ptr)
    documents["begins"] = [snippet(text[: 2 * SNIPPET], SNIPPET // 2) for text in _corpus.texts]
    mean, count = word_prices(result.alpha, table.tokens, len(table.vocabulary))
    return PriceBook(
        documents, mean, count, price_scale(result.alpha), min(result.lower_bound, float(result.alpha.sum()))
    )


def document_prices(alpha: np.ndarray, doc_ptr: np.ndarray) -> pd.DataFrame:
    """A row a document: price (sum over its tokens), tokens, share (of the sum over all), each (price per token).

    doc_ptr: int64 (N+1,). A document without tokens costs nothing and has NaN for "each".
    """
    tokens = np.diff(doc_ptr)
    price = np.zeros(len(tokens))
    some = np.flatnonzero(tokens)
    if len(some):  # reduceat would give an empty slice its neighbour's first entry
        price[some] = np.add.reduceat(alpha, doc_ptr[some])
    total = price.sum()
    frame = pd.DataFrame({"document": np.arange(len(tokens)), "price": price, "tokens": tokens})
    return frame.assign(share=price / total if total > 0 else 0.0, each=_each(price, tokens))


def sentence_prices(
    alpha: np.ndarray, table: TokenTable, texts: Sequence[str], documents: Iterable[int]
) -> pd.DataFrame:
    """A row a sentence of ``documents``: document, start, end (code points), sentence (its text, cut), price, tokens
    and each as in :func:`document_prices`.

    A token belongs to the sentence it starts in. Sentences in which none starts are left out.
    """
    rows, prices, counts = [], [np.zeros(0)], [np.zeros(0, dtype=np.int64)]
    for d in documents:
        a, e = int(table.doc_ptr[d]), int(table.doc_ptr[d + 1])
        if a == e:
            continue
        # white space stands before the first sentence or behind another: a token made of it goes with that one
        spans = sentence_spans(texts[d])
        if not len(spans):
            spans = np.array([[0, len(texts[d])]], dtype=np.int32)
        of = np.maximum(np.searchsorted(spans[:, 0], table.start[a:e], side="right") - 1, 0)
        some, first = np.unique(of, return_index=True)  # tokens are in order, so each sentence's are together
        prices.append(np.add.reduceat(alpha[a:e], first))
        counts.append(np.diff(first, append=e - a))
        rows += [(d, start, end, snippet(texts[d][start:end])) for start, end in spans[some].tolist()]
    frame = pd.DataFrame(rows, columns=["document", "start", "end", "sentence"])
    price, tokens = np.concatenate(prices), np.concatenate(counts)
    return frame.assign(price=price, tokens=tokens, each=_each(price, tokens))


def word_prices(alpha: np.ndarray, tokens: np.ndarray, n_words: int) -> tuple[np.ndarray, np.ndarray]:
    """The mean price of every word, float64 (n_words,), NaN for one that does not occur; and how often each occurs."""
    count = np.bincount(tokens, minlength=n_words)
    return _each(np.bincount(tokens, weights=alpha, minlength=n_words), count), count


def _each(price: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    return np.divide(price, tokens, out=np.full(len(price), np.nan), where=tokens > 0)


def price_scale(alpha: np.ndarray) -> PriceScale:
    """A scale that ends at a round number near the ``QUANTILE`` of the prices."""
    highest = float(alpha.max(initial=0.0))
    if highest <= 0:
        return PriceScale(1.0, 0.0, 0.0)
    every = len(alpha) // SAMPLED + 1  # sorting ten million prices takes longer than everything else here
    aim = float(np.quantile(alpha[::every], QUANTILE)) or highest  # nearly all of them are 0
    power = 10.0 ** math.floor(math.log10(aim))
    # the next round number, and 1 rather than 1.2 for prices that are 1 up to the solver's digits
    top = next(step * power for step in _ROUND if aim <= 1.01 * step * power)
    return PriceScale(top, float(np.mean(alpha > top)), highest)


def token_price(model: CompressiveFeatures, book: PriceBook, document: int, start: int) -> TokenPrice | None:
    """The token of ``document`` that starts at code point ``start``; None if none does."""
    table, encoding, alpha = model.table_, model.encoding_, model.result_.alpha
    a, e = int(table.doc_ptr[document]), int(table.doc_ptr[document + 1])
    i = int(np.searchsorted(table.start[a:e], start))
    if a + i == e or table.start[a + i] != start:
        return None
    span = encoding.of_document(document)
    first, last = encoding.start[span], encoding.start[span] + encoding.length[span].astype(np.int64)
    covers = np.flatnonzero((first <= i) & (i < last)).tolist()
    word, price = int(table.tokens[a + i]), float(alpha[a + i])
    count = int(book.word_count[word])
    less = price - 1e-6 * book.scale.highest  # prices that should be equal differ in the solver's last digits
    cheaper = np.count_nonzero(alpha[table.tokens == word] < less) / max(1, count - 1)
    return TokenPrice(
        table.vocabulary[word],
        price,
        tuple((int(encoding.gram[span][p]), float(alpha[a + first[p] : a + last[p]].sum())) for p in covers),
        count,
        float(book.word_mean[word]),
        cheaper,
    )


def snippet(text: str, most: int = SNIPPET) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
