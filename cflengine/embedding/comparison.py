"""Classes of documents compared: the statistic, its test and interval, pairs of classes, the witness, M = identity."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from cflengine.embedding.identity import WIDTH, identity_kernel, identity_sums
from cflengine.embedding.inference import (
    MOST_DOCUMENTS,
    DocumentKernel,
    document_gram,
    interval,
    jackknife,
    p_value,
    permuted_statistics,
)
from cflengine.embedding.pairs import PairSums, Poll, pair_sums
from cflengine.embedding.random_features import feature_sums
from cflengine.embedding.settings import CompareSettings, Kernel
from cflengine.embedding.width import median_width
from cflengine.embedding.witness import witness_frame
from cflengine.embedding.words import LabelledWords
from cflengine.engine.checks import InputError
from cflengine.engine.progress import Stopped

#: frequencies of the permutation test where documents are too many for a matrix of them
TEST_FEATURES = 512


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What :func:`compare` finds; the names are those of :class:`~cflengine.WordMMD`'s attributes."""

    words: LabelledWords = field(repr=False)
    kernel: Kernel
    sums: PairSums = field(repr=False)
    approximation_error: float
    interval: tuple[float, float]
    null: np.ndarray = field(repr=False)
    null_kernel: str
    p_value: float
    pairwise: pd.DataFrame = field(repr=False)
    identity: dict[str, float]

    @property
    def statistic(self) -> float:
        """wMMD², summed over pairs of classes."""
        return self.sums.total()

    @property
    def n_permutations(self) -> int:
        """How many were done."""
        return len(self.null)

    def witness(self, a: int = 0, b: int = 1) -> pd.DataFrame:
        """The witness function of two classes, by number."""
        return witness_frame(self.sums, self.words.vectors.words, self.words.classes.tolist(), a, b)

    def summary(self) -> dict[str, Any]:
        """Plain numbers, for a report."""
        words, low_high = self.words, list(self.interval)
        sizes = {str(name): int(n) for name, n in zip(words.classes, words.laws.sizes, strict=True)}
        return {
            "statistic": self.statistic, "interval": low_high, "p_value": self.p_value,
            "n_permutations": self.n_permutations, "null_kernel": self.null_kernel, "kernel": self.kernel.family,
            "widths": list(self.kernel.widths), "approximation_error": self.approximation_error,
            "identity": self.identity, "classes": sizes, "n_documents": words.laws.n_documents,
            "n_empty": words.n_empty, "n_words": len(words.vectors.words), "dimension": words.vectors.dimension,
            "vectors": words.vectors.name, "coverage": words.coverage,
        }  # fmt: skip


def compare(
    words: LabelledWords,
    settings: CompareSettings | None = None,
    *,
    on_stage: Callable[[str], object] = lambda stage: None,
    poll: Poll = lambda: True,
) -> Comparison:
    """Compare classes. Raises ValueError for a median distance of 0, MemoryLimitError, and Stopped where ``poll`` says
    False before the statistic is known; permutations that are left undone are not counted."""
    own = settings or CompareSettings()
    laws, M = words.laws, words.vectors.M
    on_stage("width")
    kernel = _kernel(words, own, poll)
    on_stage("pairs of words")
    features, error = None, 0.0
    if own.random_features is None or kernel.family == "linear":
        sums = pair_sums(laws, M, kernel, n_threads=own.n_threads, poll=poll)
    else:
        found = feature_sums(laws, M, kernel, own.random_features, seed=own.seed, poll=poll)
        sums, features, error = found.sums, found.features, found.standard_error
    on_stage("permutations")
    documents = _document_kernel(words, kernel, features, own, poll) if own.n_permutations else None
    null = _null(documents, words, own, poll)
    return Comparison(
        words=words, kernel=kernel, sums=sums, approximation_error=error, null=null[1:], p_value=p_value(null),
        interval=interval(sums.total(), jackknife(sums)),
        null_kernel="" if documents is None else "exact" if documents.gram is not None else "random features",
        pairwise=_pairwise(sums, words, documents, own, poll), identity=_identity(words, kernel.family, own, poll),
    )  # fmt: skip


def _kernel(words: LabelledWords, own: CompareSettings, poll: Poll) -> Kernel:
    if own.kernel == "linear":
        return Kernel("linear")
    if own.widths:
        return Kernel(own.kernel, own.widths)
    width = median_width(words.laws, words.vectors.M, n_threads=own.n_threads, seed=own.seed, poll=poll)
    if width == 0.0:
        raise InputError(
            "most pairs of words have the same vector, so the median distance is 0: give a width, or other vectors."
        )
    return Kernel(own.kernel, (width,))


def _document_kernel(
    words: LabelledWords, kernel: Kernel, features: np.ndarray | None, own: CompareSettings, poll: Poll
) -> DocumentKernel | None:
    laws, M = words.laws, words.vectors.M
    try:
        if features is None and laws.n_documents > MOST_DOCUMENTS and kernel.family != "linear":
            features = feature_sums(laws, M, kernel, TEST_FEATURES, seed=own.seed, poll=poll).features
        if features is None and kernel.family == "linear":
            features = laws.laws @ M
        if features is not None:
            return DocumentKernel(features=features)
        return DocumentKernel(gram=document_gram(laws, M, kernel, n_threads=own.n_threads, poll=poll))
    except Stopped:
        return None


def _null(documents: DocumentKernel | None, words: LabelledWords, own: CompareSettings, poll: Poll) -> np.ndarray:
    if documents is None:
        return np.empty(0)
    return permuted_statistics(documents, words.laws.y, words.laws.n_classes, own.n_permutations, own.seed, poll)


def _pairwise(
    sums: PairSums, words: LabelledWords, documents: DocumentKernel | None, own: CompareSettings, poll: Poll
) -> pd.DataFrame:
    """A row a pair of classes: statistic, interval, p_value by permutations within the pair, identity."""
    laws, rows = words.laws, []
    identity = identity_sums(laws, own.kernel)
    for a, b in combinations(range(laws.n_classes), 2):
        null = np.empty(0)
        if documents is not None:
            chosen = np.flatnonzero((laws.y == a) | (laws.y == b))
            y = (laws.y[chosen] == b).astype(np.int64)
            null = permuted_statistics(documents.of(chosen), y, 2, own.n_permutations, own.seed, poll)
        low, high = interval(sums.statistic(a, b), jackknife(sums, [(a, b)]))
        rows.append(
            {
                "class": str(words.classes[a]),
                "other": str(words.classes[b]),
                "statistic": sums.statistic(a, b),
                "low": low,
                "high": high,
                "p_value": p_value(null),
                "identity": identity.statistic(a, b),
            }
        )
    return pd.DataFrame(rows)


def _identity(words: LabelledWords, family: str, own: CompareSettings, poll: Poll) -> dict[str, float]:
    """The words themselves; permutations only where documents fit into a matrix."""
    laws, null = words.laws, np.empty(0)
    if own.n_permutations and laws.n_documents <= MOST_DOCUMENTS:
        null = permuted_statistics(
            identity_kernel(laws, family), laws.y, laws.n_classes, own.n_permutations, own.seed, poll
        )
    width = math.nan if family == "linear" else WIDTH
    return {"statistic": identity_sums(laws, family).total(), "width": width, "p_value": p_value(null)}
