"""The toy of the paper's Figure 1: letters instead of words, solved by the real solver."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pandas as pd

from cflengine import CompressiveFeatures

FIGURE_1 = "thatthat"
MAX_CHARACTERS = 60
LONGEST = 8  # letters of a piece
_LETTER = r"(?s)."


@dataclass(frozen=True)
class ToySolution:
    """A stored text: pieces in order of first use, pointers as (start, end, piece), cost, proved bound and gap."""

    dictionary: tuple[str, ...]
    pointers: tuple[tuple[int, int, int], ...]
    objective: float
    lower_bound: float
    gap: float
    optimal: bool

    @property
    def n_pointers(self) -> int:
        return len(self.pointers)


@lru_cache(maxsize=200)
def solve_toy(text: str, lam: float) -> ToySolution:
    """Compress one short text by letters; in the solver's thread, where it takes a blink."""
    model = CompressiveFeatures(lam=lam, max_gram=LONGEST, token_pattern=_LETTER, lowercase=False).fit([text])
    encoding = model.encoding_
    order = list(dict.fromkeys(encoding.gram.tolist()))
    spans = zip(encoding.start_char.tolist(), encoding.end_char.tolist(), encoding.gram.tolist(), strict=True)
    result = model.result_
    return ToySolution(
        tuple("".join(model.grams_[g]) for g in order),
        tuple((a, b, order.index(g)) for a, b, g in spans),
        result.objective,
        result.lower_bound,
        result.gap,
        result.optimal,
    )


def figure_table(text: str, lams: Sequence[float]) -> pd.DataFrame:
    """A row a λ: cost, dictionary, pointers, the cost of either and the proved bound."""
    rows = []
    for lam in lams:
        solution = solve_toy(text, lam)
        dictionary_cost = solution.objective - lam * solution.n_pointers
        rows.append(
            {
                "λ": f"{lam:g}",
                "cost": solution.objective,
                "dictionary": " · ".join(solution.dictionary),
                "text as pieces": " | ".join(solution.dictionary[p] for _, _, p in solution.pointers),
                "dictionary cost": dictionary_cost,
                "pointer cost": lam * solution.n_pointers,
                "proved lower bound": math.floor(1e4 * solution.lower_bound) / 1e4,
            }
        )
    return pd.DataFrame(rows)


def toy_view(text: str, solution: ToySolution) -> tuple[list[dict[str, Any]], dict[int, dict[str, Any]]]:
    """The text with its pieces, for the text view."""
    uses = [sum(p == piece for _, _, p in solution.pointers) for piece in range(len(solution.dictionary))]
    grams = {
        i: {"label": piece, "count": uses[i], "cost": float(len(piece))} for i, piece in enumerate(solution.dictionary)
    }
    pointers = {
        "start": [a for a, _, _ in solution.pointers],
        "end": [b for _, b, _ in solution.pointers],
        "gram": [p for _, _, p in solution.pointers],
        "length": [b - a for a, b, _ in solution.pointers],
    }
    return [{"title": "", "text": text, "pointers": pointers, "meta": ""}], grams
