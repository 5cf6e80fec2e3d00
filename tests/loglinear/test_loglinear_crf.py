"""ChainCRF against python-crfsuite, and as its users meet it."""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from cflengine import ChainCRF, ClusteredSettings, load_model
from cflengine.engine.checks import InputError
from cflengine.loglinear.model import chain
from cflengine.loglinear.tagging import tag_columns, write_tagger
from cflengine.text.tagging.attributes import AttributeTable, attribute_items
from cflengine.text.tagging.templates import PAPER_TEMPLATE

WORDS = ["the", "a", "Kim", "Lee", "Rome", "Oslo", "met", "saw", "in", "left"]
TAGS = {"Kim": "PER", "Lee": "PER", "Rome": "LOC", "Oslo": "LOC"}


def sentences(seed: int, n: int = 60):
    """Attribute lists and labels; a label hangs on the word, mostly."""
    generator = random.Random(seed)
    X, Y = [], []
    for _ in range(n):
        words = [generator.choice(WORDS) for _ in range(generator.randint(1, 8))]
        before = ["<s>", *words]
        X.append(
            [[f"w={word}", f"p={before[i]}", *(["cap"] if word[0].isupper() else [])] for i, word in enumerate(words)]
        )
        Y.append(["O" if generator.random() < 0.1 else TAGS.get(word, "O") for word in words])
    return X, Y


@pytest.mark.parametrize(("c1", "c2"), [(0.0, 1.0), (0.0, 0.01), (0.5, 0.1), (0.3, 0.0)])
@pytest.mark.parametrize("possible", [False, True])
def test_objective_and_features_are_python_crfsuites(tmp_path, c1, c2, possible):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    X, Y = sentences(0)
    trainer = pycrfsuite.Trainer(verbose=False)
    for xs, ys in zip(X, Y, strict=True):
        trainer.append(xs, ys)
    trainer.set_params(
        {"c1": c1, "c2": c2, "max_iterations": 5000, "epsilon": 1e-9, "delta": 1e-12,
         "feature.possible_states": possible, "feature.possible_transitions": possible}
    )  # fmt: skip
    trainer.train(str(tmp_path / "model"))
    theirs = trainer.logparser.last_iteration
    model = ChainCRF(c1=c1, c2=c2, tol=1e-8, all_possible_states=possible, all_possible_transitions=possible).fit(X, Y)
    assert model.result_.objective == pytest.approx(theirs["loss"], rel=1e-5)
    assert np.linalg.norm(model.coef_) == pytest.approx(theirs["feature_norm"], rel=2e-2)
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    T, _ = sentences(1)
    assert model.predict(T) == [tagger.tag(xs) for xs in T]
    marginals = model.predict_marginals(T)
    for xs, found in zip(T[:10], marginals, strict=False):
        tagger.set(xs)
        for p in range(len(xs)):
            expected = [tagger.marginal(str(label), p) for label in model.classes_]
            np.testing.assert_allclose(found[p], expected, atol=2e-2 if c1 else 2e-3)
    if not c1:
        info = tagger.info()
        weights = {(row.attribute, row.label): row.weight for row in model.state_features_.itertuples()}
        assert set(info.state_features) <= set(weights)
        assert all(weights[key] == pytest.approx(value, abs=2e-2) for key, value in info.state_features.items())
        moves = {(row.before, row.after): row.weight for row in model.transition_features_.itertuples()}
        assert all(moves[key] == pytest.approx(value, abs=2e-2) for key, value in info.transitions.items())


def test_mappings_with_numbers_as_python_crfsuite_takes_them(tmp_path):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    X = [[{"w": "a", "n": 2.0, "b": True}, {"w": "b", "n": 0.5, "b": False}], [{"w": "b", "n": 0.25}]]
    Y = [["x", "y"], ["y"]]
    trainer = pycrfsuite.Trainer(verbose=False)
    for xs, ys in zip(X, Y, strict=True):
        trainer.append(pycrfsuite.ItemSequence(xs), ys)
    trainer.set_params({"c2": 0.3, "epsilon": 1e-9, "delta": 1e-12, "max_iterations": 1000})
    trainer.train(str(tmp_path / "model"))
    model = ChainCRF(c2=0.3, tol=1e-10).fit(X, Y)
    assert model.result_.objective == pytest.approx(trainer.logparser.last_iteration["loss"], rel=1e-6)


def test_attributes_of_a_token():
    assert attribute_items(["a", "a"]) == [("a", 1.0), ("a", 1.0)]
    assert attribute_items({"w": "x", "n": 2, "t": True}) == [("w:x", 1.0), ("n", 2.0), ("t", 1.0)]
    X, ptr = AttributeTable().matrix([[["a", "a"], []], []], learn=True)
    assert X.toarray().tolist() == [[2.0], [0.0]] and ptr.tolist() == [0, 2, 2]
    for token, error in (("abc", TypeError), ([3], TypeError), ({"a": None}, TypeError), ({"a": np.nan}, ValueError)):
        with pytest.raises(error, match="sentence 1"):
            AttributeTable().matrix([[["a"]], [token]], learn=True)


