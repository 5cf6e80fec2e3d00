"""What a statistic is computed by, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cflengine.embedding.problem import kernel_matrix
from cflengine.engine.checks import (
    InputError,
    MissingPackageError,
    check_choice,
    check_positive,
    check_whole,
    is_number,
)
from cflengine.engine.settings import Limits

FAMILIES = ("gaussian", "laplace", "linear")


@dataclass(frozen=True)
class Kernel:
    """A kernel k(a, b) of word vectors.

    Gaussian exp(−‖a − b‖² / (2 width²)), Laplace exp(−‖a − b‖ / width) (Euclidean distance), averaged over ``widths``;
    linear aᵀb. Gaussian and Laplace kernels are universal: wMMD = 0 only for equal laws.

    Parameters
    ----------
    family : str, default: 'gaussian'
        "gaussian", "laplace" or "linear".
    widths : tuple[float, ...], default: ()
        Above 0; of a linear kernel none.

    Raises
    ------
    ValueError for another family and for widths that are not above 0.
    """

    family: str = "gaussian"
    widths: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_choice(self.family, "kernel", FAMILIES)
        if not all(is_number(width) and 0 < width <= 1e300 for width in self.widths):
            raise InputError(f"a width must be a number above 0, not {self.widths!r}.")
        if (self.family == "linear") == bool(self.widths):
            raise InputError("a linear kernel has no width, every other kernel has one or more.")

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """float64 (a, b) of rows A (a, r) and B (b, r)."""
        return kernel_matrix(A, B, self.family, self.widths)


@dataclass(frozen=True, kw_only=True)
class CompareSettings:
    """kernel: a family; widths: () for the median; n_permutations; random_features: None for the exact pass;
    random_state: seed; n_threads."""

    kernel: str = "gaussian"
    widths: tuple[float, ...] = ()
    n_permutations: int = 999
    random_features: int | None = None
    random_state: int = 0
    n_threads: int | None = None

    def __post_init__(self) -> None:
        Kernel(self.kernel, self.widths or (() if self.kernel == "linear" else (1.0,)))
        check_whole(self, {"n_permutations": 0, "random_state": 0})
        check_whole(self, {"random_features": 2}, optional=("random_features",))


NETWORKS = ("mean", "cnn", "gru", "bilstm")

#: regulariser -> what λ multiplies, or is; M: (V, r), M₀: as it began
REGULARISERS = {
    "none": "nothing",
    "l1": "λ · mean |M_vk|",
    "dropout": "λ: the share of a word's coordinates that are set to 0 at random in training",
    "re-embedding": "λ · mean (M_vk − M₀_vk)² (Labutov, Lipson, ACL 2013; Peng et al., EMNLP 2015)",
    "group lasso": "λ · mean over v of ‖M_v‖₂",
    "wmmd": "−λ · Σ over pairs of classes of wMMD²(M)",
    "structured wmmd": "−λ · Σ over given groups of words of wMMD² of the documents' words in that group",
    "bigram wmmd": "−λ · Σ over pairs of classes of wMMD² of two known words in a row, their vectors joined",
}
DEFAULT_LAMS = {
    "none": 0.0, "l1": 1.0, "dropout": 0.5, "re-embedding": 1.0, "group lasso": 1.0, "wmmd": 1000.0,
    "structured wmmd": 1000.0, "bigram wmmd": 10.0,
}  # fmt: skip


_FEWEST_COMPARED = 4


@dataclass(frozen=True, kw_only=True)
class TrainSettings(Limits):
    """How a network and its vectors are trained; the defaults are the article's.

    network: one of NETWORKS; regulariser: of REGULARISERS; lam: λ. dimension: r. epochs, batch_size,
    learning_rate: of Adam, falling in a straight line to 0 after the last epoch. hidden: channels or units.
    max_length: words of a document that it sees. max_norm: longer rows of M are cut to it after each step, or None.
    max_gradient: longer gradients of the loss are cut to it, or None, as in the article; those of recurrent networks
    may grow without end over a long document, and 1 keeps them.
    dev_share: of the documents, held out to stop early by: the epoch of best accuracy is kept, of several the one of
    least cross entropy; patience: epochs without a better accuracy after which training ends, None: all epochs.
    random_state: seed.

    Raises ValueError for a value out of range, as all settings do.
    """

    network: str = "cnn"
    regulariser: str = "wmmd"
    lam: float = 1000.0
    dimension: int = 20
    epochs: int = 30
    batch_size: int = 64
    learning_rate: float = 0.1
    hidden: int = 100
    max_length: int = 256
    max_norm: float | None = 1.0
    max_gradient: float | None = None
    dev_share: float = 0.0
    patience: int | None = None
    random_state: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.network, "network", NETWORKS)
        check_choice(self.regulariser, "regulariser", REGULARISERS)
        least = dict.fromkeys(("dimension", "epochs", "batch_size", "hidden"), 1)
        check_whole(self, least | {"max_length": 5, "random_state": 0})
        check_whole(self, {"patience": 1}, optional=("patience",))
        check_positive(self, ("learning_rate", "max_norm", "max_gradient"), optional=("max_norm", "max_gradient"))
        if not (is_number(self.lam) and 0 <= self.lam < math.inf):
            raise InputError(f"lam must be a number of at least 0, not {self.lam!r}.")
        if self.regulariser == "dropout" and not self.lam < 1:
            raise InputError(f"dropout takes a share below 1, not {self.lam!r}.")
        if "wmmd" in self.regulariser and self.lam > 0 and self.batch_size < _FEWEST_COMPARED:
            raise InputError(
                f"wMMD compares documents of a batch, two of each class at least: batch_size must be at least "
                f"{_FEWEST_COMPARED}, not {self.batch_size}."
            )
        if not (is_number(self.dev_share) and 0 <= self.dev_share < 1):
            raise InputError(f"dev_share must be a share from 0 to below 1, not {self.dev_share!r}.")


#: what weights each network has
CONVOLUTIONS = (3, 4, 5)
GATES = {"gru": 3, "bilstm": 4}
#: numbers that a network makes of each word, by hidden unit
STATES = {"mean": 0, "cnn": len(CONVOLUTIONS), "gru": 5, "bilstm": 12}
WAYS = {"gru": ("forward",), "bilstm": ("forward", "backward")}


def shapes(network: str, r: int, n_classes: int, hidden: int) -> dict[str, tuple[int, ...]]:
    """Shape of each weight, by name, in the order in which they are drawn."""
    found: dict[str, tuple[int, ...]] = {}
    if network == "cnn":
        for size in CONVOLUTIONS:
            found |= {f"filter{size}": (size, r, hidden), f"bias{size}": (hidden,)}
    for way in WAYS.get(network, ()):
        wide = GATES[network] * hidden
        found |= {f"{way}_input": (r, wide), f"{way}_state": (hidden, wide)}
        found |= {f"{way}_bias": (wide,), f"{way}_state_bias": (wide,)}
    top = {"mean": r, "cnn": len(CONVOLUTIONS) * hidden, "gru": hidden, "bilstm": 2 * hidden}[network]
    return found | {"output": (top, n_classes), "output_bias": (n_classes,)}


def inputs(name: str, r: int, hidden: int, top: int) -> int:
    """How many inputs feed a weight: it is drawn within ±1/√inputs."""
    if name.startswith(("filter", "bias")):
        return int(name[-1]) * r
    return top if name.startswith("output") else hidden


def has_neural() -> bool:
    """Whether JAX and optax are installed."""
    from importlib.util import find_spec

    return find_spec("jax") is not None and find_spec("optax") is not None


def require_neural() -> None:
    """MissingPackageError unless JAX and optax are installed."""
    if not has_neural():
        raise MissingPackageError(
            "networks need JAX and optax, which are not installed: pip install 'cflengine[neural]'. The statistic, the "
            "witness and the simulation need neither."
        )
