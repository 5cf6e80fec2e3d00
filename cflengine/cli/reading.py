"""Reading what a command is given, and what is said of it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from cflengine.cli.options import Clock
from cflengine.cli.terminal import TerminalProgress, TerminalWatch, is_shown
from cflengine.engine import InputError, many

_LOOKED_AT = 200  # documents
_CUT_BETTER = (
    "most letters are of a script that puts no blanks between words, or whose vowel signs the usual pattern takes for "
    "borders of words: --tokens dictionary or --tokens characters cut it better"
)


def read(arguments: argparse.Namespace, clock: Clock) -> Any:
    """The corpus that the arguments name; what was guessed or repaired is said."""
    from cflengine.text import READING, read_input, reading_until, reading_watched

    first = Path(arguments.input[0])
    total = first.stat().st_size if len(arguments.input) == 1 and first.is_file() else 0
    with (
        TerminalWatch(sys.stderr, show=is_shown(quiet=getattr(arguments, "quiet", False))) as watch,
        reading_until(clock.ends),
        reading_watched(watch),
    ):
        watch.begin("reading", "bytes", total)
        corpus = read_input(arguments.input, **{name: getattr(arguments, name) for name in READING})
    report = corpus.report
    notes = [report.encoding_note] if report.encoding_note and not arguments.encoding else []
    if report.n_left_out and arguments.command != "compress":  # whose summary says it
        lost = f"{report.n_left_out:,} of {many(report.n_records, 'record')} left out"
        notes.append(f"{lost}: they hold no text, or cannot be read")
    say = noted(arguments.command, report.source)
    for note in [*notes, *_advice(arguments, corpus), *report.warnings]:
        say(note)
    return corpus


def _advice(arguments: argparse.Namespace, corpus: Any) -> Iterator[str]:
    """Options that suit the texts better than those that were given."""
    from cflengine.text import has_unlike_script, html_in, printable

    if getattr(arguments, "token_pattern", "") is None and has_unlike_script(corpus.texts):
        yield _CUT_BETTER
    if arguments.strip_html:
        return
    first = corpus.texts[:_LOOKED_AT]
    found, example = html_in(first)
    if len(found) > len(first) // 50:
        share = f"{len(found):,} of {len(first):,} documents looked at"
        yield f"{share} hold HTML ({printable(example)}): --strip-html takes it out"


def counted(texts: Iterable[str], progress: TerminalProgress) -> Iterator[str]:
    """Texts, as long as there is time and nothing has said stop: what is not counted whole is no corpus. Raises
    InputError and KeyboardInterrupt."""
    for text in texts:
        if progress.stop:
            raise KeyboardInterrupt("nothing was written")
        if progress.late:
            raise InputError(
                "the time limit was over before all words were counted; raise it, or take fewer documents."
            )
        yield text


def noted(command: str, source: str) -> Callable[[str], None]:
    """Says on stderr, in a line, what was guessed or repaired of a file, or left out."""
    return lambda note: print(f"cflengine {command}: {source}: {' '.join(note.split())}", file=sys.stderr)
