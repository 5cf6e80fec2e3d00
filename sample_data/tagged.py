"""Write the tagged sample: sentences of the sample corpus in columns, with the names in them.

    python sample_data/tagged.py [--seed 7] [--documents 800] [--out sample_data/tagged.conll]

A token a line: the token, its shape (X, Xx, x, 9, or itself), its label; a blank line after a sentence. The grammar
knows what is the name of a person, a place or a beer, so the labels (IOB2: PER, LOC, BEER) need no annotator.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from sample_data.generate import HERE, TOKEN, reviews

KINDS = {
    "woman": "PER", "man": "PER", "surname": "PER",
    "village": "LOC", "street": "LOC", "pub": "LOC", "fest": "LOC",
    "beer": "BEER", "brewery": "BEER",
}  # fmt: skip
Rows = list[tuple[str, str, str]]


def shape(token: str) -> str:
    """X all capitals, Xx capitalised, x lower case, 9 digits, a mark itself."""
    if token.isdigit():
        return "9"
    if not token[0].isalpha():
        return token
    if token.isupper():
        return "X" if len(token) > 1 else "Xx"
    return "Xx" if token[0].isupper() else "x"


def kinds_of(tokens: Sequence[str], names: Sequence[tuple[str, str]]) -> list[str]:
    """The kind of every token, "" of those in no name; longer names first, capitals not regarded."""
    found, lower = [""] * len(tokens), [token.lower() for token in tokens]
    cut = {(tuple(TOKEN.findall(text.lower())), kind) for text, kind in names}
    for parts, kind in sorted(cut, key=lambda one: (-len(one[0]), one)):
        for start in range(len(tokens) - len(parts) + 1):
            place = slice(start, start + len(parts))
            if tuple(lower[place]) == parts and not any(found[place]):
                found[place] = [kind] * len(parts)
    return found


def sentences(seed: int = 7, documents: int = 800) -> Iterator[Rows]:
    """The sentences of the first reviews; neighbouring tokens of a kind make one name."""
    expanded: list[tuple[str, str]] = []
    for row in reviews(seed, documents, expanded):
        names = [(text, KINDS[rule]) for rule, text in expanded if rule in KINDS]
        expanded.clear()
        tokens = TOKEN.findall(row["text"])
        rows: Rows = []
        before = ""
        for token, kind in zip(tokens, kinds_of(tokens, names), strict=True):
            rows.append((token, shape(token), f"{'I' if kind == before else 'B'}-{kind}" if kind else "O"))
            before = kind
            if token in ".!?":
                yield rows
                rows, before = [], ""
        if rows:
            yield rows


def conll_bytes(seed: int = 7, documents: int = 800) -> bytes:
    """The sentences as UTF-8 text in columns."""
    return "".join("".join(" ".join(row) + "\n" for row in rows) + "\n" for rows in sentences(seed, documents)).encode()


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the file, as the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--documents", type=int, default=800)
    parser.add_argument("--out", type=Path, default=HERE / "tagged.conll")
    options = parser.parse_args(arguments)
    options.out.write_bytes(conll_bytes(options.seed, options.documents))


if __name__ == "__main__":
    main()
