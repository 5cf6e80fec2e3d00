"""Which check a run needs, and the input it read."""

from __future__ import annotations

import glob
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile
from zlib import error as DeflateError

from cflengine.engine.checks import InputError, MissingPackageError
from cflengine.engine.output import files_of_run
from cflengine.engine.progress import Watch
from cflengine.text.reading.budget import reading_watched, watch_at_hand
from cflengine.text.reading.inputs import read_input
from cflengine.text.reading.readers import READING
from cflengine.text.tagging.conll import read_columns
from cflengine.text.token_presets import asked_pattern
from cflengine.text.token_table import DEFAULT_TOKEN_PATTERN, WORD_PATTERN
from cflengine.verify.chains import verify_chain
from cflengine.verify.compression import verify_compression, verify_path
from cflengine.verify.embedding import verify_embedding
from cflengine.verify.findings import (
    CannotVerifyError,
    FalseResult,
    Finding,
    check_reasons,
    read_report,
    require,
    require_same,
    rows_of,
)
from cflengine.verify.learners import verify_logistic
from cflengine.verify.listed_files import check_files
from cflengine.verify.models import check_digests
from cflengine.verify.risk import verify_risk
from cflengine.verify.sentence_models import verify_sentences
from cflengine.verify.tokenizer import verify_tokenizer, verify_tokenizer_report

_CHECKS: dict[str, Callable[[Path, dict[str, Any], Any], Any]] = {
    "compress": verify_compression,
    "path": verify_path,
    "sentences": verify_sentences,
    "train-logistic": verify_logistic,
    "train-crf": verify_chain,
    "erm": verify_risk,
    "embed": verify_embedding,
    "tokenizer": verify_tokenizer,
    "tokenizer-report": verify_tokenizer_report,
}
_AS_GIVEN = ("corpus", "arguments")
_WITHOUT_CORPUS = ("train-crf", "tokenizer", "tokenizer-report")  # whose reports say less of how texts were read
_DAMAGE = (ArithmeticError, AttributeError, BadZipFile, DeflateError, EOFError, LookupError, TypeError, ValueError)


def verify_run(folder: Path, source: str | Sequence[str] = (), watch: Watch | None = None) -> list[Finding]:
    """Everything that a folder claims, recomputed.

    Parameters
    ----------
    folder : Path
        Output folder of a run.
    source : str or sequence of str
        The inputs; by default those that its report names.
    watch : Watch, optional
        Told how far the check is.

    Returns
    -------
    list of Finding
        What was recomputed, a result each.

    Raises
    ------
    FalseResult
        For a claim that is not so, and for files of the run that are damaged or gone.
    InputError
        Where the folder is no run, cannot be verified, or its input cannot be read.
    """
    with reading_watched(watch or Watch()):
        return _verify(folder, [source] if isinstance(source, str) else source)


def _verify(folder: Path, source: Sequence[str]) -> list[Finding]:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError(f"'{path}' is no file.")  # a device may be read without end
    report = read_report(folder)
    command = _command(folder, report)
    gone = [name for name in files_of_run(folder) if not (folder / name).exists()]
    if gone:
        raise FalseResult(f"{', '.join(gone)} of '{folder}', which the run wrote: not there.")
    watch_at_hand().begin("reading", "bytes")
    read = _read(folder, report, command, source)
    watch_at_hand().begin("checking")
    try:
        of_corpus = command not in _WITHOUT_CORPUS
        require(isinstance(report.get("corpus"), dict) == of_corpus, "the report does not say how its input was read.")
        if of_corpus:
            _check_counts(report["corpus"], read.report.to_dict())
        check_files(folder, command, report, n_left_out=0 if command == "train-crf" else read.report.n_left_out)
        check_reasons({name: value for name, value in report.items() if name not in _AS_GIVEN}, "the report")
        _check_tokens(report, command)
        found: Finding | list[Finding] = _CHECKS[command](folder, report, read)
        if command != "train-crf" and not source:
            _check_left_out(folder, read.report)
        if of_corpus and not source:  # a copy may be of another encoding, say
            moved = _source(report, report["arguments"]) != _names(report["arguments"].get("input", ""))
            _check_records(report["corpus"], read.report, moved=moved)
            check_digests(folder, read.digest)
    except (CannotVerifyError, MissingPackageError, MemoryError):
        raise
    except InputError as error:  # the input has been read: it is a file of the run
        raise FalseResult(str(error)) from error
    except FileNotFoundError as error:
        raise FalseResult(f"'{error.filename}' is not there.") from error
    except OSError:
        raise
    except _DAMAGE as error:
        raise _damaged(folder, error) from error
    return found if isinstance(found, list) else [found]


