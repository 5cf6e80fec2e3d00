"""The homotopy's values of ζ in a file that holds data alone, checked against the corpus when it is read.

Weights and pointers are kept as they change from ζ to ζ. Cost, pointers and dictionary of every ζ are counted anew from
its pointers; what the solver alone knows (steps, the value of w, the share that is decided) stands as it was written.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import IO, Any

import numpy as np

from cflengine.compression.model.certificate import binary_solution
from cflengine.compression.model.corpus import PreparedCorpus
from cflengine.compression.model.problem import check_lam
from cflengine.compression.model.result import StageSnapshot
from cflengine.compression.path_file import require_corpus
from cflengine.engine.checks import is_number
from cflengine.engine.progress import NAN
from cflengine.linear.saving import ModelFileError, file_name, read_model, require, write_model

KIND = "homotopy stages"
_TOLD = ("zeta", "iteration", "relaxation", "binary_share", "repaired", "stays_optimal")


def write_stages(
    path: str | os.PathLike[str] | IO[bytes], corpus: PreparedCorpus, lam: float, stages: Sequence[StageSnapshot]
) -> None:
    """Write the stages of a homotopy; the corpus is known by its digest alone.

    Parameters
    ----------
    path : path or binary file
        Where to.
    corpus : PreparedCorpus
        That of the homotopy.
    lam : float
        λ.
    stages : sequence of StageSnapshot
        Of a run with ``keep_stages``; all with weights.
    """
    told = {name: [_plain(getattr(stage, name)) for stage in stages] for name in _TOLD}
    header = {"digest": corpus.digest, "max_gram": corpus.index.max_gram, "lam": lam} | told
    n, K = len(corpus.table.tokens), corpus.index.max_gram
    cover = np.array([stage.cover for stage in stages], dtype=np.uint8).reshape(len(stages), n)
    weights = np.array([stage.weights for stage in stages], dtype=np.uint8).reshape(len(stages), K, n)
    write_model(path, KIND, header, {"cover": _changes(cover), "weights": _changes(weights)})


def read_stages(
    path: str | os.PathLike[str] | IO[bytes], corpus: PreparedCorpus
) -> tuple[float, tuple[StageSnapshot, ...]]:
    """The stages of a homotopy.

    Parameters
    ----------
    path : path or binary file
        As :func:`write_stages` wrote it.
    corpus : PreparedCorpus
        That of the homotopy.

    Returns
    -------
    tuple of float and tuple of StageSnapshot
        λ, and a snapshot for each ζ.

    Raises
    ------
    ModelFileError
        For a damaged file, one of another corpus, and pointers that leave a token uncovered.
    """
    header, arrays = read_model(path, KIND)
    name, (n, K) = file_name(path), (len(corpus.table.tokens), corpus.index.max_gram)
    require({"digest", "max_gram", "lam", *_TOLD} <= set(header), name)
    require_corpus(header, corpus, name)
    told = {key: header[key] for key in _TOLD}
    require(all(isinstance(numbers, list) for numbers in told.values()), name)
    count = len(told["zeta"])
    require(all(len(numbers) == count and all(map(_is_told, numbers)) for numbers in told.values()), name)
    require(all(is_number(zeta) and 0 <= zeta <= 1 for zeta in told["zeta"]), name)
    require({"cover", "weights"} <= set(arrays), name)
    require(arrays["cover"].shape == (count, n) and arrays["weights"].shape == (count, K, n), name)
    require(arrays["cover"].dtype == arrays["weights"].dtype == np.uint8, name)
    cover, weights = (np.cumsum(arrays[key], axis=0, dtype=np.uint8) for key in ("cover", "weights"))
    require(bool((cover >> K == 0).all()), name)
    try:
        costs = corpus.costs(check_lam(header["lam"]))
        solutions = [binary_solution(cover[k], corpus.index.gram_of, costs) for k in range(count)]
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"'{name}' is damaged: {error}") from error
    stages = []
    for k, (objective, covered, n_pointers, used) in enumerate(solutions):
        require(covered, name)
        facts: dict[str, Any] = {key: NAN if told[key][k] is None else told[key][k] for key in _TOLD}
        facts |= {"objective": objective, "n_pointers": n_pointers, "dictionary_size": int(used.sum())}
        stages.append(StageSnapshot(**facts, cover=cover[k], weights=weights[k]))
    return float(header["lam"]), tuple(stages)


def _changes(values: np.ndarray) -> np.ndarray:
    """From one ζ to the next, modulo 256: mostly 0, which packs well."""
    return np.diff(values, axis=0, prepend=np.zeros_like(values[:1])) if len(values) else values


def _plain(value: float) -> float | None:
    return None if isinstance(value, float) and math.isnan(value) else value


def _is_told(value: object) -> bool:
    return value is None or is_number(value)
