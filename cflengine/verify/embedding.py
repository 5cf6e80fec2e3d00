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

from cflengine.embedding.problem import kernel_matrix, pair_coefficients
from cflengine.embedding.vectors import text_lines
from cflengine.linear.labels import Labels, read_labels
from cflengine.text.token_table import plain_tokens
from cflengine.verify.findings import Finding, check_table, require, require_same
from cflengine.verify.networks import check_network

_ROWS = 512
_MOST_DOCUMENTS = 4_000  # whose kernel is made as a matrix, to repeat the permutations
_Z = 1.959963984540054
_SHARED = {"gaussian": math.exp(-0.5), "laplace": math.exp(-1.0), "linear": 0.0}  # of two words, at distance √2
_AT_ONCE = 64  # permutations
_MOST_WORK = 1e12  # multiplications for p of single pairs


def verify_embedding(folder: Path, report: dict[str, Any], corpus: Any) -> Finding:
    """Check it. Raises FalseResult."""
    arguments, said = report["arguments"], report["statistic"]
    labels = read_labels(corpus.metadata, arguments["label_column"], arguments.get("classes"))
    words, M = _vectors(folder)
    laws, y = _laws(arguments, corpus, labels, words)
    require_same(said["n_documents"], laws.shape[0], "the number of documents is")
    family, widths = said["kernel"], tuple(float(width) for width in said["widths"])
    checked = [f"{laws.shape[0]:,} documents, {len(words):,} words"]
    notes = ["the vectors: they are taken as the run left them"]
    if widths and not arguments.get("width"):
        notes.append("that the width is the median distance: it is taken as the report says")
    K = _Blocks(M, family, widths)
    KP, within = _products(laws, y, K, len(labels.classes))
    total = _statistic(laws, y, KP, within, None)
    error = said["approximation_error"]
    if error:
        require(
            abs(total - said["statistic"]) <= 6.0 * error,
            f"the statistic is {total!r}, too far from {said['statistic']!r} by random features.",
        )
        checked.append("wMMD² within six standard errors of the random features")
    else:
        _same(said["statistic"], total, np.abs(KP).max(), "a statistic of")
        low, high = _interval(laws, y, KP, within, None)
        _same(said["interval"][0], low, np.abs(KP).max(), "an interval from")
        _same(said["interval"][1], high, np.abs(KP).max(), "an interval to")
        checked.append("wMMD² and its interval")
        _check_pairs(report["pairwise"], labels, laws, y, (KP, within))
        _check_witness(folder, labels, words, laws, y, KP)
        checked.append(f"{len(report['pairwise']):,} pairs of classes")
    _check_sizes(folder, report, labels, laws, y, words)
    factor = 1.0 - _SHARED[family]
    own = np.asarray(laws.multiply(laws).sum(axis=1)).ravel()
    sums = np.stack([np.asarray(laws[y == c].sum(axis=0)).ravel() for c in range(len(labels.classes))], axis=1)
    alone = (factor * sums, factor * own)
    _same(
        said["identity"]["statistic"],
        _statistic(laws, y, alone[0], alone[1], None),
        1.0,
        "of M = identity a statistic of",
    )
    for row, pair in zip(report["pairwise"], combinations(range(len(labels.classes)), 2), strict=True):
        _same(
            row["identity"],
            _statistic(laws, y, alone[0], alone[1], [pair]),
            1.0,
            "of M = identity, a pair's statistic of",
        )
    checked.append("wMMD² of the words themselves")
    notes.append("the coverage")
    notes += _check_null(folder, report, laws, y, K, total)
    checked += _check_predictions(folder, report, labels, corpus)
    _check_text(folder, "trained_" if "training" in report else "")
    check_table(folder / "pairwise.csv", report["pairwise"], ("statistic", "low", "high", "p_value", "identity"))
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


def _same(said: Any, found: float, scale: float, what: str) -> None:
    """Statistics are differences of larger numbers: compared at their scale."""
    if said is None or math.isnan(found):
        require(said is None and math.isnan(found), f"the report says {what} {said!r}, but it is {found!r}.")
        return
    good = isinstance(said, int | float) and abs(float(said) - found) <= 1e-7 * abs(found) + 1e-10 * scale
    require(good, f"the report says {what} {said!r}, but it is {found!r}.")


def _check_pairs(rows: list[dict[str, Any]], labels: Labels, laws: sparse.csr_matrix, y: np.ndarray, sums: Any) -> None:
    pairs = list(combinations(range(len(labels.classes)), 2))
    require(len(rows) == len(pairs), "there is not one row for each pair of classes.")
    for row, (a, b) in zip(rows, pairs, strict=True):
        require([row["class"], row["other"]] == [labels.classes[a], labels.classes[b]], "pairs of other classes.")
        scale = float(np.abs(sums[0]).max())
        _same(row["statistic"], _statistic(laws, y, sums[0], sums[1], [(a, b)]), scale, "a pair's statistic of")
        low, high = _interval(laws, y, sums[0], sums[1], [(a, b)])
        _same(row["low"], low, scale, "a pair's interval from")
        _same(row["high"], high, scale, "a pair's interval to")


