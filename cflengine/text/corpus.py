"""A corpus: the documents of a source exactly as they stand there, and an account of what was left out.

Rules for leaving a record out, in this order, each with its own counter:

1. missing    the text is null (NaN, a key or cell that is not there, in CSV also an unmistakable marker such
as ``NaN``)
2. empty      the text is white space only
3. too short  the text has fewer than ``min_words`` words, a word being a match of ``\\w+``

``n_records = n_kept + n_missing + n_empty + n_too_short`` always holds. With ``limit`` reading stops at the
limit-th kept document, and records behind it are not counted.
"""

from __future__ import annotations

import hashlib
import json
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import date, timedelta
from itertools import islice
from math import isnan

import numpy as np
import pandas as pd

from cflengine.engine.checks import InputError
from cflengine.text.markup import without_html
from cflengine.text.stored import GrowingTexts, StoredColumns

MAX_EXAMPLES = 20

REASONS = ("missing", "empty", "too short")
LeftOut = tuple[array, array]  # record numbers, int64, and positions in REASONS, int8

_WORD = re.compile(r"\w+")
_SURROGATE = re.compile("[\ud800-\udfff]")


class CorpusError(InputError):
    """A source cannot be read as a corpus: one clear sentence that says what is wrong and what to do.

    It quotes names from outside, so whatever does not print is replaced by a space.

    Parameters
    ----------
    message : str
        The sentence.
    """

    def __init__(self, message: str) -> None:
        super().__init__("".join(char if char.isprintable() else " " for char in message))


class EmptyCorpusError(CorpusError):
    """There is nothing in a source."""


def reason_of(error: Exception) -> str:
    """What an error of some library says, short enough to be quoted in a sentence."""
    lines = str(error).splitlines()
    reason = lines[0].rstrip(". ") if lines else type(error).__name__
    return reason if len(reason) <= 120 else reason[:117] + "..."


@dataclass(frozen=True)
class ReadReport:
    """How a source was read and what was left out of it.

    ``left_out`` holds the first 20 records left out as (0-based record number, reason), ``every_left_out`` all of
    them. ``encoding`` is None where there is none (Parquet, Excel, texts from memory), ``encoding_note`` is empty for
    plain UTF-8, ``text_column`` is None where the format has no columns to choose from. ``columns`` are the source's
    columns, the text column among them.
    """

    source: str
    format: str
    encoding: str | None
    encoding_note: str
    text_column: str | None
    columns: tuple[str, ...]
    n_records: int
    n_kept: int
    n_missing: int
    n_empty: int
    n_too_short: int
    left_out: tuple[tuple[int, str], ...] = ()
    every_left_out: LeftOut = field(default=(array("q"), array("b")), repr=False, compare=False)
    warnings: tuple[str, ...] = ()

    @property
    def n_left_out(self) -> int:
        """Number of records read that are not documents of the corpus."""
        return self.n_missing + self.n_empty + self.n_too_short

    def left_out_frame(self) -> pd.DataFrame:
        """A row for each record left out: record (0-based), why."""
        records, reasons = self.every_left_out
        return pd.DataFrame({"record": np.array(records), "why": [REASONS[code] for code in reasons]})

    def to_dict(self) -> dict[str, object]:
        """The report as plain lists, strings and numbers, ready for JSON."""
        names = [one.name for one in fields(self) if one.name != "every_left_out"]
        report: dict[str, object] = {name: getattr(self, name) for name in names} | {"n_left_out": self.n_left_out}
        report["columns"] = list(self.columns)
        report["left_out"] = [list(example) for example in self.left_out]
        report["warnings"] = list(self.warnings)
        return report


