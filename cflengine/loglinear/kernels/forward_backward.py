"""numba kernels of forward-backward (equations (8) to (11)) for many sentences at a time.

A step of the recursion waits for the one before it, and L numbers are too few to fill a vector register. So sentences
of nearly equal length go side by side, a lane each: arrays are (position, label, lane), the innermost loops run over
all lanes of a row, four rows at a time, and the processor does eight of them at once. Behind a sentence's end its lane
is 0. (BLAS is no faster at products of this size.)

Shapes: emission float64 (T, L); ptr int64 (N+1,); order int64 (N,), sentences from the longest to the shortest. A tile
is ``lanes`` sentences that follow each other in that order; at position p the first few lanes are at work.
"""

from __future__ import annotations

import numpy as np

from cflengine.engine.jit import kernel, parallel_kernel
from cflengine.engine.kernels_exp import exp_row


@kernel
def load(emission, ptr, order, first_lane, weight, top, active):
    """weight_pcl = exp(emission − the token's largest, top_pl), 0 behind a sentence's end; active: lanes before it."""
    longest, n_labels, lanes = weight.shape
    n_lanes = min(lanes, order.shape[0] - first_lane)
    for p in range(longest):
        here = weight[p]
        here[:] = 0.0
        while n_lanes and ptr[order[first_lane + n_lanes - 1]] + p >= ptr[order[first_lane + n_lanes - 1] + 1]:
            n_lanes -= 1  # the last ones are the shortest
        active[p] = n_lanes
        for lane in range(n_lanes):
            scores = emission[ptr[order[first_lane + lane]] + p]
            largest = scores[0]
            for c in range(1, n_labels):
                largest = max(largest, scores[c])
            top[p, lane] = largest
            for c in range(n_labels):
                here[c, lane] = scores[c] - largest
        exp_row(here.reshape(-1))
        here[:, n_lanes:] = 0.0


@kernel
def mix(share, rows, out):
    """out = Σ_b share_b rows_b; four rows at a time, for ``out`` is read and written for each of them."""
    n = rows.shape[0]
    whole = n - n % 4
    for lane in range(out.shape[0]):
        out[lane] = 0.0
    for b in range(0, whole, 4):
        m0, m1, m2, m3 = share[b], share[b + 1], share[b + 2], share[b + 3]
        r0, r1, r2, r3 = rows[b], rows[b + 1], rows[b + 2], rows[b + 3]
        for lane in range(out.shape[0]):
            out[lane] += (m0 * r0[lane] + m1 * r1[lane]) + (m2 * r2[lane] + m3 * r3[lane])
    for b in range(whole, n):
        m0, r0 = share[b], rows[b]
        for lane in range(out.shape[0]):
            out[lane] += m0 * r0[lane]


@kernel
def forward(into, weight, active, alpha, scale, log_z):
    """Forward variables scaled to sum to 1 at every position; log_z += log of what was scaled out.

    into: exp of the transition scores, transposed; active: lanes at work at each position; scale: float64 (positions,
    lanes), out. A lane without digits left gets log_z = nan, and log space is called for.
    """
    product = np.ones(weight.shape[2])  # of what was scaled out, for a logarithm now and then
    for p in range(weight.shape[0]):
        total = scale[p]
        total[:] = 0.0
        for c in range(weight.shape[1]):
            row, own = alpha[p, c], weight[p, c]
            if p:
                mix(into[c], alpha[p - 1], row)
            else:
                row[:] = 1.0
            for lane in range(row.shape[0]):
                row[lane] *= own[lane]
                total[lane] += row[lane]
        for lane in range(active[p]):
            if not total[lane] > 1e-280:
                log_z[lane], total[lane] = np.nan, 1.0
            product[lane] *= total[lane]
            if not 1e-20 < product[lane] < 1e20:
                log_z[lane] += np.log(product[lane])
                product[lane] = 1.0
            total[lane] = 1.0 / total[lane]
        for c in range(weight.shape[1]):
            row = alpha[p, c]
            for lane in range(row.shape[0]):
                row[lane] *= total[lane]
    log_z += np.log(product)


