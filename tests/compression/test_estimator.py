"""The scikit-learn contract of the text estimator, which ``check_estimator`` cannot test."""

from __future__ import annotations

import threading

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_union
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

from cflengine import CompressiveFeatures, GuidedSettings

QUICK = GuidedSettings(relaxation_iterations=40, annealings=1, anneal_rounds=2, anneal_steps=10)
TEXTS = [
    "The cat sat on the mat. The cat sat on the hat!",
    "the dog sat on the mat, and the dog ran",
    "",
    "A cat and a dog: the cat sat, the dog ran",
    "the cat sat on the mat",
]
UNSEEN = ["the cat sat on a zebra", "", "zebra zebra", "THE DOG RAN"]


def model_of(texts=TEXTS, **settings) -> CompressiveFeatures:
    return CompressiveFeatures(**{"settings": QUICK, **settings}).fit(texts)


@pytest.fixture(scope="module")
def fitted() -> CompressiveFeatures:
    return model_of()


# parameters


def test_parameters_are_stored_as_they_are_and_can_be_changed():
    listeners = [print]
    model = CompressiveFeatures(2, 4, weighting="tf", listeners=listeners, settings=QUICK)
    parameters = model.get_params()
    assert (parameters["lam"], parameters["max_gram"], parameters["weighting"]) == (2, 4, "tf")
    assert parameters["listeners"] is listeners and parameters["settings"] is QUICK
    assert model.set_params(lam=3.5, weighting="idf") is model and model.lam == 3.5
    with pytest.raises(ValueError, match="no_such"):
        model.set_params(no_such=1)


def test_settings_beyond_the_first_three_are_keyword_only():
    with pytest.raises(TypeError):
        CompressiveFeatures(1.0, 3, "homotopy", r"\w+")


def test_clone_has_the_parameters_and_not_the_fit(fitted):
    copy = clone(fitted.set_params(weighting="count"))
    assert copy is not fitted
    assert {k: v for k, v in copy.get_params().items() if k != "settings"} == {
        k: v for k, v in fitted.get_params().items() if k != "settings"
    }
    assert copy.settings == QUICK
    with pytest.raises(NotFittedError):
        copy.transform(TEXTS)


