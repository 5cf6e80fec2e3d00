"""Runs of ``cflengine compress`` and ``cflengine path`` checked from their files and the input.

Tokens are cut by :mod:`re` and K-grams found by sorting, in parts of some million tokens, so that memory goes with the
largest part. Then every claim of the files is recomputed: each pointer stands for the words its K-gram is named by,
every token is covered (so every document can be decoded), counts, costs, features, objective; and the dual prices prove
the bound (:mod:`cflengine.compression.model.certificate`, plain numpy).
"""

from __future__ import annotations

import csv
import io
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from scipy import sparse

from cflengine.compression.model.branching import Branching
from cflengine.compression.model.parts import PartsCertificate
from cflengine.engine.files import arrow_file, csv_blocks, defuse_cell
from cflengine.text.check import no_text
from cflengine.text.reading.budget import watch_at_hand
from cflengine.text.reading.delimited import long_fields
from cflengine.text.token_table import TokenTable, plain_tokens
from cflengine.verify.corpus_parts import CorpusPart, cut_corpus, distinct_grams, shared_costs
from cflengine.verify.counts import count_places, weighted
from cflengine.verify.entries import Entries, Pointers
from cflengine.verify.findings import (
    CannotVerifyError,
    FalseResult,
    Finding,
    check_table,
    check_trace,
    each_row,
    read_proof,
    require,
    require_bound,
    require_gap,
    require_same,
    rows_of,
    sound,
    with_progress,
)
from cflengine.verify.proved_parts import add_part, certificate_of, costs_of, prices_of, ties_documents


def verify_compression(folder: Path, report: dict[str, Any], corpus: Any) -> Finding:
    """Check the run in ``folder``; ``corpus``: the input, read as the report says. Raises FalseResult."""
    table = _tokens(report, corpus)
    _check_asked(report, ("lam", "max_gram", "plain_cost"))
    prices = _prices(folder, table.n_tokens)
    parts = _cut(report, table, whole=ties_documents(prices[1], table))
    finding, features, pointers, cost = _check_solution(folder, report, table, parts, prices)
    _long_csv(folder, pointers.names, features)
    gap = _check_documents(folder, table, corpus, pointers, cost, is_whole=report.get("gap_lies_in") is not None)
    _check_where(gap, report, finding, cost, corpus.texts)
    check_trace(folder / "trace.csv", [(finding.objective, finding.lower_bound)])
    return finding


def verify_path(folder: Path, report: dict[str, Any], corpus: Any) -> list[Finding]:
    """Check a run of ``cflengine path``, λ by λ. Raises FalseResult."""
    points = report["points"]
    folders = [folder / str(point["folder"]) for point in points]
    require(all(one.parent == folder for one in folders), "the report names folders outside its own.")
    require(len({point["lam"] for point in points}) == len(points) > 0, "the report has a λ twice, or none.")
    table = _tokens(report, corpus)
    _check_asked(report, ("max_gram", "plain_cost"))
    # each λ's prices are read again when it is checked: those of all would not be in memory together
    whole = any(ties_documents(_prices(one, table.n_tokens)[1], table) for one in folders)
    parts, found, shares = _cut(report, table, whole=whole), [], []
    for point, below in zip(points, folders, strict=True):  # each with stages of its own
        own = report | point | {"compression": report["compression"] | {"lam": point["lam"]}}
        finding, _, pointers, _ = _check_solution(below, own, table, parts, _prices(below, table.n_tokens))
        shares.append(pointers.shares(int(report["compression"]["max_gram"])))
        found.append(replace(finding, name=f"λ = {point['lam']:g}"))
    _check_documents(folder, table, corpus)
    columns = ("lam", "objective", "lower_bound", "gap", "dictionary_size", "n_pointers")
    check_table(folder / "path.csv", points, columns)
    for row, own, point in zip(rows_of(folder / "path.csv"), shares, points, strict=True):
        require(row["reason"] == point["reason"], f"path.csv says another reason at λ = {row['lam']} than the report.")
        said = np.array([float(row[f"share_{k}"]) for k in range(1, len(own) + 1)])
        require(np.allclose(said, own, rtol=1e-9, atol=1e-12), f"path.csv says other shares at λ = {row['lam']}.")
    solved, missing = {point["lam"] for point in points}, set(report.get("lams_not_solved", ()))
    asked = set(report["arguments"]["lams"])
    require(solved | missing == asked and not solved & missing, "the λ of the report are not those asked for.")
    return found


