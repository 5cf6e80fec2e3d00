"""What a run says of its pointers and its dictionary's entries, against the corpus, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from scipy import sparse

from cflengine.compression.model.problem import StorageCosts
from cflengine.engine.files import arrow_file, defuse_cell
from cflengine.linear.saving import read_model
from cflengine.text.token_table import TokenTable, gram_names
from cflengine.verify.corpus_parts import CorpusPart
from cflengine.verify.findings import MODEL, FalseResult, close, require, rows_of

_SAME_IN_MODEL = (
    "lam", "max_gram", "token_pattern", "lowercase", "sentence_borders", "weighting", "counting", "temperature",
    "dictionary_cost", "plain_cost", "pointer_cost", "literal_cost",
)  # fmt: skip


@dataclass(frozen=True)
class Found:
    """Pointers of one part. gram: int64, the K-gram that stands there; feature: int64, the entry of the dictionary that
    it claims; cover: uint8 (n,), the same as bits."""

    gram: np.ndarray
    feature: np.ndarray
    cover: np.ndarray


class Pointers:
    """What pointers.parquet says. feature: int, by pointer, in the order of their documents; document: int32; names: of
    the entries."""

    def __init__(self, columns: dict[str, np.ndarray], names: list[str], table: TokenTable) -> None:
        document = columns["document"]
        inside = (document >= 0) & (document < table.n_documents)
        require(bool(inside.all()), "a pointer is of a document that is not there.")
        if np.any(document[1:] < document[:-1]):
            order = np.argsort(document, kind="stable")
            columns = {name: column[order] for name, column in columns.items()}
        self._columns, self.names = columns, names
        self.document, self.feature = columns["document"], columns["gram"]

    @classmethod
    def read(cls, folder: Path, table: TokenTable) -> Pointers:
        """From the files of a run."""
        columns, named = _parquet(folder / "pointers.parquet")
        names = _lines(folder / "feature_names.txt")
        require(named[: len(names)] == names, "pointers.parquet and feature_names.txt name different K-grams.")
        feature = columns["gram"]
        known = (feature >= 0) & (feature < len(names))
        require(bool(known.all()), "a pointer is of an entry that is not there.")
        return cls(columns, names, table)

    def cost_of_documents(self, by_length: np.ndarray, stored: np.ndarray, n_documents: int) -> np.ndarray:
        """float64 (N,): each document's pointers, which cost ``by_length`` float64 (K,), and its share, by uses, of the
        entries that it uses, which cost ``stored`` float64 (F,)."""
        uses = np.maximum(np.bincount(self.feature, minlength=len(stored)), 1)
        each = by_length[self._columns["length"].astype(np.int64) - 1] + (stored / uses)[self.feature]
        return np.bincount(self.document, each, minlength=n_documents)

    def shares(self, max_gram: int) -> np.ndarray:
        """float64 (K,): the share of pointers of each length."""
        return np.bincount(self._columns["length"], minlength=max_gram + 1)[1:] / max(len(self.feature), 1)

    def n_documents(self) -> np.ndarray:
        """int64 (F,): in how many documents an entry has a pointer."""
        size = len(self.names)
        return np.bincount(np.unique(self.document.astype(np.int64) * size + self.feature) % size, minlength=size)

    def span(self, part: CorpusPart) -> slice:
        """Where the pointers of a part stand among all."""
        return slice(*np.searchsorted(self.document, [part.documents.start, part.documents.stop]).tolist())

    def of_part(self, part: CorpusPart) -> Found:
        """Those of the documents of a part, each where it says it is, and none twice."""
        span = self.span(part)
        columns = {name: column[span] for name, column in self._columns.items()}
        document = columns["document"].astype(np.int64) - part.documents.start
        start, length = columns["start"].astype(np.int64), columns["length"].astype(np.int64)
        fits = (start >= 0) & (length >= 1) & (length <= len(part.gram_of))
        fits &= start + length <= np.diff(part.doc_ptr)[document]
        require(bool(fits.all()), "a pointer does not lie within its document.")
        place = part.doc_ptr[document] + start
        cover = np.zeros(part.gram_of.shape[1], dtype=np.uint8)
        np.bitwise_or.at(cover, place, np.left_shift(1, length - 1).astype(np.uint8))
        require(int(np.bitwise_count(cover).sum()) == len(place), "a pointer stands there twice.")
        starts, ends = part.table.start[part.span], part.table.end[part.span]
        require(np.array_equal(columns["start_char"], starts[place]), "a pointer's first character is wrong.")
        require(np.array_equal(columns["end_char"], ends[place + length - 1]), "a pointer's last character is wrong.")
        gram = part.gram_of[length - 1, place].astype(np.int64)
        require(bool((gram >= 0).all()), "a pointer crosses the end of a sentence.")
        return Found(gram, columns["gram"].astype(np.int64), cover)


class Entries:
    """The dictionary's entries, F of them, known by the words that their pointers stand at: int32 (F, K), -1 behind a
    K-gram's end; cost: float64 (F,)."""

    def __init__(self, table: TokenTable, names: list[str], max_gram: int) -> None:
        self.table, self.names = table, names
        self.words = np.full((len(names), max_gram), -1, dtype=np.int32)
        self.cost = np.zeros(len(names))

    def take(self, part: CorpusPart, found: Found, costs: StorageCosts) -> None:
        """What a part's pointers say of entries; those of one entry stand at the same words, in all parts."""
        entry = np.full(len(self.names), -1, dtype=np.int64)
        entry[found.feature] = found.gram
        require(np.array_equal(entry[found.feature], found.gram), "pointers of one entry stand at different words.")
        here = np.flatnonzero(entry >= 0)
        words, known = part.words_of(entry[here]), self.words[here, 0] >= 0
        same = np.array_equal(words[known], self.words[here[known]])
        require(same, "pointers of one entry stand at different words.")
        self.words[here], self.cost[here] = words, costs.dictionary[entry[here]]

    @property
    def grams(self) -> list[list[str]]:
        """The words of every entry."""
        vocabulary = self.table.vocabulary
        return [[vocabulary[t] for t in entry if t >= 0] for entry in self.words.tolist()]

    def check(self, folder: Path, pointers: Pointers) -> None:
        """Entries and K-grams are one to one, named by their words, and counted and priced as dictionary.csv says."""
        names, words = self.names, self.words
        require(bool((words[:, 0] >= 0).all()), "an entry of the dictionary has no pointer.")
        distinct = len(np.unique(words, axis=0)) == len(words)
        require(distinct, "two entries of the dictionary are the same words.")
        shown = gram_names(self.grams)
        wrong = next((i for i, name in enumerate(names) if name != shown[i]), None)
        said = f"entry {wrong} is called {names[wrong or 0]!r}, but its words are {shown[wrong or 0]!r}."
        require(wrong is None, said)
        counts, lengths = np.bincount(pointers.feature, minlength=len(names)), (words >= 0).sum(axis=1)
        documents = pointers.n_documents()
        rows = rows_of(folder / "dictionary.csv")
        require(len(rows) == len(names), "dictionary.csv has another number of rows than there are entries.")
        for i, row in enumerate(rows):
            same = row["gram"] == defuse_cell(names[i]) and int(row["length"]) == lengths[i]
            same = same and int(row["count"]) == counts[i] and int(row["documents"]) == documents[i]
            same = same and close(float(row["cost"]), self.cost[i])
            uses = f"{counts[i]} pointers in {documents[i]} documents"
            require(same, f"dictionary.csv is wrong about {names[i]!r}: {uses}, {dict(row)}.")

    def check_model(
        self, folder: Path, pointers: Pointers, counts: sparse.csr_matrix, by_length: np.ndarray, report: dict[str, Any]
    ) -> None:
        """model.cflm, where the run has one, holds these entries and how they are cut, priced, counted and weighted.
        by_length: float64 (K,), what a pointer costs."""
        if not (folder / MODEL).exists():
            return
        header, arrays = read_model(folder / MODEL, "k-grams")
        learnt_from = header.get("about", {}).get("learnt_from", report["corpus"]["source"])
        same = learnt_from == report["corpus"]["source"]
        require(same, f"{MODEL} says of itself learnt_from {learnt_from!r}, but it is {report['corpus']['source']!r}.")
        grams = self.grams
        require(header.get("grams") == grams, f"{MODEL} holds another dictionary.")
        settings = report["compression"]
        for name in _SAME_IN_MODEL:
            own, said = header["parameters"].get(name), settings.get(name)
            require(own == said, f"{MODEL} says that {name} is {own!r}, the report {said!r}.")
        require(header.get("gap") == report["gap"], f"{MODEL} says a gap of {header.get('gap')!r}.")
        uses = np.bincount(pointers.feature, minlength=len(grams))
        check_model_arrays(
            MODEL,
            arrays,
            settings,
            counts,
            count=uses,
            cost=self.cost,
            documents=pointers.n_documents(),
            by_length=by_length,
        )

    def places(self, part: CorpusPart) -> np.ndarray:
        """int64 (K, n): the entry that stands at each token of a part, by length; -1 for none."""
        grams = part.find(self.words)
        entry = np.full(part.n_grams + 1, -1, dtype=np.int64)  # where no K-gram is, -1 finds the last
        entry[grams[grams >= 0]] = np.flatnonzero(grams >= 0)
        return entry[part.gram_of]


