"""wMMD² and its gradient by the vectors: this engine against V × V evaluations in numpy and in JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.measure import in_turns, memory_of
from benchmarks.report import say
from cflengine.embedding import Kernel, WordLaws, pair_coefficients, pair_sums
from cflengine.embedding import warm_up as warm_up  # for measure.py

DIMENSION, DOCUMENTS, LENGTH = 100, 2_000, 100
SIZES = (2_000, 10_000, 50_000)
LARGEST_SQUARE = 10_000  # words for which V × V matrices are made
ROWS = 2_000  # of the product of the vectors at a time, where there are more words
KERNEL = Kernel("gaussian", (14.0,))


def speed(*, quick: bool, n_threads: int | None) -> dict[str, Any]:
    """Seconds, medians, for each number of words; ratios by turns."""
    found = {}
    for V in (500, 1_000) if quick else SIZES:
        say(f"{V:,} words")
        found[str(V)] = _at(V, quick, n_threads)
    return found


def problem(V: int) -> tuple[WordLaws, np.ndarray]:
    """Documents of words by Zipf's law in two classes, and normal vectors."""
    rng = np.random.default_rng(0)
    share = 1.0 / np.arange(1, V + 1)
    words = rng.choice(V, DOCUMENTS * LENGTH, p=share / share.sum())
    indptr = np.arange(0, DOCUMENTS * LENGTH + 1, LENGTH)
    counts = sparse.csr_matrix((np.ones(len(words)), words, indptr), (DOCUMENTS, V))
    return WordLaws.of(counts, np.arange(DOCUMENTS) % 2, 2), rng.normal(size=(V, DIMENSION))


def ours(laws: WordLaws, M: np.ndarray, n_threads: int | None) -> Callable[[], tuple[float, np.ndarray]]:
    """Value and gradient by this engine."""

    def run() -> tuple[float, np.ndarray]:
        sums = pair_sums(laws, M, KERNEL, gradient=True, n_threads=n_threads)
        return sums.total(), sums.gradient

    return run


def coefficients(laws: WordLaws) -> np.ndarray:
    """float64 (V, V): what each pair of words counts."""
    C = pair_coefficients(laws.sizes)
    within = sparse.diags(C.diagonal()[laws.y]) @ laws.laws
    return np.asarray(laws.sums @ C @ laws.sums.T - (laws.laws.T @ within).toarray())


def by_numpy(laws: WordLaws, M: np.ndarray) -> Callable[[], tuple[float, np.ndarray]]:
    """The formula as it stands, with matrices of all pairs."""
    width = KERNEL.widths[0]

    def run() -> tuple[float, np.ndarray]:
        A = coefficients(laws)
        squares = (M**2).sum(axis=1)
        K = np.exp(-(squares[:, None] + squares - 2.0 * M @ M.T) / (2.0 * width**2))
        W = A * K
        return float(W.sum()), 2.0 * (W @ M - W.sum(axis=1)[:, None] * M) / width**2

    return run


def by_jax(laws: WordLaws, M: np.ndarray) -> Callable[[], tuple[float, np.ndarray]] | None:
    """The formula as it stands, differentiated by JAX; None where it is not installed."""
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    width = KERNEL.widths[0]

    def value(M: Any, A: Any) -> Any:
        squares = (M**2).sum(axis=1)
        return (A * jnp.exp(-(squares[:, None] + squares - 2.0 * M @ M.T) / (2.0 * width**2))).sum()

    both = jax.jit(jax.value_and_grad(value))

    def run() -> tuple[float, np.ndarray]:
        found, gradient = both(jnp.asarray(M), jnp.asarray(coefficients(laws)))
        return float(found), np.asarray(gradient)

    return run


def product(M: np.ndarray) -> Callable[[], None]:
    """M Mᵀ, whole or some rows at a time."""
    rows = len(M) if len(M) <= LARGEST_SQUARE else ROWS
    out = np.empty((rows, len(M)))

    def run() -> None:
        for first in range(0, len(M), rows):
            part = M[first : first + rows]
            np.matmul(part, M.T, out=out[: len(part)])

    return run


def once(V: int) -> dict[str, Any]:
    """One evaluation, for :func:`benchmarks.measure.memory_of`."""
    value, _ = ours(*problem(V), None)()
    return {"value": value}


def _at(V: int, quick: bool, n_threads: int | None) -> dict[str, Any]:
    laws, M = problem(V)
    runs: dict[str, Callable[[], Any]] = {"ours": ours(laws, M, n_threads)}
    runs["product"] = product(M)
    if V <= LARGEST_SQUARE:
        runs["numpy"] = by_numpy(laws, M)
        jax = by_jax(laws, M)
        runs |= {} if jax is None else {"jax": jax}
    values = {name: call() for name, call in runs.items()}  # compiled, and its memory touched
    times = in_turns(runs, run=1 if quick else 3, turns=1 if quick else 5, seconds=0.0)
    found: dict[str, Any] = {name: own.median for name, own in times.items()}
    value, gradient = values["ours"]
    for name in {"numpy", "jax"} & set(runs):
        other, own = values[name]
        off = max(abs(value - other) / abs(other), np.abs(gradient - own).max() / np.abs(own).max())
        found |= {f"{name}_difference": float(off), f"times_{name}": times[name].over(times["ours"])}
    found["products"] = times["ours"].over(times["product"])
    memory = memory_of("benchmarks.embedding.speed:once", V=V)
    return found | {"peak_bytes": memory["peak"], "own_bytes": memory["peak"] - memory["baseline"]}
