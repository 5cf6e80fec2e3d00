"""Minimum cuts by Dinic's maximum flow (1970), exact for capacities that are rounded to float64 and to 2⁻⁶⁰ of their
sum.

Level graphs by breadth-first search, blocking flows by depth-first search, in chunks that let go of the interpreter
and can be stopped. Capacities are 64-bit integers, as flows of floats would leave residues that are no paths.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cflengine.engine import kernels_flow as kernels

_TOTAL = 1 << 60
_ARCS = 4_000_000  # looked at between two questions whether to stop: some 50 ms


def minimum_cut(
    tail: np.ndarray, head: np.ndarray, capacity: np.ndarray, n_nodes: int, poll: Callable[[], bool] = lambda: True
) -> np.ndarray | None:
    """bool (nodes,): the source's side of the cheapest cut between node 0 and node 1, the smallest such side; None
    where ``poll`` said stop.

    tail, head: int (E,), arcs, none twice; capacity: float64 (E,), at least 0, inf where the cut must not go. Some cut
    must have a finite capacity. Deterministic.
    """
    finite = np.isfinite(capacity)
    total = float(capacity[finite].sum())
    scale = _TOTAL / total if total > 0 else 1.0
    n = len(tail)
    whole = np.full(n, 2 * _TOTAL, dtype=np.int64)
    whole[finite] = np.rint(capacity[finite] * scale).astype(np.int64)
    # arcs and their reverses by tail: arc e of the caller is at place[e], its reverse at place[n + e]
    tails = np.concatenate([tail, head])
    order = np.argsort(tails, kind="stable")
    place = np.empty(2 * n, dtype=np.int32)
    place[order] = np.arange(2 * n, dtype=np.int32)
    first = np.zeros(n_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(tails, minlength=n_nodes), out=first[1:])
    heads = np.concatenate([head, tail]).astype(np.int32)[order]
    reverse = np.concatenate([place[n:], place[:n]])[order]
    left = np.concatenate([whole, np.zeros(n, dtype=np.int64)])[order]
    level, queue = np.empty(n_nodes, dtype=np.int32), np.empty(n_nodes, dtype=np.int32)
    path, cursor = np.empty(n_nodes, dtype=np.int32), np.empty(n_nodes, dtype=np.int64)
    while kernels.set_levels(first, heads, left, level, queue):
        cursor[:] = first[:-1]
        while kernels.block_flow(first, heads, reverse, left, level, cursor, path, _ARCS):
            if not poll():
                return None
        if not poll():
            return None
    return level >= 0
