"""What Mathur & Chakrabarti draw: how weights evolve (Figures 2, 3, 10, 11), the ridge (6, 7), the scheme against plain
L-BFGS in objective and F1 (8, 9, 12, 13), and where the scheme's time goes (Tables III and IV).

Plain L-BFGS is the package's of their day: five pairs, H from the identity. The scheme is theirs: chunks of the sorted
weights, two rounds of five fine steps, 15 weights to a cluster (5 of a tagger). Objectives are told by what is left
above a proved bound, in shares of the objective at w = 0: with a small ridge the optimum is all but 0, and a share of
*it* would never be reached. Passes over the data are free of noise, and stand beside the seconds.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.evidence.page import whole
from benchmarks.loglinear.crf import conll, judged_tagger
from benchmarks.loglinear.dense import BFGS
from benchmarks.loglinear.tasks import Reuters, Say, f1_of
from cflengine.linear import Design, mutual_information
from cflengine.loglinear import (
    BinaryModel,
    ClusteredSettings,
    Iterations,
    LBFGSSettings,
    LoglinearResult,
    NewtonSettings,
    TaggedFile,
    chunks,
    explained_variance,
    solve,
)

LEFT = (1e-1, 1e-2, 1e-4)  # above the bound, of the objective at 0
SCHEME_RIDGES = (1e-7, 1e-5)  # the paper's
RIDGES = (1e-9, 1e-7, 1e-5, 1e-3, 1e-1, 1.0, 10.0, 100.0)
FOLDS = 3
WORDS, EARLY, FACTOR, TAGGER_FACTOR = 500, 5, 15.0, 5.0
NEAR = 0.98  # of the best F1
TAGGER_C2, TAGGER_POINTS = 1.0, 60
CURVE = 60  # points of F1 that are written down
#: The words of two tight clusters of Figure 3, class grain: the second's say little.
PAPERS_CLUSTERS = {
    "marketing, price …": ["marketing", "price", "imports", "annual", "average", "traders", "credit", "exporters"],
    "was, these …": ["was", "these", "been", "among", "like", "can", "what", "say", "given"],
}
_MOST_STEPS = 400


def plain_settings(limit: float, **more: Any) -> dict[str, Any]:
    """L-BFGS as in the paper's package."""
    return {"tol": 1e-8, "max_iter": _MOST_STEPS, "time_limit": limit, "memory": 5, "scaled": False} | more


def measure(
    task: Reuters | None, data: str | None, classes: Sequence[str], limit: float, quick: bool, say: Say
) -> dict[str, dict[str, Any]]:
    """Figure and case -> what there is to see in it."""
    found: dict[str, dict[str, Any]] = {}
    if task is not None:
        topics = [name for name, _ in Counter(t for one in task.topics for t in one).most_common(2 if quick else 9)]
        found |= {f"evolution, {name}": one for name, one in evolution(task, topics, limit, say).items()}
        for name in classes:
            found[f"ridge, {name}"] = by_ridge(task, name, RIDGES[1::3] if quick else RIDGES, limit)
            say(f"ridge, {name}: {found[f'ridge, {name}']}")
        for name in classes:
            for ridge in SCHEME_RIDGES[:1] if quick else SCHEME_RIDGES:
                found[f"scheme, {name} {ridge:g}"] = one = of_scheme(task, name, ridge, limit)
                say(f"scheme, {name} {ridge:g}: {one}")
    files = conll(data, ("train", "testb"), quick, say)
    return found | tagger(*files, limit, say) if files else found


# ---- how weights evolve


def evolution(task: Reuters, topics: Sequence[str], limit: float, say: Say) -> dict[str, dict[str, Any]]:
    """Of the 500 words of most mutual information with the topics, by BFGS, no ridge but a thousandth."""
    classes = np.array([next((t for t in topics if t in one), "") for one in task.topics])
    top = np.sort(np.argsort(-mutual_information(task.X, classes), kind="stable")[:WORDS])
    X, found = Design(task.X[:, top]), {}
    column = {str(task.words[j]): k for k, j in enumerate(top)}
    for name in topics:
        model = BinaryModel(X, task.y(name))
        settings = Iterations(tol=1e-6, max_iter=_MOST_STEPS, time_limit=limit)
        result = solve(model, 1e-3, BFGS, settings, watch=range(len(top)))
        found[name] = parallel(result.trajectories, FACTOR)
        if name == "grain":
            for label, words in PAPERS_CLUSTERS.items():
                at = [column[word] for word in words if word in column]
                found[name][label] = [len(at), spread(result.trajectories[-1], at)]
        say(f"evolution, {name}: {found[name]}")
    return found


