"""The problem in clear numpy: penalised log-likelihood of log-linear models. No kernels; tests and certificates use it.

    minimise over w    f(w) = −Σ_i log Pr(y_i | x_i; w) + c₁‖w‖₁ + ridge/2 ‖w‖²,        ridge = 1/σ²

(Mathur & Chakrabarti, ICDM 2006, equations (1) to (3); c₁ = 0 there.) The loss is a sum, not a mean.

- binary: Pr(y | x) = σ(y wᵀx), y = ±1, equation (5). multinomial: Pr(c | x) = softmax(xᵀW)_c, W (d, C), w is W flat;
- chain: Pr(y | x) = exp(Σ_p s_p[y_p] + Σ_p T[y_{p−1}, y_p])/Z(x), equations (6) to (11), with emission scores
  s = X W of sparse attributes X (tokens × attributes). W and T have entries for the features of a ChainFeatures
  alone, and are 0 elsewhere; w holds those entries, W's first.

A bias is a feature of value 1, penalised like any other: so that one certificate holds for all solvers.

Examples
--------
Two observations ±1 of their own class. The derivative by the scores at w = 0 is −y/2, so that the
gradient is −1.

>>> import numpy as np
>>> from scipy import sparse
>>> X, y = sparse.csr_matrix([[1.0], [-1.0]]), np.array([1.0, -1.0])
>>> loss, scores, derivative = binary_loss(X, y, np.zeros(1))
>>> round(loss, 4), derivative.tolist(), (X.T @ derivative).tolist()
(1.3863, [-0.5, 0.5], [-1.0])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit, logsumexp, softmax


def binary_loss(
    X: sparse.csr_matrix, y: np.ndarray, w: np.ndarray, weight: np.ndarray | None = None
) -> tuple[float, np.ndarray, np.ndarray]:
    """Loss, scores (n,) and the loss's derivative by them. X: (n, d); y: ±1; weight: (n,), of the documents."""
    scores = X @ w
    v = np.ones(len(y)) if weight is None else weight
    return float((v * np.logaddexp(0.0, -y * scores)).sum()), scores, -v * y * expit(-y * scores)


def multinomial_loss(
    X: sparse.csr_matrix, label: np.ndarray, w: np.ndarray, weight: np.ndarray | None = None
) -> tuple[float, np.ndarray, np.ndarray]:
    """Loss, scores (n, C) and derivatives of a multinomial model; w: (d·C,), label: (n,) in 0 .. C−1; weight: (n,)."""
    scores = np.asarray(X @ w.reshape(X.shape[1], -1))
    at = np.arange(len(label))
    derivative = softmax(scores, axis=1)
    derivative[at, label] -= 1.0
    v = np.ones(len(label)) if weight is None else weight
    return float((v * (logsumexp(scores, axis=1) - scores[at, label])).sum()), scores, v[:, None] * derivative


@dataclass(frozen=True)
class ChainFeatures:
    """Which weights a chain has: state features (attribute, label), sorted, then transitions (from, to), sorted.

    ptr: int64 (A+1,), of the labels of each attribute; label: int32 (E,); before, after: int32 (F,), label pairs.
    """

    ptr: np.ndarray
    label: np.ndarray
    before: np.ndarray
    after: np.ndarray
    n_labels: int

    @property
    def n_states(self) -> int:
        """E: how many weights are of state features."""
        return len(self.label)

    @property
    def n_weights(self) -> int:
        """E + F."""
        return len(self.label) + len(self.before)

    def takes(self, w: np.ndarray, n_attributes: int) -> bool:
        """Whether these arrays, which may come from a file, make a model of so many attributes with the weights w."""
        ptr, pairs = self.ptr, (self.label, self.before, self.after)
        if not all(part.ndim == 1 and part.dtype.kind == "i" for part in (ptr, *pairs)):
            return False
        if not (w.ndim == 1 and w.dtype == np.float64 and len(ptr) == n_attributes + 1):
            return False
        within = all(len(part) == 0 or (part.min() >= 0 and part.max() < self.n_labels) for part in pairs)
        ordered = ptr[0] == 0 and ptr[-1] == self.n_states and bool((np.diff(ptr) >= 0).all())
        sizes = len(self.before) == len(self.after) and len(w) == self.n_weights and bool(np.isfinite(w).all())
        return bool(within and ordered and sizes)

    def matrices(self, w: np.ndarray) -> tuple[sparse.csr_matrix, np.ndarray]:
        """W, sparse (A, L), and T, (L, L)."""
        states = sparse.csr_matrix((w[: self.n_states], self.label, self.ptr), (len(self.ptr) - 1, self.n_labels))
        transition = np.zeros((self.n_labels, self.n_labels))
        transition[self.before, self.after] = w[self.n_states :]
        return states, transition


@dataclass(frozen=True)
class ChainData:
    """Sentences as tokens. X: float64 (T, A); ptr: int64 (N+1,), of their tokens; label: int32 (T,), −1 where unknown.

    No sentence is empty.
    """

    X: sparse.csr_matrix
    ptr: np.ndarray
    label: np.ndarray


