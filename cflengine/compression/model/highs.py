"""HiGHS with problem (1)'s integer linear programme, or its relaxation, by the package highspy."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np

from cflengine.compression.model.linear_program import IntegerProgram
from cflengine.engine.checks import MissingPackageError

# HiGHS's heuristics that solve smaller integer programmes take three times the memory and cannot be stopped for a
# minute at a time; the guided solver's solution as ``start`` is about as good and there in seconds
NO_SUBPROBLEMS = {
    "mip_heuristic_run_rins": False,
    "mip_heuristic_run_rens": False,
    "mip_heuristic_run_root_reduced_cost": False,
}


def has_highspy() -> bool:
    """Whether it can be imported. OR-tools has a HiGHS of its own, and a process can load only one of the two."""
    return find_spec("highspy") is not None and "ortools" not in sys.modules


def load_highspy() -> Any:
    """The package, imported on first use; MissingPackageError with what to install where it is missing."""
    try:
        import highspy
    except ImportError as error:
        raise MissingPackageError("the exact solver needs the package highspy: pip install 'highspy>=1.12'.") from error
    return highspy


def start_highs(program: IntegerProgram, options: Mapping[str, Any], *, integral: bool = False) -> Any:
    """A quiet HiGHS on one thread that holds the programme, and has these options of its own.

    The relaxation has no upper bounds: the dual that certificate.py knows has no multipliers for them.
    """
    highspy = load_highspy()
    m, (n_rows, n_columns) = program.n_pointers, program.rows.shape
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = n_rows, n_columns
    lp.col_cost_, lp.col_lower_ = program.cost, np.zeros(n_columns)
    lp.col_upper_ = np.repeat([np.inf, 1.0 if integral else np.inf], [m, n_columns - m])
    lp.row_lower_, lp.row_upper_ = program.lower, np.full(n_rows, np.inf)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = program.rows.indptr, program.rows.indices
    lp.a_matrix_.value_ = program.rows.data
    if integral:
        kinds = highspy.HighsVarType
        lp.integrality_ = [kinds.kContinuous] * m + [kinds.kInteger] * (n_columns - m)

    class Quiet(highspy.Highs):  # type: ignore[name-defined]
        """The constructor enables callbacks, and with them prints a line, before an option can be set."""

        def enableCallbacks(self) -> None:
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    highs = Quiet()
    for name, value in {"parallel": "off", **options}.items():
        highs.setOptionValue(name, value)
    highs.passModel(lp)
    return highs
