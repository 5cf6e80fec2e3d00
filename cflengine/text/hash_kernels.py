"""numba kernels of hash tables: the key of a K-gram, and its hash."""

from __future__ import annotations

import numpy as np

from cflengine.engine.jit import kernel


@kernel
def pair_key(parent, tokens, i, length):
    """uint64: the K-gram of ``length`` words at token i, as the number of the one a word shorter and its last word."""
    return (np.uint64(parent[i]) << np.uint64(32)) | np.uint64(tokens[i + length - 1])


@kernel
def mixed(key):
    """uint64: the finaliser of splitmix64, since neighbouring keys must fall neither into one bucket nor into
    neighbouring slots."""
    z = key * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return z ^ (z >> np.uint64(29))
