"""Repeated passages against a search by strings, a document's cost given the others against a plain programme."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cflengine import CompressiveFeatures
from cflengine.compression import cost_given_others, repeated_passages, without_passages
from cflengine.engine.progress import Stopped
from cflengine.text.tokens import Tokenizer

DOCUMENTS = st.lists(st.lists(st.sampled_from("abc"), max_size=40).map(" ".join), min_size=1, max_size=6)


def naive_fresh(documents: list[list[str]], least: int) -> list[list[bool]]:
    """Which tokens stand in no run of ``least`` or more that an earlier document has."""
    found = []
    for d, words in enumerate(documents):
        fresh = [True] * len(words)
        for a in range(len(words) - least + 1):
            run = words[a : a + least]
            if any(run == other[b : b + least] for other in documents[:d] for b in range(len(other) - least + 1)):
                fresh[a : a + least] = [False] * least
        found.append(fresh)
    return found


@given(DOCUMENTS)
@settings(max_examples=200)
def test_whatever_an_earlier_document_has_is_found(texts):
    table = Tokenizer()(texts)
    found = repeated_passages(table, 8)
    words = [table.words(d) for d in range(len(texts))]
    assert found.fresh.tolist() == [one for document in naive_fresh(words, 8) for one in document]
    for d, source, a, m in zip(found.document, found.source, found.start, found.length, strict=True):
        assert source < d and m >= 8
        run = [table.vocabulary[t] for t in table.tokens[a : a + m]]
        assert any(run == words[source][b : b + m] for b in range(len(words[source]) - m + 1))
    share = found.repeated_share(table.doc_ptr)
    assert share.tolist() == pytest.approx([1 - np.mean(one) if one else 0 for one in naive_fresh(words, 8)])


@given(DOCUMENTS)
@settings(max_examples=200)
def test_a_passage_is_counted_wherever_it_stands(texts):
    table = Tokenizer()(texts)
    found = repeated_passages(table, 8)
    words = [table.words(d) for d in range(len(texts))]
    for row in found.frame(table.doc_ptr).to_dict("records"):
        a, m = int(found.start[found.group == row["group"]][0]), row["words"]
        run, places = [table.vocabulary[t] for t in table.tokens[a : a + m]], []
        for d, document in enumerate(words):
            b = 0
            while b <= len(document) - m:
                here = document[b : b + m] == run
                places += [(d, b)] * here
                b += m if here else 1
        assert found.places(row["group"]).tolist() == [table.doc_ptr[d] + b for d, b in places]
        assert (row["times"], row["documents"]) == (len(places), len({d for d, _ in places}))


@given(DOCUMENTS, st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0]))
@settings(max_examples=200)
def test_documents_stay_by_what_those_before_them_that_stay_have(texts, most):
    table = Tokenizer()(texts)
    stays, fresh = repeated_passages(table, 8).staying(table.doc_ptr, most)
    kept: list[list[str]] = []
    for d in range(len(texts)):
        words = table.words(d)
        own = naive_fresh([*kept, words], 8)[-1]
        assert fresh[table.doc_ptr[d] : table.doc_ptr[d + 1]].tolist() == own
        assert stays[d] == (not words or own.count(False) / len(words) <= most)
        if stays[d]:
            kept.append(words)


def test_what_is_left_out_with_a_document_stays_in_the_next_that_has_it():
    a, b = (" ".join(f"{name}{k}" for k in range(size)) for name, size in (("a", 100), ("b", 20)))
    table = Tokenizer()([a, f"{a} {b}", f"{b} {a}", b, b])
    stays, fresh = repeated_passages(table, 12).staying(table.doc_ptr, 0.8)
    assert stays.tolist() == [True, False, False, True, False] and fresh[-40:-20].all() and not fresh[-20:].any()


def test_passages_are_as_long_as_can_be_and_counted():
    signed = "yours truly john smith from the small office at the lake"
    texts = [f"one {signed}", f"two dogs {signed} now", "nothing here", f"three {signed}", signed]
    table = Tokenizer()(texts)
    found = repeated_passages(table, 10)
    assert found.length.tolist() == [11, 11, 11] and found.document.tolist() == [1, 3, 4]
    assert found.source.tolist() == [0, 1, 3]
    (row,) = found.frame(table.doc_ptr).to_dict("records")
    assert (row["words"], row["times"], row["documents"], row["saved"]) == (11, 4, 4, 33)
    assert not len(repeated_passages(table, 12)) and repeated_passages(table, 12).fresh.all()


def test_a_passage_that_a_later_document_has_in_part_is_found_whole():
    words = [f"w{k}" for k in range(15)]
    texts = [" ".join(words), " ".join(["x", *words[4:12], "y"]), " ".join(words)]
    found = repeated_passages(Tokenizer()(texts), 12)
    assert found.length.tolist() == [15] and found.source.tolist() == [0]
    found = repeated_passages(Tokenizer()(texts), 8)
    assert found.length.tolist()[:1] == [8] and not found.fresh[-15:].any()


def test_too_short_passages_are_refused_and_a_stop_is_heard():
    table = Tokenizer()(["a b c"])
    with pytest.raises(ValueError, match="at least 8 words"):
        repeated_passages(table, 7)
    with pytest.raises(Stopped):
        repeated_passages(table, 8, poll=lambda: False)


def test_nothing_to_look_at():
    for texts in ([""], ["", ""], ["a"], ["a b c d e f g h"]):
        assert not len(repeated_passages(Tokenizer()(texts), 8))


def naive_cost(words: list[str], others: set[tuple[str, ...]], lam: float, max_gram: int) -> float:
    """The cheapest cover: λ a K-gram that the others use, λ + its words for any other."""
    best = [0.0]
    for i in range(1, len(words) + 1):
        ways = []
        for k in range(1, min(max_gram, i) + 1):
            gram = tuple(words[i - k : i])
            price = lam + (0 if gram in others else k)
            ways += [best[j] + price for j in range(i - k, i)]
        best.append(min(ways))
    return best[-1]


@pytest.mark.parametrize("lam", [0.4, 1.0, 3.0])
def test_cost_given_others_is_the_cheapest_cover(lam):
    rng = np.random.default_rng(5)
    texts = [" ".join(rng.choice(list("abcdef"), rng.integers(0, 14))) for _ in range(14)] + ["a b c d e f a b"] * 2
    model = CompressiveFeatures(lam=lam, max_gram=3).fit(texts)
    index, cover = model.index_, model.result_.cover
    found = cost_given_others(model.table_, index, cover, lam, index.lengths().astype(np.float64))
    encoding = model.encoding_
    users = {}
    for d, gram in zip(encoding.document.tolist(), encoding.gram.tolist(), strict=True):
        users.setdefault(model.grams_[gram], set()).add(d)
    for d, text in enumerate(texts):
        others = {gram for gram, by in users.items() if by - {d}}
        assert found[d] == pytest.approx(naive_cost(text.split(), others, lam, 3)), d


@given(st.text("ab \n", max_size=30), st.data())
def test_what_is_cut_out_is_gone_and_the_rest_stays(text, data):
    borders = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    spans = list(zip(borders[::2], borders[1::2], strict=False))
    kept = "".join(char for i, char in enumerate(text) if not any(a <= i < e for a, e in spans))
    assert "".join(without_passages(text, spans).split()) == "".join(kept.split())
    assert without_passages(text, []) == text
