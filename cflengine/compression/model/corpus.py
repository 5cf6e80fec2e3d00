"""A corpus ready to be compressed: tokens, index and prices of its K-grams, frozen.

Everything that is fitted (an estimator, a path, a session) holds one; a later fit makes another and leaves this as it
is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from cflengine.compression.model.problem import StorageCosts, external_macro_costs, storage_costs
from cflengine.engine.checks import InputError
from cflengine.text.kgrams import KGramIndex
from cflengine.text.tokens import TokenTable

Gram = tuple[str, ...]
DictionaryCost = str | Callable[[Gram], float] | np.ndarray


@dataclass(frozen=True, eq=False)
class PreparedCorpus:
    """A corpus of n tokens and its G K-grams, ready to be compressed.

    Parameters
    ----------
    table : TokenTable
        The tokens.
    index : KGramIndex
        Their K-grams.
    dictionary : ndarray or None, default: None
        float64 (G,), c(s); None for the number of words.
    pointer_cost : ndarray or None, default: None
        float64 (K,) or (K, n), in the place of λ; None for λ.
    plain_cost : float or None, default: None
        Of External Macro Data Compression: what a word costs that stands in the text as it is; None for the usual
        costs.
    cutter : Callable[..., TokenTable] or None, default: None
        What cut the documents, where that was learnt from them.
    """

    table: TokenTable = field(repr=False)
    index: KGramIndex = field(repr=False)
    dictionary: np.ndarray | None = field(repr=False, default=None)
    pointer_cost: np.ndarray | None = field(repr=False, default=None)
    plain_cost: float | None = None
    cutter: Callable[..., TokenTable] | None = field(repr=False, default=None)

    def costs(self, lam: float) -> StorageCosts:
        """What storing costs at ``lam``, which says nothing where pointers have costs of their own."""
        if self.plain_cost is not None:
            return external_macro_costs(self.index.gram_of, self.index.lengths(), lam, self.plain_cost)
        return storage_costs(
            self.index.gram_of, self.index.lengths(), lam, pointer_cost=self.pointer_cost,
            dictionary_cost=self.dictionary,
        )  # fmt: skip

    def words_of(self, grams: np.ndarray) -> list[Gram]:
        """K-grams of the index as tuples of words."""
        return words_of(self.table, self.index, grams)

    @cached_property
    def digest(self) -> str:
        """Of words, tokens, document borders and K: see :meth:`~cflengine.text.token_table.TokenTable.digest`."""
        return self.table.digest(self.index.max_gram)


def words_of(table: TokenTable, index: KGramIndex, grams: np.ndarray) -> list[Gram]:
    """K-grams of an index as tuples of words; Θ(Kn)."""
    words, tokens = table.vocabulary, index.tokens
    first = index.first_positions(grams).tolist()
    lengths = np.searchsorted(index.len_ptr, grams, side="right").tolist()
    return [tuple(words[t] for t in tokens[i : i + k]) for i, k in zip(first, lengths, strict=True)]


def dictionary_costs(cost: DictionaryCost, table: TokenTable, index: KGramIndex) -> np.ndarray | None:
    """c(s) for every K-gram of the index; None for the number of words. ValueError for a name that is none."""
    if isinstance(cost, str):
        if cost == "words":
            return None
        if cost != "characters":
            raise InputError(f"dictionary_cost must be 'words', 'characters', a callable or an array, not {cost!r}.")
    if callable(cost) or isinstance(cost, str):
        price = cost if callable(cost) else _characters
        grams = words_of(table, index, np.arange(index.n_grams))
        return np.fromiter((price(gram) for gram in grams), np.float64, len(grams))
    return np.array(cost, dtype=np.float64)  # a copy: it is to stay as it is


def _characters(gram: Gram) -> float:
    """What storing a K-gram as plain text takes: its letters and the blanks between its words."""
    return float(len(" ".join(gram)))
