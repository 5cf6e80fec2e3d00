"""CSV and TSV, one record at a time in constant memory.

Rules
-----
- Delimiter: comma, semicolon, tab or bar (tab alone for a .tsv that has one): the one by which most of the
  first records have as many fields as the header, more fields before fewer. A first line ``sep=;`` states it.
- Quotes: double quotes, doubled inside a field. Backslash escapes are understood where the first records need
  them. In a TSV whose first records do not use quotes correctly, quotes are ordinary characters.
- Header: the first record, unless it has no telling name such as ``text`` and one of its cells is a number
  above nothing but numbers, recurs below in its column, is longer than 200 characters or has a line break;
  then the columns are called column_1, column_2, ...
- Broken quotes within one line are repaired and counted; where they reach over lines, records could be
  merged, so that is an error.
- Too few fields leave the last columns missing, too many are joined into the last column; both are counted.
- Lines without any character are not records. Record numbers in messages count from 1 below the header.
"""

from __future__ import annotations

import csv
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

from cflengine.text.corpus import CorpusError, EmptyCorpusError
from cflengine.text.reading.columns import NUMBER, is_text_name, unique_names

# csv keeps a field at four bytes a character while it grows: half a gigabyte at most.
MAX_FIELD = 1 << 27

_HEAD_CHARACTERS = 256 << 10
_HEAD_RECORDS = 200
_STATED = re.compile(r'"?sep=([,;|\t:~^])"?\r?\n?')

_limit_lock = threading.Lock()
_limit_users = 0
_limit_before = 0


@contextmanager
def long_fields() -> Iterator[None]:
    """Within it, csv takes fields of MAX_FIELD characters.

    The limit belongs to the process, so the last of several readers, in whatever thread, puts the old one
    back.
    """
    global _limit_users, _limit_before
    with _limit_lock:
        if _limit_users == 0:
            _limit_before = csv.field_size_limit(MAX_FIELD)
        _limit_users += 1
    try:
        yield
    finally:
        with _limit_lock:
            _limit_users -= 1
            if _limit_users == 0:
                csv.field_size_limit(_limit_before)


class _Tally:
    """Counts records and remembers the numbers of the first five."""

    def __init__(self) -> None:
        self.n = 0
        self._first: list[str] = []

    def add(self, record: int) -> None:
        self.n += 1
        if self.n <= 5:
            self._first.append(str(record))

    def __str__(self) -> str:
        if self.n == 1:
            return f"1 record (number {self._first[0]}) has"
        more = ", ..." if self.n > 5 else ""
        return f"{self.n} records (number {', '.join(self._first)}{more}) have"


class DelimitedTable:
    """The records of a CSV or TSV file; use within :func:`long_fields`.

    Parameters
    ----------
    lines : Iterator[str]
        The file, line by line.
    format : str
        "csv" or "tsv".
    name : str
        Of the file, in messages.

    Raises
    ------
    CorpusError if there is no header, and from ``records`` for quotes that cannot be repaired.
    """

    untyped = True
    given_text = None

    def __init__(self, lines: Iterator[str], format: str, name: str) -> None:
        self.name = name
        self._n_lines = 0
        self._strays = _Tally()
        self._ragged = _Tally()
        self._n_quoted = 0
        self.format = format
        lines = iter(lines)
        head, complete = _take_head(lines)
        stated = _STATED.fullmatch(head[0]) if head else None
        if stated:
            head = head[1:]
            self._n_lines = 1
        self._dialect = _dialect(head, complete, format, stated.group(1) if stated else None)
        sample = _sample(head, self._dialect)
        if not sample:
            raise EmptyCorpusError(f"'{name}' is empty; give a file with a header and at least one record.")
        self.has_header = not looks_like_data(sample)
        self._width = len(sample[0])
        cells = sample[0] if self.has_header else [""] * self._width
        self.columns = unique_names(cells)
        self._n_records = -1 if self.has_header else 0
        self._lines = chain(head, lines)

    def records(self) -> Iterator[dict[str, Any]]:
        """Each record as column: cell."""
        rows = self._rows()
        if self.has_header:
            next(rows, None)
        width, columns = self._width, self.columns
        plain = self._dialect["quoting"] == csv.QUOTE_NONE
        for row in rows:
            if len(row) != width:
                row = self._fitted(row)
            if plain and any(cell.startswith('"') for cell in row):
                self._n_quoted += 1
            yield dict(zip(columns, row, strict=False))

    def _rows(self) -> Iterator[list[str]]:
        """The fields of each record; only the record being read is held in memory."""
        pending: list[str] = []

        def feed() -> Iterator[str]:
            for line in self._lines:
                self._n_lines += 1
                pending.append(line)
                yield line

        reader = csv.reader(feed(), strict=True, **self._dialect)
        while True:
            pending.clear()
            try:
                row = next(reader, None)
            except csv.Error as error:
                row = self._repaired(pending, error)
            if row is None:
                return
            if row:
                self._n_records += 1
                yield row

    def _fitted(self, row: list[str]) -> list[str]:
        width = self._width
        if len(row) > width and not any(row[width:]):
            return row[:width]
        self._ragged.add(self._n_records)
        if len(row) > width:
            return [*row[: width - 1], self._dialect["delimiter"].join(row[width - 1 :])]
        return row

    def _repaired(self, pending: list[str], error: csv.Error) -> list[str]:
        """The fields of a one-line record with broken quotes: quotes as they stand if the fields then fit."""
        record = self._n_records + 1
        first_line = self._n_lines - len(pending) + 1
        where = f"'{self.name}', {f'record {record}' if record else 'header'} (line {first_line})"
        if "field limit" in str(error):
            raise CorpusError(
                f"{where}: a field is longer than {MAX_FIELD:,} characters; probably a quote is not closed."
            )
        if len(pending) > 1:
            raise CorpusError(
                f"{where}: a quoted field is not closed properly up to line {self._n_lines}; "
                'double the quotes inside quoted fields ("") or remove the stray one.'
            )
        self._strays.add(record)
        line = [pending[0].rstrip("\r\n")]
        row: list[str] = []
        for quoting in (csv.QUOTE_NONE, csv.QUOTE_MINIMAL):
            row = next(csv.reader(line, strict=False, **self._dialect | {"quoting": quoting}))
            if len(row) == self._width:
                break
        return row

    @property
    def warnings(self) -> list[str]:
        """What was assumed and repaired so far, a sentence each."""
        notes = []
        if not self.has_header:
            notes.append("The first record looks like data, not like a header; the columns were numbered.")
        if self._dialect["escapechar"]:
            notes.append("Quotes are escaped by backslashes here; a backslash was dropped before any character.")
        if self._strays.n:
            notes.append(f"{self._strays} broken quotes, repaired within their line.")
        if self._n_quoted:
            notes.append(f"{self._n_quoted} records begin a field with a quote, which is an ordinary character here.")
        if self._ragged.n:
            notes.append(
                f"{self._ragged} more or fewer fields than the header: missing ones are empty, "
                "surplus ones were joined to the last column."
            )
        return notes


