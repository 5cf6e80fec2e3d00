"""A vocabulary of a given size and its proof: prices µ until the solution has about as many pieces, then exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cflengine.compression import GuidedSettings, GuidedSolver
from cflengine.engine.progress import Listener, Poll
from cflengine.tokenizer.exchange import Exchange
from cflengine.tokenizer.problem import PieceIndex, tokens_at_least

_PRICES = 8  # at most
_NEAR = 0.03  # of the size: near enough for the search at a fixed size
_CANDIDATES = 12  # a piece: those that could pay at the first price
_POWER = -1.3  # pieces go with this power of the price, until two are known
_MARGIN = 0.4  # of the first price: candidates are kept down to here
_COARSE = 5e-3  # the gap that prices are tried with


@dataclass(frozen=True)
class Vocabulary:
    """Pieces of two units or more, most used first: grams int64, their numbers in ``pieces``. tokens: what the corpus
    takes; at_least: what any vocabulary of as many pieces takes, proved; mu: the price that proves it, lower_bound of
    problem (1) there by dual prices alpha (float64 (n,)); finished: whether it was not stopped."""

    pieces: PieceIndex = field(repr=False)
    grams: np.ndarray = field(repr=False)
    tokens: int
    at_least: int
    mu: float
    lower_bound: float
    alpha: np.ndarray = field(repr=False)
    finished: bool


class _Prices:
    """Prices that were tried and how many pieces they led to."""

    def __init__(self, size: int, first: float) -> None:
        self.size, self.next = size, first
        self.tried: list[tuple[float, int]] = []

    def note(self, mu: float, found: int) -> None:
        """Learn, and choose the next: by the last two in logarithms, kept between those that gave too few and too
        many."""
        self.tried.append((mu, max(found, 1)))
        power = _POWER
        if len(self.tried) > 1:
            (m1, f1), (m2, f2) = sorted(self.tried, key=lambda t: abs(math.log(t[1] / self.size)))[:2]
            if m1 != m2 and f1 != f2:
                power = min(math.log(f1 / f2) / math.log(m1 / m2), -0.2)
        best, count = min(self.tried, key=lambda t: abs(math.log(t[1] / self.size)))
        wanted = best * math.exp(max(min(math.log(self.size / count) / power, 1.5), -1.5))
        above = [m for m, f in self.tried if f > self.size]  # too many pieces: the price must rise
        below = [m for m, f in self.tried if f < self.size]
        low, high = max(above, default=0.0), min(below, default=math.inf)
        if not low < wanted < high:
            wanted = math.sqrt(low * high) if low > 0 and high < math.inf else wanted
        self.next = wanted


def solve_size(
    every: PieceIndex,
    size: int,
    settings: GuidedSettings,
    *,
    least: int = 1,
    fixed: np.ndarray | None = None,
    forbidden: np.ndarray | None = None,
    listeners: Iterable[Listener] = (),
    poll: Poll = lambda: True,
) -> Vocabulary:
    """A vocabulary of at most ``size`` pieces. fixed, forbidden: bool (G,), candidates that it must or must not have;
    least: how often a piece has to occur. Listeners get the events of every price."""
    worth = np.sort(every.worth_at_most()[(every.index.lengths() > 1) & (every.weight >= least)])[::-1]
    at = min(_CANDIDATES * size, len(worth) - 1)
    prices = _Prices(size, max(float(worth[at]), 1.0) if len(worth) else 1.0)
    found: dict[str, Any] = {"at_least": 0, "mu": 0.0, "lower_bound": 0.0, "alpha": np.zeros(every.index.n_tokens)}
    best: tuple[int, np.ndarray] | None = None
    candidates, kept, solver, finished = every, math.inf, None, True
    for _ in range(_PRICES):
        mu = prices.next
        if mu < kept:
            kept = _MARGIN * mu
            candidates, solver, best = every.pruned(kept, least, forbidden), None, None
        solver = solver or GuidedSolver(candidates.index)
        result = solver.solve(candidates.costs(mu), settings, listeners=listeners, lam=mu)
        at_least = tokens_at_least(result.lower_bound, mu, size)
        if at_least > found["at_least"]:
            found |= {"at_least": at_least, "mu": mu, "lower_bound": result.lower_bound, "alpha": result.alpha}
        chosen = result.dictionary[candidates.index.lengths()[result.dictionary] > 1]
        prices.note(mu, len(chosen))
        if best is None or abs(len(chosen) - size) < abs(best[0] - size):
            best = len(chosen), chosen
        finished = result.reason.value not in ("interrupted", "time limit")
        if abs(len(chosen) - size) <= _NEAR * size or not finished or not poll():
            break
    assert best is not None
    present = np.zeros(candidates.index.n_grams, dtype=bool)
    present[best[1]] = True
    exchange = Exchange(candidates, present)
    exchange.resize(size, poll)
    exchange.improve(poll)
    grams = np.flatnonzero(exchange.present)
    return Vocabulary(candidates, grams, exchange.tokens, finished=finished, **found)
