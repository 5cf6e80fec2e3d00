"""Logistic regression: the default solver and scikit-learn's, in seconds to a certified gap of 1e-4."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.loglinear.tasks import Reuters, Say
from cflengine.linear import Design
from cflengine.loglinear import AutoSettings, BinaryModel, LBFGSSettings, certify_binary, solve

GAP = 1e-4
REPEATS = 3
#: scikit-learn's solvers of the same objective; newton-cholesky keeps a matrix of features × features.
PEERS: dict[str, dict[str, Any]] = {
    "liblinear dual": {"solver": "liblinear", "dual": True},
    "liblinear primal": {"solver": "liblinear", "dual": False},
    "sklearn lbfgs": {"solver": "lbfgs"},
    "sklearn newton-cg": {"solver": "newton-cg"},
}
_TOLS = (0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)


def measure(
    task: Reuters, classes: Sequence[str], ridges: Sequence[float], limit: float, say: Say
) -> dict[str, dict[str, Any]]:
    """Class and ridge -> solver -> seconds, gap, how."""
    out = {}
    for name in classes:
        y = task.y(name)
        for ridge in ridges:
            out[f"{name} {ridge:g}"] = one = contest(task.X, y, ridge, limit, list(PEERS))
            say(f"{name} {ridge:g}: {one}")
    return out


def contest(X: sparse.csr_matrix, y: np.ndarray, ridge: float, limit: float, peers: Sequence[str]) -> dict[str, Any]:
    """Solver -> seconds (None: not within the limit), certified gap, and what it was."""
    found: dict[str, Any] = {}
    for name, settings in (("auto", AutoSettings(tol=GAP)), ("lbfgs", LBFGSSettings(tol=GAP, time_limit=limit))):
        seconds = []
        for _ in range(REPEATS):
            began = time.perf_counter()
            result = solve(BinaryModel(Design(X), y), ridge, name, settings)
            seconds.append(time.perf_counter() - began)
            if seconds[-1] > 5:
                break
        reached = result.gap <= GAP
        found[name] = {"seconds": float(np.median(seconds)) if reached else None, "gap": result.gap, "how": result.why}
    for name in peers:
        found[name] = _peer(X, y, ridge, limit, PEERS[name])
    return found


def _peer(X: sparse.csr_matrix, y: np.ndarray, ridge: float, limit: float, options: dict[str, Any]) -> dict[str, Any]:
    """scikit-learn at the loosest tol whose weights our certificate proves to be good enough: its best case."""
    from sklearn.linear_model import LogisticRegression

    spent, gap = 0.0, np.inf
    for tol in _TOLS:
        seconds = []
        for _ in range(REPEATS):
            model = LogisticRegression(C=1 / ridge, fit_intercept=False, tol=tol, max_iter=3000, **options)
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                w = model.fit(X, y).coef_[0]
            seconds.append(time.perf_counter() - began)
            if len(seconds) == 1:
                gap = certify_binary(X, y, w, ridge).gap
                if gap > GAP or seconds[0] > 5:
                    break
        spent += sum(seconds)
        if gap <= GAP:
            return {"seconds": float(np.median(seconds)), "gap": gap, "how": f"tol {tol:g}"}
        if spent > limit:
            break
    return {"seconds": None, "gap": gap, "how": f"tol {tol:g}"}


def show(results: dict[str, dict[str, Any]]) -> str:
    """A line a problem: seconds of each, and ours over the best of theirs."""
    names = list(next(iter(results.values())))
    lines = [
        f"{'seconds to a certified gap of 1e-4':<38}" + "".join(f"{name:>20}" for name in names) + "   auto / best"
    ]
    ratios = []
    for title, found in results.items():
        cells = [found[name]["seconds"] for name in names]
        best = min((found[name]["seconds"] for name in names[2:] if found[name]["seconds"]), default=None)
        ratio = found["auto"]["seconds"] / best if best and found["auto"]["seconds"] else None
        ratios += [ratio] if ratio else []
        text = "".join(f"{'–' if cell is None else f'{cell:.3f}':>20}" for cell in cells)
        lines.append(f"{title:<38}{text}   {'–' if ratio is None else f'{ratio:.2f}'}")
    if ratios:
        lines.append(f"auto / best of scikit-learn's: median {np.median(ratios):.2f}, largest {max(ratios):.2f}")
    return "\n".join(lines)
