from .crf import ChainCRF
from .export import logistic_report, write_logistic
from .logistic import LogisticClassifier, LogisticModel
from .model.certificate import certify_binary
from .model.chain import ChainModel, ChainScorer
from .model.losses import BinaryModel
from .model.objective import Objective, Point
from .model.problem import chain_features
from .solvers.clustered import Step, clustered
from .solvers.clusters import chunks, explained_variance, optimal_clusters
from .solvers.line_search import unit_step, wolfe_step
from .solvers.registry import SOLVERS, solve
from .solvers.result import LoglinearResult
from .solvers.settings import CLUSTERINGS, AutoSettings, ClusteredSettings, Iterations, LBFGSSettings, NewtonSettings
from .tagging import TaggedFile, tag_columns, tagging_report, write_tagger
from .tied_weights import TiedFit, parsimony
from .training import training_data
from .warm import warm_up

__all__ = [
    "CLUSTERINGS",
    "SOLVERS",
    "AutoSettings",
    "BinaryModel",
    "ChainCRF",
    "ChainModel",
    "ChainScorer",
    "ClusteredSettings",
    "Iterations",
    "LBFGSSettings",
    "LogisticClassifier",
    "LogisticModel",
    "LoglinearResult",
    "NewtonSettings",
    "Objective",
    "Point",
    "Step",
    "TaggedFile",
    "TiedFit",
    "certify_binary",
    "chain_features",
    "chunks",
    "clustered",
    "explained_variance",
    "logistic_report",
    "optimal_clusters",
    "parsimony",
    "solve",
    "tag_columns",
    "tagging_report",
    "training_data",
    "unit_step",
    "warm_up",
    "wolfe_step",
    "write_logistic",
    "write_tagger",
]
