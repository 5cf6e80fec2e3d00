"""A project in a file: the corpus, what tokens are, settings, and the λ-path with its proofs.

A ZIP of ``project.json``, ``corpus.parquet`` (texts, columns, record numbers) and, where something was solved,
``path.cflm`` (path_file.py). It holds data alone. Whatever is read is bounded before it is unpacked, the corpus is
known by its digest, and every λ is certified anew from the corpus, so that a file proves what it says or is refused.
"""

from __future__ import annotations

import io
import json
import lzma
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cflengine.compression.model.corpus import PreparedCorpus
from cflengine.compression.path_file import read_lambda_path, write_lambda_path
from cflengine.compression.solvers.lambda_path import CompressionPath
from cflengine.engine.checks import InputError
from cflengine.engine.files import NPZ_DAMAGE
from cflengine.engine.memory import require_bytes
from cflengine.engine.results import versions
from cflengine.linear.feature_files import arrow_column
from cflengine.text.corpus import Corpus, CorpusError
from cflengine.text.kgrams import index_by_sorting, index_kgrams
from cflengine.text.reading.readers import READING, read_corpus
from cflengine.text.token_presets import TokenChoice
from cflengine.text.token_table import check_pattern
from cflengine.text.tokens import Tokenizer

FORMAT, VERSION = "cflengine project", 1
SUFFIX = ".cflproject"
_HEADER, _CORPUS, _PATH = "project.json", "corpus.parquet", "path.cflm"
_TEXT, _RECORD = "cflengine text", "cflengine record"
_MOST_HEADER = 1 << 20
_UNREADABLE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, NotImplementedError, RuntimeError, KeyError
)  # fmt: skip
SMALL_TOKENS = 1_000_000  # whose K-grams are numbered in plain numpy: nothing has to be compiled first


@dataclass(frozen=True)
class Project:
    """What a project's file holds.

    Parameters
    ----------
    corpus : Corpus
        The documents.
    tokens : TokenChoice
        How they were cut.
    source : str
        Where they were read.
    reading : Mapping[str, Any]
        How they were read.
    settings : Mapping[str, Any]
        Of the app, plain values.
    max_gram : int, default: 3
        K of the path.
    points : CompressionPath or None, default: None
        The λ-path; None where there is none.
    prepared : PreparedCorpus or None, default: None
        The corpus of the path, indexed; None where there is none.
    """

    corpus: Corpus
    tokens: TokenChoice
    source: str
    reading: Mapping[str, Any]
    settings: Mapping[str, Any]
    max_gram: int = 3
    points: CompressionPath | None = None
    prepared: PreparedCorpus | None = None


def write_project(file: IO[bytes], project: Project) -> None:
    """Write a project.

    Parameters
    ----------
    file : binary file
        Where to.
    project : Project
        Its ``prepared`` is needed where there are points.
    """
    corpus = project.corpus
    header = {
        "format": FORMAT, "version": VERSION, "versions": versions(), "name": corpus.name, "digest": corpus.digest,
        "tokens": vars(project.tokens), "source": project.source, "reading": dict(project.reading),
        "settings": dict(project.settings), "max_gram": project.max_gram,
    }  # fmt: skip
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open(_HEADER, "w") as member:  # unlike writestr's, with no time in it
            member.write(json.dumps(header, allow_nan=False, default=str).encode())
        with archive.open(_CORPUS, "w", force_zip64=True) as member:
            pq.write_table(_table(corpus), member, compression="zstd")
        if project.points and project.prepared is not None:
            path = io.BytesIO()
            write_lambda_path(path, project.prepared, project.points)
            stored = zipfile.ZipInfo(_PATH)  # it is compressed already; no time in it, either
            stored.external_attr = 0o600 << 16
            archive.writestr(stored, path.getvalue())


def _table(corpus: Corpus) -> pa.Table:
    columns = {_TEXT: pa.array(corpus.texts, type=pa.large_string()), _RECORD: pa.array(corpus.rows)}
    for name in corpus.metadata.columns:
        columns[str(name)] = arrow_column(corpus.metadata[name])
    return pa.table(columns)


