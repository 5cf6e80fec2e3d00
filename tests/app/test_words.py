"""The app's own sentences about numbers."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from pages.parts.shared.words import proved_sentence


@pytest.mark.parametrize(
    ("gap", "optimal", "max_gram", "said"),
    [
        (6e-4, False, 3, "; no dictionary of phrases up to three words can do more than 0.060 % better (proved)."),
        (6e-4, True, 3, "; no dictionary of phrases up to three words can do any better (proved)."),
        (0.01, False, 1, "; no dictionary of single words can do more than 1.00 % better (proved)."),
        (math.inf, False, 3, "; how much better another dictionary could do is not proved yet."),
    ],
)
def test_the_sentence_says_what_is_proved(gap, optimal, max_gram, said):
    result = SimpleNamespace(dictionary_size=1_200, gap=gap, optimal=optimal)
    parts = proved_sentence(result, max_gram, 1, "review")
    assert "".join(part for part, _ in parts) == "1 review is built from 1,200 pieces" + said
    assert ("1,200 pieces", True) in parts
