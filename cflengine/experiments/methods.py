"""Methods: ways from documents to features, each a series of candidates among which a target's own documents choose.

    unigrams                     words (λ = 0)
    tf_idf                       words as most people weight them: count × idf, scaled to length 1
    all_kgrams                   every K-gram that occurs
    compressed:pointers          dictionaries of every λ, counted as the paper does
    compressed:occurrences       the same, every occurrence counted
    compressed:soft              the same, expected uses over all encodings, at several temperatures
    compressed:several           the dictionaries of all λ together, occurrences
    kgrams:SCORE                 K-grams of two or more documents, the best by a score (rivals.py), some sizes
    kgrams:SCORE:equal           the same, as many as the best compressed candidate has
    phrases:gensim, phrases:bpe  where installed, at several thresholds and numbers of merges
    phrases:bpe:equal            as many words and phrases as the best compressed candidate has features

No method but kgrams:SCORE looks at a label.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from cflengine.compression.counting import COUNTINGS, check_counting, count_occurrences
from cflengine.compression.estimator import CompressiveFeatures
from cflengine.compression.model.corpus import words_of
from cflengine.compression.model.problem import check_lam
from cflengine.engine.checks import InputError, check_positive, check_whole
from cflengine.experiments import rivals
from cflengine.experiments.dictionaries import DictionaryPath, together
from cflengine.linear.weighting import check_weighting
from cflengine.text.kgrams import KGramIndex
from cflengine.text.token_table import check_pattern
from cflengine.text.tokens import TokenTable, printable

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
TEMPERATURES = (0.5, 3.0)
METHOD_NAMES = {
    "unigrams": "words", "tf_idf": "words, tf-idf", "all_kgrams": "all K-grams",
    "compressed:pointers": "compressed, pointers (the paper's)", "compressed:occurrences": "compressed, occurrences",
    "compressed:soft": "compressed, soft counts", "compressed:several": "compressed, all λ together",
    "phrases:gensim": "gensim phrases", "phrases:bpe": "byte pairs over words",
    "phrases:bpe:equal": "byte pairs, same number", "baseline": "guessing",
}  # fmt: skip
_SCORES = {
    "document_frequency": "most frequent K-grams", "chi2": "K-grams by χ²", "l1": "K-grams by ℓ1",
    "mutual_information": "K-grams by information gain", "f_test": "K-grams by an F test",
}  # fmt: skip
UNIGRAMS, TF_IDF, ALL_KGRAMS, SEVERAL = "unigrams", "tf_idf", "all_kgrams", "compressed:several"
_MOST_ENTRIES = 400_000_000  # of a matrix of all K-grams, 12 bytes each


def method_name(method: str) -> str:
    """A method in words.

    Parameters
    ----------
    method : str
        As results have it: "compressed:soft".

    Returns
    -------
    str
    """
    if not method.startswith("kgrams:"):
        return METHOD_NAMES.get(method, method)
    score, _, equal = method.removeprefix("kgrams:").partition(":")
    return _SCORES.get(score, score) + (", same number" if equal else "")


def check_tried(settings: Any) -> None:
    """InputError for values of :class:`~cflengine.experiments.evaluation.EvaluationSettings` that are none."""
    check_weighting(settings.weighting)
    for counting in settings.countings:
        check_counting(counting, 1.0)
    if not settings.countings:
        raise InputError("there is no way to count: name one at least.")
    for temperature in settings.temperatures:
        check_counting("soft", temperature)
    if "soft" in settings.countings and not len(settings.temperatures):
        raise InputError("counting 'soft' needs a temperature.")
    if isinstance(settings.lams, str) or not len(settings.lams):
        raise InputError(f"lams must be one λ or more, not {settings.lams!r}.")
    for lam in settings.lams:
        check_lam(lam)
    check_whole(settings, {"max_gram": 1, "n_threads": 1}, optional=("n_threads",))
    check_positive(settings, ("time_limit",), optional=("time_limit",))
    check_pattern(settings.token_pattern)


@dataclass(frozen=True)
class Candidate:
    """One setting of a method. make: counts, CSR (N, d), of all documents; names: of some of its columns; label: λ,
    temperature, size; gap: proved, of its dictionary, the largest of several; features: what counts them, of
    compressed ones; columns: of a task and its training documents, None for all; weighted: of counts, where they are
    not weighted as those of all other methods are; beforehand: of a target's own features the seconds that went into
    what ``make`` starts from."""

    method: str
    make: Callable[[], sparse.csr_matrix] = field(repr=False)
    names: Callable[[np.ndarray], list[str]] = field(repr=False)
    label: Mapping[str, float] = field(default_factory=dict)
    gap: float = float("nan")
    columns: Callable[[sparse.csr_matrix, Any, np.ndarray], np.ndarray] | None = field(repr=False, default=None)
    features: CompressiveFeatures | None = field(repr=False, default=None)
    weighted: Callable[[sparse.csr_matrix], sparse.csr_matrix] | None = field(repr=False, default=None)
    beforehand: float | None = None


@dataclass
class Features:
    """What methods are made of: tokens, their K-grams, dictionaries. seconds: spent on features, by method."""

    table: TokenTable
    index: KGramIndex
    path: DictionaryPath = field(default_factory=lambda: DictionaryPath((), 0.0))
    seconds: dict[str, float] = field(default_factory=dict)
    _bpe: rivals.BytePairs | None = field(repr=False, default=None)

    def counts(self, candidate: Candidate) -> sparse.csr_matrix:
        """Its counts, timed."""
        began = time.perf_counter()
        matrix = candidate.make()
        if candidate.beforehand is None:
            self.seconds[candidate.method] = self.seconds.get(candidate.method, 0.0) + time.perf_counter() - began
        return matrix

    def unigrams(self) -> Candidate:
        """Words."""
        return Candidate(UNIGRAMS, lambda: self._all(1), self._index_names, {"lam": 0.0})

    def tf_idf(self) -> Candidate:
        """Words as scikit-learn's TfidfTransformer weights them by default."""
        from sklearn.feature_extraction.text import TfidfTransformer

        def weighted(counts: sparse.csr_matrix) -> sparse.csr_matrix:
            return sparse.csr_matrix(TfidfTransformer().fit_transform(counts))

        return Candidate(TF_IDF, lambda: self._all(1), self._index_names, weighted=weighted)

    def all_kgrams(self) -> Candidate | None:
        """Every K-gram; None where they do not fit."""
        if self.index.n_pointers > _MOST_ENTRIES:
            return None
        return Candidate(ALL_KGRAMS, lambda: self._all(self.index.max_gram), self._index_names)

    def compressed(
        self, countings: Sequence[str] = COUNTINGS, temperatures: Sequence[float] = TEMPERATURES
    ) -> Iterator[Candidate]:
        """Every λ by every way to count."""
        for one in self.path.dictionaries:
            for counting in countings:
                for temperature in temperatures if counting == "soft" else (None,):
                    label: dict[str, float] = {"lam": one.lam}
                    own: dict[str, Any] = {"counting": counting}
                    if temperature is not None:
                        own |= {"temperature": float(temperature)}
                        label |= {"temperature": float(temperature)}
                    # a copy: others may be counting the same dictionary in another way
                    yield self._of(f"compressed:{counting}", copy(one.model).set_params(**own), label, one.gap)

    def several(self) -> Candidate:
        """The dictionaries of all λ together, every occurrence counted."""
        model = together([one.model for one in self.path.dictionaries]).set_params(counting="occurrences")
        return self._of(SEVERAL, model, {}, max(one.gap for one in self.path.dictionaries))

    def _of(self, method: str, model: CompressiveFeatures, label: Mapping[str, float], gap: float) -> Candidate:
        return Candidate(
            method, lambda: model.features(self.table, weighting="count"), _gram_names(model.grams_), label, gap,
            features=model,
        )  # fmt: skip

    def selected(
        self, task: Any, equal: int, best: Callable[[str], Mapping[str, float]], poll: Callable[[], bool] = lambda: True
    ) -> Iterator[Candidate]:
        """K-grams of two or more documents by every score that fits the task; equal: a size beside SIZES; best: the
        label of a method's best candidate so far."""
        if self.index.n_pointers > _MOST_ENTRIES:
            return
        began = time.perf_counter()
        matrix = self._all(self.index.max_gram)
        frequent = np.flatnonzero(np.bincount(matrix.indices, minlength=matrix.shape[1]) >= 2)
        if not len(frequent):
            return
        matrix = matrix[:, frequent]
        spent = time.perf_counter() - began

        def of(method: str, label: dict[str, float], columns: Callable[..., np.ndarray]) -> Candidate:
            names = lambda chosen: self._index_names(frequent[chosen])  # noqa: E731
            return Candidate(method, lambda: matrix, names, label, columns=columns, beforehand=spent)

        for name in rivals.selections_for(task):
            if name == "l1":
                yield from self._by_l1(of, rivals.L1Models(task), matrix, equal, best, poll)
                continue
            ranks: dict[bytes, np.ndarray] = {}
            sizes = [(f"kgrams:{name}", size) for size in SIZES if size < matrix.shape[1]]
            for method, size in [*sizes, (f"kgrams:{name}:equal", equal)]:
                yield of(method, {"size": size}, _ranked(name, size, ranks))

    def _by_l1(
        self, of: Callable[..., Candidate], models: rivals.L1Models, matrix: sparse.csr_matrix, equal: int,
        best: Callable[[str], Mapping[str, float]], poll: Callable[[], bool],
    ) -> Iterator[Candidate]:  # fmt: skip
        """A model's weights say by themselves how many there are; as many as elsewhere where a model has so many."""
        before = rivals.L1_COSTS[-1]
        for cost in (*rivals.L1_COSTS, *rivals.L1_FURTHER):
            if cost in rivals.L1_FURTHER and best("kgrams:l1").get("l1_C") != before:
                break
            yield of("kgrams:l1", {"l1_C": cost}, partial(models.columns, cost, None))
            before = cost
        reaching = models.reaching(matrix, equal, poll)
        if reaching is not None:
            label = {"size": equal, "l1_C": reaching}
            yield of("kgrams:l1:equal", label, partial(models.columns, reaching, equal))

    def phrases(self, most: int, poll: Callable[[], bool] = lambda: True) -> Iterator[Candidate]:
        """gensim's and BPE's, where installed, at several thresholds and numbers of merges; most: of the merges that
        :meth:`merged` may ask for; poll: whether to go on."""
        cuts = self._cuts(most)
        while poll():
            began = time.perf_counter()
            cut = next(cuts, None)
            if cut is None:
                return
            candidate = self._pieces(*cut)
            spent = time.perf_counter() - began
            self.seconds[candidate.method] = self.seconds.get(candidate.method, 0.0) + spent
            yield candidate

    def _cuts(self, most: int) -> Iterator[tuple[str, list[list[str]], dict[str, float]]]:
        """Method, documents in pieces, label."""
        words = [self.table.words(d) for d in range(self.table.n_documents)]
        for threshold, documents in rivals.gensim_phrases(words):
            yield "phrases:gensim", documents, {"threshold": threshold}
        self._bpe = rivals.BytePairs(words, max(most, rivals.MERGES[-1]))
        for n_merges in sorted({min(n, len(self._bpe.merges)) for n in rivals.MERGES} - {0}):
            yield "phrases:bpe", self._bpe.cut(n_merges), {"merges": n_merges}

    def merged(self, size: int) -> Iterator[Candidate]:
        """BPE's phrases, as many words and phrases together as asked; none where the words alone are as many, or
        :meth:`phrases` was not asked before."""
        n_merges = 0 if self._bpe is None else size - len(self._bpe.kinds)
        if self._bpe is not None and 0 < n_merges <= len(self._bpe.merges):
            began = time.perf_counter()
            found = self._pieces("phrases:bpe:equal", self._bpe.cut(n_merges), {"merges": n_merges})
            yield replace(found, beforehand=time.perf_counter() - began)

    def _pieces(self, method: str, documents: list[list[str]], label: Mapping[str, float]) -> Candidate:
        matrix, kinds = rivals.count_pieces(documents)
        return Candidate(method, _same(matrix), _listed(kinds), {"size": matrix.shape[1], **label})

    def _all(self, max_gram: int) -> sparse.csr_matrix:
        return count_occurrences(self.index.gram_of[:max_gram], self.table.doc_ptr, int(self.index.len_ptr[max_gram]))

    def _index_names(self, columns: np.ndarray) -> list[str]:
        return [" ".join(map(printable, gram)) for gram in words_of(self.table, self.index, columns)]


def _gram_names(grams: Sequence[tuple[str, ...]]) -> Callable[[np.ndarray], list[str]]:
    return lambda columns: [" ".join(map(printable, grams[j])) for j in columns.tolist()]


def _listed(names: Sequence[str]) -> Callable[[np.ndarray], list[str]]:
    return lambda columns: [printable_line(names[j]) for j in columns.tolist()]


def printable_line(text: str) -> str:
    """Words parted by blanks, each as it can be printed."""
    return " ".join(map(printable, text.split(" ")))


def _same(matrix: sparse.csr_matrix) -> Callable[[], sparse.csr_matrix]:
    return lambda: matrix


def _ranked(name: str, size: int, ranks: dict[bytes, np.ndarray]) -> Callable[..., np.ndarray]:
    """The first ``size`` columns of a ranking by the training documents, found once for all sizes."""

    def columns(counts: sparse.csr_matrix, task: Any, train: np.ndarray) -> np.ndarray:
        key = train.tobytes()
        if key not in ranks:
            ranks[key] = rivals.ranking(name, counts, task, train)
        return np.sort(ranks[key][:size])

    return columns
