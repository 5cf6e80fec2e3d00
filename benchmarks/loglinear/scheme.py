"""The clustered scheme in passes over the data, which are free of noise: Tables II to V of Mathur & Chakrabarti."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize

from benchmarks.loglinear.dense import BFGS, CLUSTERS_OVER_BFGS, FIS
from benchmarks.loglinear.tasks import Reuters, Say
from cflengine.linear import Design, mutual_information
from cflengine.loglinear import (
    BinaryModel,
    ClusteredSettings,
    Iterations,
    LBFGSSettings,
    LoglinearResult,
    NewtonSettings,
    Objective,
    chunks,
    solve,
)

TARGETS = (1e-2, 1e-4, 1e-6)  # above a certified optimum
ROUNDS, FACTORS = (1, 2, 3), (5, 15, 50)


def at_random(recent: Sequence[np.ndarray], factor: float, generator: np.random.Generator) -> np.ndarray:
    """A control: clusters of (nearly) equal size that know nothing of the weights."""
    return chunks(generator.random(len(recent[-1])), factor)


def restart(recent: Sequence[np.ndarray], factor: float, generator: np.random.Generator) -> None:
    """A control: forgets the curvature where the others cluster, and takes no coarse steps."""


def solvers(limit: float, quick: bool) -> dict[str, Any]:
    """Name -> settings; the paper's identity as first matrix and five pairs are "plain m=5"."""
    common: dict[str, Any] = {"tol": 1e-8, "max_iter": 3000, "time_limit": limit}
    found: dict[str, Any] = {
        "plain": LBFGSSettings(**common),
        "plain m=5, H=I": LBFGSSettings(**common, memory=5, scaled=False),
    }
    for rounds in ROUNDS[1:2] if quick else ROUNDS:
        for factor in FACTORS[1:2] if quick else FACTORS:
            for merge in (False, True):
                name = f"rounds {rounds}, factor {factor}" + (", merged" if merge else "")
                found[name] = ClusteredSettings(**common, rounds=rounds, cluster_factor=factor, merge=merge)
    for name, control in (("random", at_random), ("restart", restart)):
        found[f"{name}, rounds 2"] = ClusteredSettings(**common, clustering=control)
    found["k-means, rounds 2"] = ClusteredSettings(**common, clustering="kmeans")
    found["increments, rounds 2"] = ClusteredSettings(**common, lift="increment")
    return found


def measure(
    task: Reuters, classes: Sequence[str], ridges: Sequence[float], limit: float, quick: bool, say: Say
) -> dict[str, dict[str, Any]]:
    """Class and ridge -> solver -> passes to each target, seconds to the second, F1, shares of the time."""
    design, out = Design(task.X), {}
    for name in classes:
        model = BinaryModel(design, task.y(name))
        for ridge in ridges:
            best = solve(model, ridge, "newton-cg", NewtonSettings(tol=1e-9)).lower_bound
            figures = {"scipy L-BFGS-B": {"passes": _scipy(model, ridge, best)}}
            for title, settings in solvers(limit, quick).items():
                solver = "clustered" if isinstance(settings, ClusteredSettings) else "lbfgs"
                figures[title] = _figures(solve(model, ridge, solver, settings), best, task, name)
            out[f"{name} {ridge:g}"] = figures
            say(f"{name} {ridge:g}: plain {figures['plain']['passes']}, scipy {figures['scipy L-BFGS-B']['passes']}")
    return out


def _figures(result: LoglinearResult, best: float, task: Reuters, name: str) -> dict[str, Any]:
    trace = result.trace
    work, objective, stage = (trace[key].to_numpy() for key in ("work", "objective", "stage"))
    fine = ~np.isin(stage, ["coarse"])
    elapsed = np.diff(trace["elapsed_s"].to_numpy(), prepend=0.0)
    lifted = np.isin(stage, ["lifted"])
    return {
        "passes": [_first(work[fine & (objective <= best * (1 + target))]) for target in TARGETS],
        "seconds": _first(trace["elapsed_s"].to_numpy()[fine & (objective <= best * (1 + TARGETS[1]))]),
        "f1": task.f1(name, result.w),
        "fine_s": float(elapsed[fine & ~lifted].sum()),
        "coarse_s": float(elapsed[~fine].sum()),
        "lift_s": float(elapsed[lifted].sum()),
        "coarse_steps": int((~fine).sum()),
    }


def _first(values: np.ndarray) -> float | None:
    return float(values[0]) if len(values) else None


