from .comparison import SentenceComparison, prepare
from .estimator import PenalisedClassifier, SentenceLassoClassifier, estimator_of
from .export import sentence_report, sentence_weights, sentences_frame, write_sentences
from .grid import PAPER_GRID, fit_classes
from .model.certificate import certify
from .model.penalties import GROUP_WEIGHTS, PENALTIES, Penalty, TrainingData
from .model.problem import SentenceProblem
from .model.result import SentenceResult
from .sentences import GramFeatures, sum_by
from .shares import Reading, quick_penalties, reading, telling_sentences
from .solvers.registry import solve
from .solvers.settings import ADMMSettings, MajoriseSettings
from .warm import warm_up

__all__ = [
    "GROUP_WEIGHTS",
    "PAPER_GRID",
    "PENALTIES",
    "ADMMSettings",
    "GramFeatures",
    "MajoriseSettings",
    "PenalisedClassifier",
    "Penalty",
    "Reading",
    "SentenceComparison",
    "SentenceLassoClassifier",
    "SentenceProblem",
    "SentenceResult",
    "TrainingData",
    "certify",
    "estimator_of",
    "fit_classes",
    "prepare",
    "quick_penalties",
    "reading",
    "sentence_report",
    "sentence_weights",
    "sentences_frame",
    "solve",
    "sum_by",
    "telling_sentences",
    "warm_up",
    "write_sentences",
]
