"""Column files of tagged sentences: a token a line, columns between white space, a blank line after a sentence.

The format of the CoNLL shared tasks and of CRF++. Lines that begin with -DOCSTART- separate documents, and a comment of
CoNLL-U (``# ...`` above a sentence) says something about it: both are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from cflengine.engine.checks import InputError
from cflengine.text.corpus import CorpusError
from cflengine.text.reading.encodings import detect, initial_decoding
from cflengine.text.reading.sources import MAX_BYTES, as_blob

Rows = list[tuple[str, ...]]

# of CoNLL-U's comments, beside those with an underscore, such as sent_id
_KEYS = frozenset(
    {"text", "translit", "newdoc", "newpar", "id", "source", "genre", "speaker", "lang", "global.columns"}
)
_CELL = re.compile(r"[^ \t\r\n\f\v]+")  # no-break spaces are part of a token


def read_columns(
    source: Any, *, name: str | None = None, max_bytes: int = MAX_BYTES, encoding: str | None = None,
    say: Callable[[str], None] = lambda note: None,
) -> list[Rows]:  # fmt: skip
    """The sentences of a column file (also one packed by gzip).

    Parameters
    ----------
    source : path, bytes or binary stream
        Of the file.
    name : str, optional
        What errors call it.
    max_bytes : int
        Most bytes to read, uncompressed.
    encoding : str, optional
        By default it is found.
    say : callable
        Told of an encoding that had to be guessed, and of bytes that were replaced.

    Returns
    -------
    list of rows
        Of each sentence, the columns of its tokens.

    Raises
    ------
    CorpusError
        For what cannot be read, for an encoding that is none, for rows of different lengths, and where there is no
        sentence at all.
    """
    blob = as_blob(source, name, max_bytes)
    decoding = initial_decoding(blob.head(), encoding)
    try:
        with blob.open(refuse_nul=decoding.one_byte_units) as stream:
            found = parse_columns(decoding.lines(stream, "\n"), blob.name)
    except UnicodeDecodeError:
        decoding = detect(blob.chunks())
        say(decoding.note)
        with blob.open(refuse_nul=decoding.one_byte_units) as stream:
            found = parse_columns(decoding.lines(stream, "\n"), blob.name)
    for note in decoding.warnings():
        say(note)
    return found


def parse_columns(lines: Iterable[str], name: str = "data") -> list[Rows]:
    """The sentences in these lines. Raises CorpusError as :func:`read_columns` does."""
    sentences: list[Rows] = []
    rows: Rows = []
    width, first = 0, 0
    for number, cells in _first_width(_numbered(lines)):
        if not cells:
            if rows:
                sentences.append(rows)
                rows = []
            continue
        if cells[0] == "-DOCSTART-" or (not rows and cells[0] == "#" and len(cells) != (width or len(cells))):
            continue
        if not width:
            width, first = len(cells), number
        if len(cells) != width:
            raise CorpusError(
                f"'{name}', line {number}: {len(cells)} columns, but line {first} has {width}; all need as many."
            )
        rows.append(cells)
    if rows:
        sentences.append(rows)
    if not sentences:
        raise CorpusError(f"'{name}' holds no sentence; a column file has a token a line.")
    return sentences


def _numbered(lines: Iterable[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The cells of every line but comments such as "# sent_id = 1", which may have as many as there are columns."""
    between = True  # sentences
    for number, line in enumerate(lines, 1):
        cells = _cells(line)
        if between and is_comment(cells):
            continue
        between = not cells or (between and cells[0] == "#")
        yield number, cells


def is_comment(cells: Sequence[str]) -> bool:
    """Whether the first line of a sentence is one of CoNLL-U's "# key = value", whatever its width."""
    return len(cells) > 3 and cells[0] == "#" and cells[2] == "=" and (cells[1] in _KEYS or "_" in cells[1])


def _cells(line: str) -> tuple[str, ...]:
    if line.isascii():
        return tuple(line.split())
    found = tuple(_CELL.findall(line.rstrip()))
    return found if len(found) > 1 else tuple(line.split())


def _first_width(rows: Iterator[tuple[int, tuple[str, ...]]]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The rows, without those at the beginning that start with # and have another width than the first that does not:
    they are comments, and the others a sentence whose first word is #."""
    waiting: list[tuple[int, tuple[str, ...]]] = []
    for number, cells in rows:
        if cells and cells[0] == "#":
            waiting.append((number, cells))
            continue
        if cells and cells[0] != "-DOCSTART-":
            yield from (one for one in waiting if len(one[1]) == len(cells))
            waiting = []
            yield number, cells
            break
        if not cells and waiting:  # a whole sentence of such rows
            yield from waiting
            waiting = []
        yield number, cells
    yield from waiting
    yield from rows


def write_columns(sentences: Iterable[Sequence[Sequence[str]]]) -> Iterator[str]:
    """The lines of a column file, ends included.

    Parameters
    ----------
    sentences : iterable of rows
        Of each sentence, the columns of its tokens.

    Returns
    -------
    iterator of str
        A line a token.

    Raises
    ------
    InputError
        For a cell that is empty or has white space.
    """
    for rows in sentences:
        for cells in rows:
            for cell in cells:
                if not _CELL.fullmatch(cell) or not cell.strip():
                    raise InputError(f"a cell of a column file is one word without white space, not {cell!r}.")
            if cells is rows[0] and is_comment(cells):
                raise InputError(f"a sentence cannot begin with what reads as a comment: {' '.join(cells)!r}.")
            yield " ".join(cells) + "\n"
        yield "\n"
