"""Clustered L-BFGS (ICDM 2006): chain CRFs beside plain L-BFGS and python-crfsuite, and the paper's figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.evidence.loglinear_solvers import dense_part, logistic_part, parsimony_part, policies_part
from benchmarks.evidence.page import DOES_NOT, HOLDS, Claim, Evidence, Part, seconds, share, verdict, whole

_HALF = 0.5  # of the variance of the last weights: then clusters of the fifth step have stayed together
_RARE = 0.1  # of the neighbours, in a step
_SAME = 1.0  # F1, in points: no loss that matters
_NEGLIGIBLE = 0.05  # of the scheme's time


def parts(evidence: Evidence) -> list[Part]:
    """A part for each section but that of chain CRFs, which has a file of its own."""
    return [_SECTIONS[section](cases) for section, cases in _by_section(evidence).items() if section in _SECTIONS]


def crf_parts(evidence: Evidence) -> list[Part]:
    """Chain CRFs."""
    return [_crf(_by_section(evidence)["crf"])]


def _by_section(evidence: Evidence) -> dict[str, dict[str, Any]]:
    sections: dict[str, dict[str, Any]] = {}
    for name, body in evidence.cases().items():
        section, _, case = name.partition(": ")
        sections.setdefault(section, {})[case] = body
    return sections


def _crf(cases: Mapping[str, Mapping[str, Any]]) -> Part:
    """Seconds and passes to the end of each solver."""
    rows, fewer, faster = [], [], []
    for case, body in cases.items():
        for solver, row in body.items():
            gap = row.get("gap")
            rows.append((case, solver, seconds(row["seconds"]), f"{row['passes']:g}", f"{row['objective']:,.2f}",
                         "–" if gap is None else f"{gap:.1e}"))  # fmt: skip
        plain, scheme, peer = body["lbfgs, all threads"], body["clustered"], body["python-crfsuite"]
        fewer.append(scheme["passes"] < plain["passes"])
        faster.append(peer["seconds"] / plain["seconds"])
    n = len(fewer)
    claims = [
        Claim("Clustered steps need fewer passes than plain L-BFGS (chain CRFs)", f"in {sum(fewer)} of {n} cases",
              verdict(sum(fewer), n)),
        Claim("Our L-BFGS is faster than python-crfsuite, to a proved gap",
              f"{min(faster):.1f} to {max(faster):.1f} times as fast", verdict(sum(x > 1 for x in faster), n)),
    ]  # fmt: skip
    head = ("case", "solver", "seconds", "passes over the data", "objective", "proved gap")
    return Part("Chain CRF: clustered L-BFGS beside its peers", "CoNLL 2003.", head, rows, claims)


_SECTIONS = {
    "logistic": logistic_part, "scheme": policies_part, "dense": dense_part, "parsimony": parsimony_part,
}  # fmt: skip


def figure_parts(evidence: Evidence) -> list[Part]:
    """What the paper draws, and what it says of it."""
    found: dict[str, dict[str, Any]] = {"evolution": {}, "ridge": {}, "scheme": {}}
    for case, body in evidence.cases().items():
        kind, _, name = case.removeprefix("figures: ").partition(", ")
        found[kind][name] = body
    text = {name: one for name, one in found["scheme"].items() if name != _NAMES}
    parts = [_evolution(found["evolution"]), _ridge(found["ridge"]), _scheme(text), _time(text)]
    return [*parts, _names(found["scheme"][_NAMES])] if _NAMES in found["scheme"] else parts


_NAMES = "named entities"


def _evolution(cases: Mapping[str, Mapping[str, Any]]) -> Part:
    rows = [
        (name, str(one["weights"]), str(one["steps"]), share(one["explained"]), share(one["random"]),
         share(one["same order"]), share(one["crossings"]))
        for name, one in cases.items()
    ]  # fmt: skip
    text = [one for name, one in cases.items() if name != _NAMES]
    stay, rare = [one["explained"] >= _HALF for one in text], [one["crossings"] <= _RARE for one in text]
    claims = [
        Claim("Weights that are close after five steps stay close (Figures 2, 3): their clusters explain half of the "
              "last weights' variance", f"{sum(stay)} of {len(stay)} classes", verdict(sum(stay), len(stay))),
        Claim("Crossovers are rare: at most a tenth of neighbours change places in a step",
              f"{sum(rare)} of {len(rare)} classes", verdict(sum(rare), len(rare))),
    ]  # fmt: skip
    for label, (n, spread) in ((k, v) for one in text for k, v in one.items() if isinstance(v, list)):
        claims.append(
            Claim(f"Class grain, the words {label} are one tight cluster (Figure 3): their spread is below a tenth of "
                  "that of all weights", f"{share(spread)}, {n} of the paper's words",
                  verdict(int(spread < 0.1), 1) if n > 1 else "")
        )  # fmt: skip
    if _NAMES in cases and text:
        own, usual = cases[_NAMES]["crossings"], float(np.median([one["crossings"] for one in text]))
        claims.append(
            Claim("Crossovers are more frequent in named entities than in text classes (Figures 10, 11)",
                  f"{share(own)} of neighbours against {share(usual)}", HOLDS if own > usual else DOES_NOT)
        )  # fmt: skip
    note = (
        "Reuters, the 500 words of most mutual information with the nine most frequent topics, by BFGS; CoNLL-2003's "
        "emission weights by L-BFGS. Clusters of step 5, chunks of 15 words (5 attributes), and what they explain of "
        "the weights' variance at the end; random: clusters drawn."
    )
    head = ("class", "weights", "steps", "explained", "random", "pairs in the same order", "neighbours that cross")
    return Part("Log-linear models: how weights evolve (Figures 2, 3, 10 and 11)", note, head, rows, claims)


def _ridge(cases: Mapping[str, Mapping[str, Any]]) -> Part:
    ridges = list(next(iter(cases.values())))
    rows, small, middle = [], [], []
    for name, one in cases.items():
        best = max(ridges, key=lambda ridge: one[ridge]["f1"])
        small.append(float(best) <= 1e-5)
        passes = [one[ridge]["passes"] or np.inf for ridge in ridges]
        middle.append(0 < int(np.argmax(passes)) < len(ridges) - 1)
        for what, digits in (("f1", 1), ("test f1", 1), ("passes", 0)):
            cells = ["–" if one[ridge][what] is None else f"{one[ridge][what]:.{digits}f}" for ridge in ridges]
            rows.append((name, {"f1": "F1, cross-validated", "test f1": "F1, test", "passes": "passes"}[what], *cells))
    claims = [
        Claim("The best F1, cross-validated, is at a ridge of 1e-5 or below (Figure 6)",
              f"{sum(small)} of {len(small)} classes", verdict(sum(small), len(small))),
        Claim("Training takes longest in the middle of the range (Figure 7)",
              f"{sum(middle)} of {len(middle)} classes", verdict(sum(middle), len(middle))),
    ]  # fmt: skip
    note = (
        "Reuters ModApte, one topic against the rest, all words; three folds. Passes of plain L-BFGS (five pairs) "
        "until 1e-4 of the objective at w = 0 is left above a proved bound; a dash: not reached."
    )
    return Part("Log-linear models: the ridge (Figures 6 and 7)", note, ("class", "", *ridges), rows, claims)


def _scheme(cases: Mapping[str, Mapping[str, Any]]) -> Part:
    rows, sooner, faster, first, steady = [], [], [], [], []
    for name, one in cases.items():
        plain, scheme = one["plain"], one["clustered"]
        for solver, body in one.items():
            rows.append((name, solver, *map(whole, body["passes"]), f"{body['f1 by kind']['']:.1f}",
                         f"{body['best f1']:.1f}", f"{body['last f1']:.1f}", whole(body["passes to f1"])))  # fmt: skip
        sooner.append(_or_never(scheme["passes"][1]) < _or_never(plain["passes"][1]))
        faster.append(_or_never(plain["passes"][2]) / _or_never(scheme["passes"][2]))
        first.append(_or_never(scheme["passes to f1"]) <= _or_never(plain["passes to f1"]))
        steady.append(scheme["best f1"] - scheme["last f1"])
    n = len(faster)
    claims = [
        Claim("The scheme is at 1 % of the objective sooner than plain L-BFGS (Figure 8)",
              f"{sum(sooner)} of {len(sooner)} problems", verdict(sum(sooner), len(sooner))),
        Claim("It ends 2 to 9 times as fast (Table III)",
              f"0 (never) to {max(faster):.2f} times in passes" if 0.0 in faster else
              f"{min(faster):.2f} to {max(faster):.2f} times in passes",
              verdict(sum(x >= 2 for x in faster), n)),
        Claim("F1 grows at least as fast (Figure 9)", f"{sum(first)} of {len(first)} problems",
              verdict(sum(first), len(first))),
        Claim("Steps too many cost F1, so it should be validated (Figure 9)",
              f"{np.median(steady):.1f} points below the best, median; at most {max(steady):.1f}", ""),
    ]  # fmt: skip
    note = (
        "Reuters, one topic against the rest, at the paper's two ridges: passes until 10 %, 1 % and 0.01 % of the "
        "objective at w = 0 are left above a proved bound; F1 on the test documents there, at its best on the way, and "
        "in the end; passes to 98 % of the best F1 of either."
    )
    head = ("problem", "solver", "10 %", "1 %", "0.01 %", "F1", "best", "in the end", "98 % of the best")
    return Part("Log-linear models: the scheme on text (Figures 8 and 9, Table III)", note, head, rows, claims)


def _time(cases: Mapping[str, Mapping[str, Any]]) -> Part:
    rows, little, below = [], [], []
    for name, one in cases.items():
        plain, scheme = one["plain"], one["clustered"]
        clustering, whole = scheme["clustering_s"], scheme["fine_s"] + scheme["coarse_s"]
        rows.append((name, seconds(scheme["fine_s"]), seconds(scheme["coarse_s"] - clustering), seconds(clustering),
                     str(scheme["fine steps"]), str(scheme["coarse steps"]), seconds(plain["fine_s"])))  # fmt: skip
        little.append(clustering <= _NEGLIGIBLE * whole)
        below.append(whole < plain["fine_s"])
    claims = [
        Claim("Clustering takes a negligible share of the time: a twentieth at most (Table IV)",
              f"{sum(little)} of {len(little)} problems", verdict(sum(little), len(little))),
        Claim("All of it is below plain L-BFGS's time (Table IV)", f"{sum(below)} of {len(below)} problems",
              verdict(sum(below), len(below))),
    ]  # fmt: skip
    head = ("problem", "fine, s", "coarse, s", "clustering, s", "fine steps", "coarse steps", "plain L-BFGS, s")
    note = "To 0.01 % of the objective at w = 0, as above, or to the last of 400 steps."
    return Part("Log-linear models: where the scheme's time goes (Table IV)", note, head, rows, claims)


def _names(one: Mapping[str, Mapping[str, Any]]) -> Part:
    plain, scheme = one["plain"], one["clustered"]
    kinds = [kind for kind in plain["f1 by kind"] if kind]
    rows = [
        (solver, *map(whole, body["passes"]), seconds(body["seconds"][2]), whole(body["passes to f1"]),
         *(f"{body['f1 by kind'].get(kind, 0.0):.1f}" for kind in ("", *kinds)))
        for solver, body in one.items()
    ]  # fmt: skip
    claims: list[Claim] = []
    if (times := _ratio(scheme["passes"][2], plain["passes"][2])) is not None:
        said = "The scheme converges in half the time (Figure 12)"
        claims.append(Claim(said, f"{times:.2f} of plain's passes", verdict(int(times <= 0.5), 1)))
    if (times := _ratio(scheme["passes to f1"], plain["passes to f1"])) is not None:
        found = f"98 % of the best after {times:.2f} of plain's passes"
        claims.append(Claim("F1 grows more quickly (Figure 13)", found, verdict(int(times < 1), 1)))
    lost = [plain["f1 by kind"][kind] - scheme["f1 by kind"].get(kind, 0.0) for kind in kinds]
    claims.append(Claim("No kind of name loses a point of F1 (Figure 13)", f"at most {max(lost):.1f} lost",
                        verdict(sum(x <= _SAME for x in lost), len(lost))))  # fmt: skip
    head = ("solver", "10 %", "1 %", "0.01 %", "seconds", "98 % of the best F1", "F1", *kinds)
    note = (
        "CoNLL-2003 with the paper's attributes, judged on testb; clusters of five emission weights; passes as above."
    )
    return Part("Log-linear models: the scheme on named entities (Figures 12 and 13)", note, head, rows, claims)


def _or_never(passes: float | None) -> float:
    """A solver that came to the limit of steps before."""
    return np.inf if passes is None else passes


def _ratio(ours: float | None, theirs: float | None) -> float | None:
    return None if ours is None or theirs is None else ours / theirs
