"""The parameters of CompressiveFeatures, checked before any work."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from cflengine.compression.counting import check_counting
from cflengine.compression.cutting import check_tokens
from cflengine.compression.model.problem import check_lam
from cflengine.engine.checks import InputError, is_number
from cflengine.linear.weighting import check_weighting

if TYPE_CHECKING:
    from cflengine.compression.estimator import CompressiveFeatures

MAX_WORDS = 8  # of a K-gram; files of models and paths have covers of a byte a token


def check_parameters(features: CompressiveFeatures) -> None:
    """InputError for a parameter out of its range, or one that another excludes; the solver's own apart."""
    check_lam(features.lam)
    check_weighting(features.weighting)
    check_counting(features.counting, features.temperature, features.literal_cost)
    check_tokens(features.tokens)
    longest = features.max_gram
    if not (isinstance(longest, Integral) and is_number(longest)) or not 1 <= longest <= MAX_WORDS:
        raise InputError(f"max_gram must be a whole number from 1 to {MAX_WORDS}, not {longest!r}.")
    plain = features.plain_cost
    if plain is not None and not (is_number(plain) and 0 <= plain < np.inf):
        raise InputError(f"plain_cost must be a number of at least 0 or None, not {plain!r}.")
    if plain is not None and (features.pointer_cost is not None or features.dictionary_cost != "words"):
        raise InputError("plain_cost sets the costs of pointers and words: leave pointer_cost and dictionary_cost.")
