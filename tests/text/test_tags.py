"""Entities in tags, against conlleval's rules, scheme by scheme."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cflengine.text.tagging.tags import SCHEMES, Score, convert, entities, evaluate, split_tag, tags_of


@st.composite
def sentences(draw):
    """(n, entities that do not overlap)."""
    n = draw(st.integers(0, 12))
    spans, at = [], 0
    while at < n:
        at += draw(st.integers(0, 2))
        length = draw(st.integers(1, 3))
        if at + length > n:
            break
        spans.append((at, at + length, draw(st.sampled_from(["PER", "LOC"]))))
        at += length
    return n, spans


@given(sentences(), st.sampled_from(SCHEMES))
def test_entities_survive_every_scheme(sentence, scheme):
    n, spans = sentence
    tags = tags_of(spans, n, scheme)
    assert entities(tags) == spans
    for other in SCHEMES:
        assert entities(convert(tags, other)) == spans
        assert convert(convert(tags, other), scheme) == tags


def test_iob1_uses_b_only_between_neighbours_of_a_kind():
    spans = [(0, 2, "PER"), (2, 3, "PER"), (3, 4, "LOC")]
    assert tags_of(spans, 5, "IOB1") == ["I-PER", "I-PER", "B-PER", "I-LOC", "O"]
    assert tags_of(spans, 5, "IOB2") == ["B-PER", "I-PER", "B-PER", "B-LOC", "O"]
    assert tags_of(spans, 5, "BIOES") == ["B-PER", "E-PER", "S-PER", "S-LOC", "O"]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (["I-PER", "I-LOC"], [(0, 1, "PER"), (1, 2, "LOC")]),  # another kind always begins anew
        (["O", "I-PER", "O"], [(1, 2, "PER")]),
        (["B-PER", "B-PER"], [(0, 1, "PER"), (1, 2, "PER")]),
        (["E-PER", "E-PER"], [(0, 1, "PER"), (1, 2, "PER")]),
        (["S-PER", "I-PER"], [(0, 1, "PER"), (1, 2, "PER")]),
        (["B-PER", "S-PER", "I-PER", "E-PER", "B-PER"], [(0, 1, "PER"), (1, 2, "PER"), (2, 4, "PER"), (4, 5, "PER")]),
        (["U-PER", "B-PER", "L-PER"], [(0, 1, "PER"), (1, 3, "PER")]),  # BILOU's names for the same
        (["NN", "VB", "-", "x-y"], []),
        (["B-A-B", "I-A-B"], [(0, 2, "A-B")]),
        ([], []),
    ],
)
def test_entities_by_conllevals_rules(tags, expected):
    assert entities(tags) == expected


def test_against_seqeval():
    metrics = pytest.importorskip("seqeval.metrics.sequence_labeling")
    import random

    generator = random.Random(0)
    alphabet = ["O", *(f"{p}-{k}" for p in "BIES" for k in ("PER", "LOC"))]
    for _ in range(500):
        tags = generator.choices(alphabet, k=generator.randint(1, 8))
        assert entities(tags) == [(a, b + 1, kind) for kind, a, b in metrics.get_entities(tags)]


def test_split_tag():
    assert split_tag("B-PER") == ("B", "PER") and split_tag("O") == ("O", "") == split_tag("") == split_tag("Q-PER")


def test_scores_by_hand():
    true = [["I-PER", "O", "I-LOC", "I-LOC"], ["O", "I-PER"]]
    guess = [["I-PER", "O", "I-LOC", "O"], ["I-ORG", "I-PER"]]
    found = evaluate(true, guess)
    assert found[""] == Score(right=2, predicted=4, true=3)
    assert found["PER"] == Score(2, 2, 2) and found["LOC"] == Score(0, 1, 1) and found["ORG"] == Score(0, 1, 0)
    assert (
        found[""].precision == 0.5 and found[""].recall == pytest.approx(2 / 3) and found[""].f1 == pytest.approx(4 / 7)
    )
    assert found["LOC"].f1 == 0.0 and Score(0, 0, 0).precision == Score(0, 0, 0).recall == Score(0, 0, 0).f1 == 0.0


def test_bad_input_is_said():
    with pytest.raises(ValueError, match="2 tags was given 1"):
        evaluate([["O", "O"]], [["O"]])
    with pytest.raises(ValueError, match="there are 1 sentences but tags of 2"):
        evaluate([["O"], ["O"]], [["O"]])
    with pytest.raises(ValueError, match="overlaps"):
        tags_of([(0, 2, "A"), (1, 3, "B")], 3, "IOB2")
    with pytest.raises(ValueError, match="scheme must be one of"):
        convert(["O"], "IOB3")
