"""The witness function: which words tell two classes apart, and to which of them each pulls.

The function of norm 1 whose means differ most is h = (μ_a − μ_b) / ‖μ_a − μ_b‖, μ_c(v) = (𝐊P_c)_v / N_c. Of a word,
h > 0 says that words of its neighbourhood are likelier in class a, h < 0 in class b. What a word of relative
frequencies f_a, f_b adds to the distance ‖μ_a − μ_b‖ is (f_a − f_b) h: these contributions sum to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from cflengine.embedding.pairs import PairSums


def witness_values(sums: PairSums, a: int = 0, b: int = 1) -> np.ndarray:
    """float64 (V,): h of two classes; zeros where both have the same mean."""
    n = sums.laws.sizes
    difference = sums.KP[:, a] / n[a] - sums.KP[:, b] / n[b]
    X = sums.between
    squared = X[a, a] / n[a] ** 2 - 2.0 * X[a, b] / (n[a] * n[b]) + X[b, b] / n[b] ** 2
    return difference / np.sqrt(squared) if squared > 0 else np.zeros_like(difference)


def witness_frame(sums: PairSums, words: Sequence[str], classes: Sequence[Any], a: int = 0, b: int = 1) -> pd.DataFrame:
    """A row a word, the largest contribution first: word, the class it pulls to, witness, contribution, frequency in
    each class (shares of the words of a document, averaged)."""
    h = witness_values(sums, a, b)
    shares = sums.laws.sums / sums.laws.sizes
    names = [str(classes[a]), str(classes[b])]
    frame = pd.DataFrame(
        {
            "word": list(words),
            "class": np.where(h >= 0, names[0], names[1]),
            "witness": h,
            "contribution": (shares[:, a] - shares[:, b]) * h,
            f"share in {names[0]}": shares[:, a],
            f"share in {names[1]}": shares[:, b],
        }
    )
    order = np.argsort(-frame["contribution"].to_numpy(), kind="stable")
    return frame.iloc[order].reset_index(drop=True)
