from .authors import AuthorRules, AuthorTask
from .evaluation import Budget, Evaluation, EvaluationSettings, Standing
from .explain import word_weights
from .export import evaluation_report, flat_table, write_evaluation
from .findings import Finding, final_model, find
from .run import evaluate, make_tasks
from .search import CompressiveSearchCV
from .splits import make_plan
from .targets import read_target
from .tasks import DocumentTask, Task, compare

__all__ = [
    "AuthorRules",
    "AuthorTask",
    "Budget",
    "CompressiveSearchCV",
    "DocumentTask",
    "Evaluation",
    "EvaluationSettings",
    "Finding",
    "Standing",
    "Task",
    "compare",
    "evaluate",
    "evaluation_report",
    "final_model",
    "find",
    "flat_table",
    "make_plan",
    "make_tasks",
    "read_target",
    "word_weights",
    "write_evaluation",
]
