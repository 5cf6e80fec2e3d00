from .candidates import Candidates
from .estimator import SubwordTokenizer
from .foreign import ForeignTokenizer
from .report import TokenizerReport, tokenizer_report
from .solve import TokenizerResult, VocabularySettings, solve_vocabulary
from .warm import warm_up
from .words import NORMALISATIONS, PATTERNS, UNITS, Cutting, WordTable

__all__ = [
    "NORMALISATIONS",
    "PATTERNS",
    "UNITS",
    "Candidates",
    "Cutting",
    "ForeignTokenizer",
    "SubwordTokenizer",
    "TokenizerReport",
    "TokenizerResult",
    "VocabularySettings",
    "WordTable",
    "solve_vocabulary",
    "tokenizer_report",
    "warm_up",
]
