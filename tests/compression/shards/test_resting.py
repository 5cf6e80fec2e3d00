"""Objects whose arrays lie in a file between turns."""

from __future__ import annotations

import errno
import gc
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cflengine.compression.shards import resting
from cflengine.compression.shards.resting import Resting
from cflengine.engine import output
from cflengine.engine.checks import InputError
from cflengine.engine.output import LOCK, locked_folder


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


def test_a_folder_that_another_process_takes_for_one_left_behind_is_made_again(monkeypatch, tmp_path):
    """Which happens where workers begin at once: between a folder's making and its lock another one may clear it."""
    made, mkdir = [], resting.tempfile.TemporaryDirectory

    def cleared(**how):
        folder = mkdir(**how)
        made.append(Path(folder.name))
        if len(made) == 1:
            (made[0] / LOCK).touch()
            held.enter_context(locked_folder(made[0]))  # by the one that clears
        if len(made) == 2:
            shutil.rmtree(folder.name)
        return folder

    monkeypatch.setattr(resting.tempfile, "TemporaryDirectory", cleared)
    with ExitStack() as held, resting.shards_folder(str(tmp_path)) as path:
        assert path == made[-1] and len(made) >= 2 and path.is_dir()
        assert not output._try_lock(held.enter_context(open(path / LOCK, "r+b")))
    assert not list(tmp_path.glob("*"))
    monkeypatch.setattr(resting, "locked_folder", lambda path: locked_folder(held_before))
    with ExitStack() as held:
        held.enter_context(locked_folder(held_before := tmp_path / "held"))
        with pytest.raises(InputError, match="another run is writing"), resting.shards_folder(str(tmp_path)):
            pass


def test_many_may_begin_at_once(tmp_path):
    def begin(_: int) -> str:
        with resting.shards_folder(str(tmp_path)) as path:
            (path / "shard").write_bytes(b"x")
            return path.name

    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(begin, range(300)))) == 300
    assert not list(tmp_path.iterdir())
