"""Three ways to count K-grams, against all encodings written out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cflengine import CompressiveFeatures, load_model
from cflengine.compression import counting
from cflengine.engine import InputError
from cflengine.verify.counts import expected_uses

TEXTS = ["the cat sat on the cat", "the dog sat on the mat", "a cat", "", "the cat the cat the cat", "on the mat sat"]


def encodings(features, first, last):
    """Every way to cover tokens first .. last − 1 without overlap: lists of (k, i), k = 0 for a literal."""
    if first == last:
        yield []
        return
    for k in range(1, features.shape[0] + 1):
        if first + k <= last and features[k - 1, first] >= 0:
            yield from ([(k, first), *rest] for rest in encodings(features, first + k, last))
    if features[0, first] < 0:
        yield from ([(0, first), *rest] for rest in encodings(features, first + 1, last))


def expected_counts(features, doc_ptr, n_features, temperature, literal):
    table = np.zeros((len(doc_ptr) - 1, n_features))
    for d, (a, b) in enumerate(itertools.pairwise(doc_ptr)):
        found = list(encodings(features, a, b))
        costs = np.array([sum(1.0 if k else literal for k, _ in one) for one in found])
        weights = np.exp(-(costs - costs.min()) / temperature)
        for one, weight in zip(found, weights / weights.sum(), strict=True):
            for k, i in one:
                if k:
                    table[d, features[k - 1, i]] += weight
    return table


@st.composite
def corpora(draw):
    sizes = draw(st.lists(st.integers(0, 7), min_size=1, max_size=4))
    max_gram, n = draw(st.integers(1, 3)), sum(sizes)
    n_features = draw(st.integers(1, 5))
    features = np.full((max_gram, n), -1, dtype=np.int32)
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    for a, b in itertools.pairwise(ptr):
        for i in range(a, b):
            for k in range(1, max_gram + 1):
                if i + k <= b:
                    features[k - 1, i] = draw(st.integers(-1, n_features - 1))
    return features, ptr.astype(np.int64), n_features


@settings(deadline=None, max_examples=60)
@given(corpora(), st.sampled_from([0.05, 0.7, 3.0, 50.0]), st.sampled_from([0.0, 1.0, 3.0]))
def test_soft_counts_are_the_expectation_over_all_encodings(corpus, temperature, literal):
    features, doc_ptr, n = corpus
    found = counting.count_softly(features, doc_ptr, n, temperature, literal).toarray()
    np.testing.assert_allclose(found, expected_counts(features, doc_ptr, n, temperature, literal), atol=1e-9)


@settings(deadline=None, max_examples=40)
@given(corpora())
def test_occurrences_are_counted_wherever_they_stand(corpus):
    features, doc_ptr, n = corpus
    table = np.zeros((len(doc_ptr) - 1, n), dtype=np.int64)
    for d, (a, b) in enumerate(itertools.pairwise(doc_ptr)):
        for entry in features[:, a:b][features[:, a:b] >= 0]:
            table[d, entry] += 1
    found = counting.count_occurrences(features, doc_ptr, n)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found.toarray(), table)


def test_chunks_of_documents_change_nothing(monkeypatch):
    model = CompressiveFeatures(lam=3.0, counting="soft").fit(TEXTS)
    whole = model.features()
    monkeypatch.setattr(counting, "_CHUNK_TOKENS", 4)
    assert len(counting._chunks(model.index_.doc_ptr)) > 2
    np.testing.assert_array_equal(model.features().toarray(), whole.toarray())


def test_nearly_no_temperature_counts_encodings_of_fewest_pointers():
    model = CompressiveFeatures(lam=3.0, counting="soft", temperature=1e-3).fit(TEXTS)
    pointers = model.features().sum(axis=1)
    fewest = CompressiveFeatures(lam=3.0).fit(TEXTS)
    assert np.all(pointers <= fewest.features().sum(axis=1) + 1e-9)
    assert np.isfinite(pointers).all() and abs(pointers - np.round(pointers)).max() < 1e-9


@pytest.mark.parametrize("temperature", [1e-3, 1e-12, 1e-300, 5e-324])
def test_no_temperature_is_too_low_to_tell_ties_apart(temperature):
    """A word n times, and twice it: (n + 1)/2 pointers at least, of n odd in (n + 1)/2 ways, of n even in one."""
    for n, single in ((2001, 1.0), (2000, 0.0)):
        features = np.zeros((2, n), dtype=np.int32)
        features[1] = 1
        features[1, -1] = -1
        found = counting.count_softly(features, np.array([0, n]), 2, temperature).toarray()[0]
        np.testing.assert_allclose(found, [single, n // 2], atol=1e-9)
        again = expected_uses(features.astype(np.int64), np.array([0, n]), temperature, 3.0)
        np.testing.assert_allclose([again[0].sum(), again[1].sum()], [single, n // 2], atol=1e-9)


@pytest.mark.parametrize("how", counting.COUNTINGS)
def test_documents_of_fit_count_as_new_ones_do(how):
    model = CompressiveFeatures(lam=1.0, counting=how, weighting="idf").fit(TEXTS)
    np.testing.assert_allclose(model.features().toarray(), model.transform(TEXTS).toarray())
    frequency = (model.features(weighting="count") > 0).sum(axis=0)
    np.testing.assert_allclose(model.idf_, np.log((1 + len(TEXTS)) / (1 + np.asarray(frequency).ravel())) + 1)


def test_a_word_that_is_not_in_the_dictionary_passes_without_a_feature():
    model = CompressiveFeatures(lam=0.0, counting="soft").fit(TEXTS)  # single words
    assert model.transform(["zebra zebra"]).sum() == 0.0
    with_word = model.transform(["the zebra"]).sum()
    assert with_word == pytest.approx(1.0)


@pytest.mark.parametrize("how", ["occurrences", "soft"])
def test_saved_features_count_the_same(tmp_path, how):
    model = CompressiveFeatures(counting=how, temperature=0.5).fit(TEXTS)
    model.save(tmp_path / "m.cflm")
    loaded = CompressiveFeatures.load(tmp_path / "m.cflm")
    assert loaded.counting == how and loaded.temperature == 0.5
    np.testing.assert_array_equal(loaded.transform(TEXTS).toarray(), model.features().toarray())
    with pytest.raises(ValueError, match="does not hold the documents"):
        loaded.features()


@pytest.mark.parametrize(
    "wrong", [{"counting": "all"}, {"temperature": 0.0}, {"temperature": np.nan}, {"temperature": True}]
)
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=r"counting|temperature"):
        CompressiveFeatures(**wrong).fit(TEXTS)


def test_counting_and_literal_cost_that_are_set_anew_are_those_of_a_fit_with_them(tmp_path):
    known = CompressiveFeatures(lam=0.3, weighting="tf-idf").fit(TEXTS)
    for anew in ({"counting": "occurrences"}, {"counting": "soft", "literal_cost": 0.1}, {"counting": "pointers"}):
        model = known.set_params(**anew)
        other = CompressiveFeatures(lam=0.3, weighting="tf-idf", **anew).fit(TEXTS)
        new = ["the cat sat elsewhere", "a mat"]
        np.testing.assert_allclose(model.transform(new).toarray(), other.transform(new).toarray(), atol=1e-12)
        model.save(tmp_path / "m.cflm")
        again = load_model(tmp_path / "m.cflm")
        np.testing.assert_array_equal(again.transform(new).toarray(), model.transform(new).toarray())
    again.set_params(counting="occurrences")
    with pytest.raises(InputError, match="holds no idf of features counted by 'occurrences'"):
        again.transform(TEXTS)
    assert again.set_params(weighting="tf").transform(TEXTS).nnz


def test_soft_counts_that_vanish_are_no_nan():
    model = CompressiveFeatures(counting="soft", temperature=0.001, literal_cost=0.01, weighting="tf")
    assert np.isfinite(model.fit(["a b a b a b a b"] * 3).transform(["a b"]).toarray()).all()


@pytest.mark.parametrize(
    "wrong",
    [{"counting": "foo"}, {"counting": "soft", "temperature": 0.0}, {"counting": "soft", "temperature": np.nan},
     {"counting": "soft", "temperature": -1.0}, {"counting": "soft", "literal_cost": np.nan},
     {"counting": "soft", "literal_cost": np.inf}],
)  # fmt: skip
def test_a_way_to_count_that_is_none_is_refused_after_fit_too(wrong):
    texts = ["a b c a b", "a b d", "c a b a b"]
    model = CompressiveFeatures(lam=0.3).fit(texts).set_params(**wrong)
    for use in (lambda: model.transform(texts), lambda: model.features(weighting="count")):
        with pytest.raises(ValueError, match=r"counting|temperature|literal_cost"):
            use()
