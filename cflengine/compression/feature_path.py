"""Features at every λ of a path, from one run of the solver; and the choice of λ by cross-validation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.validation import check_is_fitted

from cflengine.compression.corpus import PreparedCorpus
from cflengine.compression.path import CompressionPath

if TYPE_CHECKING:
    from cflengine.compression.estimator import CompressiveFeatures


class FeaturePath:
    """The λ-path of a corpus: one fitted :class:`CompressiveFeatures` for each λ, made when asked for.

    estimator: with the path's settings, not fitted; corpus: what the path was solved for; both its own, so that
    nothing that is done with the estimator it came from changes it. points:
    :class:`~cflengine.compression.path.CompressionPath`; frame: DataFrame, a row a λ, with objective,
    lower_bound, gap, dictionary_size, n_pointers, the share of pointers of each length, seconds.
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

    def model(self, lam: float) -> CompressiveFeatures:
        """The fitted estimator at ``lam`` or, if that is not on the path, at the nearest λ that is."""
        point = self.points.nearest(lam)
        return clone(self.estimator).set_params(lam=point.lam).adopt(self.corpus, point.result)


class CompressiveSearchCV(MetaEstimatorMixin, BaseEstimator):
    """Choose λ for a later task, as GridSearchCV would, but with one λ-path instead of a solve for every fold and λ.

    The K-grams are found without labels from all documents of ``fit``; what is cross-validated is the estimator that
    follows. (So the dictionary has seen the validation documents' text, though never their labels.)

    Parameters
    ----------
    estimator : classifier or regressor that takes a sparse matrix.
    features : :class:`CompressiveFeatures` with the guided solver; its ``lam`` is set by the search.
    lams : the λ to try.
    cv, scoring : as in scikit-learn's cross_val_score.

    Attributes
    ----------
    path_ : :class:`FeaturePath`. results_ : DataFrame, a row a λ: the path's columns, mean_score, std_score.
    best_lam_, best_score_, features_ (fitted at the best λ), estimator_ (fitted to all documents).
    """

    def __init__(
        self,
        estimator: Any,
        features: CompressiveFeatures,
        lams: Iterable[float] = (0.01, 0.1, 0.3, 1.0, 3.0),
        *,
        cv: Any = 5,
        scoring: Any = None,
    ) -> None:
        self.estimator = estimator
        self.features = features
        self.lams = lams
        self.cv = cv
        self.scoring = scoring

    def fit(self, X: Iterable[str], y: Any) -> CompressiveSearchCV:
        """One path over documents ``X``, one cross-validation at each λ; the smaller dictionary wins a tie."""
        self.path_ = clone(self.features).path(X, self.lams)
        rows = []
        for lam in self.path_.lams:
            model = self.path_.model(lam)
            matrix = model.weigh(model.encoding_)
            scores = cross_val_score(clone(self.estimator), matrix, y, cv=self.cv, scoring=self.scoring)
            rows.append((float(np.mean(scores)), float(np.std(scores))))
        self.results_ = self.path_.frame.assign(
            mean_score=[mean for mean, _ in rows], std_score=[spread for _, spread in rows]
        )
        best = self.results_.sort_values(["mean_score", "dictionary_size"], ascending=[False, True]).iloc[0]
        self.best_lam_, self.best_score_ = float(best["lam"]), float(best["mean_score"])
        self.features_ = self.path_.model(self.best_lam_)
        self.estimator_ = clone(self.estimator).fit(self.features_.weigh(self.features_.encoding_), y)
        return self

    def predict(self, X: Iterable[str]) -> np.ndarray:
        """The estimator's answer for documents ``X``."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict(self.features_.transform(X))

    def score(self, X: Iterable[str], y: Any) -> float:
        """The estimator's own score on documents ``X``."""
        check_is_fitted(self, "estimator_")
        return float(self.estimator_.score(self.features_.transform(X), y))
