"""Text that is there already: passages that documents repeat from earlier ones, and what each document costs given all
others.

A passage is a run of tokens that an earlier document has word by word, as long as it can be from where it begins: all
sequences of the least length are numbered by doubling (K-grams beyond K = 8 as pairs of shorter ones), each is tied to
the first place of the same sequence in the last earlier document that has it, and goes on as far as both documents
agree. Given the others, a document is encoded as cheaply as can be (§3.1 of the paper) when a K-gram that the others
use costs λ and any other λ + c.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from cflengine.compression.kernels.arrays import Prices
from cflengine.compression.model.problem import PointerCosts
from cflengine.compression.passes.binary import encode_tokens
from cflengine.compression.passes.blocks import cut_documents
from cflengine.engine.checks import InputError
from cflengine.engine.progress import Poll, go_on
from cflengine.text.kgrams import KGramIndex
from cflengine.text.token_table import TokenTable

SHORTEST = 8  # tokens of a passage


class _Lookup(NamedTuple):
    """number: int32 (n,), the sequence that begins at a token, -1 for none; by_sequence: int64 (S,), first tokens,
    those of a sequence together and ascending; begin, size: where in it those of a sequence are, and how many; first:
    int64, a passage of each group."""

    number: np.ndarray
    by_sequence: np.ndarray
    begin: np.ndarray
    size: np.ndarray
    first: np.ndarray


@dataclass(frozen=True)
class Passages:
    """Passages that an earlier document has, P of them, in the order of the text.

    Parameters
    ----------
    document : ndarray
        int32 (P,), where it is repeated.
    source : ndarray
        int32 (P,), the earlier document.
    start : ndarray
        int64 (P,), its first token.
    length : ndarray
        int32 (P,), tokens.
    group : ndarray
        int32 (P,), equal for equal passages.
    fresh : ndarray
        bool (n,), false where a token stands in a passage that is repeated.
    least : int
        Tokens of the shortest.
    place : ndarray
        int64 (S,), ascending, where so many tokens begin that several documents have.
    sequence : ndarray
        int32 (S,), equal for equal ones.
    """

    document: np.ndarray
    source: np.ndarray
    start: np.ndarray
    length: np.ndarray
    group: np.ndarray
    fresh: np.ndarray = field(repr=False)
    least: int
    place: np.ndarray = field(repr=False)
    sequence: np.ndarray = field(repr=False)

    def __len__(self) -> int:
        return len(self.start)

    def frame(self, doc_ptr: np.ndarray, *, poll: Poll = lambda: True) -> pd.DataFrame:
        """A row a group: group, words, times (as often it stands in the corpus, also within longer passages), documents
        (that hold it), place (its first token), saved (words of those copies that are passages themselves), the one
        that saves most first. Raises Stopped."""
        rows = pd.DataFrame({"group": self.group, "words": self.length})
        found = rows.groupby("group").agg(words=("words", "first"), saved=("words", "sum")).reset_index()
        counted = []
        for group in found["group"].tolist():
            if not group & 255:
                go_on(poll)
            places = self.places(group)
            documents = np.searchsorted(doc_ptr, places, side="right")
            counted.append((len(places), 1 + np.count_nonzero(np.diff(documents)), int(places[0])))
        counts = np.array(counted, dtype=np.int64).reshape(-1, 3)
        found["times"], found["documents"], found["place"] = counts.T
        columns = ["group", "words", "times", "documents", "place", "saved"]
        return found[columns].sort_values(["saved", "words"], ascending=False, kind="stable", ignore_index=True)

    def places(self, group: int) -> np.ndarray:
        """int64, ascending: the first tokens of a group's passage wherever the corpus has it; of places that overlap in
        a document (of a line of dashes, say) the first."""
        lookup = self._lookup
        own = int(lookup.first[group])
        start, length = int(self.start[own]), int(self.length[own])
        # its sequences, each with a token of the next: so all of them are in one document
        shift = np.append(np.arange(0, length - self.least, self.least - 1), length - self.least)
        wanted = lookup.number[start + shift]
        rarest = int(np.argmin(lookup.size[wanted]))
        begin = int(lookup.begin[wanted[rarest]])
        found = lookup.by_sequence[begin : begin + int(lookup.size[wanted[rarest]])] - shift[rarest]
        found = found[(found >= 0) & (found <= len(self.fresh) - length)]
        for offset, sequence in zip(shift.tolist(), wanted.tolist(), strict=True):
            found = found[lookup.number[found + offset] == sequence]
        if (np.diff(found) >= length).all():
            return found
        kept, at = [], 0
        while at < len(found):
            kept.append(int(found[at]))
            at = int(np.searchsorted(found, kept[-1] + length))
        return np.array(kept, dtype=np.int64)

    @cached_property
    def _lookup(self) -> _Lookup:
        number = np.full(len(self.fresh), -1, dtype=np.int32)
        number[self.place] = self.sequence
        count = np.bincount(self.sequence)
        by_sequence = self.place[np.argsort(self.sequence, kind="stable")]
        return _Lookup(
            number, by_sequence, np.cumsum(count) - count, count, np.unique(self.group, return_index=True)[1]
        )

    def repeated_share(self, doc_ptr: np.ndarray, fresh: np.ndarray | None = None) -> np.ndarray:
        """float64 (N,): of each document the share of its tokens that stand in repeated passages; 0 without tokens.
        fresh: bool (n,), with respect to other documents than all, as of ``staying``."""
        sizes = np.diff(doc_ptr)
        total = np.concatenate([[0], np.cumsum(~(self.fresh if fresh is None else fresh))])
        return (total[doc_ptr[1:]] - total[doc_ptr[:-1]]) / np.maximum(sizes, 1)

    def staying(self, doc_ptr: np.ndarray, most: float) -> tuple[np.ndarray, np.ndarray]:
        """Documents that stay where each, in their order, is held against those before it that stay.

        Returns bool (N,): at most the share ``most`` of its tokens is repeated from those; and bool (n,): ``fresh``
        with respect to them. So the first copy of what is left out with a document stays in the next that has it.
        """
        sizes, seen = np.diff(doc_ptr), np.zeros(int(self.sequence.max(initial=-1)) + 1, dtype=bool)
        stays, depth = np.ones(len(sizes), dtype=bool), np.zeros(len(self.fresh) + 1, dtype=np.int32)
        begins = np.searchsorted(self.place, doc_ptr)
        for d in np.flatnonzero(np.diff(begins)).tolist():
            here = slice(begins[d], begins[d + 1])
            known = self.place[here][seen[self.sequence[here]]]
            depth[known] += 1
            depth[known + self.least] -= 1
            covered = int(np.minimum(np.diff(known), self.least).sum()) + self.least if len(known) else 0
            stays[d] = covered / sizes[d] <= most
            if stays[d]:
                seen[self.sequence[here]] = True
        return stays, np.cumsum(depth)[:-1] == 0


def repeated_passages(table: TokenTable, least: int = 12, *, poll: Poll = lambda: True) -> Passages:
    """Passages that stand several times. Θ(n log n), plain numpy. Every such sequence that an earlier document has is
    in one of them.

    Parameters
    ----------
    table : TokenTable
        Tokens of the corpus.
    least : int
        Tokens of a passage, SHORTEST or more.
    poll : callable
        Says False to stop.

    Returns
    -------
    Passages
        The passages, and their places.

    Raises
    ------
    InputError
        For fewer tokens.
    Stopped
        Once ``poll`` says False.
    """
    if least < SHORTEST:
        raise InputError(f"passages have at least {SHORTEST} words, not {least}.")
    tokens, doc_ptr = table.tokens, table.doc_ptr
    document = np.repeat(np.arange(table.n_documents, dtype=np.int32), np.diff(doc_ptr))
    number = _numbered(tokens.astype(np.int64), doc_ptr, least, poll)
    before = _earlier(number, document, poll)
    here = np.flatnonzero(before >= 0)
    found: list[tuple[int, int, int]] = []  # first token, tokens, first token of the earlier place
    at, listed = 0, here.tolist()
    while at < len(listed):
        if not len(found) & 1023:
            go_on(poll)
        a = listed[at]
        size = least + _agree(tokens, a + least, int(before[a]) + least, doc_ptr, document)
        found.append((a, size, int(before[a])))
        at = bisect_left(listed, a + size - least + 1, at)  # the sequences in between are in this passage
    columns = np.array(found, dtype=np.int64).reshape(-1, 3)
    start, length, earlier = columns[:, 0], columns[:, 1], columns[:, 2]
    depth = np.zeros(table.n_tokens + 1, dtype=np.int64)
    np.add.at(depth, start, 1)
    np.add.at(depth, start + length, -1)
    shared = np.zeros(int(number.max(initial=-1)) + 2, dtype=bool)  # the last, which is that of -1, stays false
    shared[number[here]] = True
    place = np.flatnonzero(shared[number])
    return Passages(
        document[start], document[earlier], start, length.astype(np.int32), _groups(tokens, start, length),
        np.cumsum(depth)[: table.n_tokens] == 0,
        least, place, np.unique(number[place], return_inverse=True)[1].astype(np.int32),
    )  # fmt: skip


def _agree(tokens: np.ndarray, a: int, b: int, doc_ptr: np.ndarray, document: np.ndarray) -> int:
    """How many tokens from a and from b on are equal, each inside its document, that of the token before."""
    most = min(int(doc_ptr[document[a - 1] + 1]) - a, int(doc_ptr[document[b - 1] + 1]) - b)
    done, size = 0, 16
    while done < most:
        part = min(size, most - done)
        differ = np.flatnonzero(tokens[a + done : a + done + part] != tokens[b + done : b + done + part])
        if len(differ):
            return done + int(differ[0])
        done, size = done + part, 4 * size
    return done


def _numbered(value: np.ndarray, doc_ptr: np.ndarray, length: int, poll: Poll) -> np.ndarray:
    """int64 (n,): equal for equal sequences of ``length`` tokens inside a document; -1 near a document's end."""
    n = len(value)
    left = np.repeat(doc_ptr[1:], np.diff(doc_ptr)) - np.arange(n)  # tokens from here to the document's end
    size = 1
    while size < length:
        go_on(poll)
        shift = min(size, length - size)  # the last pair overlaps
        shifted = np.full(n, -1, dtype=np.int64)
        shifted[: max(n - shift, 0)] = value[shift:]
        pair = value * (int(value.max(initial=0)) + 2) + shifted + 1
        outside = (left < size + shift) | (value < 0)
        pair[outside] = -1
        value = np.unique(pair, return_inverse=True)[1].astype(np.int64)
        value[outside] = -1
        size += shift
    return value


