r"""Feature templates as CRF++ has them: which attributes a token gets from the columns around it.

A line ``U05:%x[-1,0]/%x[0,1]`` gives every token one attribute, its own text with each ``%x[row,column]`` replaced by
what stands ``row`` tokens further on in that column (counted from 0). Before the sentence and behind it stand ``_B-1``,
``_B-2``, ... and ``_B+1``, ... The line ``B`` asks for transitions between labels. ``#`` begins a comment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cflengine.engine.checks import InputError

_MACRO = re.compile(r"%x\[\s*(-?\d+)\s*,\s*(\d+)\s*\]")

#: What the paper uses on CoNLL-2003: the current word, the previous word, the part of speech of the current word.
PAPER_TEMPLATE = "U00:%x[0,0]\nU01:%x[-1,0]\nU02:%x[0,1]\nB\n"
_OF_WORDS = "U00:%x[0,0]\nU01:%x[-1,0]\nB\n"
_FARTHEST = 100  # tokens


@dataclass(frozen=True)
class Template:
    """patterns: (pieces of text, macros between them as (row, column)) of every U line; transitions: whether there is
    a B line; n_columns: how many columns a token must at least have."""

    text: str
    patterns: tuple[tuple[tuple[str, ...], tuple[tuple[int, int], ...]], ...]
    transitions: bool
    n_columns: int

    def attributes(self, rows: Sequence[Sequence[str]]) -> list[list[str]]:
        """The attributes of every token of a sentence. Raises ValueError where a column is missing."""
        n = len(rows)
        if rows and len(rows[0]) < self.n_columns:
            raise InputError(
                f"the template asks for column {self.n_columns - 1}, but the tokens have {len(rows[0])} (from 0 on)."
            )
        columns = [[cells[c] for cells in rows] for c in range(self.n_columns)]
        by_pattern = []  # a whole sentence at a time: these are the innermost loops of reading
        for pieces, macros in self.patterns:
            texts = [pieces[0]] * n
            for (row, column), piece in zip(macros, pieces[1:], strict=True):
                cells = _shifted(columns[column], row)
                texts = [text + cell + piece for text, cell in zip(texts, cells, strict=True)]
            by_pattern.append(texts)
        return [list(attributes) for attributes in zip(*by_pattern, strict=True)]


def _shifted(cells: list[str], row: int) -> list[str]:
    """The cell ``row`` tokens from each; _B-1, _B-2 .. before the sentence, _B+1 .. behind it."""
    n = len(cells)
    before = [f"_B{p + row}" for p in range(min(n, -row))]
    behind = [f"_B+{p + row - n + 1}" for p in range(max(0, n - row), n)]
    return before + cells[max(0, row) : max(0, n + min(0, row))] + behind


def parse_template(text: str) -> Template:
    """Read a template.

    Parameters
    ----------
    text : str
        Lines of U and B with macros %x[row,column].

    Returns
    -------
    Template
        What attributes it makes of a token.

    Raises
    ------
    InputError
        Naming the line, for what is none, and for one without any U line.
    """
    patterns, transitions = [], False
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#", 1)[0].strip() if not line.lstrip().startswith("U") else line.strip()
        if not line:
            continue
        macros = tuple((int(row), int(column)) for row, column in _MACRO.findall(line))
        if line == "B":
            transitions = True
        elif line.startswith("B"):
            raise InputError(f"template, line {number}: B is for transitions alone; attributes are for U lines.")
        elif not line.startswith("U"):
            raise InputError(f"template, line {number}: {line[:40]!r} begins neither with U nor with B.")
        elif "%x" in _MACRO.sub("", line):
            raise InputError(f"template, line {number}: a macro is %x[row,column], as in %x[-1,0].")
        elif any(abs(row) > _FARTHEST for row, _ in macros):
            raise InputError(f"template, line {number}: at most {_FARTHEST} tokens away.")
        else:
            pieces = tuple(_MACRO.split(line)[::3])
            patterns.append((pieces, macros))
    if not patterns:
        raise InputError("the template has no U line: no token would get an attribute.")
    most = max((column for _, macros in patterns for _, column in macros), default=-1)
    return Template(text, tuple(patterns), transitions, most + 1)


def usual_template(n_columns: int) -> str:
    """The template of the paper, or, where the word is the only column beside the label, what it says of words.

    Parameters
    ----------
    n_columns : int
        Columns beside the label.

    Returns
    -------
    str
        The text of a template.
    """
    return PAPER_TEMPLATE if n_columns > 1 else _OF_WORDS


def attribute_maker(template: Any) -> tuple[Callable[[Any], Any], bool]:
    """What turns a sentence into its tokens' attributes, and whether labels have transitions.

    Parameters
    ----------
    template : None, str or callable
        None where tokens are lists of attributes already; the text of a template; or a function of a sentence.

    Returns
    -------
    tuple of callable and bool
        The function, and whether labels have transitions.

    Raises
    ------
    InputError
        For anything else.
    """
    if template is None:
        return lambda sentence: sentence, True
    if callable(template):
        return template, True
    if not isinstance(template, str):
        raise InputError(f"template must be None, the text of a template or a callable, not {template!r}.")
    parsed = parse_template(template)
    return parsed.attributes, parsed.transitions
