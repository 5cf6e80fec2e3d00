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
    document_gram,
    interval,
    jackknife,
    p_value,
    permuted_statistics,
    tie_tolerance,
)
from cflengine.embedding.laws import DocumentKernel, WordLaws, centred
from cflengine.embedding.pairs import PairSums, pair_sums, witness_frame
from cflengine.embedding.problem import MOST_DOCUMENTS, TEST_FEATURES
from cflengine.embedding.random_features import feature_sums
from cflengine.embedding.settings import CompareSettings, Kernel
from cflengine.embedding.width import median_width
from cflengine.embedding.words import LabelledWords
from cflengine.engine.checks import InputError
from cflengine.engine.progress import Poll, Stopped

PERMUTATIONS = "permutations"  # the last stage


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What :func:`compare` finds; the names are those of :class:`~cflengine.WordMMD`'s attributes.

    Parameters
    ----------
    words : LabelledWords
        What was compared.
    kernel : Kernel
        With its widths.
    sums : PairSums
        Over pairs of words, which the statistic is made of.
    approximation_error : float
        Of random features; 0 of the exact pass.
    interval : tuple[float, float]
        95 %, by the jackknife over documents.
    null : ndarray
        float64 (permutations,), the statistic under permuted classes.
    null_observed : float
        What ``null`` is compared with, the statistic itself where null_kernel is "exact".
    tie_tolerance : float
        Up to which difference a permuted statistic counts as equal.
    null_kernel : str
        What the permutations are evaluated with.
    p_value : float
        (1 + #) / (1 + permutations).
    pairwise : DataFrame
        A row a pair of classes.
    identity : dict[str, float]
        Statistic and width before embedding (M the identity).
    """

    words: LabelledWords = field(repr=False)
    kernel: Kernel
    sums: PairSums = field(repr=False)
    approximation_error: float
    interval: tuple[float, float]
    null: np.ndarray = field(repr=False)
    null_observed: float
    tie_tolerance: float
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
            "n_permutations": self.n_permutations, "null_kernel": self.null_kernel,
            "null_observed": self.null_observed, "tie_tolerance": self.tie_tolerance, "kernel": self.kernel.family,
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
    if kernel.family == "linear":
        M = centred(laws.laws, M)
    on_stage("pairs of words")
    features, error = None, 0.0
    if own.random_features is None or kernel.family == "linear":
        sums = pair_sums(laws, M, kernel, n_threads=own.n_threads, poll=poll)
    else:
        found = feature_sums(laws, M, kernel, own.random_features, seed=own.random_state, poll=poll)
        sums, features, error = found.sums, found.features, found.standard_error
    on_stage(PERMUTATIONS)
    documents = _document_kernel(laws, M, kernel, features, own, poll) if own.n_permutations else None
    null = _null(documents, words, own, poll)
    tolerance = 0.0 if documents is None else tie_tolerance(documents.diagonal, laws.n_classes)
    p = p_value(null, tolerance)
    exact = documents is not None and (documents.gram is not None or kernel.family == "linear")
    by_words = identity_sums(laws, kernel.family)
    pairwise = _pairwise((sums, by_words), words, documents, p, own, poll)
    del documents  # the one of M = identity is as large
    return Comparison(
        null_observed=float(null[0]) if len(null) else math.nan,
        tie_tolerance=tolerance,
        words=words, kernel=kernel, sums=sums, approximation_error=error, null=null[1:], p_value=p,
        interval=interval(sums.total(), jackknife(sums)),
        null_kernel=("exact" if exact else "random features") if len(null) else "",
        pairwise=pairwise, identity=_identity(by_words, words, kernel.family, own, poll),
    )  # fmt: skip


def _kernel(words: LabelledWords, own: CompareSettings, poll: Poll) -> Kernel:
    if own.kernel == "linear":
        return Kernel("linear")
    if own.widths:
        return Kernel(own.kernel, own.widths)
    width = median_width(words.laws, words.vectors.M, n_threads=own.n_threads, seed=own.random_state, poll=poll)
    if width == 0.0:
        raise InputError(
            "most pairs of words have the same vector, so the median distance is 0: give a width, or other vectors."
        )
    return Kernel(own.kernel, (width,))


def _document_kernel(
    laws: WordLaws, M: np.ndarray, kernel: Kernel, features: np.ndarray | None, own: CompareSettings, poll: Poll
) -> DocumentKernel | None:
    try:
        if features is None and laws.n_documents > MOST_DOCUMENTS and kernel.family != "linear":
            features = feature_sums(laws, M, kernel, TEST_FEATURES, seed=own.random_state, poll=poll).features
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
    return permuted_statistics(
        documents, words.laws.y, words.laws.n_classes, own.n_permutations, own.random_state, poll
    )


def _pairwise(
    sums: tuple[PairSums, PairSums],
    words: LabelledWords,
    documents: DocumentKernel | None,
    p: float,
    own: CompareSettings,
    poll: Poll,
) -> pd.DataFrame:
    """A row a pair of classes: statistic, interval, p_value by permutations within the pair (p: of the only one),
    identity. sums: by the vectors, and by the words themselves."""
    laws, rows = words.laws, []
    by_vectors, by_words = sums
    for a, b in combinations(range(laws.n_classes), 2):
        if documents is not None and laws.n_classes > 2:
            chosen = np.flatnonzero((laws.y == a) | (laws.y == b))
            y = (laws.y[chosen] == b).astype(np.int64)
            null = permuted_statistics(documents.of(chosen), y, 2, own.n_permutations, own.random_state, poll)
            p = _whole(null, own, tie_tolerance(documents.diagonal))
        low, high = interval(by_vectors.statistic(a, b), jackknife(by_vectors, [(a, b)]))
        rows.append(
            {
                "class": str(words.classes[a]),
                "other": str(words.classes[b]),
                "statistic": by_vectors.statistic(a, b),
                "low": low,
                "high": high,
                "p_value": p,
                "identity": by_words.statistic(a, b),
            }
        )
    return pd.DataFrame(rows)


def _identity(sums: PairSums, words: LabelledWords, family: str, own: CompareSettings, poll: Poll) -> dict[str, float]:
    """The words themselves; permutations only where documents fit into a matrix."""
    laws, null, tolerance = words.laws, np.empty(0), 0.0
    if own.n_permutations and laws.n_documents <= MOST_DOCUMENTS:
        documents = identity_kernel(laws, family)
        null = permuted_statistics(documents, laws.y, laws.n_classes, own.n_permutations, own.random_state, poll)
        tolerance = tie_tolerance(documents.diagonal, laws.n_classes)
    width = math.nan if family == "linear" else WIDTH
    return {"statistic": sums.total(), "width": width, "p_value": _whole(null, own, tolerance)}


def _whole(null: np.ndarray, own: CompareSettings, tolerance: float) -> float:
    """p, where all permutations were done: how many others had is not kept."""
    return p_value(null, tolerance) if len(null) == 1 + own.n_permutations else math.nan
