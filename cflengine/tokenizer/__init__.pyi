from .candidates import Candidates
from .estimator import SubwordTokenizer
from .solve import TokenizerResult, VocabularySettings, solve_vocabulary
from .warm import warm_up
from .words import NORMALISATIONS, PATTERNS, UNITS, Cutting, WordTable

__all__ = [
    "NORMALISATIONS",
    "PATTERNS",
    "UNITS",
    "Candidates",
    "Cutting",
    "SubwordTokenizer",
    "TokenizerResult",
    "VocabularySettings",
    "WordTable",
    "solve_vocabulary",
    "warm_up",
]
