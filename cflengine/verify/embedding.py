"""A run of ``cflengine embed``, checked: documents cut again, wMMD², its test and interval recomputed by plain numpy.

Vectors are those of ``vectors.npz``: where they are from is not checked. 𝐊 is made a block of rows at a time.
"""

from __future__ import annotations

import json
import math
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from cflengine.embedding.problem import kernel_matrix, most_words, pair_coefficients
from cflengine.embedding.vectors import text_lines
from cflengine.linear.labels import Labels, read_labels
from cflengine.text.token_table import plain_tokens
from cflengine.verify.answers import cell_of, check_column
from cflengine.verify.findings import Finding, check_table, require, require_same, rows_of
from cflengine.verify.networks import check_predictions
from cflengine.verify.permutations import SHARED, check_permutations, same_number

_ROWS = 512
_Z = 1.959963984540054


def verify_embedding(folder: Path, report: dict[str, Any], corpus: Any) -> Finding:
    """Check it. Raises FalseResult."""
    arguments, said = report["arguments"], report["statistic"]
    labels = read_labels(corpus.metadata, arguments["label_column"], arguments.get("classes"))
    words, M = _vectors(folder)
    laws, y = _laws(arguments, corpus, labels, words)
    require_same(said["n_documents"], laws.shape[0], "the number of documents is")
    family, widths = said["kernel"], tuple(float(width) for width in said["widths"])
    require(family == arguments["kernel"], "the kernel is not the one that was asked for.")
    asked = tuple(arguments.get("width") or ())
    require(widths == asked or not asked or family == "linear", "the widths are not those that were asked for.")
    checked = [f"{laws.shape[0]:,} documents, {len(words):,} words"]
    notes = ["the vectors: they are taken as the run left them"]
    if widths and not arguments.get("width"):
        notes.append("that the width is the median distance: it is taken as the report says")
    K = _Blocks(M, family, widths)
    KP, within = _products(laws, y, K, len(labels.classes))
    total = _statistic(laws, y, KP, within, None)
    error, features = said["approximation_error"], arguments.get("random_features") if family != "linear" else None
    if features:
        # a frequency adds between −4 and 4 to each pair's statistic
        most = 8.0 * math.comb(len(labels.classes), 2) / math.sqrt(features)
        require(0.0 <= error <= most, f"the report says a standard error of {error!r}, more than {features} can have.")
        require(
            abs(total - said["statistic"]) <= 6.0 * error,
            f"the statistic is {total!r}, too far from {said['statistic']!r} by random features.",
        )
        checked.append("wMMD² within six standard errors of the random features")
        notes.append("intervals, pairs of classes and witness.csv, which are by random features")
    else:
        require(error == 0.0, "the report says a standard error where no random features were asked for.")
        same_number(said["statistic"], total, np.abs(KP).max(), "a statistic of")
        low, high = _interval(laws, y, KP, within, None)
        same_number(said["interval"][0], low, np.abs(KP).max(), "an interval from")
        same_number(said["interval"][1], high, np.abs(KP).max(), "an interval to")
        checked.append("wMMD² and its interval")
        _check_pairs(report["pairwise"], labels, laws, y, (KP, within))
        _check_witness(folder, labels, words, laws, y, KP)
        checked.append(f"{len(report['pairwise']):,} pairs of classes")
    _check_sizes(folder, report, labels, laws, y, words)
    factor = 1.0 - SHARED[family]
    own = np.asarray(laws.multiply(laws).sum(axis=1)).ravel()
    sums = np.stack([np.asarray(laws[y == c].sum(axis=0)).ravel() for c in range(len(labels.classes))], axis=1)
    alone = (factor * sums, factor * own)
    same_number(
        said["identity"]["statistic"],
        _statistic(laws, y, alone[0], alone[1], None),
        1.0,
        "of M = identity a statistic of",
    )
    for row, pair in zip(report["pairwise"], combinations(range(len(labels.classes)), 2), strict=True):
        same_number(
            row["identity"],
            _statistic(laws, y, alone[0], alone[1], [pair]),
            1.0,
            "of M = identity, a pair's statistic of",
        )
    checked.append("wMMD² of the words themselves")
    notes.append("the coverage")
    notes += check_permutations(folder, report, laws, y, K, (total, within))
    if "training" in report:
        checked.append(check_predictions(folder, report, corpus, labels, _vectors(folder, "trained_")))
    _check_text(folder, "trained_" if "training" in report else "")
    check_table(folder / "pairwise.csv", report["pairwise"], ("statistic", "low", "high", "p_value", "identity"))
    for name in ("class", "other"):
        names = [cell_of(row[name]) for row in report["pairwise"]]
        check_column(rows_of(folder / "pairwise.csv"), name, names, "pairwise.csv")
    summary = f"wMMD² {total:.6g}, p {said['p_value']:.3g}" if said["p_value"] is not None else f"wMMD² {total:.6g}"
    return Finding("word-level MMD", total, total, 0.0, tuple(checked), tuple(notes), summary)


