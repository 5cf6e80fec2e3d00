"""numba kernel of a step at ζ > 0 (§4.2.2): the θ-update is the encoding programme.

With v = w + y_θ/ρ and pointer cost η = max(0, ζ − v)², the cheapest cover ψ gives θ = max(v, ζψ): where
ψ = 1 and v < ζ, θ = ζ; elsewhere θ = v. The scaled multiplier u = y_θ/ρ becomes v − θ, which is zero except on
pointers of ψ with v < ζ. The next w-update adds ρ/2 ‖w − (θ − u)‖² to the linearised term, so

    q = (σ w − Xᵀg − d/ρ + θ − u) / (σ + 1),   κ = c / (ρ (σ + 1)).
"""

from __future__ import annotations

import numpy as np

from cflengine.compression.kernels.cover import (
    coverage,
    descend,
    load_block,
    load_tokens,
    pointer_cost,
    store_block,
    update_multipliers,
)
from cflengine.compression.kernels.encode import use_cover
from cflengine.compression.kernels.halo import with_halo
from cflengine.compression.kernels.shortest import cover_documents, cover_piece, encoding_window
from cflengine.engine.jit import kernel, parallel_kernel


@kernel
def theta_costs(v, slot, a, zeta):
    """η = max(0, ζ − v)², float64 (K, size), for v float32 (K, size) of the tokens from a on; inf for no pointer."""
    K, size = v.shape
    cost = np.empty((K, size), np.float64)
    for k in range(K):
        for i in range(size):
            short = max(zeta - v[k, i], np.float32(0.0))
            eta = short * short
            # where numbers have overflowed there is a cover all the same
            cost[k, i] = (eta if eta < np.float32(1e30) else 1e30) if slot[k, a + i] >= 0 else np.inf
    return cost


@parallel_kernel()
def theta_blocks(data, slot, theta, blocks, chunk, pieces_alone, zeta, carry):
    """ψ of the blocks of ``chunk`` (first, last + 1); documents that are cut have it from ``settle``.

    v = w + u, w in data (float32 (m,), passes/layout.py). With ``pieces_alone``, blocks of whole documents are left to
    ``homotopy_pass``.
    """
    for b in range(chunk[0], chunk[1]):
        if pieces_alone and blocks.piece[b] < 0:
            continue
        K = slot.shape[0]
        a, e = encoding_window(blocks, b, K)
        v = np.empty((K, e - a), np.float32)
        load_tokens(data, slot, a, e, a, v)
        if theta.u.shape[1] > 0:
            for k in range(K):
                for i in range(a, e):
                    v[k, i - a] += theta.u[k, i]
        cost = theta_costs(v, slot, a, zeta)
        reach, choice = np.empty(e - a + 1, np.float64), np.empty(e - a + 1, theta.cover.dtype)
        if blocks.piece[b] >= 0:
            cover_piece(cost, blocks, b, carry, reach, choice)
        else:
            cover_documents(cost, blocks, b, reach, choice, theta.cover)


@kernel
def move_towards_theta(v, u, cover, a, zeta, u_scale):
    """Update u, rows of the block, and turn v into θ − u_next; u_scale = ρ/ρ_next rescales the multiplier."""
    for k in range(v.shape[0]):
        for i in range(v.shape[1]):
            chosen = cover[a + i] >> k & 1
            theta = max(v[k, i], zeta) if chosen else v[k, i]
            u_next = (v[k, i] - theta) * u_scale
            u[k, a + i] = u_next
            v[k, i] = theta - u_next


@parallel_kernel()
def homotopy_pass(iterate, theta, d, blocks, borders, chunk, step, sums):
    """One step at ζ > 0 after the prox, for the blocks of ``chunk`` (cf. ``relaxation_pass``).

    Documents that are cut have ψ already (from ``theta_blocks``).
    """
    data, slot = iterate.w, iterate.slot
    residuals, costs, binary_costs = sums.residuals, sums.pointer_costs, sums.binary_costs
    for b in range(chunk[0], chunk[1]):
        a, e = blocks.token[b], blocks.token[b + 1]
        lo, hi = with_halo(blocks, b, slot.shape[0] - 1)
        w = np.empty((slot.shape[0], hi - lo), np.float32)
        v = np.empty((slot.shape[0], e - a), np.float32)
        covered = np.empty(hi - lo, np.float32)
        tail = np.empty(hi - lo, np.float32)
        window = np.empty(hi - lo, np.float32)
        load_block(data, slot, blocks, b, borders, lo, hi, w)
        coverage(w, covered, tail, window)
        costs[b] = pointer_cost(w, a, e, lo, d, tail)
        update_multipliers(covered, iterate, blocks, b, borders, lo, step, residuals[b])
        for k in range(w.shape[0]):
            for i in range(e - a):
                v[k, i] = w[k, a - lo + i] + theta.u[k, a + i]
        if blocks.piece[b] < 0:
            reach, choice = np.empty(e - a + 1, np.float64), np.empty(e - a + 1, theta.cover.dtype)
            cover_documents(theta_costs(v, slot, a, step.zeta), blocks, b, reach, choice, theta.cover)
        binary_costs[b], _ = use_cover(theta.gram_of, theta.cover, a, e, d, theta.used)
        move_towards_theta(v, theta.u, theta.cover, a, step.zeta, step.rho / step.rho_next)
        descend(w, lo, covered, window, d, step)
        for k in range(w.shape[0]):
            for i in range(e - a):
                w[k, a - lo + i] += step.scale[k] * v[k, i]
        store_block(w, data, slot, a, e, lo)
