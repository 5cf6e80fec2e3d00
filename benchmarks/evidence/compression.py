"""The AISTATS paper: Table 3 (seconds of the homotopy and of iterative reweighting, and how good their ends are),
Figure 2 (the λ-path) and Figure 4 (both solvers on their way)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from benchmarks.evidence.page import Claim, Evidence, Part, seconds, share, verdict

#: Table 3: case -> seconds of the homotopy, of iterative reweighting (one core, 2014)
TABLE_3 = {
    "ratebeer K=3": (277, 638), "ratebeer K=5": (455, 766), "20news K=3": (70, 201), "20news K=5": (109, 331),
    "imdb K=3": (119, 518), "imdb K=5": (208, 575),
}  # fmt: skip
WORST = 0.008  # above the relaxation, as the paper reports
GOAL = 0.001


def parts(evidence: Evidence) -> list[Part]:
    """A row a corpus and solver."""
    rows, quicker, said_of, close, guided = [], [], [], [], []
    for title, body in evidence.cases().items():
        case = title.removeprefix("solvers: ")
        if "solvers" not in body:
            continue
        paper = dict(zip(("homotopy", "reweighting"), TABLE_3.get(case, ()), strict=False))
        for solver, row in body["solvers"].items():
            gap, reason = row.get("gap"), str(row.get("reason") or row["status"])
            steps, said = f"{row.get('steps') or 0:,}", str(paper.get(solver, "–"))
            rows.append((case, solver, seconds(row.get("seconds")), said, steps, share(gap, 3), reason))
        first, second = (body["solvers"].get(name, {}) for name in ("homotopy", "reweighting"))
        guided += [row["gap"] for row in (body["solvers"].get("guided", {}),) if row.get("gap") is not None]
        if not (first.get("seconds") and second.get("seconds")):
            continue
        at_limit = ["limit" in str(row.get("reason")) for row in (first, second)]
        if all(at_limit):  # neither is done: by what it has, the better one is ahead
            quicker.append(first["gap"] < second["gap"])
            said_of.append(f"{case}: both at their limit, {share(first['gap'], 2)} and {share(second['gap'], 2)} open")
        else:  # a limit that one ran into is a lower bound of its seconds
            quicker.append(second["seconds"] > first["seconds"])
            said_of.append(f"{case}: {second['seconds'] / first['seconds']:.1f} times")
        close += [row["gap"] <= WORST for row in (first, second) if row.get("gap") is not None]
    claims = [
        Claim("The homotopy is faster than iterative reweighting (Table 3: 1.7 to 4.4 times)",
              "; ".join(said_of) or "not measured", verdict(sum(quicker), len(quicker))),
        Claim("Both end within 0.5 to 0.8 % of the relaxation (§5.2); ours is the gap to a proved bound",
              f"at most {share(WORST)} in {sum(close)} of {len(close)} runs", verdict(sum(close), len(close))),
    ]  # fmt: skip
    if guided:
        met, found = sum(gap <= GOAL for gap in guided), ", ".join(share(gap, 3) for gap in guided)
        claims.append(
            Claim(f"The guided solver proves {share(GOAL)} (this project's goal)", found, verdict(met, len(guided)))
        )
    head = ("corpus", "solver", "seconds, 2 cores", "the paper's", "steps", "proved gap", "why it ended")
    note = (
        "λ = 1, each solver within a limit of seconds. The Beer corpus of the paper is not ours (1.5 million reviews): "
        "RateBeer stands in its place."
    )
    return [Part("Compression: Table 3 of the AISTATS paper", note, head, rows, claims)]


def sample_parts(evidence: Evidence) -> list[Part]:
    """What each solver proves on the shipped sample, a row a solver."""
    (body,) = evidence.cases().values()
    rows = [
        (solver, share(row.get("gap"), 3), seconds(row.get("seconds")), str(row.get("reason") or row["status"]))
        for solver, row in body["solvers"].items()
    ]
    note = f"λ = 1, K = 3, {body['tokens']:,} words and marks, each solver as `cflengine compress --solver` runs it."
    return [Part("Compression: the sample by every solver", note, ("solver", "proved gap", "seconds", "ended"), rows)]


_ORDERS = 100  # "two orders of magnitude smaller" (§5.1)


def path_parts(evidence: Evidence) -> list[Part]:
    """What pointers are made of, a row a λ, and the dictionary beside all K-grams."""
    rows, falls, single, smaller = [], [], [], []
    for title, body in evidence.cases().items():
        case, path = title.removeprefix("path: "), body["path"]
        if "points" not in path:
            continue
        points, everything = path["points"], path["n_grams"]
        rows += [
            (case, f"{point['lam']:.3g}", *(share(value) for value in point["shares"]), f"{point['dictionary_size']:,}",
             share(point["dictionary_size"] / everything, 2), share(point["gap"], 2))
            for point in points
        ]  # fmt: skip
        falls.append(all(b["shares"][0] <= a["shares"][0] + 1e-3 for a, b in itertools.pairwise(points)))
        single.append(points[0]["lam"] == 0.0 and points[0]["shares"][0] == 1.0)
        smaller.append(everything / min(points, key=lambda point: abs(point["lam"] - 1.0))["dictionary_size"])
    claims = [
        Claim("λ = 0 takes single words alone (Figures 2 and 3)", f"{sum(single)} of {len(single)} corpora",
              verdict(sum(single), len(single))),
        Claim("The share of single words falls as λ rises (Figure 2)", f"{sum(falls)} of {len(falls)} corpora",
              verdict(sum(falls), len(falls))),
        Claim("The dictionary is two orders of magnitude smaller than all K-grams (§5.1; here at the λ next to 1)",
              ", ".join(f"{value:.0f}" for value in smaller) + " times",
              verdict(sum(value >= _ORDERS for value in smaller), len(smaller))),
    ] if smaller else []  # fmt: skip
    head = ("corpus", "λ", "1 word", "2 words", "3 words", "dictionary", "of all K-grams", "proved gap")
    note = "Shares of the pointers, each λ certified. RateBeer stands in the place of the paper's Beer corpus."
    return [Part("Compression: the λ-path (Figure 2 of the AISTATS paper)", note, head, rows, claims)]


def trial_parts(evidence: Evidence) -> list[Part]:
    """The marks of Figure 4."""
    rows, claims = [], []
    for title, body in evidence.cases().items():
        case, found = title.removeprefix("trial: "), body["solvers"]
        for solver, one in found.items():
            if "seconds" not in one:
                continue
            mark = (
                f"ζ leaves 0 at step {one['left_zeta']:,}" if one.get("left_zeta") else f"{one.get('rounds', 0)} rounds"
            )
            rows.append((case, solver, f"{one['start']:.3f}", seconds(one["start_s"]), seconds(one["near_s"]), mark,
                         f"{one['steps']:,}", seconds(one["seconds"]), f"{one['objective'] / one['relaxation']:.4f}",
                         one["reason"]))  # fmt: skip
        if all("seconds" in found.get(name, {}) for name in ("homotopy", "reweighting")):
            claims += _marks(found["homotopy"], found["reweighting"])
    head = ("corpus", "solver", "first binary solution", "after, s", "within 2 %, s", "mark", "steps", "seconds",
            "in the end over the relaxation", "why it ended")  # fmt: skip
    note = (
        "λ = 1, K = 3, the papers' settings; the first binary solution over the proved bound. Here the homotopy rounds "
        "for the first time where ζ leaves 0, the relaxation solved to the paper's residuals."
    )
    return [
        Part("Compression: both papers' solvers on their way (Figure 4 of the AISTATS paper)", note, head, rows, claims)
    ]


def _marks(homotopy: Mapping[str, Any], reweighting: Mapping[str, Any]) -> list[Claim]:
    ends = [one["objective"] / one["relaxation"] for one in (homotopy, reweighting)]
    faster = reweighting["seconds"] / homotopy["seconds"]
    claims = [
        Claim("Both end 1.006 times the relaxation (1.008 at most)", " and ".join(f"{end:.4f}" for end in ends),
              verdict(sum(end <= 1 + WORST for end in ends), 2)),
        Claim("The homotopy is twice as fast", f"{faster:.1f} times", verdict(int(faster >= 2), 1)),
    ]  # fmt: skip
    if homotopy.get("s_per_step") and None not in homotopy["s_per_step"]:
        before, after = homotopy["s_per_step"]
        claims.append(Claim("Steps at ζ > 0 are about twice as expensive as at ζ = 0 (1.5 to 2.5 times)",
                            f"{after / before:.1f} times", verdict(int(1.5 <= after / before <= 2.5), 1)))  # fmt: skip
    jumps = reweighting["jumps"]
    claims.append(Claim("Reweighting falls back at the beginning of every round, by a hundredth or more",
                        f"{sum(jump >= 1.01 for jump in jumps)} of {len(jumps)} rounds after the first",
                        verdict(sum(jump >= 1.01 for jump in jumps), len(jumps))))  # fmt: skip
    if homotopy["near_s"] and reweighting["near_s"]:
        times = reweighting["near_s"] / homotopy["near_s"]
        said = "The homotopy is within 2 % of the bound long before reweighting (the paper: several against 350 s)"
        claims.append(Claim(said, f"{times:.1f} times as soon", verdict(int(times > 2), 1)))
    return claims