class _Blocks:
    """𝐊, some rows at a time."""

    def __init__(self, M: np.ndarray, family: str, widths: tuple[float, ...]) -> None:
        self.M, self.family, self.widths = M - M.mean(axis=0) if family != "linear" else M, family, widths

    def __iter__(self) -> Any:
        for first in range(0, len(self.M), _ROWS):
            rows = slice(first, min(first + _ROWS, len(self.M)))
            values = kernel_matrix(self.M[rows], self.M, self.family, self.widths)
            if self.family != "linear":
                own = np.arange(rows.stop - rows.start)
                values[own, own + first] = 1.0
            yield rows, values


def _vectors(folder: Path, of: str = "") -> tuple[list[str], np.ndarray]:
    with np.load(folder / "vectors.npz", allow_pickle=False) as arrays:
        words, M = arrays[f"{of}words"], np.asarray(arrays[f"{of}vectors"], dtype=np.float64)
    found = bytes(words).decode("utf-8", "surrogatepass").split("\n") if words.dtype == np.uint8 else words.tolist()
    require(len(found) == len(M) and bool(np.isfinite(M).all()), "words and vectors do not fit together.")
    return found, M


def _check_text(folder: Path, of: str) -> None:
    """vectors.txt has the vectors of vectors.npz; of: whose."""
    words, M = _vectors(folder, of)
    with open(folder / "vectors.txt", "rb") as file:
        for number, line in enumerate(text_lines(words, M), 1):
            require(file.readline() == line, f"line {number} of vectors.txt is not what vectors.npz says.")
        require(not file.read(1), "vectors.txt has more lines than vectors.npz has words.")


def _laws(
    arguments: dict[str, Any], corpus: Any, labels: Labels, words: list[str]
) -> tuple[sparse.csr_matrix, np.ndarray]:
    """CSR (N, V) of the documents that have a word, rows that sum to 1; and their classes."""
    chosen = np.flatnonzero(labels.y >= 0)
    pattern = arguments.get("token_pattern") or r"\w+"
    texts = [corpus.texts[d] for d in chosen.tolist()]
    table = plain_tokens(texts, pattern, lowercase=not arguments["keep_case"])
    number = {word: k for k, word in enumerate(words)}
    word = np.array([number.get(form, -1) for form in table.vocabulary], dtype=np.int64)[table.tokens]
    document = np.repeat(np.arange(len(texts)), np.diff(table.doc_ptr))[word >= 0]
    shape = (len(texts), len(words))
    counts = sparse.coo_matrix((np.ones(len(document)), (document, word[word >= 0])), shape).tocsr()
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    used = np.flatnonzero(lengths > 0)
    laws = sparse.csr_matrix(sparse.diags(1.0 / lengths[used]) @ counts[used])
    return laws, labels.y[chosen][used]


