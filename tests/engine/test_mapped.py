"""Arrays in files."""

from __future__ import annotations

import errno
import gc
import os
import pickle

import numpy as np
import pytest

from cflengine.engine import mapped
from cflengine.engine.checks import InputError
from cflengine.engine.mapped import mapped_array, room_on_disk
from cflengine.text.kgrams import index_kgrams


@pytest.mark.parametrize("shape", [(7,), (3, 5), (0,), (2, 0), (2, 300_000)])
def test_it_is_an_array_like_any_other(tmp_path, shape):
    array = mapped_array(shape, np.int32, tmp_path)
    assert type(array) is np.ndarray and array.shape == shape and array.flags.writeable and not array.any()
    array[...] = 3
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(array)), np.full(shape, 3))
    assert os.listdir(tmp_path) == []  # nothing to be left behind, whatever ends the process
    del array
    gc.collect()


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
    with pytest.raises(InputError, match="nothing can be kept in /x: strange"), room_on_disk("/x"):
        raise OSError("strange")


def test_an_index_on_disk_is_the_same_index(tmp_path):
    tokens = np.minimum(np.random.default_rng(0).zipf(1.3, 20_000), 500).astype(np.int32)
    doc_ptr = np.arange(0, 20_001, 100)
    here, there = index_kgrams(tokens, doc_ptr, 3), index_kgrams(tokens, doc_ptr, 3, on_disk=True, folder=str(tmp_path))
    for name in ("gram_of", "grp_ptr", "len_ptr"):
        np.testing.assert_array_equal(getattr(here, name), getattr(there, name))
    assert type(there.gram_of) is np.ndarray and isinstance(there.gram_of.base, np.memmap)
