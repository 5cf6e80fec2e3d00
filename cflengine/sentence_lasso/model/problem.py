"""Sentence-regularised classification as mathematics, in clear numpy; here with the paper's loss.

    minimise   Σ_d log(1 + exp(−y_d (x_dᵀw + b))) + λ_las ‖w‖₁ + ½ Σ_j κ_j w_j² + λ_sen Σ_g a_g ‖(Mw)_g‖₂         (P)

over weights w of V features and a free bias b. Every training sentence is a group g; M copies w once for each of its
tokens, so ‖(Mw)_g‖² = Σ_j c_gj w_j² where feature j occurs c_gj times in it. a_g counts equal sentences, which are one
group, times √n for n tokens where λ is to go by length. The dual, with u_g the multipliers of the copies of group g,
α_d of document d and r = Xᵀ(y∘α) − Mᵀu:

    maximise   −Σ_d α_d log α_d + (1 − α_d) log(1 − α_d)  −  Σ_{j: κ_j > 0} S_{λ_las}(r_j)²/(2 κ_j)             (D)
    subject to   Σ_d y_d α_d = 0,   |r_j| ≤ λ_las where κ_j = 0,   ‖u_g‖₂ ≤ λ_sen a_g,   0 ≤ α ≤ 1,

S_λ soft thresholding. Other losses have other first terms in (D), and other bounds of α (margin_loss.py). Source:
Yogatama & Smith, *Making the Most of Bag of Words: Sentence Regularization with ADMM*, ICML 2014, equation (1), where
κ = 0 and all a_g = 1. Without sentences (P) is the lasso (κ = 0), the ridge (λ_las = 0, κ_j = 2 λ_rid) and the elastic
net; with κ_j = ρ N_j, N_j the occurrences of feature j, it is what the first step of their ADMM solves, an elastic net
that knows how frequent words are but nothing of sentences.

Shapes: X CSR float64 (D, V); y float64 (D,), −1 or 1; vectors over a group's entries (E,).

Examples
--------
Two documents of one word each, which stands for its class, and no sentences. At w = 0 the value is
2 log 2; with λ_las = 1/4 the optimum has σ(−|w|) = 1/4 in either document, so |w| = log 3.

>>> import numpy as np
>>> from scipy import sparse
>>> X, y = sparse.csr_matrix(np.eye(2)), np.array([-1.0, 1.0])
>>> problem = SentenceProblem(X, y, no_sentences(), lam_las=0.25, lam_sen=0.0, kappa=np.zeros(2))
>>> best = problem.objective(np.log(3) * y, 0.0)
>>> round(problem.objective(np.zeros(2), 0.0), 4), round(best, 4)
(1.3863, 1.1247)
>>> all(problem.objective(size * y, 0.0) > best for size in (1.0, 1.2))
True
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from cflengine.sentence_lasso.model.margin_loss import LOG, Loss


@dataclass(frozen=True)
class SentenceGroups:
    """Features of sentences: group g has features feature[ptr[g]:ptr[g+1]], each ``count`` times.

    ptr: int64 (G+1,); feature: int32 (E,), ascending within a group; count: float64 (E,), c_gj > 0; weight: float64
    (G,), a_g > 0; of_sentence: int64 (S,), the group of every sentence, -1 for one without any feature.
    """

    ptr: np.ndarray
    feature: np.ndarray
    count: np.ndarray
    weight: np.ndarray
    of_sentence: np.ndarray

    @property
    def n_groups(self) -> int:
        return len(self.ptr) - 1

    @cached_property
    def group(self) -> np.ndarray:
        """int32 (E,): the group of each entry."""
        return np.repeat(np.arange(self.n_groups, dtype=np.int32), np.diff(self.ptr))

    def copies(self, w: np.ndarray) -> np.ndarray:
        """float64 (E,): the entries √c_gj w_j, one for all copies of a feature in a group; same norms as Mw."""
        return np.sqrt(self.count) * w[self.feature]

    def norms(self, entries: np.ndarray) -> np.ndarray:
        """float64 (G,): the norm of each group of a vector over entries."""
        return np.sqrt(np.bincount(self.group, entries * entries, self.n_groups))

    def gathered(self, entries: np.ndarray, n_features: int) -> np.ndarray:
        """float64 (V,): Mᵀu of a vector over entries."""
        return np.bincount(self.feature, np.sqrt(self.count) * entries, n_features)

    def occurrences(self, n_features: int) -> np.ndarray:
        """float64 (V,): Σ_g c_gj, how often each feature occurs in the groups, equal sentences once."""
        return np.bincount(self.feature, self.count, n_features)

    def weighted_occurrences(self, n_features: int) -> np.ndarray:
        """float64 (V,): N_j = Σ_g a_g c_gj, how often each feature occurs in all sentences."""
        return np.bincount(self.feature, self.weight[self.group] * self.count, n_features)


@dataclass(frozen=True)
class SentenceProblem:
    """(P) of the module's docstring, on D documents and V features.

    Parameters
    ----------
    X : csr_matrix
        float64 (D, V), in CSR.
    y : ndarray
        float64 (D,), −1 or 1.
    groups : SentenceGroups
        The sentences.
    lam_las : float
        λ_las ≥ 0.
    lam_sen : float
        λ_sen ≥ 0.
    kappa : ndarray
        float64 (V,), κ ≥ 0.
    weight : ndarray or None, default: None
        float64 (D,), above 0, factors of the documents' losses; None for 1. The dual point of document d is then v_d
        α_d, 0 ≤ α_d ≤ 1, and its entropy v_d times that of α_d.
    margin_loss : Loss, default: LOG
        ℓ, of y_d (x_dᵀw + b).

    Raises
    ------
    ValueError for y of one class, and where (P) has no dual point to certify with: where λ_las = 0, every feature needs
    κ_j > 0 or a sentence, and λ_sen > 0.
    """

    X: sparse.csr_matrix
    y: np.ndarray
    groups: SentenceGroups
    lam_las: float
    lam_sen: float
    kappa: np.ndarray
    weight: np.ndarray | None = None
    margin_loss: Loss = LOG

    def __post_init__(self) -> None:
        if not (np.any(self.y > 0) and np.any(self.y < 0)):
            raise ValueError("both classes need at least one document.")
        if self.lam_las == 0 and not (self.kappa + self.stiffness > 0).all():
            raise ValueError("without an ℓ1 penalty every feature needs a quadratic one, or a sentence.")

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def smooth(self) -> bool:
        """Whether (P) has no kink at any weight of 0."""
        return self.lam_las == 0 and self.groups.n_groups == 0

    @cached_property
    def column_sums(self) -> np.ndarray:
        """float64 (V,): Σ_d v_d |x_dj|."""
        size = np.abs(self.X.data) * (1.0 if self.weight is None else np.repeat(self.weight, np.diff(self.X.indptr)))
        return np.bincount(self.X.indices, size, self.n_features)

    @property
    def v(self) -> np.ndarray | float:
        """The documents' weights; 1 where there are none."""
        return 1.0 if self.weight is None else self.weight

    def loss(self, scores: np.ndarray) -> float:
        """Σ_d v_d ℓ(y_d scores_d)."""
        return self.loss_by(self.margin_loss, scores)

    def loss_by(self, loss: Loss, scores: np.ndarray) -> float:
        """The same with another ℓ."""
        return float((self.v * loss.value(self.y * scores)).sum())

    @cached_property
    def stiffness(self) -> np.ndarray:
        """float64 (V,): s_j = λ_las + λ_sen Σ_g a_g √c_gj; the penalties are at least s_j |w_j| for every j."""
        groups = self.groups
        each = np.bincount(groups.feature, groups.weight[groups.group] * np.sqrt(groups.count), self.n_features)
        return self.lam_las + self.lam_sen * each

    def penalty(self, w: np.ndarray) -> float:
        """All penalties at w."""
        groups = self.groups
        value = self.lam_las * float(np.abs(w).sum()) + 0.5 * float(self.kappa @ (w * w))
        return value + self.lam_sen * float(groups.weight @ groups.norms(groups.copies(w)))

    def objective(self, w: np.ndarray, b: float) -> float:
        """The value of (P)."""
        return self.loss(self.X @ w + b) + self.penalty(w)


