"""Clustered L-BFGS (ICDM 2006) on chain CRFs, beside plain L-BFGS and python-crfsuite."""

from __future__ import annotations

from benchmarks.evidence.page import Claim, Evidence, Part, seconds, verdict


def parts(evidence: Evidence) -> list[Part]:
    """Seconds and passes to the end of each solver."""
    rows, fewer, faster = [], [], []
    for case, body in evidence.cases().items():
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
    return [Part("Chain CRF: clustered L-BFGS beside its peers", "CoNLL 2003.", head, rows, claims)]
