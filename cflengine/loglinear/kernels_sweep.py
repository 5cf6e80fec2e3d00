"""numba kernels of forward-backward (equations (8) to (11)) for many sentences at a time.

A step of the recursion waits for the one before it, and L numbers are too few to fill a vector register. So sentences
of nearly equal length go side by side, a lane each: arrays are (position, label, lane), the innermost loops run over
lanes, and the processor does eight of them at once. That takes half the time of sentence after sentence.

Shapes: emission float64 (T, L); ptr int64 (N+1,); order int64 (N,), sentences from the longest to the shortest. A tile
is ``lanes`` sentences that follow each other in that order; at position p the first few lanes are at work.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from cflengine.engine.jit import kernel, parallel_kernel


@kernel
def exponentials(x, work, bits):
    """x = exp(x) for x ≤ 0, to the last digit or two; below −700 as at −700.

    exp(x) = 2^k exp(r), |r| ≤ log(2)/2, by a polynomial of degree 13: loops without calls, which the processor does
    eight at a time, where np.exp of one number after the other took a third of a pass. work: float64, as long as x;
    bits: the same memory as int64. Adding 1.5·2⁵² rounds to a whole number, whose digits are then the last bits.
    """
    n = x.shape[0]
    for i in range(n):
        v = x[i] if x[i] > -700.0 else -700.0
        work[i] = v * 1.4426950408889634 + 6755399441055744.0
    for i in range(n):
        v = x[i] if x[i] > -700.0 else -700.0
        k = work[i] - 6755399441055744.0
        r = (v - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10
        p = 1.0 / 6227020800.0
        p = p * r + 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = p * r + 1.0
        x[i] = p * r + 1.0
    for i in range(n):
        bits[i] = (bits[i] + 1023) << 52
    for i in range(n):
        x[i] *= work[i]


@kernel
def load(emission, ptr, order, first_lane, n_lanes, weight, top):
    """weight_pcl = emission − the token's largest, which is top_pl; 0 and 0 behind a sentence's end."""
    weight[:] = 0.0
    top[:] = 0.0
    for lane in range(n_lanes):
        s = order[first_lane + lane]
        for t in range(ptr[s], ptr[s + 1]):
            p = t - ptr[s]
            largest = emission[t, 0]
            for c in range(1, emission.shape[1]):
                largest = max(largest, emission[t, c])
            top[p, lane] = largest
            for c in range(emission.shape[1]):
                weight[p, c, lane] = emission[t, c] - largest


@kernel
def forward(onward, weight, active, alpha, scale, log_z):
    """Forward variables scaled to sum to 1 at every position; log_z += log of what was scaled out.

    onward: exp of the transition scores; weight: exp of the emission scores; active: lanes at work at each position;
    scale: float64 (positions, lanes), out. A lane without digits left gets log_z = nan, and log space is called for.
    """
    n_labels = onward.shape[0]
    for p in range(weight.shape[0]):
        a = active[p]
        scale[p] = 0.0
        for c in range(n_labels):
            if p == 0:
                alpha[p, c] = weight[p, c]
            else:
                alpha[p, c] = 0.0
                for b in range(n_labels):
                    move = onward[b, c]
                    for lane in range(a):
                        alpha[p, c, lane] += move * alpha[p - 1, b, lane]
                for lane in range(a):
                    alpha[p, c, lane] *= weight[p, c, lane]
            for lane in range(a):
                scale[p, lane] += alpha[p, c, lane]
        for lane in range(a):
            total = scale[p, lane]
            log_z[lane] += np.log(total) if total > 1e-280 else np.nan
            scale[p, lane] = 1.0 / total if total > 1e-280 else 1.0
        for c in range(n_labels):
            for lane in range(a):
                alpha[p, c, lane] *= scale[p, lane]


@kernel
def backward(onward, weight, active, alpha, scale, beta, ahead, pairs):
    """alpha becomes the marginals; pairs: float64 (L, L, lanes), += expected label pairs over exp(transition).

    beta, ahead: work, float64 (L, lanes).
    """
    n_labels = onward.shape[0]
    beta[:] = 1.0
    for p in range(weight.shape[0] - 1, -1, -1):
        a = active[p]
        for c in range(n_labels):
            for lane in range(a):
                ahead[c, lane] = weight[p, c, lane] * beta[c, lane] * scale[p, lane]
            for lane in range(a):
                alpha[p, c, lane] *= beta[c, lane]
        if p == 0:
            break
        for b in range(n_labels):
            for lane in range(a):
                beta[b, lane] = 0.0
            for c in range(n_labels):
                move = onward[b, c]
                for lane in range(a):
                    beta[b, lane] += move * ahead[c, lane]
                for lane in range(a):
                    pairs[b, c, lane] += alpha[p - 1, b, lane] * ahead[c, lane]


@kernel
def store(ptr, order, first_lane, n_lanes, alpha, log_z, marginals):
    """The tile's marginals to their places; log_z becomes nan where they do not sum to 1: beta ran out of range."""
    n_labels = marginals.shape[1]
    for lane in range(n_lanes):
        s = order[first_lane + lane]
        for t in range(ptr[s], ptr[s + 1]):
            total = 0.0
            for c in range(n_labels):
                marginals[t, c] = alpha[t - ptr[s], c, lane]
                total += marginals[t, c]
            if not abs(total - 1.0) < 1e-6:
                log_z[lane] = np.nan


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
def in_log_space(emission, transition, first, last, marginals, pairs):
    """Equations (8) to (11) of one sentence without scaling: log Z; marginals; pairs += expected label pairs."""
    n_labels, n = emission.shape[1], last - first
    alpha, beta, marginal = np.empty((n, n_labels)), np.empty(n_labels), marginals[first:last]
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
def forward_backward(emission, transition, ptr, order, lanes, marginals, pairs, log_z):
    """Marginals (T, L), log Z (N,), and expected label pairs by tile, (tiles, L, L)."""
    n_labels, n_sentences = emission.shape[1], order.shape[0]
    highest = np.max(transition)
    onward = np.exp(transition - highest)
    for k in prange(pairs.shape[0]):
        # long and short tiles in turn: a thread gets a range of k, and should not get all the long ones
        tile = k // 2 if k % 2 == 0 else pairs.shape[0] - 1 - k // 2
        first_lane = tile * lanes
        n_lanes = min(lanes, n_sentences - first_lane)
        longest = ptr[order[first_lane] + 1] - ptr[order[first_lane]]
        weight, alpha = np.empty((longest, n_labels, lanes)), np.empty((longest, n_labels, lanes))
        active = np.zeros(longest, dtype=np.int64)
        for lane in range(n_lanes):
            active[: ptr[order[first_lane + lane] + 1] - ptr[order[first_lane + lane]]] += 1
        top, scale, found = np.empty((longest, lanes)), np.empty((longest, lanes)), np.zeros(lanes)
        load(emission, ptr, order, first_lane, n_lanes, weight, top)
        for p in range(longest):
            for lane in range(active[p]):
                found[lane] += top[p, lane] + (highest if p else 0.0)
        work = alpha.reshape(-1)
        exponentials(weight.reshape(-1), work, work.view(np.int64))
        forward(onward, weight, active, alpha, scale, found)
        by_lane = np.zeros((n_labels, n_labels, lanes))
        beta = np.empty((n_labels, lanes))
        backward(onward, weight, active, alpha, scale, beta, np.empty((n_labels, lanes)), by_lane)
        store(ptr, order, first_lane, n_lanes, alpha, found, marginals)
        exact = np.zeros((n_labels, n_labels))
        pairs[tile] = 0.0
        for lane in range(n_lanes):
            s = order[first_lane + lane]
            if np.isfinite(found[lane]):
                log_z[s] = found[lane]
                pairs[tile] += by_lane[:, :, lane] * onward
            else:
                log_z[s] = in_log_space(emission, transition, ptr[s], ptr[s + 1], marginals, exact)
        pairs[tile] += exact
