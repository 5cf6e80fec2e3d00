"""The pass over all pairs of words: 𝐊P, pᵀ𝐊p of every document, wMMD² and its gradient by the vectors.

O(V² r + Σ_i u_i²) for V words and u_i different ones in document i, in tiles of the product of the vectors: memory is
O(V r), never V × V. The linear kernel needs no pass: O(V r).

The witness function, which follows from it, tells which words tell two classes apart, and to which of them each pulls.
The function of norm 1 whose means differ most is h = (μ_a − μ_b) / ‖μ_a − μ_b‖, μ_c(v) = (𝐊P_c)_v / N_c. Of a word,
h > 0 says that words of its neighbourhood are likelier in class a, h < 0 in class b. What a word of relative
frequencies f_a, f_b adds to the distance ‖μ_a − μ_b‖ is (f_a − f_b) h: these contributions sum to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from cflengine.embedding import kernels
from cflengine.embedding.laws import WordLaws
from cflengine.embedding.problem import pair_coefficients
from cflengine.embedding.settings import Kernel
from cflengine.engine.checks import InputError
from cflengine.engine.jit import one_blas_thread, threads
from cflengine.engine.memory import require_bytes
from cflengine.engine.progress import Poll, go_on

LANES = 8  # sums are kept in so many parts, whatever the number of threads
_TILES = 16 * LANES  # in a call of a kernel: less than 100 ms
_FAR = 1e5  # widths; there an exponent is off by some 1e-6
_MIDDLE = 256  # vectors whose median is the middle of all


@dataclass(frozen=True)
class PairSums:
    """What one pass over pairs gives.

    KP: float64 (V, C), 𝐊P; within: float64 (N,), pᵀ𝐊p; between: float64 (C, C), PᵀKP; gradient: float64 (V, r), of the
    sum over the pairs of classes, None if not asked for.
    """

    laws: WordLaws = field(repr=False)
    KP: np.ndarray = field(repr=False)
    within: np.ndarray = field(repr=False)
    between: np.ndarray
    gradient: np.ndarray | None = field(repr=False, default=None)

    def statistic(self, a: int = 0, b: int = 1) -> float:
        """wMMD² of two classes."""
        n, within, X = self.laws.sizes, self.within_sums, self.between
        own = sum((X[c, c] - within[c]) / (n[c] * (n[c] - 1.0)) for c in (a, b))
        return float(own - 2.0 * X[a, b] / (n[a] * n[b]))

    @property
    def within_sums(self) -> np.ndarray:
        """float64 (C,): Σ pᵀ𝐊p over the documents of a class."""
        return np.bincount(self.laws.y, self.within, minlength=self.laws.n_classes)

    def total(self) -> float:
        """The sum over pairs of classes."""
        return sum(self.statistic(a, b) for a, b in combinations(range(self.laws.n_classes), 2))


def pair_sums(
    laws: WordLaws,
    M: np.ndarray,
    kernel: Kernel,
    *,
    gradient: bool = False,
    pairs: list[tuple[int, int]] | None = None,
    n_threads: int | None = None,
    poll: Poll = lambda: True,
) -> PairSums:
    """One pass over all pairs of words, from which wMMD² of every two classes follows.

    Parameters
    ----------
    laws : WordLaws
        Documents as laws over V words.
    M : numpy.ndarray
        float64 (V, r), the words' vectors.
    kernel : Kernel
        Its family and widths.
    gradient : bool, default: False
        Whether the derivative by M is asked for.
    pairs : list[tuple[int, int]] or None, default: None
        The pairs of classes in the gradient, None for all.
    n_threads : int or None, default: None
        None for all cores; sums are the same for any number.
    poll : Callable, default: lambda: True
        Asked whether to go on.

    Returns
    -------
    PairSums
        The sums.

    Raises
    ------
    Stopped once ``poll`` says False; MemoryLimitError, before any work, for what does not fit.
    """
    coefficients = pair_coefficients(np.maximum(laws.sizes, 1.5), pairs)
    if kernel.family == "linear":
        return _linear(laws, np.asarray(M, dtype=np.float64), coefficients, gradient)
    V, C = laws.sums.shape
    words, width = scaled_words(M, kernel)
    wide = words.x.shape[1]
    need = 8 * V * (LANES * (C + wide * gradient) + 4 * wide) + 12 * LANES * laws.n_documents + 60 * laws.laws.nnz
    require_bytes(need, "wMMD", "take fewer words or shorter vectors.")
    P = laws.sums
    KP = np.zeros((LANES, V, C))
    derivative = np.zeros((LANES, V, wide) if gradient else (0, 0, 0))
    classes = kernels.Classes(P, P @ coefficients, KP, derivative)
    documents = _documents(laws.laws, -coefficients.diagonal()[laws.y])
    with threads(n_threads), one_blas_thread():
        buffers = make_buffers(wide)
        tiles = tiles_of(V)
        for first in range(0, len(tiles), _TILES):
            go_on(poll)
            part = (first, min(first + _TILES, len(tiles)))
            kernels.add_tiles(words, classes, documents, tiles, part, buffers, (0, LANES))
    total = KP.sum(axis=0)
    found = derivative.sum(axis=0)[:, : wide - 2] / width if gradient else None
    return PairSums(laws, total, documents.within.sum(axis=0), P.T @ total, found)


def _documents(laws: sparse.csr_matrix, factor: np.ndarray) -> kernels.Documents:
    """laws: CSR (N, V); factor: float64 (N,), what pairs within each count."""
    laws = laws if laws.has_sorted_indices else laws.sorted_indices()
    n, blocks = laws.shape[0], -(-laws.shape[1] // kernels.TILE)
    rows = np.repeat(np.arange(n, dtype=np.int64), np.diff(laws.indptr))
    code = rows * blocks + laws.indices // kernels.TILE
    starts = np.flatnonzero(np.diff(code, prepend=-1))
    ends = np.append(starts[1:], len(code))
    code = code[starts]
    by_block = np.argsort(code % blocks, kind="stable")
    block_ptr = np.searchsorted(code[by_block] % blocks, np.arange(blocks + 1))
    return kernels.Documents(
        laws.indices.astype(np.int32, copy=False), laws.data, block_ptr,
        (code // blocks)[by_block].astype(np.int32), starts[by_block], ends[by_block], factor,
        np.zeros((LANES, n)), np.full((LANES, n), -1, dtype=np.int32),
    )  # fmt: skip


class FarVectorError(InputError):
    """A vector, that of row ``row``, is so far from all others that rounding would take their distances; width: of the
    kernel, where most vectors are as far apart as that, None where the vector is to blame."""

    def __init__(self, row: int, widths: float, width: float | None = None, word: str = "") -> None:
        named = f"the vector of {word!r}" if word else f"vector {row}"
        away = f"{widths:.2g} times the kernel's width away from the middle of all"
        super().__init__(
            f"{named} is {away}: distances would be lost to rounding; leave its word out, or shorten it."
            if width is None
            else f"a width of {width:g} is too small for these vectors, of which one is {away}: take a larger one."
        )
        self.row, self.widths, self.width, self.word = row, widths, width, word

    def __reduce__(self) -> tuple[type, tuple[int, float, float | None, str]]:
        return type(self), (self.row, self.widths, self.width, self.word)  # from a worker of a search

    def about(self, words: Sequence[str]) -> FarVectorError:
        """The same, with the vector's word."""
        return FarVectorError(self.row, self.widths, self.width, words[self.row])


