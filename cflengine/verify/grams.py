"""How a saved model finds its K-grams in texts, in plain numpy: tokens, the cheapest encoding, counts.

Of equally cheap encodings the compiled programme (compression/kernels/shortest.py) takes a stated one, and so does this
one: the longest pointer, behind the nearest other one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from cflengine.compression.model.problem import exact_prices
from cflengine.text.reading.budget import watch_at_hand
from cflengine.text.token_table import TokenTable, gram_names, plain_tokens
from cflengine.verify.counts import count_places
from cflengine.verify.findings import require

_ALONE = 16  # segments that are longer than the others: below so many, plain Python is faster than numpy


@dataclass(frozen=True)
class EncodedTexts:
    """Texts as pointers: places int64 (K, n), the entry of the dictionary that stands at each token by length, -1 for
    none; cover uint8 (n,), bit k-1 of cover[i] says that the pointer of length k at token i is used."""

    table: TokenTable
    places: np.ndarray
    cover: np.ndarray

    def pointers(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Token, length and entry of every pointer in the order of the text, int64 each; -1 of literals."""
        token, k = np.nonzero(self.cover[:, None] >> np.arange(len(self.places), dtype=np.uint8) & 1)
        return token, k + 1, self.places[k, token]


@dataclass(frozen=True)
class PointersOfTexts:
    """Those that stand for K-grams, as sentence_lasso's ``GramFeatures`` takes them."""

    document: np.ndarray
    start_char: np.ndarray
    end_char: np.ndarray
    gram: np.ndarray


