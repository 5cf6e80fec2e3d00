"""What lies between a solution and its bound, by document and by K-gram."""

from __future__ import annotations

import numpy as np
import pytest

from cflengine import CompressiveFeatures, GuidedSettings
from cflengine.compression import attribute_gap, solve_homotopy
from cflengine.compression.analysis import gap
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


def test_documents_without_tokens_have_no_gap():
    model = CompressiveFeatures().fit(["", "a b a b", "", "a b", ""])
    found = attributed(model)
    assert len(found.documents) == 5 and found.documents["gap"].iloc[[0, 2, 4]].tolist() == [0, 0, 0]


def test_what_is_optimal_has_no_gap():
    index = index_of(["a", "b"])
    result = solve_guided(index, costs_of(index), GuidedSettings(tol=0.0))
    found = attribute_gap(result, index, costs_of(index), index.doc_ptr)
    assert found.total == pytest.approx(0.0, abs=1e-4) and found.grams["gap"].abs().max() < 1e-4
