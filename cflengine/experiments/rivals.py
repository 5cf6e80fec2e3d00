"""Other ways to features of phrases: K-grams selected by a score, gensim's phrases, byte-pair encoding."""

from __future__ import annotations

from collections.abc import Sequence
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
    X, y = counts[train].astype(np.float64), task.target.truth[train]
    score = l1_weights(X, y, L1_COSTS[-1]) if name == "l1" else _score(name, X, y)
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


def gensim_phrases(words: Sequence[list[str]]) -> list[list[str]] | None:
    """Documents cut into words and phrases of up to four words, by collocation in two passes; None without gensim."""
    try:
        from gensim.models.phrases import Phrases
    except ImportError:
        return None
    pairs = Phrases(words, min_count=5, threshold=10.0, delimiter=" ").freeze()
    longer = Phrases(pairs[words], min_count=5, threshold=10.0, delimiter=" ").freeze()
    return [list(cut) for cut in longer[pairs[words]]]


def byte_pairs(words: Sequence[list[str]], size: int) -> list[list[str]] | None:
    """Documents cut by byte-pair encoding over words, each as one character, into about ``size`` kinds of pieces, which
    may be phrases; None without tokenizers."""
    try:
        from tokenizers import Tokenizer, models, trainers
    except ImportError:
        return None
    kinds = {word: k for k, word in enumerate(dict.fromkeys(chain.from_iterable(words)))}
    if len(kinds) > 900_000:
        return None
    letters = [chr(k + (0x100 if k < 0xD600 else 0x1000)) for k in range(len(kinds))]  # not the surrogates
    texts = ["".join(letters[kinds[word]] for word in document) for document in words]
    named = dict(zip(letters, kinds, strict=True))
    model = Tokenizer(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=max(size, len(kinds) + 1), show_progress=False, initial_alphabet=[], limit_alphabet=len(kinds),
        max_token_length=4,
    )  # fmt: skip
    model.train_from_iterator(texts, trainer)
    return [[" ".join(named[x] for x in piece) for piece in one.tokens] for one in model.encode_batch(texts)]


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
