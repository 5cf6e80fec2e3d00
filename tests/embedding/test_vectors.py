"""Vectors from files: what can be read, and one sentence for what cannot."""

from __future__ import annotations

import gzip
import io
import os
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cflengine.embedding.learnt import cooccurrences, learn_vectors
from cflengine.embedding.vectors import VectorsError, word_vectors, write_text
from cflengine.engine.progress import Stopped

WORDS = ["ale", "bock", "cider", "dunkel"]
M = np.arange(12, dtype=np.float64).reshape(4, 3) / 7


def npz(path, **arrays):
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("kind", ["text", "headed", "gz", "npz", "npz beside", "mapping", "arrays", "float16"])
def test_every_kind_gives_the_words_asked_for(tmp_path, kind):
    lines = "".join(f"{word} {' '.join(map(repr, row.tolist()))}\n" for word, row in zip(WORDS, M, strict=True))
    path = tmp_path / "vectors.txt"
    if kind == "text":
        path.write_text(lines)
    elif kind == "headed":
        path.write_text(f"4 3\n{lines}")
    elif kind == "gz":
        path = tmp_path / "vectors.txt.gz"
        path.write_bytes(gzip.compress(lines.encode()))
    elif kind == "npz":
        path = npz(tmp_path / "v.npz", words=np.array(WORDS), vectors=M)
    elif kind == "float16":
        path = npz(tmp_path / "v.npz", words=np.array(WORDS), vectors=M.astype(np.float16))
    elif kind == "npz beside":
        path = npz(tmp_path / "v.npz", vectors=M)
        with gzip.open(tmp_path / "words.txt.gz", "wt", encoding="utf-8") as file:
            file.write("\n".join(WORDS) + "\n")
    source = {"mapping": dict(zip(WORDS, M, strict=True)), "arrays": (WORDS, M)}.get(kind, path)
    found = word_vectors(source, ["stout", "dunkel", "ale"])
    assert found.words == ("dunkel", "ale")
    assert found.n_asked == 3
    np.testing.assert_allclose(found.M, M[[3, 0]], atol=1e-3 if kind == "float16" else 0)


def test_words_with_spaces_and_words_twice(tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("ale 1 2\nat home 3 4\nale 5 6\n")
    found = word_vectors(path, ["at home", "ale"])
    np.testing.assert_array_equal(found.M, [[3, 4], [1, 2]])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ale 1 2\nbock 3\n", "line 2 of v.txt has 1 numbers, others have 2"),
        ("ale 1 two\n", "no number"),
        ("5 2\nale 1 2\n", "promises 5 vectors and holds 1"),
        ("ale 1 nan\n", "'ale' holds NaN"),
        ("ale 1 inf\n", "'ale' holds NaN or an infinite"),
        ("stout 1 2\n", "none of the 4 words has a vector"),
        ("", "none of the 4 words"),
        ("ale\n", "no text of vectors"),
        ("\x00\x01\x02", "no text of vectors"),
    ],
)
def test_text_that_is_no_vectors(tmp_path, text, said):
    path = tmp_path / "v.txt"
    path.write_text(text)
    with pytest.raises(VectorsError, match=said):
        word_vectors(path, WORDS)


def test_a_line_without_end(tmp_path):
    path = tmp_path / "v.txt"
    path.write_bytes(b"a" * (3 << 20))
    with pytest.raises(VectorsError, match="no text of vectors"):
        word_vectors(path, WORDS)


def test_files_that_are_cut_off(tmp_path):
    whole = gzip.compress(b"".join(b"w%d 1 2 3\n" % k for k in range(20_000)), 1)
    path = tmp_path / "v.txt.gz"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(VectorsError, match="cut off or damaged"):
        word_vectors(path, WORDS)
    data = io.BytesIO()
    np.savez(data, words=np.array(WORDS), vectors=M)
    other = tmp_path / "v.npz"
    other.write_bytes(data.getvalue()[:-40])
    with pytest.raises(VectorsError, match="cut off or damaged"):
        word_vectors(other, WORDS)


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"words": np.array(WORDS)}, "no array 'vectors'"),
        ({"vectors": M}, "beside it is no words.txt"),
        ({"words": np.array(WORDS[:2]), "vectors": M}, "do not fit together"),
        ({"words": np.array(WORDS), "vectors": M[0]}, "do not fit together"),
        ({"words": np.array(WORDS), "vectors": M.astype("S3")}, "do not fit together"),
        ({"words": np.ones(4), "vectors": M}, "must be a list of words"),
    ],
)
def test_arrays_that_are_no_vectors(tmp_path, arrays, said):
    with pytest.raises(VectorsError, match=said):
        word_vectors(npz(tmp_path / "v.npz", **arrays), WORDS)


def test_arrays_by_columns_are_read(tmp_path):
    some, plain = WORDS[1:3], word_vectors(npz(tmp_path / "c.npz", words=np.array(WORDS), vectors=M), WORDS[1:3])
    for kind in (np.float64, np.float32):
        path = npz(tmp_path / "v.npz", words=np.array(WORDS), vectors=np.asfortranarray(M.astype(kind)))
        found = word_vectors(path, some)
        assert found.words == plain.words
        np.testing.assert_allclose(found.M, plain.M, rtol=1e-6)


def test_no_pickle_is_ever_read(tmp_path):
    path = tmp_path / "v.npz"
    np.savez(path, words=np.array([*WORDS], dtype=object), vectors=M)
    with pytest.raises(VectorsError, match="numbers or text"):
        word_vectors(path, WORDS)


