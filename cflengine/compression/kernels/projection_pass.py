"""numba kernels of a step of iterative reweighting after the prox: the projection (kernels/projection.py), z, its
rounding and the point of the next prox.

Blocks of whole documents are done in one pass. A document that is cut (blocks.py) takes several: (30) is solved for
every other piece, given the β of the rest, then for those between them, then around their borders, until no piece is
further from its optimum than the tolerance; H couples no more than K − 1 tokens, so one round is usual.
"""

from __future__ import annotations

import numpy as np

from cflengine.compression.kernels.cover import coverage, load_block, load_tokens, pointer_cost, store_block
from cflengine.compression.kernels.halo import with_halo
from cflengine.compression.kernels.projection import optimality, project_tokens
from cflengine.compression.kernels.shortest import pointer_price
from cflengine.engine.jit import kernel, parallel_kernel

NEAR = 64  # tokens on either side of a border


@kernel
def _project_block(rule, w, beta, blocks, b, change, shifted):
    """β of block b, of whole documents, whose w is float32 (K, size); change (float64 (size,)) is given β − β̄."""
    size = w.shape[1]
    a, doc_ptr = blocks.token[b], blocks.doc_ptr
    d0, d1 = blocks.doc[b], blocks.doc[b + 1]
    covered, tail = np.empty(size, np.float32), np.empty(size, np.float32)
    coverage(w, covered, tail, shifted)
    slack = np.empty(size, np.float64)
    longest = 0
    for i in range(size):
        slack[i] = np.float64(covered[i]) - 1.0
        change[i] = beta[a + i]
    for d in range(d0, d1):
        longest = max(longest, doc_ptr[d + 1] - doc_ptr[d])
    factor, step = np.empty((w.shape[0], longest), np.float64), np.empty(longest, np.float64)
    for d in range(d0, d1):
        p, q = doc_ptr[d], doc_ptr[d + 1]
        project_tokens(rule, slack[p - a : q - a], beta[p:q], 0, factor, step[: q - p])
    for i in range(size):
        change[i] = beta[a + i] - change[i]


@kernel
def _move(w, prices, change, iterate, d, a, rule, sums):
    """z of the tokens from a on that w has, its rounding (cover) and the next prox's point v = z − (d̃ + y)/ρ, which
    replaces w.

    prices, change: float64, β and β − β̄ of these tokens and of those that their pointers reach; sums: float64 (5,).
    """
    K, size = w.shape
    slot, weight, z, cover = iterate.slot, iterate.weight, iterate.z, iterate.cover
    scale, inv_rho = rule.rho / rule.rho_next, 1.0 / rule.rho_next
    total, moved = np.zeros(size, np.float64), np.zeros(size, np.float64)
    for i in range(size):
        cover[a + i] = 0
    for k in range(K):
        for i in range(min(size, prices.shape[0] - k)):
            total[i] += prices[i + k]
            moved[i] += change[i + k]
            place = slot[k, a + i]
            if place < 0:
                continue
            price = pointer_price(d, k + 1, a + i)
            new = w[k, i] + moved[i]
            sums[0] += moved[i] * moved[i]
            sums[1] += (new - z[k, a + i]) * (new - z[k, a + i])
            sums[2] += np.float64(w[k, i]) * w[k, i]
            sums[3] += new * new
            sums[4] += total[i] * total[i]
            z[k, a + i] = new
            if new > rule.nonzero:
                cover[a + i] |= cover.dtype.type(1 << k)
            w[k, i] = new + scale * total[i] - weight[place] * price * inv_rho


@kernel
def uncovered_tokens(cover, before, a, e):
    """How many of the tokens from a to e-1 no marked pointer covers that starts there, or ``before`` tokens earlier."""
    uncovered = 0
    reached = a
    for i in range(a - before, e):
        length = 0
        while cover[i] >> length:
            length += 1
        reached = max(reached, i + length)
        uncovered += i >= a and reached <= i
    return uncovered


@parallel_kernel()
def projection_pass(iterate, d, blocks, chunk, rule, sums):
    """One step after the prox, for those of the blocks of ``chunk`` (first, last + 1) that are of whole documents: β,
    z, its rounding, then the next v for w. The arguments: arrays.py."""
    data, slot, beta, cover = iterate.w, iterate.slot, iterate.beta, iterate.cover
    block_sums, costs, uncovered = sums.sums, sums.pointer_costs, sums.uncovered
    for b in range(chunk[0], chunk[1]):
        if blocks.piece[b] >= 0:
            continue
        a, e = blocks.token[b], blocks.token[b + 1]
        size = e - a
        w = np.empty((slot.shape[0], size), np.float32)
        change = np.empty(size, np.float64)
        work = np.empty(size, np.float32)
        load_tokens(data, slot, a, e, a, w)
        costs[b] = pointer_cost(w, a, e, a, d, work)
        _project_block(rule, w, beta, blocks, b, change, work)
        block_sums[b, :] = 0.0
        _move(w, beta[a:e], change, iterate, d, a, rule, block_sums[b])
        prices = beta[a:e]
        prices *= rule.rho / rule.rho_next
        store_block(w, data, slot, a, e, a)
        uncovered[b] = uncovered_tokens(cover, 0, a, e)


