"""WordMMD: what a user sees."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from sklearn.base import clone

from cflengine import WordMMD
from cflengine.engine.progress import Stopped

BEER = ["malt hops yeast ale", "hops bitter ale malt", "yeast ale foam", "bitter hops foam malt ale"]
SEA = ["wave salt wind sail", "wind sail wave", "salt wave boat sail", "boat wind sail salt"]
LAND = ["stone path hill wood", "wood hill path", "hill stone field", "field wood path stone"]


def fitted(n=3, **own):
    texts = n * BEER + n * SEA
    return WordMMD(n_permutations=99, n_components=5, **own).fit(texts, ["beer"] * 4 * n + ["sea"] * 4 * n)


def test_classes_that_differ():
    model = fitted()
    assert model.p_value_ == 0.01
    assert model.n_permutations_ == 99
    assert model.statistic_ > 0.2
    assert model.interval_[0] < model.statistic_ < model.interval_[1]
    assert model.null_.max() < model.statistic_
    assert list(model.classes_) == ["beer", "sea"]
    witness = model.witness_.set_index("word")["witness"]
    assert witness["hops"] > 0 > witness["wave"]
    assert model.identity_["p_value"] == 0.01
    assert model.identity_["width"] == pytest.approx(2**0.5)
    assert model.null_kernel_ == "exact"
    assert len(model.pairwise_) == 1
    assert model.pairwise_["p_value"].iloc[0] == model.p_value_


def test_classes_that_do_not():
    texts = BEER * 4
    model = WordMMD(n_permutations=199, n_components=3).fit(texts, [k % 4 // 2 for k in range(4)] * 4)
    shuffled = WordMMD(n_permutations=199, n_components=3).fit(texts, [0, 0, 0, 0, 1, 1, 1, 1] * 2)
    assert model.p_value_ < 0.05 < shuffled.p_value_
    assert shuffled.statistic_ < 0.05


def test_three_classes():
    model = WordMMD(n_permutations=99, n_components=5).fit(2 * BEER + 2 * SEA + 2 * LAND, np.repeat(["b", "s", "l"], 8))
    assert model.statistic_ == pytest.approx(model.pairwise_["statistic"].sum())
    assert set(model.witness_) == {("b", "l"), ("b", "s"), ("l", "s")}
    assert (model.pairwise_["p_value"] < 0.05).all()
    one, other = (model.witness_[pair].set_index("word") for pair in (("b", "l"), ("l", "b")))
    np.testing.assert_allclose(one["witness"], -other["witness"].loc[one.index], rtol=1e-12)
    for column in ("contribution", "share in b", "share in l"):
        np.testing.assert_allclose(one[column], other[column].loc[one.index], rtol=1e-12)
    assert one["witness"].abs().max() > 0 and ("l", "b") in model.witness_
    for unknown in (("b", "b"), ("b", "x"), "b"):
        assert unknown not in model.witness_


def test_the_same_settings_give_the_same_numbers():
    first, second, other = fitted(), fitted(), fitted(random_state=5)
    np.testing.assert_array_equal(first.null_, second.null_)
    assert first.statistic_ == second.statistic_
    assert not np.array_equal(first.null_, other.null_)
    again = clone(first).fit(BEER + SEA, [0] * 4 + [1] * 4)
    assert again.statistic_ == fitted(1).statistic_


@pytest.mark.parametrize("own", [{"kernel": "laplace"}, {"kernel": "linear"}, {"width": (0.5, 2.0)}, {"width": 1.0}])
def test_other_kernels(own):
    model = fitted(**own)
    assert model.p_value_ == 0.01
    assert np.isnan(model.width_) == (own.get("kernel") == "linear")


def test_random_features_say_their_error():
    exact, model = fitted(), fitted(random_features=2000)
    assert exact.approximation_error_ == 0.0
    assert abs(model.statistic_ - exact.statistic_) < 4 * model.approximation_error_
    assert model.p_value_ == 0.01
    assert model.null_kernel_ == "random features"


def test_many_documents_are_tested_by_random_features(monkeypatch):
    from cflengine.embedding import comparison

    monkeypatch.setattr(comparison, "MOST_DOCUMENTS", 10)
    model = fitted()
    assert model.null_kernel_ == "random features"
    assert model.statistic_ == fitted(width=model.width_).statistic_
    assert model.p_value_ == 0.01


def test_vectors_of_the_users_own():
    vectors = {word: [float(k), 1.0] for k, word in enumerate(["hops", "malt", "ale", "wave", "sail", "wind"])}
    model = WordMMD(n_permutations=19).fit(BEER + SEA, [0] * 4 + [1] * 4, vectors)
    assert set(model.witness_["word"]) == set(vectors)
    assert 0 < model.words_.coverage < 1
    assert model.words_.n_empty == 0
    gone = WordMMD(n_permutations=19).fit([*BEER, *SEA, "", "!!"], [0] * 4 + [1] * 4 + [0, 1], vectors)
    assert gone.words_.n_empty == 2
    assert gone.statistic_ == model.statistic_


def test_clones_share_listeners_that_cannot_be_copied():
    listener = WithALock()
    assert clone(WordMMD(listeners=(listener,))).listeners == (listener,)


class WithALock:
    def __init__(self):
        self.lock = threading.Lock()

    def __call__(self, event):
        return True


def test_what_p_compares_with_is_told(monkeypatch):
    from cflengine.embedding import comparison

    exact = fitted()
    assert exact.comparison_.null_observed == pytest.approx(exact.statistic_, abs=1e-12)
    assert fitted(kernel="linear").null_kernel_ == "exact"
    monkeypatch.setattr(comparison, "MOST_DOCUMENTS", 10)
    monkeypatch.setattr(comparison, "TEST_FEATURES", 16)
    found = fitted().comparison_
    assert found.null_observed != found.statistic
    larger = np.count_nonzero(found.null >= found.null_observed - found.tie_tolerance)
    assert found.p_value == (1 + larger) / (1 + len(found.null))


def test_stop_words_are_left_out():
    model = fitted(stop_words=["hops", "wave"])
    assert not {"hops", "wave"} & set(model.witness_["word"])
    assert "hops" in set(fitted(stop_words="english").witness_["word"])


def test_listeners_hear_the_stages_and_can_stop():
    heard = []
    fitted(listeners=(lambda event: heard.append(event.stage),))
    assert heard == ["words and vectors", "width", "pairs of words", "permutations"]
    with pytest.raises(Stopped):
        fitted(listeners=(lambda event: event.stage != "pairs of words",))

    class AfterTheStatistic:
        def __call__(self, event):
            self.stage = event.stage

        def poll(self):
            return self.stage != "permutations"

    for listener in (AfterTheStatistic(), lambda event: event.stage != "permutations"):
        model = fitted(listeners=(listener,))
        assert model.n_permutations_ == 0
        assert np.isnan(model.p_value_)
        assert model.statistic_ == fitted().statistic_


@pytest.mark.parametrize(
    ("texts", "labels", "own", "said"),
    [
        (BEER, ["a"] * 4, {}, "one class only"),
        (BEER, ["a", "a", "a", "b"], {}, "'b' has one document"),
        ([*BEER, "?", "!"], ["a"] * 4 + ["b"] * 2, {}, "'b' has no document"),
        (["", "", "", ""], ["a", "a", "b", "b"], {}, "no words"),
        (["a", "b", "c", "d"], ["a", "a", "b", "b"], {"min_count": 2}, "no word of the texts occurs 2 times"),
        (BEER, ["a", "a", "b"], {}, "4 texts and 3 labels"),
        (BEER, ["a", None, "b", "b"], {}, "missing"),
        ("text", ["a"], {}, "not one string"),
        (BEER + SEA, [0, 1] * 4, {"kernel": "rbf"}, "kernel must be one of"),
        (BEER + SEA, [0, 1] * 4, {"width": -1.0}, "above 0"),
        (BEER + SEA, [0, 1] * 4, {"n_permutations": -1}, "n_permutations"),
        (BEER + SEA, [0, 1] * 4, {"random_features": 1}, "random_features"),
        (BEER + SEA, [0, 1] * 4, {"stop_words": "german"}, "stop_words"),
        (BEER + SEA, [0, 1] * 4, {"time_limit": 0}, "time_limit"),
        ([str(k) for k in range(120)], [k // 2 for k in range(120)], {}, "more than the 50"),
    ],
)
def test_one_sentence_for_a_wrong_input(texts, labels, own, said):
    with pytest.raises(ValueError, match=said) as caught:
        WordMMD(**own).fit(texts, labels)
    assert "\n" not in str(caught.value)


def test_equal_vectors_have_no_median():
    same = {word: [1.0, 2.0] for word in " ".join(BEER + SEA).split()}
    with pytest.raises(ValueError, match="median distance is 0"):
        WordMMD().fit(BEER + SEA, [0] * 4 + [1] * 4, same)
    model = WordMMD(width=1.0, n_permutations=19).fit(BEER + SEA, [0] * 4 + [1] * 4, same)
    assert model.statistic_ == pytest.approx(0.0, abs=1e-14)
    assert model.p_value_ == 1.0
    assert (model.witness_["witness"] == 0).all()
