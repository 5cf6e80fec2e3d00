"""Estimates of memory, and the refusal to start what does not fit."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from cflengine.engine import memory


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1536, "1.5 KB"),
        (3 << 20, "3.0 MB"),
        (5 << 30, "5.0 GB"),
        (2 << 40, "2.0 TB"),
    ],
)
def test_format_bytes(n_bytes, text):
    assert memory.format_bytes(n_bytes) == text


def test_work_that_does_not_fit_is_refused_with_numbers_and_advice(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 10 << 30)
    with pytest.raises(
        memory.MemoryLimitError, match=r"The solve needs about 20\.0 GB .* 10\.0 GB are free: take less\."
    ):
        memory.require_bytes(20 << 30, "The solve", "take less.")
    assert issubclass(memory.MemoryLimitError, MemoryError)


def test_a_tenth_is_kept_to_spare(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000 << 20)
    memory.require_bytes(900 << 20, "x", "y")
    with pytest.raises(memory.MemoryLimitError):
        memory.require_bytes((900 << 20) + 1, "x", "y")


def test_nobody_is_asked_for_next_to_nothing(monkeypatch):
    """The system's answer takes longer than a fit that needs so little."""
    asked: list[bool] = []
    monkeypatch.setattr(memory, "available_bytes", lambda: asked.append(True))
    memory.require_bytes(1 << 16, "x", "y")
    assert not asked
    memory.require_bytes(1 << 30, "x", "y")
    assert asked


def test_unknown_memory_refuses_nothing(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    memory.require_bytes(1 << 60, "x", "y")
    assert memory.fits(1 << 60)


def test_available_memory_is_plausible_and_below_a_control_groups_limit(monkeypatch):
    free = memory.available_bytes()
    assert free is None or 1 << 20 < free < 1 << 50
    if free is None or not memory.sys.platform.startswith("linux"):
        pytest.skip("control groups are Linux")
    limits = {"/sys/fs/cgroup/memory.max": 5 << 20, "/sys/fs/cgroup/memory.current": 1 << 20}
    monkeypatch.setattr(memory, "_read_int", limits.get)
    assert memory.available_bytes() == 4 << 20
    monkeypatch.setattr(memory, "_read_int", {}.get)  # no limit is set
    assert memory.available_bytes() > 4 << 20


def test_peak_is_in_bytes():
    peak = memory.peak_bytes()
    if peak is None or not Path("/proc/self/status").exists():
        pytest.skip("nothing to compare with")
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    high_water = int(status["VmHWM"].split()[0]) * 1024
    assert peak == pytest.approx(high_water, rel=0.1)


def test_what_objects_hold_is_counted_once(tmp_path):
    array, other = np.zeros(100_000), np.zeros(50_000)
    first = SimpleNamespace(whole=array, part=array[10:], rows={"a": [array.reshape(100, -1)]}, of=print)
    second = SimpleNamespace(part=array[::2], own=other)
    held = memory.held_memory(first)
    assert 800_000 <= sum(held.values()) < 805_000
    assert 1_200_000 <= sum((held | memory.held_memory(second)).values()) < 1_210_000
    mapped = np.memmap(tmp_path / "mapped", dtype=float, mode="w+", shape=100_000)
    assert sum(memory.held_memory(SimpleNamespace(mapped=mapped[5:])).values()) < 5_000


@pytest.mark.parametrize("n", [50, 200_000])
def test_what_texts_hold_is_counted(n):
    texts = [f"{k:6d} words" for k in range(n)]
    exact = sys.getsizeof(texts) + sum(map(sys.getsizeof, texts))
    for holder in (texts, np.array(texts, dtype=object), {"texts": tuple(texts)}):
        assert sum(memory.held_memory(holder).values()) == pytest.approx(exact, rel=0.1, abs=500)
    frame = pd.DataFrame({"text": texts, "x": np.zeros(n)})
    assert sum(memory.held_memory(SimpleNamespace(frame=frame)).values()) >= frame.memory_usage(deep=True).sum()


def test_what_refuses_to_be_looked_at_is_passed_over():
    class Refusing:
        def __getattr__(self, name):
            raise RuntimeError(f"{name} is gone")

    assert 800 <= sum(memory.held_memory([Refusing(), np.zeros(100)]).values()) < 2_000


def test_arrays_of_another_library_are_counted():
    jnp = pytest.importorskip("jax.numpy")
    array = jnp.zeros(1000)
    assert array.nbytes <= sum(memory.held_memory({"w": array}).values()) < array.nbytes + 1_000


def test_what_refers_to_itself_is_counted():
    @dataclass
    class Slotted:
        __slots__ = ("array", "me")
        array: np.ndarray
        me: object

    thing = Slotted(np.zeros(1000), None)
    thing.me = [thing]
    assert 8_000 <= sum(memory.held_memory(thing).values()) < 9_000
