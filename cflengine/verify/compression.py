"""A run of ``cflengine compress`` checked from its files and the input.

Tokens are cut by :mod:`re` and K-grams found by sorting. Then every claim of the files is recomputed: each pointer
stands for the words its K-gram is named by, every token is covered (so every document can be decoded), counts, costs,
features, objective; and the dual prices prove the bound (:mod:`cflengine.compression.model.certificate`, plain numpy).
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from scipy import sparse

from cflengine.compression.model.certificate import certify
from cflengine.compression.model.problem import StorageCosts, external_macro_costs, storage_costs
from cflengine.engine.checks import InputError
from cflengine.engine.files import defuse_cell, restore_cell
from cflengine.text.plain_grams import first_places, number_grams
from cflengine.text.token_table import TokenTable, plain_tokens, printable
from cflengine.verify.counts import expected_uses, gathered, weighted
from cflengine.verify.findings import (
    Finding,
    close,
    proof_array,
    read_proof,
    require,
    require_bound,
    require_gap,
    require_same,
)


def verify_compression(folder: Path, report: dict[str, Any], corpus: Any) -> Finding:
    """Check the run in ``folder``; ``corpus``: the input, read as the report says. Raises FalseResult."""
    settings = report.get("compression")
    if not isinstance(settings, dict):
        raise InputError("the report does not say how the corpus was compressed: it is of an older version.")
    table = plain_tokens(
        corpus.texts, settings["token_pattern"], lowercase=settings["lowercase"],
        sentence_borders=settings.get("sentence_borders", False),
    )  # fmt: skip
    lam, max_gram = float(settings["lam"]), int(settings["max_gram"])
    require_same(report.get("n_documents"), table.n_documents, "the number of documents is")
    require_same(report.get("n_tokens"), table.n_tokens, "the number of tokens is")
    same = report.get("digest") == table.digest(max_gram)
    require(same, "the input is not the corpus that was compressed: its digest is another.")
    gram_of, lengths = number_grams(table.tokens, table.segment_ptr, max_gram)
    require_same(report.get("n_grams"), len(lengths), "the number of K-grams is")
    if settings.get("plain_cost") is not None:
        costs = external_macro_costs(gram_of, lengths, lam, float(settings["plain_cost"]))
    else:
        costs = storage_costs(gram_of, lengths, lam, dictionary_cost=_stored(settings, table, lengths, gram_of))
    found = _pointers(folder, table, gram_of)
    _dictionary(folder, table, gram_of, found, costs, lengths)
    _features(folder, table, found, gram_of, settings)
    proof = certify(found.cover, _prices(folder, table.n_tokens), gram_of, costs)
    require(proof.covered, "the pointers leave a token uncovered: documents cannot be decoded.")
    require_same(report.get("n_pointers"), proof.n_pointers, "the number of pointers is")
    require_same(report.get("dictionary_size"), proof.dictionary_size, "the size of the dictionary is")
    require_same(report.get("objective"), proof.objective, "the objective is")
    require_bound(report, proof.lower_bound)
    require_gap(report, proof.objective, proof.lower_bound)
    checked = (
        f"{table.n_documents:,} documents of {table.n_tokens:,} tokens, decoded from {proof.n_pointers:,} pointers",
        f"{proof.dictionary_size:,} K-grams, their counts and costs; features and their names",
        f"dual prices of all tokens, feasible for all {len(lengths):,} K-grams of up to {max_gram} words",
    )
    return Finding("compression", proof.objective, proof.lower_bound, proof.gap, checked)


def _stored(settings: dict[str, Any], table: TokenTable, lengths: np.ndarray, gram_of: np.ndarray) -> np.ndarray:
    """c(s): float64 (G,)."""
    kind = settings.get("dictionary_cost")
    if kind == "words":
        return lengths.astype(np.float64)
    if kind != "characters":
        raise InputError(f"costs of kind {kind!r} cannot be recomputed from the files.")
    sizes = np.array([len(word) for word in table.vocabulary], dtype=np.int64)[table.tokens]
    total, stored = np.concatenate([[0], np.cumsum(sizes)]), np.zeros(len(lengths))
    for k, row in enumerate(gram_of):
        places = np.flatnonzero(row >= 0)
        stored[row[places]] = total[places + k + 1] - total[places] + k  # and the blanks between
    return stored


@dataclass(frozen=True)
class _Pointers:
    """What pointers.parquet says, P of them. document, gram (the K-gram that stands there), feature (the entry of the
    dictionary that it claims): int64 (P,); cover: uint8 (n,), the same as bits; names: of the entries."""

    document: np.ndarray
    gram: np.ndarray
    feature: np.ndarray
    cover: np.ndarray
    names: list[str]


def _pointers(folder: Path, table: TokenTable, gram_of: np.ndarray) -> _Pointers:
    frame, named = _parquet(folder / "pointers.parquet")
    names = _lines(folder / "feature_names.txt")
    require(named[: len(names)] == names, "pointers.parquet and feature_names.txt name different K-grams.")
    document, start, length = (np.asarray(frame[name], dtype=np.int64) for name in ("document", "start", "length"))
    sizes = np.diff(table.doc_ptr)
    inside = (document >= 0) & (document < table.n_documents)
    require(bool(inside.all()), "a pointer is of a document that is not there.")
    fits = (start >= 0) & (length >= 1) & (length <= gram_of.shape[0]) & (start + length <= sizes[document])
    require(bool(fits.all()), "a pointer does not lie within its document.")
    place = table.doc_ptr[document] + start
    cover = np.zeros(table.n_tokens, dtype=np.uint8)
    np.bitwise_or.at(cover, place, np.left_shift(1, length - 1).astype(np.uint8))
    require(int(np.bitwise_count(cover).sum()) == len(place), "a pointer stands there twice.")
    require(np.array_equal(frame["start_char"], table.start[place]), "a pointer's first character is wrong.")
    ends = table.end[place + length - 1]
    require(np.array_equal(frame["end_char"], ends), "a pointer's last character is wrong.")
    gram = gram_of[length - 1, place]
    require(bool((gram >= 0).all()), "a pointer crosses the end of a sentence.")
    return _Pointers(document, gram, frame["gram"].astype(np.int64), cover, names)


def _parquet(path: Path) -> tuple[dict[str, np.ndarray], list[str]]:
    """The columns, "gram" as numbers, and what these numbers are called."""
    numbers = ("document", "start", "length", "start_char", "end_char")
    try:
        with open(path, "rb") as file:  # not by its path, which arrow wants to be UTF-8
            table = pq.read_table(file)
        found = {name: table.column(name).to_numpy() for name in numbers}
        entries = table.column("gram").combine_chunks()
    except (OSError, KeyError, ValueError) as error:
        raise InputError(f"'{path}' cannot be read: {error}.") from error
    return found | {"gram": entries.indices.to_numpy()}, entries.dictionary.to_pylist()


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error}.") from error
    return text.split("\n")[:-1]


def _dictionary(
    folder: Path, table: TokenTable, gram_of: np.ndarray, found: _Pointers, costs: StorageCosts, lengths: np.ndarray
) -> None:
    """Entries and K-grams are one to one, named by their words, and counted and priced as dictionary.csv says."""
    names, gram, feature = found.names, found.gram, found.feature
    require(bool(((feature >= 0) & (feature < len(names))).all()), "a pointer is of an entry that is not there.")
    entry = np.full(len(names), -1, dtype=np.int64)
    entry[feature] = gram
    require(bool((entry >= 0).all()), "an entry of the dictionary has no pointer.")
    require(np.array_equal(entry[feature], gram), "pointers of one entry stand at different words.")
    require(len(np.unique(entry)) == len(entry), "two entries of the dictionary are the same words.")
    shown = _shown_names(table, first_places(entry, gram_of, len(lengths)), lengths[entry])
    wrong = next((i for i, name in enumerate(names) if name != shown[i]), None)
    require(wrong is None, f"entry {wrong} is called {names[wrong or 0]!r}, but its words are {shown[wrong or 0]!r}.")
    counts = np.bincount(feature, minlength=len(names))
    rows = _rows(folder / "dictionary.csv")
    require(len(rows) == len(names), "dictionary.csv has another number of rows than there are entries.")
    for i, row in enumerate(rows):
        same = restore_cell(row["gram"]) == names[i] and int(row["length"]) == lengths[entry[i]]
        same = same and int(row["count"]) == counts[i] and close(float(row["cost"]), costs.dictionary[entry[i]])
        require(same, f"dictionary.csv is wrong about {names[i]!r}: {counts[i]} pointers, {dict(row)}.")


def _shown_names(table: TokenTable, first: np.ndarray, lengths: np.ndarray) -> list[str]:
    """The words of K-grams that occur at ``first``, as they are shown; a name that would stand twice gets a number."""
    words = [printable(word) for word in table.vocabulary]
    seen: dict[str, int] = {}
    names = []
    for i, k in zip(first.tolist(), lengths.tolist(), strict=True):
        name = " ".join(words[t] for t in table.tokens[i : i + k].tolist())
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except (OSError, ValueError, csv.Error) as error:
        raise InputError(f"'{path}' cannot be read: {error}.") from error


def _features(folder: Path, table: TokenTable, found: _Pointers, gram_of: np.ndarray, settings: dict[str, Any]) -> None:
    """features.npz is what the documents count to, weighted as the report says; and so are the two tables."""
    try:
        matrix = sparse.csr_matrix(sparse.load_npz(folder / "features.npz"))
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"features.npz cannot be read: {error}.") from error
    expected = weighted(_counted(table, found, gram_of, settings), str(settings["weighting"]))
    require(_equal(matrix, expected), "features.npz is not what the documents count to.")
    _long_csv(folder, found.names, expected)
    documents = _rows(folder / "documents.csv")
    tokens, pointers = np.diff(table.doc_ptr), np.bincount(found.document, minlength=table.n_documents)
    require(len(documents) == table.n_documents, "documents.csv has another number of rows than there are documents.")
    for d, row in enumerate(documents):
        same = int(row["tokens"]) == tokens[d] and int(row["pointers"]) == pointers[d] and int(row["document"]) == d
        require(same, f"documents.csv is wrong about document {d}.")


def _counted(table: TokenTable, found: _Pointers, gram_of: np.ndarray, settings: dict[str, Any]) -> sparse.csr_matrix:
    """Counts of each document and entry, as the report says they were counted: float64 (N, F)."""
    shape, counting = (table.n_documents, len(found.names)), settings.get("counting", "pointers")
    if counting == "pointers":
        counts = sparse.csr_matrix((np.ones(len(found.feature)), (found.document, found.feature)), shape=shape)
        counts.sum_duplicates()
        return counts
    require(counting in ("occurrences", "soft"), f"features were counted in an unknown way, {counting!r}.")
    entry = np.full(int(gram_of.max()) + 2, -1, dtype=np.int64)
    entry[found.gram] = found.feature
    places = entry[gram_of]  # where no K-gram is, -1 finds the last entry, which is -1
    if counting == "occurrences":
        return gathered(places, np.ones(places.shape), table.doc_ptr, shape[1])
    literal = settings.get("literal_cost")
    cost = 3.0 if literal is None else float(literal)
    return gathered(places, expected_uses(places, table.doc_ptr, float(settings["temperature"]), cost), table.doc_ptr,
                    shape[1])  # fmt: skip


def _equal(matrix: sparse.csr_matrix, expected: sparse.csr_matrix) -> bool:
    """Whether two matrices are the same up to the order of summation."""
    if matrix.shape != expected.shape:
        return False
    difference = abs(matrix - expected)
    return bool((difference.max() if difference.nnz else 0.0) <= 1e-9 * max(1.0, expected.max()))


def _long_csv(folder: Path, names: list[str], expected: sparse.csr_matrix) -> None:
    """features.csv has these entries, and no other, in any order; it is read a block of rows at a time."""
    written = pa.array([defuse_cell(name) for name in names], type=pa.string())
    options = pa_csv.ConvertOptions(column_types={"feature": pa.string()}, strings_can_be_null=False)
    rows, columns, values = [], [], []
    with open(folder / "features.csv", "rb") as file:
        for batch in pa_csv.open_csv(file, convert_options=options):
            known = pc.index_in(batch.column(1), value_set=written)
            require(known.null_count == 0, "features.csv names a K-gram that is not in the dictionary.")
            rows.append(batch.column(0).to_numpy())
            columns.append(known.to_numpy())
            values.append(batch.column(2).to_numpy())
    where = np.concatenate(rows), np.concatenate(columns)
    inside = where[0].min() >= 0 and where[0].max() < expected.shape[0] and len(where[0]) == expected.nnz
    same = inside and _equal(sparse.csr_matrix((np.concatenate(values), where), shape=expected.shape), expected)
    require(same, "features.csv is not what the documents count to.")


def _prices(folder: Path, n_tokens: int) -> np.ndarray:
    """float64 (n,): what the bound is proved by. Any prices prove some bound; these are to prove the report's."""
    alpha = np.asarray(proof_array(read_proof(folder), "alpha"), dtype=np.float64)
    require(alpha.shape == (n_tokens,), "there is not one price for every token.")
    return alpha
