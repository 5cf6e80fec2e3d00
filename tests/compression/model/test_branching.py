"""Branching trees: bounds of integer problems that no solution undercuts, whatever they are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from cflengine.compression.model.branching import (
    Branching,
    from_arrays,
    to_arrays,
    tree_bound,
    whole_tree,
)
from cflengine.compression.model.certificate import Certificate, certify, dual_bound
from cflengine.compression.model.lifting import lift, lifted_bound
from cflengine.compression.model.linear_program import IntegerProgram
from cflengine.compression.model.local_problem import costs_at, local_problem
from cflengine.compression.model.problem import StorageCosts
from cflengine.compression.search.branching import Brancher
from cflengine.text.kgrams import KGramIndex
from naive.corpora import SMALL, costs_by_kind, costs_of, index_of
from naive.programs import solve_exactly

HALVES = "c b c a a"  # K = 2, λ = 1: 7.5 with halves, 8 without


def relaxed(index: KGramIndex, costs: StorageCosts) -> np.ndarray:
    """Dual prices of the relaxation, feasible."""
    program = IntegerProgram(index, costs)
    found = linprog(program.cost, A_ub=-program.rows, b_ub=-program.lower, method="highs-ds")
    alpha = np.maximum(-found.ineqlin.marginals[: index.n_tokens], 0.0)
    return alpha * dual_bound(alpha, index.gram_of, costs)[1]


def words(index: KGramIndex) -> np.ndarray:
    return np.ones(index.n_tokens, dtype=np.uint8)


def spans_of(units: np.ndarray | list[int], borders: np.ndarray) -> np.ndarray:
    """The spans of some documents, or windows."""
    units = np.asarray(units)
    spans = np.column_stack([borders[units], borders[units + 1]])
    return spans[spans[:, 0] < spans[:, 1]]


def trees(
    index: KGramIndex, costs: StorageCosts, parts: list[list[int]], borders: np.ndarray | None = None,
    alpha: np.ndarray | None = None,
) -> list[Branching]:  # fmt: skip
    """Of parts made of documents, or of windows with these borders; alpha: the relaxation's prices, where known."""
    alpha = relaxed(index, costs) if alpha is None else alpha
    brancher = Brancher(index, costs, words(index), alpha)
    borders = index.doc_ptr if borders is None else borders
    made = [brancher.branch(spans_of(part, borders), lambda: True)[0] for part in parts]
    return [one for one in made if one is not None]


def with_trees(index: KGramIndex, costs: StorageCosts, alpha: np.ndarray, branchings: list[Branching]) -> Certificate:
    return lift(certify(words(index), alpha, index.gram_of, costs), alpha, index.gram_of, costs, branchings)


def test_a_tree_of_two_leaves_closes_what_halves_leave_open():
    index = index_of([HALVES], 2)
    costs = costs_of(index)
    alpha = relaxed(index, costs)
    assert solve_exactly(index, costs) == pytest.approx(8.0) and alpha.sum() == pytest.approx(7.5)
    (tree,) = trees(index, costs, [[0]])
    assert tree.n_leaves == 2 and len(tree.grams) == 0
    bound, lifts = lifted_bound(alpha, index.gram_of, costs, [tree])
    assert 8.0 - 1e-9 < bound <= 8.0 and lifts == pytest.approx([0.5])


