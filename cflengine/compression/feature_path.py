"""Features at every λ of a path, from one run of the solver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from cflengine.compression.model.corpus import PreparedCorpus
from cflengine.compression.solvers.lambda_path import CompressionPath

if TYPE_CHECKING:
    from cflengine.compression.estimator import CompressiveFeatures


class FeaturePath:
    """The λ-path of a corpus: one fitted :class:`CompressiveFeatures` for each λ, made when asked for.

    Parameters
    ----------
    estimator : CompressiveFeatures
        With the path's settings, not fitted; the path's own, so that nothing that is done with the estimator it came
        from changes it.
    corpus : PreparedCorpus
        What the path was solved for.
    points : CompressionPath
        What :func:`~cflengine.compression.solvers.lambda_path.solve_path` found.

    Attributes
    ----------
    frame : DataFrame, a row a λ, with objective, lower_bound, gap, dictionary_size, n_pointers, the share of pointers
        of each length, seconds.
    """

    def __init__(self, estimator: CompressiveFeatures, corpus: PreparedCorpus, points: CompressionPath) -> None:
        self.estimator, self.corpus, self.points = estimator, corpus, points
        self.frame = points.frame()

    @property
    def lams(self) -> list[float]:
        """Every λ, rising."""
        return [point.lam for point in self.points]

    def __len__(self) -> int:
        return len(self.points)

    def model(self, lam: float, **parameters: Any) -> CompressiveFeatures:
        """The fitted estimator at ``lam`` or, if that is not on the path, at the nearest λ that is; parameters: of
        how features are counted and weighted."""
        point = self.points.nearest(lam)
        return clone(self.estimator).set_params(lam=point.lam, **parameters).adopt(self.corpus, point.result)
