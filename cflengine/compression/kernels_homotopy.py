"""numba kernel of a step at ζ > 0 (§4.2.2): the θ-update is the encoding programme.

With v = w + y_θ/ρ and pointer cost η = max(0, ζ − v)², the cheapest cover ψ gives θ = max(v, ζψ): where
ψ = 1 and v < ζ, θ = ζ; elsewhere θ = v. The scaled multiplier u = y_θ/ρ becomes v − θ, which is zero except on
pointers of ψ with v < ζ. The next w-update adds ρ/2 ‖w − (θ − u)‖² to the linearised term, so

    q = (σ w − Xᵀg − d/ρ + θ − u) / (σ + 1),   κ = c / (ρ (σ + 1)).
"""

from __future__ import annotations

import numpy as np
from numba import prange

from cflengine.compression.kernels_cover import (
    coverage,
    descend,
    load_block,
    pointer_cost,
    store_block,
    update_multiplier,
)
from cflengine.compression.kernels_encode import mark_cover, shortest_cover, use_marks
from cflengine.engine.jit import kernel, parallel_kernel


@kernel
def encode_theta(v, slot, a, doc_ptr, d0, d1, zeta, marks):
    """ψ of the documents d0 .. d1-1 into marks, by the costs η = max(0, ζ − v)²; v: float32 (K, size)."""
    K, size = v.shape
    cost = np.empty((K, size), np.float64)
    for k in range(K):
        for i in range(size):
            short = max(zeta - v[k, i], np.float32(0.0))
            cost[k, i] = short * short if slot[k, a + i] >= 0 else np.inf
    reach = np.empty(size + 1, np.float64)
    choice = np.empty(size + 1, np.uint8)
    marks[a : a + size] = 0
    for d in range(d0, d1):
        length = doc_ptr[d + 1] - doc_ptr[d]
        shortest_cover(cost, doc_ptr[d] - a, length, reach, choice)
        mark_cover(choice, doc_ptr[d], length, marks)


@kernel
def pull_towards_theta(v, u, marks, a, zeta, u_scale):
    """Update u, rows of the block, and turn v into θ − u_next; u_scale = ρ/ρ_next rescales the multiplier."""
    for k in range(v.shape[0]):
        for i in range(v.shape[1]):
            chosen = marks[a + i] >> k & 1
            theta = max(v[k, i], zeta) if chosen else v[k, i]
            u_next = (v[k, i] - theta) * u_scale
            u[k, a + i] = u_next
            v[k, i] = theta - u_next


@parallel_kernel
def homotopy_pass(
    data, slot, gram_of, y, z, u, doc_ptr, blocks, b0, b1, d_len, d_extra, rho, rho_next, keep, steps, zeta, marks,
    used, residuals, costs, binary_costs,
):  # fmt: skip
    """One step at ζ > 0 after the prox, for the blocks b0 .. b1-1 (cf. ``relaxation_pass``).

    u: float32 (K, n), y_θ/ρ by position; marks: uint8 (n,), given ψ; used: uint8 (G,), set where ψ uses a K-gram;
    binary_costs: float64 (B,), the pointer cost of ψ. rho, rho_next, zeta: float32;
    keep: float32, σ/(σ+1); steps: float32 (K,), 1/(σ+1).
    """
    for b in prange(b0, b1):
        a = doc_ptr[blocks[b]]
        size = doc_ptr[blocks[b + 1]] - a
        w = np.empty((slot.shape[0], size), np.float32)
        v = np.empty((slot.shape[0], size), np.float32)
        cover = np.empty(size, np.float32)
        tail = np.empty(size, np.float32)
        window = np.empty(size, np.float32)
        load_block(data, slot, a, w)
        coverage(w, cover, tail, window)
        costs[b] = pointer_cost(w, a, d_len, d_extra, tail)
        update_multiplier(cover, y, z, a, rho, rho_next, np.float32(1.0), residuals[b])
        for k in range(w.shape[0]):
            for i in range(size):
                v[k, i] = w[k, i] + u[k, a + i]
        encode_theta(v, slot, a, doc_ptr, blocks[b], blocks[b + 1], zeta, marks)
        binary_costs[b], _ = use_marks(gram_of, marks, a, a + size, d_len, d_extra, used)
        pull_towards_theta(v, u, marks, a, zeta, rho / rho_next)
        descend(w, a, cover, window, d_len, d_extra, keep, steps, np.float32(1.0) / rho_next)
        for k in range(w.shape[0]):
            for i in range(size):
                w[k, i] += steps[k] * v[k, i]
        store_block(w, data, slot, a)


@parallel_kernel
def round_blocks(data, slot, doc_ptr, blocks, b0, b1, zeta, marks):
    """The θ-update's cover ψ of a w (float32 (m,), layout.py) by itself: a binary solution from any iterate."""
    for b in prange(b0, b1):
        a = doc_ptr[blocks[b]]
        w = np.empty((slot.shape[0], doc_ptr[blocks[b + 1]] - a), np.float32)
        load_block(data, slot, a, w)
        encode_theta(w, slot, a, doc_ptr, blocks[b], blocks[b + 1], zeta, marks)
