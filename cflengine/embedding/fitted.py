"""What a network over word vectors that has been trained can do: cut texts, tell their classes, be written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from cflengine.embedding.identity import identity_sums
from cflengine.embedding.laws import WordLaws
from cflengine.embedding.penalties import word_discrepancy
from cflengine.embedding.settings import require_neural
from cflengine.embedding.training import predict_scores
from cflengine.embedding.words import count_words, form_numbers, left_out, longest_document, word_ids
from cflengine.engine.checks import InputError
from cflengine.linear import saving
from cflengine.linear.parameters import parameters_of, written_parameters
from cflengine.linear.saving import SavedModel
from cflengine.text.token_table import TokenTable
from cflengine.text.tokens import Tokenizer


class FittedEmbedding(SavedModel, ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, BaseEstimator):
    """The part of :class:`~cflengine.WordMMDEmbedding`, which describes the attributes, that comes after ``fit``."""

    n_threads: int | None
    classes_: np.ndarray
    words_: tuple[str, ...]
    vectors_: np.ndarray
    initial_vectors_: np.ndarray
    solver_reason_: str

    def cut(self, texts: Sequence[str]) -> np.ndarray:
        """Texts as the network takes them.

        Parameters
        ----------
        texts : Sequence[str]
            N texts.

        Returns
        -------
        numpy.ndarray
            int32 (N, L), the first L words of each text that are known, at most max_length, by their places in words_;
            −1 where a text has ended. Unknown words are left out, so that those around them are neighbours.
        """
        check_is_fitted(self, "vectors_")
        table = self._table(texts)
        return word_ids(table, self._number, min(self._learnt_with["max_length"], longest_document(table)))

    def _table(self, texts: Sequence[str]) -> TokenTable:
        if isinstance(texts, str):
            raise InputError("texts must be a list of strings, not one string.")
        return Tokenizer(self._learnt_with["token_pattern"], self._learnt_with["lowercase"])(list(texts))

    def decision_function(self, texts: Any) -> np.ndarray:
        """Scores of the classes, the network's logits.

        Parameters
        ----------
        texts : object
            N texts, or what :meth:`cut` made of them.

        Returns
        -------
        numpy.ndarray
            float64 (N, classes), in the order of classes_.

        Raises
        ------
        MissingPackageError without JAX; ValueError for what is neither texts nor made by :meth:`cut`.
        """
        check_is_fitted(self, "vectors_")
        require_neural()
        given, most = isinstance(texts, np.ndarray) and texts.ndim == 2, len(self.words_)
        if given and not (texts.dtype.kind == "i" and ((texts >= -1) & (texts < most)).all()):
            raise InputError("texts must be a list of strings, or what cut() made of one.")
        ids = texts if given else self.cut(texts)
        if not len(ids):
            return np.zeros((0, len(self.classes_)))
        return predict_scores(self._learnt_with["network"], self._net, self.vectors_, ids).astype(np.float64)

    def predict_proba(self, texts: Any) -> np.ndarray:
        """Probabilities of the classes.

        Parameters
        ----------
        texts : object
            As :meth:`decision_function` takes them.

        Returns
        -------
        numpy.ndarray
            float64 (N, classes), rows that sum to 1, in the order of classes_.
        """
        return np.asarray(softmax(self.decision_function(texts), axis=1))

    def predict(self, texts: Any) -> np.ndarray:
        """The class with the largest score.

        Parameters
        ----------
        texts : object
            As :meth:`decision_function` takes them.

        Returns
        -------
        numpy.ndarray
            (N,), of classes_.
        """
        scores = self.decision_function(texts)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def discrepancies(self, texts: Sequence[str], y: np.ndarray) -> dict[str, float]:
        """How far apart the classes of some texts are, by their words and by the vectors before and after training.

        Parameters
        ----------
        texts : Sequence[str]
            N texts.
        y : numpy.ndarray
            int64 (N,), their classes by number, from 0.

        Returns
        -------
        dict[str, float]
            wMMD², by Gaussian kernels of a width each: "words", of the words themselves, "before", of the vectors as
            they began, "after", as they are. NaN where a class has not two texts with a known word; "before" also of a
            model that was loaded, which does not know how its vectors began.
        """
        laws, begun = self._laws(texts, y), getattr(self, "initial_vectors_", None)
        if laws is None:
            return dict.fromkeys(("words", "before", "after"), float("nan"))
        return {
            "words": identity_sums(laws, "gaussian").total(),
            "before": float("nan") if begun is None else word_discrepancy(laws, begun, self.n_threads)[0],
            "after": word_discrepancy(laws, self.vectors_.astype(np.float64), self.n_threads)[0],
        }

    def word_discrepancy(self, texts: Sequence[str], y: np.ndarray) -> float:
        """How far apart the classes of some texts are by their words alone: every two as far apart as any other two.

        Parameters
        ----------
        texts : Sequence[str]
            N texts.
        y : numpy.ndarray
            int64 (N,), their classes by number, from 0.

        Returns
        -------
        float
            wMMD² with M = identity, by a Gaussian kernel of width √2; NaN where a class has not two texts with a known
            word.
        """
        laws = self._laws(texts, y)
        return float("nan") if laws is None else identity_sums(laws, "gaussian").total()

    def _laws(self, texts: Sequence[str], y: np.ndarray) -> WordLaws | None:
        """Of texts with a known word that is no stop word; None where a class has not two of them."""
        stops = left_out(self.words_, self._learnt_with["stop_words"], self._learnt_with["lowercase"])
        number = {word: k for k, word in enumerate(self.words_) if not stops[k]}
        table = self._table(texts)
        counts = count_words(table, form_numbers(table, number), len(self.words_))
        used = np.flatnonzero(np.diff(counts.indptr) > 0)
        if np.bincount(y[used], minlength=int(y.max()) + 1).min() < 2:
            return None
        return WordLaws.of(counts[used], y[used])

    def transform(self, texts: Sequence[str]) -> np.ndarray:
        """The mean vector of each text's words.

        Parameters
        ----------
        texts : Sequence[str]
            N texts.

        Returns
        -------
        numpy.ndarray
            float64 (N, r); zeros for a text without a known word.
        """
        check_is_fitted(self, "vectors_")
        table = self._table(texts)
        counts = count_words(table, form_numbers(table, self._number), len(self.words_))
        lengths = np.asarray(counts.sum(axis=1)).ravel()
        return np.asarray(counts @ self.vectors_.astype(np.float64)) / np.maximum(lengths, 1.0)[:, None]

    @property
    def _n_features_out(self) -> int:
        return int(self.vectors_.shape[1])

    def to_parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The model as values that JSON has, and arrays."""
        header = {
            "parameters": written_parameters(self) | {"dimension": self.vectors_.shape[1]},
            "classes": saving.plain_labels(self.classes_), "words": list(self.words_), "reason": self.solver_reason_,
        }  # fmt: skip
        return header, {"vectors": self.vectors_} | {f"net.{key}": np.asarray(one) for key, one in self._net.items()}

    def _set(self, classes: np.ndarray, words: tuple[str, ...], net: Mapping[str, Any], M: np.ndarray) -> None:
        self.classes_, self.words_, self.vectors_, self._learnt_with = classes, words, M, parameters_of(self)
        self._net = {key: np.asarray(one) for key, one in net.items()}
        self._number = {word: k for k, word in enumerate(words)}