def test_a_header_that_lies(tmp_path):
    """A file that says it holds a terabyte is read no further than it goes."""
    data = io.BytesIO()
    np.lib.format.write_array_header_1_0(data, {"descr": "<f8", "fortran_order": False, "shape": (4, 10_000)})
    path = tmp_path / "v.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("vectors.npy", data.getvalue() + b"\0" * 100)
        words = io.BytesIO()
        np.save(words, np.array(WORDS))
        archive.writestr("words.npy", words.getvalue())
    with pytest.raises(VectorsError, match="ends too early"):
        word_vectors(path, WORDS)


def test_an_array_by_columns_that_is_cut_off(tmp_path):
    data = io.BytesIO()
    np.lib.format.write_array_header_1_0(data, {"descr": "<f8", "fortran_order": True, "shape": (4, 10_000)})
    path, words = tmp_path / "v.npz", io.BytesIO()
    np.save(words, np.array(WORDS))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("vectors.npy", data.getvalue() + b"\0" * 100)
        archive.writestr("words.npy", words.getvalue())
    with pytest.raises(VectorsError, match="ends too early"):
        word_vectors(path, WORDS)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"ale": [1, 2], "bock": [1]}, "'bock' has 1 numbers, that of 'ale' 2"),
        ({"ale": ["x"]}, "not made of numbers"),
        ({"ale": []}, "of 'ale' has no numbers"),
        (3, "must be a mapping"),
        ((WORDS, M[:2]), "are no vectors"),
        ({}, "none of the 4 words"),
    ],
)
def test_sources_that_are_no_vectors(source, said):
    with pytest.raises(VectorsError, match=said):
        word_vectors(source, WORDS)


def test_words_as_lines_and_words_that_are_not_utf8(tmp_path):
    lines = np.frombuffer(b"ale\nbock", dtype=np.uint8)
    found = word_vectors(npz(tmp_path / "v.npz", words=lines, vectors=M[:2]), WORDS)
    assert found.words == ("ale", "bock")
    with pytest.raises(VectorsError, match="not UTF-8"):
        word_vectors(npz(tmp_path / "w.npz", words=np.array([255, 254], dtype=np.uint8), vectors=M[:2]), WORDS)
    assert word_vectors([WORDS, M], ["ale"]).words == ("ale",)


def test_a_mark_of_byte_order_before_the_header(tmp_path):
    path = tmp_path / "v.txt"
    path.write_bytes(b"\xef\xbb\xbf1 2\nale 3 4\n")
    np.testing.assert_array_equal(word_vectors(path, WORDS).M, [[3, 4]])
    path.write_bytes(b"1" * 5000 + b" 2\nale 3\n")
    assert word_vectors(path, WORDS).words == ("ale",)


def test_white_space_in_words_is_shown(tmp_path):
    write_text(tmp_path / "v.txt", ["a b", "a\nb", " "], np.ones((3, 2)))
    text = (tmp_path / "v.txt").read_text()
    assert text.count("\n") == 4
    assert word_vectors(tmp_path / "v.txt", ["a b"]).words == ("a b",)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(VectorsError, match="is no file of vectors"):
        word_vectors(tmp_path / "pipe", WORDS)


def test_folders_missing_files_and_a_stop(tmp_path):
    with pytest.raises(VectorsError, match="is a folder"):
        word_vectors(tmp_path, WORDS)
    with pytest.raises(FileNotFoundError):
        word_vectors(tmp_path / "none.txt", WORDS)
    path = tmp_path / "v.txt"
    path.write_text("".join(f"w{k} 1 2\n" for k in range(30_000)))
    with pytest.raises(Stopped):
        word_vectors(path, WORDS, poll=lambda: False)


@given(st.lists(st.text(st.characters(exclude_categories=("Z", "C")), min_size=1, max_size=8), min_size=1, unique=True))
def test_what_is_written_is_read_again(tmp_path_factory, words):
    path = tmp_path_factory.mktemp("v") / "v.txt"
    words = [word for word in words if word.split() == [word]]
    if not words:
        return
    vectors = np.random.default_rng(len(words)).normal(size=(len(words), 3)).round(5)
    write_text(path, words, vectors)
    found = word_vectors(path, words)
    assert found.words == tuple(words)
    np.testing.assert_allclose(found.M, vectors, rtol=1e-6)


def test_cooccurrences_are_counted_within_documents():
    tokens, doc_ptr = np.array([0, 1, -1, 2, 0, 2]), np.array([0, 4, 6])
    found = cooccurrences(tokens, doc_ptr, 3, 2).toarray()
    expected = np.zeros((3, 3))
    for a, b in ((0, 1), (1, 2), (0, 2)):
        expected[a, b] = expected[b, a] = 1
    np.testing.assert_array_equal(found, expected)


def test_learnt_vectors_put_words_of_one_topic_together():
    rng = np.random.default_rng(0)
    tokens = np.concatenate([rng.integers(0, 10, 12) + 10 * (k % 2) for k in range(200)])
    vectors = learn_vectors(tokens, np.arange(0, 2401, 12), 20, 4)
    assert vectors.shape == (20, 4)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    likeness = unit @ unit.T
    assert likeness[:10, :10].mean() > likeness[:10, 10:].mean() + 0.3
    np.testing.assert_array_equal(vectors, learn_vectors(tokens, np.arange(0, 2401, 12), 20, 4))
    with pytest.raises(ValueError, match="too few words"):
        learn_vectors(np.array([0, 1]), np.array([0, 1, 2]), 2)
