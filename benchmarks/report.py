"""What a benchmark prints: the machine, a table of figures (rows) by corpora (columns); the same as JSON."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

import numba
import numpy as np


@dataclass(frozen=True)
class Figure:
    """A row: its key in the results, its label, how a value (or each of a list) is written, the target."""

    key: str
    label: str
    format: str
    target: str = ""

    def text(self, values: Mapping[str, Any]) -> str:
        """The value as it is printed; a dash where there is none."""
        value = values.get(self.key)
        if value is None:
            return "–"
        return " / ".join(self.format.format(v) for v in (value if isinstance(value, list) else [value]))


@dataclass(frozen=True)
class Section:
    """Rows under a heading, with a line or two that say what they mean."""

    title: str
    legend: str
    figures: tuple[Figure, ...]


def say(what: str) -> None:
    """How far it is, at once and beside the tables."""
    print(what, file=sys.stderr, flush=True)


def chosen_sections(text: str, names: Collection[str]) -> list[str]:
    """The sections in "A,B"; none, saying so, where one of them is unknown."""
    chosen = text.split(",")
    unknown = [name for name in chosen if name not in names]
    if unknown:
        say(f"no section {', '.join(unknown)}: they are {', '.join(names)}")
        return []
    return chosen


def machine(n_threads: int) -> dict[str, Any]:
    """Cores, threads, versions, and how busy the machine is before anything is measured."""
    when()  # the commit is that of the beginning, whatever is committed meanwhile
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "cores": cores,
        "numba_threads": n_threads,
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "versions": _versions(),
        "load_average": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
    }


def _versions() -> dict[str, str]:
    """Of all that the package's pyproject.toml names, peers included, as far as it is installed here."""
    found = {}
    for name in sorted({re.split(r"[^\w.-]", one, maxsplit=1)[0] for one in requires("cflengine") or ()}):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def machine_line(facts: Mapping[str, Any]) -> str:
    """:func:`machine` in one line."""
    load = facts["load_average"]
    busy = "unknown" if load is None else " ".join(f"{x:.2f}" for x in load)
    return (
        f"{facts['cores']} cores ({facts['architecture']}), {facts['numba_threads']} numba threads, "
        f"python {facts['python']}, numpy {facts['numpy']}, numba {facts['numba']}; "
        f"load average at the start {busy}"
    )


def table(sections: Sequence[Section], results: Mapping[str, Mapping[str, Any]]) -> str:
    """The sections of which some corpus has a figure, in aligned columns."""
    shown = [s for s in sections if any(f.key in values for f in s.figures for values in results.values())]
    rows = {f: [f.text(values) for values in results.values()] for s in shown for f in s.figures}
    label_width = max(len(f.label) for f in rows)
    widths = [max(len(name), *(len(row[i]) for row in rows.values())) for i, name in enumerate(results)]

    def line(label: str, cells: Sequence[str], target: str) -> str:
        columns = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
        return "  ".join([label.ljust(label_width), *columns, target]).rstrip()

    lines = [line("", list(results), "target")]
    for section in shown:
        lines += ["", section.title, *(f"  | {row}" for row in section.legend.splitlines())]
        lines += [line(f.label, rows[f], f.target) for f in section.figures]
    return "\n".join(lines)


@cache
def when() -> dict[str, str | None]:
    """The commit that is measured (with "+" where files are changed), and the date, as they are when first asked."""
    root = Path(__file__).resolve().parents[1]

    def git(*words: str) -> str | None:
        answer = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
        return answer.stdout.strip() if answer.returncode == 0 else None

    try:
        commit, changed = git("rev-parse", "HEAD"), git("status", "--porcelain", "--untracked-files=no")
    except OSError:  # no git
        commit = changed = None
    return {"commit": f"{commit}+" if commit and changed else commit, "date": date.today().isoformat()}


def write_json(
    file: str, name: str, facts: Mapping[str, Any], options: Mapping[str, Any], results: Mapping[str, Any]
) -> None:
    """All figures of a run, its options and the machine."""
    plain = {key: value for key, value in options.items() if key not in ("json", "save", "save_as", "data")}
    everything = {"benchmark": name, "machine": facts, **when(), "options": plain, "corpora": results}
    Path(file).write_text(json.dumps(everything, indent=2) + "\n", encoding="utf-8")
