"""The best bound and the average of multipliers: every bound holds, and the average is the mean it says it is."""

from __future__ import annotations

import numpy as np
import pytest

from cflengine.compression.passes import layout
from cflengine.compression.passes.best_bound import DualBound, MultiplierAverage
from cflengine.compression.passes.binary import Coder
from cflengine.compression.passes.groups import Groups
from naive.corpora import SMALL, costs_of, index_of, uneven_costs
from naive.programs import solve_relaxation


def bound_of(index, costs) -> DualBound:
    places = layout.PointerLayout.of(index)
    return DualBound(Coder(index, costs, places.blocks), Groups(index, places), costs)


class Offers:
    """Takes down what it is offered."""

    def __init__(self) -> None:
        self.seen: list[np.ndarray] = []

    def update(self, y: np.ndarray) -> None:
        self.seen.append(y.copy())


def test_average_is_the_mean_since_its_last_restart_or_the_last_multipliers():
    rng = np.random.default_rng(0)
    rows = rng.random((400, 5)).astype(np.float32)
    average, offers, since = MultiplierAverage(5), Offers(), 0
    restarts = []
    for step, y in enumerate(rows, start=1):
        average.add(y)
        if step % 10:
            continue
        average.update_bound(offers, y)
        expected = y if step - since < MultiplierAverage.SHORT else rows[since:step].mean(axis=0)
        np.testing.assert_allclose(offers.seen[-1], expected, rtol=1e-5)
        if average._count == 0:
            restarts.append(step)
            since = step
    assert restarts == [50, 100, 150, 230, 350], "half as many again, and never fewer than 50"


def test_offering_does_not_change_the_mean():
    average, offers = MultiplierAverage(3), Offers()
    for _ in range(45):
        average.add(np.array([-1.0, -2.0, 0.0], dtype=np.float32))
    for _ in range(3):
        average.update_bound(offers, np.zeros(3, dtype=np.float32))
    for seen in offers.seen:
        np.testing.assert_allclose(seen, [-1.0, -2.0, 0.0], rtol=1e-6)


@pytest.mark.parametrize("kind", ["random words", "repeated phrases", "one long document"])
@pytest.mark.parametrize("uneven", [False, True])
def test_any_multipliers_prove_a_bound_and_the_best_is_kept(kind, uneven):
    index = index_of(SMALL[kind])
    costs = uneven_costs(index) if uneven else costs_of(index)
    relaxed = solve_relaxation(index, costs)
    bound = bound_of(index, costs)
    rng = np.random.default_rng(1)
    values = []
    for scale in (3.0, 0.1, 1.0, 30.0, 0.5):
        bound.update(-scale * rng.random(index.n_tokens).astype(np.float32))
        values.append(bound.value)
    assert values == sorted(values) and 0 < values[-1] <= relaxed.value * (1 + 1e-9)
    alpha = bound.alpha()
    assert alpha.sum() == pytest.approx(bound.value) and (alpha >= 0).all()
    kept = bound.best_y.copy()
    bound.update(np.full(index.n_tokens, np.nan, dtype=np.float32))
    bound.update(np.zeros(index.n_tokens, dtype=np.float32))
    assert np.isfinite(bound.value) and bound.value >= values[-1]
    assert bound.value > values[-1] or (bound.best_y == kept).all()