def _earlier(number: np.ndarray, document: np.ndarray, poll: Poll) -> np.ndarray:
    """int64 (n,): the first place with the same number in the last earlier document that has it, -1 for none."""
    go_on(poll)
    places = np.flatnonzero(number >= 0)
    order = places[np.argsort(number[places], kind="stable")]
    found = np.full(len(number), -1, dtype=np.int64)
    if not len(order):
        return found
    same = number[order][1:] == number[order][:-1]
    new_document = document[order][1:] != document[order][:-1]
    # of a run in one document all go back to the beginning of the run before it: lines of dashes are long runs
    begins = np.concatenate([[True], ~same | new_document])
    run = np.flatnonzero(begins)[np.cumsum(begins) - 1]
    tied = run > 0
    tied[tied] &= number[order][run[tied] - 1] == number[order][tied]
    found[order[tied]] = order[run[run[tied] - 1]]
    return found


def _groups(tokens: np.ndarray, start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """int32 (P,): equal for passages of equal words, numbered as they first stand."""
    seen: dict[bytes, int] = {}
    spans = zip(start.tolist(), length.tolist(), strict=True)
    return np.array([seen.setdefault(tokens[a : a + m].tobytes(), len(seen)) for a, m in spans], dtype=np.int32)


def cost_given_others(
    table: TokenTable, index: KGramIndex, cover: np.ndarray, lam: float, cost: np.ndarray
) -> np.ndarray:
    """What every document costs when all others' dictionary is there.

    A K-gram that a pointer of another document stands for costs λ a use; any other λ + c, a single word too. A document
    without tokens costs 0.

    Parameters
    ----------
    table : TokenTable
        Tokens of the corpus.
    index : KGramIndex
        Its K-grams.
    cover : uint8 ndarray (n,)
        The solution.
    lam : float
        λ.
    cost : float64 ndarray (G,)
        c(s) of the index's K-grams.

    Returns
    -------
    float64 ndarray (N,)
        One of each document.
    """
    document = np.repeat(np.arange(table.n_documents, dtype=np.int32), np.diff(table.doc_ptr))
    only = _only_user(index, cover, document)
    extra = np.empty(index.gram_of.shape, dtype=np.float32)
    for k, grams in enumerate(index.gram_of):
        at = np.maximum(grams, 0)
        own = (only[at] == document) | (only[at] == _NONE)
        extra[k] = np.where(own, cost[at], 0.0)
    blocks = cut_documents(index.doc_ptr)
    best = np.zeros(index.n_tokens, dtype=np.uint8)
    d = PointerCosts(np.full(index.max_gram, lam), extra)
    prices = Prices(np.zeros(index.n_grams), np.inf)
    encode_tokens(index.gram_of, blocks, [(0, len(blocks.piece))], d, prices, best)
    total = np.zeros(table.n_documents)
    for k in range(index.max_gram):
        here = np.flatnonzero(best >> k & 1)
        total += np.bincount(document[here], weights=lam + extra[k, here].astype(np.float64), minlength=len(total))
    return total


_NONE, _SEVERAL = -2, -1


def _only_user(index: KGramIndex, cover: np.ndarray, document: np.ndarray) -> np.ndarray:
    """int32 (G,): the one document whose pointers stand for a K-gram; _NONE for none, _SEVERAL for more."""
    low = np.full(index.n_grams, np.iinfo(np.int32).max, dtype=np.int32)
    high = np.full(index.n_grams, -1, dtype=np.int32)
    for k, grams in enumerate(index.gram_of):
        used = np.flatnonzero(cover >> k & 1)
        np.minimum.at(low, grams[used], document[used])
        np.maximum.at(high, grams[used], document[used])
    return np.where(high < 0, _NONE, np.where(low == high, low, _SEVERAL)).astype(np.int32)


def without_passages(text: str, spans: list[tuple[int, int]]) -> str:
    """A text without some of its characters; what is cut out leaves a blank.

    Parameters
    ----------
    text : str
        A document.
    spans : list of (int, int)
        Start and end, in order.

    Returns
    -------
    str
        The rest.
    """
    parts, at = [], 0
    for a, e in spans:
        parts.append(text[at:a].rstrip(" \t"))
        at = max(at, e)
    parts.append(text[at:].lstrip(" \t") if spans else text[at:])
    return " ".join(part for part in parts if part.strip()) if spans else text