def _products(laws: sparse.csr_matrix, y: np.ndarray, K: _Blocks, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """𝐊P (V, C) and p_iᵀ𝐊p_i (N,)."""
    P = np.stack([np.asarray(laws[y == c].sum(axis=0)).ravel() for c in range(n_classes)], axis=1)
    KP, within = np.empty(P.shape), np.zeros(laws.shape[0])
    for rows, values in K:
        KP[rows] = values @ P
        towards = laws @ values.T  # (N, rows): p_iᵀ𝐊
        within += np.asarray(laws[:, rows].multiply(towards).sum(axis=1)).ravel()
    return KP, within


def _pairs(n_classes: int, pairs: list[tuple[int, int]] | None) -> list[tuple[int, int]]:
    return list(combinations(range(n_classes), 2)) if pairs is None else pairs


def _statistic(
    laws: sparse.csr_matrix, y: np.ndarray, KP: np.ndarray, within: np.ndarray, pairs: list[tuple[int, int]] | None
) -> float:
    """The estimate: Σ_ab C_ab P_aᵀ𝐊P_b − Σ_i C_cc p_iᵀ𝐊p_i."""
    towards = laws @ KP
    between = np.stack([towards[y == c].sum(axis=0) for c in range(KP.shape[1])])
    coefficients = pair_coefficients(np.bincount(y).astype(np.float64), pairs)
    return float((coefficients * between).sum() - (coefficients.diagonal()[y] * within).sum())


def _interval(
    laws: sparse.csr_matrix, y: np.ndarray, KP: np.ndarray, within: np.ndarray, pairs: list[tuple[int, int]] | None
) -> tuple[float, float]:
    """By leaving out a document at a time, from the kernel sums of each document with each class."""
    chosen, n = _pairs(KP.shape[1], pairs), np.bincount(y).astype(np.float64)
    if min(n[c] for pair in chosen for c in pair) < 3:
        return math.nan, math.nan
    towards = laws @ KP
    between = np.stack([towards[y == c].sum(axis=0) for c in range(KP.shape[1])])
    inner = np.bincount(y, within)
    values = np.zeros(len(y))
    for i in range(len(y)):
        c = y[i]
        for a, b in chosen:
            if c not in (a, b):
                continue
            other = b if c == a else a
            own = between[c, c] - inner[c] - 2.0 * (towards[i, c] - within[i])
            values[i] += own / ((n[c] - 1.0) * (n[c] - 2.0))
            values[i] -= 2.0 * (between[c, other] - towards[i, other]) / ((n[c] - 1.0) * n[other])
    variance = 0.0
    for c in {c for pair in chosen for c in pair}:
        mine = values[y == c]
        variance += (n[c] - 1.0) / n[c] * float(((mine - mine.mean()) ** 2).sum())
    middle = _statistic(laws, y, KP, within, pairs)
    return middle - _Z * math.sqrt(variance), middle + _Z * math.sqrt(variance)


def _check_pairs(rows: list[dict[str, Any]], labels: Labels, laws: sparse.csr_matrix, y: np.ndarray, sums: Any) -> None:
    pairs = list(combinations(range(len(labels.classes)), 2))
    require(len(rows) == len(pairs), "there is not one row for each pair of classes.")
    for row, (a, b) in zip(rows, pairs, strict=True):
        require([row["class"], row["other"]] == [labels.classes[a], labels.classes[b]], "pairs of other classes.")
        scale = float(np.abs(sums[0]).max())
        same_number(row["statistic"], _statistic(laws, y, sums[0], sums[1], [(a, b)]), scale, "a pair's statistic of")
        low, high = _interval(laws, y, sums[0], sums[1], [(a, b)])
        same_number(row["low"], low, scale, "a pair's interval from")
        same_number(row["high"], high, scale, "a pair's interval to")


def _check_sizes(
    folder: Path, report: dict[str, Any], labels: Labels, laws: sparse.csr_matrix, y: np.ndarray, words: list[str]
) -> None:
    """How many of what, and that statistic.json says what report.json does."""
    said = report["statistic"]
    require_same(said["n_words"], len(words), "the number of words is")
    require_same(said["n_empty"], int(np.count_nonzero(labels.y >= 0)) - laws.shape[0], "documents left out are")
    for name, n in zip(labels.classes, np.bincount(y, minlength=len(labels.classes)).tolist(), strict=True):
        require_same(said["classes"].get(name), n, f"documents of class {name!r} are")
    require(report["classes"] == list(labels.classes), "the classes of the report are not those of the labels.")
    beside = json.loads((folder / "statistic.json").read_text(encoding="utf-8"))
    require(beside == said | {"pairwise": report["pairwise"]}, "statistic.json is not what report.json says.")


def _check_witness(
    folder: Path, labels: Labels, words: list[str], laws: sparse.csr_matrix, y: np.ndarray, KP: np.ndarray
) -> None:
    """Every number in witness.csv, which has the words of largest contribution, for every pair of classes."""
    frame = pd.read_csv(folder / "witness.csv", dtype=str, keep_default_na=False)
    names = [cell_of(name) for name in labels.classes]
    number = {cell_of(word): v for v, word in enumerate(words)}
    n = np.bincount(y).astype(np.float64)
    shares = np.stack([np.asarray(laws[y == c].sum(axis=0)).ravel() / n[c] for c in range(len(n))], axis=1)
    groups = {(str(key[0]), str(key[1])): own for key, own in frame.groupby(["of", "against"], sort=False)}
    pairs = list(combinations(range(len(names)), 2))
    require(set(groups) == {(names[a], names[b]) for a, b in pairs}, "witness.csv has other pairs of classes.")
    for a, b in pairs:
        own, difference = groups[names[a], names[b]], KP[:, a] / n[a] - KP[:, b] / n[b]
        distance = math.sqrt(max(float((shares[:, a] - shares[:, b]) @ difference), 0.0))
        h = difference / distance if distance > 0 else np.zeros(len(words))
        at = np.array([number[word] for word in own["word"]])
        added = (shares[:, a] - shares[:, b]) * h
        left = np.delete(added, at)
        whole = len(np.unique(at)) == len(at) == min(len(words), most_words(len(names)))
        whole = whole and (not len(left) or left.max() <= added[at].min() + 1e-9)
        near = all(
            np.allclose(own[column].astype(float), values[at], rtol=1e-6, atol=1e-12 if column != "witness" else 1e-9)
            for column, values in (
                ("witness", h), ("contribution", added), ("share", shares[:, a]), ("share in other", shares[:, b])
            )
        )  # fmt: skip
        towards = np.where(own["class"] == names[a], 1.0, -1.0) * h[at] >= -1e-9
        near = near and bool(towards.all()) and set(own["class"]) <= {names[a], names[b]}
        require(whole and near, f"the witness of {names[a]!r} against {names[b]!r} is another one.")