def _check_asked(report: dict[str, Any], names: tuple[str, ...]) -> None:
    """What was asked for is what was taken, of ``names`` and of how texts are cut and features counted."""
    asked, how = report["arguments"], report["compression"]
    taken = dict(how) | {"keep_case": not how["lowercase"]}
    for name in (*names, "keep_case", "sentence_borders", "weighting", "counting", "temperature", "literal_cost"):
        same = name not in asked or asked[name] == taken.get(name)
        require(same, f"the report says {name} {asked.get(name)!r} was asked for, and {taken.get(name)!r} was taken.")
    for name in ("pointer_cost", "dictionary_cost"):  # for which there are no options
        usual = "words" if name == "dictionary_cost" else None
        require(taken.get(name) == usual, f"the report says a {name} of {taken.get(name)!r}, but it was {usual!r}.")


def _tokens(report: dict[str, Any], corpus: Any) -> TokenTable:
    """The corpus's, cut as the report says, and of that very corpus."""
    settings = report.get("compression")
    if not isinstance(settings, dict):
        raise CannotVerifyError("the report does not say how the corpus was compressed: it is of an older version.")
    watch = watch_at_hand()
    watch.begin("cutting texts into tokens", "documents", len(corpus.texts))
    table = plain_tokens(
        corpus.texts, settings["token_pattern"], lowercase=settings["lowercase"],
        sentence_borders=settings.get("sentence_borders", False), watch=watch,
    )  # fmt: skip
    require_same(report.get("n_documents"), table.n_documents, "the number of documents is")
    require_same(report.get("n_tokens"), table.n_tokens, "the number of tokens is")
    require_same(report.get("n_types"), len(table.vocabulary), "the number of distinct tokens is")
    same = report.get("digest") == table.digest(int(settings["max_gram"]))
    require(same, "the input is not the corpus that was compressed: its digest is another.")
    return table


def _cut(report: dict[str, Any], table: TokenTable, *, whole: bool) -> list[CorpusPart]:
    """The corpus in parts, with as many K-grams as the report says; whole: in one, since a branching tree is of several
    documents, which are made only for corpora that fit in one part."""
    parts = cut_corpus(table, int(report["compression"]["max_gram"]), whole=whole)
    require_same(report.get("n_grams"), distinct_grams(parts), "the number of K-grams is")
    return parts


