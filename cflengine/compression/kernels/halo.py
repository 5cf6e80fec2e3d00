"""numba kernels that see what a piece of a long document needs of its neighbours (see pieces.py)."""

from __future__ import annotations

import numpy as np

from cflengine.engine.jit import kernel, parallel_kernel


@kernel
def with_halo(blocks, b, halo):
    """The tokens of block b and ``halo`` more on either side, as far as the document goes; none for whole documents."""
    a, e = blocks.token[b], blocks.token[b + 1]
    if blocks.piece[b] < 0:
        return a, e
    d = blocks.doc[b]
    return max(a - halo, blocks.doc_ptr[d]), min(e + halo, blocks.doc_ptr[d + 1])


@parallel_kernel()
def save_borders(data, slot, y, z, blocks, borders, chunk):
    """Copy the halos of all borders within documents; y and z only where they have entries."""
    K = slot.shape[0]
    w_there, y_there, z_there = borders.w, borders.y, borders.z
    for b in range(chunk[0], chunk[1]):
        a = blocks.token[b]
        if blocks.piece[b] < 0 or a == blocks.doc_ptr[blocks.doc[b]]:
            continue
        for k in range(K):
            for i in range(2 * (K - 1)):
                place = slot[k, a - (K - 1) + i]
                w_there[b, k, i] = data[place] if place >= 0 else np.float32(0.0)
        if y.shape[0] > 0:
            for i in range(K - 1):
                y_there[b, i] = y[a + i]
                z_there[b, i] = z[a + i]


@kernel
def load_halo(borders, blocks, b, lo, hi, w):
    """The halo columns of w (float32 (K, hi−lo), tokens lo .. hi-1), as they were before the pass."""
    halo = w.shape[0] - 1
    a, e = blocks.token[b], blocks.token[b + 1]
    for k in range(w.shape[0]):
        for i in range(a - lo):
            w[k, i] = borders.w[b, k, halo - (a - lo) + i]
        for i in range(hi - e):
            w[k, e - lo + i] = borders.w[b + 1, k, halo + i]
