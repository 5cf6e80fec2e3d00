"""Which check a run needs, and the input it read."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import BadZipFile
from zlib import error as DeflateError

from cflengine.engine.checks import InputError
from cflengine.text.corpus import Corpus
from cflengine.text.newsgroups import load_newsgroups
from cflengine.text.readers import read_corpus
from cflengine.verify.compression import verify_compression
from cflengine.verify.findings import FalseResult, Finding, read_report
from cflengine.verify.learners import verify_chain, verify_logistic, verify_sentences

_DAMAGE = (ArithmeticError, AttributeError, BadZipFile, DeflateError, EOFError, LookupError, TypeError, ValueError)


def verify_run(folder: Path, source: str | None = None) -> list[Finding]:
    """Everything that ``folder`` claims, recomputed; source: the input, None for the one its report names.

    Raises FalseResult for a claim that is not so, InputError where files or input cannot be read.
    """
    report = read_report(folder)
    try:
        return _verify(folder, report, source)
    except (InputError, MemoryError, OSError, UnicodeError):
        raise
    except _DAMAGE as error:
        # whatever a file of the run may hold instead of what belongs there, nothing in it is so until it is checked
        raise FalseResult(f"the files of '{folder}' are damaged: {type(error).__name__}: {error}.") from error


def _verify(folder: Path, report: dict[str, Any], source: str | None) -> list[Finding]:
    command, arguments = report.get("command"), report.get("arguments")
    if command not in ("compress", "sentences", "train-logistic", "train-crf") or not isinstance(arguments, dict):
        known = f"a run of {command}" if isinstance(command, str) else "a folder of an older version"
        raise InputError(f"'{folder}' is {known}, which cannot be verified.")
    if command == "train-crf":
        return [verify_chain(folder, report, _source(report, arguments, source))]
    corpus = _corpus(report, arguments, source)
    if command == "compress":
        return [verify_compression(folder, report, corpus)]
    return [(verify_sentences if command == "sentences" else verify_logistic)(folder, report, corpus)]


def _source(report: dict[str, Any], arguments: dict[str, Any], source: str | None) -> str:
    if source is not None:
        return source
    stated = str(arguments.get("input", ""))
    if Path(stated).exists():
        return stated
    return str(report.get("input_path") or stated)


def _corpus(report: dict[str, Any], arguments: dict[str, Any], source: str | None) -> Corpus:
    where = _source(report, arguments, source)
    if arguments.get("input") == "20newsgroups" and source is None:
        corpus = load_newsgroups()
        return corpus.head(arguments["limit"]) if arguments.get("limit") else corpus
    return read_corpus(
        where,
        text_column=arguments.get("text_column"),
        documents=arguments.get("documents", "line"),
        min_words=arguments.get("min_words", 1),
        limit=arguments.get("limit"),
        encoding=arguments.get("encoding"),
    )