@dataclass(frozen=True)
class PlainGrams:
    """The step of a model that finds K-grams. grams: its F entries as words; by_length: float64 (K,), what a pointer
    costs; literal: what a token does that is no entry by itself."""

    parameters: Mapping[str, Any]
    grams: list[list[str]] = field(repr=False)
    by_length: np.ndarray
    literal: float

    @classmethod
    def of(cls, name: str, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> PlainGrams:
        """From the parts of the step; name: of the file. Raises FalseResult for what finds no K-grams of words."""
        require(header["kind"] == "k-grams", f"{name} reads texts by {header['kind']}, not by K-grams.")
        words = header["parameters"].get("tokens", "words") == "words"
        require(words, f"{name} reads texts by pieces of words, not by words.")
        grams, max_gram = header["grams"], int(header["parameters"]["max_gram"])
        fits = all(1 <= len(gram) <= max_gram for gram in grams) and len(set(map(tuple, grams))) == len(grams)
        require(fits, f"{name} finds K-grams that are too long, or one twice.")
        return cls(header["parameters"], grams, arrays["by_length"], float(arrays["literal"][0]))

    def table(self, texts: Sequence[str]) -> TokenTable:
        """The tokens of texts."""
        watch, own = watch_at_hand(), self.parameters
        watch.begin("cutting texts into tokens", "documents", len(texts))
        return plain_tokens(
            texts, own["token_pattern"], lowercase=own["lowercase"],
            sentence_borders=bool(own.get("sentence_borders", False)), watch=watch,
        )  # fmt: skip

    def encoded(self, texts: Sequence[str]) -> EncodedTexts:
        """The cheapest encoding of texts."""
        table = self.table(texts)
        places = self._places(table)
        return EncodedTexts(table, places, cheapest_cover(places, table.segment_ptr, self.by_length, self.literal))

    def encode(self, texts: Sequence[str]) -> PointersOfTexts:
        """The pointers to K-grams, literals left out, each with its characters in the text."""
        found = self.encoded(texts)
        token, length, gram = found.pointers()
        token, length, gram = token[gram >= 0], length[gram >= 0], gram[gram >= 0]
        document = np.searchsorted(found.table.doc_ptr, token, side="right") - 1
        return PointersOfTexts(document, found.table.start[token], found.table.end[token + length - 1], gram)

    def counts(self, texts: Sequence[str]) -> sparse.csr_matrix:
        """float64 CSR (N, F): the counts of texts, by the model's way to count."""
        return self.counted(self.encoded(texts))

    def counted(self, found: EncodedTexts) -> sparse.csr_matrix:
        """The same of texts that are encoded."""
        if self.parameters["counting"] == "pointers":
            return self.uses(found)
        return count_places(found.places, found.table.doc_ptr, len(self.grams), self.parameters)

    def uses(self, found: EncodedTexts) -> sparse.csr_matrix:
        """float64 CSR (N, F): pointers of each text to each entry."""
        token, _, gram = found.pointers()
        document = np.searchsorted(found.table.doc_ptr, token, side="right") - 1
        where = document[gram >= 0], gram[gram >= 0]
        counts = sparse.csr_matrix((np.ones(len(where[0])), where), shape=(found.table.n_documents, len(self.grams)))
        counts.sum_duplicates()
        return counts

    def get_feature_names_out(self) -> list[str]:
        """The entries, words joined by blanks."""
        return gram_names(self.grams)

    def _places(self, table: TokenTable) -> np.ndarray:
        """int64 (K, n): the entry that stands at each token, by length, -1 for none: a prefix at a time."""
        number: dict[str, int] = {}
        words = np.full((len(self.grams), len(self.by_length)), -1, dtype=np.int64)
        for f, gram in enumerate(self.grams):
            words[f, : len(gram)] = [number.setdefault(word, len(number)) for word in gram]
        lengths, size = (words >= 0).sum(axis=1), max(len(number), 1)
        known = np.array([number.get(form, -1) for form in table.vocabulary] or [-1], dtype=np.int64)[table.tokens]
        segment = np.searchsorted(table.segment_ptr, np.arange(table.n_tokens), side="right")
        end = table.segment_ptr[segment] if table.n_tokens else np.zeros(0, dtype=np.int64)
        places = np.full((len(self.by_length), table.n_tokens), -1, dtype=np.int64)
        prefix_of, prefix = np.zeros(len(words), dtype=np.int64), np.zeros(table.n_tokens, dtype=np.int64)
        for k in range(len(self.by_length)):
            longer = lengths > k
            codes, prefix_of[longer] = np.unique(prefix_of[longer] * size + words[longer, k], return_inverse=True)
            at = np.arange(table.n_tokens) + k
            here = np.flatnonzero((prefix >= 0) & (at < end))
            here = here[known[at[here]] >= 0]
            wanted = prefix[here] * size + known[at[here]]
            prefix = np.full(table.n_tokens, -1, dtype=np.int64)
            if not len(codes):
                break
            found = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
            prefix[here] = np.where(codes[found] == wanted, found, -1)
            entry = np.full(len(codes) + 1, -1, dtype=np.int64)  # the last one for what is no prefix
            entry[prefix_of[lengths == k + 1]] = np.flatnonzero(lengths == k + 1)
            places[k] = entry[prefix]
        return places


def cheapest_cover(places: np.ndarray, ptr: np.ndarray, by_length: np.ndarray, literal: float) -> np.ndarray:
    """uint8 (n,): the cheapest pointers that cover every segment ptr[s] .. ptr[s+1]-1.

        R(i) = min_{k=1..K} [ cost(i, k) + min_{j=1..k} R(i − j) ],   R(0) = 0,

    cost(i, k) that of the pointer of length k that ends at i; of equals the largest k, and the largest j. Segments go
    side by side, the few that are longer than all others each by itself.
    """
    prices, literal = exact_prices(by_length, literal)
    sizes = np.diff(ptr)
    order = np.argsort(-sizes, kind="stable")  # so that the segments that go on are always the first
    sizes, first = sizes[order], ptr[:-1][order]
    base = first + order  # where a segment's R begins: one more than it has tokens
    reach = np.full(places.shape[1] + len(sizes), np.inf)
    length, step = (np.ones(len(reach), dtype=np.int64) for _ in range(2))
    reach[base] = 0.0
    together = int(sizes[_ALONE]) if len(sizes) > _ALONE else 0
    going = np.searchsorted(-sizes, -np.arange(1, together + 1), side="right")
    for i, n in enumerate(going.tolist(), 1):
        best, nearest, near = np.full(n, np.inf), np.full(n, np.inf), np.ones(n, dtype=np.int64)
        at = base[:n] + i
        for k in range(1, min(len(prices), i) + 1):
            before = reach[at - k]
            closer = before <= nearest
            nearest[closer], near[closer] = before[closer], k
            there = places[k - 1, first[:n] + i - k] >= 0
            total = np.where(there, prices[k - 1], literal if k == 1 else np.inf) + nearest
            cheaper = total <= best
            best[cheaper], length[at[cheaper]], step[at[cheaper]] = total[cheaper], k, near[cheaper]
        reach[at] = best
    for a, b, size in zip(first[:_ALONE].tolist(), base[:_ALONE].tolist(), sizes[:_ALONE].tolist(), strict=True):
        whole = slice(b, b + size + 1)
        there = places[:, a : a + size] >= 0
        _finish((reach[whole], length[whole], step[whole]), there, together, prices.tolist(), literal)
    return _traced(first, base, np.where(np.isfinite(reach[base + sizes]), sizes, 0), length, step)


def _finish(
    programme: tuple[np.ndarray, np.ndarray, np.ndarray], there: np.ndarray, done: int, prices: list[float],
    literal: float,
) -> None:  # fmt: skip
    """One segment's R, and what achieves it, from position ``done`` to its end. there: bool (K, size), where pointers
    may start."""
    reach, lengths, steps = (array.tolist() for array in programme)
    may, inf = there.tolist(), float("inf")
    for i in range(done + 1, len(reach)):
        best, nearest, near = inf, inf, 1
        for k in range(1, min(len(prices), i) + 1):
            if reach[i - k] <= nearest:
                nearest, near = reach[i - k], k
            if may[k - 1][i - k]:
                total = prices[k - 1] + nearest
            elif k == 1:
                total = literal + nearest
            else:
                continue
            if total <= best:
                best, lengths[i], steps[i] = total, k, near
        reach[i] = best
    for array, values in zip(programme, (reach, lengths, steps), strict=True):
        array[:] = values


def _traced(first: np.ndarray, base: np.ndarray, place: np.ndarray, length: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The cover, back from the end of every segment (place: 0 of what cannot be covered)."""
    cover = np.zeros(len(length) - len(first), dtype=np.uint8)
    left = np.flatnonzero(place)
    while len(left) > _ALONE:
        at = base[left] + place[left]
        cover[first[left] + place[left] - length[at]] |= (1 << (length[at] - 1)).astype(np.uint8)
        place[left] -= step[at]
        left = left[place[left] > 0]
    for s in left.tolist():
        a, b, i = int(first[s]), int(base[s]), int(place[s])
        lengths, steps = length[b : b + i + 1].tolist(), step[b : b + i + 1].tolist()
        while i > 0:
            cover[a + i - lengths[i]] |= 1 << (lengths[i] - 1)
            i -= steps[i]
    return cover