def _scipy(model: BinaryModel, ridge: float, best: float) -> list[float | None]:
    """Evaluations of objective and gradient, a pass each, by scipy's L-BFGS-B with its memory of 10."""
    objective, values = Objective(model, ridge), []

    def evaluate(w: np.ndarray) -> tuple[float, np.ndarray]:
        point = objective.at(w)
        values.append(point.value)
        return point.value, point.gradient

    options = {"maxiter": 3000, "maxfun": 4000, "ftol": 1e-14, "gtol": 1e-12}
    minimize(evaluate, np.zeros(model.n_weights), jac=True, method="L-BFGS-B", options=options)
    found = np.array(values)
    return [_first(1.0 + np.flatnonzero(found <= best * (1 + target))) for target in TARGETS]


def show(results: dict[str, dict[str, Any]]) -> str:
    """Passes to 1e-4 by problem and solver, each with plain's over it; then in aggregate."""
    names = list(next(iter(results.values())))
    lines = ["passes to 1e-2 / 1e-4 / 1e-6 of a certified optimum; in brackets plain's passes to 1e-4 over theirs"]
    ratios: dict[str, list[float]] = {name: [] for name in names}
    for title, figures in results.items():
        lines.append(f"\n{title}")
        base = figures["plain"]["passes"][1]
        for name in names:
            one = figures[name]
            passes = " / ".join("–" if p is None else f"{p:.0f}" for p in one["passes"])
            own = one["passes"][1]
            if base and own:
                ratios[name].append(base / own)
            more = f"  {one['seconds'] or float('nan'):6.2f} s  F1 {one['f1']:.1f}" if "f1" in one else ""
            parts = ""
            if one.get("coarse_steps"):
                parts = f"  fine {one['fine_s']:.2f} s, coarse {one['coarse_s']:.2f} s in {one['coarse_steps']} steps"
            ratio = f"({base / own:.2f})" if base and own else "(–)"
            lines.append(f"  {name:<30}{passes:>22} {ratio:>7}{more}{parts}")
    lines += ["", "plain's passes to 1e-4 over theirs: median (least to largest) over the problems that both solved"]
    for name, found in ratios.items():
        if found:
            lines.append(f"  {name:<30}{np.median(found):6.2f}  ({min(found):.2f} to {max(found):.2f})  {len(found)}")
    return "\n".join(lines)


def measure_dense(task: Reuters, classes: Sequence[str], quick: bool, say: Say) -> dict[str, dict[str, Any]]:
    """Section II-A.5 and III-D: the 500 words of most mutual information; BFGS, FIS, and clusters over BFGS."""
    out = {}
    common: dict[str, Any] = {"tol": 1e-8, "max_iter": 2000, "time_limit": 10.0 if quick else 60.0}
    scheme = {"rounds": 1, "clustering": "kmeans", "coarse_tol": 1e-8}
    for name in classes:
        y = task.y(name)
        top = np.sort(np.argsort(-mutual_information(task.X, y), kind="stable")[:500])
        model = BinaryModel(Design(task.X[:, top]), y)
        for ridge in (1e-3, 1.0):
            best = solve(model, ridge, "newton-cg", NewtonSettings(tol=1e-9)).lower_bound
            runs = {
                "bfgs": solve(model, ridge, BFGS, Iterations(**common)),
                "fis": solve(model, ridge, FIS, Iterations(**common)),
                "lbfgs": solve(model, ridge, "lbfgs", LBFGSSettings(**common)),
                "clusters over bfgs": solve(model, ridge, CLUSTERS_OVER_BFGS, ClusteredSettings(**common, **scheme)),
                "restart over bfgs": solve(
                    model, ridge, CLUSTERS_OVER_BFGS, ClusteredSettings(**common, **(scheme | {"clustering": restart}))
                ),
            }
            out[f"{name} {ridge:g}"] = figures = {}
            for title, result in runs.items():
                reached = result.trace[result.trace["objective"] <= best * (1 + TARGETS[1])]
                reached = reached[reached["stage"] != "coarse"]
                figures[title] = {"passes": _first(reached["work"].to_numpy()), "seconds": _first(
                    reached["elapsed_s"].to_numpy()), "gap": result.gap}  # fmt: skip
            say(f"500 words, {name} {ridge:g}: {figures}")
    return out


def show_dense(results: dict[str, dict[str, Any]]) -> str:
    """A line a problem."""
    names = list(next(iter(results.values())))
    lines = [f"{'500 words: passes (s) to 1e-4':<32}" + "".join(f"{name:>22}" for name in names)]
    for title, figures in results.items():
        cells = [
            f"{one['passes']:.0f} ({one['seconds']:.2f})" if one["passes"] else f"– (gap {one['gap']:.0e})"
            for one in figures.values()
        ]
        lines.append(f"{title:<32}" + "".join(f"{cell:>22}" for cell in cells))
    return "\n".join(lines)
