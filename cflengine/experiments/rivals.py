"""Other ways to features of phrases: K-grams selected by a score, gensim's phrases, byte-pair encoding."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from cflengine.linear.selection import mutual_information

#: name -> what is looked at: "" for no label, else the tasks that it is for
SELECTIONS = {
    "document_frequency": "",
    "chi2": "class",
    "mutual_information": "class",
    "f_test": "number",
    "l1": "class number",
}
L1_COSTS = (0.3, 1.0, 3.0)
L1_FURTHER = (10.0, 30.0, 100.0)  # each while the one before is the best so far
MERGES = (1_000, 3_000, 10_000, 30_000)  # of byte-pair encoding
THRESHOLDS = (1.0, 10.0, 100.0)  # of gensim's collocations


def selections_for(task: Any) -> list[str]:
    """The names of the scores that fit a task; of authors, whose classes are too many for the others, the first."""
    if not task.linear:
        return ["document_frequency"]
    return [name for name, kinds in SELECTIONS.items() if not kinds or task.target.task in kinds.split()]


def ranking(name: str, counts: sparse.csr_matrix, task: Any, train: np.ndarray) -> np.ndarray:
    """int64 (d,): columns, the best first, as training documents have them; ties by document frequency."""
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    if name == "document_frequency":
        return np.argsort(-frequency, kind="stable")
    score = _score(name, counts[train].astype(np.float64), task.target.truth[train])
    return np.lexsort((-frequency, -np.nan_to_num(score, nan=0.0, posinf=np.finfo(float).max)))


def _score(name: str, X: sparse.csr_matrix, y: np.ndarray) -> np.ndarray:
    from sklearn.feature_selection import chi2, f_regression

    if name == "chi2":
        return chi2(X, y)[0]
    if name == "mutual_information":
        return mutual_information(X, y)
    return f_regression(X, y)[0]


def l1_weights(X: sparse.csr_matrix, y: np.ndarray, cost: float) -> np.ndarray:
    """float64 (d,): the largest weight of each column in ℓ1-penalised models by scikit-learn, most of them 0; y: whole
    numbers for classes."""
    from sklearn.linear_model import Lasso
    from sklearn.preprocessing import normalize
    from sklearn.svm import LinearSVC

    unit = normalize(X)
    if np.issubdtype(y.dtype, np.integer):
        model = LinearSVC(penalty="l1", dual=False, C=cost, max_iter=50, tol=1e-2, random_state=0)
    else:
        model = Lasso(alpha=1e-3 * float(y.std() or 1.0) / cost, max_iter=100, tol=1e-2)
    coef = model.fit(unit, y).coef_
    return np.abs(np.atleast_2d(coef)).max(axis=0)


class L1Models:
    """Columns that ℓ1-penalised models of a task have weights for, each model fitted once."""

    def __init__(self, task: Any) -> None:
        self.task = task
        self._known: dict[tuple[float, bytes], np.ndarray] = {}

    def columns(
        self, cost: float, most: int | None, counts: sparse.csr_matrix, task: Any, train: np.ndarray
    ) -> np.ndarray:
        """int64, ascending: those with a weight, the largest ``most`` of them; where there are none the first one of
        another selection."""
        weights = self._weights(cost, counts, train)
        found = np.flatnonzero(weights)
        if most is not None and len(found) > most:
            found = np.sort(found[np.argsort(-weights[found], kind="stable")[:most]])
        if not len(found):
            found = ranking("chi2" if task.target.values is None else "f_test", counts, task, train)[:1]
        return found

    def reaching(self, counts: sparse.csr_matrix, size: int, poll: Callable[[], bool]) -> float | None:
        """The first cost at which all splits' models have so many weights; None where there is no such cost, or none is
        to be expected: models have hardly more weights than documents to learn from."""
        target, training = self.task.target, self.task.training
        models = 1 if target.values is not None or target.n_classes == 2 else target.n_classes
        if size > models * min(len(train) for train in training):
            return None
        for cost in (*L1_COSTS, *L1_FURTHER):
            if not poll():
                return None
            if all(np.count_nonzero(self._weights(cost, counts, train)) >= size for train in training):
                return cost
        return None

    def _weights(self, cost: float, counts: sparse.csr_matrix, train: np.ndarray) -> np.ndarray:
        key = (cost, train.tobytes())
        if key not in self._known:
            truth = self.task.target.truth[train]
            self._known[key] = l1_weights(counts[train].astype(np.float64), truth, cost).astype(np.float32)
        return self._known[key]


def gensim_phrases(words: Sequence[list[str]]) -> Iterator[tuple[float, list[list[str]]]]:
    """A threshold, and documents cut into words and phrases of up to four words, by collocation in two passes; nothing
    without gensim."""
    try:
        from gensim.models.phrases import Phrases
    except ImportError:
        return
    for threshold in THRESHOLDS:
        pairs = Phrases(words, min_count=5, threshold=threshold, delimiter=" ").freeze()
        longer = Phrases(pairs[words], min_count=5, threshold=threshold, delimiter=" ").freeze()
        yield threshold, [list(cut) for cut in longer[pairs[words]]]


class BytePairs:
    """Byte-pair encoding over words, each as one character, so that pieces may be phrases, of up to four words; learnt
    once for all numbers of merges. Empty without tokenizers, or for more words than there are characters."""

    def __init__(self, words: Sequence[list[str]], most: int) -> None:
        self.kinds = {word: k for k, word in enumerate(dict.fromkeys(chain.from_iterable(words)))}
        self.merges: list[tuple[str, str]] = []
        try:
            from tokenizers import Tokenizer, models, trainers
        except ImportError:
            return
        if len(self.kinds) > 900_000:
            return
        letters = [chr(k + (0x100 if k < 0xD600 else 0x1000)) for k in range(len(self.kinds))]  # not the surrogates
        self._texts = ["".join(letters[self.kinds[word]] for word in document) for document in words]
        self._named = dict(zip(letters, self.kinds, strict=True))
        model = Tokenizer(models.BPE())
        trainer = trainers.BpeTrainer(
            vocab_size=len(self.kinds) + most, show_progress=False, initial_alphabet=[],
            limit_alphabet=len(self.kinds), max_token_length=4,
        )  # fmt: skip
        model.train_from_iterator(self._texts, trainer)
        learnt = json.loads(model.to_str())["model"]
        self._vocabulary, self.merges = learnt["vocab"], [tuple(pair) for pair in learnt["merges"]]

    def cut(self, n_merges: int) -> list[list[str]]:
        """Documents in pieces, by the first merges alone."""
        from tokenizers import Tokenizer, models

        model = Tokenizer(models.BPE(vocab=self._vocabulary, merges=self.merges[:n_merges]))
        return [
            [" ".join(self._named[x] for x in piece) for piece in one.tokens] for one in model.encode_batch(self._texts)
        ]


def count_pieces(documents: Sequence[list[str]]) -> tuple[sparse.csr_matrix, list[str]]:
    """int64 CSR (N, d) of pieces, and their names."""
    kinds: dict[str, int] = {}
    columns = [kinds.setdefault(piece, len(kinds)) for document in documents for piece in document]
    ptr = np.concatenate([[0], np.cumsum([len(document) for document in documents])])
    matrix = sparse.csr_matrix(
        (np.ones(len(columns), dtype=np.int64), np.array(columns, dtype=np.int64), ptr),
        shape=(len(documents), max(len(kinds), 1)),
    )
    matrix.sum_duplicates()
    return matrix, list(kinds)
