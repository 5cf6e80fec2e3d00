"""ReHLine's problems: seconds to the same proved gap."""

from __future__ import annotations

from benchmarks.evidence.page import Claim, Evidence, Part, seconds, verdict

GAP = "1e-06"


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
        )
    ]  # fmt: skip
    note = f"Seconds to a gap of {GAP}, medians of three; a dash: not reached, or not asked."
    return [Part("Piecewise linear-quadratic losses", note, ("problem", "ours", *peers), rows, claims)]