@kernel
def backward(onward, weight, active, alpha, scale, message):
    """weight becomes the marginals; message_pcl: what the forward variables of p − 1 meet behind the transition."""
    n_positions, n_labels, lanes = weight.shape
    beta = np.ones((n_labels, lanes))
    for p in range(n_positions - 1, -1, -1):
        share = scale[p]
        for c in range(n_labels):
            row, own, behind, before = message[p, c], weight[p, c], beta[c], alpha[p, c]
            for lane in range(row.shape[0]):
                row[lane] = own[lane] * behind[lane] * share[lane]
                own[lane] = before[lane] * behind[lane]
        if p:
            for b in range(n_labels):
                mix(onward[b], message[p], beta[b])
            beta[:, active[p] : active[p - 1]] = 1.0  # sentences that end at the position before


@kernel
def label_pairs(alpha, message, log_z, pairs):
    """pairs: float64 (L, L), expected label pairs over exp(transition), of the lanes that have their digits."""
    n_positions, n_labels, lanes = alpha.shape
    for lane in range(lanes):
        if not np.isfinite(log_z[lane]):
            alpha[:, :, lane] = 0.0
            message[:, :, lane] = 0.0
    sums = np.empty((n_labels, lanes))
    for b in range(n_labels):
        sums[:] = 0.0
        for p in range(2, n_positions, 2):  # two at a time, for sums are read and written for each
            first, second = alpha[p - 2, b], alpha[p - 1, b]
            for c in range(n_labels):
                total, r0, r1 = sums[c], message[p - 1, c], message[p, c]
                for lane in range(total.shape[0]):
                    total[lane] += first[lane] * r0[lane] + second[lane] * r1[lane]
        if n_positions and n_positions % 2 == 0:
            first = alpha[n_positions - 2, b]
            for c in range(n_labels):
                total, r0 = sums[c], message[n_positions - 1, c]
                for lane in range(total.shape[0]):
                    total[lane] += first[lane] * r0[lane]
        for c in range(n_labels):
            pairs[b, c] = sums[c].sum()


@kernel
def store(ptr, order, first_lane, n_lanes, found, log_z, marginals):
    """The tile's marginals to their places; log_z becomes nan where they do not sum to 1: beta ran out of range."""
    for lane in range(n_lanes):
        s = order[first_lane + lane]
        for t in range(ptr[s], ptr[s + 1]):
            total = 0.0
            for c in range(marginals.shape[1]):
                marginals[t, c] = found[t - ptr[s], c, lane]
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
            message = emission[first + p] + beta
            for b in range(n_labels):
                for c in range(n_labels):
                    pairs[b, c] += np.exp(alpha[p - 1, b] + transition[b, c] + message[c] - log_z)
                beta[b] = log_sum(transition[b] + message)
    return log_z


@parallel_kernel()
def forward_backward(emission, transition, ptr, tiles, marginals, pairs, log_z, chunk):
    """Marginals (T, L), log Z (N,), and expected label pairs by tile, (tiles, L, L).

    tiles: sentences from the longest to the shortest, and how many of them are a tile.
    """
    order, lanes = tiles
    n_labels, n_sentences = emission.shape[1], order.shape[0]
    highest = np.max(transition)
    onward = np.exp(transition - highest)
    into = np.ascontiguousarray(onward.T)
    for k in range(chunk[0], chunk[1]):
        # long and short tiles in turn: a thread gets a range of k, and should not get all the long ones
        tile = k // 2 if k % 2 == 0 else pairs.shape[0] - 1 - k // 2
        first_lane = tile * lanes
        n_lanes = min(lanes, n_sentences - first_lane)
        longest = ptr[order[first_lane] + 1] - ptr[order[first_lane]]
        shape = (longest, n_labels, lanes)
        weight, alpha, message, active = np.empty(shape), np.empty(shape), np.empty(shape), np.empty(longest, np.int64)
        top, scale, found = np.empty((longest, lanes)), np.empty((longest, lanes)), np.zeros(lanes)
        load(emission, ptr, order, first_lane, weight, top, active)
        for p in range(longest):
            for lane in range(active[p]):
                found[lane] += top[p, lane] + (highest if p else 0.0)
        forward(into, weight, active, alpha, scale, found)
        backward(onward, weight, active, alpha, scale, message)
        store(ptr, order, first_lane, n_lanes, weight, found, marginals)
        label_pairs(alpha, message, found, pairs[tile])
        pairs[tile] *= onward
        exact = np.zeros((n_labels, n_labels))
        for lane in range(n_lanes):
            s = order[first_lane + lane]
            log_z[s] = found[lane]
            if not np.isfinite(found[lane]):
                log_z[s] = in_log_space(emission, transition, ptr[s], ptr[s + 1], marginals, exact)
        pairs[tile] += exact
