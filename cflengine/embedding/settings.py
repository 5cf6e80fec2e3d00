"""What a statistic is computed by, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cflengine.embedding.problem import kernel_matrix
from cflengine.engine.checks import InputError, check_whole, is_number

FAMILIES = ("gaussian", "laplace", "linear")


@dataclass(frozen=True)
class Kernel:
    """k(a, b): gaussian exp(−‖a − b‖² / (2 width²)), laplace exp(−‖a − b‖ / width) (Euclidean distance), averaged over
    ``widths``; linear aᵀb, which has none. Gaussian and Laplace kernels are universal: wMMD = 0 only for equal laws.

    Raises ValueError for another family and for widths that are not above 0.
    """

    family: str = "gaussian"
    widths: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise InputError(f"kernel must be one of {', '.join(FAMILIES)}, not {self.family!r}.")
        if not all(is_number(width) and 0 < width < math.inf for width in self.widths):
            raise InputError(f"a width must be a number above 0, not {self.widths!r}.")
        if (self.family == "linear") == bool(self.widths):
            raise InputError("a linear kernel has no width, every other kernel has one or more.")

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """float64 (a, b) of rows A (a, r) and B (b, r)."""
        return kernel_matrix(A, B, self.family, self.widths)


@dataclass(frozen=True, kw_only=True)
class CompareSettings:
    """kernel: a family; widths: () for the median; n_permutations; random_features: None for the exact pass; seed;
    n_threads."""

    kernel: str = "gaussian"
    widths: tuple[float, ...] = ()
    n_permutations: int = 999
    random_features: int | None = None
    seed: int = 0
    n_threads: int | None = None

    def __post_init__(self) -> None:
        Kernel(self.kernel, () if self.kernel == "linear" else self.widths or (1.0,))
        check_whole(self, {"n_permutations": 0, "seed": 0})
        check_whole(self, {"random_features": 2}, optional=("random_features",))