def test_solvers_agree_and_report_what_they_did():
    X, Y = sentences(2)
    plain = ChainCRF(c2=0.1, tol=1e-8).fit(X, Y)
    scheme = ChainCRF("clustered", c2=0.1, settings=ClusteredSettings(tol=1e-8, cluster_factor=5)).fit(X, Y)
    assert plain.result_.objective == pytest.approx(scheme.result_.objective, rel=1e-7)
    assert {"iteration", "passes", "elapsed_s", "objective"} <= set(plain.trace_.columns)
    assert plain.n_passes_ == plain.trace_["passes"].iloc[-1] and plain.duality_gap_ <= 1e-8
    assert plain.classes_.tolist() == ["LOC", "O", "PER"]


def test_a_template_and_a_callable_are_the_same_as_attributes():
    rows = [[("Kim", "NNP"), ("left", "VBD")], [("Rome", "NNP")], [("a", "DT"), ("Kim", "NNP")]]
    labels = [["PER", "O"], ["LOC"], ["O", "PER"]]
    by_template = ChainCRF(template=PAPER_TEMPLATE).fit(rows, labels)

    def attributes(sentence):
        before = ["_B-1", *(word for word, _ in sentence)]
        return [[f"U00:{word}", f"U01:{before[i]}", f"U02:{pos}"] for i, (word, pos) in enumerate(sentence)]

    by_callable = ChainCRF(template=attributes).fit(rows, labels)
    by_hand = ChainCRF().fit([attributes(row) for row in rows], labels)
    assert by_template.coef_.tobytes() == by_callable.coef_.tobytes() == by_hand.coef_.tobytes()
    assert by_template.attributes_ == by_hand.attributes_
    without = ChainCRF(template=PAPER_TEMPLATE.replace("B\n", "")).fit(rows, labels)
    assert len(without.transition_features_) == 0 and without.predict(rows) == labels


def test_labels_and_attributes_never_seen():
    X, Y = sentences(3)
    model = ChainCRF(c2=0.1).fit(X, Y)
    assert model.predict([[["unheard of"], []]])[0] == ["O", "O"]
    assert model.predict([[], X[0], []]) == [[], model.predict([X[0]])[0], []] and model.predict([]) == []
    assert [found.shape for found in model.predict_marginals([[], X[0], []])] == [(0, 3), (len(X[0]), 3), (0, 3)]
    assert model.predict_marginals([[]])[0].shape == (0, 3) and model.predict_marginals([]) == []
    found = model.evaluate([[["w=Kim", "cap"]]], [["B-NEW"]])
    assert set(found["kind"]) == {"", "NEW"} and found.loc[found["kind"] == "", "f1"].item() == 0.0
    assert model.score([X[0]], [["B-NEW"] * len(X[0])]) == 0.0


def test_the_same_bytes_with_one_thread_and_two():
    X, Y = sentences(4)
    weights = [ChainCRF(n_threads=n).fit(X, Y).coef_.tobytes() for n in (1, 2)]
    assert weights[0] == weights[1]


def test_clone_and_limits():
    X, Y = sentences(5)
    heard = []
    model = ChainCRF(max_iter=2, listeners=[heard.append]).fit(X, Y)
    assert model.n_iter_ == 2 and len(heard) == 3 and str(model.result_.reason) == "iteration limit"
    assert clone(model).listeners is model.listeners
    with pytest.raises(ValueError, match="not fitted"):
        clone(model).predict(X)


class _Stop:
    """A listener that says stop at a question, counted from 0."""

    def __init__(self, at: int) -> None:
        self.at, self.asked, self.heard = at, 0, []

    def __call__(self, stats) -> None:
        self.heard.append(stats)

    def poll(self) -> bool:
        self.asked += 1
        return self.asked <= self.at


def test_a_stop_in_the_first_pass_leaves_weights_of_zero_with_their_certificate(tmp_path):
    X, Y = sentences(5)
    for limits, reason in (({"time_limit": 1e-9}, "time limit"), ({"listeners": [_Stop(0)]}, "interrupted")):
        with pytest.warns(ConvergenceWarning):
            model = ChainCRF(**limits).fit(X, Y)
        result = model.result_
        assert str(result.reason) == reason and not result.w.any() and len(result.trace) == 0
        # every label of every token is as likely as any other
        assert result.objective == pytest.approx(sum(map(len, Y)) * np.log(len(model.classes_)), rel=1e-12)
        assert result.lower_bound <= result.objective
        assert model.predict(X[:1]) == [[model.classes_[0]] * len(X[0])]
        write_tagger(tmp_path, model, [])
        assert len(pd.read_csv(tmp_path / "trace.csv")) == 0


