"""Model to text view: pointers of a few documents, ready for :func:`pages.parts.components.text_view.text_view`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from cflengine import CompressiveFeatures, Corpus
from cflengine.compression import PreparedCorpus
from cflengine.text import in_context, on_one_line, printable

LISTED = 300  # places of a K-gram
FAINTEST = 0.05  # pointers of the relaxation below this weight are left out: they would only blur the picture


def final_view(
    model: CompressiveFeatures, corpus: Corpus, documents: Iterable[int]
) -> tuple[list[dict[str, Any]], dict[int, dict[str, Any]]]:
    """Documents with the pointers of the result; gram ids are rows of ``model.dictionary_``."""
    encoding, table = model.encoding_, model.dictionary_
    views, used = [], dict[int, str]()
    for d in documents:
        span = encoding.of_document(d)
        pointers = {
            "start": encoding.start_char[span],
            "end": encoding.end_char[span],
            "gram": encoding.gram[span],
            "length": encoding.length[span],
        }
        _name(used, corpus.texts[d], pointers)
        views.append(_document(corpus, d, pointers))
    rows = table.iloc[sorted(gram for gram in used if gram >= 0)]
    grams = {
        int(i): {"label": used[i], "count": int(count), "cost": float(cost)}
        for i, count, cost in zip(rows.index, rows["count"], rows["cost"], strict=True)
    }
    return views, grams


def price_view(
    model: CompressiveFeatures, corpus: Corpus, documents: Iterable[int], word_mean: np.ndarray, word_count: np.ndarray
) -> tuple[list[dict[str, Any]], dict[int, dict[str, Any]]]:
    """Documents with the price of every token, for a heat map; the gram ids are words of ``table_.vocabulary``, whose
    cost is their mean price (see :func:`pages.parts.read.prices.word_prices`)."""
    table, alpha = model.table_, model.result_.alpha
    views, used = [], set()
    for d in documents:
        span = slice(int(table.doc_ptr[d]), int(table.doc_ptr[d + 1]))
        words = table.tokens[span]
        pointers = {
            "start": table.start[span],
            "end": table.end[span],
            "gram": words,
            "length": np.ones(len(words), dtype=np.int64),
            "price": alpha[span],
        }
        used.update(words.tolist())
        views.append(_document(corpus, d, pointers))
    grams = {
        w: {"label": printable(table.vocabulary[w]), "count": int(word_count[w]), "cost": float(word_mean[w])}
        for w in used
    }
    return views, grams


def stage_view(
    prepared: PreparedCorpus,
    corpus: Corpus,
    documents: Iterable[int],
    cover: np.ndarray,
    weights: np.ndarray | None = None,
    most: int | None = None,
) -> tuple[list[dict[str, Any]], dict[int, dict[str, Any]]]:
    """Documents with the pointers of a stage of the homotopy, or of a path; gram ids are those of the index.

    With ``weights`` (uint8 (K, n), steps of 1/255) every pointer of weight above ``FAINTEST`` is shown, else the
    binary ``cover``. most: tokens of each document that are shown, None for all.
    """
    index, table = prepared.index, prepared.table
    bits = np.uint8(1) << np.arange(index.max_gram, dtype=np.uint8)
    views: list[dict[str, Any]] = []
    names, used = dict[int, str](), dict[int, dict[str, Any]]()
    for d in documents:
        a, whole = (int(x) for x in table.doc_ptr[d : d + 2])
        e = whole if most is None else min(whole, a + most)
        shown = (cover[None, a:e] & bits[:, None]) > 0 if weights is None else weights[:, a:e] > 255 * FAINTEST
        start, k = np.nonzero(shown.T)
        inside = start + k < e - a
        start, k = start[inside], k[inside]
        grams = index.gram_of[k, a + start]
        pointers = {
            "start": table.start[a + start],
            "end": table.end[a + start + k],
            "gram": grams,
            "length": k + 1,
        }
        if weights is not None:
            pointers["weight"] = weights[k, a + start] / 255.0
        _name(names, corpus.texts[d], pointers)
        for g, length in zip(grams.tolist(), (k + 1).tolist(), strict=True):
            if g not in used:
                used[g] = {"count": int(index.grp_ptr[g + 1] - index.grp_ptr[g]), "cost": float(length)}
        view = _document(corpus, d, pointers)
        if e < whole:
            view["text"] = view["text"][: int(table.end[e - 1])] + " …"
        views.append(view)
    return views, {g: {"label": names[g]} | facts for g, facts in used.items()}


def _name(names: dict[int, str], text: str, pointers: Mapping[str, Any]) -> None:
    """Add K-grams as a text spells them where it points at them; of several spellings the first of fewest capitals."""
    spans = zip(pointers["gram"].tolist(), pointers["start"].tolist(), pointers["end"].tolist(), strict=True)
    for gram, start, end in spans:
        if gram not in names or not names[gram].islower():
            here = on_one_line(text[start:end])
            names[gram] = min(names.get(gram, here), here, key=lambda name: sum(map(str.isupper, name)))


def _document(corpus: Corpus, d: int, pointers: Mapping[str, Any]) -> dict[str, Any]:
    facts = " · ".join(f"{name}: {_fact(value)}" for name, value in corpus.metadata.iloc[d].items() if pd.notna(value))
    return {
        "title": f"Document {d}",
        "text": corpus.texts[d],
        "pointers": pointers,
        "meta": facts if len(facts) <= 240 else facts[:239] + "…",
    }


def _fact(value: Any) -> str:
    """A metadata cell; dates without a time of day lose their midnight."""
    return str(value).removesuffix(" 00:00:00")


def end_of(texts: pd.Series, width: int) -> pd.Series:
    """The ends of texts, as long as a column of ``width`` pixels that is aligned right can show: Streamlit's grid draws
    the first ``width`` / 4 characters of a text, wherever it is aligned."""
    return texts.str[-(width // 5) :]


def concordance(
    model: CompressiveFeatures, corpus: Corpus, gram: int, *, limit: int = LISTED, width: int = 60
) -> pd.DataFrame:
    """The pointers of a K-gram in context: document, before, the words, after; the first ``limit`` of them."""
    encoding = model.encoding_
    where = np.flatnonzero(encoding.gram == gram)[:limit]
    rows = []
    for p in where.tolist():
        document, start, end = (int(x[p]) for x in (encoding.document, encoding.start_char, encoding.end_char))
        rows.append((document, *in_context(corpus.texts[document], start, end, width)))
    return pd.DataFrame(rows, columns=["document", "before", "K-gram", "after"])


def grams_of_document(model: CompressiveFeatures, document: int) -> pd.DataFrame:
    """The K-grams a document points at, most used first; the frame's index is the K-gram's id."""
    ids, counts = np.unique(model.encoding_.gram[model.encoding_.of_document(document)], return_counts=True)
    frame = model.dictionary_.iloc[ids].copy()
    frame.insert(2, "here", counts)
    return frame.sort_values(["here", "length"], ascending=False, kind="stable")


def without_midnight(frame: pd.DataFrame) -> pd.DataFrame:
    """A copy in which columns of whole days are shown as days."""
    frame = frame.copy()
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_datetime64_any_dtype(column) and (column.dropna() == column.dropna().dt.normalize()).all():
            frame[name] = column.dt.date
    return frame


def shortened(frame: pd.DataFrame, most: int = 400) -> pd.DataFrame:
    """A copy for a table, long texts cut: a preview of two hundred novels would be two hundred novels."""
    frame = frame.copy()
    for name in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            frame[name] = [
                cell[:most] + " …" if isinstance(cell, str) and len(cell) > most else cell for cell in frame[name]
            ]
    return frame
