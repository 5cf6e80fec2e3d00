"""Linearised ADMM on problem (3) as §4.2 prints it, with X as a dense matrix in float64.

Two things the paper leaves open are the engine's choice and are the same here: the first step finds w = 0, and
the w-update after a step is prepared with the ρ that follows it.
"""

from __future__ import annotations

import numpy as np

from cflengine.compression.model.problem import StorageCosts
from cflengine.text.kgrams import KGramIndex
from naive.cover import by_document, cheapest_cover
from naive.prox import prox, share


class NaiveAdmm:
    def __init__(self, index: KGramIndex, costs: StorageCosts, sigma: float) -> None:
        self.index, self.costs, self.sigma = index, costs, sigma
        self.pointers = [(k, i) for k, i in np.argwhere(index.gram_of >= 0).tolist()]
        self.gram = np.array([index.gram_of[k, i] for k, i in self.pointers])
        self.groups = [np.flatnonzero(self.gram == s) for s in range(index.n_grams)]
        self.X = np.zeros((index.n_tokens, len(self.pointers)))
        for column, (k, i) in enumerate(self.pointers):
            self.X[i : i + k + 1, column] = 1.0
        self.d = np.array([costs.pointer_by_length[k] for k, _ in self.pointers])
        if costs.pointer_extra.size:
            self.d += [costs.pointer_extra[k, i] for k, i in self.pointers]
        m, n = len(self.pointers), index.n_tokens
        self.q, self.weight = np.zeros(m), 1.0  # the next w = prox of q with κ = c / weight
        self.y, self.z, self.y_theta = np.zeros(n), np.ones(n), np.zeros(m)

    def next_w(self) -> np.ndarray:
        w = np.empty(len(self.pointers))
        for s, group in enumerate(self.groups):
            w[group] = prox(self.q[group], self.costs.dictionary[s] / self.weight)
        return w

    def step(self, zeta: float, rho: float, rho_next: float) -> None:
        w = self.next_w()
        self.support = sum(w[group].max() > 0 for group in self.groups)
        covered = self.X @ w
        z_before, self.z = self.z, np.maximum(covered + self.y / rho, 1.0)
        self.y = self.y + rho * (covered - self.z)
        self.r, self.u = np.abs(covered - self.z).max(), np.abs(self.z - z_before).max()
        self.relaxation = self.d @ w + sum(
            c * w[group].max() for c, group in zip(self.costs.dictionary, self.groups, strict=True)
        )
        mu = rho_next * self.sigma
        # gradient of wᵀd + y ᵀ(Xw − z) + ρ/2 ‖Xw − z‖² at w, which the w-update linearises (equation 5)
        gradient = self.d + self.X.T @ (self.y + rho_next * (covered - self.z))
        if zeta == 0:
            self.q, self.weight = w - gradient / mu, mu
            return
        v = w + self.y_theta / rho
        self.eta = np.maximum(0.0, zeta - v) ** 2
        self.psi = self._encode(self.eta)
        # the closest point to v with θ ≥ ζ where ψ is set: v itself elsewhere, also where v < 0
        theta = np.where(self.psi, np.maximum(v, zeta), v)
        self.y_theta = self.y_theta + rho * (w - theta)
        self.q = (mu * w - gradient - self.y_theta + rho_next * theta) / (mu + rho_next)
        self.weight = mu + rho_next

    def _encode(self, price: np.ndarray) -> np.ndarray:
        number = {(k + 1, i): column for column, (k, i) in enumerate(self.pointers)}
        prices = {pointer: price[column] for pointer, column in number.items()}
        psi = np.zeros(len(price), dtype=bool)
        doc_ptr = self.index.doc_ptr.tolist()
        for a, (part, length) in zip(doc_ptr, by_document(prices, doc_ptr), strict=False):
            for k, i in cheapest_cover(part, length, self.index.max_gram):
                psi[number[k, a + i]] = True
        return psi

    def lower_bound(self) -> float:
        """Encode at the prices d + β, β the excess of α = −y over d within each K-gram's budget."""
        excess = np.maximum(self.X.T @ -self.y - self.d, 0.0)
        beta = np.empty_like(excess)
        for s, group in enumerate(self.groups):
            beta[group] = share(excess[group], self.costs.dictionary[s])
        price = self.d + beta
        return float(price[self._encode(price)].sum())
