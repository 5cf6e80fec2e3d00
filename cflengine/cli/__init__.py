"""The command ``cflengine``: the engine without a browser.

Exit codes: 0, also for a run that was stopped by Ctrl-C and kept its best solution; 1 for a result that ``verify``
finds false, and for a bug; 2 for bad usage or input, with one line on standard error; 130 for Ctrl-C before there was
anything to keep; 141 where the program that reads standard output ended before all was written there.
"""

from __future__ import annotations

import _thread
import argparse
import os
import re
import select
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from cflengine._version import __version__

_DESCRIPTION = """\
See what a text is made of.

cflengine chooses the word sequences (K-grams) that store a corpus most cheaply: every document is rebuilt from
pointers into a dictionary, a pointer costs λ, a dictionary entry its number of words. What it finds are features
for any later task, found without labels. Next to the cost of the solution stands a proved lower bound on the cost of
the best one. Further commands learn classifiers, taggers, losses, embeddings and tokenizers; most come with a duality
gap.
"""


def build_parser() -> argparse.ArgumentParser:
    """The command line, in one place."""
    from cflengine.cli import (
        app,
        compress,
        embed,
        encode,
        erm,
        evaluate,
        path,
        predict,
        sentences,
        tokenizer,
        tokenizer_report,
        train_crf,
        train_logistic,
        verify,
    )
    from cflengine.cli.terminal import Parser

    usage = "cflengine [-h] [--version] COMMAND ..."
    parser: argparse.ArgumentParser = Parser(
        prog="cflengine", usage=usage, description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"cflengine {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND ...", prog="cflengine")
    for module in (
        app,
        compress,
        path,
        encode,
        evaluate,
        sentences,
        train_logistic,
        train_crf,
        erm,
        embed,
        tokenizer,
        tokenizer_report,
        predict,
        verify,
    ):
        module.add_command(commands)
    for command in commands.choices.values():
        command.add_argument("--debug", action="store_true", help="show where an error comes from")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    name, debug = "cflengine", "--debug" in (sys.argv[1:] if argv is None else argv)
    began, options = time.monotonic(), dict[str, str]()
    try:
        with _exit_at_interrupt():
            from cflengine.cli.options import refuse_unused, settle_solver, settle_tokens

            _prepare_streams()
            parser = build_parser()
            arguments = parser.parse_args(argv)
            name, options = f"cflengine {arguments.command}", _options(parser, arguments.command)
            given = _given(parser, argv)
            refuse_unused(arguments, given)
            settle_tokens(arguments)
            settle_solver(arguments, given)
        with _warnings_in_a_line(name, options), _interrupts_heard():
            code = arguments.run(arguments)
            sys.stdout.flush()  # what is left over at the end of the process could only be reported by Python
        _say_late(name, getattr(arguments, "time_limit", None), time.monotonic() - began)
        return code
    except KeyboardInterrupt as interrupt:
        _ignore_interrupts()
        _print_error(f"{name}: interrupted, {str(interrupt) or 'nothing was written'}.")
        return 130
    except Exception as error:
        if isinstance(error, BrokenPipeError) and _reader_is_gone():
            return 141
        if debug:
            traceback.print_exc()
        message, code = _sentence(error)
        _print_error(f"{name}: {_by_options(message, options)}")
        return code


def _reader_is_gone() -> bool:
    """Whether the program that standard output went to has ended, as ``head`` does when it has enough; then nothing
    more is written there. Results are in their folder before a summary is printed."""
    try:
        poll, out = select.poll(), sys.stdout.fileno()
        poll.register(out, 0)
        closed = any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
        if closed:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, out)
            os.close(nowhere)
        return closed
    except (AttributeError, OSError, ValueError):  # no poll on Windows, no number of a stream in memory
        return False


def _options(parser: argparse.ArgumentParser, command: str) -> dict[str, str]:
    """The options of a command by the parameters that they set."""
    actions = _commands(parser)[command]._actions
    return {action.dest: max(action.option_strings, key=len) for action in actions if action.option_strings}


def _by_options(text: str, options: dict[str, str]) -> str:
    """A message of a function, whose parameters are called as the command calls them; what is quoted stays."""
    parts = re.split(r"('[^']*'|\"[^\"]*\")", text)
    parts[::2] = [re.sub(r"\b[a-z]+(_[a-z]+)+\b", lambda m: options.get(m[0], m[0]), part) for part in parts[::2]]
    return "".join(parts)


def _say_late(name: str, limit: float | None, seconds: float) -> None:
    """Where more than a tenth, and a second, came after the limit: the limit ends the search alone."""
    if limit is not None and seconds > limit + max(1.0, 0.1 * limit):
        _print_error(
            f"{name}: took {seconds:,.0f} s where --time-limit is {limit:g}: what there was by then was still counted, "
            "proved and written."
        )


@contextmanager
def _warnings_in_a_line(name: str, options: dict[str, str]) -> Iterator[None]:
    """What a warning says, without the place in the program that gave it."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        _print_error(f"{name}: {_by_options(' '.join(str(message).split()), options)}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@contextmanager
def _interrupts_heard() -> Iterator[None]:
    """Ctrl-C in a callback or a finaliser, where Python can only print what is raised, comes again a moment later."""
    before = sys.unraisablehook

    def hear(unraisable: Any) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            threading.Timer(0.05, _thread.interrupt_main).start()  # not in here, where it would be lost as well
        else:
            before(unraisable)

    sys.unraisablehook = hear
    try:
        yield
    finally:
        sys.unraisablehook = before


def _given(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> set[str]:
    """Which arguments a command line that is fine has; the parser's defaults are gone after that."""
    for command in _commands(parser).values():
        for action in command._actions:
            action.default = argparse.SUPPRESS
    return set(vars(parser.parse_args(argv)))


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parser of each command."""
    return next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction)).choices


def _sentence(error: Exception) -> tuple[str, int]:
    """What to say of an error, and the exit code: 2 for what the user can mend, 1 for a bug."""
    from cflengine.engine import InputError, MemoryLimitError, MissingPackageError

    words = " ".join(str(error).split())
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"there is no file '{error.filename}'; check the path.", 2
    if isinstance(error, InputError | MissingPackageError | MemoryLimitError | OSError):
        return words, 2
    if isinstance(error, MemoryError):
        return "there was not enough memory: take fewer documents, or close other programs.", 2
    return f"internal error ({type(error).__name__}: {words}); --debug shows where. Please report it.", 1


def _print_error(line: str) -> None:
    with suppress(OSError):  # standard error may be closed
        print(line, file=sys.stderr)


def _prepare_streams() -> None:
    """Standard streams that bear λ and names of files in any encoding, and being closed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


@contextmanager
def _exit_at_interrupt() -> Iterator[None]:
    """Ctrl-C ends the process at once while its packages are imported: an extension whose import was broken off cannot
    be imported again, not even to say what happened, and nothing has been written yet."""

    def leave(*_: object) -> None:
        with suppress(OSError):
            os.write(2, b"cflengine: interrupted, nothing was written.\n")
        os._exit(130)

    before = signal.getsignal(signal.SIGINT)
    # ignored by a job in the background; None: set by a program that embeds this one; other threads get no Ctrl-C
    if before in (signal.SIG_IGN, None) or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _ignore_interrupts() -> None:
    """No further Ctrl-C while the process ends."""
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, signal.SIG_IGN)
