"""numba kernels of Dinic's maximum flow from node 0 to node 1 (minimum_cut.py).

Shapes: first int64 (N+1,), arcs first[v] .. first[v+1]-1 leave node v; heads int32, reverse int32 and left int64 by
arc: where it leads, the arc back, what it can still take; level int32 (N,); cursor int64 (N,), the arc to look at next.
"""

from __future__ import annotations

from cflengine.engine.jit import kernel


@kernel
def set_levels(first, heads, left, level, queue):
    """level = arcs from node 0 to each node, by arcs that can take more, -1 where there is no way; whether node 1 has
    one. The search goes on to the end also then: the last one finds the side of the cut."""
    level[:] = -1
    level[0] = 0
    queue[0] = 0
    size = 1
    done = 0
    while done < size:
        v = queue[done]
        done += 1
        for e in range(first[v], first[v + 1]):
            u = heads[e]
            if left[e] > 0 and level[u] < 0:
                level[u] = level[v] + 1
                queue[size] = u
                size += 1
    return level[1] >= 0


@kernel
def block_flow(first, heads, reverse, left, level, cursor, path, budget):
    """Push flow along shortest ways until none is left (False), or some ``budget`` of arcs was looked at (True: call
    again). path: int32 (N,), work space, the arcs from node 0 to where the search stands."""
    length = 0
    v = 0
    while True:
        if v == 1:
            least = left[path[0]]
            for i in range(1, length):
                least = min(least, left[path[i]])
            cut = length
            for i in range(length - 1, -1, -1):
                e = path[i]
                left[e] -= least
                left[reverse[e]] += least
                if left[e] == 0:
                    cut = i
            budget -= length
            length = cut
            v = heads[reverse[path[cut]]]
            if budget < 0:
                return True
            continue
        moved = False
        while cursor[v] < first[v + 1]:
            e = cursor[v]
            budget -= 1
            if left[e] > 0 and level[heads[e]] == level[v] + 1:
                path[length] = e
                length += 1
                v = heads[e]
                moved = True
                break
            cursor[v] += 1
        if not moved:
            if length == 0:
                return False
            length -= 1
            v = heads[reverse[path[length]]]
            cursor[v] += 1
