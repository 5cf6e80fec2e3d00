"""What a solution says about groups of documents: key phrases, and what one group costs in another's dictionary."""

from cflengine.compression.analysis.cross import CrossCost, cross_compress
from cflengine.compression.analysis.keyness import keyness

__all__ = ["CrossCost", "cross_compress", "keyness"]
