"""The parts of an Excel workbook (ECMA-376), each read as a stream: sheets, words, which numbers are dates, rows.

Nothing is held but the words that cells share and one row, and no entity is expanded; what the parts unpack to is
counted, and Stop and the time limit are heard, by :class:`~cflengine.text.reading.sources.Meter`. Libraries at hand
build trees of a part, or a rectangle of all cells up to the last, which a small file can make larger than memory.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from posixpath import normpath
from typing import Any
from xml.parsers import expat

from cflengine.text.corpus import CorpusError, reason_of, whole_characters
from cflengine.text.reading.budget import Budget
from cflengine.text.reading.sources import Meter

MOST_ROWS, MOST_COLUMNS, MOST_SHEETS = 1 << 20, 1_000, 1_000
_MOST_BYTES, _STRING_BYTES = 2 << 30, 80  # of the words in memory; what a short one takes
_CHUNK = 1 << 16
_ERROR_WORDS = frozenset({"#N/A", "#VALUE!", "#REF!", "#DIV/0!", "#NUM!", "#NAME?", "#NULL!", "#GETTING_DATA"})
# characters that XML cannot hold, and the mark that keeps such a name as it is
_ESCAPED = re.compile(r"_x(005F|00[01][0-9A-Fa-f]|[Ff]{3}[EeFf])_")
_LETTERS = re.compile(r"[A-Za-z]{1,4}")
_DATES = frozenset([*range(14, 23), *range(27, 37), *range(50, 59)])  # formats that every workbook has
_DURATIONS = frozenset({45, 46, 47})
_QUOTED = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)  # no letters of a date
_LAPSED = re.compile(r"\[(h+|m+|s+)\]", re.IGNORECASE)
_EPOCH, _EPOCH_1904, _LAST_DAY = datetime(1899, 12, 30), datetime(1904, 1, 1), 2_957_000  # in the year 9995, or 9999
Row = dict[int, Any]
_Attributes = dict[str, str]


@dataclass(frozen=True)
class Sheet:
    """name, the part that holds it, and whether it is shown."""

    name: str
    part: str
    visible: bool


@dataclass
class Workbook:
    """A workbook in an archive.

    Parameters
    ----------
    archive : ZipFile
        The file.
    name : str
        Of the file, in messages.
    budget : Budget
        Counts what the parts unpack to.
    packed : int
        Size of the file.

    Raises
    ------
    CorpusError for damage, and where it unpacks to too much.
    """

    archive: zipfile.ZipFile
    name: str
    budget: Budget
    packed: int
    sheets: list[Sheet] = field(default_factory=list)
    _strings: list[str] = field(default_factory=list)
    _kinds: list[str] = field(default_factory=list)  # of each style: "date", "duration" or ""
    _epoch: datetime = _EPOCH
    uncomputed: int = 0  # formulas without a value that rows have met

    def __post_init__(self) -> None:
        targets: dict[str, tuple[str, str]] = {}

        def relation(tag: str, given: _Attributes) -> None:
            if tag == "Relationship" and given.get("TargetMode") != "External":
                target = normpath("/xl/" + given["Target"]) if given["Target"][:1] != "/" else given["Target"]
                targets[given["Id"]] = (target.lstrip("/"), given["Type"].rpartition("/")[2])

        def sheet(tag: str, given: _Attributes) -> None:
            if tag == "workbookPr" and given.get("date1904") in ("1", "true"):
                self._epoch = _EPOCH_1904
            part, kind = targets.get(given.get("id", ""), ("", ""))
            if tag == "sheet" and kind == "worksheet" and len(self.sheets) < MOST_SHEETS:
                self.sheets.append(Sheet(given["name"], part, given.get("state", "visible") == "visible"))

        for part, begin in (("xl/_rels/workbook.xml.rels", relation), ("xl/workbook.xml", sheet)):
            for _ in self._read(part, _Handlers(begin)):
                pass
        for part, kind in targets.values():
            if kind in ("sharedStrings", "styles") and part in self.archive.namelist():
                handlers = _SharedStrings(self._strings, self.name) if kind == "sharedStrings" else _Styles(self._kinds)
                for _ in self._read(part, handlers):
                    pass

    def rows(self, sheet: Sheet) -> Iterator[Row]:
        """The rows that are not blank: values by column, from 0, of the first MOST_COLUMNS + 1."""
        cells = _Cells(self._value)
        for _ in self._read(sheet.part, cells):
            if cells.n_rows > MOST_ROWS:
                raise CorpusError(f"'{self.name}' has more than {MOST_ROWS:,} rows; save it as CSV.")
            self.uncomputed, cells.n_uncomputed = self.uncomputed + cells.n_uncomputed, 0
            yield from cells.done
            cells.done.clear()

    def _read(self, part: str, handlers: _Handlers) -> Iterator[None]:
        """Parse a part; a step after every piece of it."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = handlers.start, handlers.end
        parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = handlers.characters, _refuse
        try:
            with self.archive.open(part) as packed:
                stream = Meter(packed, self.budget, lambda: self.packed)
                while chunk := stream.read(_CHUNK):
                    parser.Parse(chunk, False)
                    yield
            parser.Parse(b"", True)
        except (expat.ExpatError, KeyError, IndexError, ValueError, ArithmeticError, RuntimeError) as error:
            if isinstance(error, CorpusError):
                raise
            raise damaged(self.name, error) from error
        yield

    def _shared(self, number: int) -> str:
        if number < 0:
            raise ValueError("words of a number below 0")
        return self._strings[number]

    def _value(self, kind: str, style: str, text: str) -> Any:
        """What a cell holds; None for nothing, and for an error."""
        if not text.strip():
            return None
        if kind in ("s", "str", "inlineStr", "e"):
            text = self._shared(int(text)) if kind == "s" else decoded(text)
            return None if not text.strip() or text in _ERROR_WORDS else text
        if kind == "b":
            return text.strip() in ("1", "true")
        if kind == "d":
            return datetime.fromisoformat(text.strip()) if "-" in text else text.strip()  # or a time of day
        number = float(text)
        of_style = self._kinds[int(style)] if style and int(style) < len(self._kinds) else ""
        if of_style:
            return moment(number, self._epoch, of_style == "duration")
        return int(number) if number.is_integer() and "." not in text and abs(number) < 2.0**53 else number