def check_model_arrays(
    name: str, arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any], counts: sparse.csr_matrix,
    **expected: np.ndarray,
) -> None:  # fmt: skip
    """A model's step that finds K-grams says of its entries what is so. counts: CSR (N, F), of the documents it was
    learnt from, in the model's way to count; expected: of pointers."""
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    word = 1.0 if settings.get("plain_cost") is None else 0.0  # beside its pointer
    literal = settings.get("literal_cost")
    expected |= {
        "literal": np.array([expected["by_length"][0] + word if literal is None else float(literal)]),
        "idf": np.log((1.0 + counts.shape[0]) / (1.0 + frequency)) + 1.0,
    }
    require(set(expected) == set(arrays), f"{name} holds other arrays than a dictionary's.")
    for key, values in expected.items():
        same = arrays[key].shape == values.shape and np.allclose(arrays[key], values, rtol=1e-9, atol=0.0)
        require(same, f"{name} holds another {key}.")


def _parquet(path: Path) -> tuple[dict[str, np.ndarray], list[str]]:
    """The columns, "gram" as numbers, and what these numbers are called."""
    numbers = ("document", "start", "length", "start_char", "end_char")
    try:
        with arrow_file(path) as file:
            table = pq.read_table(file)
        found = {name: table.column(name).to_numpy() for name in numbers}
        entries = table.column("gram").combine_chunks()
    except (OSError, KeyError, ValueError) as error:
        raise FalseResult(f"'{path}' cannot be read: {error}.") from error
    return found | {"gram": entries.indices.to_numpy()}, entries.dictionary.to_pylist()


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise FalseResult(f"'{path}' cannot be read: {error}.") from error
    *lines, rest = text.split("\n")
    require(not rest, f"the last line of {path.name} is cut off, or none of the run's.")
    return lines
