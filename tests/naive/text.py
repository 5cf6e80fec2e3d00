"""Tokens and K-grams by the book: ``re`` and dictionaries of tuples."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence

Span = tuple[str, int, int]


def tokenise(text: str, pattern: str = r"\w+|[^\w\s]", lowercase: bool = True) -> list[Span]:
    """(form, start, end) of every non-empty match."""
    spans = [(match.group(), *match.span()) for match in re.finditer(pattern, text) if match.group()]
    return [(form.lower() if lowercase else form, a, b) for form, a, b in spans]


def occurrences(documents: Sequence[Sequence[Hashable]], max_gram: int) -> dict[tuple, list[int]]:
    """Where each K-gram starts, counting tokens through all documents; K-grams in order of first occurrence."""
    found: dict[tuple, list[int]] = {}
    offset = 0
    for document in documents:
        for i in range(len(document)):
            for k in range(1, max_gram + 1):
                if i + k <= len(document):
                    found.setdefault(tuple(document[i : i + k]), []).append(offset + i)
        offset += len(document)
    return found


def numbered(found: dict[tuple, list[int]]) -> list[tuple]:
    """The K-grams in the index's order: shorter first, then more frequent, then earlier."""
    return sorted(found, key=lambda gram: (len(gram), -len(found[gram]), found[gram][0]))
