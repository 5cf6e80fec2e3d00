"""A chain CRF trained in the worker's thread on tagged sentences, and sentences of the user tagged by it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from cflengine import ChainCRF
from cflengine.engine import sample_file
from cflengine.loglinear import TaggedFile, warm_up
from cflengine.text import parse_template
from pages.parts.names.tagging import Tagger, columns_asked_for
from pages.parts.shared.jobs import Job

SAMPLE_FILE = sample_file("tagged.conll")
TOL = 1e-4
TEMPLATE = """\
U00:%x[0,0]
U01:%x[-1,0]
U02:%x[1,0]
U03:%x[0,1]
U04:%x[-1,1]/%x[0,1]
U05:%x[0,1]/%x[1,1]
B
"""


@dataclass(frozen=True)
class TaggerChoice:
    """Which sentences, by the digest of their file; the template; the factor of the ℓ2 penalty; the share to test."""

    source: str
    template: str = TEMPLATE
    c2: float = 0.1
    test: float = 0.2

    def n_judged(self, n: int) -> int:
        """How many of n sentences, the last, are kept to judge by; all but one at most."""
        return min(round(self.test * n), n - 1)


@dataclass
class TaggerRun(Tagger):
    """A trained tagger. ``model`` and ``scores`` are there once the job is done."""

    choice: TaggerChoice
    file: TaggedFile
    model: ChainCRF | None = None
    scores: pd.DataFrame = field(default_factory=pd.DataFrame)
    n_train: int = 0

    def run(self, job: Job) -> None:
        """Train on the first sentences, judge on the last. Raises ValueError for a template that does not fit."""
        parse_template(self.choice.template)
        warm_up("chain")
        n = len(self.file.rows)
        self.n_train = n - self.choice.n_judged(n)
        model = ChainCRF(c2=self.choice.c2, tol=TOL, template=self.choice.template, listeners=(job,))
        model.fit(self.file.rows[: self.n_train], self.file.labels[: self.n_train])
        model.set_params(listeners=())  # the model outlives the job
        rows, labels = self.file.rows[self.n_train :], self.file.labels[self.n_train :]
        if rows:
            self.scores = model.evaluate(rows, labels)
        self.model = model

    @property
    def learnt_columns(self) -> int:
        """How many columns beside the word its template asks for."""
        return columns_asked_for(self.model)

    @cached_property
    def _usual(self) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
        """The columns that a word mostly has beside it in the file; and those that words of a shape have."""
        by_word: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        by_shape: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for sentence in self.file.rows:
            for cells in sentence:
                by_word[cells[0]][cells[1:]] += 1
                by_shape[_shape(cells[0])][cells[1:]] += 1
        first = {word: counts.most_common(1)[0][0] for word, counts in by_word.items()}
        return first, {shape: counts.most_common(1)[0][0] for shape, counts in by_shape.items()}

    def rows_of_tokens(self, tokens: Sequence[str]) -> list[tuple[str, ...]]:
        """Tokens as rows: every other column as the word, or words of its shape, mostly have it in the file."""
        by_word, by_shape = self._usual
        usual = next(iter(by_shape.values()), ())
        return [(token, *by_word.get(token, by_shape.get(_shape(token), usual))) for token in tokens]


def _shape(token: str) -> str:
    """Digits, capitals, capitalised, lower case, or the mark itself."""
    if token.isdigit():
        return "9"
    if not token[:1].isalpha():
        return token
    return "X" if token.isupper() and len(token) > 1 else "Xx" if token[0].isupper() else "x"


def tagged_frame(
    rows: Sequence[Sequence[str]], labels: Sequence[str], probabilities: np.ndarray, classes: Any
) -> pd.DataFrame:
    """A row a token: token, label, its probability, and the next likeliest label with its probability."""
    order = np.argsort(-probabilities, axis=1, kind="stable")
    number = {label: c for c, label in enumerate(classes)}
    second = [next(int(c) for c in order[p] if classes[c] != label) for p, label in enumerate(labels)]
    at = np.arange(len(labels))
    return pd.DataFrame(
        {
            "token": [row[0] for row in rows],
            "label": list(labels),
            "probability": probabilities[at, [number[label] for label in labels]] if len(labels) else [],
            "or": [classes[c] for c in second],
            "with": probabilities[at, second] if len(labels) else [],
        }
    )
