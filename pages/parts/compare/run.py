"""What the Compare page computes in the solver's thread: how often every group has every phrase, and, if asked, what
each group costs in every other's dictionary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy import sparse

from cflengine import CompressiveFeatures, warm_up
from cflengine.compression import CrossCost, count_occurrences, cross_compress, keyness, match_sequences, places_of
from cflengine.engine import Stopped
from cflengine.text import Phrasebook
from pages.parts.shared.jobs import Job


@dataclass(frozen=True)
class CompareChoice:
    """column: of the groups; groups: its values that are compared; cross: whether their dictionaries are, too."""

    column: str
    groups: tuple[str, ...]
    cross: bool = True


@dataclass
class CompareRun:
    """What is there so far. phrases: as the text spells them; telling: more than function words and punctuation;
    spelling: of the dictionary's names;
    counts: CSR (N, D) of occurrences; frames: of each group, once its key phrases are known; cross: last."""

    choice: CompareChoice
    stage: str = "Counting phrases"
    phrases: list[str] = field(default_factory=list)
    telling: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=bool))
    group: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    sizes: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    spelling: dict[str, str] = field(default_factory=dict)
    counts: sparse.csr_matrix | None = None
    frames: dict[str, pd.DataFrame] = field(default_factory=dict)
    cross: CrossCost | None = None

    @property
    def ready(self) -> bool:
        """Whether the phrases of a first group can be shown."""
        return bool(self.frames)

    def run(self, model: CompressiveFeatures, texts: list[str], metadata: pd.DataFrame, job: Job) -> None:
        """Count, compare, compress. Raises ValueError for groups that cannot be compared."""
        names = self.choice.groups
        number = {name: k for k, name in enumerate(names)}
        labels = metadata[self.choice.column].astype(str)
        known = metadata[self.choice.column].notna().to_numpy()
        self.group = np.array([number.get(label, -1) for label in labels]) * known - ~known
        index, chosen = model.index_, model.gram_ids_
        self.sizes = np.diff(model.table_.doc_ptr)
        self.counts = count_occurrences(places_of(index, chosen), model.table_.doc_ptr, len(chosen))
        book = Phrasebook(texts, model.table_, index)
        self.phrases, self.telling = book.spell(chosen), book.says_something(chosen)
        self.spelling = dict(zip(model.dictionary_["gram"], self.phrases, strict=True))
        lengths = book.lengths(chosen)
        for name in names:
            if not job.poll():
                return
            self.stage = f"Key phrases of {name}"
            frame = keyness(self.counts, self.group, self.sizes, number[name])
            frame.insert(0, "phrase", self.phrases)
            frame.insert(1, "words", lengths)
            self.frames[name] = frame
        if self.choice.cross:
            self._cross(model, book, job)

    def _cross(self, model: CompressiveFeatures, book: Phrasebook, job: Job) -> None:
        names = self.choice.groups

        def tell(number: int) -> None:
            self.stage = f"Compressing {names[number]} by itself: {number + 1} of {len(names)}"

        warm_up("guided")
        try:
            cross = cross_compress(
                model.table_, self.group, names, lam=max(model.lam, 1e-3), max_gram=model.max_gram,
                listeners=(_Poll(job),), on_group=tell, poll=job.poll,
            )  # fmt: skip
        except Stopped:
            return
        self.spelling |= spelling(book, cross.models)
        self.cross = cross

    def rates(self, phrase: int) -> pd.DataFrame:
        """How often a phrase stands in each group: group, count, per_million."""
        assert self.counts is not None
        column = np.asarray(self.counts[:, [phrase]].todense()).ravel()
        counts = [int(column[self.group == k].sum()) for k in range(len(self.choice.groups))]
        words = [int(self.sizes[self.group == k].sum()) for k in range(len(self.choice.groups))]
        rates = [1e6 * c / max(n, 1) for c, n in zip(counts, words, strict=True)]
        return pd.DataFrame({"group": self.choice.groups, "count": counts, "per_million": rates})


def spelling(book: Phrasebook, models: Sequence[CompressiveFeatures]) -> dict[str, str]:
    """The names of phrases in the dictionaries of parts of a corpus -> as the whole corpus's texts spell them."""
    named = {gram: name for model in models for gram, name in zip(model.grams_, model.dictionary_["gram"], strict=True)}
    number = {form: token for token, form in enumerate(book.table.vocabulary)}
    tokens = np.array([number[form] for gram in named for form in gram], dtype=np.int32)
    ptr = np.concatenate([[0], np.cumsum([len(gram) for gram in named])]).astype(np.int64)
    grams = match_sequences(book.index, tokens, ptr)
    known = [name for name, gram in zip(named.values(), grams.tolist(), strict=True) if gram >= 0]
    return dict(zip(known, book.spell(grams[grams >= 0]), strict=True))


class _Poll:
    """A listener that only asks whether to go on: the chart is of another job."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def __call__(self, stats: object) -> bool:
        return self.job.step()

    def poll(self) -> bool:
        return self.job.poll()
