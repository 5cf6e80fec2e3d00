"""What all tests share: Hypothesis without randomness, helpers to make an index, real corpora where present."""

from __future__ import annotations

import gc
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]

gc.disable()  # until all is collected: looking for garbage took two fifths of that

# two processes of pytest with two threads of scikit-learn's each, on two cores: those that wait must not hold one
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # of XLA, which are not ours to test: it compiles sooner

# the same examples on every machine and every run; compiling a kernel in the first one must not count as slow
settings.register_profile(
    "deterministic", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("deterministic")


COMPILE = """
import importlib, sys
for name in sys.argv[1:]:
    package, *toys = name.split(":")
    importlib.import_module(f"cflengine.{package}.warm").warm_up(*toys)
"""


def pytest_configure(config) -> None:
    """What JAX compiles in one process of a run, others need not compile again."""
    if not hasattr(config, "workerinput") and "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        folder = tempfile.mkdtemp(prefix="jax")
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
        os.environ["JAX_COMPILATION_CACHE_DIR"] = folder
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"


def pytest_sessionstart(session) -> None:
    """Before a run of everything kernels are compiled once, a half a core; each process of pytest would do it again."""
    config = session.config
    if hasattr(config, "workerinput") or config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    halves = ["compression", "sentence_lasso"], ["loglinear", "loglinear:chain", "plq", "embedding", "tokenizer"]
    running = [subprocess.Popen([sys.executable, "-c", COMPILE, *half], cwd=ROOT) for half in halves]
    for process in running:
        process.wait()  # what went wrong there goes wrong in a test, too


def pytest_collection_finish(session) -> None:
    """What has been imported and collected stays: looking through it for garbage took a twentieth of the run."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 50, 100)
    gc.enable()


@pytest.fixture(scope="session")
def real_documents():
    """A function (folder, n) to the first n texts of a real corpus; skips where there is none.

    The folder of corpora is named by CFLENGINE_DATA, or is ``shared/data`` beside the repository.
    """
    folder = Path(os.environ.get("CFLENGINE_DATA") or ROOT.parent / "shared" / "data")

    def read(name: str, n: int) -> list[str]:
        path = folder / name / "docs.jsonl.gz"
        if not path.is_file():
            pytest.skip(f"no corpus {name!r}: set CFLENGINE_DATA to the folder that holds {name}/docs.jsonl.gz")
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            return [json.loads(line)["text"] for line in islice(lines, n)]

    return read
