"""Seconds to a certified gap: the majorising solver and the paper's ADMM at several rho, on sci.med/sci.space."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.sentence_tables import RHOS
from benchmarks.sentence_tasks import TASKS, load, study_of
from cflengine.sentence_lasso.grid import class_signs
from cflengine.sentence_lasso.penalties import Penalty
from cflengine.sentence_lasso.result import SentenceResult
from cflengine.sentence_lasso.settings import ADMMSettings, MajoriseSettings
from cflengine.sentence_lasso.solvers import solve

GAPS = (1e-2, 1e-3, 1e-4, 1e-6)
STRENGTHS = ((0.1, 1.0), (0.1, 0.1), (0.01, 1.0), (1.0, 0.1))  # λ_sen, λ_las


def measure(data: str | None, limit: float, quick: bool, say: Callable[[str], None]) -> dict[str, dict[str, Any]]:
    """λ -> contestant -> seconds to each gap, objective, gap at the end."""
    try:
        texts, metadata = load(TASKS[0], data)
    except FileNotFoundError as error:
        say(str(error))
        return {}
    study = study_of(texts, metadata, TASKS[0], seed=0)
    (signs,) = class_signs(study.y[study.train], 2)
    results: dict[str, dict[str, Any]] = {}
    for lam_sen, lam_las in STRENGTHS[: 1 if quick else None]:
        penalty = Penalty("sentence", lam_sen=lam_sen, lam_las=lam_las)
        contestants: dict[str, Any] = {"majorise": MajoriseSettings(tol=GAPS[-1])}
        for rho in (1.0,) if quick else RHOS:
            for relaxation in (1.0, 1.6):
                name = f"admm rho {rho:g}" + (" over-relaxed" if relaxation > 1 else "")
                contestants[name] = ADMMSettings(
                    rho=rho, relaxation=relaxation, max_iter=100_000, tol=GAPS[-1], w_tol=0.0, time_limit=limit
                )
        figures = {}
        for name, settings in contestants.items():
            result = solve(study.data.start(signs, penalty), settings)
            figures[name] = reached(result)
            say(f"λ_sen {lam_sen:g} λ_las {lam_las:g} {name}: {figures[name]}")
        results[f"λ_sen {lam_sen:g}, λ_las {lam_las:g}"] = figures
    return results


def reached(result: SentenceResult) -> dict[str, Any]:
    """Seconds until each gap (None: never), and how it ended."""
    trace = result.trace
    times = [trace["elapsed_s"][trace["gap"] <= gap].min() for gap in GAPS]
    return {
        "seconds": [None if np.isnan(t) else float(t) for t in times],
        "objective": result.objective,
        "gap": result.gap,
        "steps": result.n_iterations,
    }


def show(results: dict[str, dict[str, Any]]) -> str:
    """A table for each λ, with ratios to the majorising solver."""
    lines = []
    for title, figures in results.items():
        lines.append(f"{title}{'':<12}" + "".join(f"{f's to {gap:g}':>22}" for gap in GAPS) + "       objective   gap")
        base = figures["majorise"]["seconds"]
        for name, one in figures.items():
            cells = []
            for seconds, reference in zip(one["seconds"], base, strict=True):
                ratio = f" ({seconds / reference:.1f}x)" if seconds and reference and name != "majorise" else ""
                cells.append(f"{'–' if seconds is None else f'{seconds:.2f}{ratio}':>22}")
            lines.append(f"{name:<30}" + "".join(cells) + f"  {one['objective']:.6f}  {one['gap']:.1e}")
        lines.append("")
    return "\n".join(lines)
