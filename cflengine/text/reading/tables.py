"""Sources as tables: each gives its records one by one, as column: value, and then says what it noticed.

Every class here, and :class:`cflengine.text.reading.delimited.DelimitedTable`, has the attributes of :class:`Table`.
"""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from collections.abc import Iterator
from itertools import chain
from typing import IO, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cflengine.engine.progress import Stopped
from cflengine.text.corpus import CorpusError, EmptyCorpusError, reason_of, whole_characters
from cflengine.text.reading.archives import FileSet
from cflengine.text.reading.budget import Budget
from cflengine.text.reading.columns import unique_names
from cflengine.text.reading.encodings import Decoding, marked_decoding

_BATCH_ROWS = 1024
_NO_SPACE = re.compile(r"[^ \t\r\n]")
_DEEPEST, _MOST_FIELDS, _MOST_COLUMNS = 4, 64, 1_000  # levels; of an object within a record; of all
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class Table(Protocol):
    """What a reader needs of a source.

    format: as reported; columns: those seen so far; given_text: the text column where there is nothing to
    choose; untyped: whether all values are strings that may spell something else; warnings: sentences,
    complete after reading.
    """

    @property
    def format(self) -> str: ...

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def given_text(self) -> str | None: ...

    @property
    def untyped(self) -> bool: ...

    @property
    def warnings(self) -> list[str]: ...

    def records(self) -> Iterator[dict[str, Any]]:
        """The records in the order of the source."""


class LinesTable:
    """A text file: a document is a line (without its end), or a paragraph (line ends inside it kept)."""

    format = "txt"
    columns = ("text",)
    given_text = "text"
    untyped = False

    def __init__(self, lines: Iterator[str], documents: str) -> None:
        self._lines = lines
        self._documents = documents
        self.warnings: list[str] = []

    def records(self) -> Iterator[dict[str, Any]]:
        texts = map(_without_end, self._lines) if self._documents == "line" else self._paragraphs()
        return ({"text": text} for text in texts)

    def _paragraphs(self) -> Iterator[str]:
        paragraph: list[str] = []
        for line in chain(self._lines, [""]):
            if line and not line.isspace():
                paragraph.append(line)
            elif paragraph:
                yield _without_end("".join(paragraph))
                paragraph = []