@dataclass(frozen=True, eq=False)
class Corpus:
    """N documents with the place each came from.

    Parameters
    ----------
    name : str
        The source's display name.
    texts : list[str] or StoredTexts
        N strings, exactly as in the source (not stripped, line ends kept); of a large corpus on disk (stored.py).
    rows : ndarray
        (N,) int64, increasing; the 0-based record number of each document in the source.
    metadata : DataFrame
        N rows with a RangeIndex; the source's other columns.
    report : ReadReport
        How the source was read. ``head`` leaves it as it is: it describes the reading, not the selection.

    Attributes
    ----------
    digest : str
        First 16 hex digits of the SHA-256 of the texts, each preceded by its length in bytes (UTF-8).
    """

    name: str
    texts: Sequence[str]
    rows: np.ndarray
    metadata: pd.DataFrame
    report: ReadReport
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        if not len(self.texts) == len(self.rows) == len(self.metadata):
            raise InputError("texts, rows and metadata differ in length")
        object.__setattr__(self, "digest", _digest(self.texts))

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def n_characters(self) -> int:
        """Characters (code points) in all documents."""
        return sum(map(len, self.texts))

    @contextmanager
    def columns_aside(self) -> Iterator[None]:
        """Within the block ``metadata`` has no columns, where they take much memory: they are on disk."""
        kept = StoredColumns(self.metadata)
        if kept.on_disk:
            object.__setattr__(self, "metadata", pd.DataFrame(index=self.metadata.index))
        try:
            yield
        finally:
            object.__setattr__(self, "metadata", kept.frame())

    def head(self, n: int) -> Corpus:
        """The first documents.

        Parameters
        ----------
        n : int
            How many; all of them where there are fewer.

        Returns
        -------
        Corpus
            Of these.

        Raises
        ------
        CorpusError if ``n`` < 1.
        """
        if n < 1:
            raise CorpusError(f"A corpus needs at least one document; head({n}) would leave none.")
        metadata = self.metadata.iloc[:n].reset_index(drop=True)
        return replace(self, texts=self.texts[:n], rows=self.rows[:n].copy(), metadata=metadata)

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str | None],
        name: str = "texts",
        metadata: pd.DataFrame | None = None,
        min_words: int = 1,
    ) -> Corpus:
        """A corpus of strings in memory, under the same rules for what is left out.

        Parameters
        ----------
        texts : Iterable[str]
            The documents.
        name : str, default: 'texts'
            Of the corpus.
        metadata : pandas.DataFrame or None, default: None
            A row for each of ``texts``.
        min_words : int, default: 1
            Documents of fewer words, separated by white space, are left out.

        Returns
        -------
        Corpus
            What was kept.

        Raises
        ------
        CorpusError if nothing is left, if an element is not text, or if the lengths differ.
        """
        if isinstance(texts, str | bytes):
            raise CorpusError("One string was given where a list of texts is needed; put it in a list.")
        intake = Intake(min_words)
        for text in texts:
            intake.add(text)
        if metadata is not None and len(metadata) != intake.n_records:
            raise CorpusError(
                f"There are {intake.n_records} texts but {len(metadata)} rows of metadata; give one for each."
            )
        rows = intake.row_numbers()
        kept = pd.DataFrame(index=pd.RangeIndex(len(rows))) if metadata is None else metadata.iloc[rows]
        columns = () if metadata is None else tuple(map(str, metadata.columns))
        return intake.corpus(name, kept.reset_index(drop=True), format="memory", columns=columns)


def _digest(texts: Iterable[str]) -> str:
    sha = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8")
        sha.update(len(data).to_bytes(8, "little"))
        sha.update(data)
    return sha.hexdigest()[:16]


def whole_characters(text: str) -> tuple[str, int]:
    """A text without halves of characters.

    JSON can spell half a character, by its code alone; no encoding can write it, so it could never leave the program.

    Parameters
    ----------
    text : str
        Any.

    Returns
    -------
    tuple of str and int
        With each lone surrogate replaced by U+FFFD, and how many there were.
    """
    if text.isascii():
        return text, 0
    return _SURROGATE.subn("\ufffd", text)


