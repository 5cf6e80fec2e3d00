"""numba kernels of the linear-chain CRF: scores, the loss's derivative, the gradient's gathering, Viterbi.

Shapes: attributes of tokens as indptr int64 (T+1,), attribute int32, values float64 (length 0: all 1); features as in
problem.ChainFeatures; emission float64 (T, L), transition (L, L); sentences as ptr int64 (N+1,) of tokens.
"""

from __future__ import annotations

import numpy as np

from cflengine.engine.jit import kernel, parallel_kernel


@parallel_kernel(least=500)
def emissions(indptr, attribute, values, ptr, label, w, out, chunk):
    """out_t = Σ_a x_ta W_a: equation (6)'s symbol emission scores."""
    ones = values.shape[0] == 0
    for t in range(chunk[0], chunk[1]):
        out[t] = 0.0
        for k in range(indptr[t], indptr[t + 1]):
            a = attribute[k]
            value = 1.0 if ones else values[k]
            for e in range(ptr[a], ptr[a + 1]):
                out[t, label[e]] += value * w[e]


@parallel_kernel(least=5000)
def spread_states(ptr, label, w, table, chunk):
    """table_{a, label} = the weight of the state feature, float64 (A, L); 0 elsewhere, from the start."""
    for a in range(chunk[0], chunk[1]):
        for e in range(ptr[a], ptr[a + 1]):
            table[a, label[e]] = w[e]


@parallel_kernel(least=500)
def emissions_of_table(indptr, attribute, values, table, out, chunk):
    """As :func:`emissions`, from all labels of an attribute side by side, which takes a third of the time."""
    ones = values.shape[0] == 0
    n_labels = out.shape[1]
    for t in range(chunk[0], chunk[1]):
        for c in range(n_labels):
            out[t, c] = 0.0
        for k in range(indptr[t], indptr[t + 1]):
            a = attribute[k]
            value = 1.0 if ones else values[k]
            for c in range(n_labels):
                out[t, c] += value * table[a, c]


@parallel_kernel()
def gather_frequent(groups, indptr, attribute, values, derivative, tables, chunk):
    """tables[g, f] = Σ x_tf derivative_t over the tokens of group g, for the frequent attributes f; float64 (G, F, L).

    By tokens and not by attributes: a column of a frequent attribute reads nearly all derivatives, which are more than
    any cache holds, once for each such attribute; here they are read once, and the tables stay in the cache.
    """
    ones = values.shape[0] == 0
    for g in range(chunk[0], chunk[1]):
        table = tables[g]
        table[:] = 0.0
        for t in range(groups[g], groups[g + 1]):
            for k in range(indptr[t], indptr[t + 1]):
                f = attribute[k]
                value = 1.0 if ones else values[k]
                for c in range(table.shape[1]):
                    table[f, c] += value * derivative[t, c]


@kernel
def add_tables(tables, f, total):
    """total = Σ_g tables[g, f], in order."""
    total[:] = 0.0
    for g in range(tables.shape[0]):
        for c in range(total.shape[0]):
            total[c] += tables[g, f, c]


@kernel
def gather_single(columns, a, derivative, label):
    """Σ_t x_ta derivative_{t, label}, of one label."""
    indptr, token, values = columns
    ones, single = values.shape[0] == 0, 0.0
    for k in range(indptr[a], indptr[a + 1]):
        single += derivative[token[k], label] if ones else values[k] * derivative[token[k], label]
    return single


@kernel
def gather_all(columns, a, derivative, total):
    """total = Σ_t x_ta derivative_t, of all labels."""
    indptr, token, values = columns
    ones = values.shape[0] == 0
    total[:] = 0.0
    for k in range(indptr[a], indptr[a + 1]):
        value = 1.0 if ones else values[k]
        for c in range(total.shape[0]):
            total[c] += value * derivative[token[k], c]


@parallel_kernel()
def gather_states(cuts, frequent, tables, columns, states, derivative, out, chunk):
    """out_e = Σ_t x_ta derivative_t[label_e] of every state feature e of attribute a; columns: X by columns; states:
    ptr and label.

    cuts: int64, runs of attributes with about as many entries each: the first ones in a corpus are the frequent ones,
    and would all be one thread's. frequent: int32 (A,), an attribute's place in ``tables``, or -1 for a rare one.
    """
    ptr, label = states
    for block in range(chunk[0], chunk[1]):
        total = np.empty(derivative.shape[1])
        for a in range(cuts[block], cuts[block + 1]):
            if frequent[a] < 0 and ptr[a + 1] - ptr[a] <= 2:
                # its tokens lie far apart: a label that is not read is a line of memory saved
                for e in range(ptr[a], ptr[a + 1]):
                    out[e] = gather_single(columns, a, derivative, label[e])
                continue
            if frequent[a] >= 0:
                add_tables(tables, frequent[a], total)
            else:
                gather_all(columns, a, derivative, total)
            for e in range(ptr[a], ptr[a + 1]):
                out[e] = total[label[e]]


@parallel_kernel(least=256)
def observed(emission, transition, ptr, label, marginals, log_z, losses, chunk):
    """losses: log Z less the observed score, by sentence; marginals become expected less observed.

    Of the observed label that is minus the sum of the others, for 1 − p has no digits left where p is nearly 1.
    """
    for s in range(chunk[0], chunk[1]):
        score = 0.0
        for t in range(ptr[s], ptr[s + 1]):
            c = label[t]
            score += emission[t, c]
            if t > ptr[s]:
                score += transition[label[t - 1], c]
            marginals[t, c] = 0.0
            others = 0.0
            for b in range(emission.shape[1]):
                others += marginals[t, b]
            marginals[t, c] = -others
        losses[s] = log_z[s] - score


@parallel_kernel(least=64)
def viterbi(emission, transition, ptr, label, chunk):
    """The likeliest labels of every sentence, int32 (T,); of equally likely ones the first."""
    n_labels = emission.shape[1]
    for s in range(chunk[0], chunk[1]):
        first, last = ptr[s], ptr[s + 1]
        if first == last:
            continue
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
            best, following = following, best
        here = np.argmax(best)
        for t in range(last - 1, first - 1, -1):
            label[t] = here
            if t > first:
                here = come_from[t - first, here]
