"""Reuters ModApte, CoNLL-2003 and movie reviews as matrices and sentences."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from benchmarks.corpora import corpus_path
from cflengine.text import Score

CLASSES = ("earn", "acq", "money-fx", "grain", "crude", "trade")
RIDGES = (1e-7, 1e-5, 0.1, 1.0)
Say = Callable[[str], None]


@dataclass(frozen=True)
class Reuters:
    """Binary words of the training and the test documents, which words, and the topics of each document."""

    words: np.ndarray
    X: sparse.csr_matrix
    test: sparse.csr_matrix
    topics: list[list[str]]
    test_topics: list[list[str]]

    def y(self, name: str) -> np.ndarray:
        """±1 for every training document: whether it has this topic."""
        return np.array([1.0 if name in topics else -1.0 for topics in self.topics])

    def f1(self, name: str, w: np.ndarray) -> float:
        """On the test documents, in per cent."""
        return f1_of(self.test @ w > 0, np.array([name in topics for topics in self.test_topics]))


def f1_of(guess: np.ndarray, truth: np.ndarray) -> float:
    """In per cent; both bool."""
    return 100 * Score(int((truth & guess).sum()), int(guess.sum()), int(truth.sum())).f1


def reuters(data: str | None, say: Say, most: int | None = None) -> Reuters | None:
    """The ModApte split; None, saying why, where the corpus is absent. most: documents of each part."""
    from sklearn.feature_extraction.text import CountVectorizer

    documents = _read("reuters21578", data, say)
    if documents is None:
        return None
    train = [one for one in documents if one["split"] == "train"][:most]
    test = [one for one in documents if one["split"] == "test"][:most]
    words = CountVectorizer(token_pattern=r"\w+", binary=True, dtype=np.float64)
    X = words.fit_transform([one["text"] for one in train])
    topics = [[one["topics"] or [] for one in part] for part in (train, test)]
    return Reuters(words.get_feature_names_out(), X, words.transform([one["text"] for one in test]), *topics)


def movies(data: str | None, say: Say, most: int | None = None) -> tuple[sparse.csr_matrix, np.ndarray] | None:
    """Binary 1- to 3-grams of movie reviews and their polarity, ±1; None, saying why, where the corpus is absent."""
    from sklearn.feature_extraction.text import CountVectorizer

    documents = _read("movie_polarity_v2", data, say)
    if documents is None:
        return None
    documents = documents[:: max(1, len(documents) // most)] if most else documents
    grams = CountVectorizer(token_pattern=r"\S+", ngram_range=(1, 3), binary=True, dtype=np.float64)
    X = grams.fit_transform([one["text"] for one in documents])
    first = min(one["label"] for one in documents)
    return X, np.array([-1.0 if one["label"] == first else 1.0 for one in documents])


def _read(name: str, data: str | None, say: Say) -> list[dict] | None:
    try:
        path = corpus_path(name, data)
    except FileNotFoundError as error:
        say(str(error))
        return None
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
