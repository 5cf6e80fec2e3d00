"""Settings of the solvers of f."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cflengine.engine.checks import InputError, check_choice, check_positive, check_whole, is_number
from cflengine.engine.settings import Limits


@dataclass(frozen=True, kw_only=True)
class Iterations(Limits):
    """What every solver has.

    Parameters
    ----------
    tol : float, default: 0.0001
        Proved relative gap, objective / bound − 1, at which it ends.
    time_limit : float or None, default: None
        Seconds of solver time, listeners excluded; None for no limit.
    max_iter : int, default: 10000
        Of its iterations, which for dual coordinate descent are passes.
    """

    tol: float = 1e-4
    max_iter: int = 10_000

    def __post_init__(self) -> None:
        Limits.__post_init__(self)
        check_positive(self, ("tol",))
        check_whole(self, {"max_iter": 1})


@dataclass(frozen=True, kw_only=True)
class LBFGSSettings(Iterations):
    """Plain L-BFGS, and OWL-QN where there is c₁.

    Parameters
    ----------
    tol : float, default: 0.0001
        Relative duality gap at which it ends.
    time_limit : float or None, default: None
        Seconds, or None.
    max_iter : int, default: 10000
        Steps, at most.
    memory : int, default: 20
        Pairs that are remembered, m in the paper.
    curvature : float or None, default: None
        Of the strong Wolfe conditions, below 1; None for 0.1 where a trial step costs no pass over the data, which
        saves a tenth or so of the passes, and 0.9 elsewhere.
    scaled : bool, default: True
        Whether H begins as (sᵀy/yᵀy) I; else as the identity, as in the package that the paper used.
    """

    memory: int = 20
    curvature: float | None = None
    scaled: bool = True

    def __post_init__(self) -> None:
        Iterations.__post_init__(self)
        check_positive(self, ("curvature",), optional=("curvature",))
        check_whole(self, {"memory": 1})
        if self.curvature is not None and self.curvature >= 1:
            raise InputError(f"curvature must be below 1, not {self.curvature!r}.")


CLUSTERINGS = ("chunks", "kmeans", "trajectories")


@dataclass(frozen=True, kw_only=True)
class ClusteredSettings(LBFGSSettings):
    """The paper's scheme (Figure 4): fine steps, clusters, coarse steps, up again; then fine steps to the end.

    Parameters
    ----------
    tol : float, default: 0.0001
        Relative duality gap at which it ends.
    time_limit : float or None, default: None
        Seconds, or None.
    max_iter : int, default: 10000
        Steps in all, at most.
    memory : int, default: 20
        Pairs that fine and coarse steps remember.
    curvature : float or None, default: None
        As in :class:`LBFGSSettings`.
    scaled : bool, default: True
        As in :class:`LBFGSSettings`.
    rounds : int, default: 2
        numRounds.
    fine_iter : int, default: 5
        Fine steps before each clustering.
    cluster_factor : float, default: 15.0
        Features to a cluster, on average.
    clustering : str or Callable[..., Any], default: 'chunks'
        "chunks" of sorted weights (the paper's for L-BFGS), "kmeans" of the weights in one dimension, "trajectories"
        (k-means of the last ``window`` weights of each feature, the paper's for BFGS); or a function of
        clusters.Clustering's kind.
    window : int, default: 5
        Coarse steps end when the last ``window`` objectives differ by less than ``coarse_tol`` of the least (the paper:
        5, 1e-4).
    coarse_tol : float, default: 0.0001
        Coarse steps end when the last ``window`` objectives differ by less than ``coarse_tol`` of the least (the paper:
        5, 1e-4).
    lift : str, default: 'replicate'
        "replicate", β = Pγ, the paper's; or "increment", β + Pδ, which cannot be worse than β.
    merge : bool, default: False
        pre-aggregate features before the coarse steps.
    random_state : int, default: 0
        Seed of k-means, or of what a function draws.
    """

    rounds: int = 2
    fine_iter: int = 5
    cluster_factor: float = 15.0
    clustering: str | Callable[..., Any] = "chunks"
    window: int = 5
    coarse_tol: float = 1e-4
    lift: str = "replicate"
    merge: bool = False
    random_state: int = 0

    def __post_init__(self) -> None:
        LBFGSSettings.__post_init__(self)
        check_positive(self, ("coarse_tol",))
        check_whole(self, {"rounds": 0, "fine_iter": 0, "window": 2, "random_state": 0})
        if not (is_number(self.cluster_factor) and 1 <= self.cluster_factor < float("inf")):
            raise InputError(f"cluster_factor must be a number of at least 1, not {self.cluster_factor!r}.")
        if not callable(self.clustering):
            check_choice(self.clustering, "clustering", CLUSTERINGS)
        check_choice(self.lift, "lift", ("replicate", "increment"))


@dataclass(frozen=True, kw_only=True)
class NewtonSettings(Iterations):
    """Newton's method: a trust region around conjugate gradients.

    Parameters
    ----------
    tol : float, default: 0.0001
        Proved relative gap, objective / bound − 1, at which it ends.
    time_limit : float or None, default: None
        Seconds of solver time, listeners excluded; None for no limit.
    max_iter : int, default: 10000
        Steps at most.
    forcing : float, default: 0.3
        Residual of conjugate gradients, of the gradient, at most.
    max_products : int, default: 500
        Of the Hessian with a vector, in an iteration.
    """

    forcing: float = 0.3
    max_products: int = 500

    def __post_init__(self) -> None:
        Iterations.__post_init__(self)
        check_positive(self, ("forcing",))
        check_whole(self, {"max_products": 1})


@dataclass(frozen=True, kw_only=True)
class DualSettings(Iterations):
    """Dual coordinate descent. random_state: seed of the order of the documents."""

    random_state: int = 0

    def __post_init__(self) -> None:
        Iterations.__post_init__(self)
        check_whole(self, {"random_state": 0})


@dataclass(frozen=True, kw_only=True)
class AutoSettings(DualSettings):
    """The default: see auto.py for its rule.

    Parameters
    ----------
    tol : float, default: 0.0001
        Proved relative gap, objective / bound − 1, at which it ends.
    time_limit : float or None, default: None
        Seconds of solver time, listeners excluded; None for no limit.
    max_iter : int, default: 10000
        Iterations of the solver at work.
    random_state : int, default: 0
        The seed of dual coordinate descent.
    """


def history_bytes(settings: Iterations, n_weights: int, *, by_lbfgs: bool) -> int:
    """Bytes of the pairs that L-BFGS remembers, of the products among them, and of some vectors.

    by_lbfgs: whether a solver without a memory of its own, such as "auto", comes to L-BFGS for this model.
    """
    rows = int(getattr(settings, "memory", LBFGSSettings.memory if by_lbfgs else 0)) + 1
    return 8 * rows * n_weights + 32 * rows**2 + 80 * n_weights


Settings = LBFGSSettings | NewtonSettings | DualSettings
