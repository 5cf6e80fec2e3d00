"""Sentence-regularised logistic regression by the paper's words: M has a row for every token of every sentence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize

from cflengine.sentence_lasso.model.problem import SentenceGroups, SentenceProblem, merge_sentences, soft_threshold
from cflengine.sentence_lasso.solvers.iterate import Iterate


@dataclass(frozen=True)
class Case:
    """Sentences as whole counts (S, V), the document of each (S,), labels y (D,), and the λ of (P)."""

    counts: np.ndarray
    document: np.ndarray
    y: np.ndarray
    lam_las: float
    lam_sen: float
    kappa: np.ndarray

    @cached_property
    def X(self) -> np.ndarray:
        X = np.zeros((len(self.y), self.counts.shape[1]))
        for row, d in zip(self.counts, self.document, strict=True):
            X[d] += row
        return X

    @cached_property
    def tokens(self) -> np.ndarray:
        """(N, 2): sentence and feature of every token."""
        return np.array(
            [(s, j) for s, row in enumerate(self.counts) for j, c in enumerate(row) for _ in range(int(c))], dtype=int
        ).reshape(-1, 2)

    @cached_property
    def M(self) -> np.ndarray:
        M = np.zeros((len(self.tokens), self.counts.shape[1]))
        M[np.arange(len(M)), self.tokens[:, 1]] = 1.0
        return M

    def objective(self, w: np.ndarray, b: float) -> float:
        loss = sum(np.logaddexp(0.0, -y * (x @ w + b)) for x, y in zip(self.X, self.y, strict=True))
        copies = self.M @ w
        norms = sum(np.linalg.norm(copies[self.tokens[:, 0] == s]) for s in range(len(self.counts)))
        return loss + self.lam_las * np.abs(w).sum() + 0.5 * self.kappa @ w**2 + self.lam_sen * norms

    def problem(self) -> SentenceProblem:
        groups = merge_sentences(sparse.csr_matrix(self.counts))
        return SentenceProblem(
            sparse.csr_matrix(self.X), self.y.astype(float), groups, self.lam_las, self.lam_sen, self.kappa
        )

    def start(self) -> Iterate:
        return Iterate(self.problem())


def random_case(
    seed: int, n_documents: int = 24, n_features: int = 30, lam_las: float = 0.3, lam_sen: float = 0.2,
    per_document: int = 4, length: int = 6,
) -> Case:  # fmt: skip
    """Bags of words with frequencies like a text's; the classes prefer different words; some sentences come twice."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n_documents) % 2, 1.0, -1.0)
    frequency = 1.0 / np.arange(1, n_features + 1)
    taste = rng.normal(0.0, 1.0, n_features)
    rows, document = [], []
    for d in range(n_documents):
        p = frequency * np.exp(0.6 * y[d] * taste)
        for _ in range(rng.integers(1, per_document + 1)):
            rows.append(
                np.bincount(rng.choice(n_features, rng.integers(1, length + 1), p=p / p.sum()), None, n_features)
            )
            document.append(d)
    return Case(np.array(rows), np.array(document), y, lam_las, lam_sen, np.zeros(n_features))


@st.composite
def cases(draw, sentences: bool | None = None, quadratic: bool | None = None) -> Case:
    """Small problems of every kind: with and without sentences (also empty, equal ones), κ = 0, > 0 or mixed."""
    n_documents, n_features = draw(st.integers(2, 6)), draw(st.integers(1, 5))
    document = np.array(sorted(draw(st.lists(st.integers(0, n_documents - 1), min_size=1, max_size=9))))
    row = st.lists(st.sampled_from([0, 0, 0, 1, 1, 2, 3]), min_size=n_features, max_size=n_features)
    counts = np.array([draw(row) for _ in document])
    labels = [draw(st.sampled_from([-1.0, 1.0])) for _ in range(n_documents - 2)]
    lam = st.sampled_from([0.01, 0.1, 0.5, 1.0, 3.0])
    quadratic = draw(st.booleans()) if quadratic is None else quadratic
    kappa = [draw(st.sampled_from([0.0, 0.1, 2.0])) if quadratic else 0.0 for _ in range(n_features)]
    sentences = draw(st.booleans()) if sentences is None else sentences
    return Case(
        counts, document, np.array([1.0, -1.0, *labels]), draw(lam), draw(lam) if sentences else 0.0, np.array(kappa)
    )


LIMITS = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 100, "maxfun": 250}


def low_value(case: Case) -> float:
    """A value of (P) close to its optimum, by a general-purpose method: w = w⁺ − w⁻, norms rounded off at 0.

    It is a value at a point, so no bound may exceed it, however far the method came.
    """
    n, S = case.counts.shape[1], len(case.counts)
    root = np.sqrt(case.counts)
    z, best = np.zeros(2 * n + 1), np.inf
    for epsilon in (1e-2, 1e-5):

        def smooth(z, epsilon=epsilon):
            w, b = z[:n] - z[n:-1], z[-1]
            margin = case.y * (case.X @ w + b)
            eta = np.sqrt((root**2) @ w**2 + epsilon**2) if S else np.zeros(0)
            value = np.logaddexp(0.0, -margin).sum() + case.lam_las * z[:-1].sum()
            value += 0.5 * case.kappa @ w**2 + case.lam_sen * eta.sum()
            derivative = -case.y / (1.0 + np.exp(np.minimum(margin, 700.0)))
            g = case.X.T @ derivative + case.kappa * w + case.lam_sen * (case.counts / eta[:, None]).sum(axis=0) * w
            return value, np.concatenate((g + case.lam_las, -g + case.lam_las, [derivative.sum()]))

        bounds = [(0, None)] * (2 * n) + [(None, None)]
        z = minimize(smooth, z, jac=True, method="L-BFGS-B", bounds=bounds, options=LIMITS).x
        best = min(best, case.objective(z[:n] - z[n:-1], z[-1]))
    return float(best)


def minus_gradient(case: Case, w: np.ndarray, b: float) -> np.ndarray:
    """Xᵀ(y∘α) of (D), α = σ(−margin)."""
    return case.X.T @ (case.y / (1.0 + np.exp(case.y * (case.X @ w + b))))


# by group


def parts(groups: SentenceGroups):
    """Features, counts, weight and place of the entries of each group in turn."""
    for g in range(groups.n_groups):
        at = slice(groups.ptr[g], groups.ptr[g + 1])
        yield groups.feature[at], groups.count[at], groups.weight[g], at


def multipliers(groups: SentenceGroups, w: np.ndarray, lam_sen: float, epsilon: float) -> np.ndarray:
    u = np.zeros(len(groups.feature))
    for feature, count, weight, at in parts(groups):
        eta = np.sqrt(count @ w[feature] ** 2 + epsilon**2)
        u[at] = lam_sen * weight * np.sqrt(count) * w[feature] / eta if eta > 0 else 0.0
    return u


def left_over(groups: SentenceGroups, r: np.ndarray, free_count: np.ndarray, lam: float) -> float:
    """F: half of Σ S_λ(r_j)²/N_j over the features of the free sentences."""
    there = free_count > 0
    return float(0.5 * (soft_threshold(r[there], lam) ** 2 / free_count[there]).sum())


def shrink(z: np.ndarray, lam: float) -> np.ndarray:
    """Equation (5): the proximal step of λ‖·‖₂."""
    norm = np.linalg.norm(z)
    return np.zeros_like(z) if norm <= lam else (norm - lam) / norm * z
