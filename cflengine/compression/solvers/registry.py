"""The solvers of problem (1) by name, for the estimator, the command and the app."""

from __future__ import annotations

from cflengine.compression.shards.settings import ShardedSettings
from cflengine.compression.shards.solver import solve_sharded
from cflengine.compression.solvers.exact import ExactSettings, solve_exact_from_guided
from cflengine.compression.solvers.guided.settings import GuidedSettings
from cflengine.compression.solvers.guided.solver import solve_guided
from cflengine.compression.solvers.homotopy import HomotopySettings, solve_homotopy
from cflengine.compression.solvers.relay import RelaySettings, solve_relay
from cflengine.compression.solvers.reweighting import solve_reweighting
from cflengine.compression.solvers.reweighting_settings import ReweightingSettings
from cflengine.engine.registry import Registry, Solver

Settings = GuidedSettings | HomotopySettings | ReweightingSettings | RelaySettings | ShardedSettings | ExactSettings


SOLVERS = Registry(
    Solver(
        "guided", "nearly optimal and fast", GuidedSettings,
        frozenset({"pointer costs", "warm start", "bounds"}), solve_guided,
    ),
    Solver(
        "homotopy", "the algorithm of AISTATS 2014", HomotopySettings,
        frozenset({"pointer costs", "polish", "bounds"}), solve_homotopy,
    ),
    Solver(
        "reweighting", "the algorithm of NIPS 2013", ReweightingSettings,
        frozenset({"pointer costs", "polish", "bounds"}), solve_reweighting,
    ),
    Solver(
        "relay", "the homotopy, then the guided solver from there", RelaySettings,
        frozenset({"pointer costs", "bounds"}), solve_relay,
    ),
    Solver(
        "sharded", "guided, the documents in parts that wait on disk: for large corpora", ShardedSettings,
        frozenset({"pointer costs", "warm start", "bounds", "watch"}), solve_sharded,
    ),
    Solver(
        "exact", "optimal, by HiGHS, for small corpora", ExactSettings,
        frozenset({"pointer costs", "bounds"}), solve_exact_from_guided,
    ),
)  # fmt: skip
