"""Read documents from what people have: CSV, TSV, JSONL, JSON, Parquet, Excel, TXT, gzipped or not, a ZIP, a folder.

One pass in bounded memory; a second one only where the bytes turn out not to be UTF-8. Whatever is wrong with
a source is one :class:`CorpusError` of one sentence, and whatever is left out of it or repaired is counted in
the report. The rules: what is left out in :mod:`corpus`, encodings in :mod:`encodings`, formats in
:mod:`sources`, CSV in :mod:`delimited`, the text column in :mod:`columns`, archives in :mod:`archives`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeVar

import pandas as pd

from cflengine.text.corpus import Corpus, CorpusError, EmptyCorpusError, Intake
from cflengine.text.reading.archives import FileSet, folder_files, zip_content
from cflengine.text.reading.budget import ask_watch
from cflengine.text.reading.columns import (
    NULL_MARKS,
    MetadataBuilder,
    TextChoice,
    choose_text_column,
    listed,
    named_column,
)
from cflengine.text.reading.delimited import DelimitedTable, long_fields
from cflengine.text.reading.encodings import Decoding, detect, initial_decoding
from cflengine.text.reading.sources import MAX_BYTES, Blob, as_blob, confirmed_format, stated_format
from cflengine.text.reading.tables import FilesTable, JsonTable, LinesTable, ParquetTable, Table
from cflengine.text.reading.workbooks import WorkbookTable

Source = str | os.PathLike | bytes | BinaryIO

_SAMPLE_RECORDS = 200
_RECORDS_AT_ONCE = 4096
_SAMPLE_CHARACTERS = 4 << 20
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Preview:
    """The first records of a source, before anything is decided.

    ``columns`` is empty where there is no column to choose (TXT, a ZIP or folder of text files); ``rows``
    then has the column ``text`` (and ``file``). ``candidates`` are the columns that could be text, the
    likeliest first; ``sheets`` those of a workbook that have rows.
    """

    format: str
    encoding: str | None
    columns: tuple[str, ...]
    rows: pd.DataFrame
    suggested_text_column: str | None
    candidates: tuple[str, ...]
    sheets: tuple[str, ...] = ()


def preview_corpus(
    source: Source,
    *,
    name: str | None = None,
    n_rows: int = 50,
    format: str | None = None,
    documents: Literal["line", "paragraph"] = "line",
    encoding: str | None = None,
    sheet: str | None = None,
    max_bytes: int = MAX_BYTES,
) -> Preview:
    """The first records, the columns, and the one that looks like the text. Reads only that much.

    Parameters
    ----------
    source : Source
        Path of a file or folder, the bytes of a file, or a binary stream.
    name : str or None, default: None
        Display name; its ending gives the format where the source has none of its own.
    n_rows : int, default: 50
        Records to return.
    format : str or None, default: None
        csv, tsv, jsonl, parquet, xlsx, txt or zip, against the name's ending.
    documents : {'line', 'paragraph'}, default: 'line'
        What a document is in a TXT file, a line or a paragraph between blank lines.
    encoding : str or None, default: None
        Of a text file, instead of the detected one.
    sheet : str or None, default: None
        Of a workbook; None for the first visible one that has records.
    max_bytes : int, default: 4294967296
        Most bytes to read, uncompressed.

    Returns
    -------
    Preview
        Format, records, columns, and candidates for the text.

    Raises
    ------
    CorpusError
        If the source cannot be read.
    """
    if n_rows < 1:
        raise CorpusError(f"n_rows is {n_rows}; it must be 1 or more.")

    def first_records(table: Table, decoding: Decoding, label: str) -> Preview:
        sample, _ = _sample(table, max(n_rows, _SAMPLE_RECORDS), label)
        choice = TextChoice(None, ()) if table.given_text else choose_text_column(table.columns, sample)
        rows = MetadataBuilder(table.untyped)
        for record in sample[:n_rows]:
            rows.add(record)
        columns = () if table.given_text else table.columns
        shown = _encoding(table, decoding)[0]
        sheets = table.sheets if isinstance(table, WorkbookTable) else ()
        frame = rows.frame(table.columns)
        return Preview(table.format, shown, columns, frame, choice.column, choice.candidates, sheets)

    return _with_table(source, name, format, _Reading(documents, encoding, sheet, max_bytes), first_records)


#: how a command or a project says that a source was read: option -> the kinds of its values, and the default
READING: dict[str, tuple[tuple[type, ...], Any]] = {
    "documents": ((str,), "line"), "min_words": ((int,), 1), "limit": ((int, type(None)), None),
    "text_column": ((str, type(None)), None), "encoding": ((str, type(None)), None), "strip_html": ((bool,), False),
    "sheet": ((str, type(None)), None),
}  # fmt: skip


def read_corpus(
    source: Source,
    *,
    name: str | None = None,
    text_column: str | None = None,
    format: str | None = None,
    documents: Literal["line", "paragraph"] = "line",
    min_words: int = 1,
    limit: int | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    strip_html: bool = False,
    max_bytes: int = MAX_BYTES,
) -> Corpus:
    """The documents of ``source``, exactly as they stand there, with their records, metadata and a report.

    Parameters
    ----------
    source : Source
        Path of a file or folder, the bytes of a file, or a binary stream (read from its start, not closed).
    name : str or None, default: None
        Display name; its ending gives the format where the source has none of its own.
    text_column : str or None, default: None
        The column that holds the documents; found by the rules of :mod:`columns` if None.
    format : str or None, default: None
        csv, tsv, jsonl, parquet, xlsx, txt or zip, against the name's ending.
    documents : {'line', 'paragraph'}, default: 'line'
        What a document is in a TXT file, a line or a paragraph between blank lines.
    min_words : int, default: 1
        Documents with fewer ``\\w+`` words are left out (0 keeps all that are not blank).
    limit : int or None, default: None
        Stop at this many kept documents; what follows is neither read nor counted.
    encoding : str or None, default: None
        Of a text file, instead of the detected one.
    sheet : str or None, default: None
        Of a workbook; None for the first visible one that has records.
    strip_html : bool, default: False
        Take HTML out of the texts: tags, comments, character references; see
        :func:`~cflengine.text.markup.without_html`.
    max_bytes : int, default: 4294967296
        Most bytes to read, uncompressed.

    Returns
    -------
    Corpus
        The documents.

    Raises
    ------
    CorpusError
        For everything that is wrong with the source or the arguments, in one sentence.
    """
    Intake(min_words, limit)  # a bad argument is said before a long read

    def documents_of(table: Table, decoding: Decoding, label: str) -> Corpus:
        sample, records = _sample(table, _SAMPLE_RECORDS, label)
        column = _text_column(table, sample, text_column, label)
        marks = NULL_MARKS if table.untyped else frozenset()
        intake, metadata = Intake(min_words, limit, strip_html=strip_html), MetadataBuilder(table.untyped)
        for number, record in enumerate(records):
            if number % _RECORDS_AT_ONCE == 0:
                ask_watch()
            text = record.pop(column, None)
            if intake.add(None if isinstance(text, str) and text in marks else text):
                metadata.add(record)
            if intake.full:
                break
        shown, note = _encoding(table, decoding)
        return intake.corpus(
            shown_name,
            metadata.frame(name for name in table.columns if name != column),
            source=label,
            format=table.format,
            encoding=shown,
            encoding_note=note,
            text_column=None if table.given_text else column,
            columns=tuple(name for name in table.columns if name != table.given_text),
            warnings=[*table.warnings, *decoding.warnings(), *metadata.notes],
        )

    shown_name = name or _name_of(source)
    return _with_table(source, name, format, _Reading(documents, encoding, sheet, max_bytes), documents_of)


def _name_of(source: Source) -> str:
    if isinstance(source, str | os.PathLike):
        return Path(source).name or Path(source).resolve().name or str(source)
    name = getattr(source, "name", None)
    return Path(name).name if isinstance(name, str) else "data"


@dataclass(frozen=True)
class _Reading:
    """How a source is read, as :func:`read_corpus` is told."""

    documents: str
    encoding: str | None
    sheet: str | None
    max_bytes: int


def _with_table(
    source: Source,
    name: str | None,
    format: str | None,
    how: _Reading,
    use: Callable[[Table, Decoding, str], _Result],
) -> _Result:
    """What ``use`` makes of the table in ``source``; from the start again if it proves not to be UTF-8."""
    if how.documents not in ("line", "paragraph"):
        raise CorpusError(f"documents is '{how.documents}'; it must be 'line' or 'paragraph'.")
    with ExitStack() as stack:
        content, kind = _located(stack, source, name, format, how.max_bytes)
        if how.sheet is not None and kind != "xlsx":
            raise CorpusError(f"'{content.name}' is no workbook, so sheet does not apply; leave it out.")
        decoding = initial_decoding(content.head(), how.encoding)
        try:
            with _table(content, kind, decoding, how) as table:
                return use(table, decoding, content.name)
        except UnicodeDecodeError as error:
            if decoding.lenient or not decoding.one_byte_units:
                raise CorpusError(
                    f"'{content.name}' is not valid {decoding.encoding} ({error.reason}); save it as UTF-8."
                ) from error
        decoding = decoding.forgiving() if decoding.note else detect(content.chunks())
        with _table(content, kind, decoding, how) as table:
            return use(table, decoding, content.name)


def _located(
    stack: ExitStack, source: Source, name: str | None, format: str | None, max_bytes: int
) -> tuple[Blob | FileSet, str]:
    """The bytes or the files meant by ``source``, opened within ``stack``, and their format."""
    if isinstance(source, str) and not source.strip():
        raise CorpusError("The path is empty; give the path of a file or folder.")
    if isinstance(source, str | os.PathLike) and os.path.isdir(source):
        return folder_files(Path(source), name or _name_of(source), max_bytes), "folder"
    blob = as_blob(source, name, max_bytes)
    stated = stated_format(format, blob.name, _name_of(source))
    kind = confirmed_format(blob, blob.head(), stated)
    if kind != "zip":
        return blob, kind
    if blob.gzipped:
        raise CorpusError(f"'{blob.name}' is a ZIP inside a gzip file; unpack it once.")
    content = stack.enter_context(zip_content(blob))
    if isinstance(content, FileSet):
        return content, "zip"
    return content, confirmed_format(content, content.head(), stated_format(None, content.name))


@contextmanager
def _table(content: Blob | FileSet, kind: str, decoding: Decoding, how: _Reading) -> Iterator[Table]:
    if isinstance(content, FileSet):
        yield FilesTable(content, decoding)
        return
    if kind == "parquet":
        with content.seekable() as file:
            yield ParquetTable(file, content.name, content.max_bytes)
        return
    if kind == "xlsx":
        with content.seekable() as file:
            yield WorkbookTable(file, content.name, content.max_bytes, how.sheet)
        return
    with content.open(refuse_nul=decoding.one_byte_units) as stream:
        if kind == "txt":
            yield LinesTable(decoding.lines(stream, newline=""), how.documents)
        elif kind == "jsonl":
            yield JsonTable(decoding.lines(stream, newline="\n"), content.name)
        else:
            with long_fields():
                yield DelimitedTable(decoding.lines(stream, newline=""), kind, content.name)


def _sample(table: Table, n_records: int, name: str) -> tuple[list[dict[str, Any]], Iterator[dict[str, Any]]]:
    """The first records, and all records (these included). Raises CorpusError if there are none."""
    records = table.records()
    sample: list[dict[str, Any]] = []
    n_characters = 0
    for record in records:
        sample.append(record)
        n_characters += sum(len(value) for value in record.values() if isinstance(value, str))
        if len(sample) >= n_records or n_characters >= _SAMPLE_CHARACTERS:
            break
    if not sample:
        header = f" below its header ({listed(table.columns)})" if table.columns and not table.given_text else ""
        raise EmptyCorpusError(f"'{name}' holds no records{header}; give a source with at least one document.")
    return sample, chain(sample, records)


def _text_column(table: Table, sample: list[dict[str, Any]], wanted: str | None, name: str) -> str:
    if table.given_text:
        if wanted is not None:
            raise CorpusError(f"'{name}' has no columns to choose from, so text_column does not apply; leave it out.")
        return table.given_text
    if wanted is not None:
        return named_column(table.columns, wanted, name)
    choice = choose_text_column(table.columns, sample)
    if choice.column is None:
        problem = "several columns could be the text" if choice.candidates else "no column looks like text"
        raise CorpusError(f"'{name}': {problem}; choose one (text_column) of {listed(table.columns)}.")
    return choice.column


def _encoding(table: Table, decoding: Decoding) -> tuple[str | None, str]:
    """The encoding to report, and what to say about it."""
    if isinstance(table, ParquetTable | WorkbookTable):
        return None, ""
    if not isinstance(table, FilesTable):
        return decoding.encoding, decoding.note
    counts = table.encodings
    if set(counts) <= {"utf-8"}:
        return "utf-8", ""
    note = ", ".join(f"{n} files {encoding}" for encoding, n in sorted(counts.items()))
    detected = f"; {decoding.note}" if decoding.note else ""
    return ", ".join(sorted(counts)), note + detected
