"""numba kernels of the search at a fixed size: what every piece that the vocabulary lacks would save, and what it would
cost to do without each that it has.

With R(i) the fewest pieces that make up the first i units of a word and B(i) of the rest from i on, the fewest through
piece s at i are R(i) + 1 + B(i + |s|): what is saved by s alone, at each of its places in a word by itself. Shapes:
gram_of int32 (K, n); present uint8 (G,); ptr int64 (W+1,), words; counts int64 (W,).
"""

from __future__ import annotations

import numpy as np

from cflengine.engine.jit import kernel, parallel_kernel


@kernel
def prefix_minima(gram_of, present, a, n, prefix):
    """prefix[0 .. n] = R of the n units from a on."""
    prefix[0] = 0
    for i in range(1, n + 1):
        prefix[i] = prefix[i - 1] + 1
        for k in range(2, min(gram_of.shape[0], i) + 1):
            g = gram_of[k - 1, a + i - k]
            if g >= 0 and present[g]:
                prefix[i] = min(prefix[i], prefix[i - k] + 1)
    return prefix[n]


@kernel
def longest_row(ptr):
    """int32, for prefix minima of the longest word; not filled."""
    longest = np.int64(0)
    for w in range(ptr.shape[0] - 1):
        longest = max(longest, ptr[w + 1] - ptr[w])
    return np.empty(longest + 1, np.int32)


@kernel
def shortest_prices(gram_of, present, ptr, counts, alpha):
    """alpha[j] = n_w (R(j + 1) − R(j)): of a word together as much as its fewest pieces cost, of no piece that is there
    more than its pointer."""
    prefix = longest_row(ptr)
    for w in range(counts.shape[0]):
        a, n = ptr[w], ptr[w + 1] - ptr[w]
        prefix_minima(gram_of, present, a, n, prefix)
        for j in range(n):
            alpha[a + j] = counts[w] * (prefix[j + 1] - prefix[j])


@kernel
def suffix_minima(gram_of, present, a, n, suffix):
    """suffix[0 .. n] = B of the n units from a on."""
    suffix[n] = 0
    for i in range(n - 1, -1, -1):
        suffix[i] = suffix[i + 1] + 1
        for k in range(2, min(gram_of.shape[0], n - i) + 1):
            g = gram_of[k - 1, a + i]
            if g >= 0 and present[g]:
                suffix[i] = min(suffix[i], suffix[i + k] + 1)


@kernel
def fewest_around(gram_of, present, a, n, i, k, prefix, suffix):
    """The fewest pieces that make up the n units from a on without the one of k units at i: just one of them begins
    at i or before and ends behind i."""
    fewest, most = n, gram_of.shape[0]
    for end in range(i + 1, min(i + most, n) + 1):
        for begin in range(max(end - most, 0), i + 1):
            g = gram_of[end - begin - 1, a + begin]
            other = begin != i or end != i + k
            if other and (end - begin == 1 or (g >= 0 and present[g])):
                fewest = min(fewest, prefix[begin] + 1 + suffix[end])
    return fewest


@kernel
def worth_at(gram_of, present, a, n, i, k, prefix, suffix):
    """What the piece of k units at i would save by this place alone, or cost to do without there."""
    total, through = prefix[n], prefix[i] + 1 + suffix[i + k]
    if not present[gram_of[k - 1, a + i]]:
        return max(total - through, 0)
    return fewest_around(gram_of, present, a, n, i, k, prefix, suffix) - total if through == total else 0


@kernel
def worth_in_word(gram_of, present, a, n, count, work, worth):
    """Add what the word's pieces are worth, times ``count``; returns its fewest pieces. work: int32 (2, n + 1)."""
    prefix, suffix = work
    total = prefix_minima(gram_of, present, a, n, prefix)
    suffix_minima(gram_of, present, a, n, suffix)
    for i in range(n):
        for k in range(2, min(gram_of.shape[0], n - i) + 1):
            g = gram_of[k - 1, a + i]
            more = worth_at(gram_of, present, a, n, i, k, prefix, suffix) if g >= 0 else 0
            if more:  # most are worth nothing, and their memory is far
                worth[g] += count * more
    return total


