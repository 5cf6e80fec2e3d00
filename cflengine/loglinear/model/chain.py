"""The linear-chain CRF as a model of scores, its features, and what it predicts."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from scipy import sparse

from cflengine.engine.progress import Stopped
from cflengine.linear.design import Design
from cflengine.loglinear.kernels import chain as kernels
from cflengine.loglinear.kernels.forward_backward import forward_backward
from cflengine.loglinear.model.certificate import Certificate, certify_chain
from cflengine.loglinear.model.problem import ChainData, ChainFeatures, neighbours

_RUNS = 128  # of attributes, with as much work each
_FREQUENT = 64  # tokens from which on an attribute is gathered by tokens
_GROUPS = 8  # of tokens, whatever the number of threads: their sums are added up in order
_PIECE_NS = 1e8  # of a pass, between two questions whether to go on
_MOST_OF_TILE = 1 << 21  # numbers, of which a thread has three times so many
_MOST_CELLS = 50_000_000  # of a table of all state weights, at 8 bytes each


class ChainModel:
    """−Σ log Pr(labels | sentence): equation (7).

    Weights are as in problem.ChainFeatures; scores: emission (T, L) and transition (L, L), flat, one after the other.

    Parameters
    ----------
    data : ChainData
        The sentences and their labels.
    features : ChainFeatures
        Which attributes and labels have a weight.
    may_go_on : Callable[[], bool], optional
        Asked between the pieces of a pass.
    """

    cost = (0.0, 1.0, 0.0)  # forward-backward is what costs, and it comes with every loss

    def __init__(self, data: ChainData, features: ChainFeatures, may_go_on: Callable[[], bool] = lambda: True) -> None:
        """may_go_on: asked between pieces of a pass; where it says no, :meth:`loss` raises Stopped."""
        self.data, self.features, self.may_go_on = data, features, may_go_on
        self.design = Design(data.X)
        self.n_weights = features.n_weights
        self.n_scores = len(data.label) * features.n_labels + features.n_labels**2
        self._states = (features.ptr, features.label)
        self._order = by_length(data.ptr)
        self._gathering = _Gathering(data.X, self.design, features.n_labels)
        n_cells = data.X.shape[1] * features.n_labels
        self._table = np.zeros((data.X.shape[1], features.n_labels)) if n_cells <= _MOST_CELLS else None
        before, after = neighbours(data)
        self._observed_pairs = np.zeros((features.n_labels, features.n_labels))
        np.add.at(self._observed_pairs, (before, after), 1.0)

    def scores(self, w: np.ndarray) -> np.ndarray:
        flat = np.empty(self.n_scores)  # not zeros: those are fresh pages, which cost as much as the kernel
        emission, transition = self._split(flat)
        transition[:] = 0.0
        if self._table is None:
            kernels.emissions(*self.design.by_rows, *self._states, w, emission, (0, len(emission)))
        else:
            kernels.spread_states(*self._states, w, self._table, (0, len(self._table)))
            kernels.emissions_of_table(*self.design.by_rows, self._table, emission, (0, len(emission)))
        transition[self.features.before, self.features.after] = w[self.features.n_states :]
        return flat

    def loss(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        emission, transition = self._split(scores)
        data = self.data
        derivative = np.empty(len(scores))
        marginals, pairs = self._split(derivative)
        log_z, by_tile = infer(emission, transition, data.ptr, marginals, self._order, self.may_go_on)
        losses = np.empty(len(log_z))
        kernels.observed(emission, transition, data.ptr, data.label, marginals, log_z, losses, (0, len(losses)))
        pairs[:] = by_tile.sum(axis=0) - self._observed_pairs
        return float(losses.sum()), derivative

    def gather(self, derivative: np.ndarray) -> np.ndarray:
        marginals, pairs = self._split(derivative)
        out = np.empty(self.n_weights)
        self._gathering(self._states, marginals, out)
        out[self.features.n_states :] = pairs[self.features.before, self.features.after]
        return out

    def certify(self, w: np.ndarray, ridge: float, lasso: float, alpha: np.ndarray | None) -> Certificate:
        """Objective and bound, recomputed by certificate.py."""
        return certify_chain(self.data, self.features, w, ridge, lasso)

    def _split(self, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n_labels = self.features.n_labels
        tokens = len(self.data.label) * n_labels
        return flat[:tokens].reshape(-1, n_labels), flat[tokens:].reshape(n_labels, n_labels)


class _Gathering:
    """Xᵀ derivative at the state features: frequent attributes by tokens, rare ones by columns (kernels/chain.py)."""

    def __init__(self, X: sparse.csr_matrix, design: Design, n_labels: int) -> None:
        self.columns = design.by_columns
        ends = self.columns[0]
        counts = np.diff(ends)
        often = counts >= _FREQUENT
        chosen = np.flatnonzero(often)
        self.frequent = np.full(len(counts), -1, dtype=np.int32)
        self.frequent[chosen] = np.arange(len(chosen), dtype=np.int32)
        self.rows = Design(sparse.csr_matrix(X[:, chosen])).by_rows if len(chosen) else design.by_rows
        groups = _GROUPS if len(chosen) else 0
        self.groups = np.linspace(0, X.shape[0], groups + 1).astype(np.int64)
        self.tables = np.zeros((groups, max(len(chosen), 1), n_labels))
        rare = np.concatenate([[0], np.cumsum(np.where(often, _GROUPS, counts))])  # work before each
        cuts = np.searchsorted(rare, np.linspace(0, rare[-1], _RUNS))
        self.cuts = np.unique(np.append(cuts, [0, len(counts)])).astype(np.int64)

    def __call__(self, states: tuple[np.ndarray, np.ndarray], derivative: np.ndarray, out: np.ndarray) -> None:
        if len(self.groups) > 1:
            kernels.gather_frequent(self.groups, *self.rows, derivative, self.tables, (0, len(self.tables)))
        chunk = (0, len(self.cuts) - 1)
        kernels.gather_states(self.cuts, self.frequent, self.tables, self.columns, states, derivative, out, chunk)


def infer(
    emission: np.ndarray,
    transition: np.ndarray,
    ptr: np.ndarray,
    marginals: np.ndarray,
    order: np.ndarray | None = None,
    may_go_on: Callable[[], bool] = lambda: True,
) -> tuple[np.ndarray, np.ndarray]:
    """log Z (N,) and expected label pairs by tile of sentences; fills ``marginals``, float64 (T, L).

    order: of :func:`by_length`, if it is at hand. may_go_on: asked every 100 ms or so; Stopped is raised where it says
    no.
    """
    order = by_length(ptr) if order is None else order
    n_sentences, n_labels = len(ptr) - 1, len(transition)
    lanes = 64 if n_labels <= 24 else 32 if n_labels <= 48 else 16  # so that a tile stays in the cache
    lengths = np.diff(ptr)[order]
    while lanes > 8 and lengths.max(initial=0) * n_labels * lanes > _MOST_OF_TILE:
        lanes //= 2
    pairs = np.empty((-(-n_sentences // lanes), n_labels, n_labels))
    log_z = np.empty(n_sentences)
    tokens = int(_PIECE_NS / (0.6 * n_labels**2 + 5.0 * n_labels))  # measured, by two threads
    before = np.cumsum(lengths)[::lanes]  # up to the first sentence of each tile
    cuts = [*np.flatnonzero(np.diff(before // max(1, tokens), prepend=-1)).tolist(), len(pairs)]
    for first, last in itertools.pairwise(cuts):
        if not may_go_on():
            raise Stopped
        tiles = (order[first * lanes : last * lanes], lanes)
        forward_backward(emission, transition, ptr, tiles, marginals, pairs[first:last], log_z, (0, last - first))
    return log_z, pairs


def by_length(ptr: np.ndarray) -> np.ndarray:
    """int64 (N,): sentences from the longest to the shortest."""
    return np.argsort(-np.diff(ptr), kind="stable")


class ChainScorer:
    """A trained chain at work: likeliest labels and marginals of new sentences.

    Parameters
    ----------
    features : ChainFeatures
        Which attributes and labels have a weight.
    w : ndarray
        float64, the weights.
    """

    def __init__(self, features: ChainFeatures, w: np.ndarray) -> None:
        self.features, self.w = features, w
        _, self.transition = features.matrices(w)

    def emissions(self, X: sparse.csr_matrix) -> np.ndarray:
        """float64 (T, L)."""
        out = np.empty((X.shape[0], self.features.n_labels))
        kernels.emissions(*Design(X).by_rows, self.features.ptr, self.features.label, self.w, out, (0, len(out)))
        return out

    def decode(self, X: sparse.csr_matrix, ptr: np.ndarray) -> np.ndarray:
        """int32 (T,), by Viterbi's algorithm."""
        label = np.empty(X.shape[0], dtype=np.int32)
        kernels.viterbi(self.emissions(X), self.transition, ptr, label, (0, len(ptr) - 1))
        return label

    def marginals(self, X: sparse.csr_matrix, ptr: np.ndarray) -> np.ndarray:
        """float64 (T, L): Pr(label of the token | sentence)."""
        out = np.empty((X.shape[0], self.features.n_labels))
        infer(self.emissions(X), self.transition, ptr, out)
        return out
