"""What a solution says about documents: key phrases of groups, one group in another's dictionary, phrases over time."""

from cflengine.compression.analysis.cross import CrossCost, cross_compress
from cflengine.compression.analysis.keyness import keyness
from cflengine.compression.analysis.overtime import Periods, bursts, periods_of, rates, weight_by_chance

__all__ = ["CrossCost", "Periods", "bursts", "cross_compress", "keyness", "periods_of", "rates", "weight_by_chance"]
