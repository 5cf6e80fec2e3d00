"""Which check a run needs, and the input it read."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile
from zlib import error as DeflateError

from cflengine.engine.checks import InputError
from cflengine.engine.output import files_of_run
from cflengine.text.reading.inputs import read_input
from cflengine.text.reading.readers import READING
from cflengine.verify.compression import verify_compression, verify_path
from cflengine.verify.embedding import verify_embedding
from cflengine.verify.findings import FalseResult, Finding, read_report
from cflengine.verify.learners import verify_chain, verify_logistic, verify_sentences
from cflengine.verify.risk import verify_risk
from cflengine.verify.tokenizer import verify_tokenizer, verify_tokenizer_report

_COMMANDS = (
    "compress", "path", "sentences", "train-logistic", "train-crf", "erm", "embed", "tokenizer", "tokenizer-report",
)  # fmt: skip
_DAMAGE = (ArithmeticError, AttributeError, BadZipFile, DeflateError, EOFError, LookupError, TypeError, ValueError)


def verify_run(folder: Path, source: str | Sequence[str] = ()) -> list[Finding]:
    """Everything that ``folder`` claims, recomputed; source: the inputs, none for those its report names.

    Raises FalseResult for a claim that is not so, InputError where files or input cannot be read.
    """
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError(f"'{path}' is no file.")  # a device may be read without end
    report = read_report(folder)
    try:
        found = _verify(folder, report, [source] if isinstance(source, str) else source)
    except (InputError, MemoryError, OSError, UnicodeError):
        raise
    except _DAMAGE as error:
        # whatever a file of the run may hold instead of what belongs there, nothing in it is so until it is checked
        raise FalseResult(f"the files of '{folder}' are damaged: {type(error).__name__}: {error}.") from error
    gone = [f"{name}, which the run wrote: it is not there" for name in _missing(folder)]
    return [*found[:-1], replace(found[-1], notes=(*found[-1].notes, *gone))]


def _missing(folder: Path) -> list[str]:
    """What is no longer there of the files that a report lists."""
    return [name for name in files_of_run(folder) if not (folder / name).exists()]


def _verify(folder: Path, report: dict[str, Any], source: Sequence[str]) -> list[Finding]:
    command, arguments = report.get("command"), report.get("arguments")
    if command not in _COMMANDS or not isinstance(arguments, dict):
        known = f"a run of {command}" if isinstance(command, str) else "a folder of an older version"
        raise InputError(f"'{folder}' is {known}, which cannot be verified.")
    source = source or _source(report, arguments)
    if command == "train-crf":
        return [verify_chain(folder, report, source[0])]
    corpus = read_input(source, **{name: arguments[name] for name in READING if name in arguments})
    if command == "path":
        return verify_path(folder, report, corpus)
    check = {
        "compress": verify_compression,
        "sentences": verify_sentences,
        "train-logistic": verify_logistic,
        "erm": verify_risk,
        "embed": verify_embedding,
        "tokenizer": verify_tokenizer,
        "tokenizer-report": verify_tokenizer_report,
    }[command]
    return [check(folder, report, corpus)]


def _source(report: dict[str, Any], arguments: dict[str, Any]) -> list[str]:
    """The inputs as the run named them, or as they stood then, seen from anywhere."""
    stated, whole = _names(arguments.get("input", "")), _names(report.get("input_path", ""))
    if len(stated) != len(whole):
        return stated
    return [b if b and not _is_there(a) and _is_there(b) else a for a, b in zip(stated, whole, strict=True)]


def _is_there(name: str) -> bool:
    return Path(name).exists() or bool(glob.glob(name, recursive=True))


def _names(value: Any) -> list[str]:
    """Of inputs; reports had just one before there could be more."""
    return [str(name) for name in value] if isinstance(value, list) else [str(value)]
