"""What each sentence says for its document's label, against doing without it; which training sentences are selected."""

from __future__ import annotations

import numpy as np
import pytest

from cflengine import ADMMSettings, PenalisedClassifier, SentenceLassoClassifier

TEXTS = [
    "Good word. The plot is bad.", "Bad, bad word! A plot.", "Good good plot. Word. Word.", "The bad word. Plot of it.",
    "A good start. Good end. Nothing else.", "Bad start. Why?", "So so. Plot of a word.", "Neither. Nor.",
]  # fmt: skip
TWO = np.array(["pos", "neg", "pos", "neg", "pos", "neg", "neg", "pos"])
THREE = np.array(["b", "a", "b", "a", "b", "a", "c", "c"])
UNSEEN = ["A bad zebra. Good. ... Good plot!", "", "Zebra."]


@pytest.fixture(
    scope="module",
    params=[
        SentenceLassoClassifier(0.02, 0.02),
        SentenceLassoClassifier(0.02, 0.02, solver="admm"),
        PenalisedClassifier("ridge", l2=0.1),
        PenalisedClassifier("lasso", l1=0.05),
        PenalisedClassifier("elastic", l1=0.02, l2=0.04),
        PenalisedClassifier("frequency", l1=0.02, l2=0.02),
    ],
    ids=["sentence", "admm", "ridge", "lasso", "elastic", "frequency"],
)
def model(request):
    return request.param


def log_chance(model, counts: np.ndarray, label: str) -> float:
    """log p(label | counts): of two classes, or of the label against the rest."""
    k = model.classes_.tolist().index(label)
    if len(model.classes_) == 2:
        score = float(model.coef_[0] @ counts + model.intercept_[0]) * (1 if k else -1)
    else:
        score = float(model.coef_[k] @ counts + model.intercept_[k])
    return -np.logaddexp(0.0, -score)


@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two classes", "three classes"])
def test_log_odds_of_doing_without_each_sentence(model, labels):
    model.fit(TEXTS, labels)
    for texts, wanted in ((TEXTS, labels), (UNSEEN, np.repeat(labels[0], 3)), (TEXTS, np.roll(labels, 1))):
        frame, table = model.sentence_relevance(texts, wanted), model.cut(texts)
        assert frame["label"].tolist() == wanted[table.document].tolist() and len(frame) == len(table)
        whole = table.by_document().toarray()
        for s, row in frame.iterrows():
            own = table.counts[s].toarray()[0]
            label = row["label"]
            expected = log_chance(model, whole[row["document"]], label)
            expected -= log_chance(model, whole[row["document"]] - own, label)
            assert row["log_odds"] == pytest.approx(expected, abs=1e-10)
            k = 0 if len(model.coef_) == 1 else model.classes_.tolist().index(label)
            weights = np.repeat(model.coef_[k], own.astype(int))
            assert row["group_norm"] == pytest.approx(np.linalg.norm(weights), abs=1e-10)


def test_places_of_sentences():
    model = SentenceLassoClassifier(0.02, 0.02).fit(TEXTS, TWO)
    frame = model.sentence_relevance(UNSEEN)
    assert set(frame["document"]) == {0, 2}
    for d, part in frame.groupby("document"):
        assert part["sentence"].tolist() == list(range(len(part)))
        assert (part["start"].to_numpy()[1:] >= part["end"].to_numpy()[:-1]).all()
        assert part["end"].max() <= len(UNSEEN[d])
    assert UNSEEN[0][frame["start"][0] : frame["end"][0]] == "A bad zebra."


@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two classes", "three classes"])
def test_without_labels_the_predicted_ones_are_meant(labels):
    model = SentenceLassoClassifier(0.02, 0.02).fit(TEXTS, labels)
    predicted = model.sentence_relevance(UNSEEN)
    assert predicted.equals(model.sentence_relevance(UNSEEN, model.predict(UNSEEN)))
    assert predicted.equals(model.sentence_relevance(UNSEEN, model.predict(UNSEEN).tolist()))
    assert predicted.equals(model.sentence_relevance(model.cut(UNSEEN)))