def _check_counts(said: dict[str, Any], found: dict[str, Any]) -> None:
    """How many records the input had, and how many of them are documents. Raises FalseResult."""
    for name, count in found.items():
        if name.startswith("n_"):
            require_same(said.get(name), count, f"{name} of the input is")


def _check_records(said: dict[str, Any], report: Any, *, moved: bool) -> None:
    """Which records of the input are no documents, and how it was read; moved: whether inputs have other names now,
    which warnings may be about. Raises FalseResult."""
    found = report.to_dict()
    names = ("source", "format", "encoding", "encoding_note", "text_column", "columns", "left_out")
    for name in names if moved else (*names, "warnings"):
        own, stated = json.loads(json.dumps(found.get(name))), said.get(name)
        require(stated == own, f"the report says {name} {stated!r} of the input, but it is {own!r}.")


def _check_left_out(folder: Path, report: Any) -> None:
    """left_out.csv names the records of the input that are no documents. Raises FalseResult."""
    if (folder / "left_out.csv").exists():
        rows = [(row["record"], row["why"]) for row in rows_of(folder / "left_out.csv")]
        own = [(str(record), why) for record, why in report.left_out_frame().itertuples(index=False)]
        require(rows == own, "left_out.csv names other records than those that are no documents.")


def _check_tokens(report: dict[str, Any], command: str) -> None:
    """The token pattern is what --tokens and --drop-punctuation make, where they were given; and the one that was asked
    for, or the usual one, was taken."""
    arguments = report["arguments"]
    asked, pattern = asked_pattern(command, arguments), arguments.get("token_pattern")
    require(
        asked is None or pattern == asked,
        "the report says that other tokens were asked for than its token pattern makes.",
    )
    taken = report.get("token_pattern", (report.get("compression") or {}).get("token_pattern"))
    usual = WORD_PATTERN if arguments.get("features") == "words" else DEFAULT_TOKEN_PATTERN
    same = taken is None or taken == (pattern or usual)
    require(same, f"the report says token_pattern {pattern!r} was asked for, and {taken!r} was taken.")


def _damaged(folder: Path, error: Exception) -> FalseResult:
    """Whatever a file of the run may hold instead of what belongs there, nothing in it is so until it is checked."""
    return FalseResult(f"the files of '{folder}' are damaged: {type(error).__name__}: {error}.")


def _command(folder: Path, report: dict[str, Any]) -> str:
    command = report.get("command")
    if not isinstance(command, str) or command not in _CHECKS or not isinstance(report.get("arguments"), dict):
        known = f"a run of {command}" if isinstance(command, str) else "a folder of an older version"
        raise InputError(f"'{folder}' is {known}, which cannot be verified.")
    return command


def _read(folder: Path, report: dict[str, Any], command: str, source: Sequence[str]) -> Any:
    """What the run read: a corpus, or the columns of tagged sentences. Raises InputError where it cannot be read."""
    arguments = report["arguments"]
    try:
        source = source or _source(report, arguments)
        if command == "train-crf":
            return read_columns(source[0], encoding=arguments.get("encoding"))[: arguments.get("limit")]
        return read_input(source, **{name: arguments[name] for name in READING if name in arguments})
    except (InputError, MemoryError, OSError, UnicodeError):
        raise
    except _DAMAGE as error:
        raise _damaged(folder, error) from error


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
