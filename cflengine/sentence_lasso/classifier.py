"""What the classifiers of this package share: texts or a matrix in, sentences, one against the rest, files."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from cflengine.engine.checks import InputError
from cflengine.engine.estimators import all_or_nothing, checked_labels, outside
from cflengine.engine.jit import threads
from cflengine.engine.memory import require_bytes
from cflengine.engine.progress import Listener, TerminationReason
from cflengine.linear import persistence, saving
from cflengine.linear.estimators import ProbabilisticClassifier, check_size
from cflengine.linear.model import LinearModel
from cflengine.linear.one_vs_rest import warn_unless_converged
from cflengine.linear.parameters import parameters_of
from cflengine.linear.saving import require
from cflengine.sentence_lasso.grid import fit_classes
from cflengine.sentence_lasso.model.margin_loss import LOSSES
from cflengine.sentence_lasso.model.penalties import Penalty, TrainingData
from cflengine.sentence_lasso.model.result import SentenceResult
from cflengine.sentence_lasso.relevance import relevance_table
from cflengine.sentence_lasso.sentences import Features, GramFeatures, SentenceTable, WordFeatures, cut_sentences
from cflengine.sentence_lasso.solvers.registry import SOLVERS
from cflengine.sentence_lasso.solvers.settings import ADMMSettings, Settings
from cflengine.text.sentences import UNITS

_BYTES_PER_ENTRY = 170  # of a sentence: counts, groups, multipliers, and their copies while they are polished


class GroupClassifier(ProbabilisticClassifier):
    """What all penalties share."""

    language: str
    groups: str = "sentence"
    group_weights: str = "equal"
    loss: str = "log"
    token_pattern: str
    lowercase: bool
    n_threads: int | None
    listeners: Sequence[Listener]
    _features: Features | None  # None for a model of a matrix
    _unpickled = (*ProbabilisticClassifier._unpickled, "data_", "sentences_")
    _unwritten = ("features",)  # a model of its own, inside this one's file

    def _penalty(self) -> Penalty:
        raise NotImplementedError

    def _check(self) -> Settings:
        settings: Settings = self._solver_settings(SOLVERS["majorise"], None)
        return settings

    @all_or_nothing
    def fit(self, X: Any, y: Any, sentences: Any = None, sample_weight: Any = None) -> Any:
        """Learn from documents and their labels.

        Parameters
        ----------
        X : object
            D strings, or a matrix (D, V).
        y : object
            (D,), labels.
        sentences : object, default: None
            With a matrix: CSR (S, V), counts by training sentence; without it every document is one sentence, its
            features' counts their absolute values.
        sample_weight : object, default: None
            float (D,), at least 0; a document of weight 0 is left out. None for 1.

        Returns
        -------
        object
            Itself.

        Raises
        ------
        ValueError for labels of one class, wrong settings, or texts without a word; MemoryLimitError, before any work.
        """
        penalty, settings = self._penalty(), self._check()
        X = list(X) if hasattr(X, "__next__") else X
        if _is_text(X):
            if sentences is not None:
                raise InputError("sentences go with a matrix; texts are cut into their own.")
            return self._fit_texts(_documents(X), y, sample_weight, penalty, settings)
        return self._fit_matrix(X, y, sentences, sample_weight, penalty, settings)

    def _fit_texts(self, texts: list[str], y: Any, sample_weight: Any, penalty: Penalty, settings: Settings) -> Any:
        y = checked_labels(y)
        if len(y) != len(texts):
            raise InputError(f"there are {len(texts)} documents but {len(y)} labels.")
        chosen, classes, number, weight = self._labelled(np.arange(len(texts))[:, None], y, sample_weight)
        texts = [texts[i] for i in chosen[:, 0].tolist()]
        features = _features_of(self)
        found = features.fit(texts)
        if not len(found[0]):
            raise InputError("the documents hold no word: nothing to learn from (is token_pattern wrong?).")
        table = cut_sentences(texts, found, len(features.names()), self.language, self.groups)
        data = TrainingData(table.by_document(), table.counts, weight, self.group_weights == "length", self.loss)
        self._fit(data, classes, number, penalty, settings)
        self._features, self.sentences_ = features, table
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _fit_matrix(
        self, X: Any, y: Any, sentences: Any, sample_weight: Any, penalty: Penalty, settings: Settings
    ) -> Any:
        X, y = self._data(X, checked_labels(y), reset=True)
        check_size(X)
        X, classes, number, weight = self._labelled(sparse.csr_matrix(X), y, sample_weight)
        if sentences is None and penalty.kind == "sentence":
            warnings.warn(
                "without sentences every document of a matrix is one group: give texts, or their sentences' counts, to "
                "learn which sentences matter.",
                UserWarning,
                stacklevel=outside(),
            )
        counts = abs(X) if sentences is None else sparse.csr_matrix(sentences, dtype=np.float64)
        if counts.shape[1] != X.shape[1]:
            raise InputError(f"sentences have {counts.shape[1]} features, documents {X.shape[1]}.")
        if counts.nnz and not (np.isfinite(counts.data).all() and counts.data.min() >= 0):
            raise InputError("counts of sentences must be finite and at least 0.")
        data = TrainingData(X, counts, weight, self.group_weights == "length", self.loss)
        self._fit(data, classes, number, penalty, settings)
        self._features = None
        if hasattr(self, "sentences_"):
            del self.sentences_
        return self

    def cut(self, documents: Iterable[str]) -> SentenceTable:
        """Documents as sentences, or what ``groups`` says, with counts of the features that were learnt from texts.

        Parameters
        ----------
        documents : Iterable[str]
            Texts.

        Returns
        -------
        SentenceTable
            Every sentence of every document, also those without a feature.

        Raises
        ------
        ValueError where the model was fitted to a matrix, and knows no words.
        """
        check_is_fitted(self, "coef_")
        if self._features is None:
            raise InputError("this model was fitted to a matrix, and knows no words.")
        texts, learnt = _documents(documents), self._learnt_with
        found, unit = self._features.find(texts), learnt.get("groups", self.groups)
        return cut_sentences(texts, found, self.n_features_in_, learnt["language"], unit)

    def _fit(
        self, data: TrainingData, classes: np.ndarray, number: np.ndarray, penalty: Penalty, settings: Settings
    ) -> None:
        require_bytes(
            _BYTES_PER_ENTRY * data.counts.nnz, f"Fitting {data.counts.nnz:,} words in sentences",
            "take fewer documents.",
        )  # fmt: skip
        with threads(self.n_threads, data.counts.nnz):
            results = fit_classes(data, number, len(classes), penalty, settings, self.listeners)
        by_steps = isinstance(settings, ADMMSettings) and settings.tol is None  # the paper's own rule
        warn_unless_converged(
            [one for one in results if not (by_steps and one.reason is TerminationReason.ITERATION_LIMIT)]
        )
        self.adopt(classes, results, data, penalty)

    def adopt(
        self,
        classes: np.ndarray,
        results: Sequence[SentenceResult],
        data: TrainingData,
        penalty: Penalty,
        features: Features | None = None,
    ) -> Self:
        """Be fitted with results that are there already. features: what finds its features in texts, None for a model
        of a matrix."""
        self._keep(results)
        self.classes_, self.data_, self.penalty_, self._features = classes, data, penalty, features
        self._set(LinearModel.of(results))
        self.n_features_in_ = data.X.shape[1]
        return self

    @property
    def sentence_norms_(self) -> np.ndarray:
        check_is_fitted(self, "coef_")
        found = np.array([result.sentence_norms(self.data_.groups) for result in self.results_])
        return found[0] if len(found) == 1 else found

    @property
    def selected_sentences_(self) -> np.ndarray:
        return self.sentence_norms_ > 0

    def _matrix(self, X: Any) -> sparse.csr_matrix:
        check_is_fitted(self, "coef_")
        X = list(X) if hasattr(X, "__next__") else X
        if isinstance(X, SentenceTable):
            return X.by_document()
        if _is_text(X) or (self._features is not None and isinstance(X, list | tuple) and not X):
            return self.cut(X).by_document()
        return super()._matrix(X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The features in the order of coef_: words, or the columns of the matrix."""
        check_is_fitted(self, "coef_")
        if self._features is None:
            return super().get_feature_names_out(input_features)
        return np.array(self._features.names(), dtype=object)

    def to_parts(self, features: Sequence[str] | None = None) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The model as values that JSON has, and arrays; with what it takes to find its features in a text."""
        header, arrays = super().to_parts(features)
        if isinstance(self._features, GramFeatures):
            own, more = saving.nested(persistence.to_parts(self._features.model), "features")
            return header | {"reads": own}, arrays | more
        if isinstance(self._features, WordFeatures):
            words = {"token_pattern": self._features.token_pattern, "lowercase": bool(self._features.lowercase)}
            return header | {"reads": words | {"kind": "words", "vocabulary": self._features.vocabulary}}, arrays
        return header | {"reads": None}, arrays

    @classmethod
    def from_parts(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], name: str) -> Self:
        """The other way; see LinearEstimator."""
        model = super().from_parts(header, arrays, name)
        reads = header.get("reads")
        require(model.loss in tuple(LOSSES), name)
        model._features = None
        if reads is not None:
            require(isinstance(reads, dict) and isinstance(model.language, str) and model.groups in UNITS, name)
            if reads.get("kind") == "words":
                words = WordFeatures(str(reads["token_pattern"]), bool(reads["lowercase"]))
                words.vocabulary = [str(word) for word in reads["vocabulary"]]
                model.token_pattern, model.lowercase = reads["token_pattern"], reads["lowercase"]
                model._features = words
            else:
                grams = persistence.from_parts(reads, saving.under(arrays, "features"), name)
                model.features, model._features = clone(grams), GramFeatures(grams)
            model._learnt_with = parameters_of(model)
            require(len(model._features.names()) == model.n_features_in_, name)
        return model

    @property
    def _has_probabilities(self) -> bool:
        """Of the log loss alone: that of the fit, or the one that is to be fitted with."""
        return bool(vars(self).get("_learnt_with", {}).get("loss", self.loss) == "log")

    def sentence_relevance(self, documents: Any, labels: Any = None) -> pd.DataFrame:
        """How much every sentence of some texts speaks for their label (§5.4): see :func:`relevance_table`.

        Parameters
        ----------
        documents : object
            Strings, or a table from :meth:`cut`.
        labels : object, default: None
            Of the documents; None for the predicted ones.

        Returns
        -------
        pandas.DataFrame
            A row a sentence.

        Raises
        ------
        ValueError for a label that is none of classes_, unless there is one for each document, and for a loss without
        probabilities.
        """
        check_is_fitted(self, "coef_")
        if not self._has_probabilities:
            raise InputError("what a sentence adds to the log-odds is known of the log loss alone.")
        table = documents if isinstance(documents, SentenceTable) else self.cut(documents)
        chosen = self.predict(table) if labels is None else np.asarray(labels)
        if chosen.shape != (table.n_documents,):
            raise InputError(f"there are {table.n_documents} documents but {chosen.size} labels.")
        unknown = sorted(set(chosen.tolist()) - set(self.classes_.tolist()), key=str)
        if unknown:
            raise InputError(f"the label {unknown[0]!r} is none of the model's classes.")
        return relevance_table(table, self._model, np.searchsorted(self.classes_, chosen), self.classes_)

    def __getstate__(self) -> dict[str, Any]:
        """K-grams as a model's file has them: what finds them in texts, without the corpus that they are of."""
        state = super().__getstate__()
        features = state.get("_features")
        if isinstance(features, GramFeatures):
            state["_features"] = GramFeatures(persistence.for_pickle(features.model))
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags


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