def chain_features(
    data: ChainData,
    n_labels: int,
    *,
    all_states: bool = False,
    all_transitions: bool = False,
    transitions: bool = True,
) -> ChainFeatures:
    """The features that training data has, as python-crfsuite makes them; or all.

    Parameters
    ----------
    data : ChainData
        Attributes and labels of the tokens.
    n_labels : int
        How many labels there are.
    all_states : bool
        Every attribute with every label (feature.possible_states of CRFsuite).
    all_transitions : bool
        Every label after every label (feature.possible_transitions).
    transitions : bool
        Whether labels have any.

    Returns
    -------
    ChainFeatures
        By attribute, then transitions.
    """
    n_attributes = data.X.shape[1]
    if all_states:
        ptr = np.arange(n_attributes + 1, dtype=np.int64) * n_labels
        label = np.tile(np.arange(n_labels, dtype=np.int32), n_attributes)
    else:
        one_hot = sparse.csr_matrix(
            (np.ones(len(data.label)), data.label, np.arange(len(data.label) + 1)), (len(data.label), n_labels)
        )
        present = data.X.copy()
        present.data = np.ones(len(present.data))
        seen = sparse.csr_matrix(present.T @ one_hot)
        seen.sort_indices()
        ptr, label = seen.indptr.astype(np.int64), seen.indices.astype(np.int32)
    pairs = np.zeros((n_labels, n_labels), dtype=bool)
    pairs[neighbours(data)] = True
    if all_transitions or not transitions:
        pairs[:] = transitions
    before, after = np.nonzero(pairs)
    return ChainFeatures(ptr, label, before.astype(np.int32), after.astype(np.int32), n_labels)


def neighbours(data: ChainData) -> tuple[np.ndarray, np.ndarray]:
    """The labels of every token but the first of a sentence: of the token before it, and its own."""
    inside = np.ones(len(data.label), dtype=bool)
    inside[data.ptr[:-1]] = False
    ends = np.flatnonzero(inside)
    return data.label[ends - 1], data.label[ends]


def chain_loss(
    data: ChainData, features: ChainFeatures, w: np.ndarray
) -> tuple[float, tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Loss; emission scores (T, L) and transition scores (L, L); the loss's derivatives by both: expected less
    observed."""
    states, transition = features.matrices(w)
    emission = np.asarray((data.X @ states).todense())
    log_z, marginals, pairs = forward_backward(emission, transition, data.ptr)
    label, pair = data.label, neighbours(data)
    observed = emission[np.arange(len(label)), label].sum() + transition[pair].sum()
    marginals[np.arange(len(label)), label] -= 1.0
    np.subtract.at(pairs, pair, 1.0)
    return float(log_z.sum() - observed), (emission, transition), (marginals, pairs)


def forward_backward(
    emission: np.ndarray, transition: np.ndarray, ptr: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log Z (N,), marginals (T, L), and expected counts of label pairs (L, L), in log space: equations (8) to (11).

    All sentences at once, position by position, the longest first, so that those at work are always the first few.
    """
    lengths = np.diff(ptr)
    if not emission.any() and not transition.any():  # no weight yet: all labels alike
        n_pairs, n_labels = len(emission) - np.count_nonzero(lengths), emission.shape[1]
        even = np.full((n_labels, n_labels), n_pairs / n_labels**2)
        return lengths * np.log(n_labels), np.full(emission.shape, 1.0 / n_labels), even
    order = np.argsort(-lengths, kind="stable")
    starts, n_labels = ptr[:-1][order], emission.shape[1]
    at_work = [int(np.count_nonzero(lengths > p)) for p in range(int(lengths.max(initial=0)))]
    at = emission.T  # label first, sentences last: sums over labels then go along rows of sentences
    forward = [at[:, starts[: at_work[0]]]] if at_work else []
    for p in range(1, len(at_work)):
        before = forward[-1][:, None, : at_work[p]] + transition[:, :, None]
        forward.append(_log_sums(before) + at[:, starts[: at_work[p]] + p])
    log_z = np.zeros(len(lengths))
    marginals, pairs = np.zeros(emission.shape), np.zeros((n_labels, n_labels))
    backward = np.zeros((n_labels, 0))
    for p in range(len(at_work) - 1, -1, -1):
        rows, longer = at_work[p], backward.shape[1]
        onward = backward + at[:, starts[:longer] + p + 1]
        following = np.zeros((n_labels, rows))
        following[:, :longer] = _log_sums(transition.T[:, :, None] + onward[:, None, :])
        log_z[order[longer:rows]] = _log_sums(forward[p][:, longer:].copy())
        known = forward[p] - log_z[order[:rows]]
        joint = known[:, None, :longer] + transition[:, :, None] + onward
        pairs += np.exp(joint, out=joint).sum(axis=2)
        marginals[starts[:rows] + p] = np.exp(known + following).T
        backward = following
    return log_z, marginals, pairs


def _log_sums(values: np.ndarray) -> np.ndarray:
    """log Σ exp over the first axis of finite numbers, which are overwritten."""
    most = values.max(axis=0)
    values -= most
    return np.asarray(np.log(np.exp(values, out=values).sum(axis=0)) + most)


def gathered_chain(data: ChainData, features: ChainFeatures, derivatives: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The loss's gradient, (E + F,), from its derivatives."""
    marginals, pairs = derivatives
    attribute = np.repeat(np.arange(len(features.ptr) - 1), np.diff(features.ptr))
    by_attribute = np.asarray(data.X.T @ marginals)
    return np.concatenate([by_attribute[attribute, features.label], pairs[features.before, features.after]])
