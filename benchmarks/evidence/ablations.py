"""What each part of the guided solver is worth (docs/experiments.md)."""

from __future__ import annotations

from benchmarks.evidence.page import Claim, Evidence, Part, seconds, share, verdict

_SAME = 1.02  # gaps that differ by less are the same: the search draws at random
_OFF = ("without over-relaxation", "without the search before annealing", "without annealing",
        "without taking up the relaxation again")  # fmt: skip


def parts(evidence: Evidence) -> list[Part]:
    """A row a variant; a claim for each part that can be left out."""
    variants = evidence.corpora["variants"]
    usual = variants["as it is"]
    rows = [
        (name, *(seconds(at) for at in row["seconds_to"].values()), share(row["gap"], 3), f"{row['steps']:,.0f}")
        for name, row in variants.items()
    ]
    marks = [f"s to {share(float(mark))}" for mark in usual["seconds_to"]]
    worse = [variants[name]["gap"] / usual["gap"] for name in _OFF]
    claims = [
        Claim(
            "Each of over-relaxation, the early search, annealing and the relaxation taken up again lowers the gap "
            "that is proved in this time",
            ", ".join(f"{name}: {ratio:.2f} times" for name, ratio in zip(_OFF, worse, strict=True)),
            verdict(sum(ratio > _SAME for ratio in worse), len(worse)),
        )
    ]
    options = evidence.document["options"]
    note = (
        f"The first {options['documents']:,} documents of {options['corpus']}, {evidence.corpora['tokens']:,} tokens, "
        f"K = {options['max_gram']}, λ = 1, {options['limit']:g} s each; medians of {options['repeats']} turns."
    )
    return [Part("Compression: what each part of the guided solver is worth", note,
                 ("variant", *marks, "proved gap", "steps"), rows, claims)]  # fmt: skip
