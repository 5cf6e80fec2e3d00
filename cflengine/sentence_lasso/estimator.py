"""The scikit-learn face: logistic regression with the sentence regulariser, and with the ones it is compared with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from cflengine.engine.checks import InputError
from cflengine.engine.estimators import checked_labels, clone_sharing_listeners
from cflengine.engine.memory import require_bytes
from cflengine.engine.progress import Listener
from cflengine.linear.model import LinearModel
from cflengine.linear.one_vs_rest import warn_unless_converged
from cflengine.sentence_lasso.grid import fit_classes
from cflengine.sentence_lasso.penalties import PENALTIES, Penalty, TrainingData
from cflengine.sentence_lasso.relevance import relevance_table
from cflengine.sentence_lasso.sentences import Features, GramFeatures, SentenceTable, WordFeatures, cut_sentences
from cflengine.sentence_lasso.settings import ADMMSettings, Settings
from cflengine.sentence_lasso.solvers import settings_for
from cflengine.text.token_table import WORD_PATTERN

_BYTES_PER_ENTRY = 170  # of a sentence: counts, groups, multipliers, and their copies while they are polished


class _Classifier(ClassifierMixin, BaseEstimator):
    """What all penalties share."""

    _features: Features | None  # None for a model of a matrix

    def _penalty(self) -> Penalty:
        raise NotImplementedError

    def _settings(self) -> Settings:
        return settings_for("majorise", None, self.tol)

    def fit(self, X: Any, y: Any, sentences: Any = None) -> Any:
        """Learn from documents ``X`` and their labels ``y``.

        X: strings, or a matrix (documents × features). sentences: with a matrix, the sparse matrix (S, V) of counts by
        training sentence; without it every document is one sentence, its features' counts their absolute values.
        """
        penalty, settings = self._penalty(), self._settings()
        X = list(X) if hasattr(X, "__next__") else X
        if not _is_text(X):
            return self._fit_matrix(X, y, sentences, penalty, settings)
        if sentences is not None:
            raise InputError("sentences go with a matrix; texts are cut into their own.")
        documents, features = _documents(X), _features_of(self)
        found = features.fit(documents)
        if not len(found[0]):
            raise InputError("the documents hold no word: nothing to learn from (is token_pattern wrong?).")
        table = cut_sentences(documents, found, len(features.names()), self.language)
        self._fit(TrainingData(table.by_document(), table.counts), y, penalty, settings)
        self._features, self.sentences_ = features, table
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _fit_matrix(self, X: Any, y: Any, sentences: Any, penalty: Penalty, settings: Settings) -> Any:
        if y is not None:
            y = checked_labels(y)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        X = sparse.csr_matrix(X)
        counts = abs(X) if sentences is None else sparse.csr_matrix(sentences, dtype=np.float64)
        if counts.shape[1] != X.shape[1]:
            raise InputError(f"sentences have {counts.shape[1]} features, documents {X.shape[1]}.")
        if counts.nnz and not (np.isfinite(counts.data).all() and counts.data.min() >= 0):
            raise InputError("counts of sentences must be finite and at least 0.")
        self._fit(TrainingData(X, counts), y, penalty, settings)
        self._features = None
        if hasattr(self, "sentences_"):
            del self.sentences_
        return self

    def cut(self, documents: Iterable[str]) -> SentenceTable:
        """Documents as sentences, with counts of the features that were learnt from texts."""
        check_is_fitted(self, "coef_")
        if self._features is None:
            raise InputError("this model was fitted to a matrix, and knows no words.")
        texts = _documents(documents)
        return cut_sentences(texts, self._features.find(texts), self.n_features_in_, self.language)

    def _fit(self, data: TrainingData, y: Any, penalty: Penalty, settings: Settings) -> None:
        y = checked_labels(y)
        if len(y) != data.X.shape[0]:
            raise InputError(f"there are {data.X.shape[0]} documents but {len(y)} labels.")
        classes, number = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise InputError(f"the labels are all of one class, {classes[0]!r}: a classifier needs two classes.")
        require_bytes(
            _BYTES_PER_ENTRY * data.counts.nnz, f"Fitting {data.counts.nnz:,} words in sentences",
            "take fewer documents.",
        )  # fmt: skip
        results = fit_classes(data, number, len(classes), penalty, settings, self.listeners)
        if not (isinstance(settings, ADMMSettings) and settings.tol is None):  # the paper's rule is a number of steps
            warn_unless_converged(results)
        self.classes_, self.data_, self.penalty_, self.results_ = classes, data, penalty, results
        self._model = LinearModel.of(results)
        self.coef_, self.intercept_ = self._model.coef, self._model.intercept
        self.duality_gap_ = max(result.gap for result in results)
        self.n_iter_ = np.array([result.n_iterations for result in results])
        self.n_features_in_ = data.X.shape[1]

    @property
    def sentence_strength_(self) -> np.ndarray:
        check_is_fitted(self, "coef_")
        found = np.array([result.sentence_strength(self.data_.groups) for result in self.results_])
        return found[0] if len(found) == 1 else found

    @property
    def selected_sentences_(self) -> np.ndarray:
        return self.sentence_strength_ > 0

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores: float64 (N,) of classes_[1], or (N, classes), of texts or of a matrix."""
        matrix = self._matrix(X)
        return self._model.scores(matrix)

    def _matrix(self, X: Any) -> sparse.csr_matrix:
        check_is_fitted(self, "coef_")
        X = list(X) if hasattr(X, "__next__") else X
        if isinstance(X, SentenceTable):
            return X.by_document()
        if _is_text(X) or (self._features is not None and isinstance(X, list | tuple) and not X):
            return self.cut(X).by_document()
        return sparse.csr_matrix(validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False))

    def predict_proba(self, X: Any) -> np.ndarray:
        """float64 (N, classes); one against the rest: the classes' own probabilities, scaled to sum to 1."""
        matrix = self._matrix(X)
        return self._model.probabilities(matrix)

    def predict(self, X: Any) -> np.ndarray:
        """The likelier class of each document."""
        matrix = self._matrix(X)
        return self.classes_[self._model.predict(matrix)]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The features in the order of coef_: words, or the columns of the matrix."""
        check_is_fitted(self, "coef_")
        if self._features is None:
            return _check_feature_names_in(self, input_features)
        return np.array(self._features.names(), dtype=object)

    def sentence_relevance(self, documents: Any, labels: Any = None) -> pd.DataFrame:
        """How much every sentence of some texts speaks for their label (§5.4): see :func:`relevance_table`.

        documents: strings, or a table from :meth:`cut`. labels: of the documents; None for the predicted ones. Raises
        ValueError for a label that is none of classes_, and unless there is one for each document.
        """
        check_is_fitted(self, "coef_")
        table = documents if isinstance(documents, SentenceTable) else self.cut(documents)
        chosen = self.predict(table) if labels is None else np.asarray(labels)
        if chosen.shape != (table.n_documents,):
            raise InputError(f"there are {table.n_documents} documents but {chosen.size} labels.")
        unknown = sorted(set(chosen.tolist()) - set(self.classes_.tolist()), key=str)
        if unknown:
            raise InputError(f"the label {unknown[0]!r} is none of the model's classes.")
        return relevance_table(table, self._model, np.searchsorted(self.classes_, chosen), self.classes_)

    def __sklearn_clone__(self) -> Any:
        return clone_sharing_listeners(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        return tags


class SentenceLassoClassifier(_Classifier):
    """Logistic regression with one overlapping group for every training sentence (Yogatama & Smith, ICML 2014).

    Minimises Σ_d log(1 + exp(−y_d (wᵀx_d + b))) + λ_las‖w‖₁ + λ_sen Σ_{d,s} ‖w_{d,s}‖₂, equation (1) of the paper,
    where w_{d,s} has the weight of a word for each of its tokens in sentence s of document d; the bias b is free.

    Parameters
    ----------
    lam_sen, lam_las : λ_sen and λ_las, above 0.
    solver : "majorise" (default) or "admm", the paper's Algorithm 1.
    settings : :class:`~cflengine.MajoriseSettings` or ADMMSettings: every other parameter of the solver, tol included.
        ADMM without settings stops by the paper's rule, not by tol.
    tol : relative duality gap at which a fit ends.
    features : None for words; or a :class:`~cflengine.CompressiveFeatures`, whose K-grams are then the features.
    token_pattern, lowercase : what a word is.
    language : ISO 639-1 code, for cutting texts into sentences.
    listeners : callables that get every :class:`~cflengine.IterationStats`; False from one ends the fit early.

    Attributes
    ----------
    classes_ ; coef_ : float64 (1, V), or (classes, V) for one against the rest; intercept_ : float64, as many.
    duality_gap_ : proved relative gap, the largest over the rows of coef_. results_ : a result for each row.
    data_ : :class:`~cflengine.sentence_lasso.penalties.TrainingData`. sentences_ : the training sentences, a
        :class:`~cflengine.sentence_lasso.sentences.SentenceTable` (texts only).
    sentence_strength_ : float64 (S,), or (classes, S): ‖w_{d,s}‖ of every training sentence; of ADMM ‖v_{d,s}‖, its
        copies. selected_sentences_ : bool, where that is not 0.

    Raises
    ------
    ValueError for labels of one class, wrong settings, or texts without a single word; TypeError for documents that
    are not strings; MemoryLimitError, before any work, for data that does not fit.
    """

    def __init__(
        self,
        lam_sen: float = 0.1,
        lam_las: float = 1.0,
        *,
        solver: str = "majorise",
        tol: float = 1e-4,
        settings: Settings | None = None,
        features: Any = None,
        token_pattern: str = WORD_PATTERN,
        lowercase: bool = True,
        language: str = "en",
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.lam_sen = lam_sen
        self.lam_las = lam_las
        self.solver = solver
        self.tol = tol
        self.settings = settings
        self.features = features
        self.token_pattern = token_pattern
        self.lowercase = lowercase
        self.language = language
        self.listeners = listeners

    def _penalty(self) -> Penalty:
        return Penalty("sentence", lam_sen=self.lam_sen, lam_las=self.lam_las)

    def _settings(self) -> Settings:
        return settings_for(self.solver, self.settings, self.tol)


class PenalisedClassifier(_Classifier):
    """Logistic regression with the penalties that the sentence regulariser is compared with, certified as it is.

    Parameters
    ----------
    penalty : "lasso", λ_las‖w‖₁; "ridge", λ_rid‖w‖²; "elastic", both; "frequency", λ_las‖w‖₁ + λ_rid/2 Σ N_i w_i² with
        N_i the occurrences of feature i, which knows of no sentences.
    lam_las, lam_rid : strengths above 0; one that the penalty has not is left aside.

    The other parameters, the attributes and what is raised: as :class:`SentenceLassoClassifier` has them.
    """

    def __init__(
        self,
        penalty: str = "lasso",
        *,
        lam_las: float = 1.0,
        lam_rid: float = 1.0,
        tol: float = 1e-4,
        features: Any = None,
        token_pattern: str = WORD_PATTERN,
        lowercase: bool = True,
        language: str = "en",
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.penalty = penalty
        self.lam_las = lam_las
        self.lam_rid = lam_rid
        self.tol = tol
        self.features = features
        self.token_pattern = token_pattern
        self.lowercase = lowercase
        self.language = language
        self.listeners = listeners

    def _penalty(self) -> Penalty:
        if self.penalty == "sentence":
            raise InputError("the sentence regulariser is SentenceLassoClassifier's.")
        strengths = PENALTIES.get(self.penalty, ()) if isinstance(self.penalty, str) else ()
        return Penalty(self.penalty, **{name: getattr(self, name) for name in strengths})


def _features_of(estimator: Any) -> Features:
    """Words, or a copy of the features given: a fit leaves its parameters as they are."""
    given = estimator.features
    if given is None:
        return WordFeatures(estimator.token_pattern, estimator.lowercase)
    if not all(hasattr(given, name) for name in ("fit", "encode", "get_feature_names_out")):
        raise InputError(f"features must be None or a CompressiveFeatures, not {given!r}.")
    return GramFeatures(clone(given, safe=False))


def _is_text(X: Any) -> bool:
    """Whether it holds texts rather than numbers."""
    if isinstance(X, str):
        raise InputError("documents are expected, a list of strings; this is one string.")
    if sparse.issparse(X) or hasattr(X, "columns"):
        return False
    if isinstance(X, np.ndarray):
        return X.ndim == 1 and X.dtype.kind in "OUS"
    first = next(iter(X), None) if isinstance(X, list | tuple | pd.Series) else None
    return isinstance(first, str)


def _documents(documents: Iterable[str]) -> list[str]:
    """Documents as a list; the tokenizer refuses those that are no strings."""
    if isinstance(documents, str):
        raise InputError("documents are expected, a list of strings; this is one string.")
    return list(documents)
