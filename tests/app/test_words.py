"""The app's own sentences about numbers."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from pages.parts.read.points import note
from pages.parts.shared.bar import address
from pages.parts.shared.words import in_tags, proved_sentence


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


def test_what_storing_costs_is_the_least_where_that_is_proved():
    facts = {"n_pointers": 2, "cover": np.ones(4, dtype=np.uint8), "objective": 10.0, "lower_bound": 9.0}
    said = [note(SimpleNamespace(result=SimpleNamespace(**facts, optimal=optimal))) for optimal in (False, True)]
    assert said[0].endswith("costs 10, and cannot cost less than 9.")
    assert said[1].endswith("costs 10, and cannot cost less.")


def test_a_shared_address_has_the_parameters_of_the_page():
    assert address("http://host:8501/tasks", {"corpus": "a1", "k": "4"}) == "http://host:8501/tasks?corpus=a1&k=4"
    assert address("http://host/", {}) == "http://host/" and address("", {"k": "2"}) == "?k=2"


def test_a_note_stands_within_its_span_on_the_line_of_its_last_word():
    shown = in_tags("a <b> mass-produced", [(2, 5, "LOC"), (3, 6, "left out"), (6, 11, "")], "mark")
    assert shown == "a <mark>&lt;b&gt;<sub>\u00a0LOC</sub></mark> <mark>mass-</mark>produced"
