"""Intervals and paired tests, by resampling what is judged: documents, whole groups of them, or authors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.special import ndtri
from scipy.stats import ttest_1samp

from cflengine.linear.search import paired_test

DRAWS = 1000
FEWEST_UNITS = 6  # of fewer, no pattern of signs is rarer than one in twenty: there is no interval, and p is above 0.05
_MOST_DRAWN = 20_000  # units or groups; of more the mean's interval is that of the normal distribution
_MOST_FLIPS = 14  # units of which all patterns of signs are gone through
_CHUNK_ENTRIES = 1 << 22


@dataclass(frozen=True)
class Resampling:
    """Bootstrap weights of n units; the same seed gives the same draws, so that differences are paired.

    groups: int (n,), units that are only drawn together (-1: alone); None where each stands alone.
    """

    n: int
    groups: np.ndarray | None = field(repr=False, default=None)
    random_state: int = 0
    draws: int = DRAWS

    @cached_property
    def _member(self) -> np.ndarray:
        return _members(self.n, self.groups)

    @cached_property
    def n_drawn(self) -> int:
        """What is drawn: groups, and units alone."""
        return int(self._member.max(initial=-1)) + 1

    def weights(self) -> Iterator[np.ndarray]:
        """float64 (some draws, n): how often each unit was drawn."""
        for drawn in self._drawn() if self.n_drawn > _MOST_DRAWN else self._kept:
            yield drawn[:, self._member].astype(np.float64)

    def _drawn(self) -> Iterator[np.ndarray]:
        """uint16 (some draws, n_drawn)."""
        rng, size = np.random.default_rng(self.random_state), self.n_drawn
        step = max(1, _CHUNK_ENTRIES // max(self.n, 1))
        for begin in range(0, self.draws, step):
            count = min(step, self.draws - begin)
            yield rng.multinomial(size, np.full(size, 1.0 / size), size=count).astype(np.uint16)

    @cached_property
    def _kept(self) -> list[np.ndarray]:
        """Drawing takes a hundred times as long as a mean of what was drawn."""
        return list(self._drawn())

    def interval(self, statistic: Callable[[np.ndarray], np.ndarray], level: float = 0.95) -> tuple[float, float]:
        """Percentiles of a statistic, which takes weights (draws, n) and gives (draws,); NaN where fewer than six are
        drawn, of which the bootstrap has too few outcomes to tell."""
        if self.n_drawn < FEWEST_UNITS:
            return (np.nan, np.nan)
        found = np.concatenate([statistic(weights) for weights in self.weights()])
        low, high = np.nanquantile(found, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
        return float(low), float(high)

    def mean_interval(self, values: np.ndarray, level: float = 0.95) -> tuple[float, float]:
        """As :meth:`interval`, of the mean of values (n,). Of more than 20,000 units or groups the normal distribution
        has it, by the groups' sums: there both agree to a hundredth of their length."""
        if self.n_drawn <= _MOST_DRAWN:
            return self.interval(weighted_mean(values), level)
        mean = float(values.mean())
        spread = float(np.sqrt(np.sum(np.bincount(self._member, values - mean) ** 2))) / self.n
        return mean - ndtri((1.0 + level) / 2.0) * spread, mean + ndtri((1.0 + level) / 2.0) * spread

    def share_interval(self, right: np.ndarray, level: float = 0.95) -> tuple[float, float]:
        """As :meth:`interval`, of the share of units that are right, bool (n,). Where all are, or none is, draws do not
        differ: then it is that of Clopper and Pearson, for as many as are drawn."""
        if self.n_drawn < FEWEST_UNITS or (right.any() and not right.all()):
            return self.mean_interval(right.astype(np.float64), level)
        most = 1.0 - ((1.0 - level) / 2.0) ** (1.0 / self.n_drawn)  # of what was never seen
        return (1.0 - most, 1.0) if right.any() else (0.0, most)


def _members(n: int, groups: np.ndarray | None) -> np.ndarray:
    """int64 (n,): which of what is drawn each unit belongs to."""
    if groups is None:
        return np.arange(n)
    return np.unique(np.where(groups < 0, -1 - np.arange(n), groups), return_inverse=True)[1]


def weighted_mean(values: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The mean of values (n,) as a statistic."""
    return lambda weights: (weights @ values) / np.maximum(weights.sum(axis=1), 1e-300)


def macro_f1(truth: np.ndarray, predicted: np.ndarray, n_classes: int) -> Callable[[np.ndarray], np.ndarray]:
    """The mean over classes of F1, classes that are neither there nor predicted left out, as a statistic."""
    units, n = np.arange(len(truth)), len(truth)
    true, said = (sparse.csr_matrix((np.ones(n), (units, of)), shape=(n, n_classes)) for of in (truth, predicted))
    right = sparse.csr_matrix(true.multiply(said))
    # of many classes a few draws at a time: what is made is draws × classes
    step = max(1, _CHUNK_ENTRIES // max(n_classes, 1))

    def some(weights: np.ndarray) -> np.ndarray:
        total = (true.T @ weights.T + said.T @ weights.T).T
        f1 = np.divide(2.0 * (right.T @ weights.T).T, total, out=np.full_like(total, np.nan), where=total > 0)
        return np.nanmean(f1, axis=1)

    def statistic(weights: np.ndarray) -> np.ndarray:
        return np.concatenate([some(weights[a : a + step]) for a in range(0, len(weights), step)])

    return statistic


def r_squared(truth: np.ndarray, predicted: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """1 − MSE/variance, as a statistic."""
    errors, truth = (truth - predicted) ** 2, truth - truth.mean()  # from the mean, so that squares do not cancel

    def statistic(weights: np.ndarray) -> np.ndarray:
        total = weights.sum(axis=1)
        mean = weights @ truth / total
        spread = weights @ truth**2 / total - mean**2
        known = spread > 1e-12 * np.maximum((truth**2).max(initial=0.0), 1e-300)
        found = np.full(len(weights), np.nan)
        return np.divide(spread - weights @ errors / total, spread, out=found, where=known)

    return statistic


def whole(statistic: Callable[[np.ndarray], np.ndarray], n: int) -> float:
    """A statistic of all units, each once; NaN for none."""
    return float(statistic(np.ones((1, n)))[0]) if n else float("nan")


def paired_p(first: np.ndarray, second: np.ndarray, groups: np.ndarray | None = None) -> float:
    """p that two methods are equally good, from what each unit was worth: an exact sign test for right and wrong
    (bool), a paired t-test for errors (float); 1 where they never differ. groups: of units, as :class:`Resampling` has
    them: then a test of the groups' sums, since units of one group are not independent. Up to fourteen errors or sums
    are tested exactly, by all patterns of their signs."""
    if groups is None and first.dtype == bool:
        return paired_test(first, second)
    member = _members(len(first), groups)
    difference = np.bincount(member, first.astype(np.float64) - second.astype(np.float64))
    if not difference.any():
        return 1.0
    n, difference = len(difference), difference / np.abs(difference).max()  # its squares neither vanish nor overflow
    if n <= _MOST_FLIPS:
        signs = 1.0 - 2.0 * ((np.arange(1 << n)[:, None] >> np.arange(n)) & 1)
        total = abs(difference.sum())
        return float(np.mean(np.abs(signs @ difference) >= total * (1.0 - 1e-12)))
    if np.ptp(difference) == 0.0:
        return 2.0 ** (1 - n)  # of the signs: a t-test has no spread to go by
    return float(ttest_1samp(difference, 0.0).pvalue)