def _check_solution(
    folder: Path, report: dict[str, Any], table: TokenTable, parts: list[CorpusPart],
    prices: tuple[np.ndarray, list[Branching]],
) -> tuple[Finding, sparse.csr_matrix, Pointers, np.ndarray]:  # fmt: skip
    """Check the dictionary, the pointers, the features and the proof in a folder; what it says, the features, the
    pointers, and float64 (N,), what documents cost. report: its number of K-grams is the corpus's; prices: what the
    bound is proved by."""
    settings = report["compression"]
    max_gram = int(settings["max_gram"])
    alpha, branchings = prices
    costs = [costs_of(part, settings) for part in parts]
    pointers = Pointers.read(folder, table)
    n_trees, n_leaves = len(branchings), sum(branching.n_leaves for branching in branchings)
    entries, proof = Entries(table, pointers.names, max_gram), PartsCertificate(shared_costs(parts, costs))
    for part, own in with_progress([*zip(parts, costs, strict=True)], "decoding, and proving the bound", "parts"):
        found = pointers.of_part(part)
        entries.take(part, found, own)
        add_part(proof, part, found.cover, alpha, own, branchings)
    entries.check(folder, pointers)
    each = with_progress(parts, "counting features", "parts")
    counts = sparse.vstack([_counted(part, pointers, entries, settings) for part in each], format="csr")
    features = _features(folder, counts, settings)
    certificate = certificate_of(proof, branchings)
    possible = sum(int(np.count_nonzero(part.gram_of >= 0)) for part in parts)
    require_same(report.get("possible_pointers"), possible, "the pointers that are possible are")
    require_same(report.get("n_pointers"), certificate.n_pointers, "the number of pointers is")
    require_same(report.get("dictionary_size"), certificate.dictionary_size, "the size of the dictionary is")
    require_same(report.get("objective"), certificate.objective, "the objective is")
    require_bound(report, certificate.lower_bound)
    require_gap(report, certificate.objective, certificate.lower_bound)
    entries.check_model(folder, pointers, counts, costs[0].pointer_by_length, report)
    said = report["certificate"]
    repeated = all(said[name] == report[name] for name in said if name in report)
    require(repeated and said["covered"] is True, "the report's certificate says something else than the report.")
    for name in ("shrink", "step"):
        require_same(said[name], getattr(certificate, name), f"{name} of the certificate is")
    optimal = certificate.optimal
    require(optimal or not report.get("optimal"), "the report says that the solution is optimal, which is not proved.")
    in_parts = f", in {len(parts)} parts" if len(parts) > 1 else ""
    checked = (
        f"{table.n_documents:,} documents of {table.n_tokens:,} tokens, decoded from {certificate.n_pointers:,} "
        f"pointers{in_parts}",
        f"{certificate.dictionary_size:,} K-grams, their counts and costs; features and their names",
        f"dual prices of all tokens, feasible for all {report['n_grams']:,} K-grams of up to {max_gram} words",
        *((f"{n_trees:,} branching trees, whole, of {n_leaves:,} leaves with prices of their own",) if n_trees else ()),
        *((f"optimal: costs are multiples of {certificate.step:g}, and less than that is open",) if optimal else ()),
    )
    word = report.get("unverified_bound")
    notes: tuple[str, ...] = ()
    if report.get("gap_lies_in") is not None:
        notes = ("how the gap is shared among documents, K-grams and its terms, but for the sums",)
    if any(report.get(name) is not None for name in ("relaxation", "relaxation_upper")):
        notes += ("the cost of the relaxation's own solution, which is not in the files",)
    if word is not None:
        number = isinstance(word, int | float) and not isinstance(word, bool) and report.get("solver") == "exact"
        # it is HiGHS's word, to its tolerances; what lies above a solution, or below what is proved, is not even that
        told = number and certificate.lower_bound <= word <= certificate.objective + 1e-6 * abs(certificate.objective)
        require(told, "the bound that is called not verified is none of the exact solver's.")
        notes = (f"a bound of {word:,.10g}, which the exact solver's branch and bound says is proved", *notes)
    numbers = certificate.objective, certificate.lower_bound, certificate.gap
    cost = pointers.cost_of_documents(costs[0].pointer_by_length, entries.cost, table.n_documents)
    return Finding("compression", *numbers, checked, notes), features, pointers, cost


def _features(folder: Path, counts: sparse.csr_matrix, settings: dict[str, Any]) -> sparse.csr_matrix:
    """What the documents count to, weighted as the report says; features.npz is that."""
    try:
        matrix = sound(sparse.csr_matrix(sparse.load_npz(folder / "features.npz")))
    except (OSError, ValueError, KeyError) as error:
        raise FalseResult(f"features.npz cannot be read: {error}.") from error
    expected = weighted(counts, str(settings["weighting"]))
    require(_equal(matrix, expected), "features.npz is not what the documents count to.")
    return expected


