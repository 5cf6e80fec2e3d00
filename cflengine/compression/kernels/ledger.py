"""numba kernels of the ledger: what the corpus would cost without one K-gram of the dictionary, for each of them.

R(i), as in kernels/shortest.py, is the least cost of a cover of a document's first i tokens that ends at i. Without
K-gram s it becomes R'(i), and R'(n) − R(n), summed over documents, is what s saves in pointers. R' is not computed
from scratch: a value depends on the K before it alone, so where R' − R has been the same for K positions in a row it
stays so until the next occurrence of s. From each occurrence on R' is followed for that long, a few positions as a
rule: Θ(K²n) over all K-grams, and exact for all uses of s at once, however close they are.

A token that nothing else in the dictionary covers is *uncovered* without s. Its word then re-enters the dictionary,
there and only there; where s is that very word, it is spelled out, at d + c(s) each time.

Shapes: allowed uint8 (n,), bit k-1 of allowed[i] says that the K-gram of length k at token i is in the dictionary;
reach float64 (n + N,), R(i) of document d at doc_ptr[d] + d + i; D K-grams: gram int32, length int8, storage
float64, all (D,); their occurrences by K-gram, ascending: positions int32, those of f at ptr[f] .. ptr[f+1]-1.
"""

from __future__ import annotations

import numpy as np

from cflengine.compression.kernels.shortest import cover_piece, encoding_window, pointer_price, shortest_cover
from cflengine.engine.jit import kernel, parallel_kernel


@parallel_kernel()
def reach_blocks(encoded, d, blocks, chunk, number, carry):
    """Fill allowed and reach of the blocks of ``chunk`` (first, last + 1); number: int32 (G,), -1 for a K-gram that is
    not in the dictionary.

    Pieces of a document have ``reach`` less what it is at their entry: :func:`raise_pieces` comes after ``settle``.
    """
    gram_of, allowed, reach = encoded.gram_of, encoded.allowed, encoded.reach
    K = gram_of.shape[0]
    for b in range(chunk[0], chunk[1]):
        a, e = encoding_window(blocks, b, K)
        cost = np.full((K, e - a), np.inf)
        choice = np.empty(e - a + 1, allowed.dtype)
        for i in range(a, e):
            own = allowed.dtype.type(0)
            for k in range(1, K + 1):
                g = gram_of[k - 1, i]
                if g >= 0 and number[g] >= 0:
                    own |= allowed.dtype.type(1 << (k - 1))
                    cost[k - 1, i - a] = pointer_price(d, k, i)
            if blocks.token[b] <= i < blocks.token[b + 1]:
                allowed[i] = own
        if blocks.piece[b] >= 0:
            reach_of_piece(cost, blocks, b, a, carry, choice, reach)
            continue
        for j in range(blocks.doc[b], blocks.doc[b + 1]):
            first, length = blocks.doc_ptr[j], blocks.doc_ptr[j + 1] - blocks.doc_ptr[j]
            shortest_cover(cost, first - a, length, reach[first + j : first + j + length + 1], choice)


@kernel
def reach_of_piece(cost, blocks, b, a, carry, choice, reach):
    """R of a piece less its least at the piece's entry; cost: of the tokens from a on."""
    d, first, last = blocks.doc[b], blocks.token[b], blocks.token[b + 1]
    local = np.empty(cost.shape[1] + 1, np.float64)
    before = cover_piece(cost, blocks, b, carry, local, choice)
    for i in range(first + 1, last + 1):
        reach[i + d] = local[i - a] - before
    if first == blocks.doc_ptr[d]:
        reach[first + d] = 0.0


@parallel_kernel()
def raise_pieces(blocks, base, reach, chunk):
    """Add to ``reach`` what it is at the entry of each piece; base: float64 (P,)."""
    for b in range(chunk[0], chunk[1]):
        if blocks.piece[b] >= 0:
            for i in range(blocks.token[b] + 1, blocks.token[b + 1] + 1):
                reach[i + blocks.doc[b]] += base[blocks.piece[b]]


@kernel
def place_occurrences(grams, number, cursor, positions):
    """Write where the dictionary's K-grams of one length start; grams: int32 (n,); cursor: int64 (D,), advanced."""
    for i in range(grams.shape[0]):
        if grams[i] >= 0 and number[grams[i]] >= 0:
            f = number[grams[i]]
            positions[cursor[f]] = i
            cursor[f] += 1


@kernel
def is_uncovered(encoded, a, token, g):
    """Whether no K-gram of the dictionary but g covers ``token`` of the document that starts at a."""
    for k in range(1, encoded.gram_of.shape[0] + 1):
        for i in range(max(a, token - k + 1), token + 1):
            if encoded.allowed[i] >> (k - 1) & 1 and encoded.gram_of[k - 1, i] != g:
                return False
    return True


