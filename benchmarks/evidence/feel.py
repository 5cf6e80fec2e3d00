"""How the app feels, beside what was asked of it."""

from __future__ import annotations

import numpy as np

from benchmarks.evidence.page import DOES_NOT, HOLDS, Claim, Evidence, Part

FLAT = 0.05  # of itself
ASKED = (
    ("first screen", "median of five more, s", 2.0, "First screen within 2 s"),
    ("first screen", "first visit, s", 2.0, "First screen within 2 s on the first visit"),
    ("sample", "slider to new text, median ms", 100.0, "Slider to new text within 0.1 s (sample)"),
    ("larger", "slider to new text, median ms", 100.0, "Slider to new text within 0.1 s (2 million tokens)"),
    ("sample", "slider to new text, 95 % ms", 250.0, "Slider to new text within 0.25 s, 95 % (sample)"),
    ("larger", "slider to new text, 95 % ms", 250.0, "Slider to new text within 0.25 s, 95 % (2 million tokens)"),
    ("sample", "page switch, median s", 0.5, "Page switch within 0.5 s, median (sample)"),
    ("larger", "page switch, median s", 0.5, "Page switch within 0.5 s, median (2 million tokens)"),
    ("sample", "page switch, 95 % s", 0.5, "Page switch within 0.5 s, 95 % (sample)"),
    ("larger", "page switch, 95 % s", 0.5, "Page switch within 0.5 s, 95 % (2 million tokens)"),
    ("larger", "Stop, s", 1.0, "Stop within a second (2 million tokens)"),
)


def parts(evidence: Evidence) -> list[Part]:
    """What was asked, measured."""
    note = "Headless Chromium, drawing in software, on the same two cores as the server."
    return [Part("The app", note, claims=_claims(evidence))]


def _claims(evidence: Evidence) -> list[Claim]:
    return [
        Claim(said, f"{evidence.corpora[case][key]:.3g} {key.split()[-1]}",
              HOLDS if evidence.corpora[case][key] <= most else DOES_NOT)
        for case, key, most, said in ASKED
        if key in evidence.corpora.get(case, {})
    ]  # fmt: skip


def hour_parts(evidence: Evidence) -> list[Part]:
    """Memory over an hour of use, in medians of its tenths, how much it grows over the second half, and what was asked
    as that run had it."""
    memory = evidence.corpora["memory"]
    rows, claims = [], _claims(evidence)
    for name in ("server", "tab"):
        rows.append((name, *(f"{np.median(part):,.0f}" for part in np.array_split(np.array(memory[name]), 10))))
        grown = memory[f"{name} grows, MiB a round"] * len(memory[name]) / 2 / float(np.median(memory[name]))
        claims.append(
            Claim(f"Memory of the {name} is flat over an hour: the line through the second half rises by "
                  f"{100 * FLAT:.0f} % at most", f"{100 * grown:+.1f} %", HOLDS if grown <= FLAT else DOES_NOT)
        )  # fmt: skip
    note = (
        f"{memory['rounds']:,} rounds in {memory['minutes']:.0f} minutes, each through seven pages, the slider and a "
        "classifier learnt. MiB, medians of the tenths of the hour: resident memory of the server, which compiled its "
        "kernels at the start of it, and the heap of the tab, as the browser left it uncollected."
    )
    return [Part("The app: an hour of use", note, ("", *(f"{k}" for k in range(1, 11))), rows, claims)]
