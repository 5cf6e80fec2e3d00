"""Encoding and decoding documents with a fixed dictionary (§3.1), unseen ones included.

A document is encoded by the cheapest set of pointers that covers it, found by dynamic programming in Θ(Kn).
A token that is no K-gram of the dictionary by itself may be carried as a *literal*: its form is stored in place of a
pointer, at a stated cost. Decoding pastes every pointer's K-gram at its start.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy import sparse

from cflengine.compression.kernels.arrays import Prices
from cflengine.compression.model.corpus import Gram
from cflengine.compression.model.problem import PointerCosts, exact_prices
from cflengine.compression.passes.binary import encode_tokens
from cflengine.compression.passes.blocks import cut_documents
from cflengine.engine.checks import InputError
from cflengine.text.gram_table import GramTable, number_grams
from cflengine.text.kgrams import cover_type
from cflengine.text.tokens import TokenTable

_AT_ONCE = 1 << 18  # tokens, when pointers are listed: temporaries stay small
_POINTERS_AT_ONCE = 1 << 21  # when they are counted


@dataclass(frozen=True)
class Encoding:
    """The pointers of N documents, p in all, by document, start and length.

    document: int32 (p,); start: int32 (p,), first token within the document; length: int8 (p,), tokens;
    gram: int32 (p,), index into the dictionary, or -1 - j for ``literals[j]``; start_char, end_char: int32 (p,),
    code points into the document's text; ptr: int64 (N+1,), document d has pointers ptr[d] .. ptr[d+1]-1.
    """

    document: np.ndarray
    start: np.ndarray
    length: np.ndarray
    gram: np.ndarray
    start_char: np.ndarray
    end_char: np.ndarray
    ptr: np.ndarray
    literals: tuple[str, ...] = field(repr=False, default=())

    def __len__(self) -> int:
        return len(self.gram)

    @property
    def n_documents(self) -> int:
        return len(self.ptr) - 1

    @property
    def n_literals(self) -> int:
        """How many pointers are literals."""
        return int((self.gram < 0).sum())

    def of_document(self, document: int) -> slice:
        """Where a document's pointers stand in the arrays."""
        return slice(int(self.ptr[document]), int(self.ptr[document + 1]))

    def to_frame(self) -> pd.DataFrame:
        """One row a pointer: document, start, length, gram, start_char, end_char."""
        names = ("document", "start", "length", "gram", "start_char", "end_char")
        return pd.DataFrame({name: getattr(self, name) for name in names})


