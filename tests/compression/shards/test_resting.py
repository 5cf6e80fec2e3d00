"""Objects whose arrays lie in a file between turns."""

from __future__ import annotations

import errno
import gc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cflengine.compression.shards import resting
from cflengine.compression.shards.resting import Resting
from cflengine.engine.checks import InputError


class Thing:
    """Two names for one array, one that is empty, one that is not contiguous, and others."""

    def __init__(self) -> None:
        self.one = np.arange(10_000, dtype=np.float32)
        self.same = self.one
        self.empty = np.zeros((3, 0))
        self.turned = np.arange(6).reshape(2, 3).T[::2]
        self.others: dict[str, np.ndarray] = {}


def turned(rest):
    """What is in the file now, as it is after another turn."""
    thing = rest.get()
    rest.put(thing)
    return thing


def test_what_is_changed_in_place_stays_and_is_not_written_again(tmp_path):
    rest, thing = Resting(tmp_path / "thing"), Thing()
    rest.put(thing)
    turned(rest)  # what was not contiguous is from here on
    size = (tmp_path / "thing").stat().st_size
    for i in range(3):
        thing = rest.get()
        assert thing.one is thing.same and thing.empty.shape == (3, 0)
        np.testing.assert_array_equal(thing.turned, [[0, 3], [2, 5]])
        assert thing.one[7] == 7 + i
        thing.one += 1
        rest.put(thing)
    assert (tmp_path / "thing").stat().st_size == size


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 3_000), st.booleans()), max_size=12))
def test_arrays_come_and_go(tmp_path_factory, changes):
    rest, thing, expected = Resting(tmp_path_factory.mktemp("rest") / "thing"), Thing(), {}
    rest.put(thing)
    for i, (name, size, gone) in enumerate(changes):
        thing = rest.get()
        if gone:
            thing.others.pop(name, None)
            expected.pop(name, None)
        else:
            thing.others[name] = np.full(size, i, dtype=np.int64)
            expected[name] = np.full(size, i, dtype=np.int64)
        rest.put(thing)
        thing = turned(rest)
        assert set(thing.others) == set(expected)
        for key, values in expected.items():
            np.testing.assert_array_equal(thing.others[key], values)
    # room that was left is used again
    assert rest.path.stat().st_size <= 40_000 + 64 + (len(changes) + 4) * (3_000 * 8 + 64)


def test_room_is_used_again(tmp_path):
    rest = Resting(tmp_path / "thing")
    rest.put(Thing())
    for i in range(20):
        thing = rest.get()
        thing.others["a"] = np.full(50_000, i)
        rest.put(thing)
    assert rest.path.stat().st_size < 3 * 50_000 * 8
    assert np.all(rest.get().others["a"] == 19)


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    class Full:
        def __init__(self, file) -> None:
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def seek(self, place):
            self.file.seek(place)

        def write(self, _):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(resting, "open", lambda *how: Full(open(*how)), raising=False)  # noqa: SIM115
    with pytest.raises(InputError, match=r"is full .* more space"):
        Resting(tmp_path / "thing").put(Thing())


def test_arrays_outlive_their_turn(tmp_path):
    """What was taken from a turn is still there after the next."""
    rest = Resting(tmp_path / "thing")
    rest.put(Thing())
    kept = rest.get().one
    gc.collect()
    rest.put(rest.get())
    gc.collect()
    np.testing.assert_array_equal(kept[:3], [0, 1, 2])