def _check_documents(
    folder: Path, table: TokenTable, corpus: Any, pointers: Pointers | None = None, cost: np.ndarray | None = None,
    *, is_whole: bool = True,
) -> np.ndarray:  # fmt: skip
    """documents.csv has every document's tokens, its record and what else stands there of it, and, of one solution, its
    pointers and cost; the answer is its column of gaps, float64 (N,), none where it has none. is_whole: whether no
    column may be missing, as may be of an older version."""
    sizes, gaps = np.diff(table.doc_ptr), array("d")
    origin, inputs = _origin(corpus), dict[str, str]()
    columns = {"document", "tokens", *(() if pointers is None else ("pointers",))}
    own = ("cost", "gap") if cost is not None else ()
    other = "documents.csv has other columns than the run writes."
    used = None if pointers is None else np.bincount(pointers.document, minlength=table.n_documents)
    for d, (row, given) in enumerate(zip_longest(each_row(folder / "documents.csv"), _rows_beside(corpus))):
        both = row is not None and given is not None
        require(both, "documents.csv has another number of rows than there are documents.")
        some = row.keys() >= columns and row.keys() <= {*columns, *own, *given}
        require(some and (not is_whole or len(row) == len(columns) + len(own) + len(given)), other)
        same = int(row["tokens"]) == sizes[d] and int(row["document"]) == d
        same = same and all(row[name] == value or name == origin for name, value in given.items() if name in row)
        if origin in row:
            inputs[given[origin]] = inputs.get(given[origin], row[origin])
            same = same and inputs[given[origin]] == row[origin]
        same = same and (used is None or int(row["pointers"]) == used[d])
        if cost is not None and "cost" in row:
            same = same and abs(float(row["cost"]) - cost[d]) <= 1e-9 * max(1.0, cost[d])
        require(same, f"documents.csv is wrong about document {d}.")
        if "gap" in row:
            gaps.append(float(row["gap"]))
    _check_inputs(inputs)
    return np.array(gaps)


def _rows_beside(corpus: Any) -> Iterator[dict[str, str]]:
    """What the input says of each document beside its text, as cells of documents.csv."""
    records = pd.DataFrame({"row": corpus.rows})
    beside = pd.concat([records, corpus.metadata.add_prefix("meta_").reset_index(drop=True)], axis=1)
    blocks = (io.StringIO(block.decode("utf-8"), newline="") for block in csv_blocks(beside))
    with long_fields():
        yield from csv.DictReader(line for block in blocks for line in block)


def _origin(corpus: Any) -> str:
    """The column of documents.csv that names a document's input, the last one where there are several; "" of one."""
    several = re.match(r"\d+ inputs: ", corpus.report.source)
    return f"meta_{corpus.metadata.columns[-1]}" if several else ""


def _check_inputs(called: dict[str, str]) -> None:
    """The names of inputs (as they are now -> as documents.csv has them) are the same, or, where files have been moved,
    the same but for their folders, and each another's."""
    if set(called) == set(called.values()):
        same = all(now == then for now, then in called.items())
    else:
        same = len(set(called.values())) == len(called)
        same = same and all(PurePath(now).name == PurePath(then).name for now, then in called.items())
    require(same, "documents.csv names other inputs than the documents are from.")


def _check_where(
    gap: np.ndarray, report: dict[str, Any], finding: Finding, cost: np.ndarray, texts: Sequence[str]
) -> None:
    """The gap, charged to documents, is all that lies between objective and bound; what the report says of it is of
    these documents. gap: float64 (N,), or none."""
    said: Any = report.get("gap_lies_in")
    if said is None and not len(gap):  # of an older version, which says nothing of it
        return
    require(isinstance(said, dict), "the report does not say where the gap lies.")
    require(len(gap) == len(cost), "documents.csv does not say where the gap lies.")
    allowed = 1e-8 * max(finding.objective, 1.0)
    open_ = finding.objective - finding.lower_bound
    require(abs(gap.sum() - open_) <= allowed, "the gaps of documents.csv do not add up to the gap.")
    terms = sum(said[name] for name in ("slack", "unspent", "overlap", "lift"))
    same = abs(said["total"] - open_) <= allowed and abs(terms - open_) <= allowed
    for row in said["documents"]:
        d = int(row["document"])
        same = (
            same and 0 <= d < len(gap) and abs(row["gap"] - gap[d]) <= allowed and abs(row["cost"] - cost[d]) <= allowed
        )
    same = same and _has_nearly_all(gap, int(said["documents_with_99_percent"]), float(said["total"]))
    require(same, "what the report says of where the gap lies is not what documents.csv says.")
    odd = no_text(texts)
    costliest = odd[np.argsort(-cost[odd], kind="stable")]
    own = said["no_text"]
    same = own["n_documents"] == len(odd) and abs(own["cost"] - cost[odd].sum()) <= allowed
    listed = np.array(own["documents"], dtype=np.int64)
    same = same and len(listed) == min(len(odd), len(listed)) and bool(np.isin(listed, odd).all())
    same = same and bool(np.allclose(cost[listed], cost[costliest[: len(listed)]], rtol=1e-9, atol=allowed))
    require(same, "other documents look like no text than the report says.")