@kernel
def count_places(gram_of, a, n, places):
    """Add to places[g] how often each piece of two units or more stands in the n units from a on."""
    for i in range(n):
        for k in range(1, min(gram_of.shape[0], n - i)):
            if gram_of[k, a + i] >= 0:
                places[gram_of[k, a + i]] += 1


@kernel
def replace_repeated(gram_of, present, a, n, count, work, places, worth):
    """For pieces that stand several times in a word: what :func:`worth_in_word` has added for its places, one by one,
    becomes what the word takes more without the piece, or less with it. work: int32 (3, n + 1); places: int32 (G,)."""
    prefix, suffix, changed = work
    total = prefix_minima(gram_of, present, a, n, prefix)
    suffix_minima(gram_of, present, a, n, suffix)
    for i in range(n):
        for k in range(2, min(gram_of.shape[0], n - i) + 1):
            g = gram_of[k - 1, a + i]
            if g < 0 or places[g] == 1:
                continue
            worth[g] -= count * worth_at(gram_of, present, a, n, i, k, prefix, suffix)
            if places[g] > 1:  # the first of them
                places[g] = 0
                present[g] = 1 - present[g]
                worth[g] += count * abs(prefix_minima(gram_of, present, a, n, changed) - total)
                present[g] = 1 - present[g]


@kernel
def worth_of_repeated(gram_of, present, ptr, counts, longest, places, worth):
    """:func:`replace_repeated` in all words of at most ``longest`` units. places: int32 (G,), zeros."""
    work = np.empty((3, longest + 1), np.int32)
    for w in range(counts.shape[0]):
        a, n = ptr[w], ptr[w + 1] - ptr[w]
        if n <= longest:
            count_places(gram_of, a, n, places)
            replace_repeated(gram_of, present, a, n, counts[w], work, places, worth)
            for i in range(n):
                for k in range(1, min(gram_of.shape[0], n - i)):
                    if gram_of[k, a + i] >= 0:
                        places[gram_of[k, a + i]] = 0


@parallel_kernel()
def worth_of_pieces(gram_of, present, ptr, counts, cuts, totals, worth, chunk):
    """Of all words: totals int64 (T,), tokens, and worth int64 (T, G), for each of T runs of words cuts[t] ..
    cuts[t+1] − 1 by itself."""
    for t in range(chunk[0], chunk[1]):
        total = np.int64(0)
        for w in range(cuts[t], cuts[t + 1]):
            a, n = ptr[w], ptr[w + 1] - ptr[w]
            work = np.empty((2, n + 1), np.int32)
            total += counts[w] * worth_in_word(gram_of, present, a, n, counts[w], work, worth[t])
        totals[t] = total


@kernel
def cover_words(gram_of, present, ptr, counts, cover, uses):
    """The words by the fewest pieces: bit k − 1 of cover[j] is set where one of k units begins at j; uses int64 (G,),
    how often each is used, counted with the words. Returns Σ counts · pieces."""
    cover[:] = 0
    uses[:] = 0
    total = np.int64(0)
    prefix = longest_row(ptr)
    for w in range(counts.shape[0]):
        a, i = ptr[w], ptr[w + 1] - ptr[w]
        total += counts[w] * prefix_minima(gram_of, present, a, i, prefix)
        while i > 0:
            size = 1
            for k in range(2, min(gram_of.shape[0], i) + 1):
                g = gram_of[k - 1, a + i - k]
                if g >= 0 and present[g] and prefix[i - k] + 1 == prefix[i]:
                    size = k
            i -= size
            cover[a + i] |= cover.dtype.type(1) << cover.dtype.type(size - 1)
            uses[gram_of[size - 1, a + i]] += counts[w]
    return total
