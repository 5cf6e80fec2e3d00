"""Phrases over time: rates by hand, bursts against every sequence of states."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from cflengine.compression.analysis.overtime import Periods, bursts, periods_of, permuted_weight, rates
from cflengine.engine.checks import InputError


def test_periods_of_dates_and_years():
    dates = pd.Series(pd.to_datetime(["2020-03-01", None, "2022-01-05", "2020-12-31"]))
    found = periods_of(dates, "year")
    assert found.names == ("2020", "2021", "2022") and found.number.tolist() == [0, -1, 2, 0]
    months = periods_of(dates, "month")
    assert months.names[0] == "2020-03" and months.number.tolist() == [0, -1, 22, 9]
    zoned = pd.Series(pd.to_datetime(["2020-03-01T23:00:00Z", "2021-03-01T00:00:00Z"], utc=True))
    assert periods_of(zoned, "year").names == ("2020", "2021")
    years = periods_of(pd.Series([1999, 2001, None, 1999]), "year")
    assert years.names == ("1999", "2000", "2001") and years.number.tolist() == [0, 2, -1, 0]


@pytest.mark.parametrize("values", [[None, None], ["a", "b"], [1.5, 2.5], [1, 99999]])
def test_columns_that_are_no_time(values):
    with pytest.raises(InputError):
        periods_of(pd.Series(values), "year")


def test_rates_by_hand():
    periods = Periods(np.array([0, 0, 2, -1]), ("a", "b", "c"))
    frame = rates(np.array([3, 1, 2, 9]), np.array([10, 30, 20, 5]), periods)
    assert frame["documents"].tolist() == [2, 0, 1] and frame["words"].tolist() == [40, 0, 20]
    rate = 4 / 40
    error = np.sqrt((3 - rate * 10) ** 2 + (1 - rate * 30) ** 2) / 40
    assert frame["rate"][0] == pytest.approx(1e6 * rate)
    assert frame["high"][0] == pytest.approx(1e6 * (rate + 1.96 * error))
    assert np.isnan(frame["rate"][1]) and np.isnan(frame["high"][2])


def best_states(x: np.ndarray, n: np.ndarray) -> tuple[int, ...]:
    """The sequence of least cost, by trying all."""
    T, p0 = len(x), x.sum() / n.sum()
    p = (p0, 2 * p0)

    def cost(states: tuple[int, ...]) -> float:
        total, before = 0.0, 0
        for t, state in enumerate(states):
            total -= x[t] * np.log(p[state]) + (n[t] - x[t]) * np.log1p(-p[state])
            total += np.log(max(T, 2)) * (state > before)
            before = state
        return total

    return min(product((0, 1), repeat=T), key=lambda states: (round(cost(states), 9), states))


def test_bursts_are_the_states_of_least_cost():
    rng = np.random.default_rng(5)
    T = 7
    periods = Periods(np.arange(T), tuple("abcdefg"))
    n = rng.integers(200, 900, T)
    x = rng.poisson(6, (T, 30))
    x[2:5, :10] += rng.poisson(25, (3, 10))
    found = bursts(sparse.csr_matrix(x), n, periods).set_index("phrase")
    for d in range(30):
        states = best_states(x[:, d].astype(float), n.astype(float))
        if not any(states):
            assert d not in found.index
            continue
        first, last = found.loc[d, "first"], found.loc[d, "last"]
        a, e = periods.names.index(first), periods.names.index(last)
        assert all(states[a : e + 1]) and (a == 0 or not states[a - 1]) and (e == T - 1 or not states[e + 1])
        assert found.loc[d, "count"] == x[a : e + 1, d].sum() and found.loc[d, "weight"] > 0
    assert set(range(10)) & set(found.index[:8])


def test_bursts_of_few_places_and_over_periods_without_the_phrase_or_without_words():
    """Mostly zeros, a last period without words: bursts end where the phrase does."""
    rng = np.random.default_rng(8)
    T = 9
    periods = Periods(np.arange(T), tuple("abcdefghi"))
    n = rng.integers(20, 90, T)
    n[-1] = 0
    x = rng.poisson(0.4, (T, 60))
    x[3:6, :30] += rng.poisson(3, (3, 30))
    x[-1] = 0
    found = bursts(sparse.csr_matrix(x), n, periods).set_index("phrase")
    for d in range(60):
        states = best_states(x[:, d].astype(float), n.astype(float)) if x[:, d].any() else (0,)
        assert any(states) == (d in found.index)
        if any(states):
            a, e = (periods.names.index(found.loc[d, end]) for end in ("first", "last"))
            assert all(states[a : e + 1]) and (a == 0 or not states[a - 1]) and not states[e + 1]
            assert x[a, d] and x[e, d] and found.loc[d, "count"] == x[a : e + 1, d].sum()
    assert len(found) > 10


def test_a_burst_begins_where_the_phrase_does_not_in_an_empty_period_before():
    periods = Periods(np.array([1, 2, 3]), tuple("abcd"))
    found = bursts(sparse.csr_matrix([[9], [1], [0]]), np.array([50, 100, 900]), periods)
    assert found[["first", "last", "count"]].values.tolist() == [["b", "b", 9]]


def test_only_those_that_can_weigh_enough_are_looked_at():
    rng = np.random.default_rng(1)
    periods = Periods(np.arange(9), tuple("abcdefghi"))
    x = rng.poisson(rng.exponential(6, 200), (9, 200))
    x[3:5, :20] += rng.poisson(20, (2, 20))
    n = rng.integers(2000, 9000, 9)
    every = bursts(sparse.csr_matrix(x), n, periods)
    heavy = every[every["weight"] >= 20.0]
    found = bursts(sparse.csr_matrix(x), n, periods, least=20.0)
    pd.testing.assert_frame_equal(found[found["weight"] >= 20.0], heavy)
    assert 0 < len(heavy) <= len(found) < len(every)


def test_nothing_bursts_where_all_is_even():
    periods = Periods(np.arange(5), tuple("abcde"))
    assert bursts(sparse.csr_matrix(np.full((5, 2), 3)), np.full(5, 100), periods).empty
    assert bursts(sparse.csr_matrix((5, 1), dtype=np.int64), np.full(5, 100), periods).empty


def test_what_random_orders_reach():
    rng = np.random.default_rng(2)
    periods = Periods(np.repeat(np.arange(6), 20), tuple("abcdef"))
    sizes = np.full(120, 100)
    even = rng.poisson(0.5, (120, 40))
    burst = even.copy()
    burst[40:60, 0] += 3
    for counts, wanted in ((even, 0), (burst, 1)):
        matrix = sparse.csr_matrix(counts)
        highest = permuted_weight(matrix, sizes, periods)
        assert (bursts(matrix, sizes, periods)["weight"] > highest).sum() == wanted
    assert permuted_weight(sparse.csr_matrix((120, 1), dtype=np.int64), sizes, periods) == 0.0