def list_pointers(cover: np.ndarray, gram_of: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The marked pointers in order of their start, then of their length: where each starts, int32, its length, int8,
    and its K-gram, int32."""
    count, done = int(np.bitwise_count(cover).sum()), 0
    start, length, gram = np.empty(count, np.int32), np.empty(count, np.int8), np.empty(count, np.int32)
    for first in range(0, len(cover), _AT_ONCE):
        bits = cover[first : first + _AT_ONCE, None] >> np.arange(len(gram_of), dtype=np.uint8) & 1
        token, k = np.nonzero(bits)
        part = slice(done, done + len(k))
        start[part], length[part], gram[part] = first + token, k + 1, gram_of[k, first + token]
        done += len(k)
    return start, length, gram


def collect_pointers(
    cover: np.ndarray, gram_of: np.ndarray, table: TokenTable, literals: Sequence[str] = ()
) -> Encoding:
    """The marked pointers as an :class:`Encoding`.

    cover: uint8 (n,), bit k-1 of cover[i] says that the pointer of length k at token i is used; gram_of: int32
    (K, n), what each stands for.
    """
    start, length, gram = list_pointers(cover, gram_of)
    ptr = np.searchsorted(start, table.doc_ptr).astype(np.int64)
    document = np.repeat(np.arange(table.n_documents, dtype=np.int32), np.diff(ptr))
    return Encoding(
        document=document,
        start=start - table.doc_ptr[document].astype(np.int32),
        length=length,
        gram=gram,
        start_char=table.start[start],
        end_char=table.end[start + length - 1],
        ptr=ptr,
        literals=tuple(literals),
    )


class Codebook:
    """A fixed dictionary, ready to encode.

    Parameters
    ----------
    grams : the K-grams, distinct tuples of word forms; their index in this sequence is their number.
    pointer_by_length : float (K,), cost of a pointer of each length; K is the longest K-gram's length at least.
    literal_cost : float, cost of carrying one token as it is.

    Raises ValueError for an empty or repeated K-gram.
    """

    def __init__(self, grams: Sequence[Gram], pointer_by_length: np.ndarray, literal_cost: float) -> None:
        self.grams = list(grams)
        self.pointer_by_length = np.asarray(pointer_by_length, dtype=np.float64)
        self.literal_cost = float(literal_cost)
        lengths = np.array([len(gram) for gram in self.grams], dtype=np.int64)
        if len(lengths) and not 1 <= lengths.min() <= lengths.max() <= len(self.pointer_by_length):
            raise InputError(f"K-grams must have 1 to {len(self.pointer_by_length)} words.")
        if len(set(self.grams)) < len(self.grams):
            raise InputError("a K-gram stands in the dictionary twice.")
        self.vocabulary: dict[str, int] = {}
        for gram in self.grams:
            for word in gram:
                self.vocabulary.setdefault(word, len(self.vocabulary))

    @cached_property
    def _tables(self) -> list[tuple[GramTable, np.ndarray]]:
        """Of each length: a hash table of K-grams, and which entry of the dictionary each is, int32, -1 for none."""
        lengths = np.array([len(gram) for gram in self.grams], dtype=np.int64)
        tokens = np.array([self.vocabulary[word] for gram in self.grams for word in gram], dtype=np.int32)
        doc_ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        tables = []
        parent = np.zeros(len(tokens), dtype=np.int32)
        for length in range(1, len(self.pointer_by_length) + 1):
            gram_of = np.empty(len(tokens), dtype=np.int32)
            table = number_grams(tokens, doc_ptr, length, parent, 0, gram_of)
            feature_of = np.full(max(table.n_grams, 1), -1, dtype=np.int32)
            whole = np.flatnonzero(lengths == length)
            feature_of[gram_of[doc_ptr[whole]]] = whole
            tables.append((table, feature_of))
            parent = gram_of
        return tables

    def find(self, table: TokenTable) -> np.ndarray:
        """int32 (K, n): the K-gram of the dictionary that stands at each token, by length; -1 for none. Θ(Kn)."""
        known = np.array([self.vocabulary.get(form, -1) for form in table.vocabulary], dtype=np.int32)
        tokens = known[table.tokens] if len(known) else table.tokens
        features = np.empty((len(self._tables), table.n_tokens), dtype=np.int32)
        parent = np.zeros(table.n_tokens, dtype=np.int32)
        for k, (grams, feature_of) in enumerate(self._tables):
            parent = grams.find(tokens, table.segment_ptr, k + 1, parent)
            features[k] = np.where(parent >= 0, feature_of[parent], -1)
        return features

    def encode(self, table: TokenTable) -> tuple[Encoding, float]:
        """The cheapest encoding of each document, and what all of it costs (the dictionary not counted). By
        :func:`~cflengine.compression.model.problem.exact_prices`: of equally cheap ones the same, wherever a document
        is cut into blocks."""
        features = self.find(table)
        blocks, cover = cut_documents(table.segment_ptr), np.zeros(table.n_tokens, dtype=cover_type(len(self._tables)))
        by_length, literal = exact_prices(self.pointer_by_length, self.literal_cost)
        d = PointerCosts(by_length, np.empty((len(self._tables), 0), dtype=np.float32))
        prices = Prices(np.zeros(max(len(self.grams), 1)), literal)
        total = encode_tokens(features, blocks, [(0, len(blocks.piece))], d, prices, cover)
        # a single token without a K-gram of its own is named by the word itself
        words = table.tokens[(features[0] < 0) & (cover & 1 == 1)]
        if math.isfinite(total):
            total = self._cost(cover, len(words))
        kinds = np.unique(words)
        number = np.full(len(table.vocabulary) + 1, -1, dtype=np.int32)
        number[kinds] = -1 - np.arange(len(kinds), dtype=np.int32)
        features[0] = np.where(features[0] < 0, number[table.tokens], features[0])
        return collect_pointers(cover, features, table, [table.vocabulary[t] for t in kinds]), total

    def _cost(self, cover: np.ndarray, n_literals: int) -> float:
        """What the pointers and literals of a cover cost."""
        each = [int(np.count_nonzero(cover >> k & 1)) for k in range(len(self._tables))]
        each[0] -= n_literals
        return float(self.pointer_by_length @ np.array(each)) + (self.literal_cost * n_literals if n_literals else 0.0)


def decode(encoding: Encoding, grams: Sequence[Gram]) -> list[list[str]]:
    """The token forms of every document; Θ(n) without overlaps, Θ(Kn) with (§3.1)."""
    starts, lengths, gram = encoding.start.tolist(), encoding.length.tolist(), encoding.gram.tolist()
    documents: list[list[str]] = []
    for d in range(encoding.n_documents):
        words: list[str] = []
        for p in range(int(encoding.ptr[d]), int(encoding.ptr[d + 1])):
            piece = grams[gram[p]] if gram[p] >= 0 else (encoding.literals[-1 - gram[p]],)
            words[starts[p] : starts[p] + lengths[p]] = piece
        documents.append(words)
    return documents


def count_matrix(encoding: Encoding, n_features: int) -> sparse.csr_matrix:
    """Bag of K-grams (§2): pointers per document and K-gram; no literals.

    Parameters
    ----------
    encoding : Encoding
        Of documents.
    n_features : int
        K-grams of the dictionary.

    Returns
    -------
    int64 CSR matrix (N, n_features)
        Its indices are sorted.
    """
    ptr = encoding.ptr
    # some documents at a time: as triples, all pointers would take several times what they count to
    cuts = np.unique(np.searchsorted(ptr, np.arange(0, len(encoding), _POINTERS_AT_ONCE)))
    parts = []
    for first, last in pairwise([*cuts[cuts < encoding.n_documents].tolist(), encoding.n_documents]):
        part = slice(int(ptr[first]), int(ptr[last]))
        known = encoding.gram[part] >= 0
        where = encoding.document[part][known] - first, encoding.gram[part][known]
        counts = np.ones(len(where[0]), dtype=np.int64)
        parts.append(sparse.csr_matrix((counts, where), shape=(last - first, n_features)))
        parts[-1].sum_duplicates()
    if not parts:
        return sparse.csr_matrix((encoding.n_documents, n_features), dtype=np.int64)
    return sparse.vstack(parts, format="csr") if len(parts) > 1 else parts[0]
