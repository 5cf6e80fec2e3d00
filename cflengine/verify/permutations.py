"""p values of a run of ``cflengine embed``: labels permuted again, where documents are few enough for their kernel."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from cflengine.embedding.problem import MOST_DOCUMENTS, pair_coefficients
from cflengine.verify.findings import require, require_same

SHARED = {"gaussian": math.exp(-0.5), "laplace": math.exp(-1.0), "linear": 0.0}  # of two words, at distance √2
_MOST_DOCUMENTS = 4_000  # whose kernel is made as a matrix, to repeat the permutations
_AT_ONCE = 64  # permutations
_MOST_WORK = 1e12  # multiplications for p of single pairs

Sums = tuple[float, np.ndarray]


def check_permutations(
    folder: Path, report: dict[str, Any], laws: sparse.csr_matrix, y: np.ndarray, K: Iterable[Any], sums: Sums
) -> list[str]:
    """The p value follows from null.csv; null.csv is repeated where documents are few. K: the kernel of the words by
    blocks (rows, values); sums: the statistic, and p_iᵀ𝐊p_i (N,). Returns what was not checked."""
    said, arguments = report["statistic"], report["arguments"]
    total, within = sums
    null = pd.read_csv(folder / "null.csv")["statistic"].to_numpy(dtype=np.float64)
    require_same(said["n_permutations"], len(null), "the number of permutations is")
    if not len(null):
        require(said["p_value"] is None, "there is a p value without permutations.")
        return []
    by_features = said["kernel"] != "linear" and bool(arguments.get("random_features"))
    exact = said["kernel"] == "linear" or (not by_features and laws.shape[0] <= MOST_DOCUMENTS)
    kernel = "exact" if exact else "random features"
    require(
        said["null_kernel"] == kernel, f"labels were permuted with the kernel {kernel!r}, not {said['null_kernel']!r}."
    )
    if exact:
        same_number(said["null_observed"], total, 1.0, "permutations compared with")
        same_number(said["tie_tolerance"], _tolerance(within, y), 0.0, "a tolerance of")
    tie = float(said["tie_tolerance"])
    require(0.0 <= tie <= 10.0 * _tolerance(within, y), f"the report says a tolerance of {tie!r} for ties.")
    p = (1 + np.count_nonzero(null >= said["null_observed"] - tie)) / (1 + len(null))
    require_same(said["p_value"], float(p), "a p value of")
    if not exact or laws.shape[0] > _MOST_DOCUMENTS:
        return [
            "the statistics of permuted labels, and p of single pairs and of the words themselves: they are taken as "
            "the run left them"
        ]
    gram = np.zeros((laws.shape[0], laws.shape[0]))
    for rows, values in K:
        gram += laws[:, rows] @ (laws @ values.T).T
    seed, scale = int(arguments["seed"]), float(np.abs(gram).max())
    for value, again in zip(null.tolist(), _permuted(gram, y, len(null), seed)[1:].tolist(), strict=True):
        same_number(value, again, scale, "a permuted statistic of")
    if len(null) < int(arguments["permutations"]):
        return ["p of single pairs of classes, and of the words themselves: permutations were stopped"]
    return _check_other_p(report, laws, y, gram, len(null))


def _permuted(gram: np.ndarray, y: np.ndarray, n: int, seed: int) -> np.ndarray:
    """float64 (1 + n,): the statistic of the labels, then of labels permuted, some at a time."""
    coefficients = pair_coefficients(np.bincount(y).astype(np.float64))
    rng, found = np.random.default_rng(seed), []
    for first in range(0, 1 + n, _AT_ONCE):
        labels = [y if k == 0 else rng.permutation(y) for k in range(first, min(first + _AT_ONCE, 1 + n))]
        members = np.eye(len(coefficients))[np.stack(labels)]  # (at once, N, classes)
        towards = np.moveaxis(np.tensordot(gram, members, axes=(1, 1)), 0, 1)
        sums = np.einsum("kna,knb->kab", members, towards)
        own = coefficients.diagonal()[np.stack(labels)] @ gram.diagonal()
        found.append((coefficients * sums).sum(axis=(1, 2)) - own)
    return np.concatenate(found)


def _check_other_p(
    report: dict[str, Any], laws: sparse.csr_matrix, y: np.ndarray, gram: np.ndarray, n: int
) -> list[str]:
    """p of the words themselves, and of each pair of classes. Returns what was not checked."""
    seed, said = int(report["arguments"]["seed"]), report["statistic"]
    factor = 1.0 - SHARED[said["kernel"]]
    require_same(
        said["identity"]["p_value"],
        _p(
            _permuted(factor * (laws @ laws.T).toarray(), y, n, seed), factor * laws.multiply(laws).sum(axis=1).max(), y
        ),
        "p of the words themselves is",
    )
    rows, most = report["pairwise"], float(np.abs(gram.diagonal()).max())
    if len(rows) == 1:
        require_same(rows[0]["p_value"], said["p_value"], "p of the only pair is")
        return []
    chosen = [np.flatnonzero((y == a) | (y == b)) for a, b in combinations(range(int(y.max()) + 1), 2)]
    if n * sum(4.0 * len(documents) ** 2 for documents in chosen) > _MOST_WORK:
        return ["p of single pairs of classes: they are too many to be repeated"]
    for row, documents in zip(rows, chosen, strict=True):
        own = (y[documents] == y[documents].max()).astype(np.int64)
        p = _p(_permuted(gram[np.ix_(documents, documents)], own, n, seed), most, own)
        require_same(row["p_value"], p, f"p of {row['class']} and {row['other']} is")
    return []


def _p(statistics: np.ndarray, largest: float, y: np.ndarray) -> float:
    """(1 + #{permuted ≥ observed}) / (1 + permutations); what differs by rounding alone is a tie."""
    tolerance = _tolerance(np.array([largest]), y)
    return float((1 + np.count_nonzero(statistics[1:] >= statistics[0] - tolerance)) / len(statistics))


def _tolerance(diagonal: np.ndarray, y: np.ndarray) -> float:
    """By how much two statistics may differ that are equal but for rounding; diagonal: of the documents' kernel."""
    return float(1e-12 * (int(y.max()) + 1) ** 2 * np.abs(diagonal).max())


def same_number(said: Any, found: float, scale: float, what: str) -> None:
    """Statistics are differences of larger numbers: compared at their scale."""
    if said is None or math.isnan(found):
        require(said is None and math.isnan(found), f"the report says {what} {said!r}, but it is {found!r}.")
        return
    good = isinstance(said, int | float) and abs(float(said) - found) <= 1e-7 * abs(found) + 1e-10 * scale
    require(good, f"the report says {what} {said!r}, but it is {found!r}.")