def parallel(paths: np.ndarray, factor: float) -> dict[str, Any]:
    """What clusters of step EARLY say of the last weights, and how often neighbours change places afterwards.

    paths: float64 (steps, d).
    """
    early, last = paths[min(EARLY, len(paths) - 1)], paths[-1]
    at_random = chunks(np.random.default_rng(0).random(len(last)), factor)
    crossed = []
    for before, after in pairwise(paths[EARLY:]):
        order = np.argsort(before, kind="stable")
        crossed.append(float((np.diff(after[order]) < 0).mean()))
    return {
        "steps": len(paths) - 1, "weights": len(last), "explained": explained_variance(last, chunks(early, factor)),
        "random": explained_variance(last, at_random), "crossings": float(np.mean(crossed)) if crossed else 0.0,
        "same order": _same_order(early, last),
    }  # fmt: skip


def _same_order(early: np.ndarray, last: np.ndarray) -> float:
    """The share of pairs in the same order: of a million pairs, drawn."""
    i, j = np.random.default_rng(0).integers(len(last), size=(2, 1_000_000))
    apart = (early[i] != early[j]) & (last[i] != last[j])
    return float(((early[i] < early[j]) == (last[i] < last[j]))[apart].mean()) if apart.any() else 1.0


def spread(w: np.ndarray, members: Sequence[int]) -> float:
    """The standard deviation of some weights over that of all."""
    return float(np.std(w[list(members)]) / np.std(w)) if len(members) > 1 and np.std(w) > 0 else float("nan")


# ---- the ridge


def by_ridge(task: Reuters, name: str, ridges: Sequence[float], limit: float) -> dict[str, Any]:
    """Ridge -> F1, cross-validated and on the test documents, and the passes and seconds of plain L-BFGS."""
    from sklearn.model_selection import StratifiedKFold

    y, found = task.y(name), {}
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(task.X, y))
    parts = [(BinaryModel(Design(task.X[fit]), y[fit]), task.X[judged], y[judged] > 0) for fit, judged in folds]
    whole = BinaryModel(Design(task.X), y)
    for ridge in ridges:
        newton = NewtonSettings(tol=1e-6, max_iter=100, time_limit=limit)
        scores = [f1_of(X @ solve(model, ridge, "newton-cg", newton).w > 0, truth) for model, X, truth in parts]
        best = solve(whole, ridge, "newton-cg", NewtonSettings(tol=1e-9, time_limit=limit))
        plain = solve(whole, ridge, "lbfgs", LBFGSSettings(**plain_settings(limit, max_iter=3000)))
        end = reached(plain, best.lower_bound, LEFT[-1])
        found[f"{ridge:g}"] = {
            "f1": float(np.mean(scores)), "test f1": task.f1(name, best.w),
            "passes": at_event(plain, "work", end), "seconds": at_event(plain, "elapsed_s", end),
        }  # fmt: skip
    return found


def reached(result: LoglinearResult, bound: float, left: float) -> int | None:
    """The first event at which no more is left above the bound than ``left`` of the objective at 0."""
    trace = result.trace
    far = trace["objective"].to_numpy() - bound > left * trace["objective"].iloc[0]
    near = np.flatnonzero(~far & (trace["stage"] != "coarse").to_numpy())
    return int(near[0]) if len(near) else None


def at_event(result: LoglinearResult, column: str, event: int | None) -> float | None:
    """What the trace says there."""
    return None if event is None else float(result.trace[column].iloc[event])


# ---- the scheme against plain L-BFGS


