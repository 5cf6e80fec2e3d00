"""Excel workbooks (.xlsx, .xlsm): a sheet, or the first visible one that holds records, row by row.

Values are those that the workbook shows, of formulas the ones that were computed last. Rows above the table with a
single cell are titles and left out; the header is found as in a CSV file (:mod:`delimited`). What cells hold is counted
against the budget, since a text of megabytes can stand in every row.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from itertools import islice
from typing import IO, Any

from cflengine.text.corpus import CorpusError, EmptyCorpusError
from cflengine.text.reading.budget import Budget
from cflengine.text.reading.columns import is_text_name, listed, unique_names
from cflengine.text.reading.delimited import looks_like_data
from cflengine.text.reading.sources import UNOPENED
from cflengine.text.reading.workbook_parts import MOST_COLUMNS, Row, Sheet, Workbook, damaged

_SAMPLE_ROWS, _TITLE_ROWS, _LONG = 200, 5, 200


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
        except UNOPENED as error:
            raise damaged(name, error) from error
        self._book = Workbook(archive, name, Budget(name, max_bytes), self._packed)
        self._spoken = Budget(name, max_bytes)
        self._n_beyond = 0
        self._notes: list[str] = []
        self._sheet = self._choose(sheet)
        sample = list(islice(self._book.rows(self._sheet), _SAMPLE_ROWS))
        self._above = self._titles(sample)
        below = sample[self._above :]
        first, last = min(map(min, below)), max(map(max, below))
        if last >= MOST_COLUMNS:
            raise CorpusError(f"'{name}' has a cell beyond column {MOST_COLUMNS:,}; delete what is right of the table.")
        self._places = range(first, last + 1)
        texts = [[_shown(row.get(k, "")) for k in self._places] for row in below]
        self.has_header = not _looks_like_data(texts)
        if not self.has_header:
            self._notes.append("The first row looks like data, not like a header; the columns were numbered.")
        self.columns = unique_names(texts[0] if self.has_header else [""] * len(self._places))

    def records(self) -> Iterator[dict[str, Any]]:
        """Each row below the header that has a cell with a value, as column: value."""
        self._book.uncomputed = 0  # those of the sample
        for row in islice(self._book.rows(self._sheet), self._above + self.has_header, None):
            self._spoken.spend(sum(len(value) if isinstance(value, str) else 8 for value in row.values()))
            self._n_beyond += max(row) not in self._places
            yield {name: row.get(k) for k, name in zip(self._places, self.columns, strict=True)}

    @property
    def warnings(self) -> list[str]:
        """What was left out so far, a sentence each."""
        notes = list(self._notes)
        if self._n_beyond:
            have = "1 record has" if self._n_beyond == 1 else f"{self._n_beyond:,} records have"
            notes.append(f"{have} cells to the right of the table, which were left out.")
        if n := self._book.uncomputed:
            are = "1 cell is a formula" if n == 1 else f"{n:,} cells are formulas"
            notes.append(f"{are} without a result in the file: open it in Excel or LibreOffice and save it once.")
        return notes

    def _choose(self, wanted: str | None) -> Sheet:
        """The sheet that is wanted, else the first visible one that has records."""
        every = self._book.sheets
        if wanted is not None:
            every = [one for one in every if one.name.casefold() == wanted.casefold()]
            if not every:
                shown = listed([one.name for one in self._book.sheets if one.visible])
                raise CorpusError(f"'{self.name}' has no sheet '{wanted}'; its sheets are {shown}.")
        n_rows = {one: self._begins(one, wanted) for one in every if one.visible or wanted is not None}
        full = [one for one, n in n_rows.items() if n > 1] or [one for one, n in n_rows.items() if n]
        if not full:
            where = "" if wanted is None else f" in the sheet '{wanted}'"
            raise EmptyCorpusError(f"'{self.name}' is empty{where}; give a header and at least one record.")
        self.sheets = tuple(one.name for one in full)
        if wanted is None and len(full) > 1:
            also = listed(self.sheets[1:])
            self._notes.append(f"The sheet '{self.sheets[0]}' was read; the workbook also has {also} (sheet, --sheet).")
        return full[0]

    def _begins(self, sheet: Sheet, wanted: str | None) -> int:
        """How many rows a sheet has, two at most; none of one that cannot be read and was not asked for."""
        try:
            return sum(1 for _ in islice(self._book.rows(sheet), 2))
        except CorpusError as error:
            if wanted is not None or len(self._book.sheets) == 1:
                raise
            self._notes.append(f"The sheet '{sheet.name}' was left out: {error}")
            return 0

    def _titles(self, sample: list[Row]) -> int:
        """How many rows stand above the table: of one cell, none of which names a column of texts, with a wider one
        below."""
        n = next((k for k, row in enumerate(sample) if len(row) > 1), -1)
        if n < 0:  # a single column: what names one is its header
            n = next((k for k, row in enumerate(sample) if any(map(is_text_name, map(str, row.values())))), 0)
        titles = [str(value) for row in sample[:n] for value in row.values()]
        if not 0 < n <= min(_TITLE_ROWS, len(sample) - 2) or any(map(is_text_name, titles)):
            return 0
        shown = listed([title[:60] for title in titles])
        were = "The row above the table was" if n == 1 else "The rows above the table were"
        self._notes.append(f"{were} left out: {shown}.")
        return n


def _shown(value: Any) -> str:
    """A cell as the name of a column: on one line, dates without midnight."""
    return " ".join(str(value).removesuffix(" 00:00:00").split())


def _looks_like_data(texts: list[list[str]]) -> bool:
    """Whether the first row is no header: as in a CSV file, but that a question of a survey may be long."""
    first, below = texts[0], texts[1:]
    for k, cell in enumerate(first):
        if len(cell) > _LONG and 2 * sum(len(row[k]) > _LONG for row in below) > len(below):
            return True
    return looks_like_data([[cell[:_LONG] for cell in first], *below])
