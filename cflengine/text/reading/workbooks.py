"""Excel workbooks (.xlsx, .xlsm): the first visible sheet that holds records, row by row, by openpyxl.

Values are those that the workbook shows, of formulas the ones that were computed last. A row above the table with a
single cell is a title and left out; the header is found as in a CSV file (:mod:`delimited`). What the parts of the
file unpack to is known, and bounded, before any of it is parsed; what cells hold is counted against the budget, since a
text of megabytes can stand in every row.
"""

from __future__ import annotations

import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from datetime import time
from itertools import chain, islice
from typing import IO, Any

from openpyxl import load_workbook

from cflengine.engine.progress import Stopped
from cflengine.text.corpus import CorpusError, EmptyCorpusError, reason_of, whole_characters
from cflengine.text.reading.budget import Budget
from cflengine.text.reading.columns import listed, unique_names
from cflengine.text.reading.delimited import looks_like_data

_MOST_UNPACKED = 1 << 30  # bytes of XML: the words of a workbook are all in memory at once
_MOST_ROWS, _MOST_COLUMNS = 1 << 20, 1_000  # a sheet has no more rows
_SAMPLE_ROWS, _TITLE_ROWS = 200, 5
_ERRORS = frozenset({"#N/A", "#VALUE!", "#REF!", "#DIV/0!", "#NUM!", "#NAME?", "#NULL!", "#GETTING_DATA"})
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")  # a character that XML cannot hold
_Row = tuple[Any, ...]

# styles and forms that openpyxl does not know are none of a corpus's business
warnings.filterwarnings("ignore", category=UserWarning, module="openpyxl")


class WorkbookTable:
    """The records of a workbook's sheet.

    Parameters
    ----------
    stream : IO[bytes]
        The file, which can seek.
    name : str
        Of the file, in messages.
    max_bytes : int
        Most bytes to unpack, and that cells may hold.

    Raises
    ------
    CorpusError if it is no workbook, unpacks to too much, or has too many columns; EmptyCorpusError without records.
    """

    format = "xlsx"
    given_text = None
    untyped = False

    def __init__(self, stream: IO[bytes], name: str, max_bytes: int) -> None:
        self.name = name
        self._budget = Budget(name, max_bytes)
        self._packed = stream.seek(0, 2)
        self._n_beyond = 0
        self._notes: list[str] = []
        try:
            self._weigh(stream, min(max_bytes, _MOST_UNPACKED))
            book = load_workbook(stream, read_only=True, data_only=True, keep_links=False)
            self._sheet, sample = self._choose(book.worksheets)
        except CorpusError:
            raise
        except Exception as error:  # openpyxl has no closed set of errors for damaged files
            raise self._damaged(error) from error
        width = max(_width(row) for row in sample)
        if width > _MOST_COLUMNS:
            raise CorpusError(f"'{name}' has more than {_MOST_COLUMNS:,} columns; leave out those without a record.")
        self._width, self._above = width, self._titles(sample)
        first = [row[:width] + (None,) * (width - len(row)) for row in sample[self._above :]]
        texts = [["" if value is None else str(value) for value in row] for row in first]
        self.has_header = not looks_like_data(texts)
        if not self.has_header:
            self._notes.append("The first row looks like data, not like a header; the columns were numbered.")
        self.columns = unique_names(texts[0] if self.has_header else [""] * width)

    def records(self) -> Iterator[dict[str, Any]]:
        """Each row below the header that has a cell with a value, as column: value."""
        rows = self._rows(self._sheet, self._width + 1)
        for row in islice(rows, self._above + self.has_header, None):
            self._budget.spend(sum(len(value) if isinstance(value, str) else 8 for value in row), self._packed)
            self._n_beyond += len(row) > self._width and row[self._width] is not None
            yield dict(zip(self.columns, chain(row[: self._width], [None] * self._width), strict=False))

    @property
    def warnings(self) -> list[str]:
        """What was left out so far, a sentence each."""
        beyond = f"{self._n_beyond:,} records have cells to the right of the table, which were left out."
        return [*self._notes, *([beyond] if self._n_beyond else [])]

    def _weigh(self, stream: IO[bytes], most: int) -> None:
        """Refuse what unpacks to too much: zipfile gives no more of a part than its header promises."""
        stream.seek(0)
        with zipfile.ZipFile(stream) as archive:
            unpacked = sum(info.file_size for info in archive.infolist())
            if any(info.flag_bits & 1 for info in archive.infolist()):
                raise CorpusError(f"'{self.name}' is encrypted; save it without a password.")
        Budget(self.name, most).spend(unpacked, self._packed)
        stream.seek(0)

    def _choose(self, sheets: list[Any]) -> tuple[Any, list[_Row]]:
        """The first visible sheet with more than one row, else with one, and its first rows."""
        found = []
        for sheet in sheets:
            if sheet.sheet_state == "visible":
                sheet.reset_dimensions()  # what a program writes of them need not be so
                found.append((sheet, list(islice(self._rows(sheet, _MOST_COLUMNS + 1), _SAMPLE_ROWS))))
        full = [one for one in found if len(one[1]) > 1] or [one for one in found if one[1]]
        if not full:
            raise EmptyCorpusError(f"'{self.name}' is empty; give a workbook with a header and at least one record.")
        others = [sheet.title for sheet, _ in full[1:]]
        if others:
            self._notes.append(
                f"The sheet '{full[0][0].title}' was read; for {listed(others)}, move that one to the front."
            )
        return full[0]

    def _titles(self, sample: list[_Row]) -> int:
        """How many rows stand above the table: of one cell, with wider ones below."""
        n = 0
        while n < min(_TITLE_ROWS, len(sample) - 2) and _filled(sample[n]) == 1 < _filled(sample[n + 1]):
            n += 1
        if n:
            titles = listed([str(next(value for value in row if value is not None))[:60] for row in sample[:n]])
            self._notes.append(f"Above the table stands {titles}, which was left out.")
        return n

    def _rows(self, sheet: Any, most_columns: int) -> Iterator[_Row]:
        """The rows that are not blank."""
        try:
            for n, row in enumerate(sheet.iter_rows(max_col=most_columns, values_only=True)):
                if n >= _MOST_ROWS:
                    raise CorpusError(f"'{self.name}' has more than {_MOST_ROWS:,} rows; save it as CSV.")
                if n % 1024 == 0:
                    self._budget.spend(0)
                values = tuple(map(_value, row))
                if any(value is not None for value in values):
                    yield values
        except (CorpusError, Stopped):
            raise
        except Exception as error:  # as above
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> CorpusError:
        known = isinstance(error, zipfile.BadZipFile | zlib.error | struct.error | OSError | EOFError)
        reason = reason_of(error) if known or str(error) else type(error).__name__
        return CorpusError(f"'{self.name}' is not a readable Excel workbook ({reason}); save it again, or as CSV.")


def _value(value: Any) -> Any:
    """A cell's value; None where it is blank or an error; times of day as they are written."""
    if isinstance(value, str):
        if "_x" in value:
            value = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), value)
        value, _ = whole_characters(value)
        return None if not value.strip() or value in _ERRORS else value
    return str(value) if isinstance(value, time) else value


def _filled(row: _Row) -> int:
    return sum(value is not None for value in row)


def _width(row: _Row) -> int:
    """Columns up to the last that has a value."""
    return next((len(row) - i for i, value in enumerate(reversed(row)) if value is not None), 0)
