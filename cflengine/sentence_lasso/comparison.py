"""A labelled corpus from text to compared models: what the command and the app do, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from cflengine.engine.checks import InputError, check_choice
from cflengine.engine.memory import require_bytes
from cflengine.engine.progress import Listener
from cflengine.linear.labels import Labels, Split
from cflengine.linear.model import LinearModel
from cflengine.linear.model_comparison import ModelComparison, labelled_rows
from cflengine.linear.search import BestModel, GridPoint
from cflengine.sentence_lasso.grid import PAPER_GRID, LabelledSentences, find_best
from cflengine.sentence_lasso.model.penalties import GROUP_WEIGHTS, TrainingData
from cflengine.sentence_lasso.relevance import relevance_table
from cflengine.sentence_lasso.sentences import Features, SentenceTable, WordFeatures, cut_sentences
from cflengine.sentence_lasso.solvers.settings import Settings
from cflengine.text.sentences import UNITS
from cflengine.text.token_table import WORD_PATTERN

_BYTES_PER_CHARACTER = 40  # words, their places, sentences and groups: about 200 bytes a word


@dataclass(frozen=True, kw_only=True)
class SentenceComparison(ModelComparison):
    """A comparison of models whose n documents are cut into sentences.

    Parameters
    ----------
    labels : Labels
        The classes.
    documents : ndarray
        int64 (n,), their numbers in the corpus, ascending.
    y : ndarray
        int64 (n,), their classes.
    train : ndarray
        int64, positions in ``documents``.
    dev : ndarray
        int64, positions in ``documents``.
    test : ndarray
        int64, positions in ``documents``.
    X : csr_matrix
        float64 (n, V).
    names : ndarray
        Of the features, in the order of the columns.
    reader : Any, default: None
        The fitted pipeline that made X from texts, where there is one.
    table : SentenceTable
        The sentences of all documents.
    data : TrainingData
        Of the training part.
    features : Features
        What finds them in a text.
    language : str, default: 'en'
        Of the texts.
    groups : str, default: 'sentence'
        What they are cut into.
    """

    table: SentenceTable = field(repr=False)
    data: TrainingData = field(repr=False)
    features: Features = field(repr=False)
    language: str = "en"
    groups: str = "sentence"

    @property
    def occurrences(self) -> np.ndarray:
        """int64 (V,): of every feature in the training documents."""
        return self.data.occurrences.astype(np.int64)

    def training_sentences(self, position: int) -> np.ndarray:
        """int64: which sentences of ``data`` are those of the training document at a position."""
        document = self.table.document[np.isin(self.table.document, self.train)]
        return np.flatnonzero(document == position)

    def part(self, where: np.ndarray) -> LabelledSentences:
        """Some of the documents."""
        return LabelledSentences(self.table.documents(where), self.y[where])

    def find_best(
        self,
        kind: str,
        values: Sequence[float] | Mapping[str, Sequence[float]] = PAPER_GRID,
        *,
        tol: float = 1e-4,
        settings: Settings | None = None,
        listeners: Iterable[Listener] = (),
        on_point: Callable[[GridPoint], bool | None] | None = None,
        n_threads: int = 2,
    ) -> BestModel:
        """The best of a penalty: see :func:`~cflengine.sentence_lasso.grid.find_best`."""
        test = self.part(self.test) if len(self.test) else None
        return find_best(
            self.part(self.train), self.part(self.dev), test, kind, values, data=self.data, tol=tol,
            settings=settings, listeners=listeners, on_point=on_point, n_threads=n_threads,
        )  # fmt: skip

    def relevance(self, models: dict[str, LinearModel], documents: np.ndarray | None = None) -> pd.DataFrame:
        """Tables 3 and 4: a row a sentence of ``documents`` (positions; None for all), with a column log_odds_NAME for
        every model, towards the documents' own class, and group_norm, ‖w_s‖ by the first of them."""
        where = np.arange(len(self.documents)) if documents is None else documents
        table, y = self.table.documents(where), self.y[where]
        found: pd.DataFrame | None = None
        for name, model in models.items():
            one = relevance_table(table, model, y, self.classes)
            if found is None:
                found = one.drop(columns="log_odds")
                found["document"] = self.documents[where][one["document"]]
            found[f"log_odds_{name}"] = one["log_odds"]
        assert found is not None
        return found

    def weighted_words(self, text: str, coef: np.ndarray) -> list[tuple[int, int, float]]:
        """(start, end, weight) of the features in a text that have a weight, in order, none overlapping another."""
        _, start, feature, end = self.features.find([text])
        found: list[tuple[int, int, float]] = []
        for a, b, w in zip(start.tolist(), end.tolist(), coef[feature].tolist(), strict=True):
            if w != 0 and (not found or a >= found[-1][1]):
                found.append((a, b, w))
        return found


def prepare(
    texts: Sequence[str],
    labels: Labels,
    split: Split,
    *,
    features: Features | None = None,
    language: str = "en",
    groups: str = "sentence",
    group_weights: str = "equal",
    token_pattern: str = WORD_PATTERN,
    lowercase: bool = True,
) -> SentenceComparison:
    """Cut the documents of a split; features are learnt from those for training.

    Parameters
    ----------
    texts : sequence of str
        All documents of the corpus.
    labels : Labels
        Their classes.
    split : Split
        Which of them are for training, choosing and judging.
    features : Features, optional
        What finds features in texts; by default words.
    language : str
        Whose rules end sentences.
    groups : {"sentence", "clause", "paragraph", "document"}
        What a group of words is.
    group_weights : {"equal", "length"}
        Whether λ of a group goes by its length.
    token_pattern : str
        What a word is.
    lowercase : bool
        Whether letters are made small.

    Returns
    -------
    SentenceComparison
        What models are fitted and judged on.

    Raises
    ------
    InputError
        If the training documents hold no feature.
    MemoryLimitError
        Before any work, if it does not fit.
    """
    check_choice(groups, "groups", UNITS)
    by_length = check_choice(group_weights, "group_weights", GROUP_WEIGHTS) == "length"
    rows = labelled_rows(labels, split)
    chosen = [texts[d] for d in rows["documents"].tolist()]
    size = sum(map(len, chosen))
    require_bytes(_BYTES_PER_CHARACTER * size, f"Learning from {size:,} characters", "take fewer documents.")
    features = features or WordFeatures(token_pattern, lowercase)
    if not len(features.fit([chosen[i] for i in rows["train"].tolist()])[0]):
        raise InputError("the training documents hold no word: nothing to learn from (is the token pattern wrong?).")
    names = np.array(features.names(), dtype=object)
    table = cut_sentences(chosen, features.find(chosen), len(names), language, groups)
    own = table.documents(rows["train"])
    data = TrainingData(own.by_document(), own.counts, by_length=by_length)
    return SentenceComparison(
        labels=labels,
        X=table.by_document(),
        names=names,
        table=table,
        data=data,
        features=features,
        language=language,
        groups=groups,
        **rows,
    )
