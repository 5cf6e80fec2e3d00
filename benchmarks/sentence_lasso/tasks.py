"""The tasks of Yogatama & Smith (ICML 2014) whose data is at hand: documents, splits, what the paper reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from benchmarks.corpora import corpus_path
from cflengine import read_corpus
from cflengine.linear import Labels, Split, read_labels, split_documents
from cflengine.sentence_lasso import SentenceComparison, prepare


@dataclass(frozen=True)
class Task:
    """A row of Tables 1 and 2. accuracy, size: per cent, by model; ``where`` selects the corpus's documents."""

    name: str
    corpus: str
    classes: tuple[str, str]
    accuracy: Mapping[str, float]
    size: Mapping[str, float]
    where: Mapping[str, str] = field(default_factory=dict)
    by_date: bool = False  # the corpus's own test set, and a development set of 1 in 5 of the rest
    sentence_a_line: bool = False


def _paper(lasso: float, ridge: float, elastic: float, sentence: float) -> dict[str, float]:
    return {"lasso": lasso, "ridge": ridge, "elastic": elastic, "sentence": sentence}


NEWS, AMAZON = "20news_bydate", "amazon_books_electronics"
TASKS = (
    Task("science", NEWS, ("sci.med", "sci.space"), _paper(90.63, 91.90, 91.65, 96.20), _paper(1, 100, 34, 12),
         by_date=True),
    Task("sports", NEWS, ("rec.sport.baseball", "rec.sport.hockey"), _paper(91.08, 93.34, 93.71, 95.10),
         _paper(2, 100, 15, 3), by_date=True),
    Task("religion", NEWS, ("alt.atheism", "soc.religion.christian"), _paper(90.52, 92.47, 92.47, 92.75),
         _paper(0.3, 100, 48, 94), by_date=True),
    Task("computer", NEWS, ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"), _paper(85.84, 86.74, 87.13, 90.86),
         _paper(2, 100, 24, 10), by_date=True),
    Task("books", AMAZON, ("", ""), _paper(76.50, 80.50, 81.50, 84.00), _paper(0.6, 100, 9, 6), {"domain": "books"}),
    Task("electronics", AMAZON, ("", ""), _paper(81.50, 86.00, 86.00, 84.00), _paper(7, 100, 43, 12),
         {"domain": "electronics"}),
    Task("movie", "movie_polarity_v2", ("", ""), _paper(76.00, 87.50, 89.00, 88.00), _paper(0.3, 100, 14, 5),
         sentence_a_line=True),
)  # fmt: skip


def load(task: Task, data: str | None) -> tuple[list[str], pd.DataFrame]:
    """Texts and metadata of a task's documents. Raises FileNotFoundError where the corpus is absent."""
    corpus = read_corpus(corpus_path(task.corpus, data), text_column="text")
    chosen = np.ones(len(corpus), dtype=bool)
    for column, value in task.where.items():
        chosen &= (corpus.metadata[column].astype(str) == value).to_numpy()
    if task.classes[0]:
        chosen &= corpus.metadata["label"].isin(task.classes).to_numpy()
    texts = [corpus.texts[d] for d in np.flatnonzero(chosen)]
    if task.sentence_a_line:
        texts = [text.replace("\n", "\n\n") for text in texts]  # blank lines always end a sentence
    return texts, corpus.metadata[chosen].reset_index(drop=True)


def loaded(
    names: Sequence[str], data: str | None, say: Callable[[str], None]
) -> Iterator[tuple[Task, list[str], pd.DataFrame]]:
    """The tasks of these names (of none: all) with their documents; absent corpora are left out, saying so."""
    for task in TASKS:
        if names and task.name not in names:
            continue
        try:
            yield task, *load(task, data)
        except FileNotFoundError as error:
            say(f"{task.name}: {error}")


def science(data: str | None, say: Callable[[str], None]) -> SentenceComparison | None:
    """sci.med/sci.space, seed 0; None, saying why, where the corpus is absent."""
    try:
        return comparison_of(*load(TASKS[0], data), TASKS[0], seed=0)
    except FileNotFoundError as error:
        say(str(error))
        return None


def comparison_of(texts: list[str], metadata: pd.DataFrame, task: Task, seed: int, **groups: str) -> SentenceComparison:
    """The task's documents cut and split: by date and 80/20, or, as in the paper's other tasks, 80/10/10; groups: of
    words, and their weights, as :func:`~cflengine.sentence_lasso.prepare` takes them."""
    labels: Labels = read_labels(metadata, "label")
    if task.by_date:
        split: Split = split_documents(labels, metadata, dev=0.2, test="split=test", random_state=seed)
    else:
        split = split_documents(labels, metadata, dev=1 / 9, test=0.1, random_state=seed)
    return prepare(texts, labels, split, **groups)
