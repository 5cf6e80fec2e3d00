"""Which sentences a classifier goes by: the most telling of each class, and how well it does on a share of them.

A sentence speaks for a class with what its words add to the class's score, Σ_{i in s} w_i (§5.4 of Yogatama & Smith);
it is as strong as ‖w_s‖, the largest over classes. Reading only the strongest q of all sentences is the classifier on
documents whose other sentences are taken out; q is chosen on the development set: the smallest within one standard
error of the best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cflengine.linear.model import LinearModel, predicted_classes
from cflengine.sentence_lasso.comparison import SentenceComparison
from cflengine.sentence_lasso.model.penalties import Penalty

SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True)
class Reading:
    """A classifier that reads the S strongest sentences alone.

    Parameters
    ----------
    added : ndarray
        float64 (S, rows), what every sentence adds to the scores.
    group_norm : ndarray
        float64 (S,).
    shares : tuple[float, ...]
        Of the sentences, that are read.
    threshold : ndarray
        float64, of each of ``shares`` the group norm from which on a sentence is read.
    dev : ndarray
        float64, accuracy on the development set with each share; NaN without such documents.
    test : ndarray
        float64, the same on the test set.
    error : float
        The standard error of the best on the development set.
    chosen : int
        Position in ``shares``.
    """

    added: np.ndarray
    group_norm: np.ndarray
    shares: tuple[float, ...]
    threshold: np.ndarray
    dev: np.ndarray
    test: np.ndarray
    error: float
    chosen: int

    def read(self, k: int) -> np.ndarray:
        """bool (S,): the sentences that are read with the k-th share."""
        return self.group_norm >= self.threshold[k]


def reading(comparison: SentenceComparison, model: LinearModel, shares: Sequence[float] = SHARES) -> Reading:
    """A classifier that reads the strongest sentences alone, for several shares of them.

    Parameters
    ----------
    comparison : SentenceComparison
        Whose sentences are read.
    model : LinearModel
        The classifier.
    shares : sequence of float
        Of the training documents' sentences; they set the thresholds.

    Returns
    -------
    Reading
        Accuracy by share, and the smallest share within a standard error of the best.
    """
    counts, document = comparison.table.counts, comparison.table.document
    added = np.asarray(counts @ model.coef.T)
    group_norm = np.sqrt(np.asarray(counts @ (model.coef.T**2)).max(axis=1, initial=0.0))
    in_training = np.zeros(len(comparison.documents), dtype=bool)
    in_training[comparison.train] = True
    own = np.sort(group_norm[in_training[document]])
    place = np.minimum(np.ceil(len(own) * (1.0 - np.array(shares))).astype(np.int64), max(len(own) - 1, 0))
    threshold = np.maximum(own[place], np.finfo(float).tiny) if len(own) else np.zeros(len(shares))
    accuracy = {part: np.full(len(shares), np.nan) for part in ("dev", "test")}
    for k in range(len(shares)):
        predicted = _predicted(comparison, model, added, group_norm >= threshold[k])
        for part, found in accuracy.items():
            found[k] = comparison.accuracy(predicted, getattr(comparison, part))
    best = float(np.max(accuracy["dev"]))
    error = float(np.sqrt(best * (1.0 - best) / max(len(comparison.dev), 1)))
    chosen = int(np.flatnonzero(accuracy["dev"] >= best - error)[0])
    return Reading(added, group_norm, tuple(shares), threshold, accuracy["dev"], accuracy["test"], error, chosen)


def _predicted(comparison: SentenceComparison, model: LinearModel, added: np.ndarray, read: np.ndarray) -> np.ndarray:
    """int64 (n,): the classes of documents of which only some sentences are read."""
    where, n = comparison.table.document[read], len(comparison.documents)
    columns = [np.bincount(where, weights=added[read, k], minlength=n) for k in range(added.shape[1])]
    scores = np.column_stack(columns) + model.intercept
    return predicted_classes(scores[:, 0] if added.shape[1] == 1 else scores)


def towards(added: np.ndarray, k: int) -> np.ndarray:
    """float64 (S,): what sentences say for class k, more than 0 for it. added: as :class:`Reading` has it."""
    return added[:, 0] * (1.0 if k else -1.0) if added.shape[1] == 1 else added[:, k]


def telling_sentences(
    comparison: SentenceComparison, texts: Sequence[str], found: Reading, k: int, most: int = 20
) -> pd.DataFrame:
    """The sentences that most say a class, the strongest first.

    Parameters
    ----------
    comparison : SentenceComparison
        Its sentences.
    texts : sequence of str
        All documents of the corpus.
    found : Reading
        What every sentence adds.
    k : int
        The class.
    most : int
        Rows at most.

    Returns
    -------
    pandas.DataFrame
        Columns sentence (its number in the table of sentences), position (of the document among the split ones), start,
        end, said (what it adds), times (how often the very words stand in the documents; they are listed once).
    """
    said, table = towards(found.added, k), comparison.table
    order = np.argsort(-said, kind="stable")
    rows: dict[str, list[float]] = {}
    for s in order.tolist():
        if said[s] <= 0:
            break
        position, start, end = int(table.document[s]), int(table.start[s]), int(table.end[s])
        words = " ".join(texts[int(comparison.documents[position])][start:end].lower().split())
        if words in rows:
            rows[words][-1] += 1
        elif len(rows) < most:
            rows[words] = [s, position, start, end, float(said[s]), 1]
        elif said[s] < min(row[4] for row in rows.values()) - 1e-12:
            break
    columns = ["sentence", "position", "start", "end", "said", "times"]
    return pd.DataFrame(list(rows.values()), columns=columns).astype({name: int for name in columns if name != "said"})


def quick_penalties(ratios: Sequence[int] = (2, 6), steps: int = 10) -> list[list[Penalty]]:
    """Chains of a few sentence regularisers, from the strongest on: a first model in about a second.

    Parameters
    ----------
    ratios : sequence of int
        Of each chain, how many steps λ_las stands above λ_sen.
    steps : int
        Of each chain; λ are powers of 10^(1/4) in two digits.

    Returns
    -------
    list of list of Penalty
        A list a chain.
    """

    def power(k: int) -> float:
        return float(f"{10 ** (k / 4):.2g}")

    return [
        [Penalty("sentence", lam_sen=power(k - ratio), lam_las=power(k)) for k in range(5, 5 - steps, -1)]
        for ratio in ratios
    ]