def scaled_words(M: np.ndarray, kernel: Kernel, *, far: float = _FAR) -> tuple[kernels.Words, float]:
    """Vectors as kernels want them, centred and divided by the first width, and that width.

    far: how many widths, of the smallest, from the middle a vector may be: distances come from a difference of squares.
    Raises FarVectorError.
    """
    M = np.asarray(M, dtype=np.float64)
    width = kernel.widths[0]
    some = M[:: max(1, len(M) // _MIDDLE)]
    with np.errstate(over="ignore", invalid="ignore"):
        # not the mean, which a single one that is far out would draw away from all others
        m = (M - (np.median(some, axis=0) if len(M) else 0.0)) / width
        half = 0.5 * (m**2).sum(axis=1, keepdims=True)
    if not np.isfinite(half).all():
        raise InputError("the vectors are so long that their distances are no numbers: divide them all by some number.")
    smallest = min(kernel.widths)
    limit = 0.5 * (far * smallest / width) ** 2
    if half.max(initial=0.0) > limit:
        widths = math.sqrt(2.0 * float(half.max())) * width / smallest
        raise FarVectorError(int(half.argmax()), widths, smallest if np.median(half) > 0.01 * limit else None)
    one = np.ones_like(half)
    power = 2 if kernel.family == "gaussian" else 1
    scales = np.array([(width / other) ** power for other in kernel.widths])
    family = kernels.GAUSSIAN if kernel.family == "gaussian" else kernels.LAPLACE
    return kernels.Words(np.hstack([m, -half, one]), np.hstack([m, one, -half]), scales, family), width


def make_buffers(wide: int) -> kernels.Buffers:
    """For every lane; wide: r + 2."""
    tile = kernels.TILE
    square = (LANES, tile * tile)
    values, factors, weights = (np.empty(square) for _ in range(3))
    return kernels.Buffers(values, factors, weights, np.empty((LANES, tile, wide)))


def tiles_of(n: int) -> np.ndarray:
    """int64 (tiles, 2): where the tiles of n × n begin, of which one of two that mirror each other."""
    begins = np.arange(0, n, kernels.TILE)
    return np.array([(a, b) for a in begins for b in begins[begins >= a]], dtype=np.int64).reshape(-1, 2)


def _linear(laws: WordLaws, M: np.ndarray, coefficients: np.ndarray, gradient: bool) -> PairSums:
    P, means = laws.sums, laws.laws @ M  # mean vectors of documents
    towards = M.T @ P
    KP = M @ towards
    found = None
    if gradient:
        found = 2.0 * P @ coefficients @ towards.T
        found -= 2.0 * (laws.laws.T @ (coefficients.diagonal()[laws.y][:, None] * means))
    return PairSums(laws, KP, (means**2).sum(axis=1), P.T @ KP, found)


def witness_values(sums: PairSums, a: int = 0, b: int = 1) -> np.ndarray:
    """The witness function of two classes.

    Parameters
    ----------
    sums : PairSums
        A pass over pairs.
    a, b : int, default: 0 and 1
        The classes.

    Returns
    -------
    numpy.ndarray
        float64 (V,), h of every word; zeros where both have the same mean.
    """
    n = sums.laws.sizes
    difference = sums.KP[:, a] / n[a] - sums.KP[:, b] / n[b]
    X = sums.between
    squared = X[a, a] / n[a] ** 2 - 2.0 * X[a, b] / (n[a] * n[b]) + X[b, b] / n[b] ** 2
    return difference / np.sqrt(squared) if squared > 0 else np.zeros_like(difference)


def witness_frame(sums: PairSums, words: Sequence[str], classes: Sequence[Any], a: int = 0, b: int = 1) -> pd.DataFrame:
    """A row a word, the largest contribution first: word, the class it pulls to, witness, contribution, frequency in
    each class (shares of the words of a document, averaged)."""
    h = witness_values(sums, a, b)
    shares = sums.laws.sums / sums.laws.sizes
    names = [str(classes[a]), str(classes[b])]
    frame = pd.DataFrame(
        {
            "word": list(words),
            "class": [names[0] if value >= 0 else names[1] for value in h.tolist()],
            "witness": h,
            "contribution": (shares[:, a] - shares[:, b]) * h,
            f"share in {names[0]}": shares[:, a],
            f"share in {names[1]}": shares[:, b],
        }
    )
    order = np.argsort(-frame["contribution"].to_numpy(), kind="stable")
    return frame.iloc[order].reset_index(drop=True)