def test_a_stop_within_a_later_pass_keeps_the_best_so_far(monkeypatch):
    X, Y = sentences(5)
    monkeypatch.setattr(chain, "_PIECE_NS", 1.0)  # a tile at a time
    stop = _Stop(7)
    with pytest.warns(ConvergenceWarning):
        model = ChainCRF(listeners=[stop]).fit(X, Y)
    assert str(model.result_.reason) == "interrupted" and stop.heard
    assert model.result_.objective == pytest.approx(min(stats.best_objective for stats in stop.heard), rel=1e-9)


def test_laying_out_many_sentences_ends_with_the_time():
    with pytest.raises(InputError, match=r"within the time limit \(511 sentences"):
        ChainCRF(time_limit=1e-9).fit([[["a"]]] * 600, [["x"], ["y"]] * 300)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"solver": "sgd"}, "solver must be one of"),
        ({"c1": -1}, "c1 must be"),
        ({"c2": np.nan}, "c2 must be"),
        ({"c1": 0, "c2": 0}, "both 0"),
        ({"solver": "clustered", "c1": 1.0, "c2": 0}, "needs c2"),
        ({"solver": "clustered", "c1": 1.0}, "knows no c1"),
        ({"template": 3}, "template must be"),
        ({"template": "B"}, "no U line"),
        ({"settings": ClusteredSettings()}, "must be a LBFGSSettings"),
        ({"tol": 0}, "tol must be"),
    ],
)
def test_wrong_parameters_are_said(wrong, said):
    X, Y = sentences(6, 5)
    with pytest.raises(ValueError, match=said):
        ChainCRF(**wrong).fit(X, Y)


@pytest.mark.parametrize(
    ("X", "Y", "said"),
    [
        ([[["a"]]], [], "1 sentences but 0 sequences"),
        ([], [], "no sentence"),
        ([[["a"], ["b"]]], [["x"]], "sentence 0 has 2 tokens but 1 labels"),
        ([[["a"]], []], [["x"], []], "sentence 1 is empty"),
        ([[["a"]]], [["x"]], "all 'x'"),
        ([[[], []]], [["x", "y"]], "no token has an attribute"),
    ],
)
def test_data_that_is_none_is_said(X, Y, said):
    with pytest.raises(ValueError, match=said):
        ChainCRF().fit(X, Y)


def test_a_template_that_asks_for_a_column_too_many():
    with pytest.raises(ValueError, match="column 5"):
        ChainCRF(template="U:%x[0,5]").fit([[("a", "b")]], [["x"]])


def test_as_many_sequences_of_labels_as_sentences():
    model = ChainCRF(max_iter=2).fit([[["a"], ["b"]], [["b"]]], [["x", "y"], ["y"]])
    for judge in (model.score, model.evaluate):
        with pytest.raises(InputError, match="2 sentences"):
            judge([[["a"]], [["b"]]], [["x"]])


def test_a_tagger_is_not_for_other_columns(tmp_path):
    rows = [[("Kim", "N"), ("left", "V")], [("Rome", "N"), ("fell", "V")]] * 3
    labels = [["PER", "O"], ["LOC", "O"]] * 3
    model = ChainCRF(template="U:%x[0,0]\nU1:%x[0,1]\nB").fit(rows, labels)
    model.save(tmp_path / "m.cflm")
    again = load_model(tmp_path / "m.cflm")
    assert model.n_columns_ == again.n_columns_ == 2
    for one in (model, again):
        assert tag_columns(one, rows)[0][0][0] == ("Kim", "N", "PER")
        labelled = [
            [(*cells, label) for cells, label in zip(*pair, strict=True)] for pair in zip(rows, labels, strict=True)
        ]
        assert tag_columns(one, labelled)[1] == 1.0
        for wrong in ([[("Kim",)]], [[("Kim", "N", "x", "PER")]]):
            with pytest.raises(InputError, match=r"learnt from 2 columns and a label|asks for column"):
                tag_columns(one, wrong)
        with pytest.raises(InputError, match="a row of columns"):
            one.predict([[{"w": "Kim"}]])
    with pytest.raises(InputError, match="a row of columns"):
        ChainCRF(template="U:%x[0,0]").fit([["Kim"]], [["PER"]])


def test_nor_for_columns_where_it_knows_attributes():
    sentences, labels = [[{"w": "the"}, {"w": "dog"}]] * 4, [["D", "N"]] * 4
    model = ChainCRF().fit(sentences, labels)
    with pytest.raises(InputError, match="none of these columns"):
        tag_columns(model, [[("runs",)], [("the",)]])
    model = ChainCRF().fit([[["w=the"], ["w=dog"]]] * 4, labels)
    assert tag_columns(model, [[("w=the",), ("w=cat",)]])[0] == [[("w=the", "D"), ("w=cat", "N")]]
    assert tag_columns(model, []) == ([], 0.0)
