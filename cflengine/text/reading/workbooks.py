"""Excel workbooks (.xlsx, .xlsm): a sheet, or the first visible one that holds records, row by row.

Values are those that the workbook shows, of formulas the ones that were computed last. Rows above the table with a
single cell are titles and left out; the header is found as in a CSV file (:mod:`delimited`). What cells hold is counted
against the budget, since a text of megabytes can stand in every row.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from itertools import islice
from typing import IO, Any

from cflengine.text.corpus import CorpusError, EmptyCorpusError
from cflengine.text.reading.budget import Budget
from cflengine.text.reading.columns import is_text_name, listed, unique_names
from cflengine.text.reading.delimited import looks_like_data
from cflengine.text.reading.workbook_parts import MOST_COLUMNS, Row, Sheet, Workbook, damaged

_SAMPLE_ROWS, _TITLE_ROWS = 200, 5


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
    sheet : str or None, default: None
        Its name, in any case; None for the first visible one with more than one row, else with one.

    Raises
    ------
    CorpusError if it is no workbook, has no such sheet, unpacks to too much, or has too many columns; EmptyCorpusError
    without records; Stopped.
    """

    format = "xlsx"
    given_text = None
    untyped = False

    def __init__(self, stream: IO[bytes], name: str, max_bytes: int, sheet: str | None = None) -> None:
        self.name = name
        self._packed = stream.seek(0, 2)
        stream.seek(0)
        try:
            archive = zipfile.ZipFile(stream)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, struct.error) as error:
            raise damaged(name, error) from error
        self._book = Workbook(archive, name, Budget(name, max_bytes), self._packed)
        self._spoken = Budget(name, max_bytes)
        self._n_beyond = 0
        self._notes: list[str] = []
        self._sheet = self._choose(sheet)
        sample = list(islice(self._book.rows(self._sheet), _SAMPLE_ROWS))
        self._width = max(max(row) for row in sample) + 1
        if self._width > MOST_COLUMNS:
            raise CorpusError(f"'{name}' has more than {MOST_COLUMNS:,} columns; leave out those without a record.")
        self._above = self._titles(sample)
        texts = [[str(row.get(k, "")) for k in range(self._width)] for row in sample[self._above :]]
        self.has_header = not looks_like_data(texts)
        if not self.has_header:
            self._notes.append("The first row looks like data, not like a header; the columns were numbered.")
        self.columns = unique_names(texts[0] if self.has_header else [""] * self._width)

    def records(self) -> Iterator[dict[str, Any]]:
        """Each row below the header that has a cell with a value, as column: value."""
        for row in islice(self._book.rows(self._sheet), self._above + self.has_header, None):
            self._spoken.spend(sum(len(value) if isinstance(value, str) else 8 for value in row.values()))
            self._n_beyond += max(row) >= self._width
            yield {name: row.get(k) for k, name in enumerate(self.columns)}

    @property
    def warnings(self) -> list[str]:
        """What was left out so far, a sentence each."""
        beyond = f"{self._n_beyond:,} records have cells to the right of the table, which were left out."
        return [*self._notes, *([beyond] if self._n_beyond else [])]

    def _choose(self, wanted: str | None) -> Sheet:
        """The sheet that is wanted, else the first visible one that has records."""
        every = self._book.sheets
        if wanted is not None:
            every = [one for one in every if one.name.casefold() == wanted.casefold()]
            if not every:
                shown = listed([one.name for one in self._book.sheets if one.visible])
                raise CorpusError(f"'{self.name}' has no sheet '{wanted}'; its sheets are {shown}.")
        n_rows = {
            one: sum(1 for _ in islice(self._book.rows(one), 2)) for one in every if one.visible or wanted is not None
        }
        full = [one for one, n in n_rows.items() if n > 1] or [one for one, n in n_rows.items() if n]
        if not full:
            where = "" if wanted is None else f" in the sheet '{wanted}'"
            raise EmptyCorpusError(f"'{self.name}' is empty{where}; give a header and at least one record.")
        self.sheets = tuple(one.name for one in full)
        if wanted is None and len(full) > 1:
            self._notes.append(f"The sheet '{self.sheets[0]}' was read; others (sheet) are {listed(self.sheets[1:])}.")
        return full[0]

    def _titles(self, sample: list[Row]) -> int:
        """How many rows stand above the table: of one cell, none of which names a column of texts, with a wider one
        below."""
        n = next((k for k, row in enumerate(sample) if len(row) > 1), 0)
        titles = [str(value) for row in sample[:n] for value in row.values()]
        if not 0 < n <= min(_TITLE_ROWS, len(sample) - 2) or any(map(is_text_name, titles)):
            return 0
        shown = listed([title[:60] for title in titles])
        self._notes.append(f"Above the table stands {shown}, which was left out.")
        return n
