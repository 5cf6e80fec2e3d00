from .analysis.boilerplate import Passages, cost_given_others, repeated_passages, without_passages
from .analysis.cross import CrossCost, cross_compress
from .analysis.foreign_vocabulary import encode_with_vocabulary, match_sequences, match_vocabulary
from .analysis.gap import GapAttribution, attribute_gap, gap_of
from .analysis.keyness import keyness
from .analysis.ledger import GramExplanation, explain, ledger
from .analysis.overtime import Periods, bursts, periods_of, permuted_weight, rates
from .checkpoint import Checkpoint, read_checkpoint
from .codebook import count_matrix
from .counting import COUNTINGS, count_occurrences, places_of
from .estimator import CompressiveFeatures
from .export import pointer_table, write_path, write_run
from .feature_path import FeaturePath
from .model.certificate import dual_bound
from .model.corpus import PreparedCorpus
from .model.problem import StorageCosts, check_lam, coverage_matrix, objective, storage_costs
from .model.result import CompressionResult, StageSnapshot
from .parts import Documents, EncodedPart, encode_parts, in_parts
from .passes.best_bound import DualBound, MultiplierAverage
from .passes.binary import Coder, count_uses
from .passes.groups import Groups
from .passes.layout import PointerLayout
from .path_file import certified_point, read_lambda_path, write_lambda_path
from .project_file import SUFFIX, Project, is_project, read_project, write_project
from .session import QUICK, CompressionSession, ConstraintPrice
from .shards.settings import ShardedSettings
from .shards.solver import solve_sharded
from .solvers.exact import ExactSettings
from .solvers.guided.settings import GuidedSettings
from .solvers.guided.solver import GuidedSolver
from .solvers.homotopy import HomotopySettings, solve_homotopy
from .solvers.lambda_path import (
    PATH_SETTINGS,
    CompressionPath,
    PathPoint,
    nearest_lam,
    path_lams,
    pointers_by_length,
    solve_path,
)
from .solvers.linearised_admm import LinearisedAdmm, RhoRule
from .solvers.memory import enough_shards, needed_bytes
from .solvers.registry import SOLVERS
from .solvers.relay import RelaySettings, estimated_seconds, solve_relay
from .solvers.reweighting_settings import ReweightingSettings
from .solvers.run import FINISHED
from .stages_file import read_stages, write_stages
from .warm import warm_up

__all__ = [
    "COUNTINGS",
    "FINISHED",
    "PATH_SETTINGS",
    "QUICK",
    "SOLVERS",
    "SUFFIX",
    "Checkpoint",
    "Coder",
    "CompressionPath",
    "CompressionResult",
    "CompressionSession",
    "CompressiveFeatures",
    "ConstraintPrice",
    "CrossCost",
    "Documents",
    "DualBound",
    "EncodedPart",
    "ExactSettings",
    "FeaturePath",
    "GapAttribution",
    "GramExplanation",
    "Groups",
    "GuidedSettings",
    "GuidedSolver",
    "HomotopySettings",
    "LinearisedAdmm",
    "MultiplierAverage",
    "Passages",
    "PathPoint",
    "Periods",
    "PointerLayout",
    "PreparedCorpus",
    "Project",
    "RelaySettings",
    "ReweightingSettings",
    "RhoRule",
    "ShardedSettings",
    "StageSnapshot",
    "StorageCosts",
    "attribute_gap",
    "bursts",
    "certified_point",
    "check_lam",
    "cost_given_others",
    "count_matrix",
    "count_occurrences",
    "count_uses",
    "coverage_matrix",
    "cross_compress",
    "dual_bound",
    "encode_parts",
    "encode_with_vocabulary",
    "enough_shards",
    "estimated_seconds",
    "explain",
    "gap_of",
    "in_parts",
    "is_project",
    "keyness",
    "ledger",
    "match_sequences",
    "match_vocabulary",
    "nearest_lam",
    "needed_bytes",
    "objective",
    "path_lams",
    "periods_of",
    "permuted_weight",
    "places_of",
    "pointer_table",
    "pointers_by_length",
    "rates",
    "read_checkpoint",
    "read_lambda_path",
    "read_project",
    "read_stages",
    "repeated_passages",
    "solve_homotopy",
    "solve_path",
    "solve_relay",
    "solve_sharded",
    "storage_costs",
    "warm_up",
    "without_passages",
    "write_lambda_path",
    "write_path",
    "write_project",
    "write_run",
    "write_stages",
]
