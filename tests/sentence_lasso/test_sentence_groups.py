"""Other parts of documents as groups, and λ that goes by their lengths."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import sparse

from cflengine import ADMMSettings, SentenceLassoClassifier, load_model
from cflengine.sentence_lasso import GROUP_WEIGHTS, SentenceProblem, certify, classifier
from cflengine.sentence_lasso.model.penalties import Penalty, TrainingData
from cflengine.text import UNITS, unit_spans

TEXTS = [
    f"A {word} plot, and a {word} end. {'It' * (k % 3)} goes on; so do we.\n\nThe {word} cast: {k % 5} {word} people."
    for k in range(12)
    for word in ("good", "bad")
]
LABELS = np.tile([1, 0], 12)
WORDS = re.compile(r"\w+")
LAMS = {"lam_sen": 0.02, "l1": 0.05}


def fitted(**parameters) -> SentenceLassoClassifier:
    return SentenceLassoClassifier(**LAMS, **parameters).fit(TEXTS, LABELS)


def penalty_by_definition(model: SentenceLassoClassifier, unit: str, weights: str) -> float:
    """λ_las‖w‖₁ + Σ λ_{d,s}‖w_{d,s}‖ from the texts, a weight for every token."""
    w = dict(zip(model.get_feature_names_out(), model.coef_[0], strict=True))
    total = LAMS["l1"] * np.abs(model.coef_).sum()
    for text in TEXTS:
        for a, b in unit_spans(text, unit):
            own = np.array([w[word] for word in WORDS.findall(text[a:b].lower())])
            total += LAMS["lam_sen"] * np.linalg.norm(own) * (np.sqrt(len(own)) if weights == "length" else 1.0)
    return float(total)


@pytest.mark.parametrize("weights", GROUP_WEIGHTS)
@pytest.mark.parametrize("unit", UNITS)
def test_the_objective_is_that_of_the_groups_and_proved(unit, weights):
    model = fitted(groups=unit, group_weights=weights)
    scores = model.decision_function(TEXTS)
    loss = np.logaddexp(0.0, -np.where(LABELS == 1, scores, -scores)).sum()
    assert model.result_.objective == pytest.approx(loss + penalty_by_definition(model, unit, weights), rel=1e-9)
    assert model.duality_gap_ <= 1e-4
    assert len(model.selected_sentences_) == sum(len(unit_spans(text, unit)) for text in TEXTS)


def test_groups_differ():
    objectives = {fitted(groups=u, group_weights=w).result_.objective for u in UNITS for w in GROUP_WEIGHTS}
    assert len(objectives) == len(UNITS) * len(GROUP_WEIGHTS)


@pytest.mark.parametrize("unit", UNITS)
def test_both_solvers_find_the_same_optimum(unit):
    settings = ADMMSettings(tol=1e-5, max_iter=20_000)
    first, second = (
        fitted(groups=unit, group_weights="length", tol=1e-5),
        fitted(groups=unit, group_weights="length", solver="admm", settings=settings),
    )
    assert second.result_.objective == pytest.approx(first.result_.objective, rel=2e-5)


def test_documents_as_groups_are_what_a_matrix_has():
    model = fitted(groups="document", tol=1e-8)
    with pytest.warns(UserWarning, match="every document of a matrix is one group"):
        matrix = SentenceLassoClassifier(**LAMS, tol=1e-8).fit(model.data_.X, LABELS)
    np.testing.assert_allclose(matrix.coef_, model.coef_, atol=1e-5)


def test_a_proof_holds_of_its_own_groups_alone():
    """Prices of λ by length prove nothing of equal λ: their multipliers are longer than the balls of these."""
    data = fitted(group_weights="length").data_
    longer = fitted(group_weights="length").result_
    penalty = Penalty("sentence", lam_sen=LAMS["lam_sen"], lam_las=LAMS["l1"])
    signs = np.where(LABELS == 1, 1.0, -1.0)
    equal: SentenceProblem = TrainingData(data.X, data.counts).problem(signs, penalty)
    proved = certify(equal, longer.w, longer.multipliers, longer.bias)
    optimum = fitted(tol=1e-8).result_.objective
    assert proved.lower_bound <= optimum * (1 + 1e-9) and proved.lower_bound < longer.lower_bound


def test_a_saved_model_knows_its_groups(tmp_path):
    model = fitted(groups="clause", group_weights="length")
    model.save(tmp_path / "model.cflm")
    kept = load_model(tmp_path / "model.cflm")
    assert (kept.groups, kept.group_weights) == ("clause", "length")
    np.testing.assert_array_equal(kept.cut(TEXTS).start, model.sentences_.start)
    np.testing.assert_array_equal(kept.predict_proba(TEXTS), model.predict_proba(TEXTS))


@pytest.mark.parametrize("wrong", [{"groups": "word"}, {"groups": None}, {"group_weights": "n"}, {"group_weights": 1}])
def test_unknown_groups_are_refused_before_anything_is_cut(wrong, monkeypatch):
    ((name, _),) = wrong.items()
    monkeypatch.setattr(classifier, "cut_sentences", None)
    with pytest.raises(ValueError, match=f"{name} must be one of"):
        fitted(**wrong)
    rows = sparse.eye(4).tocsr()
    with pytest.raises(ValueError, match=f"{name} must be one of"):
        SentenceLassoClassifier(**wrong).fit(rows, [0, 1, 0, 1], sentences=rows)
