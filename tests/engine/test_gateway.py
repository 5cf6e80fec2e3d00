"""Parallel kernels in several threads, under every threading layer, and in forked processes."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

THREADS = """
import threading
from cflengine import CompressiveFeatures
texts = ["the cat sat on the mat", "the cat sat, and the dog ran", "the dog sat on the cat"] * 40
found = []
def fit(solver):
    for _ in range(3):
        found.append(CompressiveFeatures(solver=solver).fit(texts).result_.objective)
threads = [threading.Thread(target=fit, args=(name,)) for name in ("guided", "homotopy", "guided")]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert len(found) == 9, found
import numba
print(numba.threading_layer())
"""

FORK = """
import multiprocessing, sys
import numpy as np
from cflengine import CompressiveFeatures
from cflengine.engine.jit import ForkedProcessError
TEXTS = ["a b a b c", "c a b d"]
def fit(_):
    try:
        CompressiveFeatures().fit(TEXTS)
    except ForkedProcessError as error:
        return str(error)
    return "fitted"
if __name__ == "__main__":
    before = multiprocessing.get_context("fork")
    if sys.argv[1] == "before":
        with before.Pool(1) as pool:
            print(pool.map(fit, [0])[0])
    CompressiveFeatures().fit(TEXTS)
    with before.Pool(1) as pool:
        print(pool.map_async(fit, [0]).get(timeout=60)[0])
"""


def run(program: str, *arguments: str, **variables: str) -> list[str]:
    answer = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=ROOT, env=os.environ | variables, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr[-2000:]
    return answer.stdout.splitlines()


@pytest.mark.parametrize("layer", ["workqueue", "omp"])
def test_threads_take_turns_where_they_must(layer):
    assert run(THREADS, NUMBA_THREADING_LAYER=layer, NUMBA_NUM_THREADS="2")[-1] == layer


LAYERS = """
import cflengine.engine.jit
from numba.core import config
config.reload_config()
print(config.THREADING_LAYER_PRIORITY[0])
"""


def test_openmp_comes_before_tbb_unless_the_user_says_otherwise():
    assert run(LAYERS, NUMBA_THREADING_LAYER_PRIORITY="tbb omp workqueue") == ["tbb"]
    without = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_THREADING")}
    answer = subprocess.run([sys.executable, "-c", LAYERS], cwd=ROOT, env=without, capture_output=True, text=True)
    assert answer.stdout.split() == ["omp"], answer.stderr


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this platform")
def test_a_forked_child_says_what_to_do_and_one_forked_before_any_kernel_works():
    first, second = run(FORK, "before", NUMBA_NUM_THREADS="2")
    assert first == "fitted" and "spawn" in second and "forked" in second
