"""Parts of a corpus solved exactly, with all else fixed."""

from __future__ import annotations

import numpy as np
import pytest

from cflengine import GuidedSettings
from cflengine.compression.passes.binary import Coder, count_uses
from cflengine.compression.search import neighbourhood
from cflengine.compression.search.neighbourhood import Neighbourhoods
from cflengine.compression.solvers.guided.solver import solve_guided
from naive.corpora import SMALL, costs_by_kind, costs_of, index_of
from naive.programs import solve_exactly


@pytest.fixture(params=["highspy", "scipy"])
def engine(request, monkeypatch):
    if request.param == "scipy":
        monkeypatch.setattr(neighbourhood, "has_highspy", lambda: False)
    else:
        pytest.importorskip("highspy")


@pytest.mark.parametrize("name", SMALL)
def test_a_part_is_cheaper_by_what_is_said_and_the_rest_as_it_was(name, engine):
    index = index_of(SMALL[name][:14])
    for kind, costs in costs_by_kind(index).items():
        coder = Coder(index, costs)
        cover = coder.single_words()
        near = Neighbourhoods(index, costs, cover)
        for d in np.flatnonzero(np.diff(index.doc_ptr)).tolist():
            before, other = coder.evaluate(cover)[0], cover.copy()
            a, e = index.doc_ptr[d : d + 2].tolist()
            saved = near.improve(np.array([[a, e]]), lambda: True)
            assert saved >= 0 and coder.evaluate(cover)[0] == pytest.approx(before - saved, rel=1e-7, abs=1e-9), kind
            np.testing.assert_array_equal(np.delete(cover, np.s_[a:e]), np.delete(other, np.s_[a:e]))
            np.testing.assert_array_equal(near.uses, count_uses(index, cover))


@pytest.mark.parametrize("name", SMALL)
def test_all_of_a_corpus_is_solved_to_the_optimum(name, engine):
    index = index_of(SMALL[name][:14])
    for kind, costs in costs_by_kind(index).items():
        coder = Coder(index, costs)
        cover = coder.single_words()
        Neighbourhoods(index, costs, cover).improve(index.doc_ptr[[0, -1]][None], lambda: True)
        best = solve_exactly(index, costs)
        assert coder.evaluate(cover)[0] == pytest.approx(best, rel=1e-6), kind


def test_what_is_free_elsewhere_is_free_here():
    """ "a b" is stored for the second document, so that the first may use it, once as it does."""
    index = index_of(["a b", "a b a b a b"], 2)
    costs = costs_of(index, 1.0)
    coder = Coder(index, costs)
    cover = coder.single_words()
    near = Neighbourhoods(index, costs, cover)
    assert near.improve(np.array([[2, 8]]), lambda: True) == pytest.approx(1.0)  # 3 pointers and an entry of 2, not 6
    assert near.improve(np.array([[0, 2]]), lambda: True) == pytest.approx(3.0)  # 1 pointer, not 2 and two entries


def test_a_stop_is_heard():
    pytest.importorskip("highspy")
    index = index_of([" ".join(np.random.default_rng(0).choice([f"w{i}" for i in range(40)], 3000))])
    asked = []
    cover = Coder(index, costs_of(index)).single_words()
    Neighbourhoods(index, costs_of(index), cover).improve(np.array([[0, 3000]]), lambda: asked.append(1) is not None)
    assert len(asked) < 50


def test_a_small_corpus_ends_optimal():
    """Where parts by themselves prove too little, one tree decides what ties them together."""
    rng = np.random.default_rng(5)
    phrases = [" ".join(rng.choice([f"w{i}" for i in range(30)], 3)) for _ in range(25)]
    index = index_of([" ".join(rng.choice(phrases, 12)) for _ in range(30)])
    costs = costs_of(index)
    result = solve_guided(index, costs, GuidedSettings(tol=0.0))
    assert result.optimal and result.objective == pytest.approx(solve_exactly(index, costs))
