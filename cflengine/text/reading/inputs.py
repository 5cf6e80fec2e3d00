"""What commands call INPUT: a file, a folder, several, a pattern of names, an address, or a corpus that has a name.

Several are read one after the other into one corpus, in the order given (a pattern's in that of their names): record
numbers go on from one to the next, and one more column says where each document came from. A name stands for one file
once; what changes while it is read is refused, as half of the one and half of the other would be no corpus. One of
several in which there is nothing is passed over, and said.

Addresses (``s3://…``, ``gs://…``, ``https://…``, ``memory://…``) are read through fsspec, if that is installed.
"""

from __future__ import annotations

import glob
import os
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from cflengine.engine.checks import InputError, MissingPackageError
from cflengine.engine.installed import sample_file
from cflengine.text.corpus import (
    MAX_EXAMPLES,
    Corpus,
    CorpusError,
    EmptyCorpusError,
    ReadReport,
    reason_of,
    whole_characters,
)
from cflengine.text.reading.budget import tell_watch
from cflengine.text.reading.columns import unique_names
from cflengine.text.reading.newsgroups import load_newsgroups
from cflengine.text.reading.readers import read_corpus
from cflengine.text.reading.sources import LARGEST
from cflengine.text.stored import GrowingTexts

SAMPLE, NEWSGROUPS = "sample", "20newsgroups"
_SHOWN = 3  # names of inputs
_CHANGES = ("size", "mtime", "created", "ETag", "etag", "LastModified", "last_modified", "updated")  # of fsspec's info


def read_input(source: str | Sequence[str], *, limit: int | None = None, **how: Any) -> Corpus:
    """What the INPUT of a command names.

    That is: files and folders (see :func:`~cflengine.text.reading.readers.read_corpus`), patterns such as
    ``posts/*.csv``, addresses such as ``s3://bucket/posts/*.csv``, or "sample" or "20newsgroups" where no file is
    called that.

    Parameters
    ----------
    source : str or sequence of str
        One of these, or several, which become one corpus with a column that says where each document is from.
    limit : int or None, default: None
        Stop at this many kept documents, None for all.
    **how : object
        As :func:`~cflengine.text.reading.readers.read_corpus` takes it.

    Returns
    -------
    Corpus
        The documents.

    Raises
    ------
    CorpusError
        For everything that is wrong with them, in one sentence.
    MissingPackageError
        Where an address needs a package that is not installed.
    """
    given = [source] if isinstance(source, str) else list(source)
    found = expanded(given)
    if len(found) == 1:
        return _read_one(found[0], limit=limit, **how)
    texts, parts = GrowingTexts(), list[_Part]()
    empty: list[EmptyCorpusError] = []
    for i, name in enumerate(found):
        left = None if limit is None else limit - len(texts)
        if left is not None and left <= 0:
            break
        tell_watch(f"reading {i + 1} of {len(found)} inputs", os.path.getsize(name) if os.path.isfile(name) else 0)
        try:
            corpus = _read_one(name, limit=left, **how)
        except EmptyCorpusError as error:
            empty.append(error)
            continue
        parts.append(_Part(name, corpus.name, corpus.digest, corpus.rows, corpus.metadata, corpus.report))
        for text in corpus.texts:  # of many inputs not even small ones stay in memory
            texts.append(text)
        del corpus
    if not parts:
        raise empty[0]
    whole = _together(parts, texts)
    passed_over = (f"passed over: {error}" for error in empty)
    return replace(whole, report=replace(whole.report, warnings=(*whole.report.warnings, *passed_over)))


def expanded(sources: Sequence[str]) -> list[str]:
    """The inputs that names, patterns and addresses stand for.

    Parameters
    ----------
    sources : sequence of str
        As the command line names them.

    Returns
    -------
    list of str
        A name a file or folder.

    Raises
    ------
    CorpusError
        Where one stands for none, or for one that is there already.
    """
    found: dict[str, str] = {}
    for source in sources:
        for name in _expanded(source):
            key = _place_of(name)
            if key in found:
                raise CorpusError(f"'{name}' is named twice; name every file once.")
            found[key] = name
    if not found:
        raise CorpusError("no input is named.")
    return list(found.values())


