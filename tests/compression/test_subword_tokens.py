"""Features whose tokens are subwords: the tokenizer is trained by fit, and goes wherever the features go."""

from __future__ import annotations

import contextlib
import itertools
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.svm import LinearSVC

from cflengine import CompressiveFeatures, CompressiveSearchCV, SentenceLassoClassifier, SubwordTokenizer, load_model
from cflengine.compression import CompressionSession
from cflengine.engine import Stopped, Watch
from cflengine.engine.checks import InputError
from cflengine.linear import saving

TEXTS = [f"the reader{'s' * (k % 2)} of reading. Unread readings {'re' * k}read the book{k}!" for k in range(12)]
NEW = ["a reader rereads the unread book", "", "ça alors 🙂"]


def features(**own) -> CompressiveFeatures:
    return CompressiveFeatures(0.5, **({"tokens": SubwordTokenizer(270)} | own))


def test_phrases_are_of_the_pieces_of_a_tokenizer_trained_on_the_same_documents():
    model = features().fit(TEXTS)
    cut = SubwordTokenizer(270).fit(TEXTS)
    by_hand = CompressiveFeatures(0.5).fit(cut.table(TEXTS))
    assert model.grams_ == by_hand.grams_ and model.tokenizer_.pieces_ == cut.pieces_
    assert any("Ġ" in piece for gram in model.grams_ for piece in gram)
    np.testing.assert_array_equal(model.transform(TEXTS).toarray(), model.features().toarray())
    np.testing.assert_array_equal(model.transform(NEW).toarray(), by_hand.features(cut.table(NEW)).toarray())
    pieces = [piece for found in model.decode(model.encode(NEW)) for piece in found]
    assert pieces == [piece for text in NEW for piece in cut.tokens(text)]
    assert CompressiveFeatures().fit(TEXTS).tokenizer_ is None


def test_the_tokenizer_follows_the_path_pickles_and_files(tmp_path):
    model = features(sentence_borders=True).fit(TEXTS)
    model.save(tmp_path / "m.cflm")
    loaded = load_model(tmp_path / "m.cflm")
    loaded.save(tmp_path / "again.cflm")
    assert (tmp_path / "m.cflm").read_bytes() == (tmp_path / "again.cflm").read_bytes()
    on_path = model.path(TEXTS, [0.5, 2.0]).model(0.5)
    assert on_path.tokenizer_.pieces_ == model.tokenizer_.pieces_
    expected = model.transform(NEW).toarray()
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.transform(NEW).toarray(), expected)
    assert clone(loaded).fit(TEXTS).grams_ == model.grams_


def test_sentences_are_borders_of_subwords_too():
    texts = ["One cat. Two dogs."] * 9
    inside = features(sentence_borders=True, max_gram=8).fit(texts)
    across = features(max_gram=8).fit(texts)
    assert any(".ĠT" in "".join(gram) for gram in across.grams_)
    assert not any(".ĠT" in "".join(gram) for gram in inside.grams_)
    assert ("ĠTwo" in inside.tokenizer_.pieces_) and any(gram[0] == "ĠTwo" for gram in inside.grams_)


def test_places_are_in_the_text_also_where_it_is_normalised():
    texts = ["cafe\u0301 cafe\u0301 bar", "\u0130stanbul \u0130stanbul good", "stra\u00dfe STRASSE ok"] * 3
    tokenizer = SubwordTokenizer(262, normalisation=("nfc", "lowercase"))
    model = CompressiveFeatures(lam=1.0, max_gram=2, tokens=tokenizer).fit(texts)
    encoding = model.encode(texts[:3])
    for d, text in enumerate(texts[:3]):
        own = encoding.document == d
        spans = list(zip(encoding.start_char[own].tolist(), encoding.end_char[own].tolist(), strict=True))
        assert spans[0][0] == 0 and spans[-1][1] == len(text)
        assert all(a < b and c <= b for (a, b), (c, _) in itertools.pairwise(spans)), "no gap"
        assert not any(text[a : a + 1] in ("\u0301", "\u0307") for a, _ in spans), "no character is cut"


