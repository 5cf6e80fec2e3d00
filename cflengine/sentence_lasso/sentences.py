"""Documents as sentences, sentences as counts of features: of words, or of any feature that has a place in the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from cflengine.text.sentences import unit_spans
from cflengine.text.token_table import TokenTable, plain_tokens, printable

_NO_BLANK = re.compile(r"\S")
#: Occurrences of features: document, start (code point in it), feature, end (code point behind it); four int arrays.
Occurrences = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class Features(Protocol):
    """What turns documents into occurrences of features."""

    def fit(self, documents: Sequence[str]) -> Occurrences:
        """Learn the features; the occurrences in ``documents``, by document, in the order of the text."""

    def find(self, documents: Sequence[str]) -> Occurrences:
        """The occurrences of the learnt features."""

    def names(self) -> list[str]:
        """The features in order."""


class WordFeatures:
    """Words: the distinct forms of the tokens of the documents of ``fit``, in order of their first occurrence.

    plain: cut by :mod:`re` throughout, without compiled code.
    """

    def __init__(self, token_pattern: str, lowercase: bool, *, plain: bool = False) -> None:
        self.token_pattern, self.lowercase = token_pattern, lowercase
        if plain:
            self.tokenizer: Callable[[Sequence[str]], TokenTable] = partial(
                plain_tokens, pattern=token_pattern, lowercase=lowercase
            )
        else:
            from cflengine.text.tokens import Tokenizer

            self.tokenizer = Tokenizer(token_pattern, lowercase)
        self.vocabulary: list[str] = []

    def fit(self, documents: Sequence[str]) -> Occurrences:
        table = self.tokenizer(documents)
        self.vocabulary = table.vocabulary
        return np.repeat(np.arange(len(documents)), np.diff(table.doc_ptr)), table.start, table.tokens, table.end

    def find(self, documents: Sequence[str]) -> Occurrences:
        table = self.tokenizer(documents)
        number = {form: j for j, form in enumerate(self.vocabulary)}
        feature = np.array([number.get(form, -1) for form in table.vocabulary] or [-1], dtype=np.int64)[table.tokens]
        known = feature >= 0
        document = np.repeat(np.arange(len(documents)), np.diff(table.doc_ptr))
        return document[known], table.start[known], feature[known], table.end[known]

    def names(self) -> list[str]:
        return [printable(form) for form in self.vocabulary]


class GramFeatures:
    """K-grams as features: a pointer that reaches into the next sentence belongs to the one it begins in.

    Parameters
    ----------
    model : Any
        A :class:`~cflengine.CompressiveFeatures`, or anything with its fit, encode and get_feature_names_out.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, documents: Sequence[str]) -> Occurrences:
        self.model.fit(documents)
        return self.find(documents)

    def find(self, documents: Sequence[str]) -> Occurrences:
        encoding = self.model.encode(documents)
        known = encoding.gram >= 0
        document, start = encoding.document[known], encoding.start_char[known]
        if getattr(self.model, "tokens", "words") != "words":
            start = _visible(documents, document, start)
        return document, start, encoding.gram[known], encoding.end_char[known]

    def names(self) -> list[str]:
        return [str(name) for name in self.model.get_feature_names_out()]


def _visible(documents: Sequence[str], document: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Where features can first be seen: pieces of words have the blank before a word in front, and belong to the
    sentence of the word."""
    found = (_NO_BLANK.search(documents[d], a) for d, a in zip(document.tolist(), start.tolist(), strict=True))
    return np.array([a if one is None else one.start() for a, one in zip(start.tolist(), found, strict=True)], np.int32)


@dataclass(frozen=True)
class SentenceTable:
    """S sentences of N documents and the features in them.

    document: int32 (S,), ascending; start, end: int32 (S,), code points in the document; counts: CSR float64 (S, V).
    """

    document: np.ndarray
    start: np.ndarray
    end: np.ndarray
    counts: sparse.csr_matrix
    n_documents: int

    def __len__(self) -> int:
        return len(self.document)

    def documents(self, where: np.ndarray) -> SentenceTable:
        """The sentences of some documents (int, in any order), which are numbered 0, 1, ... in that order."""
        ptr = np.searchsorted(self.document, np.arange(self.n_documents + 1))
        lengths = ptr[where + 1] - ptr[where]
        first = np.concatenate(([0], np.cumsum(lengths)))
        rows = np.repeat(ptr[where] - first[:-1], lengths) + np.arange(first[-1])
        document = np.repeat(np.arange(len(where), dtype=np.int32), lengths)
        return SentenceTable(document, self.start[rows], self.end[rows], self.counts[rows], len(where))

    def by_document(self) -> sparse.csr_matrix:
        """Counts by document: CSR float64 (N, V)."""
        return sum_by(self.document, self.counts, self.n_documents)


def sum_by(document: np.ndarray, counts: sparse.csr_matrix, n_documents: int) -> sparse.csr_matrix:
    """Rows of sentences, summed by document.

    Parameters
    ----------
    document : int ndarray (S,)
        The document of each row, ascending.
    counts : CSR matrix (S, V)
        A row a sentence.
    n_documents : int
        N.

    Returns
    -------
    CSR matrix (N, V)
        Its indices are sorted.
    """
    ptr = np.searchsorted(document, np.arange(n_documents + 1))
    summed = sparse.csr_matrix((counts.data, counts.indices, counts.indptr[ptr]), shape=(n_documents, counts.shape[1]))
    summed = summed.copy()
    summed.sum_duplicates()
    return summed


def cut_sentences(
    documents: Sequence[str], occurrences: Occurrences, n_features: int, language: str, unit: str = "sentence"
) -> SentenceTable:
    """The sentences of the documents (every one, also those without a feature) with the counts of their features; unit:
    what stands in the place of a sentence, see :func:`~cflengine.text.sentences.unit_spans`."""
    spans = [unit_spans(text, unit, language=language) for text in documents]
    document = np.repeat(np.arange(len(spans), dtype=np.int32), [len(span) for span in spans])
    span = np.concatenate([*spans, np.zeros((0, 2), dtype=np.int32)])
    where, start, feature = (np.asarray(column, dtype=np.int64) for column in occurrences[:3])
    # one number line for all documents: a document's offsets begin where those before it have ended
    shift = np.concatenate(([0], np.cumsum([len(text) + 1 for text in documents])))
    row = np.searchsorted(shift[document] + span[:, 0], shift[where] + start, side="right") - 1
    # white space, should it be a feature, may stand before the first sentence of its document, or be all there is
    first = np.searchsorted(document, np.arange(len(spans) + 1))
    inside = first[where + 1] > first[where]
    row = np.maximum(row, first[where])[inside]
    counts = sparse.csr_matrix((np.ones(len(row)), (row, feature[inside])), shape=(len(span), n_features))
    counts.sum_duplicates()
    return SentenceTable(document, span[:, 0], span[:, 1], counts, len(spans))
