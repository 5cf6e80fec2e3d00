"""Collections of text files, one document each: a folder, or a ZIP (read in memory, never unpacked to disk).

A ZIP is refused as a whole if a member is encrypted, is a symbolic link, or has a name that leads out of the
archive. Sizes are counted while unpacking, against one budget for all members; the header's promises are not
believed. A folder is walked without following links that lead out of it.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from cflengine.text.corpus import CorpusError, reason_of, whole_characters
from cflengine.text.reading.budget import Budget
from cflengine.text.reading.sources import TABLE_FORMATS, UNOPENED, Blob, Meter, format_of_name

MAX_MEMBERS = 200_000
MOST_LEVELS = 4  # of folders that become columns

_NESTED = re.compile(r"\.(zip|gz|tgz|tar|bz2|xz|7z|rar|zst)$", re.IGNORECASE)
_DRIVE = re.compile(r"^[a-zA-Z]:")
_NOISE = re.compile(r"(^|/)(__MACOSX/|\.[^/]*$|\.[^/]*/|thumbs\.db$|desktop\.ini$)", re.IGNORECASE)


@dataclass(frozen=True)
class Member:
    """One text file: its path in the collection, an opener, its compressed size (None in a folder)."""

    path: str
    open: Callable[[], IO[bytes]]
    packed_size: int | None = None


@dataclass(frozen=True)
class FileSet:
    """Text files in the order of their paths, one document each."""

    name: str
    format: str
    members: tuple[Member, ...]
    max_bytes: int
    warnings: tuple[str, ...] = ()

    def levels(self) -> list[tuple[int, str]]:
        """Those levels of folders at which there are several, each with the name of a column for it; MOST_LEVELS of
        them at most."""
        folders = [member.path.split("/")[:-1] for member in self.members]
        deepest = min(max(map(len, folders), default=0), 2 * MOST_LEVELS)
        apart = [k for k in range(deepest) if len({path[k] if k < len(path) else None for path in folders}) > 1]
        return [(k, "folder" if not i else f"folder {i + 1}") for i, k in enumerate(apart[:MOST_LEVELS])]

    def files(self) -> Iterator[tuple[str, bytes]]:
        """(path, content) of each file. Raises CorpusError beyond the bounds or for a damaged file."""
        budget = Budget(self.name, self.max_bytes)
        packed = 0
        for member in self.members:
            budget.name = f"{self.name}: {member.path}"
            packed += member.packed_size or 0
            consumed = None if member.packed_size is None else lambda packed=packed: packed
            with member.open() as stream:
                yield member.path, Meter(stream, budget, consumed).readall()

    def head(self) -> bytes:
        """Nothing: each file has its own encoding."""
        return b""

    def chunks(self) -> Iterator[bytes]:
        """The content of those files that are not UTF-8."""
        for _, data in self.files():
            try:
                data.decode("utf-8")
            except UnicodeDecodeError:
                yield data


def folder_files(folder: Path, name: str, max_bytes: int) -> FileSet:
    """The ``.txt`` files of a folder and its subfolders. Raises CorpusError for none, or too many."""
    root = folder.resolve()
    members, others, outside = [], [], 0
    n_files = 0
    for directory, subfolders, files in os.walk(root, onerror=_unreadable):
        subfolders[:] = sorted(entry for entry in subfolders if not entry.startswith("."))
        for file in files:
            n_files += 1
            if n_files > MAX_MEMBERS:
                raise CorpusError(f"'{name}' holds more than {MAX_MEMBERS:,} files; give a smaller folder.")
            path = Path(directory, file)
            # A name that is not valid in the system's encoding comes with lone surrogates.
            relative, _ = whole_characters(path.relative_to(root).as_posix())
            if _NOISE.search(relative):
                continue
            if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(root):
                outside += 1
            elif _is_text(file) and path.is_file():
                members.append(Member(relative, partial(_open, path)))
            else:
                others.append(relative)
    if not members:
        raise CorpusError(_no_text_files(f"The folder '{name}'", others))
    warnings = _ignored(others)
    if outside:
        warnings.append(f"{outside} links that lead out of the folder were not followed.")
    return FileSet(name, "folder", _in_order(members), max_bytes, tuple(warnings))


@contextmanager
def zip_content(blob: Blob) -> Iterator[FileSet | Blob]:
    """What a ZIP holds: its text files, or its table if it has exactly one and at most one text file.

    Raises CorpusError if the archive is damaged, unsafe, encrypted, or holds nothing that can be read.
    """
    raw = blob.opener()
    try:
        try:
            archive = zipfile.ZipFile(raw)
        except UNOPENED as error:
            raise CorpusError(f"'{blob.name}' is a damaged ZIP archive ({reason_of(error)}); get it again.") from error
        with archive:
            yield _content(archive, blob)
    finally:
        if blob.closes:
            raw.close()


def _content(archive: zipfile.ZipFile, blob: Blob) -> FileSet | Blob:
    infos = archive.infolist()
    if len(infos) > MAX_MEMBERS:
        raise CorpusError(f"'{blob.name}' holds more than {MAX_MEMBERS:,} files; split it.")
    texts, tables, others = [], [], []
    for info in infos:
        path = _safe_path(info, blob.name)
        if not path or path.endswith("/") or _NOISE.search(path):
            continue
        member = Member(path, partial(_open_member, archive, info, blob.name), info.compress_size)
        if _is_text(path):
            texts.append(member)
        elif _is_table(path):
            tables.append(member)
        else:
            others.append(path)
    if len(tables) == 1 and len(texts) <= 1:
        table = tables[0]
        return Blob(f"{blob.name}: {table.path}", table.open, True, blob.max_bytes, table.packed_size)
    if not texts:
        raise CorpusError(_no_text_files(f"'{blob.name}'", [table.path for table in tables] + others))
    warnings = _ignored([table.path for table in tables] + others)
    if len(texts) == 1:
        warnings.append(
            "The archive holds a single text file, read as one document; unpack it to read it line by line."
        )
    return FileSet(blob.name, "zip", _in_order(texts), blob.max_bytes, tuple(warnings))


def _is_text(path: str) -> bool:
    return path.lower().endswith((".txt", ".text"))


def _is_table(path: str) -> bool:
    return format_of_name(path) in TABLE_FORMATS and not _NESTED.search(path)


def _safe_path(info: zipfile.ZipInfo, archive: str) -> str:
    path = info.filename.replace("\\", "/").removeprefix("./")
    advice = "for safety the archive is not read; pack the text files again."
    if path.startswith("/") or _DRIVE.match(path) or ".." in path.split("/"):
        raise CorpusError(f"'{archive}' has a member whose name leads out of the archive ('{path}'); {advice}")
    if stat.S_ISLNK(info.external_attr >> 16):
        raise CorpusError(f"'{archive}' has a member that is a symbolic link ('{path}'); {advice}")
    if info.flag_bits & 1:
        raise CorpusError(f"'{archive}' is encrypted ('{path}'); unpack it with its password and give the files.")
    return path


def _open_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> IO[bytes]:
    try:
        return archive.open(info)
    except (zipfile.BadZipFile, RuntimeError, ValueError, struct.error, OSError, EOFError) as error:
        raise CorpusError(
            f"'{name}: {info.filename}' cannot be unpacked ({reason_of(error)}); pack the archive again."
        ) from error


def _open(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise CorpusError(f"'{path}' cannot be opened: {error.strerror}; check your rights to read it.") from error


def _unreadable(error: OSError) -> None:
    raise CorpusError(f"The folder '{error.filename}' cannot be read: {error.strerror}; check your rights.") from error


def _in_order(members: list[Member]) -> tuple[Member, ...]:
    return tuple(sorted(members, key=lambda member: member.path))


def _no_text_files(what: str, others: list[str]) -> str:
    tables = [path for path in others if _is_table(path)]
    if tables:
        return f"{what} holds no .txt files but {len(tables)} tables ({_some(tables)}); give the one you want."
    inside = f", only {_some(others)}" if others else ""
    return f"{what} holds no .txt files{inside}; give one with a .txt file for each document."


def _ignored(paths: list[str]) -> list[str]:
    nested = [path for path in paths if _NESTED.search(path)]
    rest = [path for path in paths if not _NESTED.search(path)]
    warnings = []
    if nested:
        were = "1 archive inside was" if len(nested) == 1 else f"{len(nested)} archives inside were"
        warnings.append(f"{were} ignored: {_some(nested)}.")
    if rest:
        kinds = Counter(Path(path).suffix.lower() or "no ending" for path in rest)
        summary = ", ".join(f"{n} {kind}" for kind, n in kinds.most_common(3))
        were = "1 other file was" if len(rest) == 1 else f"{len(rest)} other files were"
        warnings.append(f"{were} ignored ({summary}): {_some(rest)}.")
    return warnings


def _some(paths: list[str]) -> str:
    shown = ", ".join(f"'{path}'" for path in paths[:3])
    return f"{shown} and {len(paths) - 3} more" if len(paths) > 3 else shown