@parallel_kernel()
def load_pieces(iterate, d, blocks, borders, chunk, slack, before, costs):
    """Of the pieces among the blocks of ``chunk``: slack (float64 (n,)) = Xw − 1, before (float64 (n,)) = β, costs."""
    data, slot, beta = iterate.w, iterate.slot, iterate.beta
    for b in range(chunk[0], chunk[1]):
        if blocks.piece[b] < 0:
            continue
        a, e = blocks.token[b], blocks.token[b + 1]
        lo, hi = with_halo(blocks, b, slot.shape[0] - 1)
        w = np.empty((slot.shape[0], hi - lo), np.float32)
        covered, tail = np.empty(hi - lo, np.float32), np.empty(hi - lo, np.float32)
        work = np.empty(hi - lo, np.float32)
        load_block(data, slot, blocks, b, borders, lo, hi, w)
        coverage(w, covered, tail, work)
        costs[b] = pointer_cost(w, a, e, lo, d, work)
        for i in range(a, e):
            slack[i] = np.float64(covered[i - lo]) - 1.0
            before[i] = beta[i]


@kernel
def _project_range(blocks, b, first, size, rule, slack, beta):
    """(30) for ``size`` tokens from ``first`` on of the document of block b."""
    p, q = blocks.doc_ptr[blocks.doc[b]], blocks.doc_ptr[blocks.doc[b] + 1]
    factor, step = np.empty((rule.table.shape[0], size), np.float64), np.empty(size, np.float64)
    project_tokens(rule, slack[p:q], beta[p:q], first - p, factor, step)


@parallel_kernel()
def project_pieces(blocks, chunk, parity, rule, slack, beta):
    """(30) for every other piece of the blocks of ``chunk`` (those of a parity do not touch), the rest as they are."""
    for b in range(chunk[0], chunk[1]):
        if blocks.piece[b] >= 0 and blocks.piece[b] % 2 == parity:
            size = blocks.token[b + 1] - blocks.token[b]
            _project_range(blocks, b, blocks.token[b], size, rule, slack, beta)


@parallel_kernel()
def measure_pieces(blocks, slack, beta, worst, chunk):
    """How far every piece is from its optimum: worst, float64 (B,)."""
    for b in range(chunk[0], chunk[1]):
        if blocks.piece[b] >= 0:
            a, e = blocks.token[b], blocks.token[b + 1]
            worst[b] = optimality(slack, beta, a, e)


@parallel_kernel()
def project_borders(blocks, chunk, rule, slack, beta):
    """(30) for the tokens around every border within a document: what neighbours disagree on is settled near it."""
    for b in range(chunk[0], chunk[1]):
        a = blocks.token[b]
        apart = blocks.token[b + 1] - a >= 4 * NEAR  # and no two such ranges write to the same tokens' slack
        if blocks.piece[b] >= 0 and apart and a > blocks.doc_ptr[blocks.doc[b]]:
            _project_range(blocks, b, a - NEAR, 2 * NEAR, rule, slack, beta)


@parallel_kernel()
def move_pieces(iterate, before, d, blocks, chunk, rule, sums):
    """z, its rounding and the next v of the pieces among the blocks of ``chunk``; before: float64 (n,), β̄."""
    data, slot, beta = iterate.w, iterate.slot, iterate.beta
    block_sums = sums.sums
    for b in range(chunk[0], chunk[1]):
        if blocks.piece[b] < 0:
            continue
        a, e = blocks.token[b], blocks.token[b + 1]
        _, hi = with_halo(blocks, b, slot.shape[0] - 1)
        w = np.empty((slot.shape[0], e - a), np.float32)
        load_tokens(data, slot, a, e, a, w)
        block_sums[b, :] = 0.0
        _move(w, beta[a:hi], beta[a:hi] - before[a:hi], iterate, d, a, rule, block_sums[b])
        store_block(w, data, slot, a, e, a)


@parallel_kernel()
def finish_pieces(iterate, blocks, chunk, K, scale, uncovered):
    """Of the pieces among the blocks of ``chunk``: β for the next ρ, and the tokens that rounding leaves uncovered."""
    beta, cover = iterate.beta, iterate.cover
    for b in range(chunk[0], chunk[1]):
        if blocks.piece[b] >= 0:
            lo, _ = with_halo(blocks, b, K - 1)
            a, e = blocks.token[b], blocks.token[b + 1]
            uncovered[b] = uncovered_tokens(cover, a - lo, a, e)
            for i in range(a, e):
                beta[i] *= scale


@parallel_kernel()
def reweight_blocks(best, iterate, d, blocks, chunk, rho, epsilon):
    """D = max(1, 1/(z + ε)) from the best projection z (float32 (K, n)), and v moved from the old D's d̃ to the new."""
    data, weight, slot = iterate.w, iterate.weight, iterate.slot
    for b in range(chunk[0], chunk[1]):
        a, e = blocks.token[b], blocks.token[b + 1]
        for k in range(slot.shape[0]):
            for i in range(a, e):
                place = slot[k, i]
                if place >= 0:
                    price = pointer_price(d, k + 1, i)
                    new = np.float32(max(1.0, 1.0 / (max(np.float64(best[k, i]), 0.0) + epsilon)))
                    data[place] += (weight[place] - new) * price / rho
                    weight[place] = new
