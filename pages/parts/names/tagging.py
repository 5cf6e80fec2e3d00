"""Text tagged by a chain CRF, whether it was trained here or brought along as a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cflengine import ChainCRF
from cflengine.engine import InputError
from cflengine.text import DEFAULT_TOKEN_PATTERN, Tokenizer, parse_template


class Tagger:
    """A model, and the columns that a token of mere text gets for its template."""

    model: ChainCRF | None

    def rows_of_tokens(self, tokens: Sequence[str]) -> list[tuple[str, ...]]:
        """A row of cells a token, the token first."""
        raise NotImplementedError

    def rows_of(self, text: str) -> list[tuple[str, ...]]:
        """The rows of a sentence."""
        return self.rows_of_tokens(Tokenizer(DEFAULT_TOKEN_PATTERN, lowercase=False)([text]).words(0))

    def tagged(self, text: str) -> tuple[list[tuple[str, ...]], list[str], np.ndarray]:
        """The rows of a sentence, the likeliest labels, and the probability of every label for each token."""
        assert self.model is not None
        rows = self.rows_of(text)
        return rows, self.model.predict([rows])[0], self.model.predict_marginals([rows])[0]


def columns_asked_for(model: ChainCRF) -> int:
    """How many columns beside the word a tagger's template asks for."""
    return parse_template(str(model.template)).n_columns - 1


@dataclass
class SavedTagger(Tagger):
    """A tagger from a file. Of columns beside the word a file tells nothing: they are empty, which no weight is for."""

    model: ChainCRF

    def __post_init__(self) -> None:
        if not isinstance(self.model.template, str):
            raise InputError(
                "The tagger was learnt from attributes that a program made, not from words: it cannot be applied to "
                "texts here."
            )

    @cached_property
    def learnt_columns(self) -> int:
        """How many columns beside the word its template asks for."""
        return columns_asked_for(self.model)

    def rows_of_tokens(self, tokens: Sequence[str]) -> list[tuple[str, ...]]:
        """A row of cells a token, all empty but the first."""
        return [(token, *[""] * self.learnt_columns) for token in tokens]
