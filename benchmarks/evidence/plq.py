"""ReHLine's problems: seconds to the same proved gap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.evidence.page import Claim, Evidence, Part, seconds, verdict

GAP, GAPS = "1e-06", ("0.0001", "1e-06")
ON_TEXT = ("Newsgroups", "RateBeer")
LINEAR = 1.15  # the power of a pass's seconds in its entries, at most
_STRAIGHT, _FEWER = 0.8, 10.0


def parts(evidence: Evidence) -> list[Part]:
    """A row a problem, and how often we are first."""
    rows, first, slower = [], 0, []
    cases = {name: body for name, body in evidence.cases().items() if isinstance(body.get("ours"), dict)}
    solvers = dict.fromkeys(k for body in cases.values() for k, v in body.items() if isinstance(v, dict))
    peers = [name for name in solvers if name != "ours"]
    for case, body in cases.items():
        ours = body["ours"].get(GAP)
        theirs = {peer: body[peer].get(GAP) for peer in peers if isinstance(body.get(peer), dict)}
        rows.append((case, seconds(ours), *(seconds(theirs.get(peer)) for peer in peers)))
        known = [value for value in theirs.values() if value is not None]
        first += ours is not None and all(ours <= value for value in known)
        if ours is not None and known:
            slower.append(ours / min(known))
    claims = [
        Claim(
            f"Ours is first to a proved gap of {GAP}",
            f"{first} of {len(rows)} problems; at worst {max(slower):.1f} times the fastest peer's seconds",
            verdict(first, len(rows)),
        ),
        _within("rehline", 1.0, cases, "on every shared problem"),
        _within("rehline", 0.35, {k: v for k, v in cases.items() if _is_text(k)}, "on sparse text"),
        _within("liblinear", 1.1, cases, "on SVMs"),
        _within("Clarabel", 0.1, {k: v for k, v in cases.items() if "100,000" in k}, "at n = 100,000"),
        *_scaling(evidence.corpora.get("scaling")),
    ]  # fmt: skip
    note = f"Seconds to a gap of {GAP}, medians of three; a dash: not reached, or not asked."
    return [Part("Piecewise linear-quadratic losses", note, ("problem", "ours", *peers), rows, claims)]


def _is_text(case: str) -> bool:
    return any(one in case for one in ON_TEXT)


def _within(peer: str, most: float, cases: Mapping[str, Any], where: str) -> Claim:
    """How often our seconds are at most so many times a peer's, of all problems and gaps that both have."""
    ratios = [
        body["ours"][gap] / body[peer][gap]
        for body in cases.values()
        for gap in GAPS
        if isinstance(body.get(peer), dict) and body[peer].get(gap) and body["ours"].get(gap)
    ]
    met = sum(ratio <= most for ratio in ratios)
    found = f"{met} of {len(ratios)}; from {min(ratios):.2g} to {max(ratios):.2g} times" if ratios else "not measured"
    return Claim(f"At most {most:g} times {peer}'s seconds {where}, to 1e-4 and 1e-6", found, verdict(met, len(ratios)))


def _scaling(found: Mapping[str, Any] | None) -> list[Claim]:
    """Passes against entries, and the way of the two forms of coordinate descent."""
    if not found:
        return []
    powers = [found[kind]["exponent"] for kind in ("dense", "sparse")]
    own = found["convergence"]
    left, line = own["primal-dual"]["gap_a_sweep"], own["primal-dual"]["r_squared_of_the_line"]
    both = [own[form]["operations"] for form in ("pure", "primal-dual")]
    return [
        Claim("A pass costs as its entries, over three decades (the talk); goal: a power of at most 1.15",
              f"{powers[0]:.2f} dense, {powers[1]:.2f} sparse", verdict(sum(p <= LINEAR for p in powers), 2)),
        Claim("Linear convergence (the talk): R² of a straight line of the gap's logarithm at least 0.8",
              f"a sweep leaves {left:.1%} of the gap on average, R² {line:.2f}: the line steepens once the support is "
              "found", verdict(int(left < 1.0 and line >= _STRAIGHT), 1)),
        Claim("The primal-dual form needs O(nd) a sweep where the pure one needs O(n²) (the talk)",
              f"{own['n']:,} observations, {own['pure']['sweeps']} and {own['primal-dual']['sweeps']} sweeps: "
              f"{both[0]:.2g} and {both[1]:.2g} multiplications", verdict(int(both[1] < both[0] / _FEWER), 1)),
    ]  # fmt: skip
