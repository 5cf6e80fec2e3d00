"""numba kernels of the linear-chain CRF: scores, forward-backward, the gradient's gathering, Viterbi.

Shapes: attributes of tokens as indptr int64 (T+1,), attribute int32, values float64 (length 0: all 1); features as in
problem.ChainFeatures; emission float64 (T, L), transition (L, L); sentences as ptr int64 (N+1,) of tokens. Sentences go
in blocks of BLOCK, whose sums are combined in order, so that any number of threads gives the same bytes.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from cflengine.engine.jit import kernel, parallel_kernel

BLOCK = 64


@parallel_kernel
def emissions(indptr, attribute, values, ptr, label, w, out):
    """out_t = Σ_a x_ta W_a: equation (6)'s symbol emission scores."""
    ones = values.shape[0] == 0
    for t in prange(out.shape[0]):
        out[t] = 0.0
        for k in range(indptr[t], indptr[t + 1]):
            a = attribute[k]
            value = 1.0 if ones else values[k]
            for e in range(ptr[a], ptr[a + 1]):
                out[t, label[e]] += value * w[e]


@parallel_kernel
def gather_states(indptr, token, values, ptr, label, slope, out):
    """out_e = Σ_t x_ta slope_t[label_e] of every state feature e of attribute a; X by columns."""
    ones = values.shape[0] == 0
    n_labels = slope.shape[1]
    for a in prange(indptr.shape[0] - 1):
        total = np.zeros(n_labels)
        for k in range(indptr[a], indptr[a + 1]):
            value = 1.0 if ones else values[k]
            for c in range(n_labels):
                total[c] += value * slope[token[k], c]
        for e in range(ptr[a], ptr[a + 1]):
            out[e] = total[label[e]]


@kernel
def forward(emission, onward, first, last, alpha, weight, scale):
    """Scaled forward variables of tokens first .. last−1, in rows from 0; log of what was scaled out, or nan.

    onward: exp of the transition scores; weight: exp(emission − its largest), kept for :func:`backward`; scale: what
    each row of alpha was multiplied by. nan: a row had no digits left, and log space is called for.
    """
    n_labels = emission.shape[1]
    total = 0.0
    for t in range(first, last):
        p = t - first
        top = emission[t, 0]
        for c in range(1, n_labels):
            top = max(top, emission[t, c])
        for c in range(n_labels):
            weight[p, c] = np.exp(emission[t, c] - top)
            alpha[p, c] = 0.0 if p else 1.0
        if p:
            for b in range(n_labels):
                mass = alpha[p - 1, b]
                for c in range(n_labels):
                    alpha[p, c] += mass * onward[b, c]
        row = 0.0
        for c in range(n_labels):
            alpha[p, c] *= weight[p, c]
            row += alpha[p, c]
        if not row > 1e-280:
            return np.nan
        scale[p] = 1.0 / row
        for c in range(n_labels):
            alpha[p, c] *= scale[p]
        total += np.log(row) + top
    return total


@kernel
def backward(onward_back, n, alpha, weight, scale, beta, ahead, marginal, pairs):
    """Marginals of a sentence of n tokens after :func:`forward`; pairs += expected label pairs over exp(transition).

    onward_back: exp of the transition scores, transposed. beta, ahead: work, (L,). Returns whether it went well.
    """
    n_labels = beta.shape[0]
    beta[:] = 1.0
    for p in range(n - 1, -1, -1):
        total = 0.0
        for c in range(n_labels):
            marginal[p, c] = alpha[p, c] * beta[c]
            total += marginal[p, c]
        if not total > 1e-280:
            return False
        for c in range(n_labels):
            marginal[p, c] /= total
        if p == 0:
            break
        largest = 0.0
        for c in range(n_labels):
            ahead[c] = weight[p, c] * beta[c] * (scale[p] / total)
            beta[c] = 0.0
        for c in range(n_labels):
            mass = ahead[c]
            for b in range(n_labels):
                beta[b] += mass * onward_back[c, b]
                pairs[b, c] += alpha[p - 1, b] * mass
        for b in range(n_labels):
            largest = max(largest, beta[b])
        if not (1e-280 < largest < 1e280):
            return False
    return True


@kernel
def log_sum(values):
    """log Σ exp(values)."""
    top = np.max(values)
    if top == -np.inf:
        return top
    total = 0.0
    for value in values:
        total += np.exp(value - top)
    return top + np.log(total)