def is_project(path: Path) -> bool:
    """Whether a file looks like a project.

    Parameters
    ----------
    path : Path
        Of the file.

    Returns
    -------
    bool
        True where it does.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return {_HEADER, _CORPUS} <= set(archive.namelist())
    except (OSError, *NPZ_DAMAGE):
        return False


def read_project(file: str | Path | IO[bytes], name: str = "the file") -> Project:
    """A project, its path certified anew.

    Parameters
    ----------
    file : path or binary file
        As :func:`write_project` wrote it.
    name : str
        What errors call it.

    Returns
    -------
    Project
        Corpus, settings, path.

    Raises
    ------
    CorpusError
        In one sentence, for a file that is none, of another version, damaged, or whose parts do not belong together.
    MemoryLimitError
        Where it would not fit.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            header = _header(archive, name)
            packed = sum(one.file_size for one in archive.infolist())
            require_bytes(4 * packed, f"'{name}'", "close other programs.")
            corpus_bytes = archive.read(_CORPUS)
            path_bytes = archive.read(_PATH) if _PATH in archive.namelist() else None
    except _UNREADABLE as error:
        raise CorpusError(f"'{name}' is not a project of cflengine, or it is truncated.") from error
    try:
        return _project(header, corpus_bytes, path_bytes, name)
    except CorpusError:
        raise  # it names the file
    except InputError as error:
        raise CorpusError(f"'{name}': {error}") from error
    except (TypeError, ValueError, AttributeError, ArithmeticError, LookupError) as error:
        raise CorpusError(f"'{name}' is damaged: {error}") from error


def _header(archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    if archive.getinfo(_HEADER).file_size > _MOST_HEADER:
        raise CorpusError(f"'{name}' is not a project of cflengine: its header is too large.")
    try:
        header = json.loads(archive.read(_HEADER))
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"'{name}' is damaged: its header is not JSON.") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise CorpusError(f"'{name}' is not a project of cflengine.")
    if header.get("version") != VERSION:
        raise CorpusError(
            f"'{name}' is a project of version {header.get('version')!r}; this program reads version {VERSION}."
        )
    return header


def _project(header: Mapping[str, Any], corpus_bytes: bytes, path_bytes: bytes | None, name: str) -> Project:
    found = read_corpus(corpus_bytes, name="corpus.parquet", format="parquet", text_column=_TEXT, min_words=0)
    records = found.metadata.pop(_RECORD).to_numpy(dtype=np.int64)
    source, title = (str(header[key]).encode(errors="replace").decode() for key in ("source", "name"))
    report = replace(found.report, source=title, format="project", columns=tuple(map(str, found.metadata.columns)))
    corpus = replace(found, name=title, rows=records, report=report)
    if corpus.digest != header["digest"]:
        raise CorpusError(f"'{name}' is damaged: its texts are not those it was written with.")
    tokens = _tokens(header["tokens"])
    max_gram = header["max_gram"]
    if not isinstance(max_gram, int) or not 1 <= max_gram <= 8:
        raise InputError(f"K is {max_gram!r}, not a number from 1 to 8.")
    given, settings = header["reading"], header["settings"]
    if not isinstance(given, dict) or not isinstance(settings, dict):
        raise InputError("how it was read, or its settings, are no lists of names.")
    reading = {name: given[name] for name, (kinds, _) in READING.items() if isinstance(given.get(name, 0.0), kinds)}
    project = Project(corpus, tokens, source, reading, settings, max_gram)
    if path_bytes is None:
        return project
    table = Tokenizer(tokens.pattern, tokens.lowercase, tokens.sentence_borders)(corpus.texts)
    index = index_by_sorting if table.n_tokens <= SMALL_TOKENS else index_kgrams
    prepared = PreparedCorpus(table, index(table.tokens, table.segment_ptr, max_gram))
    return replace(project, points=read_lambda_path(io.BytesIO(path_bytes), prepared), prepared=prepared)


def _tokens(given: Any) -> TokenChoice:
    kinds = {"preset": str, "own": str, "punctuation": bool, "lowercase": bool, "sentence_borders": bool}
    if isinstance(given, dict):
        given = {"sentence_borders": False} | given  # not said by files of before there was the choice
    if not isinstance(given, dict) or set(given) != set(kinds):
        raise InputError("what tokens are is not said.")
    if not all(isinstance(given[key], kind) for key, kind in kinds.items()):
        raise InputError("what tokens are is not said.")
    tokens = TokenChoice(**given)
    check_pattern(tokens.pattern)
    return tokens
