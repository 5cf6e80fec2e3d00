"""From labelled texts and vectors to laws over words: which words and documents take part, and which are left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from cflengine.embedding.laws import WordLaws
from cflengine.embedding.learnt import learn_vectors
from cflengine.embedding.vectors import WordVectors, word_vectors
from cflengine.engine.checks import InputError
from cflengine.engine.estimators import checked_labels
from cflengine.engine.memory import require_bytes
from cflengine.engine.progress import Poll
from cflengine.linear.saving import label_array
from cflengine.text.token_table import TokenTable
from cflengine.text.tokens import Tokenizer

MOST_CLASSES = 50


@dataclass(frozen=True)
class LabelledWords:
    """What a statistic is computed from.

    laws: of the documents that take part, over ``vectors.words``. classes: labels, sorted. documents: int64 (N,), their
    numbers among the texts; n_empty: texts without a word that has a vector. coverage: the share of word occurrences
    that have one. table: all tokens; word_of: int32, which word each form of the table is, −1 for none.
    """

    laws: WordLaws
    vectors: WordVectors
    classes: np.ndarray
    documents: np.ndarray = field(repr=False)
    n_empty: int
    coverage: float
    table: TokenTable = field(repr=False)
    word_of: np.ndarray = field(repr=False)


def left_out(words: Iterable[str], stop_words: Any, lowercase: bool) -> np.ndarray:
    """bool: which words are stop words. The English ones are, however they are written; words of the user's own are
    lower-cased as texts are. Raises ValueError as :func:`stop_word_set` does."""
    stops = stop_word_set(stop_words)
    stops = frozenset(word.lower() for word in stops) if lowercase else stops
    english = isinstance(stop_words, str)
    return np.array([(word.lower() if english else word) in stops for word in words], dtype=bool)


def stop_word_set(stop_words: Any) -> frozenset[str]:
    """None; "english": scikit-learn's list; or words. Raises ValueError for anything else."""
    if stop_words is None:
        return frozenset()
    if isinstance(stop_words, str) and stop_words == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return frozenset(ENGLISH_STOP_WORDS)
    again = isinstance(stop_words, Iterable) and not isinstance(stop_words, str | Iterator)  # an iterator is read once
    words = tuple(stop_words) if again else (None,)
    if not all(isinstance(word, str) for word in words):
        raise InputError(f'stop_words must be None, "english" or a list of words, not {stop_words!r}.')
    return frozenset(map(str, words))