def test_a_sentence_that_speaks_for_the_label_has_positive_log_odds():
    model = PenalisedClassifier("ridge", l2=0.1).fit(TEXTS, TWO)
    both = ["Good good. Bad bad."]
    as_positive = model.sentence_relevance(both, ["pos"])["log_odds"]
    as_negative = model.sentence_relevance(both, ["neg"])["log_odds"]
    assert as_positive[0] > 0 > as_positive[1] and as_negative[1] > 0 > as_negative[0]


def test_unknown_labels_raise():
    model = SentenceLassoClassifier(0.02, 0.02).fit(TEXTS, TWO)
    for wrong in (["maybe", "pos", "neg"], [1, 0, 1]):
        with pytest.raises(ValueError, match="none of the model's classes"):
            model.sentence_relevance(UNSEEN, wrong)


@pytest.mark.parametrize("wrong", [["pos"], ["pos"] * 2, ["pos"] * 4, []], ids=len)
def test_labels_are_as_many_as_documents(wrong):
    model = SentenceLassoClassifier(0.02, 0.02).fit(TEXTS, TWO)
    with pytest.raises(ValueError, match="label"):
        model.sentence_relevance(UNSEEN, wrong)


def test_no_documents_have_no_sentences():
    model = SentenceLassoClassifier(0.02, 0.02).fit(TEXTS, TWO)
    assert len(model.sentence_relevance([])) == len(model.sentence_relevance(["", " "])) == 0


# training sentences


def test_selected_sentences_are_those_with_a_weight():
    model = SentenceLassoClassifier(0.3, 0.1).fit(TEXTS, TWO)
    expected = np.sqrt(model.sentences_.counts.toarray() @ model.coef_[0] ** 2)
    np.testing.assert_allclose(model.sentence_norms_, expected)
    assert model.selected_sentences_.dtype == bool and 0 < model.selected_sentences_.sum() < len(expected)
    assert model.selected_sentences_.tolist() == (expected > 0).tolist()
    assert len(model.selected_sentences_) == len(model.sentences_)


def test_admm_selects_by_its_copies():
    model = SentenceLassoClassifier(0.3, 0.1, solver="admm", settings=ADMMSettings(rho=0.1, max_iter=8)).fit(TEXTS, TWO)
    result, groups = model.results_[0], model.data_.groups
    norms = np.append(groups.norms(result.copies), 0.0)[groups.of_sentence]
    np.testing.assert_array_equal(model.sentence_norms_, norms)
    by_weight = np.sqrt(model.sentences_.counts.toarray() @ model.coef_[0] ** 2)
    assert (model.selected_sentences_ != (by_weight > 0)).any(), "early on, copies and weights differ"


def test_selected_sentences_of_each_class():
    model = SentenceLassoClassifier(0.1, 0.1).fit(TEXTS, THREE)
    assert model.selected_sentences_.shape == (3, len(model.sentences_))
    expected = np.sqrt(model.sentences_.counts.toarray() @ (model.coef_**2).T).T
    np.testing.assert_allclose(model.sentence_norms_, expected)


def test_baselines_have_norms_of_sentences_too():
    model = PenalisedClassifier("lasso", l1=0.3).fit(TEXTS, TWO)
    expected = np.sqrt(model.sentences_.counts.toarray() @ model.coef_[0] ** 2)
    np.testing.assert_allclose(model.sentence_norms_, expected)


def test_sentences_without_a_word_are_never_selected():
    model = SentenceLassoClassifier(0.01, 0.01).fit(["Good. ... ?!", "Bad. --- word."], [1, 0])
    empty = np.diff(model.sentences_.counts.indptr) == 0
    assert empty.any() and not model.selected_sentences_[empty].any() and model.selected_sentences_.any()
