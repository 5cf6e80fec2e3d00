"""The λ-path (Figure 2): λ = 0, which is single words, and ten values from 0.01 to 3, every one certified; what the
pointers are made of, and the dictionary beside all K-grams of the corpus; seconds against one cold solve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.compression.peers.cases import Case, Context, megabytes, quick_case
from benchmarks.compression.peers.runner import Answer
from benchmarks.report import Figure, Section, table

TITLE = "lam path"
LAMS = (0.0, *(float(lam) for lam in np.geomspace(0.01, 3.0, 10)))
CASES = [Case("20news K=3", "20news_bydate", 3), Case("ratebeer K=3", "ratebeer", 3)]
QUICK = [quick_case(2)]


def columns(context: Context) -> Iterator[tuple[str, dict[str, Any]]]:
    """Measure one corpus after the other."""
    for case, tokens in context.tables(QUICK if context.quick else CASES):
        lams = LAMS[::4] if context.quick else LAMS
        cold_lam = min(lams[1:], key=lambda lam: abs(np.log(lam)))
        file = context.corpus_file(replace(case, lam=cold_lam), tokens)
        cold = context.run("benchmarks.compression.peers.ours:compress", file, solver="guided")
        path = context.run("benchmarks.compression.peers.ours:path", file, solves=len(lams), lams=lams)
        for name, answer in (("cold solve", cold), ("path", path)):
            context.say(f"{case.name}, {name}: {answer.status} {answer.note}".rstrip())
        yield (
            case.name,
            {
                "tokens": tokens.n_tokens,
                "cold_lam": cold_lam,
                "cold": _figures(cold),
                "path": _figures(path),
            },
        )


def _figures(answer: Answer) -> dict[str, Any]:
    return {"status": answer.status, "note": answer.note, "peak_mb": megabytes(answer), **answer.facts}


def show(results: Mapping[str, Mapping[str, Any]]) -> str:
    """A table for each corpus, a column for each λ, and the totals."""
    return "\n\n".join(_show(name, figures) for name, figures in results.items())


def _show(name: str, figures: Mapping[str, Any]) -> str:
    cold, path = figures["cold"], figures["path"]
    lines = [f"{name}, {figures['tokens']:,} tokens"]
    for label, found in (("cold solve", cold), ("path", path)):
        if "seconds" not in found or "peak_mb" not in found:
            lines.append(f"{label}: {found['status']} {found['note']}".rstrip())
    if "gap" in cold:
        lines.append(
            f"one cold solve at lam = {figures['cold_lam']:.3f}: {cold['seconds']:.1f} s, gap {cold['gap']:.3%}"
        )
    if "points" in path:
        lines.append(f"whole path: {path['seconds']:.1f} s, peak {path['peak_mb'] or float('nan'):,.0f} MB")
        if "gap" in cold:
            lines.append(f"path / cold solve: {path['seconds'] / cold['seconds']:.2f} (goal: at most 3)")
        forms = {key: form for key, _, form in _ROWS}
        cells = {
            f"{point['lam']:.3g}": {key: form.format(point[key]) for key, form in forms.items()} | _shares(point)
            for point in path["points"]
        }
        figure_rows = tuple(Figure(key, label, "{}") for key, label, _ in _ROWS)
        figure_rows += tuple(Figure(name, f"pointers of {name}", "{}") for name in _shares(path["points"][0]))
        legend = f"default settings of both; the path searches less; {path['n_grams']:,} K-grams in the corpus"
        lines.append(table([Section("lam", legend, figure_rows)], cells))
    return "\n".join(lines)


def _shares(point: Mapping[str, Any]) -> dict[str, str]:
    return {f"{k} word{'s' if k > 1 else ''}": f"{share:.1%}" for k, share in enumerate(point["shares"], 1)}


_ROWS = (
    ("objective", "objective", "{:,.1f}"),
    ("lower_bound", "lower bound", "{:,.1f}"),
    ("gap", "certified gap", "{:.3%}"),
    ("seconds", "seconds", "{:.2f}"),
    ("dictionary_size", "K-grams in the dictionary", "{:,}"),
    ("reason", "why it ended", "{}"),
)
