"""What the Boilerplate page computes in the solver's thread: repeated passages, and what each document costs given the
others; and the corpus without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from cflengine import CompressiveFeatures, Corpus, warm_up
from cflengine.compression import Passages, cost_given_others, repeated_passages, without_passages
from cflengine.engine import Stopped
from cflengine.text import TokenTable
from pages.parts.shared.jobs import Job

LEAST = (8, 10, 12, 15, 20, 30, 50, 100)  # words of a passage


@dataclass
class BoilerplateRun:
    """``passages`` are there first, ``cost`` (float64 (N,), see cost_given_others) last, where a solution was given.
    least: words of a passage. share: float64 (N,), of each document what an earlier one has."""

    least: int = 12
    stage: str = "Looking for repeated passages"
    passages: Passages | None = None
    table: TokenTable | None = None
    groups: pd.DataFrame = field(default_factory=pd.DataFrame)
    share: np.ndarray = field(default_factory=lambda: np.zeros(0))
    cost: np.ndarray | None = None
    _kept: tuple[tuple[float, bool], np.ndarray, np.ndarray] | None = None  # what is asked again at every run

    @property
    def ready(self) -> bool:
        """Whether there is something to show."""
        return self.passages is not None

    def run(self, table: TokenTable, model: CompressiveFeatures | None, job: Job) -> None:
        """Find, then encode. A stop keeps what is there."""
        try:
            found = repeated_passages(table, self.least, poll=job.poll)
            groups = found.frame(table.doc_ptr, poll=job.poll)
        except Stopped:
            raise ValueError("Stopped before the passages were found.") from None
        self.table, self.groups, self.share = table, groups, found.repeated_share(table.doc_ptr)
        self.passages = found
        if model is None or not job.poll():
            return
        self.stage = "Encoding every document with the others' dictionary"
        warm_up("guided")
        index, lam = model.index_, float(model.lam)
        self.cost = cost_given_others(table, index, model.result_.cover, lam, index.lengths().astype(np.float64))

    def documents(self) -> pd.DataFrame:
        """A row a document: document, words, repeated (share), source (of its longest passage, -1 for none), and with a
        solution cost and each (cost by word)."""
        found, table = self.passages, self.table
        assert found is not None and table is not None
        words = np.diff(table.doc_ptr)
        source = np.full(len(words), -1)
        rising = np.argsort(found.length, kind="stable")  # of equal indices numpy keeps what is assigned last
        source[found.document[rising]] = found.source[rising]
        frame = pd.DataFrame(
            {"document": np.arange(len(words)), "words": words, "repeated": self.share, "source": source}
        )
        if self.cost is not None:
            frame["cost"] = self.cost
            frame["each"] = self.cost / np.maximum(words, 1)
        return frame

    def spans(self, document: int, fresh: np.ndarray | None = None) -> list[tuple[int, int]]:
        """Characters (start, end) of a document that an earlier one has, in order, none overlapping; fresh: bool (n,),
        with respect to other documents than all."""
        found, table = self.passages, self.table
        assert found is not None and table is not None
        a, e = int(table.doc_ptr[document]), int(table.doc_ptr[document + 1])
        old = np.flatnonzero(~(found.fresh if fresh is None else fresh)[a:e])
        if not len(old):
            return []
        cut = np.flatnonzero(np.diff(old) > 1)
        first, last = old[np.concatenate([[0], cut + 1])], old[np.append(cut, len(old) - 1)]
        return list(zip(table.start[a + first].tolist(), table.end[a + last].tolist(), strict=True))

    def text(self, place: int, words: int, texts: Sequence[str], most: int = 600) -> str:
        """A passage of so many words from a token on, as it stands there."""
        table = self.table
        assert table is not None
        document = int(np.searchsorted(table.doc_ptr, place, side="right")) - 1
        text = texts[document][int(table.start[place]) : int(table.end[place + words - 1])]
        text = " ".join(text.split())
        return text if len(text) <= most else text[:most] + " …"

    def where(self, group: int) -> list[int]:
        """The documents that have a passage, ascending."""
        found, table = self.passages, self.table
        assert found is not None and table is not None
        return np.unique(np.searchsorted(table.doc_ptr, found.places(group), side="right") - 1).tolist()

    def kept(self, corpus: Corpus, most: float, cut: bool) -> tuple[np.ndarray, np.ndarray]:
        """int64, the documents that stay: those of which at most ``most`` is repeated from others that stay, and of
        which words are left (cut: without their repeated passages); and bool (n,), the tokens that are not repeated."""
        found, table = self.passages, self.table
        assert found is not None and table is not None
        if self._kept is None or self._kept[0] != (most, cut):
            stays, fresh = found.staying(table.doc_ptr, most)
            if cut:
                stays &= found.repeated_share(table.doc_ptr, fresh) < 1
            stays &= np.array([bool(text) and not text.isspace() for text in corpus.texts], dtype=bool)
            self._kept = ((most, cut), np.flatnonzero(stays), fresh)
        return self._kept[1:]

    def shorter(self, corpus: Corpus, most: float) -> int:
        """How many documents get shorter where repeated passages are cut."""
        found, table = self.passages, self.table
        assert found is not None and table is not None
        kept, fresh = self.kept(corpus, most, True)
        return int((found.repeated_share(table.doc_ptr, fresh)[kept] > 0).sum())

    def clean(self, corpus: Corpus, most: float, cut: bool) -> tuple[list[str], np.ndarray]:
        """The texts that stay, and int64, their documents, as ``kept`` has them."""
        kept, fresh = self.kept(corpus, most, cut)
        texts = [corpus.texts[d] for d in kept.tolist()]
        if cut:
            texts = [without_passages(t, self.spans(d, fresh)) for t, d in zip(texts, kept.tolist(), strict=True)]
        return texts, kept


def clean_frame(corpus: Corpus, texts: Sequence[str], documents: np.ndarray) -> pd.DataFrame:
    """The clean corpus as a table: text, the other columns, the record in the source, each under a name of its own."""
    frame = corpus.metadata.iloc[documents].reset_index(drop=True)
    for place, name, values in ((0, "text", list(texts)), (len(frame.columns) + 1, "record", corpus.rows[documents])):
        while name in frame.columns:
            name += " (clean)"
        frame.insert(place, name, values)
    return frame
