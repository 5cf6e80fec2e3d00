from ._version import __version__
from .compression.estimator import CompressiveFeatures
from .compression.session import CompressionSession, ConstraintPrice
from .compression.shards.settings import ShardedSettings
from .compression.solvers.exact import ExactSettings
from .compression.solvers.guided.settings import GuidedSettings
from .compression.solvers.homotopy import HomotopySettings
from .compression.solvers.relay import RelaySettings
from .compression.solvers.reweighting_settings import ReweightingSettings
from .compression.warm import warm_up
from .embedding.classifier import WordMMDEmbedding
from .embedding.estimator import WordMMD
from .engine.progress import IterationStats
from .experiments.run import evaluate
from .experiments.search import CompressiveSearchCV
from .linear.persistence import load_model, save_model
from .loglinear.crf import ChainCRF
from .loglinear.logistic import LogisticClassifier, LogisticModel
from .loglinear.solvers.settings import ClusteredSettings, LBFGSSettings
from .plq.estimator import PLQClassifier, PLQRegressor
from .sentence_lasso.estimator import PenalisedClassifier, SentenceLassoClassifier
from .sentence_lasso.solvers.settings import ADMMSettings, MajoriseSettings
from .text.corpus import Corpus, CorpusError
from .text.markup import without_html
from .text.reading.inputs import read_input
from .text.reading.readers import preview_corpus, read_corpus
from .tokenizer.estimator import SubwordTokenizer

__all__ = [
    "ADMMSettings",
    "ChainCRF",
    "ClusteredSettings",
    "CompressionSession",
    "CompressiveFeatures",
    "CompressiveSearchCV",
    "ConstraintPrice",
    "Corpus",
    "CorpusError",
    "ExactSettings",
    "GuidedSettings",
    "HomotopySettings",
    "IterationStats",
    "LBFGSSettings",
    "LogisticClassifier",
    "LogisticModel",
    "MajoriseSettings",
    "PLQClassifier",
    "PLQRegressor",
    "PenalisedClassifier",
    "RelaySettings",
    "ReweightingSettings",
    "SentenceLassoClassifier",
    "ShardedSettings",
    "SubwordTokenizer",
    "WordMMD",
    "WordMMDEmbedding",
    "__version__",
    "evaluate",
    "load_model",
    "preview_corpus",
    "read_corpus",
    "read_input",
    "save_model",
    "warm_up",
    "without_html",
]
