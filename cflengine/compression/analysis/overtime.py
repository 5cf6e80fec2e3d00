"""Phrases over time: how often each stands in a period's documents, and when it comes in bursts.

rate of a phrase in period t     r_t = x_t / n_t, its places over the period's words
its standard error               √(Σ_d (x_d − r_t n_d)²) / n_t over the period's documents: words of a document are
                                 not independent of each other, documents are taken to be
bursts                           Kleinberg (2003), batches of two states: p₀ = Σx/Σn, p₁ = 2 p₀; the sequence of
                                 states of least cost  Σ_t −log Bin(x_t | n_t, p_state) + γ log T for each rise
weight of a burst                how much less the burst costs in state 1 than in state 0
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy import sparse

from cflengine.compression.kernels.bursts import heaviest_bursts
from cflengine.engine.checks import InputError

_RISE, _GAMMA, _HIGHEST = 2.0, 1.0, 0.9999


@dataclass(frozen=True)
class Periods:
    """The period of each of N documents.

    Parameters
    ----------
    number : ndarray
        int64 (N,), −1 for none.
    names : tuple[str, ...]
        Of the T periods, rising, gaps included.
    """

    number: np.ndarray = field(repr=False)
    names: tuple[str, ...]


def periods_of(values: pd.Series, unit: str) -> Periods:
    """Periods of a column of dates, or of years as whole numbers.

    Parameters
    ----------
    values : pandas.Series
        The column.
    unit : {"year", "month", "day"}
        How long a period is.

    Returns
    -------
    Periods
        The period of each document.

    Raises
    ------
    InputError
        For a column that is neither, without a value, or of more than 5,000 periods.
    """
    known = values.notna().to_numpy()
    if not known.any():
        raise InputError("the column has no date.")
    if pd.api.types.is_datetime64_any_dtype(values):
        code = {"year": "Y", "month": "M", "day": "D"}[unit]
        own = values[known].dt.tz_localize(None) if values.dt.tz is not None else values[known]
        found = own.dt.to_period(code)
        names = pd.period_range(found.min(), found.max(), freq=code)
        _check_number(len(names))
        number = np.full(len(values), -1, dtype=np.int64)
        number[known] = names.get_indexer(pd.PeriodIndex(found))
        return Periods(number, tuple(map(str, names)))
    years = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)
    known = np.isfinite(years)
    if not known.any() or not np.array_equal(years[known], np.floor(years[known])):
        raise InputError("the column holds neither dates nor years.")
    low, high = int(years[known].min()), int(years[known].max())
    _check_number(high - low + 1)
    number = np.where(known, np.where(known, years, 0.0) - low, -1).astype(np.int64)
    return Periods(number, tuple(str(year) for year in range(low, high + 1)))


def _check_number(count: int) -> None:
    if count > 5_000:
        raise InputError(f"there would be {count:,} periods: take a longer one.")


def rates(places: np.ndarray, sizes: np.ndarray, periods: Periods) -> pd.DataFrame:
    """How often a phrase stands in a million words, by period.

    Parameters
    ----------
    places : ndarray (N,)
        How often each document has the phrase, or any sum over its words.
    sizes : int64 ndarray (N,)
        Words of each document.
    periods : Periods
        That of each document.

    Returns
    -------
    pandas.DataFrame
        A row a period: period, documents, words, count, rate and its interval (low, high; 95 %). NaN for a period
        without words, and no interval where it has one document.
    """
    used = periods.number >= 0
    number, T = periods.number[used], len(periods.names)
    x, n = places[used].astype(np.float64), sizes[used].astype(np.float64)
    documents = np.bincount(number, minlength=T)
    words, count = np.bincount(number, n, T), np.bincount(number, x, T)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = count / words
        spread = np.bincount(number, (x - rate[number] * n) ** 2, T)
        error = np.where(documents > 1, np.sqrt(spread) / words, np.nan)
    return pd.DataFrame(
        {
            "period": periods.names,
            "documents": documents,
            "words": words.astype(np.int64),
            "count": count,
            "rate": 1e6 * rate,
            "low": 1e6 * np.maximum(rate - 1.96 * error, 0.0),
            "high": 1e6 * (rate + 1.96 * error),
        }
    )


def bursts(counts: sparse.csr_matrix, sizes: np.ndarray, periods: Periods, *, least: float = 0.0) -> pd.DataFrame:
    """The strongest burst of each phrase that has one, the heaviest first.

    Parameters
    ----------
    counts : CSR matrix (N, D)
        Places of each phrase in each document.
    sizes : int64 ndarray (N,)
        Words of each document.
    periods : Periods
        That of each document.
    least : float
        Phrases that cannot have a burst of this weight may be left out.

    Returns
    -------
    pandas.DataFrame
        Columns phrase (column of counts), first, last (periods), weight, count (within the burst).
    """
    used = np.flatnonzero(periods.number >= 0)
    T, names = len(periods.names), np.array(periods.names, dtype=object)
    rise = _GAMMA * np.log(max(T, 2))
    member = sparse.csr_matrix((np.ones(len(used)), (periods.number[used], np.arange(len(used)))), shape=(T, len(used)))
    own = counts[used]
    total = np.asarray(own.sum(axis=0), dtype=np.float64).ravel()
    # a phrase with x places has bursts of x log 2 at most, and one where that is more than a rise costs
    phrases = np.flatnonzero(total * np.log(_RISE) >= max(rise, least) * (1 - 1e-9))
    places = sparse.csc_matrix(member @ own[:, phrases], dtype=np.float64)  # (T, D)
    places.sort_indices()
    words = np.concatenate([[0.0], np.cumsum(member @ sizes[used].astype(np.float64))])
    rate = np.clip(total[phrases] / max(words[-1], 1.0), 1e-12, _HIGHEST / _RISE)
    # log likelihood of the higher rate over the usual one, by a place and by a word that is none
    gains = np.array([np.full(len(rate), np.log(_RISE)), np.log1p(-_RISE * rate) - np.log1p(-rate)])
    found = np.zeros((4, len(phrases)))
    scratch = np.zeros((2, places.nnz), dtype=np.bool_)
    heaviest_bursts((places.indptr, places.indices, places.data), words, gains, rise, found, (scratch[0], scratch[1]))
    there = found[0] > 0
    weight, first, last, count = found[:, there]
    frame = pd.DataFrame(
        {
            "phrase": phrases[there],
            "first": names[first.astype(np.int64)],
            "last": names[last.astype(np.int64)],
            "weight": weight,
            "count": count.astype(np.int64),
        }
    )
    return frame.sort_values(["weight", "phrase"], ascending=[False, True], kind="stable", ignore_index=True)


def permuted_weight(
    counts: sparse.csr_matrix, sizes: np.ndarray, periods: Periods, *, trials: int = 19, random_state: int = 0
) -> float:
    """The largest weight of any phrase's burst after the documents' periods are exchanged at random.

    Parameters
    ----------
    counts : CSR matrix (N, D)
        Places of each phrase in each document.
    sizes : int64 ndarray (N,)
        Words of each document.
    periods : Periods
        That of each document.
    trials : int
        How often; with 19, a heavier burst is reached at random in one corpus of twenty.
    random_state : int
        Of the exchanges.

    Returns
    -------
    float
        0 where nothing bursts.
    """
    used = np.flatnonzero(periods.number >= 0)
    rng, most = np.random.default_rng(random_state), 0.0
    for _ in range(trials):
        number = periods.number.copy()
        number[used] = rng.permutation(periods.number[used])
        found = bursts(counts, sizes, Periods(number, periods.names), least=most)
        most = max(most, float(found["weight"].max()) if len(found) else 0.0)
    return most