def _has_nearly_all(gap: np.ndarray, n_documents: int, total: float) -> bool:
    """Whether so many documents are the fewest that have 99 % of the gap."""
    shares, slack = np.cumsum(np.sort(gap)[::-1]), 1e-9 * abs(total)
    if not 1 <= n_documents <= len(shares):
        return False
    enough = n_documents == len(shares) or shares[n_documents - 1] >= 0.99 * total - slack
    return bool(enough and (n_documents == 1 or shares[n_documents - 2] <= 0.99 * total + slack))


def _counted(part: CorpusPart, pointers: Pointers, entries: Entries, settings: dict[str, Any]) -> sparse.csr_matrix:
    """Counts of each document of a part and entry, as the report says they were counted: float64 (N, F)."""
    n_entries = len(pointers.names)
    if settings.get("counting", "pointers") == "pointers":
        span = pointers.span(part)
        where = pointers.document[span] - part.documents.start, pointers.feature[span]
        counts = sparse.csr_matrix((np.ones(len(where[0])), where), shape=(len(part.doc_ptr) - 1, n_entries))
        counts.sum_duplicates()
        return counts
    return count_places(entries.places(part), part.doc_ptr, n_entries, settings)


def _equal(matrix: sparse.csr_matrix, expected: sparse.csr_matrix) -> bool:
    """Whether two matrices are the same up to the order of summation."""
    if matrix.shape != expected.shape:
        return False
    difference = abs(matrix - expected)
    return bool((difference.max() if difference.nnz else 0.0) <= 1e-9 * max(1.0, expected.max()))


def _long_csv(folder: Path, names: list[str], expected: sparse.csr_matrix) -> None:
    """features.csv has these entries, and no other, in any order; it is read a block of rows at a time."""
    written = pa.array([defuse_cell(name) for name in names], type=pa.string())
    options = pa_csv.ConvertOptions(
        column_types={"document": pa.int64(), "feature": pa.string()}, strings_can_be_null=False
    )
    rows, columns, values = [], [], []
    with arrow_file(folder / "features.csv") as file:
        for batch in pa_csv.open_csv(file, convert_options=options):
            named = batch.schema.names in (["document", "feature", "count"], ["document", "feature", "weight"])
            require(named, "features.csv has other columns than the run writes.")
            known = pc.index_in(batch.column(1), value_set=written)
            require(known.null_count == 0, "features.csv names a K-gram that is not in the dictionary.")
            rows.append(batch.column(0).to_numpy())
            columns.append(known.to_numpy())
            values.append(batch.column(2).to_numpy())
    where = np.concatenate(rows), np.concatenate(columns)
    inside = where[0].min() >= 0 and where[0].max() < expected.shape[0] and len(where[0]) == expected.nnz
    same = inside and _equal(sparse.csr_matrix((np.concatenate(values), where), shape=expected.shape), expected)
    require(same, "features.csv is not what the documents count to.")


def _prices(folder: Path, n_tokens: int) -> tuple[np.ndarray, list[Branching]]:
    """What the bound is proved by."""
    return prices_of(read_proof(folder), n_tokens)