def _without_end(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


class FilesTable:
    """A collection of text files: a document per file, its relative path in the column ``file``, and the folders it
    lies in, where there are several, in columns of their own.

    Each file may carry a byte order mark of its own; the others share one decoding.
    """

    given_text = "text"
    untyped = False

    def __init__(self, files: FileSet, decoding: Decoding) -> None:
        self.format = files.format
        self._levels = files.levels()
        self.columns = ("file", *(name for _, name in self._levels), "text")
        self._files = files
        self._decoding = decoding
        self.encodings: Counter[str] = Counter()
        self._no_text: list[str] = []

    def records(self) -> Iterator[dict[str, Any]]:
        """A record a file; files with NUL bytes are left out, but for a collection of nothing else. Raises CorpusError
        for one of those."""
        n_read = 0
        for path, data in self._files.files():
            name, marked = f"{self._files.name}: {path}", marked_decoding(data)
            if (marked or self._decoding).one_byte_units and b"\0" in data:
                self._no_text.append(path)
                continue
            n_read += 1
            folders = path.split("/")[:-1]
            above = {column: folders[k] if k < len(folders) else None for k, column in self._levels}
            yield {"file": path, **above, "text": self._text(data, marked, name)}
        if self._no_text and not n_read:
            name = f"{self._files.name}: {self._no_text[0]}"
            raise CorpusError(f"'{name}' contains NUL bytes, so it is no text; save it as UTF-8 text.")

    def _text(self, data: bytes, marked: Decoding | None, name: str) -> str:
        decoding = marked or self._decoding
        if marked is None and decoding.lenient:
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError:
                self.encodings[decoding.encoding] += 1
                return decoding.text(data)
            self.encodings["utf-8"] += 1
            return text
        try:
            text = decoding.text(data)
        except UnicodeDecodeError as error:
            if marked is None:
                raise
            raise CorpusError(f"'{name}' is not the {decoding.encoding} it claims to be; save it as UTF-8.") from error
        self.encodings[decoding.encoding] += 1
        return text

    @property
    def warnings(self) -> list[str]:
        n, left = len(self._no_text), []
        if n:
            files = f"'{self._no_text[0]}' contains" if n == 1 else f"{n} files, '{self._no_text[0]}' first, contain"
            were = "it is no text, and was" if n == 1 else "they are no text, and were"
            left = [f"{files} NUL bytes, so {were} left out."]
        return [*self._files.warnings, *left]


class JsonTable:
    """JSON: an object (or a string) per line, or one list of them. Blank lines are not records.

    What stands in an object within a record is a column of its own, ``outer.inner``. Objects that have ever more fields
    are no records but data, and stay as they are. Raises CorpusError naming the line of anything else.
    """

    given_text = None
    untyped = False

    def __init__(self, lines: Iterator[str], name: str) -> None:
        self.name = name
        self._columns: dict[str, None] = {}
        self._inner: dict[str, set[str]] = {}  # column that holds objects: their fields
        self._whole_ones: dict[str, None] = {}  # such columns with too many of them
        self._n_repaired = 0
        numbered = enumerate(lines, 1)
        first = next((line for line in numbered if line[1].strip()), None)
        if first is None:
            raise EmptyCorpusError(f"'{name}' is empty; give a file with at least one record.")
        self.format = "json" if first[1].lstrip().startswith("[") else "jsonl"
        self._lines = chain([first], numbered)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._columns)

    def records(self) -> Iterator[dict[str, Any]]:
        for value, place in self._list() if self.format == "json" else self._objects():
            if isinstance(value, str):
                value = {"text": value}
            if not isinstance(value, dict):
                kind = "null" if value is None else type(value).__name__
                raise CorpusError(f"'{self.name}', {place}: expected a JSON object, found {kind}; put {{...}} there.")
            if any(isinstance(one, dict) for one in value.values()) or not self._inner.keys().isdisjoint(value):
                value = self._flat(value)
            for column in value:
                if column not in self._columns:
                    self._columns[column] = None
            yield value

    def _flat(self, record: dict[str, Any]) -> dict[str, Any]:
        """A record whose objects are columns; its own columns win where names meet."""
        found: dict[str, Any] = {}
        waiting = deque((name, value, 1) for name, value in record.items())
        while waiting:
            name, value, level = waiting.popleft()
            if isinstance(value, dict) and self._opens(name, value, level):
                waiting.extend((f"{name}.{field}", one, level + 1) for field, one in value.items())
            elif value is not None or name not in self._inner:
                found.setdefault(name, value)
        return found

    def _opens(self, name: str, value: dict[str, Any], level: int) -> bool:
        """Whether the fields of an object become columns."""
        if name in self._whole_ones or level >= _DEEPEST:
            return False
        fields = self._inner.setdefault(name, set())
        more = value.keys() - fields
        if len(fields) + len(more) > _MOST_FIELDS or len(self._columns) + len(more) > _MOST_COLUMNS:
            self._whole_ones[name] = None
            return False
        fields |= more
        return True

    def _objects(self) -> Iterator[tuple[Any, str]]:
        for number, line in self._lines:
            if line.isspace():
                continue
            place = f"line {number}"
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise CorpusError(self._complaint(place, error, line)) from None
            yield (self._whole(value) if _ESCAPED_SURROGATE.search(line) else value), place

    def _list(self) -> Iterator[tuple[Any, str]]:
        """The elements one at a time, so that the objects never stand beside the whole text."""
        text = "".join(line for _, line in self._lines)
        decode = json.JSONDecoder().raw_decode
        at = _after_space(text, text.index("[") + 1)
        n_read = 0
        while text[at : at + 1] != "]" or n_read:
            place = f"record {n_read + 1} of the list"
            try:
                value, end = decode(text, at)
            except (ValueError, RecursionError) as error:
                raise CorpusError(self._complaint(place, error, "")) from None
            yield (self._whole(value) if _ESCAPED_SURROGATE.search(text, at, end) else value), place
            n_read += 1
            at = _after_space(text, end)
            if text[at : at + 1] == "]":
                break
            if text[at : at + 1] != ",":
                raise CorpusError(
                    f"'{self.name}', after {place}: expected ',' or ']'; the list is not valid JSON there."
                )
            at = _after_space(text, at + 1)
        if text[at + 1 :].strip():
            raise CorpusError(
                f"'{self.name}' goes on after its list ends; put all records into one list, or one on a line."
            )

    def _complaint(self, place: str, error: Exception, line: str) -> str:
        if isinstance(error, RecursionError):
            return f"'{self.name}', {place}: the JSON is nested too deeply; flatten it."
        reason = error.msg.removesuffix(" at") if isinstance(error, json.JSONDecodeError) else str(error)
        at = f" at column {error.colno}" if line and isinstance(error, json.JSONDecodeError) else ""
        hint = "correct it, or put one whole object on each line" if line else "correct it"
        return f"'{self.name}', {place}: not valid JSON ({reason}{at}); {hint}."

    def _whole(self, value: Any) -> Any:
        """``value`` without lone surrogates, keys included."""
        if isinstance(value, str):
            value, n_repaired = whole_characters(value)
            self._n_repaired += n_repaired
            return value
        if isinstance(value, list):
            return [self._whole(element) for element in value]
        if isinstance(value, dict):
            return {self._whole(key): self._whole(element) for key, element in value.items()}
        return value

    @property
    def warnings(self) -> list[str]:
        found = [
            f"The objects in '{name}' have ever more fields: the rest of them are a column of JSON."
            for name in self._whole_ones
        ]
        if self._n_repaired:
            found.append(f"{self._n_repaired} half characters (lone surrogates) were replaced by U+FFFD.")
        return found


