"""numba kernels of the encoding programme (§3.1): the cheapest set of pointers that covers a document.

    R(i) = min_{k=1..K} [ d(i, k) + min_{j=1..k} R(i − j) ],   R(0) = 0,

where d(i, k) is the cost of the pointer of length k that *ends* at token i: Θ(Kn). Overlapping pointers
(j < k) are allowed. Of equally cheap pointers the longest is taken, without overlap if that is as cheap, so the
solution depends on the input alone.

Long documents are cut into pieces (blocks.py). R(i) depends on the K values before it alone, and a constant added to
all of them is added to all that follow. A piece therefore begins some tokens early, with K values that are all equal:
the programme's choices soon forget where it began, and from then on R is what it would have been but for a constant.
That is checked, not believed: ``settle`` of pieces.py compares the values that a piece entered with with those that its
predecessor ended with, and where they differ, by more than a constant, has the piece done again from the latter. On
text a few dozen tokens are enough; on "a a a a ..." no number is, and pieces are done in turn.

Shapes: cost float64 (K, size), by length and *start*, inf where a pointer does not exist; reach float64 (size+1,),
cover uint8 (n,), bit k-1 of cover[i] says that the pointer of length k at token i is used; choice, of the same type,
(size+1,). K > 8 takes more bits: uint32, in all kernels (text/kgrams.py, ``cover_type``).
"""

from __future__ import annotations

import numpy as np

from cflengine.compression.kernels.halo import with_halo
from cflengine.engine.jit import kernel, parallel_kernel


@kernel
def pointer_price(d, k, i):
    """d of the pointer of length k at token i."""
    price = np.float64(d.length[k - 1])
    if d.extra.shape[1] > 0:
        price += d.extra[k - 1, i]
    return price


@kernel
def choice_bits(choice):
    """How many bits of a choice are for k, and then for j."""
    return 3 if choice.itemsize == 1 else 5


@kernel
def extend_cover(cost, first, begin, end, reach, choice):
    """Fill reach[begin..end] and choice[begin..end] of ``shortest_cover`` from the K values before."""
    bits = choice_bits(choice)
    for i in range(begin, end + 1):
        best = np.inf
        nearest = np.inf
        j_best = 1
        packed = 0
        for k in range(1, min(cost.shape[0], i) + 1):
            if reach[i - k] <= nearest:
                nearest = reach[i - k]
                j_best = k
            total = cost[k - 1, first + i - k] + nearest
            if total <= best:
                best = total
                packed = (k - 1) | ((j_best - 1) << bits)
        reach[i] = best
        choice[i] = packed


@kernel
def shortest_cover(cost, first, length, reach, choice):
    """Fill reach[0..length] = R (float64) and choice for the document at columns first .. of ``cost``.

    choice[i] packs the k and j that achieve R(i): (k-1) | (j-1) << bits. reach[length] is inf when the
    document cannot be covered.
    """
    reach[0] = 0.0
    extend_cover(cost, first, np.int64(1), length, reach, choice)


@kernel
def mark_cover(choice, first, length, cover):
    """Walk back from the end and set cover[first + start] for every pointer of the cheapest cover."""
    bits = choice_bits(choice)
    i = length
    while i > 0:
        k = (choice[i] & ((1 << bits) - 1)) + 1
        cover[first + i - k] |= cover.dtype.type(1 << (k - 1))
        i -= (choice[i] >> bits) + 1


@kernel
def cover_documents(cost, blocks, b, reach, choice, cover):
    """The cheapest covers of block b, of whole documents, into cover; returns what they cost.

    A document that cannot be covered gets no pointers.
    """
    a = blocks.token[b]
    cover[a : blocks.token[b + 1]] = 0
    total = 0.0
    for d in range(blocks.doc[b], blocks.doc[b + 1]):
        first, length = blocks.doc_ptr[d], blocks.doc_ptr[d + 1] - blocks.doc_ptr[d]
        shortest_cover(cost, first - a, length, reach, choice)
        total += reach[length]
        if reach[length] < np.inf:
            mark_cover(choice, first, length, cover)
    return total


@kernel
def encoding_window(blocks, b, K):
    """The tokens whose pointers the encoding programme of block b sees."""
    lo, _ = with_halo(blocks, b, blocks.early + K - 1)
    _, hi = with_halo(blocks, b, K - 1)
    return lo, hi


@kernel
def worth_window(blocks, b, K):
    """The tokens that may change what pointers of block b are worth: further off, covers are the same again."""
    return with_halo(blocks, b, blocks.early + K - 1)


@kernel
def _note_values(reach, i, values):
    """values = R at the K positions up to i, less the least of them, inf where there are none; returns that least."""
    K = values.shape[0]
    least = np.inf
    for j in range(max(0, i - K + 1), i + 1):
        least = min(least, reach[j])
    for j in range(K):
        at = i - K + 1 + j
        values[j] = reach[at] - least if at >= 0 and least < np.inf else np.inf
    return least


@kernel
def cover_piece(cost, blocks, b, carry, reach, choice):
    """R of block b, a piece, and of its halo, but for a constant: the answer, R's least before the piece's first token.

    Fills reach, choice (size+1,) and the piece's row of ``carry``.
    """
    K = cost.shape[0]
    p, d = blocks.piece[b], blocks.doc[b]
    lo, hi = encoding_window(blocks, b, K)
    first, last = blocks.token[b] - lo, blocks.token[b + 1] - lo
    begin = K
    if carry.given[p]:
        for j in range(K):
            reach[first - K + 1 + j] = carry.entry[p, j]
        begin = first + 1
    elif lo == blocks.doc_ptr[d]:
        reach[0] = 0.0
        begin = 1
    else:
        reach[:K] = 0.0
    extend_cover(cost, np.int64(0), begin, hi - lo, reach, choice)
    before = 0.0 if carry.given[p] else _note_values(reach, first, carry.entry[p])
    least = _note_values(reach, last, carry.exit[p])
    if blocks.token[b + 1] == blocks.doc_ptr[d + 1]:
        least = reach[last]
    carry.gain[p] = least - before if before < np.inf else np.inf
    if carry.choice.shape[0] > 0:
        carry.choice[blocks.token[b] + 1 : blocks.token[b + 1] + 1] = choice[first + 1 : last + 1]
    return before


@parallel_kernel()
def trace_documents(blocks, documents, covered, carry, cover, chunk):
    """Write the covers of these documents (int64), which are cut, into cover; none where ``covered`` (uint8) is 0."""
    for i in range(chunk[0], chunk[1]):
        a, e = blocks.doc_ptr[documents[i]], blocks.doc_ptr[documents[i] + 1]
        cover[a:e] = 0
        if covered[i]:
            mark_cover(carry.choice[a:], a, e - a, cover)
