from .authors import AuthorRules, AuthorTask
from .evaluation import Budget, Evaluation, EvaluationSettings, Standing
from .explain import judge_of, word_weights
from .export import evaluation_report, flat_table, write_evaluation
from .findings import Finding, final_model, find
from .methods import method_name
from .run import evaluate, make_tasks
from .search import CompressiveSearchCV
from .splits import make_plan
from .targets import read_target
from .tasks import DocumentTask, Task, compare, to_the_end

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
    "judge_of",
    "make_plan",
    "make_tasks",
    "method_name",
    "read_target",
    "to_the_end",
    "word_weights",
    "write_evaluation",
]