def _place_of(name: str) -> str:
    """The same for two names of one file."""
    if not _is_address(name):
        return str(Path(name).resolve())
    if "::" in name:  # a chain of file systems
        return name
    system, path = _file_system(name)
    return str(system.unstrip_protocol(path))


def _is_address(name: str) -> bool:
    return "://" in name and not Path(name).exists()


def _expanded(source: str) -> list[str]:
    if _is_address(source):
        return _addresses(source) if "*" in source else [source]  # "?" begins what is asked of a web server
    if Path(source).exists() or not glob.has_magic(source):
        return [source]
    names = sorted(glob.glob(source, recursive=True))
    if not names:
        raise CorpusError(f"No file is called '{source}'; check the pattern.")
    return names


def _read_one(name: str, *, limit: int | None, **how: Any) -> Corpus:
    if _is_address(name):
        before: Any = _stamp_there(name)
        with _opened(name) as (stream, there):
            corpus = read_corpus(stream, name=Path(there.partition("?")[0]).name, limit=limit, **how)
        return _unchanged(corpus, name, before, _stamp_there(name))
    if name == NEWSGROUPS and not Path(name).exists():
        corpus = load_newsgroups()
        return corpus.head(limit) if limit else corpus
    path = sample_file() if name == SAMPLE and not Path(name).exists() else name
    before = _stamp(path)
    corpus = read_corpus(path, limit=limit, **{"max_bytes": LARGEST} | how)
    return _unchanged(corpus, name, before, _stamp(path))


def _unchanged(corpus: Corpus, name: str, before: Any, after: Any) -> Corpus:
    if before != after:
        raise CorpusError(f"'{name}' was changed while it was read; read it again when nothing writes to it.")
    return corpus


def _stamp(path: str | Path) -> list[tuple[str, int, int]]:
    """What changes with the content of a file, or of those in a folder; nothing for what cannot be looked at."""
    paths = [str(path)]
    if os.path.isdir(path):
        paths = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
    stamps = []
    for one in sorted(paths):
        with suppress(OSError, ValueError):
            found = os.stat(one)
            stamps.append((one, found.st_size, found.st_mtime_ns))
    return stamps


def _stamp_there(address: str) -> dict[str, str]:
    """What an address's file system says of a file that changes with it; nothing where it does not know."""
    with suppress(Exception):  # whatever the file system of another package raises; reading says what is wrong
        system, path = _file_system(address)
        system.invalidate_cache()
        return {name: str(value) for name, value in system.info(path).items() if name in _CHANGES}
    return {}


def _file_system(address: str) -> tuple[Any, str]:
    """fsspec's file system of an address, and the path there."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise MissingPackageError(f"reading '{address}' needs fsspec: pip install fsspec.") from None
    try:
        return url_to_fs(address)
    except ImportError as error:
        raise MissingPackageError(f"reading '{address}' needs another package: {reason_of(error)}.") from error
    except Exception as error:  # whatever the file system of another package raises
        raise CorpusError(f"'{address}' cannot be read ({reason_of(error)}); check the address.") from error


def _addresses(pattern: str) -> list[str]:
    system, path = _file_system(pattern)
    try:
        names = [_address_of(name, system, pattern) for name in sorted(system.glob(path))]
    except Exception as error:  # as above
        raise CorpusError(f"'{pattern}' cannot be listed ({reason_of(error)}); check the address.") from error
    if not names:
        raise CorpusError(f"Nothing is called '{pattern}'; check the pattern.")
    return names


def _address_of(name: str, system: Any, pattern: str) -> str:
    """Of a file that a pattern of addresses found, which may be a chain such as zip://*.csv::s3://bucket/posts.zip."""
    first, chained, others = pattern.partition("::")
    if not chained or "://" in first:
        return str(system.unstrip_protocol(name)) + chained + others
    return f"{first}::{others.partition('://')[0]}://{name}"  # such as filecache::, which stands before any address


