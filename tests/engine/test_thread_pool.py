"""Parallel kernels in several threads, in forked processes, interrupted, and with an error in one of their threads."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import subprocess
import sys
import threading
import weakref
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from cflengine.engine.jit import parallel_kernel, thread_count, threads
from cflengine.engine.thread_pool import ThreadPool

ROOT = Path(__file__).resolve().parents[2]

THREADS = """
import threading
from cflengine import CompressiveFeatures
texts = ["the cat sat on the mat", "the cat sat, and the dog ran", "the dog sat on the cat"] * 40
found = []
def fit(solver):
    for _ in range(3):
        found.append(CompressiveFeatures(solver=solver).fit(texts).result_.objective)
names = ("guided", "homotopy", "guided")
threads = [threading.Thread(target=fit, args=(name,)) for name in names]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(*sorted(found))
found.clear()
[fit(name) for name in names]
print(*sorted(found))
"""

FORK = """
import multiprocessing
import numpy as np
from cflengine.engine.jit import threads
from cflengine.linear.design import Design
from scipy import sparse
X = sparse.csr_matrix(np.arange(12000.0).reshape(6000, 2))
def product(_):
    with threads(2):
        return float(Design(X).times(np.ones(2)).sum())
if __name__ == "__main__":
    print(product(0))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(*pool.map_async(product, range(4)).get(timeout=60))
    print(product(0))
"""


def run(program: str, **variables: str) -> list[str]:
    answer = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT, env=os.environ | variables, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr[-2000:]
    return answer.stdout.splitlines()


def test_several_threads_solve_at_once_and_find_what_one_finds():
    together, in_turn = run(THREADS, NUMBA_NUM_THREADS="2")
    assert together == in_turn and len(together.split()) == 9


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this platform")
def test_a_forked_process_has_threads_of_its_own():
    first, children, last = run(FORK, NUMBA_NUM_THREADS="2")
    assert children.split() == [first] * 4 and last == first


@parallel_kernel()
def mark(out, chunk):
    """Which chunk each place was done in."""
    for i in range(chunk[0], chunk[1]):
        out[i] += chunk[0] + 1


@parallel_kernel(least=3)
def mark_threes(out, chunk):
    """The same where a thread is given three places or more."""
    for i in range(chunk[0], chunk[1]):
        out[i] += chunk[0] + 1


@pytest.mark.parametrize("first", [0, 2])
@pytest.mark.parametrize("length", [0, 1, 2, 5, 6, 7, 100])
@pytest.mark.parametrize("count", [1, 2])
def test_every_place_is_done_once_in_as_many_parts_as_there_are_threads(first, length, count):
    for kernel, least in ((mark, 1), (mark_threes, 3)):
        out = np.zeros(first + length, dtype=np.int64)
        with threads(count) as given:
            kernel(out, (first, first + length))
        assert not out[:first].any() and out[first:].all()
        parts, sizes = np.unique(out[first:], return_counts=True)
        assert len(parts) == min(given, max(length // least, 1), length)
        assert not length or (parts[0] == first + 1 and np.ptp(sizes) <= 1)


def test_the_setting_is_the_threads_own():
    seen = []
    with threads(1):
        other = threading.Thread(target=lambda: seen.append(thread_count()))
        other.start()
        other.join()
        assert thread_count() == 1
    assert seen == [thread_count()]


def test_what_a_part_raises_is_raised_when_all_have_ended():
    ended = []

    def part(chunk: tuple[int, int]) -> None:
        if chunk[0] % 2:
            raise IndexError(f"part {chunk[0]}")
        ended.append(chunk[0])

    with pytest.raises(IndexError, match=r"part [13]"):
        ThreadPool().run([partial(part, chunk) for chunk in itertools.pairwise(range(6))])
    assert sorted(ended) == [0, 2, 4]


def test_an_interrupt_waits_for_the_helpers():
    """Ctrl-C in the calling thread's own part: it is raised, but not before the others have let go of the arrays."""
    begun, ended, caller = threading.Event(), [], threading.get_ident()

    def part(chunk: tuple[int, int]) -> None:
        if threading.get_ident() == caller:
            begun.wait(10)
            raise KeyboardInterrupt
        begun.set()
        threading.Event().wait(0.2)
        ended.append(chunk)

    with pytest.raises(KeyboardInterrupt):
        ThreadPool().run([partial(part, (0, 1)), partial(part, (1, 2))])
    assert len(ended) == 1


def test_one_caller_does_all_where_the_helpers_are_busy():
    """And nothing that it gave them is kept until they are free."""
    pool, all_busy, may_end, done = ThreadPool(), threading.Barrier(3), threading.Event(), []
    array = np.zeros(3)
    gone = weakref.ref(array)

    def part(chunk: tuple[int, int]) -> None:
        all_busy.wait(10)
        may_end.wait(10)

    slow = threading.Thread(target=lambda: pool.run([partial(part, (0, 1)), partial(part, (1, 2))]))
    slow.start()
    all_busy.wait(10)
    pool.run([partial(lambda chunk, held: done.append(chunk), chunk, array) for chunk in ((0, 1), (1, 2))])
    del array
    assert gone() is None
    may_end.set()
    slow.join()
    assert sorted(done) == [(0, 1), (1, 2)]
