from .classifier import DivergedError, WordMMDEmbedding
from .comparison import Comparison
from .estimator import WordMMD
from .export import EmbeddingAnalysis, embedding_report, statistic_report, witness_table, word_array, write_embedding
from .laws import WordLaws
from .pairs import pair_sums, witness_values
from .problem import pair_coefficients
from .settings import DEFAULT_LAMS, NETWORKS, REGULARISERS, Kernel, has_neural, require_neural
from .simulation import BetaBinomial, PowerSettings, power
from .vectors import check_vectors_file, write_text
from .warm import warm_up

__all__ = [
    "DEFAULT_LAMS",
    "NETWORKS",
    "REGULARISERS",
    "BetaBinomial",
    "Comparison",
    "DivergedError",
    "EmbeddingAnalysis",
    "Kernel",
    "PowerSettings",
    "WordLaws",
    "WordMMD",
    "WordMMDEmbedding",
    "check_vectors_file",
    "embedding_report",
    "has_neural",
    "pair_coefficients",
    "pair_sums",
    "power",
    "require_neural",
    "statistic_report",
    "warm_up",
    "witness_table",
    "witness_values",
    "word_array",
    "write_embedding",
    "write_text",
]