@kernel
def reach_without(encoded, d, a, p, g, recent):
    """R'(p) of the document that starts at a; recent: float64 (K,), R'(q) of the K positions before p at q mod K."""
    gram_of, allowed = encoded.gram_of, encoded.allowed
    K = gram_of.shape[0]
    best = np.inf
    nearest = np.inf
    for k in range(1, min(K, p) + 1):
        nearest = min(nearest, recent[(p - k) % K])
        i = a + p - k
        price = np.inf
        if gram_of[k - 1, i] != g and allowed[i] >> (k - 1) & 1:
            price = pointer_price(d, k, i)
        elif k == 1 and gram_of[0, i] == g:
            price = pointer_price(d, 1, i) + encoded.storage[g]
        elif k == 1 and is_uncovered(encoded, a, i, g):
            price = pointer_price(d, 1, i)
        best = min(best, price + nearest)
    return best


@kernel
def follow(encoded, d, document, p, end, delta, g, recent):
    """R' from position p on, where R' = R + delta before it, past ``end`` and until that holds again for K positions.

    Returns the position that was reached and the new delta.
    """
    K = encoded.gram_of.shape[0]
    a, n = encoded.doc_ptr[document], encoded.doc_ptr[document + 1] - encoded.doc_ptr[document]
    reach = encoded.reach[a + document : a + document + n + 1]
    for q in range(max(0, p - K), p):
        recent[q % K] = reach[q] + delta
    same = K
    while p <= n:
        anew = reach_without(encoded, d, a, p, g, recent)
        recent[p % K] = anew
        if anew == np.inf and reach[p] == np.inf:
            same += 1  # no cover ends here, with or without
        elif anew < np.inf and reach[p] < np.inf and abs(anew - reach[p] - delta) <= 1e-11 * (1.0 + anew):
            same += 1  # rounding must not keep the two apart
        else:
            delta = anew - reach[p]
            same = 1
        if p >= end and same >= K:
            return p, delta
        p += 1
    return n, recent[n % K] - reach[n]


@kernel
def loss_in_document(encoded, d, document, positions, k, g, recent):
    """R'(n) − R(n) of a document, and a mask: bit j, if word j of g is uncovered somewhere; positions: of g in it."""
    a = encoded.doc_ptr[document]
    at = 0
    delta = 0.0
    words = 0
    for i in positions:
        end = i - a + k
        begin = end
        for j in range(k - 1, -1, -1):
            if k > 1 and is_uncovered(encoded, a, i + j, g):
                words |= 1 << j
                begin = i - a + j + 1
        if end > at:
            at, delta = follow(encoded, d, document, max(begin, at + 1), end, delta, g, recent)
    return delta, words


@kernel
def storage_of_words(gram_of, storage, i, k, words):
    """Σ c of the distinct words of the K-gram of length k at token i that ``words`` flags."""
    total = 0.0
    for j in range(k):
        if words >> j & 1:
            again = False
            for earlier in range(j):
                again = again or (words >> earlier & 1 and gram_of[0, i + earlier] == gram_of[0, i + j])
            if not again:
                total += storage[gram_of[0, i + j]]
    return total


@kernel
def loss_of_gram(encoded, d, positions, k, g, recent):
    """What the corpus would cost more without K-gram g, its storage not yet refunded; uses and what they cost."""
    loss = paid = 0.0
    uses = words = 0
    p = 0
    while p < positions.shape[0]:
        document = np.searchsorted(encoded.doc_ptr, positions[p], side="right") - 1
        first, before = p, uses
        while p < positions.shape[0] and positions[p] < encoded.doc_ptr[document + 1]:
            if encoded.cover[positions[p]] >> (k - 1) & 1:
                uses += 1
                paid += pointer_price(d, k, positions[p])
            p += 1
        if uses > before:
            more, uncovered = loss_in_document(encoded, d, document, positions[first:p], k, g, recent)
            loss += more
            words |= uncovered
    if words:
        loss += storage_of_words(encoded.gram_of, encoded.storage, positions[0], k, words)
    return loss, uses, paid


@parallel_kernel()
def loss_blocks(encoded, d, entries, blocks, chunk, losses):
    """``loss_of_gram`` for the entries of the blocks of ``chunk`` (block b: entries blocks[b] .. blocks[b+1]-1)."""
    loss, uses, paid = losses.loss, losses.uses, losses.paid
    ptr, positions = entries.ptr, entries.positions
    for b in range(chunk[0], chunk[1]):
        recent = np.empty(encoded.gram_of.shape[0], np.float64)
        for f in range(blocks[b], blocks[b + 1]):
            loss[f], uses[f], paid[f] = loss_of_gram(
                encoded, d, positions[ptr[f] : ptr[f + 1]], entries.length[f], entries.gram[f], recent
            )
