"""What a run says for reading: weights.csv, documents.csv, sentences.csv, and which share is right.

Features of documents that a model was not learnt from are made by the steps of model.cflm, which were found to make
those of the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from cflengine.engine.files import defuse_cell
from cflengine.linear.labels import Split
from cflengine.linear.model_comparison import PARTS
from cflengine.verify.findings import close, require, rows_of
from cflengine.verify.models import check_reading

_SAME = 1e-9  # of sums in another order: absolute where a number is small


@dataclass(frozen=True)
class AnsweredDocuments:
    """The n documents with a target.

    documents: int64 (n,), their numbers in the corpus, ascending; rows: int64 (n,), their records in the source; part:
    object (n,), "train", "dev" or "test"; X: CSR (n, V).
    """

    documents: np.ndarray
    rows: np.ndarray
    part: np.ndarray
    X: sparse.csr_matrix

    @classmethod
    def of(cls, path: Path, corpus: Any, split: Split, X: sparse.csr_matrix) -> AnsweredDocuments:
        """Those of a corpus. path: of the model; X: of the training documents, which its steps have to make again."""
        documents, _ = parts_of(split)
        texts = [corpus.texts[d] for d in documents.tolist()]
        return cls.placed(corpus, split, check_reading(path, texts, np.searchsorted(documents, split.train), X))

    @classmethod
    def placed(cls, corpus: Any, split: Split, X: sparse.csr_matrix) -> AnsweredDocuments:
        """The same of known features of all documents."""
        documents, part = parts_of(split)
        return cls(documents, corpus.rows[documents], part, sparse.csr_matrix(X))

    def check_classes(
        self, path: Path, classes: Sequence[str], y: np.ndarray, scores: np.ndarray, column: str = "probability"
    ) -> list[bool]:
        """The class of every document, int64 (n,), the predicted one, which no score or probability, float64 (n,
        classes), exceeds, and its score; which documents are right."""
        rows = rows_of(path)
        check_places(rows, self.documents, self.rows, self.part)
        check_column(rows, "label", [cell_of(classes[c]) for c in y.tolist()])
        number = {cell_of(name): c for c, name in enumerate(classes)}
        for i, row in enumerate(rows):
            predicted = number.get(row["predicted"], -1)
            at = f"documents.csv says of document {self.documents[i]}"
            largest = scores[i].max()
            likeliest = predicted >= 0 and scores[i, predicted] >= largest - _SAME * (1.0 + abs(largest))
            own = classes[int(scores[i].argmax())]
            require(likeliest, f"{at} that {row['predicted']!r} is predicted: it is {own!r}.")
            found = float(scores[i, predicted])
            require(_near(row[column], found), f"{at} a {column} of {row[column]}, but it is {found!r}.")
        return [row["predicted"] == row["label"] for row in rows]

    def check_values(self, path: Path, values: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """The number of every document, what is predicted, and the difference: float64 (n,) each; returns what is
        predicted by the file."""
        rows = rows_of(path)
        check_places(rows, self.documents, self.rows, self.part)
        columns = {"value": values, "predicted": predicted, "residual": predicted - values}
        for i, row in enumerate(rows):
            for name, expected in columns.items():
                found = float(expected[i])
                at = f"documents.csv says of document {self.documents[i]} a {name} of {row[name]}"
                require(_near(row[name], found), f"{at}, but it is {found!r}.")
        return np.array([float(row["predicted"]) for row in rows])

    def check_shares(self, said: Mapping[str, Any], worth: Sequence[float] | np.ndarray, what: str) -> None:
        """The mean over each part of what every document is worth, (n,), is what the report says of it: None for a part
        without documents."""
        values = np.asarray(worth, dtype=np.float64)
        for part, share in said.items():
            own = self.part == part
            if not own.any():
                require(share is None, f"the report says a {what} of {share!r} of no document.")
            else:
                found = float(values[own].mean())
                same = isinstance(share, int | float) and close(float(share), found)
                require(same, f"the report says a {what} of {share!r} in the {part} part, but it is {found!r}.")


def parts_of(split: Split) -> tuple[np.ndarray, np.ndarray]:
    """All documents of a split, int64 (n,), ascending; object (n,): the part of each."""
    documents = np.sort(np.concatenate([getattr(split, part) for part in PARTS]))
    names = np.empty(len(documents), dtype=object)
    for part in PARTS:
        names[np.searchsorted(documents, getattr(split, part))] = part
    return documents, names


def check_places(
    rows: Sequence[Mapping[str, str]],
    documents: np.ndarray,
    records: np.ndarray,
    part: np.ndarray,
    file: str = "documents.csv",
) -> None:
    """A table lists these documents, with their records in the source and their parts, (n,) each."""
    require(len(rows) == len(documents), f"{file} has {len(rows)} rows, but there are {len(documents)} documents.")
    for name, values in (("document", documents), ("row", records)):
        check_column(rows, name, [str(value) for value in values.tolist()], file)
    check_column(rows, "split", part.tolist(), file)


def check_weights(
    rows: Iterable[Mapping[str, str]],
    coef: np.ndarray,
    classes: Sequence[str],
    names: Sequence[str] | np.ndarray,
    **columns: np.ndarray,
) -> None:
    """weights.csv has every weight that is not 0, and no other; its rows of weight 0 are of features.

    coef: float64 (rows, V); classes: that each row is for, "" where there is no such column; names: of the features;
    columns: (V,), further ones.
    """
    said: dict[tuple[str, str], list[tuple[float, ...]]] = defaultdict(list)
    known, of_classes = set(map(cell_of, names)), set(map(cell_of, classes))
    for row in rows:
        entry = tuple(float(row[name]) for name in ("weight", *columns))
        if entry[0] != 0.0:
            said[row.get("class", ""), row["feature"]].append(entry)
        else:
            require(row["feature"] in known, f"weights.csv has {row['feature']!r}, which is no feature of the model.")
            of = row.get("class", "")
            require(of in of_classes, f"weights.csv has a weight for {of!r}, which is no class of the model.")
    expected: dict[tuple[str, str], list[tuple[float, ...]]] = defaultdict(list)
    for name, weights in zip(classes, coef, strict=True):
        for j in np.flatnonzero(weights).tolist():
            key = cell_of(name), cell_of(names[j])
            expected[key].append((float(weights[j]), *(float(values[j]) for values in columns.values())))
    for key in said.keys() | expected.keys():
        of = f" of {key[1]!r}" + f" for {key[0]!r}" * bool(key[0])
        require(sorted(said[key]) == sorted(expected[key]), f"weights.csv says other weights{of} than the model has.")


def check_sentences(path: Path, found: Any, texts: Mapping[int, str], part: Sequence[str], *, copied: bool) -> None:
    """sentences.csv is what the models come to. found: the frame of
    :func:`~cflengine.sentence_lasso.relevance.relevance_table`, with a column log_odds_NAME a model; part: of the
    document of each row; copied: whether group norms of training sentences are those of copies, which are not kept."""
    rows = rows_of(path)
    require(len(rows) == len(found), f"sentences.csv has {len(rows)} rows, but there are {len(found)} sentences.")
    check_column(rows, "split", list(part), "sentences.csv")
    exact = ("document", "sentence", "start", "end", "label")
    for name in exact:
        check_column(rows, name, [cell_of(str(value)) for value in found[name].tolist()], "sentences.csv")
    places = zip(found["document"].tolist(), found["start"].tolist(), found["end"].tolist(), strict=True)
    check_column(rows, "text", [cell_of(texts[d][a:b]) for d, a, b in places], "sentences.csv")
    for name in (name for name in found.columns if name not in exact):
        for i, (row, value) in enumerate(zip(rows, found[name].tolist(), strict=True)):
            if name == "group_norm" and copied and part[i] == "train":
                continue
            at = f"sentences.csv says in row {i + 1} a {name} of {row[name]}"
            require(_near(row[name], value), f"{at}, but it is {value!r}.")
    for i, row in enumerate(rows):
        same = row["selected"] == str(float(row["group_norm"]) > 0)
        require(same, f"sentences.csv says in row {i + 1} that it is selected: {row['selected']}.")


def check_column(
    rows: Sequence[Mapping[str, str]], name: str, expected: Sequence[str], file: str = "documents.csv"
) -> None:
    """FalseResult unless the cells of a column are these."""
    for i, (row, value) in enumerate(zip(rows, expected, strict=True)):
        require(row[name] == value, f"{file} says in row {i + 1} a {name} of {row[name]!r}, but it is {value!r}.")


def cell_of(text: str) -> str:
    """How a text stands in a cell of a run's tables."""
    return defuse_cell(text).encode("utf-8", "replace").decode()


def _near(said: str, found: float) -> bool:
    return abs(float(said) - found) <= _SAME * (1.0 + abs(found))
