"""What a user sets: the model, the solver, how far and how long it may go; from an address, and from a file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cflengine import ExactSettings, GuidedSettings, HomotopySettings, ReweightingSettings, ShardedSettings
from cflengine.compression import COUNTINGS, SOLVERS, RelaySettings, estimated_seconds
from cflengine.linear import WEIGHTINGS
from pages.parts.shared.path_run import QUICK_S

LAMBDAS = (0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 8.0, 13.0, 20.0, 50.0)
TEMPERATURES = ("0.1", "0.3", "0.5", "1", "3", "10", "30")  # of soft counts


@dataclass(frozen=True)
class Settings:
    """What the user has set: the model, the solver, and how far and how long it may go.

    solver: None for the homotopy and then the guided one where that is quick, else the guided one (:meth:`for_tokens`).
    gap: where the guided solver stops. stage_iterations, relaxation_gap, last_zeta: the homotopy's. rounds: of
    reweighting. shards: of the sharded solver. counting, temperature: how the features are counted. plain_cost: None,
    or what a single word costs that stands in the text as it is and needs no entry (in a run of the solver alone).
    """

    lam: float = 1.0
    max_gram: int = 3
    weighting: str = "count"
    counting: str = "pointers"
    temperature: float = 3.0
    solver: str | None = None
    gap: float = 1e-3
    stage_iterations: int = 150
    relaxation_gap: float | None = None
    last_zeta: float = 1.0
    rounds: int = 20
    shards: int = 4
    time_limit: float | None = None
    plain_cost: float | None = None

    def for_tokens(self, n_tokens: int) -> Settings:
        """The same with a solver: the homotopy first where it takes less than ``QUICK_S`` by estimate."""
        if self.solver is not None:
            return self
        quick = estimated_seconds(self.max_gram * n_tokens, "homotopy") < QUICK_S
        return replace(self, solver="relay" if quick else "guided")

    def homotopy_settings(self) -> HomotopySettings:
        """The homotopy's own settings; a time limit is for the whole solve."""
        return HomotopySettings(
            stage_iterations=self.stage_iterations,
            relaxation_gap=self.relaxation_gap,
            last_zeta=self.last_zeta,
            keep_stages=True,
        )

    def solve_key(self, corpus_id: str) -> tuple[Any, ...]:
        """What a solve depends on: not on counting and weighting, which only read its result, nor on another solver's
        settings."""
        return (corpus_id, self.lam, self.max_gram, self.plain_cost, self.solver, self.solver_settings())

    def solver_settings(self) -> Any:
        """The chosen solver's own settings."""
        if self.solver == "homotopy":
            return replace(self.homotopy_settings(), time_limit=self.time_limit)
        if self.solver == "relay":
            return RelaySettings(tol=self.gap, time_limit=self.time_limit, homotopy=self.homotopy_settings())
        if self.solver == "reweighting":
            return ReweightingSettings(rounds=self.rounds, time_limit=self.time_limit)
        if self.solver == "sharded":
            return ShardedSettings(tol=self.gap, shards=self.shards, time_limit=self.time_limit)
        if self.solver == "exact":
            return ExactSettings(time_limit=self.time_limit)
        return GuidedSettings(tol=self.gap, time_limit=self.time_limit)


def settings_from(query: Any) -> Settings:
    """Settings from an address; what does not parse or is out of range is left at its default."""
    found: dict[str, Any] = {}
    try:
        lam = float(query.get("lam", "nan"))
    except ValueError:
        lam = math.nan  # a link that was typed
    if 0 <= lam <= LAMBDAS[-1]:
        found["lam"] = lam
    if query.get("k") in tuple("12345678"):
        found["max_gram"] = int(query["k"])
    if query.get("temperature") in TEMPERATURES:
        found["temperature"] = float(query["temperature"])
    for name, choices in (("weighting", WEIGHTINGS), ("counting", COUNTINGS), ("solver", SOLVERS)):
        if query.get(name) in choices:
            found[name] = query[name]
    return Settings(**found)


_LIMITS = {
    "gap": (0.0, 0.5), "stage_iterations": (1, 2000), "relaxation_gap": (1e-12, 0.5), "last_zeta": (0.0, 1.0),
    "rounds": (1, 100), "shards": (2, 64), "time_limit": (0.001, 86400.0), "plain_cost": (0.0, 1e6),
}  # fmt: skip


def settings_of(given: Mapping[str, Any]) -> Settings:
    """Settings from a project's file; what is unknown or out of range is left at its default."""
    kept: dict[str, Any] = {}
    for name, (low, high) in _LIMITS.items():
        value = given.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
            continue
        if isinstance(low, float) or value == int(value):
            kept[name] = value if isinstance(low, float) else int(value)
    if "last_zeta" in kept:
        kept["last_zeta"] = round(kept["last_zeta"], 1)  # as the page offers them
    names = {"k": "max_gram"} | {name: name for name in ("lam", "temperature", "weighting", "counting", "solver")}
    return replace(settings_from({short: _spelt(given.get(name)) for short, name in names.items()}), **kept)


def _spelt(value: Any) -> str:
    """A value as an address spells it."""
    if isinstance(value, str):
        return value
    return in_digits(value) if isinstance(value, int | float) and abs(value) < 1e6 else ""


def in_digits(value: float) -> str:
    """A number as an address has it, short where that is the number."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))