@contextmanager
def _opened(address: str) -> Iterator[tuple[BinaryIO, str]]:
    """A file, and its path in its file system."""
    system, path = _file_system(address)
    try:
        stream = system.open(path, "rb")
    except FileNotFoundError:
        raise CorpusError(f"There is no file '{address}'; check the address.") from None
    except Exception as error:  # as above
        raise CorpusError(f"'{address}' cannot be opened ({reason_of(error)}); check the address.") from error
    with stream:
        try:
            yield stream, path
        except (InputError, MemoryError):
            raise
        except OSError as error:  # a connection that is lost in the middle
            raise CorpusError(f"'{address}' cannot be read to its end ({reason_of(error)}); try again.") from error


@dataclass(frozen=True)
class _Part:
    """An input that was read, without its texts. given: as it was asked for; the others are those of its corpus."""

    given: str
    name: str
    digest: str
    rows: np.ndarray
    metadata: pd.DataFrame
    report: ReadReport


def _together(parts: list[_Part], texts: GrowingTexts) -> Corpus:
    """One corpus of several inputs; of one it is that one's."""
    if len(parts) == 1:
        (one,) = parts
        return Corpus(one.name, texts.whole(), one.rows, one.metadata, one.report)
    first = np.cumsum([0, *(part.report.n_records for part in parts)])
    rows = np.concatenate([part.rows + offset for part, offset in zip(parts, first.tolist(), strict=False)])
    frames, names = [part.metadata for part in parts], [part.given for part in parts]
    columns = list(dict.fromkeys(column for frame in frames for column in frame.columns))
    origin = unique_names([*columns, "source"])[-1]
    frames = [frame.assign(**{origin: whole_characters(name)[0]}) for frame, name in zip(frames, names, strict=True)]
    metadata = pd.concat(frames, ignore_index=True)[[*columns, origin]]
    shown = ", ".join(part.name for part in parts[:_SHOWN]) + (" …" if len(parts) > _SHOWN else "")
    report = _joined([part.report for part in parts], first.tolist(), f"{len(parts)} inputs: {shown}")
    report = replace(report, warnings=(*report.warnings, *repeated([one.digest for one in parts], names)))
    return Corpus(report.source, texts.whole(), rows, metadata, report)


def repeated(digests: Sequence[str], names: Sequence[str]) -> list[str]:
    """A sentence for every input whose documents are those of an earlier one.

    Parameters
    ----------
    digests : sequence of str
        Of each input's documents.
    names : sequence of str
        Of the inputs.

    Returns
    -------
    list of str
        By input.
    """
    names = [whole_characters(name)[0] for name in names]  # of a file it need not be text
    seen: dict[str, int] = {}
    firsts = [seen.setdefault(digest, i) for i, digest in enumerate(digests)]
    return [
        f"{names[i]} holds the same documents as {names[first]}; all of them count twice."
        for i, first in enumerate(firsts)
        if first != i
    ]


def _joined(reports: list[ReadReport], first: list[int], source: str) -> ReadReport:
    """What was read in all; first: the number of each one's first record."""

    def values(name: str) -> list[str]:
        return list(dict.fromkeys(value for one in reports if (value := getattr(one, name))))

    records, reasons = array("q"), array("b")
    for one, offset in zip(reports, first, strict=False):
        records.extend(record + offset for record in one.every_left_out[0])
        reasons.extend(one.every_left_out[1])
    examples = [(k + offset, why) for one, offset in zip(reports, first, strict=False) for k, why in one.left_out]
    counts = {name: sum(getattr(one, name) for one in reports) for name in _COUNTS}
    return ReadReport(
        source=source,
        format=", ".join(values("format")),
        encoding=", ".join(values("encoding")) or None,
        encoding_note="; ".join(f"{one.source}: {one.encoding_note}" for one in reports if one.encoding_note),
        text_column=", ".join(values("text_column")) or None,
        columns=tuple(dict.fromkeys(column for one in reports for column in one.columns)),
        left_out=tuple(examples[:MAX_EXAMPLES]),
        every_left_out=(records, reasons),
        warnings=tuple(f"{one.source}: {warning}" for one in reports for warning in one.warnings),
        **counts,
    )


_COUNTS = ("n_records", "n_kept", "n_missing", "n_empty", "n_too_short")
