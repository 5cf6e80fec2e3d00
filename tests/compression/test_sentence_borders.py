"""K-grams that stay within sentences: the index, every solver's result, new documents, counts and files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cflengine import CompressiveFeatures, load_model, save_model
from cflengine.compression import cost_given_others
from cflengine.compression.analysis.cross import part_of
from cflengine.text.sentences import sentence_spans
from cflengine.text.token_table import plain_tokens
from cflengine.text.tokens import Tokenizer

TEXTS = ["It rains. It rains again! The end.", "", "The end. It rains", "one\n\ntwo three. It rains. The end."] * 5
words = st.sampled_from(["a", "b.", "C", "d?", "\n\n", "Mr.", "  "])


def crossing(text: str, start: int, end: int) -> bool:
    """Whether characters start to end are in more than one sentence."""
    return not any(a <= start and end <= b for a, b in sentence_spans(text).tolist())


@given(st.lists(st.lists(words, max_size=12).map(" ".join), max_size=4))
def test_borders_are_those_of_sentences_and_documents(texts):
    table = Tokenizer(sentence_borders=True)(texts)
    plain = plain_tokens(texts, sentence_borders=True)
    assert table.segment_ptr.tolist() == plain.segment_ptr.tolist()
    starts = set()
    for d, text in enumerate(texts):
        a, e = table.doc_ptr[d], table.doc_ptr[d + 1]
        spans = sentence_spans(text)
        starts |= {
            int(a + np.flatnonzero(table.start[a:e] >= s)[0]) for s in spans[:, 0] if (table.start[a:e] >= s).any()
        }
    assert set(table.segment_ptr.tolist()) == starts | set(table.doc_ptr.tolist())


@pytest.mark.parametrize("solver", ["guided", "homotopy", "reweighting", "exact"])
def test_no_pointer_crosses_the_end_of_a_sentence(solver):
    model = CompressiveFeatures(0.5, 4, solver, sentence_borders=True).fit(TEXTS)
    loose = CompressiveFeatures(0.5, 4, solver).fit(TEXTS)

    def crosses(found: CompressiveFeatures) -> int:
        rows = found.encoding_.to_frame().itertuples()
        return sum(crossing(TEXTS[row.document], row.start_char, row.end_char) for row in rows)

    assert crosses(model) == 0 < crosses(loose)
    assert model.encoding_.n_documents == model.features().shape[0] == len(TEXTS)
    assert model.result_.lower_bound > loose.result_.lower_bound
    assert model.decode(model.encoding_) == [model.table_.words(d) for d in range(len(TEXTS))]


@pytest.mark.parametrize("counting", ["pointers", "occurrences", "soft"])
def test_new_documents_are_read_like_the_old(counting, tmp_path):
    model = CompressiveFeatures(0.5, 4, sentence_borders=True, counting=counting).fit(TEXTS)
    own, again = model.features(), model.transform(TEXTS)
    if counting != "pointers":  # of equally cheap encodings a new document may get another one
        assert np.abs((own - again).toarray()).max() < 1e-9
    new = model.encode(["The end. It rains again. It", "rains"]).to_frame()
    assert not any(
        crossing("The end. It rains again. It", r.start_char, r.end_char) for r in new[new.document == 0].itertuples()
    )
    save_model(model, tmp_path / "m.cflm")
    loaded = load_model(tmp_path / "m.cflm")
    assert loaded.sentence_borders and (loaded.transform(TEXTS) != again).nnz == 0


def test_parts_and_costs_of_documents():
    table = plain_tokens(TEXTS, sentence_borders=True)
    part = part_of(table, np.array([3, 1, 0]))
    alone = plain_tokens([TEXTS[3], TEXTS[1], TEXTS[0]], sentence_borders=True)
    assert part.segment_ptr.tolist() == alone.segment_ptr.tolist()
    model = CompressiveFeatures(0.5, 4, sentence_borders=True).fit_tokens(table)
    cost = cost_given_others(table, model.index_, model.result_.cover, 0.5, model.index_.lengths().astype(float))
    assert cost.shape == (len(TEXTS),) and cost[1] == 0 < cost[0]
    assert table.digest(3) != plain_tokens(TEXTS).digest(3)
