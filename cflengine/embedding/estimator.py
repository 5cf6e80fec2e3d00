"""The word-level two-sample statistic with scikit-learn's manners."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import pandas as pd
from sklearn.base import BaseEstimator

from cflengine.embedding.comparison import PERMUTATIONS, CompareSettings, Comparison, compare
from cflengine.embedding.pairs import FarVectorError
from cflengine.embedding.words import read_words
from cflengine.engine.checks import InputError, check_positive, check_whole, is_number
from cflengine.engine.estimators import all_or_nothing, clone_sharing_listeners, seed_of
from cflengine.engine.progress import IterationStats, Listener, Progress, Stopped
from cflengine.text.token_table import WORD_PATTERN


class WordMMD(BaseEstimator):
    """Whether, and by which words, classes of documents differ in the law of their words' vectors.

    The word-level maximum mean discrepancy wMMD² (Gao, Dai, JASA 2025), extended to documents of unequal length: see
    :mod:`cflengine.embedding.problem`. The estimate is unbiased where vectors and width do not depend on these
    documents; the permutation test is valid also where they do, as long as labels play no part in them.

    Parameters
    ----------
    kernel : str, default: 'gaussian'
        "gaussian", "laplace" or "linear", which sees a difference of means alone.
    width : float or Sequence[float] or None, default: None
        None: the square root of the median squared distance of two words of different documents; a number; or several,
        of which the kernel is the average.
    n_permutations : int, default: 999
        Of the test; 0 for none.
    random_features : int or None, default: None
        None: exact; a number of random Fourier frequencies: O(V r) each, with ``approximation_error_``.
    n_components : int, default: 50
        Dimensions of vectors that are learnt from the documents, where ``fit`` is given none.
    stop_words : object, default: None
        None, "english" or a list: words that are left out.
    min_count : int, default: 1
        Occurrences below which a word is left out.
    token_pattern : str, default: '\\w+'
        What a word is.
    lowercase : bool, default: True
        What a word is.
    random_state : object, default: 0
        Of permutations, random features, drawn pairs.
    n_threads : int or None, default: None
        None for all cores.
    time_limit : float or None, default: None
        Seconds, None for no limit: it cuts the permutations short, and before those are begun the fit.
    listeners : Sequence[Listener], default: ()
        Get an event a stage; False ends the fit, and from "permutations" on what is known stays.

    Attributes
    ----------
    statistic_ : wMMD², summed over pairs of classes; it may be below 0, being unbiased.
    p_value_ : (1 + #{permuted ≥ observed}) / (1 + n_permutations_), NaN without permutations; n_permutations_ : done;
        null_ : float64, the permuted statistics. null_kernel_ : "exact" or "random features" (of more than 8,000
        documents).
    interval_ : 95 %, by the jackknife over documents; NaN where a class has two documents.
    witness_ : DataFrame, a row a word, the largest contribution first: word, class, witness, contribution, shares; of
        several classes a mapping from pairs of labels.
    pairwise_ : DataFrame, a row a pair of classes: statistic, interval, p_value, identity (M = identity).
    identity_ : dict: statistic, width and p_value of the words themselves, every two as far apart as any others.
    width_ : of the kernel (NaN: linear); approximation_error_ : standard error by random features, 0.0 where exact.
    words_ : LabelledWords: what took part, what was left out. classes_ ; kernel_. comparison_ : all of it as one frozen
        result.

    Raises
    ------
    ValueError for labels of one class, a class with fewer than two documents of words with vectors, vectors that cannot
    be used, a median distance of zero; MemoryLimitError; Stopped.
    """

    def __init__(
        self,
        kernel: str = "gaussian",
        width: float | Sequence[float] | None = None,
        *,
        n_permutations: int = 999,
        random_features: int | None = None,
        n_components: int = 50,
        stop_words: Any = None,
        min_count: int = 1,
        token_pattern: str = WORD_PATTERN,
        lowercase: bool = True,
        random_state: Any = 0,
        n_threads: int | None = None,
        time_limit: float | None = None,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.kernel = kernel
        self.width = width
        self.n_permutations = n_permutations
        self.random_features = random_features
        self.n_components = n_components
        self.stop_words = stop_words
        self.min_count = min_count
        self.token_pattern = token_pattern
        self.lowercase = lowercase
        self.random_state = random_state
        self.n_threads = n_threads
        self.time_limit = time_limit
        self.listeners = listeners

    @all_or_nothing
    def fit(self, texts: Sequence[str], labels: Any, vectors: Any = None) -> WordMMD:
        """Compare the classes of labelled texts.

        Parameters
        ----------
        texts : object
            Strings.
        labels : object
            (texts,), classes.
        vectors : object, default: None
            A mapping from words to vectors, a pair (words, float64 (V, r)), the path of a file (word2vec or GloVe text,
            npz), or None: learnt from these texts.

        Returns
        -------
        WordMMD
            Itself.

        Raises
        ------
        ValueError for one class, a class with fewer than two documents that have a word, or vectors that are none.
        """
        check_whole(self, {"n_components": 1, "min_count": 1})
        check_positive(self, ("time_limit",), optional=("time_limit",))
        progress, seed = Progress(self.listeners, time_limit=self.time_limit), seed_of(self.random_state)
        settings = CompareSettings(
            kernel=self.kernel, widths=_widths(self.width), n_permutations=self.n_permutations,
            random_features=self.random_features, random_state=seed, n_threads=self.n_threads,
        )  # fmt: skip
        stage = _Stages(progress)
        stage("words and vectors")
        words = read_words(
            texts, labels, vectors, token_pattern=self.token_pattern, lowercase=self.lowercase,
            stop_words=self.stop_words, min_count=self.min_count, dimension=self.n_components, seed=seed,
            poll=progress.poll,
        )  # fmt: skip
        try:
            found = compare(words, settings, on_stage=stage, poll=progress.poll)
        except FarVectorError as error:
            raise error.about(words.vectors.words) from None
        self.comparison_, self.words_, self.classes_, self.kernel_ = found, words, words.classes, found.kernel
        self.statistic_, self.interval_, self.p_value_ = found.statistic, found.interval, found.p_value
        self.n_permutations_, self.null_, self.null_kernel_ = found.n_permutations, found.null, found.null_kernel
        self.pairwise_, self.identity_ = found.pairwise, found.identity
        self.width_ = found.kernel.widths[0] if found.kernel.widths else math.nan
        self.approximation_error_ = found.approximation_error
        self.witness_ = found.witness() if len(words.classes) == 2 else Witnesses(found)
        return self

    def __sklearn_clone__(self) -> Any:
        return clone_sharing_listeners(self)


def _widths(width: Any) -> tuple[float, ...]:
    """None, a number or several as a tuple."""
    if width is None or is_number(width):
        return () if width is None else (width,)
    if isinstance(width, str) or not isinstance(width, Iterable):
        raise InputError(f"width must be None, a number or several of them, not {width!r}.")
    widths = tuple(width)
    if not widths or isinstance(width, Mapping):
        raise InputError(f"width must be None, a number or several of them, not {width!r}.")
    return widths


class Witnesses(Mapping[tuple[Any, Any], pd.DataFrame]):
    """The witness functions of pairs of labels, each made when it is asked for: classes may be many, words more.

    A pair may be asked for either way round; pairs are gone through once, labels in order.
    """

    def __init__(self, found: Comparison) -> None:
        self._found = found
        classes = found.words.classes.tolist()
        self._pairs = {(classes[a], classes[b]): (a, b) for a, b in combinations(range(len(classes)), 2)}

    def __getitem__(self, labels: tuple[Any, Any]) -> pd.DataFrame:
        if labels in self._pairs or not isinstance(labels, tuple):
            return self._found.witness(*self._pairs[labels])
        a, b = self._pairs[labels[::-1]]
        return self._found.witness(b, a)  # −h

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)


class _Stages:
    """Tells listeners which part of a fit begins."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.count = progress, 0

    def __call__(self, stage: str) -> None:
        self.count += 1
        going = self.progress.report(IterationStats(self.count, stage, self.progress.elapsed_s))
        if not going and stage != PERMUTATIONS:  # at which the statistic is known: it is kept, without a test
            raise Stopped(stage)