class LockedListener:
    """What a user interface passes: it holds a lock, so it can be neither pickled nor deep-copied."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.heard = 0

    def __call__(self, stats) -> None:
        with self.lock:
            self.heard += 1


def test_unpicklable_listeners_do_not_break_clone():
    listener = LockedListener()
    copy = clone(CompressiveFeatures(listeners=[listener, lambda stats: None], settings=QUICK))
    copy.fit(TEXTS)
    assert listener.heard > 10, "the clone tells the listener itself, not a copy of it"


def test_a_clone_answers_with_what_was_asked_for():
    frame = pd.DataFrame({"text": TEXTS, "n": range(len(TEXTS))}, index=np.arange(len(TEXTS)) + 7)
    columns = [("text", CompressiveFeatures(settings=QUICK), "text")]
    alone = ColumnTransformer(columns, sparse_threshold=1.0).set_output(transform="pandas").fit_transform(frame)
    assert list(alone.index) == list(frame.index) and alone.columns.str.startswith("text__").all()
    both = ColumnTransformer([*columns, ("n", "passthrough", ["n"])], sparse_threshold=1.0).set_output(
        transform="pandas"
    )
    answer = both.fit_transform(frame)
    pd.testing.assert_frame_equal(answer[alone.columns], alone)
    assert list(answer["n__n"]) == list(frame["n"])


def test_unpicklable_listeners_do_not_break_a_grid_search():
    listener = LockedListener()
    features = CompressiveFeatures(listeners=(listener,), settings=QUICK)
    pipeline = Pipeline([("text", features), ("model", LogisticRegression())])
    search = GridSearchCV(pipeline, {"text__lam": [0.5, 2.0]}, cv=2, error_score="raise")
    search.fit(TEXTS[:2] * 4, [0, 1] * 4)
    assert listener.heard > 0


def test_tags_say_strings_in_no_target_needed():
    tags = get_tags(CompressiveFeatures())
    assert tags.input_tags.string and not tags.input_tags.two_d_array and not tags.target_tags.required
    assert tags.transformer_tags is not None


# fitting and transforming


def test_fit_transform_is_fit_then_transform(fitted):
    for weighting in ("count", "tf", "idf", "tf-idf"):
        at_once = CompressiveFeatures(weighting=weighting, settings=QUICK).fit_transform(TEXTS)
        in_turn = model_of(weighting=weighting).transform(TEXTS)
        assert sparse.issparse(at_once) and at_once.shape == (len(TEXTS), len(fitted.grams_))
        np.testing.assert_array_equal(at_once.toarray(), in_turn.toarray())


def test_features_count_pointers(fitted):
    counts = fitted.transform(TEXTS).toarray()
    expected = np.zeros_like(counts)
    for document, gram in zip(fitted.encoding_.document, fitted.encoding_.gram, strict=True):
        expected[document, gram] += 1
    np.testing.assert_array_equal(counts, expected)
    assert counts.sum() == fitted.result_.n_pointers and not counts[2].any()
    assert np.issubdtype(counts.dtype, np.integer)


def test_names_are_the_columns(fitted):
    names = fitted.get_feature_names_out()
    assert names.dtype == object and names.tolist() == [" ".join(gram) for gram in fitted.grams_]
    assert fitted.grams_ == sorted(fitted.grams_)
    text = ["the cat sat on the mat"]
    counts = fitted.transform(text).toarray()[0]
    assert sorted(np.repeat(names, counts)) == sorted(names[gram] for gram in fitted.encode(text).gram)


def test_names_are_distinct_whatever_the_tokens_hold():
    for pattern in ("(?s).", r"\S+\s*", r"[a-z]|\s+"):
        names = model_of(
            ["a b\nc a b\tc", "a\nb c  a b", "a b c", " a\n"], token_pattern=pattern, max_gram=2
        ).get_feature_names_out()
        assert len(set(names)) == len(names), pattern


def test_dictionary_describes_the_features(fitted):
    frame = fitted.dictionary_
    counts = fitted.transform(TEXTS).toarray()
    assert frame["gram"].tolist() == fitted.get_feature_names_out().tolist()
    assert frame["length"].tolist() == [len(gram) for gram in fitted.grams_] == frame["cost"].tolist()
    assert frame["count"].tolist() == counts.sum(axis=0).tolist()
    assert frame["documents"].tolist() == (counts > 0).sum(axis=0).tolist()


@pytest.mark.parametrize("weighting", ["count", "tf", "idf", "tf-idf", "tfidf"])
def test_weightings_by_hand(weighting):
    model = model_of(weighting=weighting)
    pointers = [model.encoding_.gram[model.encoding_.of_document(d)].tolist() for d in range(len(TEXTS))]
    counts = np.array([[row.count(g) for g in range(len(model.grams_))] for row in pointers], dtype=float)
    totals = counts.sum(axis=1, keepdims=True)
    tf = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
    idf = np.array([np.log((1 + len(TEXTS)) / (1 + (column > 0).sum())) + 1 for column in counts.T])
    expected = {"count": counts, "tf": tf, "idf": counts * idf, "tf-idf": tf * idf, "tfidf": tf * idf}[weighting]
    np.testing.assert_allclose(model.transform(TEXTS).toarray(), expected, rtol=1e-12)
    np.testing.assert_allclose(model.idf_, idf)


def test_unseen_documents_and_unknown_words(fitted):
    counts = fitted.transform(UNSEEN)
    assert counts.shape == (4, len(fitted.grams_))
    encoding = fitted.encode(UNSEEN)
    assert fitted.decode(encoding) == [
        ["the", "cat", "sat", "on", "a", "zebra"],
        [],
        ["zebra", "zebra"],
        ["the", "dog", "ran"],
    ]
    assert "zebra" in encoding.literals
    # literals are no features
    assert counts.sum() == len(encoding) - encoding.n_literals and not counts.toarray()[1:3].any()


def test_no_documents_to_transform_give_no_rows(fitted):
    assert fitted.transform([]).shape == (0, len(fitted.grams_))


@pytest.mark.parametrize("kind", [list, tuple, pd.Series, np.array, iter], ids=lambda kind: kind.__name__)
def test_documents_in_any_container(fitted, kind):
    np.testing.assert_array_equal(
        model_of(kind(TEXTS)).transform(kind(TEXTS)).toarray(), fitted.transform(TEXTS).toarray()
    )


def test_pandas_output_has_names_and_values(fitted):
    model = model_of().set_output(transform="pandas")
    frame = model.transform(TEXTS)
    assert isinstance(frame, pd.DataFrame) and frame.columns.tolist() == fitted.get_feature_names_out().tolist()
    np.testing.assert_array_equal(frame.to_numpy(), fitted.transform(TEXTS).toarray())
    again = CompressiveFeatures(settings=QUICK).set_output(transform="pandas").fit_transform(TEXTS)
    pd.testing.assert_frame_equal(frame, again)


def test_pandas_output_keeps_the_rows_of_a_series():
    shuffled = pd.Series(TEXTS, index=[f"row {i}" for i in range(len(TEXTS))]).sample(frac=1, random_state=0)
    both = make_union(model_of(TEXTS), FunctionTransformer(_lengths, validate=False)).set_output(transform="pandas")
    frame = both.fit(shuffled).transform(shuffled)
    assert frame.index.tolist() == shuffled.index.tolist()
    assert frame["functiontransformer__length"].tolist() == [len(text) for text in shuffled]
    alone = model_of().set_output(transform="pandas")
    assert alone.fit_transform(shuffled).index.tolist() == shuffled.index.tolist()
    named = alone.transform(shuffled).add_prefix("compressivefeatures__")
    pd.testing.assert_frame_equal(named, frame[named.columns], check_dtype=False)


def _lengths(texts: pd.Series) -> pd.DataFrame:
    return pd.DataFrame({"length": [len(text) for text in texts]}, index=texts.index)


def test_lone_surrogates_are_tokens_like_others():
    texts = ["half \ud83d a face", "half \ud83d a face", "\udc00"]
    model = model_of(texts)
    assert model.decode(model.encode(texts)) == [["half", "\ud83d", "a", "face"]] * 2 + [["\udc00"]]
    "".join(model.get_feature_names_out()).encode()  # names can be printed: no lone surrogate is left in them
    assert len(set(model.get_feature_names_out())) == len(model.grams_)


# refitting, pipelines


def test_refit_leaves_no_state():
    model = model_of()
    other = ["completely different words", "different words completely, and more different words"]
    model.fit(other)
    fresh = model_of(other)
    assert model.grams_ == fresh.grams_ and model.result_.objective == fresh.result_.objective
    np.testing.assert_array_equal(model.transform(other + TEXTS).toarray(), fresh.transform(other + TEXTS).toarray())
    pd.testing.assert_frame_equal(model.dictionary_, fresh.dictionary_)
    assert set(vars(model)) == set(vars(fresh))


def test_failed_fit_leaves_an_unfitted_model_unfitted():
    def broken(stats):
        raise RuntimeError("listener")

    model = CompressiveFeatures(listeners=[broken], settings=QUICK)
    with pytest.raises(RuntimeError, match="listener"):
        model.fit(TEXTS)
    with pytest.raises(NotFittedError):
        model.transform(TEXTS)


def test_target_is_ignored(fitted):
    model = CompressiveFeatures(settings=QUICK).fit(TEXTS, y=[1, 0, 1, 0, 1])
    assert model.grams_ == fitted.grams_


def test_grid_search_over_lam_in_a_pipeline():
    texts = ["good beer, very good", "bad beer, very bad", "good taste indeed", "bad taste indeed"] * 5
    y = np.array([1, 0, 1, 0] * 5)
    pipeline = Pipeline([("text", CompressiveFeatures(settings=QUICK)), ("model", LogisticRegression(C=10.0))])
    search = GridSearchCV(pipeline, {"text__lam": [0.2, 1.0, 4.0], "text__weighting": ["count", "tf-idf"]}, cv=2)
    search.fit(texts, y)
    assert search.best_score_ == 1.0 and len(search.cv_results_["params"]) == 6
    assert search.predict(["very good taste", "very bad taste"]).tolist() == [1, 0]
    assert len(search.best_estimator_[:-1].get_feature_names_out()) == search.best_estimator_[-1].coef_.shape[1]


# costs


def test_dictionary_costs_in_words_characters_or_by_a_function():
    words = model_of().result_.objective
    same = model_of(dictionary_cost=len)
    assert same.result_.objective == words
    characters = model_of(dictionary_cost="characters")
    np.testing.assert_array_equal(characters.dictionary_["cost"], [len(" ".join(g)) for g in characters.grams_])
    array = model_of(dictionary_cost=same.index_.lengths().astype(float))
    assert array.result_.objective == words and array.grams_ == same.grams_


def test_pointer_costs_by_length_and_by_pointer():
    model = model_of(pointer_cost=np.array([1.0, 0.5, 0.25]))
    lengths = model.encoding_.length
    expected = np.array([1.0, 0.5, 0.25])[lengths - 1].sum() + model.dictionary_["cost"].sum()
    assert model.result_.objective == pytest.approx(expected)
    single = model_of(
        pointer_cost=np.vstack([np.zeros((1, model.table_.n_tokens)), np.full((2, model.table_.n_tokens), 9.0)])
    )
    assert set(single.encoding_.length.tolist()) == {1}


def test_unseen_documents_are_encoded_at_what_pointers_cost_in_the_fit():
    """A cost of 1 for every single pointer is a cost of 1 for pointers: two strings beat three."""
    texts = ["a b c", "d e", "c d e", "a", "b"]
    as_lam = model_of(texts, dictionary_cost=lambda gram: 0.0)
    pointers = np.ones((3, as_lam.table_.n_tokens))
    as_array = model_of(texts, dictionary_cost=lambda gram: 0.0, pointer_cost=pointers)
    assert as_lam.grams_ == as_array.grams_ == sorted(tuple(text.split()) for text in texts)
    for unseen in (["a b c d e"], ["c x d e"]):
        assert as_lam.encode(unseen).to_frame().equals(as_array.encode(unseen).to_frame())
    assert len(as_lam.encode(["a b c d e"])) == 2


@pytest.mark.parametrize("literal", [None, 3.0])
def test_literal_cost_weighs_literals_against_long_grams(literal):
    """'x' is known only within 'x y': as a literal, or not at all."""
    model = model_of(["x y x y x y z", "x y z z"], lam=1.0, literal_cost=literal)
    encoding = model.encode(["x"])
    if ("x",) not in model.grams_:
        assert encoding.n_literals == 1
    assert model.decode(encoding) == [["x"]]


def test_plain_words_are_the_external_macro_scheme():
    """§3.2: a single word stands as it is; phrases alone are stored, and the bound holds for these costs."""
    texts = ["the cat sat on the mat", "the cat sat on the rug", "a dog sat on the mat"] * 3
    model = CompressiveFeatures(0.8, 3, plain_cost=0.5).fit(texts)
    costs = model.costs_at(0.8)
    lengths = model.index_.lengths()
    assert costs.pointer_by_length.tolist() == [0.5, 0.8, 0.8] and not costs.dictionary[lengths == 1].any()
    used = model.dictionary_.set_index("gram")
    phrases = used[used["length"] > 1]
    expected = 0.5 * used["count"][used["length"] == 1].sum() + (0.8 * phrases["count"] + phrases["length"]).sum()
    assert model.result_.objective == pytest.approx(expected) and model.result_.lower_bound <= expected
    assert len(model.path(texts, [0.5, 1.0]).points) == 2
    assert model.decode(model.encode(["the dog sat somewhere"])) == [["the", "dog", "sat", "somewhere"]]
    for wrong in ({"plain_cost": -1}, {"plain_cost": 0.5, "dictionary_cost": "characters"}):
        with pytest.raises(ValueError, match="plain_cost"):
            CompressiveFeatures(**wrong).fit(texts)