def label_texts(texts: Any, labels: Any) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Texts as a list, classes sorted, and the class of each text. Raises ValueError for labels that do not fit, fewer
    than two classes and more than MOST_CLASSES."""
    if isinstance(texts, str):
        raise InputError("texts must be a list of strings, not one string.")
    texts = list(texts)
    y = checked_labels(labels)
    if len(y) != len(texts):
        raise InputError(f"there are {len(texts):,} texts and {len(y):,} labels.")
    classes, number = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InputError("there is one class only: a discrepancy is between two.")
    if len(classes) > MOST_CLASSES:
        raise InputError(f"there are {len(classes):,} classes, more than the {MOST_CLASSES} that can be compared.")
    return texts, label_array(classes.tolist()), number.astype(np.int64)


def read_words(
    texts: Any,
    labels: Any,
    vectors: Any,
    *,
    token_pattern: str,
    lowercase: bool = True,
    stop_words: Any = None,
    min_count: int = 1,
    dimension: int = 50,
    seed: int = 0,
    poll: Poll = lambda: True,
) -> LabelledWords:
    """Cut texts into words and find their vectors; vectors: as in :func:`~cflengine.embedding.vectors.word_vectors`,
    or None: learnt from the texts. min_count: occurrences below which a word is left out.

    Raises ValueError for a class with fewer than two documents that have a word, and what the parts of this raise.
    """
    texts, classes, y = label_texts(texts, labels)
    stop_word_set(stop_words)
    table = Tokenizer(token_pattern, lowercase)(texts)
    used = ~left_out(table.vocabulary, stop_words, lowercase)
    counts = np.bincount(table.tokens, minlength=len(table.vocabulary)) if table.n_tokens else np.zeros(0)
    chosen = [form for k, form in enumerate(table.vocabulary) if counts[k] >= min_count and used[k]]
    if not chosen:
        if table.n_tokens and min_count > 1:
            raise InputError(f"no word of the texts occurs {min_count:,} times: take a smaller min_count.")
        raise InputError("the texts have no words.")
    found = _vectors(table, vectors, chosen, dimension, seed, poll)
    at = {word: k for k, word in enumerate(found.words)}
    word_of = form_numbers(table, at)
    matrix = count_words(table, word_of, len(found.words))
    lengths = np.asarray(matrix.sum(axis=1)).ravel()
    documents = np.flatnonzero(lengths > 0)
    sizes = np.bincount(y[documents], minlength=len(classes))
    require_two(sizes, classes, "with a word that has a vector: the estimate")
    occurrences = int(np.count_nonzero(used[table.tokens])) if table.n_tokens else 0
    laws = WordLaws.of(matrix[documents], y[documents], len(classes))
    coverage = float(lengths.sum()) / max(occurrences, 1)
    return LabelledWords(laws, found, classes, documents, len(texts) - len(documents), coverage, table, word_of)


def require_two(sizes: np.ndarray, classes: np.ndarray, what: str) -> None:
    """ValueError for a class with fewer than two documents; what: which those are, and what needs two of each."""
    which = int(np.argmin(sizes))
    if sizes[which] < 2:
        many = ("no document", "one document")[int(sizes[which])]
        raise InputError(f"class {str(classes[which])!r} has {many} {what} needs two of each.")


def form_numbers(table: TokenTable, number: Mapping[str, int]) -> np.ndarray:
    """int32: the number of each form of a table, −1 for one that has none."""
    return np.array([number.get(form, -1) for form in table.vocabulary], dtype=np.int32)


def count_words(table: TokenTable, word_of: np.ndarray, n_words: int) -> sparse.csr_matrix:
    """CSR float64 (documents, words): how often each occurs; word_of: the word of each form, −1 for none."""
    word = word_of[table.tokens] if table.n_tokens else np.empty(0, dtype=np.int32)
    document = np.repeat(np.arange(table.n_documents), np.diff(table.doc_ptr))
    kept = word >= 0
    shape = (table.n_documents, n_words)
    return sparse.coo_matrix((np.ones(int(kept.sum())), (document[kept], word[kept])), shape=shape).tocsr()


def longest_document(table: TokenTable) -> int:
    """Tokens of the longest document, 5 or more: a convolution's width."""
    return max(5, int(np.diff(table.doc_ptr).max(initial=0)))


def word_ids(table: TokenTable, number: Mapping[str, int], length: int) -> np.ndarray:
    """int32 (N, length): the first known words of each document, −1 where there is none. MemoryLimitError, before any
    work, where they do not fit."""
    require_bytes(4 * table.n_documents * length, "the words of all documents", "take a smaller max_length.")
    word_of = form_numbers(table, number)
    word = word_of[table.tokens] if table.n_tokens else np.empty(0, dtype=np.int32)
    document = np.repeat(np.arange(table.n_documents), np.diff(table.doc_ptr))[word >= 0]
    word = word[word >= 0]
    begins = np.searchsorted(document, np.arange(table.n_documents))
    place = np.arange(len(word)) - begins[document]
    kept = place < length
    out = np.full((table.n_documents, length), -1, dtype=np.int32)
    out[document[kept], place[kept]] = word[kept]
    return out


def _vectors(table: TokenTable, vectors: Any, chosen: list[str], dimension: int, seed: int, poll: Poll) -> WordVectors:
    if vectors is not None:
        return word_vectors(vectors, chosen, poll)
    number = {form: k for k, form in enumerate(chosen)}
    word_of = form_numbers(table, number)
    M = learn_vectors(word_of[table.tokens], table.doc_ptr, len(chosen), dimension, seed=seed, poll=poll)
    return WordVectors(tuple(chosen), M, "learnt from these documents", len(chosen))
