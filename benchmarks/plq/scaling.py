"""What a pass costs as the data grow, and how fast the gap falls: the talk's two claims, measured."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy import sparse

from cflengine.plq import FORMS, Descent, DescentSettings, DualSVM, PLQProblem, named_loss, no_constraints

ROWS = (2_000, 20_000, 200_000, 2_000_000)  # of 20 dense columns, or 20 entries in 10,000 columns
_PASSES = 6


def measure_scaling(*, quick: bool) -> dict[str, Any]:
    """Seconds of a pass by entries of the data, dense and sparse, and the power of their logarithms; gaps by sweep."""
    rows = [n // 100 for n in ROWS] if quick else list(ROWS)
    found: dict[str, Any] = {"entries": [20 * n for n in rows]}
    for form in ("dense", "sparse"):
        seconds = [_seconds_of_a_pass(n, form) for n in rows]
        power = float(np.polyfit(np.log(found["entries"]), np.log(seconds), 1)[0])
        found[form] = {"seconds_a_pass": seconds, "exponent": power}
    found["convergence"] = _convergence(quick)
    return found


def _seconds_of_a_pass(n: int, form: str) -> float:
    """The median of some passes over all observations, nothing set aside."""
    generator = np.random.default_rng(0)
    if form == "dense":
        X: Any = generator.normal(size=(n, 20))
    else:
        columns = generator.integers(0, 10_000, (n, 20)).astype(np.int32)
        values = generator.normal(size=20 * n)
        X = sparse.csr_matrix((values, np.sort(columns, axis=1).ravel(), np.arange(n + 1) * 20), (n, 10_000))
    y = np.where(generator.random(n) < 0.5, 1.0, -1.0)
    problem = PLQProblem(X, named_loss("hinge").for_data(y, 1.0 / n), no_constraints(X.shape[1]))
    own = Descent(problem, DescentSettings(shrinking=False, screening=False, check_every=1))
    own.sweep()
    times = []
    for _ in range(_PASSES):
        began = time.perf_counter()
        own.sweep()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def _convergence(quick: bool) -> dict[str, Any]:
    """Of the two forms of coordinate descent on one SVM: operations, seconds and the proved gap after every sweep."""
    from sklearn.datasets import make_classification

    X, y = make_classification(300 if quick else 3_000, 20, n_informative=10, random_state=0)
    found: dict[str, Any] = {"n": len(y)}
    for name in FORMS:
        settings = DescentSettings(tol=1e-10, max_iter=50 if quick else 1_000)
        result = DualSVM(name, X, 2.0 * y - 1.0, 1e-3, settings).run()
        gaps = result.trace["gap"].to_numpy()
        late = np.flatnonzero((gaps < 1e-2) & (gaps > 1e-9))
        rate = float(np.exp(np.polyfit(late, np.log(gaps[late]), 1)[0])) if len(late) > 2 else None
        straight = float(np.corrcoef(late, np.log(gaps[late]))[0, 1] ** 2) if len(late) > 2 else None
        last = result.trace.iloc[-1]
        found[name] = {
            "sweeps": result.n_iterations,
            "gap": float(gaps[-1]),
            "gap_a_sweep": rate,
            "r_squared_of_the_line": straight,
            "operations": float(last["operations"]),
            "seconds": float(last["sweep_s"]),
        }
    return found


def show_scaling(found: dict[str, Any]) -> str:
    """Tables of both."""
    lines = ["Seconds of a pass by entries of the data (a power of 1 is linear)"]
    lines.append("  " + " " * 8 + "".join(f"{n:>14,}" for n in found["entries"]) + f"{'power':>10}")
    for form in ("dense", "sparse"):
        own = found[form]
        cells = "".join(f"{seconds:>14.5f}" for seconds in own["seconds_a_pass"])
        lines.append(f"  {form:<8}{cells}{own['exponent']:>10.2f}")
    lines.append(f"\nTwo forms of coordinate descent on an SVM of {found['convergence']['n']:,} observations")
    for name in FORMS:
        own = found["convergence"][name]
        rate = (
            "–" if own["gap_a_sweep"] is None else f"{own['gap_a_sweep']:.3f} (R² {own['r_squared_of_the_line']:.3f})"
        )
        lines.append(
            f"  {name:<12} gap {own['gap']:.0e} after {own['sweeps']} sweeps, {own['operations']:.2e} multiplications, "
            f"{own['seconds']:.3f} s; a sweep leaves of the gap {rate}"
        )
    return "\n".join(lines)
