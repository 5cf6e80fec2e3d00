"""The estimate of memory against what a solve really takes."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from cflengine.compression.model import certificate
from cflengine.compression.search import crossover
from cflengine.compression.shards.settings import ShardedSettings
from cflengine.compression.shards.solver import solve_sharded
from cflengine.compression.solvers import lifting
from cflengine.compression.solvers.guided.solver import GuidedSettings, solve_guided
from cflengine.compression.solvers.homotopy import HomotopySettings, solve_homotopy
from cflengine.compression.solvers.memory import _rate, sharded_bytes, state_bytes
from cflengine.compression.solvers.reweighting import solve_reweighting
from cflengine.compression.solvers.reweighting_settings import ReweightingSettings
from cflengine.engine import mapped
from cflengine.text import Tokenizer, read_input
from cflengine.text.kgrams import index_kgrams
from naive.corpora import costs_of

N = 200_000
SHORT = {"relaxation_iterations": 26, "annealings": 1, "anneal_rounds": 1, "anneal_steps": 2, "patience": 1}
SOLVES = {
    "relaxation": (
        solve_homotopy,
        HomotopySettings(relaxation_iterations=2, stage_iterations=2, bound_every=2, last_zeta=0.0),
    ),
    "homotopy": (
        solve_homotopy,
        HomotopySettings(relaxation_iterations=2, stage_iterations=2, bound_every=2, last_zeta=0.1),
    ),
    "guided": (solve_guided, GuidedSettings(tol=0.0, tighten=False, **SHORT)),
    "guided on disk": (solve_guided, GuidedSettings(tol=0.0, branching=False, **SHORT)),
    "reweighting": (solve_reweighting, ReweightingSettings(rounds=2, round_iterations=10)),
    "sharded": (
        solve_sharded,
        ShardedSettings(
            tol=0.0, shards=2, in_memory=True, guided=GuidedSettings(tighten=False, **SHORT),
        ),
    ),
}  # fmt: skip


def test_k_grams_that_are_not_counted_yet_are_not_too_few():
    """The sample, small as it is, has nearly as many to a token as corpora a hundred times its size."""
    table = Tokenizer()(read_input("sample").texts)
    for max_gram in (1, 2, 3, 5, 8, 12):
        index = index_kgrams(table.tokens, table.doc_ptr, max_gram)
        assert index.n_grams / table.n_tokens < 1.3 * _rate(max_gram) < 3.0 * max_gram, max_gram
    assert _rate(32) > 27


@pytest.mark.parametrize("solver", SOLVES)
def test_state_bytes_are_the_peak_of_a_whole_solve(monkeypatch, solver):
    # temporaries of fixed size, small beside any corpus for which memory matters: keep them so here
    monkeypatch.setattr(certificate, "_CHUNK_TOKENS", 1 << 14)
    monkeypatch.setattr(crossover, "_SEGMENTS", 1 << 12)
    monkeypatch.setattr(lifting, "RECENT", 4)  # some trees take what many do, one after the other
    if solver == "guided on disk":
        monkeypatch.setattr(mapped, "IN_MEMORY", 1 << 19)  # small arrays stay in memory
    tokens = np.minimum(np.random.default_rng(0).zipf(1.25, N), 30_000).astype(np.int32)
    solve, settings = SOLVES[solver]
    small = index_kgrams(tokens[:5_000], np.arange(0, 5_001, 200), 3)
    solve(small, costs_of(small), settings)  # kernels are loaded before memory is counted
    tracemalloc.start()
    try:
        index = index_kgrams(tokens, np.arange(0, N + 1, 200), 3)
        tracemalloc.reset_peak()
        solve(index, costs_of(index), settings)
        peak = tracemalloc.get_traced_memory()[1] + tokens.nbytes
    finally:
        tracemalloc.stop()
    if solver == "sharded":
        estimate = sharded_bytes(N, 3, 1, grams_per_token=index.n_grams / N)
    else:
        estimate = state_bytes(N, 3, solver.removesuffix(" on disk"), grams_per_token=index.n_grams / N)
    assert 0.9 * estimate < peak < 1.07 * estimate


ONE_DOCUMENT = """
import sys
import numpy as np
from cflengine.compression.solvers import lifting
from cflengine.compression.solvers.guided.solver import GuidedSettings, solve_guided
from cflengine.compression.solvers.memory import state_bytes
from cflengine.compression.solvers.run import CompressionRun
from cflengine.compression.model.problem import storage_costs
from cflengine.text.kgrams import index_kgrams

def solve(tokens, doc_ptr):
    index = index_kgrams(tokens, doc_ptr, 3)
    few = dict(relaxation_iterations=26, annealings=1, anneal_rounds=1, anneal_steps=2, patience=1, tighten=False)
    settings = GuidedSettings(tol=0.0, **few)
    solve_guided(index, storage_costs(index.gram_of, index.lengths(), 1.0), settings)
    return index

lifting.RECENT = 4  # some trees take what many do
CompressionRun.exact_search = False  # some ten MB, whatever the corpus

def memory(line):
    with open("/proc/self/status") as status:
        return next(int(row.split()[1]) * 1024 for row in status if row.startswith(line))

n = 200_000
tokens = np.minimum(np.random.default_rng(0).zipf(1.25, n), 30_000).astype(np.int32)
solve(tokens[:20_000], np.array([0, 10_000, 20_000]))  # kernels are loaded before memory is counted
before = memory("VmRSS:")
with open("/proc/self/clear_refs", "w") as refs:
    refs.write("5")
index = solve(tokens, np.array([0, n]))
taken = memory("VmHWM:") - before + tokens.nbytes
print(taken / state_bytes(n, 3, "guided", grams_per_token=index.n_grams / n, longest=n))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_one_long_document_takes_no_more_than_many_short_ones():
    """By the process's memory, which, unlike tracemalloc, has what kernels allocate."""
    answer = subprocess.run(
        [sys.executable, "-c", ONE_DOCUMENT], capture_output=True, text=True, check=True, timeout=300
    )
    assert 0.75 < float(answer.stdout) < 1.2


def test_what_waits_on_disk_changes_nothing(monkeypatch):
    tokens = np.minimum(np.random.default_rng(0).zipf(1.25, 20_000), 3_000).astype(np.int32)
    index = index_kgrams(tokens, np.arange(0, 20_001, 200), 3)
    in_memory = solve_guided(index, costs_of(index), GuidedSettings(tol=0.0, annealings=2, branching=False))
    monkeypatch.setattr(mapped, "IN_MEMORY", 0)
    on_disk = solve_guided(index, costs_of(index), GuidedSettings(tol=0.0, annealings=2, branching=False))
    for name in ("cover", "alpha", "dictionary"):
        np.testing.assert_array_equal(getattr(on_disk, name), getattr(in_memory, name))
    assert (on_disk.objective, on_disk.lower_bound) == (in_memory.objective, in_memory.lower_bound)