@pytest.mark.parametrize("name", SMALL)
def test_bounds_with_trees_lie_between_the_relaxation_and_the_optimum(name):
    index = index_of(SMALL[name][:14])
    for kind, costs in costs_by_kind(index).items():
        alpha, best = relaxed(index, costs), solve_exactly(index, costs)
        plain = dual_bound(alpha, index.gram_of, costs)[0]
        every = np.arange(index.n_documents)
        for parts in ([every.tolist()], [[int(d)] for d in every], [p.tolist() for p in np.array_split(every, 3)]):
            found = trees(index, costs, [part for part in parts if part], alpha=alpha)
            if found:
                bound, lifts = lifted_bound(alpha, index.gram_of, costs, found)
                assert plain * (1 - 1e-8) - 1e-8 <= bound <= best * (1 + 1e-9) + 1e-9, kind
                assert bound == pytest.approx(plain + lifts.sum(), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("name", SMALL)
def test_windows_of_documents_are_parts_whose_bounds_add_up_to_no_more_than_the_optimum(name):
    """Nothing is lost by dividing pointers across borders by prices, so that trees only lift."""
    index = index_of(SMALL[name][:14])
    for kind, costs in costs_by_kind(index).items():
        alpha, best = relaxed(index, costs), solve_exactly(index, costs)
        plain = dual_bound(alpha, index.gram_of, costs)[0]
        for size in (2, 5, 9):
            borders = np.arange(0, index.n_tokens + size, size).clip(max=index.n_tokens)
            every = np.flatnonzero(np.diff(borders))
            for step in (len(every), 2, 3):
                parts = [every[i::step].tolist() for i in range(min(step, 9))]
                found = trees(index, costs, parts, borders, alpha)
                if found:
                    bound, lifts = lifted_bound(alpha, index.gram_of, costs, found)
                    assert lifts.min() > 0
                    assert bound == pytest.approx(plain + lifts.sum(), rel=1e-8, abs=1e-8), kind
                    assert plain * (1 - 1e-8) - 1e-8 <= bound <= best * (1 + 1e-9) + 1e-9, kind
                    moved = [one.moved(-7, index.max_gram).moved(7, index.max_gram) for one in found]
                    assert lifted_bound(alpha, index.gram_of, costs, moved)[0] == bound


def random_tree(
    rng: np.random.Generator, index: KGramIndex, costs: StorageCosts, spans: np.ndarray, **given: Any
) -> Branching:
    """A part with shares, decisions and prices drawn at random. given: division, float64 (G,), of what is shared;
    depth; scale of prices."""
    local = local_problem(spans, index.gram_of, costs, index.counts())
    places, shared = local.places(), np.flatnonzero(~local.alone)
    share = given["division"][local.grams[shared]] * costs.dictionary[local.grams[shared]] * 0.999
    across = costs_at(costs, local.across) * rng.random(len(local.across)) * 0.499  # two parts have one
    paths = [[]]
    for _ in range(given["depth"]):
        path = paths.pop(int(rng.integers(len(paths))))
        gram = int(rng.integers(len(local.grams)))
        paths += [[*path, (gram, 0)], [*path, (gram, 1)]]
    decided = np.array([step for path in paths for step in path], dtype=np.int64).reshape(-1, 2)
    prices = rng.exponential(given["scale"], (len(paths), int(local.inside.sum())))
    ends = np.cumsum([0, *map(len, paths)])
    kinds = decided[:, 1].astype(np.uint8)
    return Branching(spans, places[shared], share, across, ends, places[decided[:, 0]], kinds, prices)


@settings(max_examples=150)
@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(0, 4), st.sampled_from([0.3, 1.0, 3.0]), st.booleans())
def test_any_tree_with_any_prices_proves_a_valid_bound(seed, n_parts, depth, scale, windows):
    """Parts, shares of what is shared, decisions and prices drawn at random: none of them has to be sensible."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(list("abcd"), int(rng.integers(1, 7)))) for _ in range(4)]
    index = index_of(texts, 2)
    costs = costs_of(index, 0.5)
    borders = index.doc_ptr
    if windows:
        borders = np.unique(np.concatenate([borders, rng.integers(0, index.n_tokens, 5)]))
    owner = rng.integers(0, n_parts + 1, len(borders) - 1)
    division = rng.dirichlet(np.ones(n_parts + 1), index.n_grams)
    members = [np.flatnonzero(owner == part) for part in range(n_parts)]
    found = [
        random_tree(rng, index, costs, spans_of(own, borders), division=division[:, part], depth=depth, scale=scale)
        for part, own in enumerate(members)
        if len(own)
    ]
    if found:
        alpha = rng.exponential(scale, index.n_tokens)
        bound, _ = lifted_bound(alpha, index.gram_of, costs, found)
        assert bound <= solve_exactly(index, costs) + 1e-9


@pytest.mark.parametrize(
    ("leaves", "whole"),
    [
        ([[]], True), ([], False), ([[(1, 0)], [(1, 1)]], True), ([[(1, 0)]], False), ([[(1, 1)], [(1, 1)]], False),
        ([[(1, 0)], [(2, 1)]], False), ([[(1, 0)], [(1, 1), (2, 0)], [(1, 1), (2, 1)]], True),
        ([[(1, 0)], [(1, 1), (2, 0)]], False), ([[], [(1, 1)]], False), ([[(1, 0)], [(1, 0)], [(1, 1)]], False),
    ],
)  # fmt: skip
def test_only_whole_trees_are_believed(leaves, whole):
    assert whole_tree(leaves) == whole


def test_what_is_wrong_with_a_tree_is_refused():
    index = index_of([HALVES, "a a b", HALVES], 2)
    costs = costs_of(index)
    alpha, (tree,) = relaxed(index, costs), trees(index, costs, [[0, 2]])
    assert len(tree.grams) and tree.n_leaves > 1
    ends = tree.leaf_ptr
    wrong = {
        "whole tree": [
            replace(tree, leaf_ptr=ends[:-1], fixed=tree.fixed[: ends[-2]], stored=tree.stored[: ends[-2]],
                    prices=tree.prices[:-1]),
            replace(tree, prices=tree.prices[:, :-1]),
            replace(tree, stored=np.zeros_like(tree.stored)),
        ],
        "no numbers": [replace(tree, prices=tree.prices * np.nan)],
        "disjoint": [
            replace(tree, spans=np.array([[0, 5], [5, 5]])),
        ],
        "no spans": [
            replace(tree, spans=tree.spans[::-1]), replace(tree, spans=tree.spans + 10**6),
            replace(tree, spans=tree.spans - 1), replace(tree, spans=tree.spans.ravel()),
            replace(tree, spans=tree.spans[:0]),
        ],
        "across": [replace(tree, across=np.ones(1))],
        "does not have": [replace(tree, fixed=tree.fixed + 10**6), replace(tree, grams=tree.grams - 10**6)],
        "does not share": [
            replace(tree, share=-1.0 - tree.share), replace(tree, grams=np.repeat(tree.grams[:1], len(tree.grams))),
            replace(tree, share=tree.share * np.nan),
        ],
        "costs": [replace(tree, share=tree.share * 0 + 1e3)],
        "damaged": [replace(tree, leaf_ptr=ends[::-1]), replace(tree, leaf_ptr=ends + 1)],
    }  # fmt: skip
    for words_of_it, cases in wrong.items():
        for case in cases:
            with pytest.raises(ValueError, match=words_of_it):
                lifted_bound(alpha, index.gram_of, costs, [case])
    with pytest.raises(ValueError, match="disjoint"):
        lifted_bound(alpha, index.gram_of, costs, [tree, tree])


def test_prices_that_are_too_high_are_shrunk_and_lower_ones_prove_less():
    index = index_of([HALVES], 2)
    costs = costs_of(index)
    (tree,) = trees(index, costs, [[0]])
    local = local_problem(np.array([[0, index.n_tokens]]), index.gram_of, costs, index.counts())
    best = tree_bound(tree, local)
    for factor in (0.5, 0.99, 1.01, 3.0):
        assert tree_bound(replace(tree, prices=tree.prices * factor), local) < best


def test_the_certificate_takes_the_better_bound_and_files_bring_trees_back():
    index = index_of([*SMALL["random words"], HALVES], 2)
    costs = costs_of(index)
    alpha = relaxed(index, costs)
    found = trees(index, costs, [[d] for d in range(index.n_documents)])
    assert found
    again = from_arrays(to_arrays(found))
    assert len(again) == len(found)
    for one, other in zip(found, again, strict=True):
        for name in ("spans", "grams", "across", "share", "leaf_ptr", "fixed", "stored", "prices"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    plain = certify(words(index), alpha, index.gram_of, costs)
    proved = with_trees(index, costs, alpha, again)
    assert proved.lower_bound > plain.lower_bound and proved.gap < plain.gap and proved.objective == plain.objective
    weak = [replace(one, prices=one.prices * 0) for one in again]
    assert with_trees(index, costs, alpha, weak) == plain
    assert from_arrays({}) == () and to_arrays([]) == {}


@pytest.mark.parametrize("name", ["spans_ptr", "prices", "leaf_ptr_ptr", "share"])
def test_arrays_of_trees_that_are_damaged_are_refused(name):
    index = index_of([HALVES], 2)
    arrays = to_arrays(trees(index, costs_of(index), [[0]]))
    for bad in (arrays[f"branching_{name}"][:-1], arrays[f"branching_{name}"].astype("U4")):
        if len(bad) or name != "share":
            with pytest.raises(ValueError, match="branchings"):
                from_arrays(arrays | {f"branching_{name}": bad})
    with pytest.raises(ValueError, match="lack"):
        from_arrays({key: value for key, value in arrays.items() if key != f"branching_{name}"})


@pytest.mark.parametrize("cost", [0.0, 1e-5], ids=["free", "nearly free"])
@pytest.mark.parametrize("size", [30, 90])
def test_parts_never_spend_more_than_there_is_on_what_costs_next_to_nothing(cost, size):
    """What pointers spend is rounded up, which shows where a K-gram costs a millionth of them."""
    rng = np.random.default_rng(size)
    weights = 1.0 / np.arange(1, 61)
    tokens = rng.choice(60, 600, p=weights / weights.sum())
    index = index_of([" ".join(f"w{t}" for t in tokens)])
    costs = costs_of(index, 1e3 if cost else 1.0)
    costs.dictionary[index.lengths() == 2] *= cost
    alpha = relaxed(index, costs) * np.where(np.arange(600) < 300, 1.0, 0.9)
    borders = np.unique(np.append(np.arange(0, 600, size), 600))
    parts = [[unit] for unit in range(len(borders) - 1)]
    found = trees(index, costs, parts, borders, alpha)
    assert found
    bound, lifts = lifted_bound(alpha, index.gram_of, costs, found)
    plain = dual_bound(alpha, index.gram_of, costs)[0]
    assert plain < bound == pytest.approx(plain + lifts.sum(), rel=1e-8)


def test_a_tree_of_one_leaf_lifts_prices_that_are_not_the_best():
    index = index_of([HALVES] * 3, 2)
    costs = costs_of(index, 0.01)  # nothing to decide
    low = 0.5 * relaxed(index, costs)
    found = trees(index, costs, [[0, 1, 2]], alpha=low)
    assert [one.n_leaves for one in found] == [1]
    best = solve_exactly(index, costs)
    assert lifted_bound(low, index.gram_of, costs, found)[0] == pytest.approx(best, rel=1e-9)
