"""The choice of λ for a later task by cross-validation."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from cflengine.compression.feature_path import FeaturePath
from cflengine.engine.checks import InputError
from cflengine.engine.estimators import all_or_nothing
from cflengine.linear.persistence import for_pickle, save_model

if TYPE_CHECKING:
    from cflengine.compression.estimator import CompressiveFeatures


def _has(method: str) -> Callable[[CompressiveSearchCV], bool]:
    return lambda search: hasattr(getattr(search, "estimator_", search.estimator), method)


class CompressiveSearchCV(MetaEstimatorMixin, BaseEstimator):
    """Choose λ for a later task, as GridSearchCV would, but with one λ-path for each fold instead of a solve for every
    fold and λ.

    Each fold's K-grams are found in its training documents alone: neither the dictionary nor the estimator has seen the
    documents that λ is judged by. At the end everything is fitted to all documents, at the λ that did best.

    Parameters
    ----------
    estimator : object
        Classifier or regressor that takes a sparse matrix.
    features : CompressiveFeatures
        :class:`CompressiveFeatures` with the guided solver; its ``lam`` is set by the search.
    lams : Iterable[float], default: (0.01, 0.1, 0.3, 1.0, 3.0)
        The λ to try.
    cv : object, default: 5
        As in scikit-learn's GridSearchCV.
    scoring : object, default: None
        As in scikit-learn's GridSearchCV.
    transductive : bool, default: False
        True finds the K-grams once, without labels, in all documents, those of validation included, and cross-validates
        the estimator alone: as many times faster as there are folds, but scores are those of documents whose text the
        dictionary has seen.

    Attributes
    ----------
    cv_results_ : dict of arrays, an entry a λ, as GridSearchCV has it. results_ : DataFrame, a row a λ: the columns of
        the path over all documents, mean_score, std_score.
    best_params_, best_index_, best_score_, best_lam_ ; of equal scores the smaller dictionary wins.
    path_ : :class:`FeaturePath` of all documents; features_ (at the best λ) and estimator_, fitted to all documents;
        classes_ : the estimator's, of a classifier. Pickles are without path_, and without the corpus of features_.

    Raises
    ------
    ValueError for no λ at all, for a scoring of several scores, and what the features' path and the estimator raise.
    """

    def __init__(
        self,
        estimator: Any,
        features: CompressiveFeatures,
        lams: Iterable[float] = (0.01, 0.1, 0.3, 1.0, 3.0),
        *,
        cv: Any = 5,
        scoring: Any = None,
        transductive: bool = False,
    ) -> None:
        self.estimator = estimator
        self.features = features
        self.lams = lams
        self.cv = cv
        self.scoring = scoring
        self.transductive = transductive

    @all_or_nothing
    def fit(self, X: Iterable[str], y: Any, groups: Any = None) -> CompressiveSearchCV:
        """Judge every λ on documents that its dictionary has not seen, and fit the best one to all of them.

        Parameters
        ----------
        X : object
            Documents: strings.
        y : object
            (documents,), labels or numbers.
        groups : object, default: None
            (documents,), for a ``cv`` that keeps groups together.

        Returns
        -------
        CompressiveSearchCV
            Itself.
        """
        if not (hasattr(self.features, "path") and hasattr(self.estimator, "predict")):
            raise InputError("estimator must be one that predicts, and features a CompressiveFeatures, in this order.")
        if not np.iterable(self.lams):
            raise InputError(f"lams must be numbers, several of them, not {self.lams!r}.")
        texts, y, lams = list(X), np.asarray(y), list(self.lams)
        scorer = self._scorer(self.estimator)
        splits = self._splits(texts, y, groups)
        path = clone(self.features).path(texts, lams)
        found = [self._fold(path, texts, y, scorer, *split) for split in splits]
        if any(len(one) < len({float(lam) for lam in lams}) for one in (path, *found)):
            raise InputError("the search was stopped before every λ was judged.")
        scores = np.array(found).T
        mean, spread = scores.mean(axis=1), scores.std(axis=1)
        if np.isnan(mean).all():
            raise InputError("no λ could be judged: with each of them a score is NaN.")
        results = path.frame.assign(mean_score=mean, std_score=spread)
        order = results.sort_values(["mean_score", "dictionary_size"], ascending=[False, True], kind="stable")
        self.path_, self.results_, self.best_index_ = path, results, int(order.index[0])
        self.cv_results_ = {
            "params": [{"lam": lam} for lam in path.lams],
            "param_lam": np.array(path.lams),
            **{f"split{k}_test_score": scores[:, k] for k in range(len(splits))},
            "mean_test_score": mean,
            "std_test_score": spread,
            "rank_test_score": rankdata(np.where(np.isnan(mean), np.inf, -mean), method="min").astype(np.int32),
        }
        self.best_lam_, self.best_score_ = path.lams[self.best_index_], float(mean[self.best_index_])
        self.best_params_ = {"lam": self.best_lam_}
        self.features_ = path.model(self.best_lam_)
        self.estimator_ = clone(self.estimator).fit(self.features_.features(), y)
        if hasattr(self.estimator_, "classes_"):
            self.classes_ = self.estimator_.classes_
        return self

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in super().__getstate__().items() if name != "path_"}
        return state | ({"features_": for_pickle(self.features_)} if "features_" in state else {})

    def _splits(self, texts: Sequence[str], y: np.ndarray, groups: Any) -> list[tuple[np.ndarray, np.ndarray]]:
        """Positions of the documents to learn from and to judge by, of each fold."""
        cv, every = check_cv(self.cv, y, classifier=is_classifier(self.estimator)), np.arange(len(texts))
        splits = [(every[train], every[test]) for train, test in cv.split(texts, y, groups)]  # from masks, too
        if not splits:
            raise InputError("cv makes no split of the documents.")
        return splits

    def _fold(
        self, path: FeaturePath, texts: Sequence[str], y: np.ndarray, scorer: Any, train: np.ndarray, test: np.ndarray
    ) -> list[float]:
        """A score for each λ of the path, of documents that the estimator, and unless transductive the dictionary, has
        not seen."""
        scores = []
        if self.transductive:
            for lam in path.lams:
                model = path.model(lam)
                X = model.features()
                scores.append(float(scorer(clone(self.estimator).fit(X[train], y[train]), X[test], y[test])))
            return scores
        own = clone(self.features).path([texts[i] for i in train], path.lams)
        unseen = [texts[i] for i in test]
        for lam in own.lams:
            model = own.model(lam)
            fitted = clone(self.estimator).fit(model.features(), y[train])
            scores.append(float(scorer(fitted, model.transform(unseen), y[test])))
        return scores

    def _scorer(self, estimator: Any) -> Any:
        if isinstance(self.scoring, list | tuple | set | dict):
            raise InputError("one score chooses λ: give scoring one name or one function.")
        return check_scoring(estimator, self.scoring)

    @property
    def pipeline_(self) -> Pipeline:
        """What the search ends with, as a pipeline from texts to answers."""
        check_is_fitted(self, "estimator_")
        return make_pipeline(self.features_, self.estimator_)

    def save(self, path: str | os.PathLike[str], *, about: Mapping[str, Any] | None = None) -> None:
        """Write :attr:`pipeline_` to a file: what :func:`cflengine.load_model` reads of it predicts the same.

        Parameters
        ----------
        path : str or path
            Of the file, which is replaced as a whole.
        about : Mapping or None, default: None
            Anything that JSON has, kept beside the model.

        Raises
        ------
        ValueError for an estimator that a file cannot hold.
        """
        save_model(self.pipeline_, path, about=about)

    def __sklearn_tags__(self) -> Any:
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type, tags.target_tags = own.estimator_type, own.target_tags
        tags.classifier_tags, tags.regressor_tags = own.classifier_tags, own.regressor_tags
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags

    def _transformed(self, X: Iterable[str]) -> Any:
        check_is_fitted(self, "estimator_")
        return self.features_.transform(X)

    def predict(self, X: Iterable[str]) -> np.ndarray:
        """The estimator's answer.

        Parameters
        ----------
        X : object
            Documents: strings.

        Returns
        -------
        numpy.ndarray
            (documents,), of the kind of ``y``.
        """
        matrix = self._transformed(X)
        return self.estimator_.predict(matrix)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Iterable[str]) -> np.ndarray:
        """The estimator's probabilities of the classes.

        Parameters
        ----------
        X : Iterable[str]
            Documents.

        Returns
        -------
        numpy.ndarray
            float64 (documents, classes).
        """
        matrix = self._transformed(X)
        return self.estimator_.predict_proba(matrix)

    @available_if(_has("predict_log_proba"))
    def predict_log_proba(self, X: Iterable[str]) -> np.ndarray:
        """The logarithms of the estimator's probabilities.

        Parameters
        ----------
        X : Iterable[str]
            Documents.

        Returns
        -------
        numpy.ndarray
            float64 (documents, classes).
        """
        matrix = self._transformed(X)
        return self.estimator_.predict_log_proba(matrix)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Iterable[str]) -> np.ndarray:
        """The estimator's scores.

        Parameters
        ----------
        X : Iterable[str]
            Documents.

        Returns
        -------
        numpy.ndarray
            float64 (documents,) or (documents, classes).
        """
        matrix = self._transformed(X)
        return self.estimator_.decision_function(matrix)

    def score(self, X: Iterable[str], y: Any) -> float:
        """The score of ``scoring``, or the estimator's own.

        Parameters
        ----------
        X : object
            Documents: strings.
        y : object
            (documents,), labels or numbers.

        Returns
        -------
        float
            The more the better.
        """
        check_is_fitted(self, "estimator_")
        return float(self._scorer(self.estimator_)(self.estimator_, self._transformed(X), y))
