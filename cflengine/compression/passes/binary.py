"""Binary solutions of a corpus: what one costs, and the cheapest one at given prices.

A solution is ``cover``, uint8 (n,): bit k-1 of cover[i] says that the pointer of length k that starts at token i is
used. Every solver rounds, evaluates and re-encodes through this class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from cflengine.compression.kernels import encode as kernels_encode
from cflengine.compression.kernels.arrays import Prices
from cflengine.compression.model.problem import PointerCosts, StorageCosts
from cflengine.compression.passes import layout
from cflengine.compression.passes.blocks import Blocks, cut_documents
from cflengine.compression.passes.pieces import carry_of, encode_all
from cflengine.text.kgrams import KGramIndex

LEAST_USES = 0.02  # of a K-gram, where prices are by use


def count_uses(index: KGramIndex, cover: np.ndarray, dtype: type = np.int64) -> np.ndarray:
    """How many pointers each K-gram has in a binary solution.

    Parameters
    ----------
    index : KGramIndex
        The K-grams.
    cover : unsigned ndarray (n,)
        The solution.
    dtype : type
        Of the counts.

    Returns
    -------
    ndarray (G,)
        The counts.
    """
    uses: np.ndarray = np.zeros(index.n_grams, dtype=dtype)
    kernels_encode.count_uses(index.gram_of, cover, uses)
    return uses


class Coder:
    """Evaluates binary solutions and encodes with given dictionaries, in parallel over blocks.

    Parameters
    ----------
    index : KGramIndex
        The K-grams.
    costs : StorageCosts
        What storing costs.
    blocks : Blocks or None, default: None
        Of documents; None for as many as threads take.
    """

    def __init__(self, index: KGramIndex, costs: StorageCosts, blocks: Blocks | None = None) -> None:
        self.index, self.costs = index, costs
        self.blocks = cut_documents(index.doc_ptr) if blocks is None else blocks

    @property
    def n_blocks(self) -> int:
        return len(self.blocks.piece)

    def chunks(self) -> list[tuple[int, int]]:
        """Ranges of blocks of at most about CHUNK_POINTERS pointers: what a parallel kernel is given at once."""
        pieces = max(1, -(-self.index.max_gram * self.index.n_tokens // layout.CHUNK_POINTERS))
        pieces = min(pieces, max(self.n_blocks, 1))
        return [(self.n_blocks * k // pieces, self.n_blocks * (k + 1) // pieces) for k in range(pieces)]

    def single_words(self) -> np.ndarray:
        """uint8 (n,): the solution that every run begins with; the best one where pointers are free."""
        cover = self.index.no_cover()
        cover[:] = 1
        return cover

    def evaluate(self, cover: np.ndarray) -> tuple[float, int, np.ndarray]:
        """Objective of (1) of a binary solution, its number of pointers, and uint8 (G,): the K-grams it uses."""
        pointers, count, used = self.pointers(cover)
        return pointers + float(self.costs.dictionary[used > 0].sum()), count, used

    def pointers(self, cover: np.ndarray) -> tuple[float, int, np.ndarray]:
        """What the pointers of a binary solution cost, their number, and uint8 (G,): the K-grams they use."""
        index = self.index
        used = np.zeros(index.n_grams, dtype=np.uint8)
        totals, counts = np.zeros(self.n_blocks), np.zeros(self.n_blocks, dtype=np.int64)
        where = (index.gram_of, self.blocks, cover, self.costs.pointer)
        kernels_encode.evaluate_blocks(*where, used, totals, counts, (0, self.n_blocks))
        return float(totals.sum()), int(counts.sum()), used

    def encode(self, gram_cost: np.ndarray) -> np.ndarray:
        """uint8 (n,): the cheapest cover when a use of K-gram s costs d + gram_cost[s] (float64 (G,), inf forbids).

        Documents that the allowed K-grams cannot cover get no pointers at all.
        """
        cover = self.index.no_cover()
        prices = Prices(gram_cost, np.inf)
        encode_tokens(self.index.gram_of, self.blocks, self.chunks(), self.costs.pointer, prices, cover)
        return cover

    def encode_with(self, used: np.ndarray) -> np.ndarray:
        """uint8 (n,): the cheapest cover with the K-grams flagged in ``used`` alone (§3.1)."""
        return self.encode(np.where(used > 0, 0.0, np.inf))

    def price_by_use(
        self, uses: np.ndarray, *, least: float = LEAST_USES, allowed: np.ndarray | None = None
    ) -> Iterator[tuple[np.ndarray, float, np.ndarray]]:
        """Solutions at pointer prices d + c(s)/u_s, one after the other without end, u the uses in the one before.

        Each is what :meth:`re_encode` answers. uses: float (G,), u at first; in a w, the sum over J(s). least: a K-gram
        used less is priced as if it were used so often; allowed: bool (G,), other K-grams are not used.
        """
        while True:
            # in place, and gone before anything else is made: prices would be the peak of a solver's memory
            price = np.maximum(uses, least, dtype=np.float64)
            np.divide(self.costs.dictionary, price, out=price)
            if allowed is not None:
                price[~allowed] = np.inf
            cover = self.encode(price)
            del price
            cover, objective, used = self.re_encode(cover)
            yield cover, objective, used
            uses = count_uses(self.index, cover, np.float32)  # half the bytes, at the peak of a solver's memory

    def re_encode(self, cover: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
        """The cheapest cover with the K-grams of ``cover``: itself, its objective, inf where they leave a document
        uncovered, the K-grams it uses."""
        _, _, used = self.evaluate(cover)
        cover = self.encode_with(used)
        objective, _, used = self.evaluate(cover)
        ptr = self.index.doc_ptr
        if not cover[ptr[:-1][ptr[1:] > ptr[:-1]]].all():  # a document that is covered has a pointer at its first token
            objective = np.inf
        return cover, objective, used


def encode_tokens(
    gram_of: np.ndarray,
    blocks: Blocks,
    chunks: Iterable[tuple[int, int]],
    d: PointerCosts,
    prices: Prices,
    cover: np.ndarray,
) -> float:
    """Give ``cover`` the cheapest cover of every document; what all of them cost.

    gram_of: int32 (K, n), -1 where no K-gram may be used.
    """
    totals, carry = np.zeros(len(blocks.piece)), carry_of(blocks, len(gram_of))

    def encode(chunk: tuple[int, int]) -> None:
        kernels_encode.encode_blocks(gram_of, blocks, chunk, d, prices, cover, totals, carry)

    encode_all(blocks, carry, chunks, encode, cover)
    return float(totals.sum() + carry.gain.sum())
