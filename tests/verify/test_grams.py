"""K-grams as numpy finds them in texts: what the compiled programme finds, in equal cases too."""

from __future__ import annotations

import itertools
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cflengine import CompressiveFeatures
from cflengine.compression.codebook import Codebook
from cflengine.compression.fitted import FittedFeatures
from cflengine.linear.persistence import to_parts
from cflengine.text.tokens import Tokenizer
from cflengine.verify import FalseResult, grams
from cflengine.verify.grams import PlainGrams

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d.", "E"]), max_size=14).map(" ".join)


def plain(model: FittedFeatures) -> PlainGrams:
    header, arrays = to_parts(model)
    return PlainGrams.of("model.cflm", header, arrays)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(WORDS.filter(str.split), min_size=1, max_size=6), st.lists(WORDS, min_size=1, max_size=4),
    st.sampled_from([0.0, 0.1, 0.3, 1.0, 2.7]), st.integers(1, 5), st.sampled_from(["pointers", "occurrences", "soft"]),
    st.booleans(), st.sampled_from([0, 2, 16]),
)  # fmt: skip
def test_counts_are_those_of_the_estimator(texts, others, lam, max_gram, counting, borders, alone):
    model = CompressiveFeatures(lam=lam, max_gram=max_gram, counting=counting, sentence_borders=borders).fit(texts)
    found = plain(model)
    with patch.object(grams, "_ALONE", alone):  # by numpy, and segments by themselves
        for some in (texts, others, [*others, " ".join(others)]):
            counts = found.counts(some)
            np.testing.assert_allclose(counts.toarray(), model.transform(some).toarray(), atol=1e-12)
        ours = found.encode(others)
    own = model.encode(others)
    known = own.gram >= 0
    for name in ("document", "start_char", "end_char", "gram"):
        assert getattr(ours, name).tolist() == getattr(own, name)[known].tolist()


def test_a_long_document_is_encoded_as_if_it_were_not_cut():
    """Sums of costs are rounded otherwise where a block begins, and equal encodings are equal even so."""
    rng = np.random.default_rng(42)
    by_length, literal = 0.1 * np.array([1.0, 1.1, 1.3]), 0.1 * 1.1
    text = " ".join(rng.choice([*"abcxy"], 20_000, p=[0.3, 0.3, 0.2, 0.1, 0.1]))
    every = [gram for k in (1, 2, 3) for gram in itertools.product("abcx", repeat=k)]
    for _ in range(10):
        chosen = [every[i] for i in rng.choice(len(every), 14, replace=False)]
        encoding, cost = Codebook(chosen, by_length, literal).encode(Tokenizer()([text]))
        ours = PlainGrams({"token_pattern": r"\w+", "lowercase": True}, list(map(list, chosen)), by_length, literal)
        found, known = ours.encode([text]), encoding.gram >= 0
        assert found.gram.tolist() == encoding.gram[known].tolist()
        assert found.start_char.tolist() == encoding.start_char[known].tolist()
        pointers = by_length[encoding.length[known] - 1].sum()
        assert cost == pytest.approx(pointers + literal * (~known).sum(), rel=1e-12)


def test_what_finds_no_words_is_refused():
    header, arrays = to_parts(CompressiveFeatures().fit(["a b a b", "a b"]))
    for changes in ({"kind": "subwords"}, {"parameters": header["parameters"] | {"tokens": "subword"}},
                    {"grams": [["a"], ["a"]]}, {"grams": [["a"] * 4]}, {"grams": [[]]}):  # fmt: skip
        with pytest.raises(FalseResult):
            PlainGrams.of("model.cflm", header | changes, arrays)
