from .findings import FalseResult
from .runs import verify_run

__all__ = [
    "FalseResult",
    "verify_run",
]