def test_a_piece_with_a_blank_in_front_belongs_to_the_sentence_of_its_word():
    texts, y = ["The beer came. Awful.", "The beer came. Great."] * 6, [0, 1] * 6
    for tokens in ("words", SubwordTokenizer(285)):
        features = CompressiveFeatures(lam=1.0, max_gram=1, tokens=tokens)
        model = SentenceLassoClassifier(lam_sen=0.01, l1=0.01, features=features).fit(texts, y)
        said = model.sentence_relevance(texts[:2])["log_odds"].to_numpy()
        assert said[[0, 2]] == pytest.approx(0.0, abs=1e-9) and (np.abs(said[[1, 3]]) > 0.1).all()


def test_a_frozen_tokenizer_is_used_as_it_is(tmp_path):
    known = SubwordTokenizer(270).fit(TEXTS)
    model = features(tokens=FrozenEstimator(known)).fit(NEW)
    assert model.tokenizer_.pieces_ == known.pieces_ and clone(model).tokens.estimator is known
    before = model.transform(TEXTS).toarray()
    known.fit([text.upper() for text in TEXTS])
    np.testing.assert_array_equal(model.transform(TEXTS).toarray(), before)
    known.fit(TEXTS)
    model.save(tmp_path / "m.cflm")
    loaded = load_model(tmp_path / "m.cflm")
    assert isinstance(loaded.tokens, FrozenEstimator) and clone(loaded).fit(NEW).grams_ == model.grams_


def test_parameters_of_the_tokenizer_can_be_searched_and_subword_stands_for_the_defaults():
    model = features().set_params(tokens__vocab_size=262)
    assert len(model.fit(TEXTS).tokenizer_.pieces_) == 262
    with pytest.raises(InputError, match="vocab_size must be between"):
        features(tokens="subword").fit(TEXTS)
    found = CompressiveSearchCV(LinearSVC(), features(), lams=[0.3, 1.0], cv=2).fit(TEXTS, [0, 1] * 6)
    assert found.best_params_["lam"] in (0.3, 1.0) and len(found.predict(NEW)) == 3


@pytest.mark.parametrize("tokens", ["letters", None, 3, CompressiveFeatures(), SubwordTokenizer])
def test_other_tokens_are_refused(tokens):
    with pytest.raises(InputError, match="tokens must be 'words', 'subword' or a SubwordTokenizer"):
        features(tokens=tokens).fit(TEXTS)


def test_tokens_are_not_cut_into_subwords():
    table = SubwordTokenizer(270).fit(TEXTS).table(TEXTS)
    for refused in (features().fit, lambda X: features().path(X, [1.0])):
        with pytest.raises(InputError, match="give the documents"):
            refused(table)


def test_a_file_without_its_tokenizer_is_damaged(tmp_path):
    header, arrays = features().fit(TEXTS).to_parts()
    del header["tokenizer"]
    saving.write_model(tmp_path / "m.cflm", "k-grams", header, arrays)
    with pytest.raises(saving.ModelFileError, match="damaged"):
        load_model(tmp_path / "m.cflm")


def test_a_session_is_given_the_tokens_of_a_fitted_model():
    model = features().fit(TEXTS)
    again = CompressionSession(model, model.table_).solve(2.0)
    np.testing.assert_array_equal(again.transform(TEXTS).toarray(), again.features().toarray())


def test_a_watch_stops_the_training_and_threads_are_the_features_own(monkeypatch):
    model, asked = features(n_threads=1), []
    with pytest.raises(Stopped):
        model.tokenize(TEXTS, Watch(lambda: asked.append(1) or len(asked) < 2))
    seen = []
    monkeypatch.setattr(SubwordTokenizer, "fit", lambda self, texts: seen.append(self.n_threads))
    with contextlib.suppress(AttributeError):
        model.fit(TEXTS)
    assert seen == [1]


@pytest.mark.parametrize("damage", [{"kind": "k-grams"}, {"parameters": {}}, None])
def test_a_file_with_a_damaged_tokenizer_is_said_to_be(damage, tmp_path):
    header, arrays = features().fit(TEXTS).to_parts()
    header["tokenizer"] = 3 if damage is None else header["tokenizer"] | damage
    assert header["parameters"]["tokens"] == "subword", "programs without subwords refuse the file"
    saving.write_model(tmp_path / "m.cflm", "k-grams", header, arrays)
    with pytest.raises(saving.ModelFileError, match="damaged"):
        load_model(tmp_path / "m.cflm")
