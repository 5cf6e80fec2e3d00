"""The tagger applied to a corpus in the solver's thread: every sentence tagged, the names counted and placed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pandas as pd

from cflengine.engine import frame_csv
from cflengine.text import DEFAULT_TOKEN_PATTERN, Tokenizer, entities, write_columns
from pages.parts.names.tagging import Tagger
from pages.parts.shared.jobs import Job

AT_ONCE = 200  # documents between two looks at the stop


@dataclass
class NamesRun:
    """places: a row a name where it stands: document, start, end (code points), name, kind, sure (the least probability
    of its tokens' labels). Rows grow while it runs; ``done`` says for how many documents."""

    tagger: Tagger
    stage: str = "Tagging"
    done: int = 0
    found: list[tuple[int, int, int, str, str, float]] = field(default_factory=list)
    tagged: list[tuple[int, list[tuple[str, ...]], list[str]]] = field(default_factory=list)

    def run(self, texts: Sequence[str], job: Job) -> None:
        """Tag every document. A stop keeps what is there."""
        for first in range(0, len(texts), AT_ONCE):
            if not job.poll():
                break
            self._some(first, list(texts[first : first + AT_ONCE]))
            self.done = min(first + AT_ONCE, len(texts))
            self.stage = f"Tagging: {self.done:,} of {len(texts):,} documents"

    def _some(self, first: int, texts: list[str]) -> None:
        model = self.tagger.model
        assert model is not None
        table = Tokenizer(DEFAULT_TOKEN_PATTERN, lowercase=False, sentence_borders=True)(texts)
        borders = table.segment_ptr
        document = first + np.searchsorted(table.doc_ptr, borders[:-1], side="right") - 1
        words = [[table.vocabulary[t] for t in table.tokens[b:c]] for b, c in pairwise(borders.tolist())]
        rows = [self.tagger.rows_of_tokens(sentence) for sentence in words]
        labels, marginals = model.predict(rows), model.predict_marginals(rows)
        sentences = zip(document.tolist(), borders[:-1].tolist(), strict=True)
        number = {label: c for c, label in enumerate(model.classes_)}
        for (d, b), own, said, sure in zip(sentences, rows, labels, marginals, strict=True):
            self.tagged.append((d, own, list(said)))
            for p, q, kind in entities(said):
                least = min(float(sure[k, number[said[k]]]) for k in range(p, q))
                start, end = int(table.start[b + p]), int(table.end[b + q - 1])
                name = " ".join(texts[d - first][start:end].split())
                self.found.append((d, start, end, name, kind, least))

    def places(self) -> pd.DataFrame:
        """A row a place."""
        columns = ["document", "start", "end", "name", "kind", "sure"]
        return pd.DataFrame(list(self.found), columns=columns)

    def index(self) -> pd.DataFrame:
        """A row a name and kind, the most frequent first: name, kind, count, documents, sure (the mean)."""
        frame = self.places()
        if not len(frame):
            return pd.DataFrame(columns=["name", "kind", "count", "documents", "sure"])
        grouped = frame.groupby(["name", "kind"], sort=False)
        found = grouped.agg(count=("start", "size"), documents=("document", "nunique"), sure=("sure", "mean"))
        return found.reset_index().sort_values(["count", "sure"], ascending=False, kind="stable", ignore_index=True)

    def conll(self) -> Iterator[str]:
        """The tagged corpus, a token a line with its label; lines as :func:`write_columns` gives them.

        Texts have no other columns, and what the tagger took for them is not told as if they had.
        """
        rows = [[(cells[0], label) for cells, label in zip(own, said, strict=True)] for _, own, said in self.tagged]
        yield from write_columns(rows)

    def tokens_csv(self) -> bytes:
        """The tagged corpus as a table: document, sentence, token, label."""
        rows = [
            (d, sentence, cells[0], label)
            for sentence, (d, own, said) in enumerate(self.tagged)
            for cells, label in zip(own, said, strict=True)
        ]
        return frame_csv(pd.DataFrame(rows, columns=["document", "sentence", "token", "label"]))
