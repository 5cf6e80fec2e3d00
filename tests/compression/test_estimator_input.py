"""What the estimator refuses, how it says so, and odd corpora that it must take."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from cflengine import CompressiveFeatures, GuidedSettings
from cflengine.compression import estimator as module
from cflengine.compression.solvers import memory
from cflengine.engine.memory import MemoryLimitError

QUICK = GuidedSettings(relaxation_iterations=30, annealings=1, anneal_rounds=2, anneal_steps=10)
TEXTS = ["the cat sat on the mat", "the cat sat and the dog ran"]


@pytest.mark.parametrize(
    "wrong",
    [
        *({"lam": lam} for lam in (-1.0, -1e-12, math.nan, math.inf, 2e6, 10**400, "one", None, [1, 2], True)),
        *({"max_gram": K} for K in (0, 9, -3, 2.5, "3", None, 10**12, True)),
        *({"solver": solver} for solver in ("simplex", None, "")),
        *({"weighting": weighting} for weighting in ("bm25", None, 3)),
        *({"token_pattern": pattern} for pattern in ("(", "", "a*", None)),
        *({"dictionary_cost": cost} for cost in ("bytes", np.ones(3), lambda gram: -1.0, lambda gram: math.nan)),
        *({"pointer_cost": cost} for cost in (np.ones(2), -np.ones(3), np.full(3, math.nan), np.ones((3, 2)))),
        *({"literal_cost": cost} for cost in (-1.0, math.nan, "cheap", True)),
        *({"plain_cost": cost} for cost in (-1.0, math.nan, True)),
        *({"n_threads": n} for n in (0, -1, 1.5)),
    ],
    ids=lambda wrong: "-".join(f"{key}-{str(value)[:12]}" for key, value in wrong.items()),
)  # fmt: skip
def test_invalid_settings_raise_value_error_and_leave_the_model_unfitted(wrong):
    model = CompressiveFeatures(**{"settings": QUICK, **wrong})
    with pytest.raises(ValueError):
        model.fit(TEXTS)
    with pytest.raises(NotFittedError):
        model.transform(TEXTS)


def test_messages_name_the_setting():
    for setting, value in (("lam", -1), ("max_gram", 0), ("solver", "x"), ("weighting", "x"), ("token_pattern", "(")):
        with pytest.raises(ValueError, match=setting):
            CompressiveFeatures(**{setting: value}).fit(TEXTS)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("one string", "one string"),
        (b"bytes", "one string"),
        (pd.DataFrame({"text": TEXTS}), r"frame\['text'\]"),
        (["fine", None], "document 1 is a NoneType"),
        ([1, 2], "document 0 is a int"),
        ([b"bytes"], "document 0 is a bytes"),
        (["fine", math.nan], "document 1 is a float"),
        (np.array([["a", "b"], ["c", "d"]]), "document 0 is a ndarray"),
    ],
    ids=["str", "bytes", "frame", "None", "numbers", "list of bytes", "NaN", "matrix"],
)
def test_what_is_no_sequence_of_strings_raises_type_error(X, message):
    with pytest.raises(TypeError, match=message):
        CompressiveFeatures(settings=QUICK).fit(X)
    fitted = CompressiveFeatures(settings=QUICK).fit(TEXTS)
    with pytest.raises(TypeError, match=message):
        fitted.transform(X)


@pytest.mark.parametrize("X", [[], [""], ["  ", "\n"], ()], ids=["none", "empty", "blank", "tuple"])
def test_documents_without_a_token_raise_value_error(X):
    with pytest.raises(ValueError, match="no token"):
        CompressiveFeatures(settings=QUICK).fit(X)


@pytest.mark.parametrize("method", ["transform", "encode", "decode", "get_feature_names_out"])
def test_unfitted_model_says_so(method):
    model = CompressiveFeatures()
    with pytest.raises(NotFittedError):
        getattr(model, method)(*([] if method == "get_feature_names_out" else [TEXTS]))


def test_corpus_that_does_not_fit_is_refused_before_any_work(monkeypatch):
    def refuse(needed, what, advice):
        raise MemoryLimitError(f"{what} {advice}")

    monkeypatch.setattr(memory, "require_bytes", refuse)
    monkeypatch.setattr(module, "index_kgrams", lambda *_, **__: pytest.fail("indexed before memory was checked"))
    with pytest.raises(MemoryLimitError, match="13 tokens with K = 3"):
        CompressiveFeatures().fit(TEXTS)


@pytest.mark.parametrize("max_gram", [1, 2, 3, 5, 8])
@pytest.mark.parametrize(
    "texts",
    [["word"], ["a b"], ["word", "word"], ["a", "b", "c"], ["", "word", ""], ["a b", "c"], ["la " * 50], ["!?"]],
    ids=["one word", "two words", "same word twice", "words", "between empty", "short", "one long", "marks"],
)
def test_tiny_corpora_of_every_shape(texts, max_gram):
    """Single documents, one-word documents, K larger than every document and than the whole corpus."""
    model = CompressiveFeatures(max_gram=max_gram).fit(texts)
    result = model.result_
    assert result.certificate.covered and 0 < result.lower_bound <= result.objective + 1e-9
    assert model.decode(model.encode(texts)) == [text.replace("!?", "! ?").split() for text in texts]
    assert model.transform(texts).sum() == result.n_pointers


def test_numpy_numbers_are_numbers():
    one = CompressiveFeatures(np.float64(1.0), np.int64(2), settings=QUICK).fit(TEXTS)
    assert one.grams_ == CompressiveFeatures(1.0, 2, settings=QUICK).fit(TEXTS).grams_


@pytest.mark.parametrize("lam", [0, 1e-9, 1e6, np.float32(0.5), np.int64(2)])
def test_extreme_and_numpy_valued_lam(lam):
    result = CompressiveFeatures(lam, settings=QUICK).fit(TEXTS).result_
    assert result.certificate.covered and 0 < result.lower_bound <= result.objective * (1 + 1e-9)
    assert (result.trace["lam"] == float(lam)).all()


@pytest.mark.parametrize("setting", ["pointer_cost", "dictionary_cost"])
def test_costs_beyond_float32_are_refused_and_large_ones_are_not(setting):
    """The solver's state is float32: it overflows at 1e38 and loses small costs beside large ones long before."""

    def costing(value):
        return np.full(3, value) if setting == "pointer_cost" else lambda gram: value

    for value in (1e13, 1e39, math.inf):
        with pytest.raises(ValueError, match="costs must be"):
            CompressiveFeatures(settings=QUICK, **{setting: costing(value)}).fit(TEXTS)
    result = CompressiveFeatures(settings=QUICK, **{setting: costing(1e9)}).fit(TEXTS).result_
    assert result.certificate.covered and 0 < result.lower_bound <= result.objective
