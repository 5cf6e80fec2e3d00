"""Small tests of kernels once more: in plain Python, where no wrong type can hide, and with every index checked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PLAIN = (
    "compression/passes/test_bounds.py", "compression/search/test_crossover.py",
    "compression/test_counting.py::test_soft_counts_are_the_expectation_over_all_encodings",
    "compression/test_counting.py::test_occurrences_are_counted_wherever_they_stand",
    "sentence_lasso/test_sentence_kernels.py", "loglinear/test_loglinear_history.py",
    "loglinear/test_loglinear_clusters.py",
)  # fmt: skip
SMALL = "not many_numbers and not threads"
# NumPy checks every index itself; what takes minutes in plain Python is compiled with checks instead
SLOW = ("sentence_lasso/test_sentence_multipliers.py", "text/test_kgrams.py")
HOW = {"NUMBA_DISABLE_JIT": PLAIN, "NUMBA_BOUNDSCHECK": SLOW}


OUTSIDE = """
import numpy as np
from cflengine.engine.jit import parallel_kernel, threads

@parallel_kernel()
def shifted(x, y, chunk):
    for i in range(chunk[0], chunk[1]):
        y[i] = x[i + 1]

with threads(2):
    shifted(np.arange(5.0), np.empty(5), (0, 5))
"""


def test_an_index_outside_is_noticed_in_a_parallel_kernel_too(tmp_path):
    (tmp_path / "outside.py").write_text(OUTSIDE)
    answer = subprocess.run(
        [sys.executable, str(tmp_path / "outside.py")], capture_output=True, text=True, check=False,
        env=os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(HERE.parent)},
    )  # fmt: skip
    assert answer.returncode == 1 and "IndexError" in answer.stderr


@pytest.mark.timeout(600)
@pytest.mark.parametrize("how", HOW)
def test_kernels_without_the_compiler_and_with_checked_indices(how, tmp_path):
    words = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-k", SMALL]
    words += ["-W", "ignore:overflow encountered:RuntimeWarning"]  # hashes wrap around, as they are meant to
    answer = subprocess.run(
        [*words, *(str(HERE / path) for path in HOW[how])], cwd=HERE.parent, capture_output=True, text=True,
        env=os.environ | {how: "1", "NUMBA_OPT": "0", "NUMBA_CACHE_DIR": str(tmp_path)}, check=False,  # compiles sooner
    )  # fmt: skip
    assert answer.returncode == 0, answer.stdout[-3000:]