def soft_threshold(x: np.ndarray, lam: float) -> np.ndarray:
    """S_λ(x) = sign(x) max(|x| − λ, 0), elementwise."""
    return np.sign(x) * np.maximum(np.abs(x) - lam, 0.0)


def no_sentences() -> SentenceGroups:
    """No groups at all."""
    empty = np.zeros(0)
    return SentenceGroups(np.zeros(1, np.int64), np.zeros(0, np.int32), empty, empty, np.zeros(0, np.int64))


def merge_sentences(counts: sparse.csr_matrix, by_length: bool = False) -> SentenceGroups:
    """Groups from a CSR matrix (S, V) of counts by sentence; equal sentences become one group, empty ones none.

    by_length: λ_{d,s} = λ_sen √n for a sentence of n tokens (section 3), so that long sentences are set to 0 as
    readily as short ones; a_g has that factor. Θ(E); a group stands where the first of its sentences stood.
    """
    counts = sparse.csr_matrix(counts, dtype=np.float64, copy=True)
    counts.sum_duplicates()
    counts.eliminate_zeros()
    of_sentence = np.full(counts.shape[0], -1, dtype=np.int64)
    first: dict[bytes, int] = {}
    rows: list[int] = []
    indptr, indices, data = counts.indptr, counts.indices, counts.data
    for s in np.flatnonzero(np.diff(indptr)).tolist():
        lo, hi = indptr[s], indptr[s + 1]
        g = first.setdefault(indices[lo:hi].tobytes() + data[lo:hi].tobytes(), len(rows))
        if g == len(rows):
            rows.append(s)
        of_sentence[s] = g
    kept = counts[rows] if rows else counts[:0]
    weight = np.bincount(of_sentence[of_sentence >= 0], minlength=len(rows)).astype(np.float64)
    if by_length:
        weight *= np.sqrt(np.asarray(kept.sum(axis=1)).ravel())
    return SentenceGroups(
        kept.indptr.astype(np.int64), kept.indices.astype(np.int32), kept.data.copy(), weight, of_sentence
    )


def lam_max(problem: SentenceProblem, gradient: np.ndarray) -> float:
    """A λ_las from which on w = 0 solves (P) whatever λ_sen is: ‖Xᵀ(y∘α)‖∞ at w = 0 (``gradient``)."""
    return float(np.abs(gradient).max(initial=0.0))
