"""What a solution says about documents: key phrases of groups, one group in another's dictionary, phrases over time,
passages that are repeated."""

from cflengine.compression.analysis.boilerplate import (
    Passages,
    cost_given_others,
    repeated_passages,
    without_passages,
)
from cflengine.compression.analysis.cross import CrossCost, cross_compress
from cflengine.compression.analysis.keyness import keyness
from cflengine.compression.analysis.overtime import Periods, bursts, periods_of, rates, weight_by_chance

__all__ = [
    "CrossCost",
    "Passages",
    "Periods",
    "bursts",
    "cost_given_others",
    "cross_compress",
    "keyness",
    "periods_of",
    "rates",
    "repeated_passages",
    "weight_by_chance",
    "without_passages",
]
