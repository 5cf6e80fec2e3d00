"""What lies between a solution and its bound, by document and by K-gram."""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
import pytest

from cflengine import CompressiveFeatures, GuidedSettings
from cflengine.compression import attribute_gap, solve_homotopy
from cflengine.compression.analysis import gap
from cflengine.compression.search import branching
from cflengine.compression.solvers.guided.solver import solve_guided
from naive.corpora import SMALL, costs_by_kind, costs_of, index_of, repeated_phrases

QUICK = GuidedSettings(tol=0.0, annealings=1, relaxation_iterations=40, branching=False)


def attributed(model):
    return attribute_gap(model.result_, model.index_, model.costs_at(model.lam), model.table_.doc_ptr)


def by_hand(result, index, costs, doc_ptr):
    """Term by term, a pointer at a time: {document: [slack, unspent, overlap]}, {K-gram: the same}."""
    pointers = [
        (i, k + 1, int(index.gram_of[k, i]))
        for i in range(index.n_tokens) for k in range(index.max_gram) if result.cover[i] >> k & 1
    ]  # fmt: skip
    alpha, times = result.alpha, np.zeros(index.n_tokens)
    uses, spent = {}, {}
    d = {}
    for i, k, g in pointers:
        extra = costs.pointer_extra[k - 1, i] if costs.pointer_extra.size else 0.0
        d[i, k] = costs.pointer_by_length[k - 1] + extra
        times[i : i + k] += 1
        uses[g] = uses.get(g, 0) + 1
        spent[g] = spent.get(g, 0.0) + max(alpha[i : i + k].sum() - d[i, k], 0.0)
    documents, grams = {}, {}
    for i, k, g in pointers:
        slack = max(d[i, k] - alpha[i : i + k].sum(), 0.0)
        unspent = (costs.dictionary[g] - spent[g]) / uses[g]
        overlap = sum(alpha[j] * (times[j] - 1) / times[j] for j in range(i, i + k))
        document = int(np.searchsorted(doc_ptr, i, side="right")) - 1
        for table, key in ((documents, document), (grams, g)):
            table[key] = table.get(key, np.zeros(3)) + np.array([slack, unspent, overlap])
    return documents, grams


@pytest.mark.parametrize("name", SMALL)
def test_the_terms_are_those_of_the_definition_and_add_up(name):
    index = index_of(SMALL[name])
    for kind, costs in costs_by_kind(index).items():
        result = solve_guided(index, costs, QUICK)
        found = attribute_gap(result, index, costs, index.doc_ptr)
        documents, grams = by_hand(result, index, costs, index.doc_ptr)
        terms = ["slack", "unspent", "overlap"]
        for frame, expected, key in ((found.documents, documents, "document"), (found.grams, grams, "gram")):
            for row in frame.to_dict("records"):
                np.testing.assert_allclose(
                    [row[term] for term in terms], expected.get(row[key], np.zeros(3)), atol=1e-9, err_msg=kind
                )
        scale = max(result.objective, 1.0)
        assert found.documents["gap"].sum() == pytest.approx(found.total, abs=1e-9 * scale)
        assert found.grams["gap"].sum() == pytest.approx(found.total, abs=1e-9 * scale)
        assert found.documents["cost"].sum() == pytest.approx(result.objective, rel=1e-9)
        assert found.total == pytest.approx(result.objective - result.lower_bound, abs=1e-8 * scale)


@pytest.mark.parametrize("at_once", [1, 3, 50])
def test_the_terms_are_the_same_whatever_is_looked_at_at_once(at_once, monkeypatch):
    index = index_of(SMALL["one long document"] + SMALL["random words"])
    costs = costs_of(index)
    result = solve_guided(index, costs, QUICK)
    result.cover[:-3:5] |= 1  # and words that are covered twice
    whole = attribute_gap(result, index, costs, index.doc_ptr)
    monkeypatch.setattr(gap, "_AT_ONCE", at_once)
    pieces = attribute_gap(result, index, costs, index.doc_ptr)
    assert pieces.total == pytest.approx(whole.total, rel=1e-12)
    for one, other in ((whole.documents, pieces.documents), (whole.grams, pieces.grams)):
        np.testing.assert_allclose(one.to_numpy(), other.to_numpy(), rtol=1e-9, atol=1e-9)


def test_no_term_is_below_zero_but_for_rounding():
    index = index_of(repeated_phrases(11, 150, 6))
    for costs in costs_by_kind(index).values():
        for result in (solve_guided(index, costs, QUICK), solve_homotopy(index, costs)):
            found = attribute_gap(result, index, costs, index.doc_ptr)
            least = -1e-9 * max(result.objective, 1.0)
            assert found.documents[["slack", "unspent", "overlap"]].to_numpy().min() >= least
            assert found.grams[["slack", "unspent", "overlap"]].to_numpy().min() >= least


