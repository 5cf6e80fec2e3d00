"""p values of a run of ``cflengine embed``: labels permuted again, by the documents' kernel or by its features."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from cflengine.embedding.laws import DocumentKernel
from cflengine.embedding.problem import MOST_DOCUMENTS, pair_coefficients
from cflengine.verify.findings import require, require_same, with_progress

SHARED = {"gaussian": math.exp(-0.5), "laplace": math.exp(-1.0), "linear": 0.0}  # of two words, at distance √2
_AT_ONCE = 64  # permutations
_MOST_NUMBERS = 2e7  # of all members of classes, at once
_MOST_WORK = 4e12  # multiplications for one test: a minute or two


def _sums(documents: DocumentKernel, members: np.ndarray) -> np.ndarray:
    """Z G Zᵀ (k, C, C) of members Z, float64 (k, C, N)."""
    if documents.gram is not None:
        return (members @ documents.gram) @ np.swapaxes(members, 1, 2)
    means = members @ documents.features
    return means @ np.swapaxes(means, 1, 2)


def _work(documents: DocumentKernel) -> float:
    """Multiplications for one class of one permutation."""
    held = documents.features if documents.gram is None else documents.gram
    assert held is not None
    return float(held.size)


def document_kernel(laws: sparse.csr_matrix, K: Iterable[Any]) -> DocumentKernel:
    """The matrix, from the kernel of words by blocks (rows, values)."""
    gram = np.zeros((laws.shape[0], laws.shape[0]))
    for rows, values in K:
        gram += laws[:, rows] @ (laws @ values.T).T
    return DocumentKernel(gram=gram)


def check_permutations(
    folder: Path, report: dict[str, Any], laws: sparse.csr_matrix, y: np.ndarray, documents: DocumentKernel | None
) -> list[str]:
    """The p value follows from null.csv, which is repeated; documents: None without permutations. Returns what was not
    checked."""
    said, arguments = report["statistic"], report["arguments"]
    null = pd.read_csv(folder / "null.csv")["statistic"].to_numpy(dtype=np.float64)
    require_same(said["n_permutations"], len(null), "the number of permutations is")
    asked = int(arguments["permutations"])
    require(len(null) <= asked, f"there are {len(null):,} permutations, where {asked:,} were asked for.")
    if documents is None or not len(null):
        values = [said["p_value"], said["null_observed"], said["identity"]["p_value"]]
        values += [row["p_value"] for row in report["pairwise"]]
        require(all(value is None for value in values), "there is a p value without permutations.")
        require(bool(asked) or said["null_kernel"] == "", "there is a kernel of permutations without permutations.")
        return ["p values: permutations were stopped"] if asked else []
    kernel = "exact" if documents.gram is not None or said["kernel"] == "linear" else "random features"
    say = f"labels were permuted with the kernel {kernel!r}, not {said['null_kernel']!r}."
    require(said["null_kernel"] == kernel, say)
    tie = _tolerance(documents.diagonal, y)
    same_number(said["tie_tolerance"], tie, 0.0, "a tolerance of")
    seed, scale = int(arguments["seed"]), float(np.abs(documents.diagonal).max())
    n = min(len(null), max(_AT_ONCE, int(_MOST_WORK / (_work(documents) * (int(y.max()) + 1)))))
    again = _permuted(documents, y, n, seed)
    same_number(said["null_observed"], again[0], scale, "permutations compared with")
    for value, one in zip(null.tolist(), again[1:].tolist(), strict=False):
        same_number(value, one, scale, "a permuted statistic of")
    p = (1 + np.count_nonzero(null >= said["null_observed"] - float(said["tie_tolerance"]))) / (1 + len(null))
    require_same(said["p_value"], float(p), "a p value of")
    notes = []
    if n < len(null):
        notes.append(f"p where it hangs on the permuted statistics after the first {n:,}: those are not repeated")
    if len(null) < asked:
        return [*notes, "p of single pairs of classes, and of the words themselves: permutations were stopped"]
    return notes + _check_identity(report, laws, y, len(null)) + _check_pairs(report, y, documents, len(null))


def _permuted(documents: DocumentKernel, y: np.ndarray, n: int, seed: int) -> np.ndarray:
    """float64 (1 + n,): the statistic of the labels, then of labels permuted, some at a time."""
    coefficients = pair_coefficients(np.bincount(y).astype(np.float64))
    rng, found, diagonal, classes = np.random.default_rng(seed), [], documents.diagonal, np.arange(len(coefficients))
    at_once = min(_AT_ONCE, 1 + int(_MOST_NUMBERS / (len(y) * len(classes))))
    for first in with_progress(range(0, 1 + n, at_once), "permuting labels", f"rounds of {at_once}"):
        labels = np.stack([y if k == 0 else rng.permutation(y) for k in range(first, min(first + at_once, 1 + n))])
        members = (labels[:, None, :] == classes[:, None]).astype(np.float64)
        own = coefficients.diagonal()[labels] @ diagonal
        found.append((coefficients * _sums(documents, members)).sum(axis=(1, 2)) - own)
    return np.concatenate(found)


def _check_identity(report: dict[str, Any], laws: sparse.csr_matrix, y: np.ndarray, n: int) -> list[str]:
    """p of the words themselves. Returns what was not checked."""
    said = report["statistic"]["identity"]["p_value"]
    if laws.shape[0] > MOST_DOCUMENTS:
        require(said is None, "there is a p of the words themselves, of so many documents that none is computed.")
        return []
    if said is None:
        return ["p of the words themselves: permutations were stopped"]
    if n * float(laws.shape[0]) ** 2 * (int(y.max()) + 1) > _MOST_WORK:
        return ["p of the words themselves: its permutations are too many to be repeated"]
    documents = DocumentKernel(gram=(1.0 - SHARED[report["statistic"]["kernel"]]) * (laws @ laws.T).toarray())
    statistics = _permuted(documents, y, n, int(report["arguments"]["seed"]))
    require_same(said, _p(statistics, _tolerance(documents.diagonal, y)), "p of the words themselves is")
    return []


def _check_pairs(report: dict[str, Any], y: np.ndarray, documents: DocumentKernel, n: int) -> list[str]:
    """p of each pair of classes. Returns what was not checked."""
    rows = report["pairwise"]
    if len(rows) == 1:
        require_same(rows[0]["p_value"], report["statistic"]["p_value"], "p of the only pair is")
        return []
    chosen = [np.flatnonzero((y == a) | (y == b)) for a, b in combinations(range(int(y.max()) + 1), 2)]
    shares = [len(some) / len(y) for some in chosen]
    each = [share if documents.gram is None else share**2 for share in shares]
    if n * _work(documents) * 2.0 * sum(each) > _MOST_WORK:
        return ["p of single pairs of classes: they are too many to be repeated"]
    for row, some in zip(rows, chosen, strict=True):
        if row["p_value"] is None:
            continue
        own = (y[some] == y[some].max()).astype(np.int64)
        statistics = _permuted(documents.of(some), own, n, int(report["arguments"]["seed"]))
        p = _p(statistics, _tolerance(documents.diagonal, own))
        require_same(row["p_value"], p, f"p of {row['class']} and {row['other']} is")
    stopped = any(row["p_value"] is None for row in rows)
    return ["p of some pairs of classes: permutations were stopped"] if stopped else []


def _p(statistics: np.ndarray, tolerance: float) -> float:
    """(1 + #{permuted ≥ observed}) / (1 + permutations); what differs by rounding alone is a tie."""
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