def moment(days: float, epoch: datetime, lapsed: bool) -> datetime | timedelta | str | float:
    """A number as the date, duration or time of day that a workbook shows it as; the number where there is none."""
    if not abs(days) < _LAST_DAY or (days < 0 and not lapsed):
        return days
    since = timedelta(milliseconds=round(days * 86_400_000))
    if lapsed:
        return since
    if days < 1:
        return str(time(*divmod(since.seconds // 60, 60), since.seconds % 60, since.microseconds))
    if epoch == _EPOCH and days < 60:
        since += timedelta(days=1)  # the 29th of February 1900, which there was not
    return epoch + since


def decoded(text: str) -> str:
    """Characters that XML cannot hold in the place of their names; half characters are replaced."""
    if "_x" in text:
        text = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
    return whole_characters(text)[0]


def damaged(name: str, error: Exception) -> CorpusError:
    """One sentence on a file that is no workbook."""
    return CorpusError(f"'{name}' is not a readable Excel workbook ({reason_of(error)}); save it again, or as CSV.")


def _refuse(*declaration: object) -> None:
    raise ValueError("it declares a document type, as workbooks do not")


class _Handlers:
    """What is done with the elements of a part, by their names without namespaces."""

    def __init__(self, begin: Callable[[str, _Attributes], None] | None = None) -> None:
        self._begin = begin

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._begin is not None:
            self._begin(tag.rpartition(" ")[2], {name.rpartition(" ")[2]: value for name, value in attributes.items()})

    def end(self, tag: str) -> None: ...

    def characters(self, text: str) -> None: ...


class _Texts(_Handlers):
    """Collects what stands in <t>, but for how it is pronounced (<rPh>), and in <v>."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[str] = []
        self._inside = self._spoken = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name = tag.rpartition(" ")[2]
        self._inside = name in ("t", "v") and not self._spoken
        if name == "rPh":
            self._spoken = True

    def end(self, tag: str) -> None:
        self._inside = False
        if tag.endswith("rPh"):
            self._spoken = False

    def characters(self, text: str) -> None:
        if self._inside:
            self._parts.append(text)

    def taken(self) -> str:
        """What was collected, which is forgotten."""
        text = "".join(self._parts)
        self._parts.clear()
        return text


class _SharedStrings(_Texts):
    def __init__(self, strings: list[str], name: str) -> None:
        super().__init__()
        self._strings, self._name, self._bytes = strings, name, 0

    def end(self, tag: str) -> None:
        super().end(tag)
        if tag.rpartition(" ")[2] == "si":
            text = decoded(self.taken())
            self._bytes += _STRING_BYTES + len(text) * (1 if text.isascii() else 4)
            if self._bytes > _MOST_BYTES:
                raise CorpusError(f"'{self._name}' holds more words than fit into memory; save its sheet as CSV.")
            self._strings.append(text)


class _Styles(_Handlers):
    """Which styles of cells show dates, and which durations."""

    def __init__(self, kinds: list[str]) -> None:
        super().__init__(self._style)
        self._kinds, self._own = kinds, dict[str, str]()
        self._of_cells = False

    def _style(self, tag: str, given: _Attributes) -> None:
        if tag in ("cellXfs", "cellStyleXfs"):
            self._of_cells = tag == "cellXfs"
        elif tag == "numFmt":
            self._own[given["numFmtId"]] = kind_of_format(given.get("formatCode", ""))
        elif tag == "xf" and self._of_cells:
            number = given.get("numFmtId", "0")
            usual = "date" if int(number) in _DATES else "duration" if int(number) in _DURATIONS else ""
            self._kinds.append(self._own.get(number, usual))


def kind_of_format(code: str) -> str:
    """Whether a format shows a number as "date" or as "duration", by its first part; else empty."""
    plain = _QUOTED.sub("", code.partition(";")[0]).lower()
    if _LAPSED.search(plain):
        return "duration"
    return "date" if "general" not in plain and re.search("[dmyhs]", plain) else ""


class _Cells(_Texts):
    """The rows of a sheet. done: those that are whole and not blank; n_rows: so far, blank ones included; n_uncomputed:
    formulas without a value."""

    def __init__(self, value: Callable[[str, str, str], Any]) -> None:
        super().__init__()
        self.done: list[Row] = []
        self.n_rows = self.n_uncomputed = 0
        self._formula = False
        self._value, self._row = value, Row()
        self._column, self._kind, self._style = -1, "n", ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        super().start(tag, attributes)
        name = tag.rpartition(" ")[2]
        if name == "row":
            self.n_rows += 1
            self._row, self._column = {}, -1
        elif name == "c":
            place = _LETTERS.match(attributes.get("r", ""))
            self._column = self._column + 1 if place is None else _column(place[0])
            self._kind, self._style = attributes.get("t", "n"), attributes.get("s", "")
            self._formula = False
        elif name == "f":
            self._formula = True

    def end(self, tag: str) -> None:
        super().end(tag)
        name = tag.rpartition(" ")[2]
        if name == "c":
            text = self.taken()
            self.n_uncomputed += self._formula and not text
            if self._column <= MOST_COLUMNS and (value := self._value(self._kind, self._style, text)) is not None:
                self._row[self._column] = value
        elif name == "row" and self._row:
            self.done.append(self._row)


def _column(letters: str) -> int:
    """A is 0, Z is 25, AA is 26."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - 64
    return number - 1