def test_a_document_that_resists_has_most_of_the_gap():
    rng = np.random.default_rng(0)
    noise = " ".join(rng.choice(list("abcdefgh"), 200))  # hard to compress, and harder to prove
    texts = [f"das Haus nummer {i % 9} am Hof" for i in range(80)] + [noise]
    model = CompressiveFeatures().fit(texts)
    found = attributed(model)
    assert found.documents["gap"].idxmax() == 80
    assert found.documents["gap"].iloc[80] > 0.5 * found.total > 0


def test_trees_lift_the_bound_where_it_is_charged():
    """Alone and among others, all documents a part or each one: the lifts are a term below zero."""
    texts = ["c b c a a", "", "the cat sat on the mat", "y x y z z", "u t u s s"]
    for settings in (GuidedSettings(tol=0.0), GuidedSettings(tol=0.0, branching=False)):
        model = CompressiveFeatures(max_gram=2, settings=settings, sentence_borders=True).fit(texts)
        found, result = attributed(model), model.result_
        for table in (found.documents, found.grams):
            assert table["gap"].sum() == pytest.approx(found.total, abs=1e-9 * result.objective)
            assert (table["lift"].sum() < -1.4) == settings.branching and table["lift"].max() <= 0
        assert found.total == pytest.approx(result.objective - result.lower_bound, abs=1e-6)
        assert (found.total < 1e-3) == settings.branching
        assert found.documents["lift"].iloc[[1, 2]].abs().max() < 1e-3


def test_a_lift_of_tokens_that_a_pointer_before_them_covers_is_charged_to_it():
    index = index_of(["a b a b", "a b"], 2)
    cover = np.array([2, 0, 2, 0, 2, 0], dtype=np.uint8)
    tree = SimpleNamespace(spans=np.array([[1, 2]]))  # a token where no pointer begins
    solution = SimpleNamespace(cover=cover, alpha=np.full(6, 0.5), branchings=(tree,))
    costs = costs_of(index, 1.0)
    found = gap.charge_gap(solution, index, costs, index.doc_ptr, np.array([0.25]))
    assert found.total == 3 + 2 - 3 - 0.25
    for table in (found.documents, found.grams):
        assert table["gap"].sum() == pytest.approx(found.total, abs=1e-12) and table["lift"].sum() == -0.25
    assert found.documents["lift"].tolist() == [-0.25, 0.0]


@pytest.mark.parametrize("seed", range(12))
def test_windows_of_documents_keep_all_tokens_covered_and_the_sums(seed, monkeypatch):
    """Solutions that are found later have pointers across the borders of windows."""
    monkeypatch.setattr(branching, "PART_TOKENS", 10)
    monkeypatch.setattr(branching, "WINDOW_TOKENS", 5)
    rng = np.random.default_rng(seed)
    for _ in range(4):
        words = [f"w{k}" for k in range(rng.integers(2, 5))]
        texts = [" ".join(rng.choice(words, rng.integers(1, 45))) for _ in range(rng.integers(1, 4))]
        settings = GuidedSettings(tol=0.0)
        model = CompressiveFeatures(rng.choice([0.3, 1.0, np.pi, 5.0]), int(rng.integers(2, 5)), settings=settings)
        result = model.fit(texts).result_
        assert result.certificate.covered and 0 <= result.gap < 0.5
        found = gap.gap_of(model)
        for table in (found.documents, found.grams):
            assert table["gap"].sum() == pytest.approx(found.total, abs=1e-8 * max(1.0, result.objective))


def test_a_part_is_taken_with_the_pointers_that_reach_out_of_it():
    """Without them, tokens behind it would be covered by nothing, and cost nothing."""
    rng = random.Random(7000068)
    words, n = rng.choice([2, 3, 4, 6, 10, 30, 100]), rng.randint(1001, 1150)
    rng.random()
    text = [f"w{rng.randrange(words)}" for _ in range(n)]
    rng.random()
    share = rng.choice([0, 0.01, 0.03, 0.08])
    text = [word if rng.random() > share else f"h{i}" for i, word in enumerate(text)]
    result = CompressiveFeatures(lam=5.0, max_gram=3).fit([" ".join(text)]).result_
    assert result.certificate.covered and result.dictionary_size > 0 and 0 <= result.gap < 0.02


def test_documents_without_tokens_have_no_gap():
    model = CompressiveFeatures().fit(["", "a b a b", "", "a b", ""])
    found = attributed(model)
    assert len(found.documents) == 5 and found.documents["gap"].iloc[[0, 2, 4]].tolist() == [0, 0, 0]


def test_what_is_optimal_has_no_gap():
    index = index_of(["a", "b"])
    result = solve_guided(index, costs_of(index), GuidedSettings(tol=0.0))
    found = attribute_gap(result, index, costs_of(index), index.doc_ptr)
    assert found.total == pytest.approx(0.0, abs=1e-4) and found.grams["gap"].abs().max() < 1e-4
