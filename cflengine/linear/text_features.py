"""Texts to a matrix by scikit-learn's transformers, tokens cut as every command cuts them."""

from __future__ import annotations

from typing import Any

import numpy as np

from cflengine.engine.checks import InputError
from cflengine.text.token_table import WORD_PATTERN, check_pattern, span_finder


def vectorizer(
    weighting: str = "binary", *, grams: Any = None, token_pattern: str | None = None, lowercase: bool = True
) -> Any:
    """A scikit-learn transformer from texts to a matrix.

    Parameters
    ----------
    weighting : {"binary", "count", "tf-idf"}
        What an entry is.
    grams : transformer, optional
        An unfitted one from texts to counts of K-grams; by default features are words.
    token_pattern : str, optional
        What a word is; by default :data:`WORD_PATTERN`.
    lowercase : bool
        Whether letters are made small.

    Returns
    -------
    transformer
        To be fitted.

    Raises
    ------
    InputError
        For another weighting.
    """
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Binarizer

    if weighting not in ("binary", "count", "tf-idf"):
        raise InputError(f"weighting must be binary, count or tf-idf, not {weighting!r}.")
    if grams is None:
        words = EveryMatch(token_pattern or WORD_PATTERN)
        grams = CountVectorizer(tokenizer=words, token_pattern=None, lowercase=lowercase, dtype=np.float64)
    steps = {"binary": [Binarizer()], "count": [], "tf-idf": [TfidfTransformer()]}[weighting]
    return make_pipeline(grams, *steps)


class EveryMatch:
    """Cuts a text into the matches of a pattern, as every command does; scikit-learn's own would take the first group
    of a pattern that has one."""

    def __init__(self, pattern: str) -> None:
        self.pattern = check_pattern(pattern)

    def __call__(self, text: str) -> list[str]:
        """The tokens of a text."""
        return [text[a:e] for a, e in span_finder(self.pattern)(text)]
