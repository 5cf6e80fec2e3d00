"""The app's own sentences about numbers."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from pages.parts.read.points import note
from pages.parts.shared.bar import address
from pages.parts.shared.solution import _is_better
from pages.parts.shared.words import at_least, gap_text, gap_words, in_tags, proved_sentence, shortly_before


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


@pytest.mark.parametrize(
    ("value", "digits", "said"),
    [
        (86_092.68856, 0, "86,092"), (86_092.68856, 1, "86,092.6"), (0.29, 2, "0.29"), (1.005, 2, "1.00"),
        (1234.0, 0, "1,234"), (-1.2, 0, "-2"), (math.inf, 0, "–"), (math.nan, 0, "–"),
    ],
)  # fmt: skip
def test_a_bound_is_rounded_down(value, digits, said):
    assert at_least(value, digits) == said


def test_what_storing_costs_is_the_least_where_that_is_proved():
    facts = {"n_pointers": 2, "cover": np.ones(4, dtype=np.uint8), "objective": 10.0, "lower_bound": 9.0}
    results = [SimpleNamespace(**facts, optimal=optimal) for optimal in (False, True)]
    said = [note(SimpleNamespace(result=result, mean_length=2.5)) for result in results]
    assert said[0].startswith("2 uses of 2.50 words on average")
    assert said[0].endswith("costs 10, and cannot cost less than 9.")
    assert said[1].endswith("costs 10, and cannot cost less.")


def test_a_gap_is_never_said_to_be_smaller_than_it_is():
    gaps = np.append(np.geomspace(1e-7, 2.0, 300), [0.000448, 0.0043, 0.001, 0.07, 0.5])
    for gap in gaps.tolist():
        for said in (gap_text(gap), gap_words(gap)):
            number = float(said.removeprefix("under ").removesuffix(" %").replace(",", ""))
            assert number >= 100 * gap * (1 - 1e-9) and number <= max(1.02 * 100 * gap, 0.001) + 0.01, said
    assert [gap_text(gap) for gap in (0.000448, 0.5, 0.0, np.nan, 1e-9)] == ["0.045 %", "50.00 %", "0 %", "–",
                                                                            "under 0.001 %"]  # fmt: skip


def test_a_worse_solve_does_not_take_the_place_of_the_paths_solution():
    def model(objective: float, gap: float, **others: object) -> SimpleNamespace:
        own = {"lam": 1.0, "max_gram": 3, "plain_cost": None} | others
        return SimpleNamespace(result_=SimpleNamespace(objective=objective, gap=gap), **own)

    point = SimpleNamespace(lam=1.0, result=SimpleNamespace(objective=64_259.0, gap=0.00044))
    assert _is_better(point, 3, model(64_265.0, 0.00069)) and _is_better(point, 3, model(64_259.0, 0.0069))
    assert not _is_better(point, 3, model(64_259.0, 0.00044)) and not _is_better(point, 3, model(64_200.0, 0.01))
    for other in ({"lam": 2.0}, {"max_gram": 4}, {"plain_cost": 1.0}):
        assert not _is_better(point, 3, model(64_265.0, 0.00069, **other))


def test_a_shared_address_has_the_parameters_of_the_page():
    assert address("http://host:8501/tasks", {"corpus": "a1", "k": "4"}) == "http://host:8501/tasks?corpus=a1&k=4"
    assert address("http://host/", {}) == "http://host/" and address("", {"k": "2"}) == "?k=2"


def test_a_note_stands_within_its_span_on_the_line_of_its_last_word():
    shown = in_tags("a <b> mass-produced", [(2, 5, "LOC"), (3, 6, "left out"), (6, 11, "")], "mark")
    assert shown == "a <mark>&lt;b&gt;<sub>\u00a0LOC</sub></mark> <mark>mass-</mark>produced"


def test_a_text_is_read_from_shortly_before_a_place_on():
    text = "word " * 200 + "here it is, " + "word " * 200
    at = text.index("here")
    begin = shortly_before(text, at)
    assert 0 < begin < at <= begin + 300 and text[begin - 1] == " "
    assert shortly_before(text, 299) == 0 and shortly_before("x" * 900, 800) == 500
    shown = in_tags(text, [(0, 4, ""), (at, at + 4, "")], "mark", 400, begin=begin)
    assert shown.startswith("… word") and "<mark>here</mark> it is" in shown and shown.endswith(" …")
    assert shown.count("<mark>") == 1 and len(shown) < 430