class TimedChunks:
    """The paper's clustering, and the seconds that it has taken."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self, recent: Sequence[np.ndarray], factor: float, generator: np.random.Generator) -> np.ndarray:
        began = time.perf_counter()
        found = chunks(recent[-1], factor)
        self.seconds += time.perf_counter() - began
        return found


def of_scheme(task: Reuters, name: str, ridge: float, limit: float) -> dict[str, Any]:
    """Solver -> passes and seconds by objective, F1 on the test documents on the way, where the time goes."""
    model = BinaryModel(Design(task.X), task.y(name))
    bound = solve(model, ridge, "newton-cg", NewtonSettings(tol=1e-9, time_limit=limit)).lower_bound
    return contest(model, ridge, bound, FACTOR, None, lambda w: {"": task.f1(name, w)}, limit, points=_MOST_STEPS)


def contest(
    model: Any, ridge: float, bound: float, factor: float, n_tied: int | None,
    judge: Callable[[np.ndarray], Mapping[str, float]], limit: float, points: int,
) -> dict[str, Any]:  # fmt: skip
    """Both solvers of one problem; F1, by kind, is asked of ``judge`` at so many of their steps."""
    found: dict[str, Any] = {}
    common, clustering = plain_settings(limit), TimedChunks()
    for title, solver, settings in (
        ("plain", "lbfgs", LBFGSSettings(**common)),
        ("clustered", "clustered", ClusteredSettings(**common, cluster_factor=factor, clustering=clustering)),
    ):
        result = solve(model, ridge, solver, settings, n_tied=n_tied, watch=range(model.n_weights))
        levels = [reached(result, bound, left) for left in LEFT]
        found[title] = {
            "passes": [at_event(result, "work", event) for event in levels],
            "seconds": [at_event(result, "elapsed_s", event) for event in levels],
            **_shares(result, levels[-1]), **_judged(result, judge, points, levels[-1]),
        }  # fmt: skip
    found["clustered"]["clustering_s"] = clustering.seconds
    goal = NEAR * max(one["best f1"] for one in found.values())
    for one in found.values():
        near = [work for work, f1 in one["curve"] if f1 >= goal]
        one["passes to f1"] = near[0] if near else None
        one["curve"] = thinned(one["curve"])
    return found


def thinned(curve: list[list[float]]) -> list[list[float]]:
    """At most CURVE points of it, evenly by steps."""
    return [curve[k] for k in np.unique(np.linspace(0, len(curve) - 1, min(CURVE, len(curve))).astype(int))]


def _shares(result: LoglinearResult, end: int | None) -> dict[str, Any]:
    """Seconds of fine and of coarse steps up to an event (None: the last), the lifting counted with the latter."""
    trace = result.trace.iloc[: None if end is None else end + 1]
    elapsed, coarse = np.diff(trace["elapsed_s"].to_numpy(), prepend=0.0), trace["stage"].isin(["coarse", "lifted"])
    return {
        "fine_s": float(elapsed[~coarse].sum()), "coarse_s": float(elapsed[coarse].sum()),
        "fine steps": int((~coarse).sum()) - 1, "coarse steps": int((trace["stage"] == "coarse").sum()),
    }  # fmt: skip


def _judged(
    result: LoglinearResult, judge: Callable[[np.ndarray], Mapping[str, float]], points: int, end: int | None
) -> dict[str, Any]:
    """F1 at so many events at most: the curve, its best, its last, and that of the event ``end`` by kind."""
    paths = result.trajectories
    events = np.unique(np.linspace(0, len(paths) - 1, min(points, len(paths))).astype(int))
    work = result.trace["work"].to_numpy()[events]
    f1 = [judge(paths[event])[""] for event in events]
    return {
        "best f1": max(f1), "last f1": f1[-1], "f1 by kind": dict(judge(paths[-1 if end is None else end])),
        "curve": [[round(float(w), 1), round(float(v), 2)] for w, v in zip(work, f1, strict=True)],
    }  # fmt: skip


# ---- named entities


def tagger(train: TaggedFile, test: TaggedFile, limit: float, say: Say) -> dict[str, dict[str, Any]]:
    """CoNLL-2003 with the paper's attributes: how emission weights evolve, and both solvers, judged on testb."""
    model, judge = judged_tagger(train, test)
    ridge, n_tied = 2 * TAGGER_C2, model.features.n_states
    best = solve(
        model,
        ridge,
        "lbfgs",
        LBFGSSettings(tol=1e-7, time_limit=10 * limit, max_iter=3000),
        watch=range(n_tied),
    )
    found = {"evolution, named entities": parallel(best.trajectories, TAGGER_FACTOR)}
    say(f"evolution, named entities: {found['evolution, named entities']}")
    found["scheme, named entities"] = contest(
        model, ridge, best.lower_bound, TAGGER_FACTOR, n_tied, judge, 10 * limit, TAGGER_POINTS
    )
    say(f"scheme, named entities: {found['scheme, named entities']}")
    return found


def show(results: Mapping[str, Mapping[str, Any]]) -> str:
    """A line a case."""
    lines = [f"left above the bound, of the objective at 0: {', '.join(f'{left:g}' for left in LEFT)}"]
    for case, figures in results.items():
        if case.startswith("evolution"):
            lines.append(
                f"{case:<32}clusters of step {EARLY} explain {figures['explained']:.1%} of the last weights' variance "
                f"({figures['random']:.1%} by random ones); {figures['crossings']:.1%} of neighbours cross in a step"
            )
        elif case.startswith("ridge"):
            cells = [f"{ridge}: F1 {one['f1']:.1f}, {whole(one['passes'])}" for ridge, one in figures.items()]
            lines.append(f"{case}, passes: {'; '.join(cells)}")
        else:
            for solver, one in figures.items():
                passes = " / ".join(whole(number) for number in one["passes"])
                lines.append(
                    f"{f'{case}, {solver}':<40}{passes:>18} passes; F1 {one['f1 by kind']['']:.1f}, near the best "
                    f"after {whole(one['passes to f1'])}; fine {one['fine_s']:.2f} s, coarse {one['coarse_s']:.2f} s"
                )
    return "\n".join(lines)
