"""How the app feels, beside what was asked of it."""

from __future__ import annotations

from benchmarks.evidence.page import DOES_NOT, HOLDS, Claim, Evidence, Part

ASKED = (
    ("first screen", "median of five more, s", 2.0, "First screen within 2 s"),
    ("first screen", "first visit, s", 2.0, "First screen within 2 s on the first visit"),
    ("sample", "slider to new text, median ms", 100.0, "Slider to new text within 0.1 s (sample)"),
    ("larger", "slider to new text, median ms", 100.0, "Slider to new text within 0.1 s (2 million tokens)"),
    ("sample", "slider to new text, 95 % ms", 250.0, "Slider to new text within 0.25 s, 95 % (sample)"),
    ("sample", "page switch, median s", 0.5, "Page switch within 0.5 s (sample)"),
    ("larger", "page switch, median s", 0.5, "Page switch within 0.5 s (2 million tokens)"),
    ("larger", "Stop, s", 1.0, "Stop within a second (2 million tokens)"),
)


def parts(evidence: Evidence) -> list[Part]:
    """What was asked, measured."""
    claims = [
        Claim(said, f"{evidence.corpora[case][key]:.3g} {key.split()[-1]}",
              HOLDS if evidence.corpora[case][key] <= most else DOES_NOT)
        for case, key, most, said in ASKED
        if key in evidence.corpora.get(case, {})
    ]  # fmt: skip
    return [
        Part("The app", "Headless Chromium, drawing in software, on the same two cores as the server.", claims=claims)
    ]
