"""An index in a file: the same one, or made anew, never another one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cflengine.engine.checks import InputError
from cflengine.engine.progress import Stopped, Watch
from cflengine.text import index_file
from cflengine.text.index_file import IndexFile
from cflengine.text.kgrams import KGramIndex, index_kgrams

TOKENS = np.array([0, 1, 2, 0, 1, 2, 1, 0, 1], dtype=np.int32)
BORDERS = np.array([0, 4, 4, 9], dtype=np.int64)
ARRAYS = ("tokens", "doc_ptr", "gram_of", "grp_ptr", "len_ptr")


@pytest.fixture
def file(tmp_path, monkeypatch):
    """An index that was kept, in a file that says what is wrong to a list."""
    monkeypatch.setattr(index_file, "WORTH_S", 0.0)
    said: list[str] = []
    kept = IndexFile(tmp_path / "index.npz", "digest", said.append)
    kept.make(TOKENS, BORDERS, 3)
    kept.said = said
    return kept


def same(one: KGramIndex, other: KGramIndex) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        and getattr(one, name).dtype == getattr(other, name).dtype
        for name in ARRAYS
    )


def never(*_, **__):
    raise AssertionError("it was to be read")


@pytest.mark.parametrize("on_disk", [False, True])
def test_what_is_read_is_what_was_made(file, monkeypatch, tmp_path, on_disk):
    made = index_kgrams(TOKENS, BORDERS, 3)
    monkeypatch.setattr(index_file, "index_kgrams", never)
    monkeypatch.setattr(index_file, "_AT_ONCE", 4)
    read = file.read_or_make(TOKENS, BORDERS, 3, on_disk=on_disk, folder=str(tmp_path))
    assert same(read, made) and not file.said


@given(st.lists(st.lists(st.integers(0, 3), max_size=9), min_size=1, max_size=5), st.integers(1, 4))
def test_any_index_can_be_kept(tmp_path_factory, documents, max_gram):
    tokens = np.array([token for one in documents for token in one], dtype=np.int32)
    borders = np.cumsum([0, *map(len, documents)])
    kept = IndexFile(tmp_path_factory.getbasetemp() / "any.npz", "d", never)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(index_file, "WORTH_S", 0.0)
        made = kept.make(tokens, borders, max_gram)
        patched.setattr(index_file, "index_kgrams", never)
        assert same(kept.read_or_make(tokens, borders, max_gram), made)


def test_an_index_of_a_moment_is_not_kept(tmp_path):
    kept = IndexFile(tmp_path / "index.npz", "digest", never)
    kept.path.write_bytes(b"of an earlier run")
    (tmp_path / ".index.npz.0123.part").write_bytes(b"of a run that was killed")
    kept.make(TOKENS, BORDERS, 3)
    assert list(tmp_path.iterdir()) == []


def test_where_the_disk_is_full_nothing_is_kept_and_nothing_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(index_file, "WORTH_S", 0.0)
    kept = IndexFile(tmp_path / "index.npz", "digest", never)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(np, "savez", full)
        assert kept.make(TOKENS, BORDERS, 3).n_grams > 0
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(index_file, "_FREE", 1e18)
    kept.make(TOKENS, BORDERS, 3)
    assert list(tmp_path.iterdir()) == []


def test_another_corpus_is_refused(file):
    with pytest.raises(InputError, match="is of another corpus, another K or other tokens: leave out --resume"):
        IndexFile(file.path, "other", never).read_or_make(TOKENS, BORDERS, 3)


def changed(**others):
    def change(path):
        with np.load(path) as arrays:
            np.savez(path, **(dict(arrays) | others))

    return change


def flip_a_byte(path):
    content = bytearray(path.read_bytes())
    at = content.index(index_kgrams(TOKENS, BORDERS, 3).gram_of.tobytes())
    content[at] ^= 1
    path.write_bytes(content)


WRONG = {
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-200]),
    "a byte": flip_a_byte,
    "nothing": lambda path: path.write_bytes(b""),
    "no archive": lambda path: path.write_bytes(b"PK\x03\x04 nothing else"),
    "fewer tokens": changed(gram_of=np.zeros((3, 4), dtype=np.int32)),
    "other numbers": changed(gram_of=np.zeros((3, 9), dtype=np.int64)),
    "by columns": changed(gram_of=np.asfortranarray(np.zeros((3, 9), dtype=np.int32))),
    "no such K-gram": changed(gram_of=np.full((3, 9), 99, dtype=np.int32)),
    "below": changed(gram_of=np.full((3, 9), -2, dtype=np.int32)),
    "numbers of another kind": changed(grp_ptr=np.arange(13.0)),
    "K-grams that stand nowhere": changed(grp_ptr=np.zeros(13, dtype=np.int32)),
    "lengths": changed(len_ptr=np.array([0, 9, 3, 12], dtype=np.int32)),
    "objects": changed(grp_ptr=np.array([{}], dtype=object)),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_damaged_is_said_and_made_again(file, wrong):
    WRONG[wrong](file.path)
    assert same(file.read_or_make(TOKENS, BORDERS, 3), index_kgrams(TOKENS, BORDERS, 3))
    assert len(file.said) == 1 and "is damaged" in file.said[0] and "indexed again" in file.said[0]
    assert same(file.read_or_make(TOKENS, BORDERS, 3), index_kgrams(TOKENS, BORDERS, 3)) and len(file.said) == 1


def test_reading_tells_how_far_it_is_and_can_be_stopped(file, monkeypatch):
    monkeypatch.setattr(index_file, "_AT_ONCE", 5)
    seen = []

    class Telling(Watch):
        def at(self, done: int) -> None:
            super().at(done)
            seen.append(self.fraction)

    file.read_or_make(TOKENS, BORDERS, 3, watch=Telling())
    assert seen[-1] == 1.0 and len(seen) == 6 and seen == sorted(seen)
    with pytest.raises(Stopped):
        file.read_or_make(TOKENS, BORDERS, 3, watch=Watch(lambda: len(seen) < 0))
    assert file.path.exists()