def _check_sizes(
    folder: Path, report: dict[str, Any], labels: Labels, laws: sparse.csr_matrix, y: np.ndarray, words: list[str]
) -> None:
    """How many of what, and that statistic.json says what report.json does."""
    said = report["statistic"]
    require_same(said["n_words"], len(words), "the number of words is")
    require_same(said["n_empty"], int(np.count_nonzero(labels.y >= 0)) - laws.shape[0], "documents left out are")
    for name, n in zip(labels.classes, np.bincount(y, minlength=len(labels.classes)).tolist(), strict=True):
        require_same(said["classes"].get(name), n, f"documents of class {name!r} are")
    beside = json.loads((folder / "statistic.json").read_text(encoding="utf-8"))
    require(beside == said | {"pairwise": report["pairwise"]}, "statistic.json is not what report.json says.")


def _check_witness(
    folder: Path, labels: Labels, words: list[str], laws: sparse.csr_matrix, y: np.ndarray, KP: np.ndarray
) -> None:
    """Witness and contribution of every word in witness.csv."""
    from cflengine.engine.files import restore_cell

    frame = pd.read_csv(folder / "witness.csv", dtype=str, keep_default_na=False)
    names = {name: c for c, name in enumerate(labels.classes)}
    number = {word.encode("utf-8", "replace").decode(): v for v, word in enumerate(words)}
    n = np.bincount(y).astype(np.float64)
    shares = np.stack([np.asarray(laws[y == c].sum(axis=0)).ravel() / n[c] for c in range(len(n))], axis=1)
    for (first, other), own in frame.groupby(["of", "against"], sort=False):
        a, b = names[restore_cell(str(first))], names[restore_cell(str(other))]
        difference = KP[:, a] / n[a] - KP[:, b] / n[b]
        distance = math.sqrt(max(float((shares[:, a] - shares[:, b]) @ difference), 0.0))
        h = difference / distance if distance > 0 else np.zeros(len(words))
        at = np.array([number[restore_cell(word)] for word in own["word"]])
        near = np.allclose(own["witness"].astype(float), h[at], rtol=1e-6, atol=1e-9)
        added = (shares[at, a] - shares[at, b]) * h[at]
        near = near and np.allclose(own["contribution"].astype(float), added, rtol=1e-6, atol=1e-12)
        require(bool(near), f"the witness of {first} against {other} is another one.")


def _check_null(
    folder: Path, report: dict[str, Any], laws: sparse.csr_matrix, y: np.ndarray, K: _Blocks, total: float
) -> list[str]:
    """The p value follows from null.csv; null.csv is repeated where documents are few. Returns what was not checked."""
    said = report["statistic"]
    null = pd.read_csv(folder / "null.csv")["statistic"].to_numpy(dtype=np.float64)
    require_same(said["n_permutations"], len(null), "the number of permutations is")
    if not len(null):
        require(said["p_value"] is None, "there is a p value without permutations.")
        return []
    if said["null_kernel"] == "exact" and not said["approximation_error"]:
        _same(said["null_observed"], total, 1.0, "permutations compared with")
    p = (1 + np.count_nonzero(null >= said["null_observed"] - said["tie_tolerance"])) / (1 + len(null))
    require_same(said["p_value"], float(p), "a p value of")
    if said["null_kernel"] != "exact" or laws.shape[0] > _MOST_DOCUMENTS or said["approximation_error"]:
        return [
            "the statistics of permuted labels, and p of single pairs and of the words themselves: they are taken as "
            "the run left them"
        ]
    gram = np.zeros((laws.shape[0], laws.shape[0]))
    for rows, values in K:
        gram += laws[:, rows] @ (laws @ values.T).T
    seed, scale = int(report["arguments"]["seed"]), float(np.abs(gram).max())
    for value, again in zip(null.tolist(), _permuted(gram, y, len(null), seed)[1:].tolist(), strict=True):
        _same(value, again, scale, "a permuted statistic of")
    if len(null) < int(report["arguments"]["permutations"]):
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
    factor = 1.0 - _SHARED[said["kernel"]]
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
    tolerance = 1e-12 * (int(y.max()) + 1) ** 2 * largest
    return float((1 + np.count_nonzero(statistics[1:] >= statistics[0] - tolerance)) / len(statistics))


def _check_predictions(folder: Path, report: dict[str, Any], labels: Labels, corpus: Any) -> list[str]:
    """Predictions of the network in model.cflm, made again, against predictions.csv, and shares of right ones."""
    if "training" not in report:
        return []
    frame = pd.read_csv(folder / "predictions.csv", dtype={"label": str, "predicted": str}, keep_default_na=False)
    names = labels.of(frame["document"].to_numpy())
    right = _restored(frame["predicted"]) == names
    require(bool((_restored(frame["label"]) == names).all()), "predictions.csv has labels that the input has not.")
    for part, share in report["training"]["accuracy"].items():
        own = (frame["split"] == part).to_numpy()
        require_same(share, float(np.mean(right[own])), f"a share of right ones of {part}")
    texts, predicted = [corpus.texts[d] for d in frame["document"].tolist()], _restored(frame["predicted"]).tolist()
    probability = frame["probability"].to_numpy(dtype=np.float64)
    wrong = check_network(folder, report, texts, (predicted, probability), _vectors(folder, "trained_"))
    require(wrong is None, f"predictions.csv is wrong about document {frame['document'].iloc[wrong or 0]}.")
    return [f"{len(frame):,} predictions, of the network in model.cflm, against the labels"]


def _restored(cells: pd.Series) -> np.ndarray:
    from cflengine.engine.files import restore_cell

    return np.array([restore_cell(cell) for cell in cells], dtype=object)
