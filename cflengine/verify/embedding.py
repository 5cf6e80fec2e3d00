"""A run of ``cflengine embed``, checked: documents cut again, wMMD², its test and interval recomputed by plain numpy.

Vectors are those of ``vectors.npz``: where they are from is not checked.
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

from cflengine.embedding.laws import DocumentKernel, WordLaws, centred
from cflengine.embedding.problem import MOST_DOCUMENTS, TEST_FEATURES, most_words
from cflengine.embedding.vectors import text_lines
from cflengine.engine.words import many
from cflengine.linear.labels import Labels, read_labels
from cflengine.text.token_table import plain_tokens
from cflengine.verify.answers import cell_of, check_column
from cflengine.verify.findings import Finding, check_table, require, require_same, rows_of
from cflengine.verify.permutations import SHARED, check_permutations, document_kernel, same_number
from cflengine.verify.training import check_training
from cflengine.verify.word_products import Products, WordKernel, check_median, class_sums, feature_products, products


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
    seed = int(arguments["seed"])
    if widths and not asked:
        require(len(widths) == 1, "the report says several widths where none was asked for.")
        check_median(laws, M, widths[0], seed)
        checked.append("the width, the median distance of two words")
    seen = centred(laws, M) if family == "linear" else M
    K = WordKernel(seen, family, widths)
    found = exact = products(laws, y, K)
    features = arguments.get("random_features") if family != "linear" else None
    if features:
        found = feature_products(laws, y, K, M, int(features), seed)
        checked.append(f"random features, drawn again; without them wMMD² is {exact.statistic():.6g}")
    same_number(said["approximation_error"], found.error, found.scale, "a standard error of random features of")
    total = found.statistic()
    same_number(said["statistic"], total, found.scale, "a statistic of")
    for own, end, which in zip(said["interval"], found.interval(), ("from", "to"), strict=True):
        same_number(own, end, found.scale, f"an interval {which}")
    checked.append("wMMD² and its interval")
    _check_pairs(report["pairwise"], labels, found)
    _check_witness(folder, labels, words, found)
    checked.append(many(len(report["pairwise"]), "pair") + " of classes")
    _check_sizes(folder, report, labels, found, (words, M))
    own = np.asarray(laws.multiply(laws).sum(axis=1)).ravel()
    factor = 1.0 - SHARED[family]
    alone = Products(laws, y, factor * class_sums(laws, y), factor * own)
    same_number(said["identity"]["statistic"], alone.statistic(), 1.0, "of M = identity a statistic of")
    distance = math.nan if family == "linear" else math.sqrt(2.0)
    same_number(said["identity"]["width"], distance, 0.0, "of M = identity a width of")
    for row, pair in zip(report["pairwise"], combinations(range(len(labels.classes)), 2), strict=True):
        same_number(row["identity"], alone.statistic([pair]), 1.0, "of M = identity, a pair's statistic of")
    checked.append("wMMD² of the words themselves")
    notes.append("the coverage")
    documents = _documents(seen, K, found, seed) if said["n_permutations"] else None
    more = check_permutations(folder, report, laws, y, documents)
    notes += more
    if documents is not None and not more:
        checked.append(f"p, by {said['n_permutations']:,} permutations, made again")
    if "training" in report:
        lines, more = check_training(folder, report, corpus, labels, _vectors(folder, "trained_"))
        checked, notes = checked + lines, notes + more
    _check_text(folder, "trained_" if "training" in report else "")
    check_table(folder / "pairwise.csv", report["pairwise"], ("statistic", "low", "high", "p_value", "identity"))
    for name in ("class", "other"):
        names = [cell_of(row[name]) for row in report["pairwise"]]
        check_column(rows_of(folder / "pairwise.csv"), name, names, "pairwise.csv")
    summary = f"wMMD² {total:.6g}, p {said['p_value']:.3g}" if said["p_value"] is not None else f"wMMD² {total:.6g}"
    return Finding("word-level MMD", total, total, 0.0, tuple(checked), tuple(notes), summary)


def _documents(M: np.ndarray, K: WordKernel, found: Products, seed: int) -> DocumentKernel:
    """Their kernel as the permutations had it."""
    if K.family == "linear":
        return DocumentKernel(features=found.laws @ M)
    if found.features is None and found.laws.shape[0] > MOST_DOCUMENTS:
        found = feature_products(found.laws, found.y, K, M, TEST_FEATURES, seed)
    return document_kernel(found.laws, K) if found.features is None else DocumentKernel(features=found.features)


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
    y = labels.y[chosen][used]
    return WordLaws.of(counts[used], y).laws, y


def _check_pairs(rows: list[dict[str, Any]], labels: Labels, found: Products) -> None:
    pairs = list(combinations(range(len(labels.classes)), 2))
    require(len(rows) == len(pairs), "there is not one row for each pair of classes.")
    for row, (a, b) in zip(rows, pairs, strict=True):
        require([row["class"], row["other"]] == [labels.classes[a], labels.classes[b]], "pairs of other classes.")
        same_number(row["statistic"], found.statistic([(a, b)]), found.scale, "a pair's statistic of")
        low, high = found.interval([(a, b)])
        same_number(row["low"], low, found.scale, "a pair's interval from")
        same_number(row["high"], high, found.scale, "a pair's interval to")


def _check_sizes(
    folder: Path, report: dict[str, Any], labels: Labels, found: Products, vectors: tuple[list[str], np.ndarray]
) -> None:
    """How many of what, and that statistic.json says what report.json does."""
    said, laws, y = report["statistic"], found.laws, found.y
    require_same(report["n_unlabelled"], labels.n_unlabelled, "documents without one of the classes are")
    require_same(said["n_words"], len(vectors[0]), "the number of words is")
    require_same(said["dimension"], vectors[1].shape[1], "the dimension of the vectors is")
    require_same(said["n_empty"], int(np.count_nonzero(labels.y >= 0)) - laws.shape[0], "documents left out are")
    for name, n in zip(labels.classes, np.bincount(y, minlength=len(labels.classes)).tolist(), strict=True):
        require_same(said["classes"].get(name), n, f"documents of class {name!r} are")
    require(report["classes"] == list(labels.classes), "the classes of the report are not those of the labels.")
    beside = json.loads((folder / "statistic.json").read_text(encoding="utf-8"))
    require(beside == said | {"pairwise": report["pairwise"]}, "statistic.json is not what report.json says.")


def _check_witness(folder: Path, labels: Labels, words: list[str], found: Products) -> None:
    """Every number in witness.csv, which has the words of largest contribution, for every pair of classes."""
    frame = pd.read_csv(folder / "witness.csv", dtype=str, keep_default_na=False)
    names = [cell_of(name) for name in labels.classes]
    number = {cell_of(word): v for v, word in enumerate(words)}
    n = np.bincount(found.y).astype(np.float64)
    shares, KP = class_sums(found.laws, found.y) / n, found.KP
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
