"""What the groups of words are (section 5.4 of the paper) and how λ goes by their length (section 3)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.sentence_lasso.tables import PAPER_GRID
from benchmarks.sentence_lasso.tasks import comparison_of, loaded
from cflengine.linear import paired_test
from cflengine.sentence_lasso import GROUP_WEIGHTS
from cflengine.text import UNITS

CASES = tuple((unit, weights) for unit in UNITS for weights in GROUP_WEIGHTS)


def measure(
    names: Sequence[str], data: str | None, limit: float, quick: bool, say: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """Task -> a row for each kind of group and weight, the paper's grid chosen from on the first split; "all" -> over
    all test documents, and p against sentences of equal weight. limit: seconds for each grid."""
    found: dict[str, dict[str, Any]] = {}
    right: dict[tuple[str, str], list[np.ndarray]] = {case: [] for case in CASES}
    for task, texts, metadata in loaded(names, data, say):
        rows = []
        for unit, weights in CASES:
            comparison = comparison_of(texts, metadata, task, 0, groups=unit, group_weights=weights)
            began = time.perf_counter()
            ends = began + limit
            best = comparison.find_best(
                "sentence", (1.0,) if quick else PAPER_GRID, on_point=lambda _, ends=ends: time.perf_counter() < ends
            )
            right[unit, weights].append(
                best.model.predict(comparison.X[comparison.test]) == comparison.y[comparison.test]
            )
            norms = best.results[0].sentence_norms(comparison.data.groups)
            rows.append(
                {
                    "groups": unit, "weights": weights, "n_groups": comparison.data.counts.shape[0],
                    "accuracy": 100 * best.test_accuracy, "size": 100 * best.model.size / len(comparison.names),
                    "selected": 100 * float(np.mean(norms > 0)), "gap": best.gap,
                    "seconds": time.perf_counter() - began,
                }
                | best.penalty.parameters
            )  # fmt: skip
            say(f"{task.name} {rows[-1]}")
        found[task.name] = {"rows": rows, "test": len(comparison.test)}
    if found:
        found["all"] = {"rows": [_together(case, right) for case in CASES]}
    return found


def _together(case: tuple[str, str], right: dict[tuple[str, str], list[np.ndarray]]) -> dict[str, Any]:
    ours, usual = np.concatenate(right[case]), np.concatenate(right[CASES[0]])
    p = None if case == CASES[0] else paired_test(ours, usual)
    return {"groups": case[0], "weights": case[1], "accuracy": 100 * float(ours.mean()), "p": p}


def show(results: dict[str, dict[str, Any]]) -> str:
    """A line a task and kind of group."""
    lines = ["task         groups     weights   accuracy   size %   selected %   groups     worst gap  seconds"]
    for name, figures in results.items():
        for row in figures["rows"]:
            head = f"{name:<12} {row['groups']:<10} {row['weights']:<8} {row['accuracy']:8.2f}"
            if name == "all":
                lines.append(head + ("" if row["p"] is None else f"   p = {row['p']:.1e}"))
            else:
                lines.append(
                    f"{head}   {row['size']:6.1f}   {row['selected']:8.1f}   {row['n_groups']:9,}   {row['gap']:.0e}"
                    f"  {row['seconds']:7.1f}"
                )
    return "\n".join(lines)
