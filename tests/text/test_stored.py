"""Texts and tokens on disk: what a list and arrays in memory are."""

from __future__ import annotations

import io
import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cflengine import CompressiveFeatures, Corpus
from cflengine.engine import mapped
from cflengine.engine.checks import InputError
from cflengine.text import Tokenizer, plain_tokens, read_corpus, stored
from cflengine.text.stored import StoredTexts

ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=20)  # lone surrogates, too
PARTS = st.slices(12)
CSV = "text,stars\n" + "".join(f'"Ein {i}. Haus, ein „Hof“; it\'s {i} 🙂",{i}\n' for i in range(300))


@given(st.lists(ANY_TEXT, max_size=12), PARTS, PARTS)
def test_it_is_a_sequence_as_a_list_is(texts, part, part_of_part):
    stored = StoredTexts(texts)
    assert list(stored) == texts and len(stored) == len(texts) and stored == texts
    assert [stored[d] for d in range(-len(texts), len(texts))] == texts * 2
    assert list(stored[part]) == texts[part] and stored[part] == texts[part]
    assert list(stored[part][part_of_part]) == texts[part][part_of_part]
    assert pickle.loads(pickle.dumps(stored)) == texts
    for d in (len(texts), -len(texts) - 1):
        with pytest.raises(IndexError, match="there are"):
            stored[d]


def test_it_grows_after_it_was_read_and_its_parts_do_not():
    stored = StoredTexts(["a", "", "ß"])
    part = stored[1:]
    assert list(stored) == ["a", "", "ß"]
    stored.append("new")
    assert list(stored) == ["a", "", "ß", "new"] and stored[-1] == "new" and list(part) == ["", "ß"]
    assert stored != ["a", "", "ß"] and stored != "aß" and [*part] == ["", "ß"]


def test_a_part_outlives_the_whole():
    part = StoredTexts(["first", "second", "third"])[1:]
    assert list(part) == ["second", "third"] and part[np.int64(1)] == "third"


def test_a_full_disk_is_one_sentence(monkeypatch):
    stored = StoredTexts(["a"])

    class Full:
        def write(self, _):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(stored, "_file", Full())
    with pytest.raises(InputError, match=r"the disk of .* is full"):
        stored.append("b")


def corpus_and_features(in_memory, monkeypatch):
    monkeypatch.setattr(mapped, "IN_MEMORY", in_memory)
    corpus = read_corpus(io.BytesIO(CSV.encode()), name="some.csv", text_column="text")
    model = CompressiveFeatures(sentence_borders=True).fit(corpus.texts)
    return corpus, model


def test_a_corpus_on_disk_is_the_same_corpus(monkeypatch):
    expected, in_memory = corpus_and_features(1 << 20, monkeypatch)
    corpus, on_disk = corpus_and_features(100, monkeypatch)
    assert isinstance(expected.texts, list) and isinstance(corpus.texts, StoredTexts)
    assert corpus.texts == expected.texts and corpus.digest == expected.digest
    assert corpus.n_characters == expected.n_characters and len(corpus.head(7).texts) == 7
    assert on_disk.corpus_.digest == in_memory.corpus_.digest
    assert (on_disk.features() != in_memory.features()).nnz == 0
    assert (on_disk.transform(corpus.texts) != in_memory.features()).nnz == 0


@pytest.mark.parametrize("pattern", [r"\w+|[^\w\s]", r"\w+(?:'\w+)?"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_tokens_on_disk_are_the_same_tokens(monkeypatch, pattern, lowercase):
    texts = CSV.split("\n")
    expected = plain_tokens(texts, pattern, lowercase=lowercase)
    monkeypatch.setattr(mapped, "IN_MEMORY", 1000)
    table = Tokenizer(pattern, lowercase)(StoredTexts(texts))
    for name in ("tokens", "doc_ptr", "start", "end"):
        np.testing.assert_array_equal(getattr(table, name), getattr(expected, name))
    assert table.vocabulary == expected.vocabulary and table.digest(3) == expected.digest(3)


@given(st.lists(st.integers(0, 40), max_size=6), st.sampled_from([0, 60, 10_000]))
def test_an_array_grows_in_memory_and_on_disk(sizes, in_memory):
    before, mapped.IN_MEMORY = mapped.IN_MEMORY, in_memory
    try:
        growing, parts = mapped.GrowingArray(np.int32), [np.arange(size, dtype=np.int32) - 3 for size in sizes]
        for part in parts:
            growing.append(part)
            part += 1  # what was added is a copy
        whole = growing.whole()
    finally:
        mapped.IN_MEMORY = before
    np.testing.assert_array_equal(whole, np.concatenate([np.zeros(0, np.int32), *parts]) - 1)
    assert whole.dtype == np.int32 and whole.flags.writeable


def test_columns_that_take_much_memory_wait_on_disk(monkeypatch):
    frame = pd.DataFrame(
        {"n": range(40), "gaps": pd.array([1, None] * 20, dtype="Int64"), "what": ["ab", None] * 20, "yes": [True] * 40,
         "when": pd.date_range("2020-01-01", periods=40), "x": np.linspace(0, 1, 40), "odd": [{"a": 1}, 2] * 20}
    )  # fmt: skip
    frame = pd.concat([frame, frame[["n"]]], axis=1)  # two columns of one name
    corpus = Corpus.from_texts([f"text {i}" for i in range(40)], metadata=frame)
    before, digest = corpus.metadata, corpus.digest
    with corpus.columns_aside():
        assert corpus.metadata is before, "small"
    monkeypatch.setattr(mapped, "IN_MEMORY", 100)
    with pytest.raises(KeyError), corpus.columns_aside():
        assert corpus.metadata.shape == (40, 0)
        raise KeyError
    pd.testing.assert_frame_equal(corpus.metadata, before)
    assert corpus.metadata is not before and corpus.digest == digest
    monkeypatch.setattr(stored, "nameless_file", partial(open, "/dev/full", "wb", buffering=0))
    with corpus.columns_aside():
        assert corpus.metadata.shape == (40, 8), "the disk is full: nothing is lost"