def _after_space(text: str, at: int) -> int:
    match = _NO_SPACE.search(text, at)
    return match.start() if match else len(text)


class ParquetTable:
    """A Parquet file, read in batches of 1,024 rows whose uncompressed size is counted against ``max_bytes``.

    The fields of a struct are columns, ``outer.inner``. Columns of bytes (images, say) are left out with a warning.
    """

    format = "parquet"
    given_text = None
    untyped = False

    def __init__(self, stream: IO[bytes], name: str, max_bytes: int) -> None:
        self.name = name
        self._budget = Budget(name, max_bytes)
        self._packed = stream.seek(0, 2)
        stream.seek(0)
        try:
            self._file = pq.ParquetFile(stream, read_dictionary=_text_columns(stream))
            schema = _without_structs(self._file.schema_arrow.empty_table()).schema
        except Exception as error:  # pyarrow has no closed set of errors for damaged files
            raise self._damaged(error) from error
        names = unique_names(schema.names)
        binary = [
            i for i, kind in enumerate(schema.types) if pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
        ]
        self._kept = [i for i in range(len(names)) if i not in binary]
        self.columns = tuple(names[i] for i in self._kept)
        self.warnings = [f"The column '{names[i]}' holds bytes and was left out." for i in binary]

    def records(self) -> Iterator[dict[str, Any]]:
        try:
            for batch in self._batches():
                self._budget.spend(sum(_decoded_bytes(batch.column(i)) for i in self._kept), self._packed)
                values = [batch.column(i).to_pylist() for i in self._kept]
                for row in zip(*values, strict=True):
                    yield dict(zip(self.columns, row, strict=True))
        except (CorpusError, Stopped):
            raise
        except Exception as error:  # as above
            raise self._damaged(error) from error

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for batch in self._file.iter_batches(batch_size=_BATCH_ROWS):
            yield from _without_structs(pa.Table.from_batches([batch])).to_batches()

    def _damaged(self, error: Exception) -> CorpusError:
        return CorpusError(f"'{self.name}' is not a readable Parquet file ({reason_of(error)}); write it again.")


def _without_structs(table: pa.Table) -> pa.Table:
    """The fields of structs as columns, of those within them, too."""
    while any(pa.types.is_struct(kind) for kind in table.schema.types):
        table = table.flatten()
    return table


def _text_columns(stream: IO[bytes]) -> list[str]:
    """The top-level columns of strings: they are kept as dictionaries, whose text is small until it is spelled out."""
    schema = pq.read_schema(stream)
    stream.seek(0)
    return [field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)]


def _decoded_bytes(column: pa.Array) -> int:
    """What a column takes once it is spelled out: a text of megabytes that is said a thousand times is gigabytes."""
    if not pa.types.is_dictionary(column.type):
        return column.nbytes
    sizes = pc.binary_length(column.dictionary)
    return int(pc.sum(pc.take(sizes, column.indices)).as_py() or 0)
