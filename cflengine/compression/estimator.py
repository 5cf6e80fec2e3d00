"""The scikit-learn face of compressive feature learning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from cflengine.compression.encoding import Codebook, Encoding, Gram, collect_pointers, decode
from cflengine.compression.feature_path import FeaturePath
from cflengine.compression.features import (
    check_weighting,
    count_matrix,
    document_frequency,
    inverse_document_frequency,
    weigh,
)
from cflengine.compression.guided_settings import GuidedSettings
from cflengine.compression.memory import state_bytes
from cflengine.compression.path import solve_path
from cflengine.compression.problem import StorageCosts, check_lam, mean_pointer_cost, storage_costs
from cflengine.compression.result import CompressionResult
from cflengine.compression.solvers import Settings, find_solver
from cflengine.engine.estimators import clone_sharing_listeners
from cflengine.engine.jit import threads
from cflengine.engine.memory import require_bytes
from cflengine.engine.progress import Listener
from cflengine.text.kgrams import MAX_GRAM, KGramIndex, index_kgrams
from cflengine.text.tokens import DEFAULT_TOKEN_PATTERN, Tokenizer, TokenTable, printable


class CompressiveFeatures(TransformerMixin, BaseEstimator):
    """Bag of K-grams whose K-grams are chosen by lossless compression, with a certified gap.

    ``fit`` finds a dictionary of K-grams and a set of pointers that reconstructs the documents at a low cost,
    pointer cost λ times the number of pointers plus the dictionary's cost (problem (1) of Paskov, Mitchell,
    Hastie, AISTATS 2014); ``transform`` encodes documents with that dictionary and counts pointers.

    Parameters
    ----------
    lam : cost of a pointer, λ ≥ 0. 0 keeps single words, large values keep long phrases.
    max_gram : K, the longest K-gram in words, 1 to 8.
    solver : "guided" (default), nearly optimal and fast; "homotopy" and "reweighting", the papers' algorithms; "exact",
        by HiGHS, for small corpora.
    token_pattern : regular expression; every match is a token.
    lowercase : lower-case tokens (offsets still point into the original text).
    weighting : "count", "tf", "idf" (count × idf) or "tf-idf"; idf from the documents of ``fit``.
    listeners : callables that get every :class:`~cflengine.IterationStats`; one that answers False ends the solve,
        and the best solution so far, with its certificate, is kept.
    random_state : accepted for scikit-learn's sake; the solver draws no random numbers.
    n_threads : threads of the compiled kernels; None for all cores. The result does not depend on it.
    pointer_cost : None for λ; or an array (K,), the cost of a pointer by length; or (K, n_tokens), by pointer of the
        documents of ``fit`` (unseen documents are then charged the mean of each length).
    dictionary_cost : c(s): "words" (default) or "characters" of a K-gram; or a callable that takes a tuple of words
        and returns a number; or an array over the K-grams of the index.
    literal_cost : cost of carrying one token of an unseen document that the dictionary cannot express; None for
        a pointer plus the storage of a word.
    settings : :class:`~cflengine.GuidedSettings`, HomotopySettings, ReweightingSettings or ExactSettings: every other
        parameter of the solver.
    polish : better the solution of the homotopy or of reweighting by the guided solver's local search.

    Attributes
    ----------
    result_ : :class:`~cflengine.compression.result.CompressionResult`: objective, lower_bound, gap, n_pointers,
        dictionary_size, reason, trace ...
    dictionary_ : DataFrame, a row a feature: gram (text), length, count (pointers), documents, cost.
    grams_ : list of tuples of words, the features in order.
    encoding_ : the pointers of the documents of ``fit``.
    gram_ids_ : int32 (features,), the features' numbers in ``index_``.
    idf_ : float64 (features,).
    index_, table_ : the K-gram index and the token table of the documents of ``fit``.

    Raises
    ------
    ValueError for invalid settings or documents without a single token; TypeError for documents that are not
    strings; MemoryLimitError, before any work, for a corpus that does not fit.
    """

    def __init__(
        self,
        lam: float = 1.0,
        max_gram: int = 3,
        solver: str = "guided",
        *,
        token_pattern: str = DEFAULT_TOKEN_PATTERN,
        lowercase: bool = True,
        weighting: str = "count",
        listeners: Sequence[Listener] = (),
        random_state: int | None = 0,
        n_threads: int | None = None,
        pointer_cost: np.ndarray | None = None,
        dictionary_cost: str | Callable[[Gram], float] | np.ndarray = "words",
        literal_cost: float | None = None,
        settings: Settings | None = None,
        polish: bool = False,
    ) -> None:
        self.lam = lam
        self.max_gram = max_gram
        self.solver = solver
        self.token_pattern = token_pattern
        self.lowercase = lowercase
        self.weighting = weighting
        self.listeners = listeners
        self.random_state = random_state
        self.n_threads = n_threads
        self.pointer_cost = pointer_cost
        self.dictionary_cost = dictionary_cost
        self.literal_cost = literal_cost
        self.settings = settings
        self.polish = polish

    def fit(self, X: Iterable[str], y: Any = None) -> CompressiveFeatures:
        """Learn the dictionary from documents ``X`` (strings). ``y`` is ignored."""
        self._check_settings()
        documents = _documents(X)
        return self.fit_tokens(self._tokenizer()(documents))

    def fit_tokens(self, table: TokenTable) -> CompressiveFeatures:
        """``fit`` for documents already cut into tokens (by this pattern, if ``transform`` is to follow)."""
        self.prepare(table)
        solver = find_solver(self.solver)
        result = solver.solve(
            self.index_,
            self._costs,
            solver.check(self.settings, polish=self.polish),
            listeners=self.listeners,
            n_threads=self.n_threads,
            lam=float(self.lam),
        )
        return self.adopt(self, self._costs, result)

    def path(self, X: Iterable[str] | TokenTable, lams: Iterable[float]) -> FeaturePath:
        """Fit for every λ in ``lams`` (any order), each from its neighbours; far cheaper than one by one.

        X: documents, or a token table. The guided solver's; ``lam`` of the estimator is left aside. Raises ValueError
        as ``fit`` does, and for another solver or costs given by pointer.
        """
        if self.solver != "guided":
            raise ValueError(f"a path is the guided solver's; solver is {self.solver!r}.")
        if self.pointer_cost is not None:
            raise ValueError("a path varies the pointer cost λ; pointer_cost must be None.")
        self.prepare(X if isinstance(X, TokenTable) else self._tokenizer()(_documents(X)))
        settings = self.settings if isinstance(self.settings, GuidedSettings) else None
        points = solve_path(
            self.index_, lams, settings, costs_at=self.costs_at, listeners=self.listeners, n_threads=self.n_threads
        )
        return FeaturePath(self, points)

    def prepare(self, table: TokenTable) -> None:
        """Check and index a corpus, and price its K-grams: all that comes before the solver."""
        self._check_settings()
        if table.n_tokens == 0:
            raise ValueError(
                "the documents hold no token: nothing to compress (are they empty, or is the pattern wrong?)."
            )
        require_bytes(
            state_bytes(table.n_tokens, self.max_gram, self.solver, grams_per_token=0.2 * self.max_gram),
            f"Compressing {table.n_tokens:,} tokens with K = {self.max_gram}",
            "take fewer documents or a smaller K.",
        )
        self.table_ = table
        self.index_ = index_kgrams(table.tokens, table.doc_ptr, self.max_gram)
        self._costs = self._storage_costs(self.index_)

    def share_corpus(self, other: CompressiveFeatures) -> None:
        """Be prepared for the corpus that ``other`` is prepared for or fitted to, without copying it."""
        self.table_, self.index_, self._costs = other.table_, other.index_, other._costs

    def costs_at(self, lam: float) -> StorageCosts:
        """The prepared corpus's costs with another pointer cost; the dictionary's stay."""
        index = self.index_
        return storage_costs(
            index.gram_of, index.lengths(), lam, pointer_cost=self.pointer_cost, dictionary_cost=self._costs.dictionary
        )

    def adopt(
        self, prepared: CompressiveFeatures, costs: StorageCosts, result: CompressionResult
    ) -> CompressiveFeatures:
        """Be fitted with a result for a corpus that ``prepared`` has indexed, at the costs it was solved for."""
        self.share_corpus(prepared)
        self._costs, self.result_ = costs, result
        self._set_dictionary()
        return self

    def transform(self, X: Iterable[str]) -> sparse.csr_matrix | pd.DataFrame:
        """Documents to features: CSR (documents, features), or a sparse DataFrame under ``set_output``."""
        check_is_fitted(self, "result_")
        return self._output(self.encode(X))

    def fit_transform(self, X: Iterable[str], y: Any = None) -> sparse.csr_matrix | pd.DataFrame:
        """``fit`` and the features of the same documents, without encoding them again."""
        self.fit(X, y)
        return self._output(self.encoding_)

    def encode(self, X: Iterable[str]) -> Encoding:
        """The cheapest pointers for each document, given the dictionary; words it lacks become literals."""
        check_is_fitted(self, "result_")
        with threads(self.n_threads):
            encoding, _ = self._codebook.encode(self._tokenizer()(_documents(X)))
        return encoding

    def decode(self, encoding: Encoding) -> list[list[str]]:
        """Pointers back to token lists: ``decode(encode(X))`` gives the token forms of X exactly."""
        check_is_fitted(self, "result_")
        return decode(encoding, self.grams_)

    def weigh(self, encoding: Encoding, weighting: str | None = None) -> sparse.csr_matrix:
        """The features of encoded documents, CSR (documents, features); ``weighting`` defaults to the model's own."""
        check_is_fitted(self, "result_")
        return weigh(count_matrix(encoding, len(self.grams_)), weighting or self.weighting, self.idf_)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The K-grams, words joined by blanks: object array (features,)."""
        check_is_fitted(self, "result_")
        return self.dictionary_["gram"].to_numpy(dtype=object)

    def _check_settings(self) -> None:
        check_lam(self.lam)
        check_weighting(self.weighting)
        if not isinstance(self.max_gram, Integral) or not 1 <= self.max_gram <= MAX_GRAM:
            raise ValueError(f"max_gram must be a whole number from 1 to {MAX_GRAM}, not {self.max_gram!r}.")
        find_solver(self.solver).check(self.settings, polish=self.polish)
        literal = self.literal_cost
        if literal is not None and not (isinstance(literal, Real) and 0 <= literal < np.inf):
            raise ValueError(f"literal_cost must be a number of at least 0 or None, not {literal!r}.")

    def _tokenizer(self) -> Tokenizer:
        return Tokenizer(self.token_pattern, self.lowercase)

    def _storage_costs(self, index: KGramIndex) -> StorageCosts:
        return storage_costs(
            index.gram_of,
            index.lengths(),
            self.lam,
            pointer_cost=self.pointer_cost,
            dictionary_cost=self._dictionary_cost(index),
        )

    def _dictionary_cost(self, index: KGramIndex) -> np.ndarray | None:
        """c(s) for every K-gram of the index; None for the number of words."""
        cost = self.dictionary_cost
        if isinstance(cost, str):
            if cost == "words":
                return None
            if cost != "characters":
                raise ValueError(
                    f"dictionary_cost must be 'words', 'characters', a callable or an array, not {cost!r}."
                )
        if callable(cost) or isinstance(cost, str):
            price = cost if callable(cost) else _characters
            grams = self._words_of(np.arange(index.n_grams))
            return np.fromiter((price(gram) for gram in grams), np.float64, len(grams))
        return np.asarray(cost, dtype=np.float64)

    def _words_of(self, grams: np.ndarray) -> list[Gram]:
        """K-grams of the index as tuples of words."""
        index, words = self.index_, self.table_.vocabulary
        first = index.first_positions(grams).tolist()
        lengths = np.searchsorted(index.len_ptr, grams, side="right").tolist()
        tokens = index.tokens
        return [tuple(words[t] for t in tokens[i : i + k]) for i, k in zip(first, lengths, strict=True)]

    def _set_dictionary(self) -> None:
        """Features in alphabetical order, the pointers of the corpus in their terms, and the codebook."""
        chosen = self.result_.dictionary
        grams = self._words_of(chosen)
        order = sorted(range(len(grams)), key=grams.__getitem__)
        self.grams_ = [grams[i] for i in order]
        self.gram_ids_ = chosen[order]
        feature_of = np.full(self.index_.n_grams, -1, dtype=np.int32)
        feature_of[self.gram_ids_] = np.arange(len(order), dtype=np.int32)
        encoding = collect_pointers(self.result_.marks, self.index_.gram_of, self.table_)
        encoding.gram[:] = feature_of[encoding.gram]
        self.encoding_ = encoding
        counts = count_matrix(encoding, len(order))
        frequency = document_frequency(counts)
        self.idf_ = inverse_document_frequency(frequency, encoding.n_documents)
        self.dictionary_ = pd.DataFrame(
            {
                "gram": _names(self.grams_),
                "length": np.array([len(gram) for gram in self.grams_], dtype=np.int8),
                "count": np.bincount(encoding.gram, minlength=len(order)),
                "documents": frequency,
                "cost": self._costs.dictionary[chosen[order]],
            }
        )
        by_length = mean_pointer_cost(self._costs, self.index_.gram_of)
        literal = by_length[0] + 1.0 if self.literal_cost is None else self.literal_cost
        self._codebook = Codebook(self.grams_, by_length, literal)

    def _output(self, encoding: Encoding) -> sparse.csr_matrix | pd.DataFrame:
        features = self.weigh(encoding)
        # scikit-learn refuses to wrap a sparse matrix for pandas, so it is made a sparse frame here
        if _get_output_config("transform", self)["dense"] == "pandas":
            return pd.DataFrame.sparse.from_spmatrix(features, columns=self.get_feature_names_out())
        return features

    def __sklearn_clone__(self) -> CompressiveFeatures:
        return clone_sharing_listeners(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.target_tags.required = False
        return tags


def _documents(X: Iterable[str]) -> list[str]:
    """The documents as a list; a single string is a mistake often made, and said so."""
    if isinstance(X, str | bytes):
        raise TypeError("X must be a sequence of documents (strings), not one string.")
    if isinstance(X, pd.DataFrame):
        raise TypeError("X must be one column of texts; pass frame['text'], not the whole frame.")
    return list(X)


def _characters(gram: Gram) -> float:
    """What storing a K-gram as plain text takes: its letters and the blanks between its words."""
    return float(len(" ".join(gram)))


def _names(grams: list[Gram]) -> list[str]:
    """Words joined by blanks, as :func:`printable`; a name that would stand twice gets a number."""
    seen: dict[str, int] = {}
    names = []
    for gram in grams:
        name = " ".join(map(printable, gram))
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names
