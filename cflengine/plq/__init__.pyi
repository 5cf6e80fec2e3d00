from .certificate import FEASIBLE
from .constraints import fair, fairness
from .descent import Descent
from .estimator import PLQClassifier, PLQRegressor
from .export import coefficients_frame, documents_frame, risk_report, write_risk
from .losses import LOSSES, Loss, drawn_loss, named_loss
from .problem import Constraints, PLQProblem, no_constraints
from .race import FORMS, DualSVM
from .result import PLQResult
from .risk_comparison import RiskComparison
from .settings import DescentSettings
from .solver import solve
from .warm import warm_up

__all__ = [
    "FEASIBLE",
    "FORMS",
    "LOSSES",
    "Constraints",
    "Descent",
    "DescentSettings",
    "DualSVM",
    "Loss",
    "PLQClassifier",
    "PLQProblem",
    "PLQRegressor",
    "PLQResult",
    "RiskComparison",
    "coefficients_frame",
    "documents_frame",
    "drawn_loss",
    "fair",
    "fairness",
    "named_loss",
    "no_constraints",
    "risk_report",
    "solve",
    "warm_up",
    "write_risk",
]
