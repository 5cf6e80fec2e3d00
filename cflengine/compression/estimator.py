"""The scikit-learn face of compressive feature learning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone

from cflengine.compression import saved
from cflengine.compression.checkpoint import Known, check_known
from cflengine.compression.cutting import Cutter, cutter_of, of_subwords
from cflengine.compression.feature_path import FeaturePath
from cflengine.compression.fitted import FittedFeatures
from cflengine.compression.model.corpus import DictionaryCost, PreparedCorpus, dictionary_costs
from cflengine.compression.model.problem import StorageCosts
from cflengine.compression.model.result import CompressionResult
from cflengine.compression.parameters import check_parameters
from cflengine.compression.shards.settings import ShardedSettings
from cflengine.compression.solvers.guided.settings import GuidedSettings
from cflengine.compression.solvers.lambda_path import PATH_SETTINGS, solve_path
from cflengine.compression.solvers.memory import require_memory
from cflengine.compression.solvers.registry import SOLVERS, Settings
from cflengine.engine.checks import InputError
from cflengine.engine.estimators import clone_sharing_listeners, seed_of
from cflengine.engine.progress import Listener, Watch
from cflengine.text.kgrams import Indexer, index_kgrams
from cflengine.text.stored import as_documents
from cflengine.text.tokens import DEFAULT_TOKEN_PATTERN, TokenTable


class CompressiveFeatures(FittedFeatures):
    """Bag of K-grams whose K-grams are chosen by lossless compression, with a certified gap.

    ``fit`` finds a dictionary of K-grams and a set of pointers that reconstructs the documents at a low cost,
    pointer cost λ times the number of pointers plus the dictionary's cost (problem (1) of Paskov, Mitchell,
    Hastie, AISTATS 2014); ``transform`` encodes documents with that dictionary and counts pointers, or counts otherwise
    (``counting``): the paper's counts are brittle, and for learning every occurrence is usually worth more.

    Parameters
    ----------
    lam : float, default: 1.0
        cost of a pointer, λ ≥ 0. 0 keeps single words, large values keep long phrases.
    max_gram : int, default: 3
        K, the longest K-gram in words, 1 to 8.
    solver : str, default: 'guided'
        "guided", nearly optimal and fast; "homotopy" and "reweighting", the papers' algorithms; "relay", the homotopy
        and then the guided solver; "sharded", guided in parts that wait on disk; "exact", HiGHS, for small corpora.
    tokens : str or SubwordTokenizer, default: 'words'
        "words", by ``token_pattern``; or a :class:`~cflengine.SubwordTokenizer` ("subword": with its defaults), a copy
        of which ``fit`` trains under its own time limit; in scikit-learn's FrozenEstimator it is used as it is.
    token_pattern : str, default: '\\w+|[^\\w\\s]'
        Regular expression; every match is a token.
    lowercase : bool, default: True
        lower-case tokens (offsets still point into the original text). Subwords leave it, and the pattern, aside.
    sentence_borders : bool, default: False
        Whether K-grams stay within sentences, found by sentencex; blank lines always end one.
    weighting : str, default: 'count'
        "count", "tf", "idf" (count × idf), "tf-idf" or "damped" (√count × idf, documents scaled to length 1); idf from
        the documents of ``fit``.
    counting : str, default: 'pointers'
        "pointers", the paper's; "occurrences", of every K-gram of the dictionary, overlapping ones too; or "soft",
        expected uses over all encodings (:mod:`~cflengine.compression.counting`).
    temperature : float, default: 3.0
        Of "soft", above 0; near 0 the encodings of fewest pointers count, at large values all alike.
    listeners : Sequence[Listener], default: ()
        Callables that get every :class:`~cflengine.IterationStats`; one that answers False ends the solve, and the best
        solution so far, with its certificate, is kept.
    random_state : int or np.random.RandomState or None, default: 0
        Whole number, None (one is drawn) or numpy's RandomState: the seed of the guided solver where ``settings`` are
        None; ``result_.settings`` tells which. The same number gives the same bytes. Other solvers draw nothing.
    n_threads : int or None, default: None
        Threads of the compiled kernels; None for all cores. The result does not depend on it.
    pointer_cost : ndarray or None, default: None
        None for λ; or an array (K,), the cost of a pointer by length; or (K, n_tokens), by pointer of the documents of
        ``fit`` (unseen documents are then charged the mean of each length).
    dictionary_cost : DictionaryCost, default: 'words'
        c(s): "words" (default) or "characters" of a K-gram; or a callable that takes a tuple of words and returns a
        number; or an array over the K-grams of the index.
    plain_cost : float or None, default: None
        None; or External Macro Data Compression (§3.2): a single word stands in the text as it is, at this cost, and
        needs no entry; all other pointers cost λ, and c(s) is the number of words.
    literal_cost : float or None, default: None
        Cost of carrying one token of an unseen document that the dictionary cannot express; None for a pointer plus the
        storage of a word, and for 3 where ``counting`` is "soft", whose pointers cost 1.
    settings : Settings or None, default: None
        :class:`~cflengine.GuidedSettings`, HomotopySettings, ReweightingSettings, RelaySettings, ShardedSettings or
        ExactSettings: every other parameter of the solver, random_state included.
    polish : bool, default: False
        Improve the solution of the homotopy or of reweighting by the guided solver's local search.

    Attributes
    ----------
    result_ : :class:`~cflengine.compression.model.result.CompressionResult`: objective, lower_bound, gap, n_pointers,
        dictionary_size, reason, trace ...
    duality_gap_ : proved, that of ``result_``.
    dictionary_ : DataFrame, a row a feature: gram (text), length, count (pointers), documents, cost.
    grams_ : list of tuples of words, the features in order.
    encoding_ : the pointers of the documents of ``fit``.
    gram_ids_ : int32 (features,), the features' numbers in ``index_``.
    idf_ : float64 (features,), as ``counting`` finds the features in the documents of ``fit``.
    corpus_ : :class:`~cflengine.compression.model.corpus.PreparedCorpus`, the documents of ``fit`` as tokens, with the
        index of their K-grams and its prices; frozen. index_, table_ : its index and tokens.

    Raises
    ------
    ValueError for invalid settings or documents without a single token; TypeError for documents that are not
    strings; MemoryLimitError, before any work, for a corpus that does not fit.
    """

    kind = "k-grams"

    def __init__(
        self,
        lam: float = 1.0,
        max_gram: int = 3,
        solver: str = "guided",
        *,
        tokens: str | Any = "words",
        token_pattern: str = DEFAULT_TOKEN_PATTERN,
        lowercase: bool = True,
        sentence_borders: bool = False,
        weighting: str = "count",
        counting: str = "pointers",
        temperature: float = 3.0,
        listeners: Sequence[Listener] = (),
        random_state: int | np.random.RandomState | None = 0,
        n_threads: int | None = None,
        pointer_cost: np.ndarray | None = None,
        dictionary_cost: DictionaryCost = "words",
        plain_cost: float | None = None,
        literal_cost: float | None = None,
        settings: Settings | None = None,
        polish: bool = False,
    ) -> None:
        self.lam = lam
        self.max_gram = max_gram
        self.solver = solver
        self.tokens = tokens
        self.token_pattern = token_pattern
        self.lowercase = lowercase
        self.sentence_borders = sentence_borders
        self.weighting = weighting
        self.counting = counting
        self.temperature = temperature
        self.listeners = listeners
        self.random_state = random_state
        self.n_threads = n_threads
        self.pointer_cost = pointer_cost
        self.dictionary_cost = dictionary_cost
        self.plain_cost = plain_cost
        self.literal_cost = literal_cost
        self.settings = settings
        self.polish = polish

    def fit(self, X: Iterable[str] | TokenTable, y: Any = None) -> CompressiveFeatures:
        """Learn the dictionary.

        Parameters
        ----------
        X : Iterable[str] or TokenTable
            The documents, or their tokens.
        y : object, default: None
            Not read.

        Returns
        -------
        CompressiveFeatures
            Itself.

        Raises
        ------
        ValueError for wrong settings, or documents without a token; TypeError for documents that are no strings;
        MemoryLimitError, before any work, for a corpus that does not fit.
        """
        table, cutter = self._cut(X)
        return self.fit_tokens(table, cutter=cutter)

    def tokenize(self, X: Iterable[str] | TokenTable, watch: Watch | None = None) -> TokenTable:
        """Documents as tokens, as ``fit`` cuts them.

        Parameters
        ----------
        X : Iterable[str] or TokenTable
            Documents; tokens are returned as they are.
        watch : Callable or None, default: None
            Told how many documents are done.

        Returns
        -------
        TokenTable
            The tokens.
        """
        return self._cut(X, watch)[0]

    def _cut(self, X: Iterable[str] | TokenTable, watch: Watch | None = None) -> tuple[TokenTable, Cutter | None]:
        """Documents as tokens, and what cut them: None where they are tokens."""
        self._check_settings()
        if isinstance(X, TokenTable):
            return X, None
        texts = as_documents(X)
        cutter = cutter_of(self, texts, watch)
        return cutter(texts, watch), cutter

    def fit_tokens(
        self,
        table: TokenTable,
        known: Known | None = None,
        watch: Watch | None = None,
        indexer: Indexer = index_kgrams,
        *,
        cutter: Cutter | None = None,
    ) -> CompressiveFeatures:
        """``fit`` for documents already cut into tokens (by this pattern, if ``transform`` is to follow).

        Parameters
        ----------
        table : TokenTable
            The tokens.
        known : tuple or None, default: None
            A solution of these documents, uint8 (n,), and dual prices, (n,), to begin from
            (:mod:`~cflengine.compression.checkpoint`).
        watch : Callable or None, default: None
            Told how far what comes before the solver's first event is, and asked whether to go on.
        indexer : Callable, default: index_kgrams
            Takes the place of :func:`~cflengine.text.kgrams.index_kgrams`.
        cutter : Callable or None, default: None
            What cut the documents, and is to cut those of ``transform``; None for the pattern.

        Returns
        -------
        CompressiveFeatures
            Itself.

        Raises
        ------
        Stopped where ``watch`` says no; ValueError where what is known is no solution of these documents, or where the
        solver cannot begin from it.
        """
        corpus = self.prepare(table, watch, indexer, cutter=cutter)
        solver = SOLVERS.find(self.solver)
        if known is not None and not solver.can("warm start"):
            raise InputError(f"the solver {self.solver!r} cannot begin from a solution that is known.")
        if known is not None:
            check_known(known, corpus.index)
        result = solver.solve(
            corpus.index,
            corpus.costs(float(self.lam)),
            self._solver_settings(),
            listeners=self.listeners,
            n_threads=self.n_threads,
            lam=float(self.lam),
            **({} if known is None else {"known": [known]}),
            **({"watch": watch} if solver.can("watch") else {}),
        )
        return self.adopt(corpus, result)

    def path(self, X: Iterable[str] | TokenTable, lams: Iterable[float]) -> FeaturePath:
        """Fit for every λ, each from its neighbours; far cheaper than one by one. Nothing that was fitted changes.

        Parameters
        ----------
        X : Iterable[str] or TokenTable
            The documents, or their tokens.
        lams : Iterable[float]
            Every λ, in any order; ``lam`` of the estimator is left aside.

        Returns
        -------
        FeaturePath
            A model for each λ; the guided solver's.

        Raises
        ------
        ValueError as ``fit`` does, and for another solver or costs given by pointer.
        """
        if self.solver != "guided":
            raise InputError(f"a path is the guided solver's; solver is {self.solver!r}.")
        if self.pointer_cost is not None:
            raise InputError("a path varies the pointer cost λ; pointer_cost must be None.")
        table, cutter = self._cut(X)
        corpus = self.prepare(table, cutter=cutter)
        settings = self.settings if isinstance(self.settings, GuidedSettings) else None
        settings = settings or replace(PATH_SETTINGS, random_state=seed_of(self.random_state))
        points = solve_path(
            corpus.index, lams, settings, costs_at=corpus.costs, listeners=self.listeners, n_threads=self.n_threads
        )
        return FeaturePath(clone(self), corpus, points)

    def prepare(
        self,
        table: TokenTable,
        watch: Watch | None = None,
        indexer: Indexer = index_kgrams,
        *,
        cutter: Cutter | None = None,
    ) -> PreparedCorpus:
        """Check and index a corpus, and price its K-grams: all that comes before the solver. Nothing is fitted.

        Parameters
        ----------
        table : TokenTable
            The tokens.
        watch : Callable or None, default: None
            As for :meth:`fit_tokens`.
        indexer : Callable, default: index_kgrams
            As for :meth:`fit_tokens`.
        cutter : Callable or None, default: None
            As for :meth:`fit_tokens`.

        Returns
        -------
        PreparedCorpus
            Tokens, index and costs, which do not change.

        Raises
        ------
        ValueError for wrong settings, or no token; MemoryLimitError, before any work, for a corpus that does not fit.
        """
        self._check_settings()
        if cutter is None and of_subwords(self):
            raise InputError("tokens stand for subwords of documents: give the documents, or leave tokens at 'words'.")
        max_gram = int(self.max_gram)
        if table.n_tokens == 0:
            raise InputError(
                "the documents hold no token: nothing to compress (are they empty, or is the pattern wrong?)."
            )
        settings, longest = self._solver_settings(), int(np.diff(table.segment_ptr).max())
        require_memory(table.n_tokens, max_gram, longest, self.solver, settings)
        place = settings.place if isinstance(settings, ShardedSettings) else {}
        index = indexer(table.tokens, table.segment_ptr, max_gram, watch=watch, **place)
        stored = dictionary_costs(self.dictionary_cost, table, index)
        pointer_cost = None if self.pointer_cost is None else np.array(self.pointer_cost)
        corpus = PreparedCorpus(table, index, stored, pointer_cost, self.plain_cost, cutter)
        corpus.costs(float(self.lam))  # refuses costs that are none
        return corpus

    def costs_at(self, lam: float) -> StorageCosts:
        """The fitted corpus's costs with another pointer cost; the dictionary's stay.

        Parameters
        ----------
        lam : float
            λ, at least 0.

        Returns
        -------
        StorageCosts
            Of the fitted corpus.
        """
        return self.corpus_.costs(lam)

    def adopt(self, corpus: PreparedCorpus, result: CompressionResult) -> CompressiveFeatures:
        """Be fitted with a result for a prepared corpus at λ = ``lam``. All at once: what stops it changes nothing."""
        fitted = self._state(corpus, replace(result, digest=corpus.digest))
        self.__dict__.update(fitted)
        return self

    def fit_transform(self, X: Iterable[str] | TokenTable, y: Any = None) -> sparse.csr_matrix | pd.DataFrame:
        """``fit`` and the features of the same documents, without encoding them again.

        Parameters
        ----------
        X : Iterable[str] or TokenTable
            The documents, or their tokens.
        y : object, default: None
            Not read.

        Returns
        -------
        scipy.sparse.csr_matrix or pandas.DataFrame
            As :meth:`transform` answers.
        """
        return self._output(self.fit(X, y).features(), X)

    def to_parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The features as values that JSON has, and arrays."""
        return saved.parts_of(self)

    @classmethod
    def from_parts(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], name: str) -> CompressiveFeatures:
        """The other way; name: of the file. Raises ModelFileError where the parts do not fit together."""
        return saved.features_of(cls, header, arrays, name)

    def _check_settings(self) -> None:
        check_parameters(self)
        self._solver_settings()

    def _solver_settings(self) -> Settings:
        """The settings given, or the solver's own with this seed. ValueError for another solver's."""
        solver = SOLVERS.find(self.solver)
        own = {"random_state": seed_of(self.random_state)} if hasattr(solver.settings, "random_state") else {}
        return solver.check(self.settings, polish=self.polish, **own)

    def __sklearn_clone__(self) -> CompressiveFeatures:
        return clone_sharing_listeners(self)