@kernel
def in_log_space(emission, transition, first, last, alpha, beta, marginal, pairs):
    """Equations (8) to (11) of one sentence without scaling: log Z; marginals; pairs += expected label pairs.

    alpha: work, float64 (n, L); beta: work, (L,).
    """
    n_labels = emission.shape[1]
    n = last - first
    alpha[0] = emission[first]
    for p in range(1, n):
        for c in range(n_labels):
            alpha[p, c] = log_sum(alpha[p - 1] + transition[:, c]) + emission[first + p, c]
    log_z = log_sum(alpha[n - 1])
    beta[:] = 0.0
    for p in range(n - 1, -1, -1):
        for c in range(n_labels):
            marginal[p, c] = np.exp(alpha[p, c] + beta[c] - log_z)
        if p:
            ahead = emission[first + p] + beta
            for b in range(n_labels):
                for c in range(n_labels):
                    pairs[b, c] += np.exp(alpha[p - 1, b] + transition[b, c] + ahead[c] - log_z)
                beta[b] = log_sum(transition[b] + ahead)
    return log_z


@parallel_kernel
def forward_backward(emission, transition, ptr, marginals, pairs, log_z):
    """Marginals (T, L), log Z (N,), and expected label pairs by block, (blocks, L, L)."""
    n_labels, n_sentences = emission.shape[1], ptr.shape[0] - 1
    top = np.max(transition)
    onward = np.exp(transition - top)
    onward_back = np.ascontiguousarray(onward.T)
    for block in prange(pairs.shape[0]):
        until = min(n_sentences, (block + 1) * BLOCK)
        longest = 0
        for s in range(block * BLOCK, until):
            longest = max(longest, ptr[s + 1] - ptr[s])
        alpha, weight = np.empty((longest, n_labels)), np.empty((longest, n_labels))
        scale, beta, ahead = np.empty(longest), np.empty(n_labels), np.empty(n_labels)
        scaled, exact = np.zeros((n_labels, n_labels)), np.zeros((n_labels, n_labels))
        kept = np.empty((n_labels, n_labels))
        for s in range(block * BLOCK, until):
            first, last = ptr[s], ptr[s + 1]
            marginal = marginals[first:last]
            log_z[s] = forward(emission, onward, first, last, alpha, weight, scale) + top * (last - first - 1)
            kept[:] = scaled
            well = np.isfinite(log_z[s])
            if well:
                well = backward(onward_back, last - first, alpha, weight, scale, beta, ahead, marginal, scaled)
            if not well:
                scaled[:] = kept
                log_z[s] = in_log_space(emission, transition, first, last, alpha, beta, marginal, exact)
        pairs[block] = scaled * onward + exact


@parallel_kernel
def observed(emission, transition, ptr, label, marginals, log_z, pairs, losses):
    """losses: log Z less the observed score, by sentence; marginals and pairs become expected less observed.

    Of the observed label it is minus the sum of the others, for 1 − p has no digits left where p is nearly 1.
    """
    n_labels = emission.shape[1]
    for block in prange(pairs.shape[0]):
        for s in range(block * BLOCK, min(ptr.shape[0] - 1, (block + 1) * BLOCK)):
            score = 0.0
            for t in range(ptr[s], ptr[s + 1]):
                c = label[t]
                score += emission[t, c]
                others = 0.0
                for b in range(n_labels):
                    if b != c:
                        others += marginals[t, b]
                marginals[t, c] = -others
                if t > ptr[s]:
                    score += transition[label[t - 1], c]
                    pairs[block, label[t - 1], c] -= 1.0
            losses[s] = log_z[s] - score


@parallel_kernel
def viterbi(emission, transition, ptr, label):
    """The likeliest labels of every sentence, int32 (T,); of equally likely ones the first."""
    n_labels, n_sentences = emission.shape[1], ptr.shape[0] - 1
    for block in prange((n_sentences + BLOCK - 1) // BLOCK):
        for s in range(block * BLOCK, min(n_sentences, (block + 1) * BLOCK)):
            first, last = ptr[s], ptr[s + 1]
            come_from = np.empty((last - first, n_labels), dtype=np.int32)
            best, following = emission[first].copy(), np.empty(n_labels)
            for t in range(first + 1, last):
                for c in range(n_labels):
                    at = 0
                    for b in range(1, n_labels):
                        if best[b] + transition[b, c] > best[at] + transition[at, c]:
                            at = b
                    come_from[t - first, c] = at
                    following[c] = best[at] + transition[at, c] + emission[t, c]
                best[:] = following
            here = np.argmax(best)
            for t in range(last - 1, first - 1, -1):
                label[t] = here
                if t > first:
                    here = come_from[t - first, here]
