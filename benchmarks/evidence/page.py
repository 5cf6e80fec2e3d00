"""A part of the page of results: a heading, a table, verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

HOLDS, IN_PART, DOES_NOT = "holds", "in part", "does not hold"


class Evidence:
    """A file of results. corpora: its figures by case."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.corpora: dict[str, Any] = document["corpora"]

    def cases(self) -> dict[str, dict[str, Any]]:
        """Those figures that are tables themselves."""
        return {name: value for name, value in self.corpora.items() if isinstance(value, dict)}


@dataclass(frozen=True)
class Claim:
    """What a paper or we ourselves say, the figures of it, and a verdict (none where nothing was claimed)."""

    said: str
    found: str
    verdict: str = ""


@dataclass
class Part:
    """title; note: how to read it; head, rows: a table; claims: below it."""

    title: str
    note: str = ""
    head: Sequence[str] = ()
    rows: list[Sequence[str]] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)

    def lines(self) -> list[str]:
        """As Markdown."""
        found = [f"## {self.title}", ""]
        found += [self.note, ""] if self.note else []
        if self.rows:
            found += _table(self.head, self.rows)
        if self.claims:
            rows = [(one.said, one.found, f"**{one.verdict}**" if one.verdict else "–") for one in self.claims]
            found += _table(("claim", "measured", "verdict"), rows)
        return found


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"

    return [line(head), "|" + " --- |" * len(head), *(line(row) for row in rows), ""]


def share(value: float | None, digits: int = 1) -> str:
    """In per cent."""
    return "–" if value is None else f"{100 * value:.{digits}f} %"


def seconds(value: float | None) -> str:
    """With three digits, or all before the point."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def whole(value: float | None) -> str:
    """A number, without decimals."""
    return "–" if value is None else f"{value:.0f}"


def verdict(holds: int, of: int) -> str:
    """Of a claim about several cases; empty where nothing was measured."""
    if not of:
        return ""
    return HOLDS if holds == of else DOES_NOT if not holds else IN_PART


def stamp(document: Mapping[str, Any]) -> str:
    """When and where."""
    machine = document["machine"]
    load = machine.get("load_average")
    busy = f", load average {load[0]:.1f} at the start" if load else ""
    options = ", ".join(
        f"{name} {value}" for name, value in document["options"].items() if value not in (None, False, "")
    )
    changed = " and uncommitted changes" if document["commit"].endswith("+") else ""
    commit = document["commit"].rstrip("+")[:7]
    said = f"{document['date']}, {machine['cores']} cores{busy}, commit {commit}{changed}"
    return f"{said}; {options}." if options else f"{said}."
