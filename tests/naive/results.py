"""What must hold of any result of a compression solver, however its run ended."""

from __future__ import annotations

import numpy as np
import pytest

from cflengine.compression.model.certificate import binary_solution, certify
from cflengine.compression.model.problem import StorageCosts
from cflengine.compression.model.result import CompressionResult
from cflengine.engine.progress import TerminationReason
from cflengine.text.kgrams import KGramIndex
from naive.programs import certificate_of


def assert_result_sound(
    result: CompressionResult, index: KGramIndex, costs: StorageCosts, relaxation: float, optimum: float | None = None
) -> None:
    """Objective, bound and dictionary are those of cover and prices, and the trace leads to them.

    relaxation: the optimum of the relaxation, which the prices' own bound does not pass; optimum: of problem (1), or
    None where the result is one without branching trees, and the relaxation's is what its bound may not pass.
    """
    most = relaxation if optimum is None else optimum
    plain, proof = certify(result.cover, result.alpha, index.gram_of, costs), certificate_of(result, index, costs)
    assert plain.covered and plain.objective == result.objective
    assert plain.lower_bound <= relaxation * (1 + 1e-7) + 1e-9
    assert result.lower_bound == pytest.approx(proof.lower_bound, rel=1e-9)
    assert result.lower_bound <= most * (1 + 1e-7) + 1e-9 <= result.objective * (1 + 2e-7) + 2e-9
    used = binary_solution(result.cover, index.gram_of, costs)[3]
    assert result.dictionary.tolist() == np.flatnonzero(used).tolist()
    trace = result.trace
    best, bounds = trace["best_objective"].dropna(), trace["lower_bound"].dropna()
    assert (np.diff(best) <= 1e-9 * best[1:]).all() and best.iloc[-1] == pytest.approx(result.objective, rel=1e-9)
    assert (bounds <= most * (1 + 1e-6) + 1e-9).all() and bounds.is_monotonic_increasing
    known = trace.dropna(subset=["best_objective", "lower_bound"])
    np.testing.assert_allclose(known["gap"], known["best_objective"] / known["lower_bound"] - 1, atol=1e-12)


def assert_relaxation_estimated(result: CompressionResult, relaxation: float) -> None:
    """Its estimate is not below the relaxation's optimum; there is none where no step was taken, or one failed."""
    if np.isnan(result.relaxation_upper):
        assert result.n_iterations == 0 or result.reason is TerminationReason.NUMERICAL_ERROR
    else:
        assert result.relaxation_upper >= relaxation * (1 - 2e-6)
