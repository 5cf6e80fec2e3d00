"""Arrays in files."""

from __future__ import annotations

import errno
import os
import pickle

import numpy as np
import pytest

from cflengine.engine import mapped
from cflengine.engine.checks import InputError
from cflengine.engine.mapped import SetAside, disk_errors_said, mapped_array
from cflengine.text.kgrams import index_kgrams


@pytest.mark.parametrize("shape", [(7,), (3, 5), (0,), (2, 0), (2, 300_000)])
def test_it_is_an_array_like_any_other(tmp_path, shape):
    array = mapped_array(shape, np.int32, tmp_path)
    assert type(array) is np.ndarray and array.shape == shape and array.flags.writeable and not array.any()
    array[...] = 3
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(array)), np.full(shape, 3))
    assert os.listdir(tmp_path) == []  # nothing to be left behind, whatever ends the process


def test_its_room_is_taken_at_once(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(InputError, match=r"the disk of .* is full \(.* are free\)"):
        mapped_array((5,), np.int8, tmp_path)


def test_without_fallocate_it_is_written(tmp_path, monkeypatch):
    monkeypatch.delattr(mapped.os, "posix_fallocate", raising=False)
    array = mapped_array((1_500_000,), np.int16, tmp_path)
    array[-1] = 7
    assert array[-1] == 7 and not array[:-1].any()


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match=r"nothing can be kept in .*none: No such file"):
        mapped_array((5,), np.int8, tmp_path / "none")


def test_other_errors_are_said_as_they_are():
    with pytest.raises(InputError, match="nothing can be kept in /x: strange"), disk_errors_said("/x"):
        raise OSError("strange")


def test_an_index_on_disk_is_the_same_index(tmp_path):
    tokens = np.minimum(np.random.default_rng(0).zipf(1.3, 20_000), 500).astype(np.int32)
    doc_ptr = np.arange(0, 20_001, 100)
    here, there = index_kgrams(tokens, doc_ptr, 3), index_kgrams(tokens, doc_ptr, 3, on_disk=True, folder=str(tmp_path))
    for name in ("gram_of", "grp_ptr", "len_ptr"):
        np.testing.assert_array_equal(getattr(here, name), getattr(there, name))
    assert type(there.gram_of) is np.ndarray and isinstance(there.gram_of.base, np.memmap)


SOME = (np.arange(7, dtype=np.float32), np.ones((2, 3)), np.zeros(0, dtype=np.uint8))


@pytest.mark.parametrize("in_memory", [0, 1 << 20])
def test_what_is_set_aside_comes_back(monkeypatch, in_memory):
    monkeypatch.setattr(mapped, "IN_MEMORY", in_memory)
    monkeypatch.setattr(mapped, "_AT_ONCE", 5)
    aside, room = SetAside(), [np.full_like(array, 9) for array in SOME]
    for factor in (1, 2):
        aside.put(*(factor * array for array in SOME))
        aside.get(*room)
        for array, given in zip(SOME, room, strict=True):
            np.testing.assert_array_equal(given, factor * array)


def test_what_the_disk_has_no_room_for_stays_in_memory(monkeypatch):
    monkeypatch.setattr(mapped, "IN_MEMORY", 0)
    aside, room = SetAside(), np.zeros(7, dtype=np.float32)
    aside.put(SOME[0])

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(mapped, "_pieces", full)
    aside.put(SOME[0] + 1)
    aside.get(room)
    np.testing.assert_array_equal(room, SOME[0] + 1)


def test_a_file_that_was_cut_short_is_no_answer(monkeypatch):
    monkeypatch.setattr(mapped, "IN_MEMORY", 0)
    aside = SetAside()
    aside.put(SOME[0])
    aside._file.truncate(8)
    with pytest.raises(OSError, match="cut short"):
        aside.get(np.zeros(7, dtype=np.float32))
