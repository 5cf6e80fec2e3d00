"""The linear programmes of a tree's nodes: from the node above or from nothing, the optimum is HiGHS's."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cflengine.compression.model import highs
from cflengine.compression.model.certificate import binary_solution, certify, dual_bound
from cflengine.compression.model.linear_program import IntegerProgram
from cflengine.compression.search import branching
from cflengine.compression.search.branching import Brancher
from cflengine.compression.search.node_programs import ColdProgram, WarmProgram, node_program
from cflengine.compression.solvers.guided.solver import GuidedSettings, solve_guided
from naive.corpora import SMALL, costs_by_kind, costs_of, index_of, random_words
from naive.programs import solve_exactly

pytest.importorskip("highspy")

TESTS = Path(__file__).resolve().parents[2]
PATHS = os.environ | {"PYTHONPATH": f"{TESTS}:{TESTS.parent}"}
HARD = random_words(7, 18, 12, 8)


@pytest.mark.parametrize("corpus", ["random words", "repeated phrases", "one long document"])
def test_both_find_the_same_optimum_of_any_node_in_any_order(corpus):
    index = index_of(SMALL[corpus])
    rng = np.random.default_rng(0)
    for kind, costs in costs_by_kind(index).items():
        program = IntegerProgram(index, costs)
        kinds = np.flatnonzero(program.shared)
        if not len(kinds):
            continue
        warm, cold = WarmProgram(program), ColdProgram(program)
        above, decided = warm.solve(()), ()
        assert above.value == pytest.approx(cold.solve(()).value, rel=1e-9)
        for gram in rng.choice(kinds, min(len(kinds), 4), replace=False):
            found = []
            for stored in (0, 1):
                branch = (*decided, (int(gram), stored))
                found.append(warm.solve(branch, above))
                expected = cold.solve(branch)
                assert (found[-1] is None) == (expected is None), kind
                if expected is not None:
                    assert found[-1].value == pytest.approx(expected.value, rel=1e-9), kind
                    assert (found[-1].prices >= 0).all() and ((found[-1].levels >= 0) & (found[-1].levels <= 1)).all()
            took = int(rng.integers(0, 2))
            if found[took] is not None:
                above, decided = found[took], (*decided, (int(gram), took))
        assert warm.solve((), above).value == pytest.approx(cold.solve(()).value, rel=1e-9), "nothing stays decided"


@pytest.mark.parametrize("kind", [WarmProgram, ColdProgram])
def test_trees_of_either_lift_the_bound_by_as_much(monkeypatch, kind):
    monkeypatch.setattr(branching, "node_program", kind)
    index = index_of(HARD)
    costs = costs_of(index)
    program = IntegerProgram(index, costs)
    alpha = ColdProgram(program).solve(()).prices
    alpha = alpha * dual_bound(alpha, index.gram_of, costs)[1]
    cover = np.ones(index.n_tokens, dtype=np.uint8)
    spans = index.doc_ptr[[0, -1]][None]
    tree, lift, _ = Brancher(index, costs, cover, alpha).branch(spans, lambda: True)
    again, same, _ = Brancher(index, costs, cover, alpha).branch(spans, lambda: True)
    assert lift > 0 and same == lift
    np.testing.assert_array_equal(tree.prices, again.prices)


@pytest.mark.parametrize("corpus", ["random words", "repeated phrases", "many short documents", "one long document"])
def test_a_tree_that_ends_in_a_solution_hands_it_over(corpus):
    """Of all documents: the optimum; nothing where the solution is that already."""
    index = index_of(SMALL[corpus])
    costs = costs_of(index)
    words, optimum = np.ones(index.n_tokens, dtype=np.uint8), solve_exactly(index, costs)
    alpha = ColdProgram(IntegerProgram(index, costs)).solve(()).prices
    alpha = alpha * dual_bound(alpha, index.gram_of, costs)[1]
    spans = index.doc_ptr[[0, -1]][None]
    tokens, part = Brancher(index, costs, words, alpha).branch(spans, lambda: True).better
    cover = words.copy()
    cover[tokens] = part
    value, covered, _, _ = binary_solution(cover, index.gram_of, costs)
    assert covered and value == pytest.approx(optimum, rel=1e-9)
    assert Brancher(index, costs, cover, alpha).branch(spans, lambda: True).better is None


def test_the_guided_solver_takes_it():
    """Where its own search is off and finds something else."""
    index = index_of(SMALL["random words"])
    costs = costs_of(index)
    poor = GuidedSettings(tol=0.0, annealings=0, early=False, branching=False, relaxation_iterations=3)
    before, after = solve_guided(index, costs, poor), solve_guided(index, costs, replace(poor, branching=True))
    assert after.objective < before.objective
    assert certify(after.cover, after.alpha, index.gram_of, costs).objective == after.objective
    used = after.cover >> np.arange(index.max_gram, dtype=np.uint8)[:, None] & 1
    assert set(after.dictionary) == set(index.gram_of[used.astype(bool)])
    assert after.lower_bound <= solve_exactly(index, costs) * (1 + 1e-9) <= after.objective * (1 + 2e-9)


def test_highs_prints_nothing():
    """Not even its name, which would stand in what a command prints for other programs."""
    code = "from tests.compression.search import test_node_programs as t\n"
    code += "index = t.index_of(t.HARD)\nt.WarmProgram(t.IntegerProgram(index, t.costs_of(index))).solve(())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=PATHS)
    assert done.stdout == ""


def test_without_highspy_or_beside_or_tools_scipy_does(monkeypatch):
    program = IntegerProgram(index_of(HARD), costs_of(index_of(HARD)))
    assert isinstance(node_program(program), WarmProgram)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "ortools", sys)
        assert isinstance(node_program(program), ColdProgram)
    monkeypatch.setattr(highs, "find_spec", lambda name: None)
    assert isinstance(node_program(program), ColdProgram)
