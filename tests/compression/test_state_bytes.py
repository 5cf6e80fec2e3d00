"""The estimate of memory against what a solve really takes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from cflengine.compression import certificate, crossover
from cflengine.compression.guided import GuidedSettings, solve_guided
from cflengine.compression.homotopy import HomotopySettings, solve_homotopy
from cflengine.compression.memory import state_bytes
from cflengine.compression.reweighting import ReweightingSettings, solve_reweighting
from cflengine.text.kgrams import index_kgrams
from naive.corpora import costs_of

N = 400_000
SOLVES = {
    "relaxation": (
        solve_homotopy,
        HomotopySettings(relaxation_iterations=2, stage_iterations=2, bound_every=2, last_zeta=0.0),
    ),
    "homotopy": (
        solve_homotopy,
        HomotopySettings(relaxation_iterations=2, stage_iterations=2, bound_every=2, last_zeta=0.1),
    ),
    "guided": (
        solve_guided,
        GuidedSettings(tol=0.0, relaxation_iterations=26, annealings=1, anneal_rounds=1, anneal_steps=2, patience=1),
    ),
    "reweighting": (solve_reweighting, ReweightingSettings(rounds=2, round_iterations=10)),
}


@pytest.mark.parametrize("solver", SOLVES)
def test_state_bytes_are_the_peak_of_a_whole_solve(monkeypatch, solver):
    # temporaries of fixed size, small beside any corpus for which memory matters: keep them so here
    monkeypatch.setattr(certificate, "_CHUNK_TOKENS", 1 << 14)
    monkeypatch.setattr(crossover, "_ROOM", 1 << 12)
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
    estimate = state_bytes(N, 3, solver, grams_per_token=index.n_grams / N)
    assert 0.9 * estimate < peak < 1.07 * estimate