class Intake:
    """Takes records one by one, keeps the documents, counts and remembers what is left out."""

    def __init__(self, min_words: int = 1, limit: int | None = None, *, strip_html: bool = False) -> None:
        if min_words < 0:
            raise CorpusError(f"min_words is {min_words}; it must be 0 or more.")
        if limit is not None and limit < 1:
            raise CorpusError(f"limit is {limit}; it must be 1 or more, or None for all documents.")
        self.min_words = min_words
        self.limit = limit
        self.strip_html = strip_html
        self.texts = GrowingTexts()
        self.n_records = 0
        self._rows = array("q")
        self._counts = {"missing": 0, "empty": 0, "too short": 0}
        self._left_out: LeftOut = (array("q"), array("b"))
        self._n_converted = 0
        self._n_repaired = 0
        self._n_stripped = 0

    @property
    def full(self) -> bool:
        """Whether the limit is reached."""
        return self.limit is not None and len(self.texts) >= self.limit

    def add(self, value: object) -> bool:
        """Take the next record's text; True if it is kept. Raises CorpusError if it is no text at all."""
        text = self._as_text(value)
        reason = "missing" if text is None else self._why_not(text)
        if text is None or reason:
            self._counts[reason] += 1
            self._left_out[0].append(self.n_records)
            self._left_out[1].append(REASONS.index(reason))
        else:
            self.texts.append(text)
            self._rows.append(self.n_records)
        self.n_records += 1
        return not reason

    def _why_not(self, text: str) -> str:
        """Why a text is left out, '' if it is kept."""
        if not text or text.isspace():
            return "empty"
        if self.min_words == 0:
            return ""
        if self.min_words == 1:
            return "" if _WORD.search(text) else "too short"
        n_words = sum(1 for _ in islice(_WORD.finditer(text), self.min_words))
        return "" if n_words == self.min_words else "too short"

    def _as_text(self, value: object) -> str | None:
        if isinstance(value, str):
            text, n_repaired = whole_characters(value)
            self._n_repaired += n_repaired
            if self.strip_html:
                whole, text = text, without_html(text)
                self._n_stripped += text != whole
            return text
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and isnan(value)):
            return None
        if isinstance(value, bool | int | float | date | timedelta):
            self._n_converted += 1
            return str(value) if isinstance(value, date | timedelta) else json.dumps(value)
        kind = {"list": "a list", "dict": "a mapping", "bytes": "bytes"}.get(type(value).__name__)
        raise CorpusError(
            f"Record {self.n_records + 1} has {kind or type(value).__name__} where text is expected; "
            "choose a text column that holds plain strings."
        )

    def row_numbers(self) -> np.ndarray:
        """(number kept,) int64, the record number of each kept document."""
        return np.array(self._rows, dtype=np.int64)

    def corpus(
        self,
        name: str,
        metadata: pd.DataFrame,
        *,
        format: str,
        source: str | None = None,
        encoding: str | None = None,
        encoding_note: str = "",
        text_column: str | None = None,
        columns: tuple[str, ...] = (),
        warnings: Iterable[str] = (),
    ) -> Corpus:
        """The corpus of what was kept. Raises CorpusError if there is nothing, saying why."""
        counts = self._counts
        if not self.n_records:
            raise CorpusError(f"'{name}' holds no records; give a source with at least one document.")
        if not len(self.texts):
            raise EmptyCorpusError(
                f"None of the {self.n_records} records of '{name}' can be used as a document: "
                f"{counts['missing']} missing, {counts['empty']} empty, "
                f"{counts['too short']} with fewer than {self.min_words} words; "
                "choose another text column or lower min_words."
            )
        notes = list(warnings)
        if self._n_converted:
            notes.append(f"{self._n_converted} records hold a number, date or truth value: it was spelled out.")
        if self._n_repaired:
            notes.append(f"{self._n_repaired} half characters (lone surrogates) were replaced by U+FFFD.")
        if self._n_stripped:
            notes.append(f"HTML was taken out of {self._n_stripped:,} of {self.n_records:,} records.")
        report = ReadReport(
            source=source or name,
            format=format,
            encoding=encoding,
            encoding_note=encoding_note,
            text_column=text_column,
            columns=columns,
            n_records=self.n_records,
            n_kept=len(self.texts),
            n_missing=counts["missing"],
            n_empty=counts["empty"],
            n_too_short=counts["too short"],
            left_out=tuple(
                (record, REASONS[code]) for record, code in islice(zip(*self._left_out, strict=True), MAX_EXAMPLES)
            ),
            every_left_out=self._left_out,
            warnings=tuple(notes),
        )
        return Corpus(name, self.texts.whole(), self.row_numbers(), metadata, report)