def _take_head(lines: Iterator[str]) -> tuple[list[str], bool]:
    """The first lines, at least one and about 256 K characters of them, and whether that was all."""
    head: list[str] = []
    n_characters = 0
    for line in lines:
        head.append(line)
        n_characters += len(line)
        if n_characters >= _HEAD_CHARACTERS:
            return head, False
    return head, True


def _sample(head: list[str], dialect: dict[str, Any], columns: int = 1) -> list[list[str]]:
    """The first records; none where the first has fewer columns than that."""
    rows: list[list[str]] = []
    try:
        for row in csv.reader(head, strict=False, **dialect):
            if row:
                rows.append(row)
            if len(rows) == 1 and len(rows[0]) < columns:
                return []
            if len(rows) > _HEAD_RECORDS:
                break
    except csv.Error:
        # A field beyond the limit: the reading proper will say so, with its place.
        pass
    return rows


def _dialect(head: list[str], complete: bool, format: str, delimiter: str | None) -> dict[str, Any]:
    dialect = {"delimiter": ",", "quoting": csv.QUOTE_MINIMAL, "escapechar": None}
    dialect["delimiter"] = delimiter or _delimiter(head, format, dialect)
    well_quoted = _reads_strictly(head, complete, dialect)
    if format == "tsv":
        unquoted = dialect | {"quoting": csv.QUOTE_NONE}
        uses_quotes = any(cell.startswith('"') for row in _sample(head, unquoted) for cell in row)
        return dialect if uses_quotes and well_quoted else unquoted
    escaped = dialect | {"escapechar": "\\"}
    if not well_quoted and any('\\"' in line for line in head) and _reads_strictly(head, complete, escaped):
        return escaped
    return dialect


def _delimiter(head: list[str], format: str, dialect: dict[str, Any]) -> str:
    candidates = "\t" if format == "tsv" and head and "\t" in head[0] else ",;\t|"
    best, best_score = ",", (0.0, 1)
    for candidate in candidates:
        rows = _sample(head, dialect | {"delimiter": candidate}, columns=2)
        if not rows:
            continue
        fitting = [len(row) == len(rows[0]) for row in rows[1:]]
        score = (sum(fitting) / len(fitting) if fitting else 1.0, len(rows[0]))
        if score > best_score:
            best, best_score = candidate, score
    return best


def _reads_strictly(head: list[str], complete: bool, dialect: dict[str, Any]) -> bool:
    reader = csv.reader(head, strict=True, **dialect)
    try:
        for _ in reader:
            pass
    except csv.Error:
        # The head may end inside a quoted field; that is no fault of the file's.
        return not complete and reader.line_num == len(head)
    return True


def looks_like_data(sample: list[list[str]]) -> bool:
    """Whether the first record is no header, by the rule above."""
    first, below = sample[0], [row for row in sample[1:] if row != sample[0]]
    if any(is_text_name(cell) for cell in first):
        return False
    for column, cell in enumerate(first):
        if len(cell) > 200 or "\n" in cell:
            return True
        others = [row[column] for row in below if column < len(row) and row[column]]
        if not cell.strip() or not others:
            continue
        if cell in others or (NUMBER.fullmatch(cell) and all(map(NUMBER.fullmatch, others))):
            return True
    return False
