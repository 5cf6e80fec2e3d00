"""Tables 1 and 2 of Yogatama & Smith (ICML 2014), ours beside the paper's; and their regulariser without the lasso."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.sentence_lasso.tasks import comparison_of, loaded
from cflengine.linear import BestModel, paired_test
from cflengine.sentence_lasso import PAPER_GRID, PENALTIES, ADMMSettings, SentenceComparison

ALONE = "alone"  # sentences without a lasso, section 5.3, and what the paper compares them with
MODELS, WITH_ALONE = tuple(PENALTIES), (ALONE, "elastic", "ridge", "lasso")
RHOS = (0.1, 1.0, 10.0, 100.0, 1000.0)
ADMM = "admm-100"
Say = Callable[[str], None]


class Grid(NamedTuple):
    """values: of every λ; rhos: of ADMM, on the first ``admm_seeds`` seeds; models: the first is tested against the
    others."""

    values: Sequence[float]
    rhos: Sequence[float] = ()
    admm_seeds: int = 0
    models: Sequence[str] = MODELS


def measure(
    names: Sequence[str],
    data: str | None,
    seeds: Sequence[int],
    grid: Grid,
    say: Say,
) -> dict[str, dict[str, Any]]:
    """Task -> its figures over the seeds; "all" -> the tests in aggregate. A task without data is left out."""
    results: dict[str, dict[str, Any]] = {}
    right: dict[str, list[np.ndarray]] = defaultdict(list)
    first: dict[str, list[np.ndarray]] = defaultdict(list)
    for task, texts, metadata in loaded(names, data, say):
        results[task.name] = _over_seeds(task, texts, metadata, seeds, grid, right, first, say)
    if results:
        results["all"] = _aggregate(right, first, grid.models[0])
    return results


def _over_seeds(task, texts, metadata, seeds, grid, right, first, say) -> dict[str, Any]:
    rows: dict[str, list[dict[str, float]]] = defaultdict(list)
    for seed in seeds:
        comparison = comparison_of(texts, metadata, task, seed)
        rhos = grid.rhos if seed < grid.admm_seeds else ()
        for name, best, seconds in _compared(comparison, grid.models, grid.values, rhos):
            correct = best.model.predict(comparison.X[comparison.test]) == comparison.y[comparison.test]
            right[name].append(correct)
            if seed == seeds[0]:
                first[name].append(correct)
            size = 100 * best.model.size / len(comparison.names)
            rows[name].append(
                {"accuracy": 100 * best.test_accuracy, "size": size, "gap": best.gap, "seconds": seconds}
                | best.penalty.parameters
            )
            say(f"{task.name} seed {seed} {name}: {rows[name][-1]}")
    most_frequent = np.bincount(comparison.y[comparison.train]).argmax()
    table1 = {
        "D": len(comparison.train), "dev": len(comparison.dev), "test": len(comparison.test),
        "V": len(comparison.names), "sentences": comparison.data.counts.shape[0],
        "most_frequent": 100 * float(np.mean(comparison.y[comparison.test] == most_frequent)),
    }  # fmt: skip
    paper = {"accuracy": dict(task.accuracy), "size": dict(task.size)}
    return {"table1": table1, "paper": paper, "models": dict(rows)}


def _compared(
    comparison: SentenceComparison, models: Sequence[str], values: Sequence[float], rhos: Sequence[float]
) -> Iterator[tuple[str, BestModel, float]]:
    """(name, the best of the grid, seconds on the clock) of every model; ADMM's grid has a dimension more, ρ."""
    for name in models:
        began = time.perf_counter()
        if name == ALONE:
            best = comparison.find_best("sentence", {"lam_sen": values, "lam_las": (0.0,)})
        else:
            best = comparison.find_best(name, values)
        yield name, best, time.perf_counter() - began
    began = time.perf_counter()
    found = [comparison.find_best("sentence", values, settings=ADMMSettings(rho=rho)) for rho in rhos]
    if found:
        best = max(found, key=lambda one: (one.dev_accuracy, -one.model.size))
        yield ADMM, best, time.perf_counter() - began


def _aggregate(right: dict[str, list[np.ndarray]], first: dict[str, list[np.ndarray]], model: str) -> dict[str, Any]:
    """Accuracy over all test documents of all tasks and seeds, and p of ``model`` against each other one.

    p is of the first seed alone: seeds share test documents, and counting those twice would make anything significant.
    """
    accuracy = {name: 100 * float(np.concatenate(parts).mean()) for name, parts in right.items()}
    ours = np.concatenate(first[model])
    p = {name: paired_test(ours, np.concatenate(parts)) for name, parts in first.items() if name != model}
    return {"accuracy": accuracy, "p": p}


def show(results: dict[str, dict[str, Any]]) -> str:
    """Table 1's columns, then a line a task and model: mean and spread over seeds, the paper's beside them."""
    lines = ["task         D     dev   test  V       sentences"]
    for name, figures in results.items():
        if name != "all":
            t = figures["table1"]
            row = f"{name:<12} {t['D']:<5} {t['dev']:<5} {t['test']:<5} {t['V']:<7} {t['sentences']}"
            lines.append(row)
    lines += ["", "task         model      accuracy        paper   size %         paper  worst gap  seconds"]
    for name, figures in results.items():
        for model, rows in figures.get("models", {}).items():
            columns = {key: np.array([row[key] for row in rows]) for key in ("accuracy", "size", "gap", "seconds")}
            paper = [figures["paper"][key].get(model, float("nan")) for key in ("accuracy", "size")]
            said = [f"{value:6.2f}" if value == value else "     –" for value in paper]
            a, s = columns["accuracy"], columns["size"]
            lines.append(
                f"{name:<12} {model:<10} {a.mean():5.2f} ± {_spread(a):4.2f}  {said[0]}   {s.mean():5.1f} ± "
                f"{_spread(s):4.1f}  {said[1]}   {columns['gap'].max():.0e}  {columns['seconds'].mean():7.1f}"
            )
    if "all" in results:
        ours = next(iter(results["all"]["accuracy"]))
        lines += ["", f"all test documents of all tasks and seeds; p: sign test against {ours}, first seed"]
        for model, accuracy in results["all"]["accuracy"].items():
            p = results["all"]["p"].get(model)
            lines.append(f"{model:<12} {accuracy:6.2f}" + ("" if p is None else f"   p = {p:.1e}"))
    return "\n".join(lines)


def _spread(values: np.ndarray) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


__all__ = ["MODELS", "PAPER_GRID", "RHOS", "WITH_ALONE", "measure", "show"]
