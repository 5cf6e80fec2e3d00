"""Where bytes come from: a path, bytes or a binary stream, gzipped or not, always read within bounds.

Compression is read from the content (a ``.gz`` that a browser has already unpacked works); the format is read
from the name and confirmed by the content, and where the two disagree that is an error rather than a guess.
"""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Protocol

from cflengine.text.corpus import CorpusError, EmptyCorpusError, reason_of
from cflengine.text.reading.budget import Budget

MAX_BYTES, LARGEST = 4 << 30, 1 << 42  # unless more is asked for; what a command reads of its user's own files
HEAD_BYTES = 64 << 10

FORMATS = {
    "csv": "csv",
    "tsv": "tsv",
    "tab": "tsv",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "json": "jsonl",
    "parquet": "parquet",
    "pq": "parquet",
    "xlsx": "xlsx",
    "xlsm": "xlsx",
    "txt": "txt",
    "text": "txt",
    "md": "txt",
    "zip": "zip",
}
TABLE_FORMATS = frozenset({"csv", "tsv", "jsonl", "parquet", "xlsx"})
READABLE = "CSV, TSV, JSONL, JSON, Parquet, Excel (.xlsx), TXT, any of them gzipped, or a ZIP or folder of TXT files"

_SIGNATURES = (
    (b"PAR1", "parquet"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"%PDF", "a PDF document"),
    (b"\xd0\xcf\x11\xe0", "an Office document of an old kind, or one with a password"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"\x1f\x8b", "gzipped twice"),
    (b"SQLite format 3", "an SQLite database"),
)
# Any byte may be text in some encoding, but hardly control characters (white space and escapes aside). A zero
# byte is left to the Meter, which looks at the whole file.
_TEXT_BYTES = bytes(set(range(256)) - (set(range(32)) - {0, 8, 9, 10, 11, 12, 13, 27}))
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
_DAMAGE = (OSError, EOFError, ValueError, struct.error, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
UNOPENED = (*_DAMAGE, NotImplementedError)  # of a ZIP that is damaged, or packed in a way that is not known


class Readable(Protocol):
    """Whatever can be read piece by piece."""

    def read(self, n: int, /) -> bytes:
        """At most ``n`` bytes, none at the end."""


class Meter(io.RawIOBase):
    """Passes a stream on, counts it against a budget, and turns its damage into a CorpusError.

    packed: answers the compressed bytes consumed so far; refuse_nul: whether a NUL byte means that this is no
    text.
    """

    def __init__(
        self,
        stream: Readable,
        budget: Budget,
        packed: Callable[[], int] | None = None,
        refuse_nul: bool = False,
    ) -> None:
        self._stream = stream
        self._budget = budget
        self._packed = packed
        self._refuse_nul = refuse_nul

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        try:
            data = self._stream.read(len(buffer))
        except _DAMAGE as error:
            raise CorpusError(
                f"'{self._budget.name}' is damaged or incomplete ({reason_of(error)}); get it again."
            ) from error
        if isinstance(data, str):
            raise CorpusError(f"'{self._budget.name}' is open in text mode; open it in binary mode ('rb').")
        self._budget.spend(len(data), self._packed() if self._packed else None)
        if self._refuse_nul and b"\0" in data:
            raise CorpusError(
                f"'{self._budget.name}' contains NUL bytes: binary data, or UTF-16 without byte order mark; "
                "save it as UTF-8 text."
            )
        buffer[: len(data)] = data
        return len(data)


@dataclass(frozen=True)
class Blob:
    """Bytes with a name that can be read from their start as often as needed.

    opener: gives a stream at its start; closes: whether that stream is ours to close; packed_size: compressed
    size where the stream is unpacked by its opener (a member of a ZIP); gzipped: whether it is to be unpacked
    here.
    """

    name: str
    opener: Callable[[], IO[bytes]]
    closes: bool
    max_bytes: int = MAX_BYTES
    packed_size: int | None = None
    gzipped: bool = False

    @contextmanager
    def open(self, refuse_nul: bool = False) -> Iterator[io.BufferedReader]:
        """A buffered stream of the uncompressed bytes, from the start."""
        raw = self.opener()
        try:
            budget = Budget(self.name, self.max_bytes)
            if self.gzipped:
                meter = Meter(gzip.GzipFile(fileobj=raw), budget, raw.tell, refuse_nul)
            elif (packed_size := self.packed_size) is not None:
                meter = Meter(raw, budget, lambda: packed_size, refuse_nul)
            else:
                meter = Meter(raw, budget, None, refuse_nul)
            yield io.BufferedReader(meter, 128 << 10)
        finally:
            if self.closes:
                raw.close()

    @contextmanager
    def seekable(self) -> Iterator[IO[bytes]]:
        """The uncompressed bytes as a stream that can seek; what has to be unpacked is unpacked in memory."""
        if self.gzipped or self.packed_size is not None:
            with self.open() as stream:
                data = stream.read()
            yield io.BytesIO(data)
            return
        raw = self.opener()
        try:
            yield raw
        finally:
            if self.closes:
                raw.close()

    def head(self) -> bytes:
        """The first 64 KB, uncompressed."""
        with self.open() as stream:
            return stream.read(HEAD_BYTES)

    def chunks(self) -> Iterator[bytes]:
        """All bytes, a megabyte at a time."""
        with self.open() as stream:
            while chunk := stream.read(1 << 20):
                yield chunk


def as_blob(source: object, name: str | None, max_bytes: int) -> Blob:
    """The bytes of a file, of ``bytes`` or of a binary stream (read from its start, never closed).

    A stream that cannot seek is read into memory. Raises CorpusError if there is nothing readable, or nothing
    at all.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        blob = Blob(name or path.name, lambda: _open_file(path), True, max_bytes)
    elif isinstance(source, bytes | bytearray | memoryview):
        data = bytes(source)
        blob = Blob(name or "data", lambda: io.BytesIO(data), True, max_bytes)
    elif hasattr(source, "read"):
        blob = _stream_blob(source, name or _stream_name(source), max_bytes)
    else:
        kind = type(source).__name__
        raise CorpusError(f"A corpus is read from a path, bytes or a binary file, not from a {kind}.")
    with blob.open() as stream:
        magic = stream.read(2)
    if not magic:
        raise EmptyCorpusError(f"'{blob.name}' is empty; give a file with at least one document.")
    return replace(blob, gzipped=magic == b"\x1f\x8b")


def _open_file(path: Path) -> IO[bytes]:
    try:
        stream = None if path.exists() and not path.is_file() else path.open("rb")
    except FileNotFoundError:
        raise CorpusError(f"There is no file or folder '{path}'; check the path.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or reason_of(error)
        raise CorpusError(f"'{path}' cannot be opened: {reason}; check the path and your rights to read it.") from error
    if path.is_dir():
        raise CorpusError(f"'{path}' is a folder; give a file.")
    if stream is None:
        raise CorpusError(f"'{path}' is neither a file nor a folder; give one of the two.")
    return stream


def _stream_name(stream: object) -> str:
    name = getattr(stream, "name", None)
    return Path(name).name if isinstance(name, str) else "data"


def _stream_blob(stream, name: str, max_bytes: int) -> Blob:
    try:
        if stream.seekable():

            def rewound() -> IO[bytes]:
                stream.seek(0)
                return stream

            return Blob(name, rewound, False, max_bytes)
    except (AttributeError, ValueError, OSError) as error:
        raise CorpusError(f"'{name}' cannot be read ({reason_of(error)}); open it again in binary mode.") from error
    with io.BufferedReader(Meter(stream, Budget(name, max_bytes))) as buffered:
        data = buffered.read()
    return Blob(name, lambda: io.BytesIO(data), True, max_bytes)


def format_of_name(name: str) -> str | None:
    """The format that a file name's ending promises, '.gz' aside; None where it promises none."""
    stem = name.lower().removesuffix(".gz")
    return FORMATS.get(stem.rpartition(".")[2]) if "." in stem else None


def stated_format(format: str | None, *names: str) -> str | None:
    """The format that the user states, or else the first telling name. Raises CorpusError if unknown."""
    if format is not None:
        known = FORMATS.get(format.lower().removeprefix(".").removesuffix(".gz"))
        if known is None:
            raise CorpusError(f"'{format}' is not a format that can be read; use one of {', '.join(sorted(FORMATS))}.")
        return known
    return next((found for found in map(format_of_name, names) if found), None)


def confirmed_format(blob: Blob, head: bytes, stated: str | None) -> str:
    """The format of ``blob``, which name or user (``stated``) and content must agree on.

    Raises CorpusError if they do not, if the content is of a kind that cannot be read, or if nothing tells
    the format.
    """
    if not head:
        raise EmptyCorpusError(f"'{blob.name}' is empty; give a file with at least one document.")
    found = next((kind for magic, kind in _SIGNATURES if head.startswith(magic)), None)
    if found is None and head[257:262] == b"ustar":
        found = "a tar archive"
    if found == "zip":
        found = _kind_of_zip(blob, head, stated)
    if found and found not in TABLE_FORMATS | {"zip"}:
        raise CorpusError(f"'{blob.name}' is {found}, which cannot be read; save it as one of: {READABLE}.")
    if found:
        if stated not in (None, found):
            raise CorpusError(
                f"'{blob.name}' is taken for {stated.upper()}, but its content is {found.upper()}; rename it."
            )
        return found
    if stated in ("parquet", "xlsx", "zip"):
        raise CorpusError(
            f"'{blob.name}' is taken for {stated.upper()}, but its content is not; rename it or get it again."
        )
    return _text_format(blob.name, head, stated)


def _kind_of_zip(blob: Blob, head: bytes, stated: str | None) -> str:
    """What a ZIP is, by the names of its parts, which Office documents have, too; where these are not at hand, since it
    is damaged or would have to be unpacked first, by what its head has of them, and its own name."""
    names: list[str] = []
    if not blob.gzipped and blob.packed_size is None:
        try:
            with blob.seekable() as file, zipfile.ZipFile(file) as archive:
                names = archive.namelist()
        except UNOPENED:
            if stated == "xlsx":
                return stated  # which says that it is damaged
    if not names:
        parts = (b"xl/workbook.xml", b"[Content_Types].xml")
        names = [part.decode() for part in parts if part in head] or ["xl/workbook.xml"] * (stated == "xlsx")
    if "xl/workbook.xml" in names:
        return "xlsx"
    return "an Office document" if "[Content_Types].xml" in names or names[:1] == ["mimetype"] else "zip"


def _text_format(name: str, head: bytes, stated: str | None) -> str:
    n_control = len(head.translate(None, _TEXT_BYTES))
    if n_control > max(16, len(head) // 20) and not head.startswith(_WIDE_MARKS):
        raise CorpusError(f"'{name}' is binary data, not text; give one of: {READABLE}.")
    start = head[:2000].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if stated in TABLE_FORMATS and start.startswith((b"<!doctype", b"<html", b"<?xml")):
        raise CorpusError(f"'{name}' is a web page or XML, not {stated.upper()}; download the data itself.")
    is_json = re.match(rb'\{\s*("|\}|$)|\[\s*["{]', start) is not None
    if stated in ("csv", "tsv") and is_json and start.startswith(b"{"):
        raise CorpusError(f"'{name}' is taken for {stated.upper()}, but its content is JSON; rename it to .jsonl.")
    if stated is None and is_json:
        return "jsonl"
    if stated is None:
        raise CorpusError(f"The name of '{name}' does not tell its format; it can be {READABLE}.")
    return stated
