"""Seconds to a certified gap: the majorising solver and the paper's ADMM at several rho, on sci.med/sci.space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.sentence_lasso.tables import RHOS
from benchmarks.sentence_lasso.tasks import science
from cflengine.linear import class_signs
from cflengine.sentence_lasso import ADMMSettings, MajoriseSettings, Penalty, SentenceResult, solve

GAPS = (1e-2, 1e-3, 1e-4, 1e-6)
PARAMETERS = ((0.1, 1.0), (0.1, 0.1), (0.01, 1.0), (1.0, 0.1))  # λ_sen, λ_las


def measure(data: str | None, limit: float, quick: bool, say: Callable[[str], None]) -> dict[str, dict[str, Any]]:
    """λ -> solver -> seconds to each gap, objective, gap at the end."""
    comparison = science(data, say)
    if comparison is None:
        return {}
    (signs,) = class_signs(comparison.y[comparison.train], 2)
    results: dict[str, dict[str, Any]] = {}
    for lam_sen, lam_las in PARAMETERS[: 1 if quick else None]:
        penalty = Penalty("sentence", lam_sen=lam_sen, lam_las=lam_las)
        solvers: dict[str, Any] = {"majorise": MajoriseSettings(tol=GAPS[-1])}
        for rho in (1.0,) if quick else RHOS:
            for relaxation in (1.0, 1.6):
                name = f"admm rho {rho:g}" + (" over-relaxed" if relaxation > 1 else "")
                solvers[name] = ADMMSettings(
                    rho=rho, relaxation=relaxation, max_iter=100_000, tol=GAPS[-1], w_tol=0.0, time_limit=limit
                )
        figures = {}
        for name, settings in solvers.items():
            result = solve(comparison.data.start(signs, penalty), settings)
            figures[name] = reached(result, GAPS)
            say(f"λ_sen {lam_sen:g} λ_las {lam_las:g} {name}: {figures[name]}")
        results[f"λ_sen {lam_sen:g}, λ_las {lam_las:g}"] = figures
    return results


def reached(result: SentenceResult, gaps: Sequence[float]) -> dict[str, Any]:
    """Seconds until each gap (None: never), and how it ended."""
    trace = result.trace
    times = [trace["elapsed_s"][trace["gap"] <= gap].min() for gap in gaps]
    return {
        "seconds": [None if np.isnan(t) else float(t) for t in times],
        "objective": result.objective,
        "gap": result.gap,
        "steps": result.n_iterations,
    }


def gap_head(gaps: Sequence[float]) -> str:
    """The heads of the columns of seconds."""
    return "".join(f"{f's to {gap:g}':>22}" for gap in gaps)


def gap_cells(seconds: Sequence[float | None], base: Sequence[float | None]) -> str:
    """Seconds to each gap; beside them how many times the ``base`` they are, but for the base itself."""
    cells = []
    for own, reference in zip(seconds, base, strict=True):
        ratio = f" ({own / reference:.1f}x)" if own and reference and seconds is not base else ""
        cells.append(f"{'–' if own is None else f'{own:.2f}{ratio}':>22}")
    return "".join(cells)


def show(results: dict[str, dict[str, Any]]) -> str:
    """A table for each λ, with ratios to the majorising solver."""
    lines = []
    for title, figures in results.items():
        lines.append(f"{title}{'':<12}" + gap_head(GAPS) + "       objective   gap")
        base = figures["majorise"]["seconds"]
        for name, one in figures.items():
            lines.append(f"{name:<30}{gap_cells(one['seconds'], base)}  {one['objective']:.6f}  {one['gap']:.1e}")
        lines.append("")
    return "\n".join(lines)
