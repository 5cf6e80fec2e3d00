"""A λ-path in a file that holds data alone: pointers, prices and branching trees of every λ, checked against the corpus
when it is read.

Prices are kept in steps of a 65,535th of the largest, rounded down, those of trees as they are; whatever is read, bound
and gap are computed anew from it and the corpus (certificate.py, lifting.py: plain numpy), so a file proves what it
says or is refused.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

from cflengine.compression.model.branching import Branching, from_arrays, to_arrays
from cflengine.compression.model.certificate import certify
from cflengine.compression.model.corpus import PreparedCorpus
from cflengine.compression.model.lifting import lift
from cflengine.compression.model.problem import check_lam
from cflengine.compression.model.result import CompressionResult
from cflengine.compression.solvers.lambda_path import CompressionPath, PathPoint, pointers_by_length
from cflengine.engine.checks import InputError, is_number
from cflengine.engine.progress import NAN, TerminationReason
from cflengine.linear.saving import ModelFileError, file_name, read_model, require, write_model

KIND = "compression path"
_STEPS = 65_535
_TREES = "trees_"  # of the names of arrays, then the number of the λ


def write_lambda_path(
    path: str | os.PathLike[str] | IO[bytes], corpus: PreparedCorpus, points: CompressionPath
) -> None:
    """Write a path's points; the corpus is known by its digest alone.

    Parameters
    ----------
    path : path or binary file
        Where to.
    corpus : PreparedCorpus
        That of the path.
    points : CompressionPath
        Its points.
    """
    highest = [float(point.result.alpha.max(initial=0.0)) for point in points]
    prices = [
        np.floor(point.result.alpha.astype(np.float64) * (_STEPS / top if top else 0.0)).astype(np.uint16)
        for point, top in zip(points, highest, strict=True)
    ]
    header = {
        "digest": corpus.digest,
        "max_gram": corpus.index.max_gram,
        "lams": [point.lam for point in points],
        "highest": highest,
        "seconds": [point.seconds for point in points],
    }
    n, cover = len(corpus.table.tokens), [point.result.cover for point in points]
    arrays = {
        "cover": np.stack(cover) if cover else np.zeros((0, n), np.uint8),
        "prices": np.stack(prices) if prices else np.zeros((0, n), np.uint16),
    }
    for k, point in enumerate(points):
        arrays |= {f"{_TREES}{k}_{name}": array for name, array in to_arrays(point.result.branchings).items()}
    write_model(path, KIND, header, arrays)


def read_lambda_path(path: str | os.PathLike[str] | IO[bytes], corpus: PreparedCorpus) -> CompressionPath:
    """The points of a path, each certified anew.

    Parameters
    ----------
    path : path or binary file
        As :func:`write_lambda_path` wrote it.
    corpus : PreparedCorpus
        That of the path.

    Returns
    -------
    CompressionPath
        Its points.

    Raises
    ------
    ModelFileError
        For a damaged file, one of another corpus, and a point whose pointers leave a token uncovered.
    """
    header, arrays = read_model(path, KIND)
    name = file_name(path)
    require({"digest", "max_gram", "lams", "highest", "seconds"} <= set(header), name)
    require_corpus(header, corpus, name)
    if "marks" in arrays:  # what earlier files call it
        arrays = {"cover": arrays["marks"], **arrays}
    lams, n = header["lams"], len(corpus.table.tokens)
    require(isinstance(lams, list) and {"cover", "prices"} <= set(arrays), name)
    cover, prices = arrays["cover"], arrays["prices"]
    require(cover.shape == prices.shape == (len(lams), n), name)
    require((cover.dtype, prices.dtype) == (np.uint8, np.uint16), name)
    for numbers in (lams, header["highest"], header["seconds"]):
        require(isinstance(numbers, list) and len(numbers) == len(lams), name)
        require(all(is_number(value) and 0 <= value < np.inf for value in numbers), name)
    require(len(set(lams)) == len(lams) and bool((cover >> corpus.index.max_gram == 0).all()), name)
    points = []
    for k, lam in enumerate(lams):
        alpha, seconds = (prices[k] * (header["highest"][k] / _STEPS)).astype(np.float32), header["seconds"][k]
        try:
            trees = _trees(arrays, k)
            points.append(certified_point(corpus, check_lam(lam), cover[k], alpha, seconds, branchings=trees))
        except (ValueError, IndexError) as error:
            raise ModelFileError(f"'{name}' is damaged: {error}") from error
    return CompressionPath(points)


def require_corpus(header: Mapping[str, Any], corpus: PreparedCorpus, name: str) -> None:
    """ModelFileError where a file, of this name and header, is of another corpus or of another K."""
    if header["digest"] != corpus.digest or header["max_gram"] != corpus.index.max_gram:
        raise ModelFileError(f"'{name}' is of another corpus, or of another K.")


def _trees(arrays: dict[str, np.ndarray], k: int) -> tuple[Branching, ...]:
    """The branchings of the k-th λ. Raises ValueError where they are not whole."""
    start = f"{_TREES}{k}_"
    return from_arrays({name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)})


def certified_point(
    corpus: PreparedCorpus,
    lam: float,
    cover: np.ndarray,
    alpha: np.ndarray,
    seconds: float,
    reason: TerminationReason = TerminationReason.CONVERGED,
    branchings: tuple[Branching, ...] = (),
) -> PathPoint:
    """A solution at a λ, with what its prices and trees prove.

    Parameters
    ----------
    corpus : PreparedCorpus
        What it is a solution of.
    lam : float
        λ.
    cover : unsigned ndarray (n,)
        Pointers.
    alpha : float32 ndarray (n,)
        Any prices.
    seconds : float
        That it took.
    reason : TerminationReason
        Why no more was done.
    branchings : tuple of Branching
        Trees of parts.

    Returns
    -------
    PathPoint
        Certified.

    Raises
    ------
    InputError
        Where a token has no pointer.
    ValueError
        For other sizes, and trees that prove nothing.
    """
    gram_of, costs = corpus.index.gram_of, corpus.costs(lam)
    proof = certify(cover, alpha, gram_of, costs)
    if not proof.covered:
        raise InputError("a token is without a pointer.")
    alpha, plain = alpha * np.float32(proof.shrink), proof
    proof = lift(plain, alpha, gram_of, costs, branchings)
    used = np.zeros(corpus.index.n_grams, dtype=bool)
    for k, row in enumerate(gram_of):
        used[row[cover >> k & 1 == 1]] = True
    facts: dict[str, Any] = {"n_iterations": 0, "n_passes": 0.0, "solver": "guided", "settings": {}}
    result = CompressionResult(
        objective=proof.objective, lower_bound=proof.lower_bound, gap=proof.gap, reason=reason, seconds=seconds,
        events=(), cover=cover, dictionary=np.flatnonzero(used).astype(np.int32),
        alpha=alpha, certificate=proof, relaxation=NAN, relaxation_upper=NAN, digest=corpus.digest,
        branchings=branchings if proof.lower_bound > plain.lower_bound else (), **facts,
    )  # fmt: skip
    return PathPoint(lam, result, pointers_by_length(cover, corpus.index.max_gram), seconds)
