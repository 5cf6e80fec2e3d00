"""The command that makes again what a page shows: one way for all pages, so that it can be run as it is printed."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from cflengine.text import READING
from pages.parts.shared.corpora import LoadedCorpus


def reading_options(loaded: LoadedCorpus) -> dict[str, Any]:
    """The options of reading that differ from their defaults."""
    return {name: value for name, value in loaded.options.items() if name in READING and value != READING[name][1]}


def class_list(names: Sequence[str]) -> str:
    """Names of classes as ``--classes`` takes them: a row of CSV."""
    text = io.StringIO()
    broken = any("\n" in name or "\r" in name for name in names)  # which the writer does not quote for itself
    csv.writer(text, lineterminator="", quoting=csv.QUOTE_ALL if broken else csv.QUOTE_MINIMAL).writerow(names)
    return text.getvalue()


def command_line(command: str, loaded: LoadedCorpus, options: Mapping[str, Any], out: str) -> str:
    """A call of ``cflengine``: how the corpus was read, then ``options`` by the names of their fields.

    Values stand behind "=", since one that begins with a dash would be taken for an option; so would a file.
    """
    source = "./" + loaded.source if loaded.source.startswith("-") else loaded.source
    given = reading_options(loaded) | dict(options)
    cut = {} if command in ("train-crf", "tokenizer") else loaded.tokens.options()
    if command == "embed":  # of single words
        cut = {name: value for name, value in cut.items() if name != "sentence_borders"}
    words = [f"--{name.replace('_', '-')}={value}" for name, value in given.items() if value is not True]
    cut = {name: "" for name, value in given.items() if value is True} | cut
    flags = [f"--{name.replace('_', '-')}" + (f"={value}" if value else "") for name, value in cut.items()]
    return shlex.join(["cflengine", command, source, *words, *flags, f"--out={out}"])
