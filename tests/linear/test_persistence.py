"""Models in files: what is saved predicts the same bytes; what cannot be saved, or read, is said in one sentence."""

from __future__ import annotations

import io
import os
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest
from altering import altered
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, MaxAbsScaler, Normalizer, StandardScaler

from cflengine import (
    ChainCRF,
    CompressiveFeatures,
    CompressiveSearchCV,
    LogisticClassifier,
    PenalisedClassifier,
    PLQClassifier,
    PLQRegressor,
    SentenceLassoClassifier,
    load_model,
    save_model,
)
from cflengine.engine.checks import InputError
from cflengine.linear.saving import ModelFileError
from cflengine.linear.text_features import EveryMatch, vectorizer
from cflengine.plq.constraints import box, equalities
from cflengine.plq.losses import Loss, Parts, drawn_loss
from cflengine.plq.problem import no_constraints

TEXTS = [
    "A good start. Good end of it!", "Bad start, bad \ud800 word.", "good good plot, good word", "The bad word. Bad it",
    "A good end.", "Why so bad? Bad!",
] * 4  # fmt: skip
LABELS = np.array(["pos", "neg"] * 12)
NUMBERS = np.linspace(0, 5, 24)
UNSEEN = ["good GOOD zebra", "", "zebra", "A bad bad word", "plot = 1 \ud800"]


def text_models():
    grams = CompressiveFeatures(lam=0.5, max_gram=2)
    words = CountVectorizer(tokenizer=EveryMatch(r"\w+"), token_pattern=None)
    return {
        "k-grams": make_pipeline(grams, LogisticClassifier()),
        "k-grams, tf-idf": make_pipeline(
            CompressiveFeatures(max_gram=2, weighting="tf-idf", literal_cost=1.5), PLQClassifier()
        ),
        "words": make_pipeline(words, Binarizer(), LogisticClassifier(l1_ratio=0.5, C=10.0)),
        "two-word terms": make_pipeline(
            CountVectorizer(ngram_range=(1, 2)), TfidfTransformer(), PLQClassifier("hinge")
        ),
        "characters": make_pipeline(
            TfidfVectorizer(analyzer="char", stop_words=None), MaxAbsScaler(), PenalisedClassifier("ridge")
        ),
        "stop words": make_pipeline(
            TfidfVectorizer(stop_words=["a", "it"], use_idf=False), Normalizer(), LogisticClassifier("lbfgs")
        ),
        "the command's": make_pipeline(*(step for _, step in vectorizer("tf-idf").steps), LogisticClassifier()),
        "sentences": SentenceLassoClassifier(0.02, 0.02),
        "sentences of k-grams": SentenceLassoClassifier(0.02, 0.02, features=CompressiveFeatures(max_gram=2)),
        "lasso": PenalisedClassifier("lasso", l1=0.05, lowercase=False),
    }


@pytest.mark.parametrize("name", list(text_models()))
def test_texts_to_predictions_as_before(tmp_path, name):
    model = text_models()[name].fit(TEXTS, LABELS)
    save_model(model, tmp_path / "m.cflm", about={"corpus": "reviews"})
    again = load_model(tmp_path / "m.cflm")
    assert again.predict(UNSEEN).tolist() == model.predict(UNSEEN).tolist()
    assert again.decision_function(UNSEEN).tobytes() == model.decision_function(UNSEEN).tobytes()
    with (tmp_path / "m.cflm").open("rb") as file:
        assert load_model(file).predict(UNSEEN).tolist() == again.predict(UNSEEN).tolist()
    save_model(again, tmp_path / "twice.cflm")
    assert load_model(tmp_path / "twice.cflm").predict(UNSEEN).tolist() == again.predict(UNSEEN).tolist()


def matrix_models():
    drawn = drawn_loss([(-2.0, 3.0), (0.0, 0.0), (1.0, 0.5)])
    round_loss = Loss("mine", Parts(rehu=((1.0, 0.0, np.inf), (-2.0, 0.0, 0.5)), constant=0.25), "residual")
    return {
        "logistic": (LogisticClassifier(), LABELS),
        "multinomial": (LogisticClassifier(multiclass="multinomial"), np.array(["a", "b", "c"] * 8)),
        "svm": (PLQClassifier(constraints=("nonnegative",), l1_ratio=0.2), LABELS),
        "one against the rest": (PLQClassifier("squared_hinge"), np.array([1, 2, 3] * 8)),
        "quantile": (PLQRegressor("quantile:0.9", constraints="box:-1:1"), NUMBERS),
        "drawn": (PLQRegressor(drawn), NUMBERS),
        "of parts": (PLQRegressor(round_loss), NUMBERS),
        "scaled": (make_pipeline(StandardScaler(), PLQRegressor("huber:1.35")), NUMBERS),
    }


@pytest.mark.parametrize("name", list(matrix_models()))
def test_matrices_to_predictions_as_before(tmp_path, name):
    model, y = matrix_models()[name]
    X = np.random.default_rng(0).normal(size=(24, 5))
    model.fit(X, y)
    (model.save if hasattr(model, "save") else lambda path: save_model(model, path))(tmp_path / "m.cflm")
    again = load_model(tmp_path / "m.cflm")
    assert again.predict(X).tobytes() == model.predict(X).tobytes()
    final = again[-1] if hasattr(again, "steps") else again
    assert np.isfinite(final.duality_gap_) and final.solver_reason_ == "converged"
    fitted = model[-1] if hasattr(model, "steps") else model
    assert final.n_iter_.tolist() == fitted.n_iter_.tolist()
    assert getattr(final, "violation_", None) == getattr(fitted, "violation_", None)
    with pytest.raises(AttributeError, match="loaded or unpickled"):
        _ = final.trace_
    if "drawn" in name:
        assert again.loss == model.loss, "and it can be fitted again"


@pytest.mark.parametrize("name", list(matrix_models()))
def test_pickles_are_slim(name):
    model, y = matrix_models()[name]
    X = np.random.default_rng(0).normal(size=(24, 2000))
    model.fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(X).tobytes() == model.predict(X).tobytes()
    coefficients = (model[-1] if hasattr(model, "steps") else model).coef_.nbytes
    scaler = 3 * 8 * 2000 if hasattr(model, "steps") else 0
    assert len(pickle.dumps(model)) <= 2 * coefficients + scaler + 2000


def test_features_that_were_saved_transform_as_before(tmp_path):
    model = CompressiveFeatures(lam=0.5, max_gram=3, weighting="idf").fit(TEXTS)
    model.save(tmp_path / "f.cflm")
    again = CompressiveFeatures.load(tmp_path / "f.cflm")
    assert (again.transform(UNSEEN) != model.transform(UNSEEN)).nnz == 0
    assert again.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    assert again.dictionary_.equals(model.dictionary_) and again.duality_gap_ == model.result_.gap
    assert again.decode(again.encode(UNSEEN)) == model.decode(model.encode(UNSEEN))


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (
            make_pipeline(CountVectorizer(tokenizer=str.split, token_pattern=None), LogisticClassifier()),
            "Python function",
        ),
        (make_pipeline(CountVectorizer(preprocessor=str.upper), LogisticClassifier()), "preprocessor"),
        (make_pipeline(CountVectorizer(), LogisticRegression()), "LogisticRegression cannot be saved"),
        (make_pipeline(CompressiveFeatures(dictionary_cost=len), LogisticClassifier()), "dictionary_cost"),
    ],
)
def test_what_needs_code_is_refused(tmp_path, model, said):
    model.fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match=said):
        save_model(model, tmp_path / "m.cflm")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="not fitted"):
        save_model(LogisticClassifier(), tmp_path / "m.cflm")


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
def test_dates_as_labels_are_refused_where_they_could_not_be_read_again(tmp_path, unit):
    days = np.where(LABELS == "pos", "2020-01-01", "2021-01-01").astype(f"datetime64[{unit}]")
    model = PLQClassifier().fit(np.random.default_rng(0).normal(size=(24, 2)), days)
    with pytest.raises(ValueError, match="only models whose labels are"):
        model.save(tmp_path / "m.cflm")


def test_a_search_is_saved_as_its_pipeline(tmp_path):
    search = CompressiveSearchCV(LogisticClassifier(), CompressiveFeatures(), lams=[0.1, 1.0], cv=2).fit(TEXTS, LABELS)
    save_model(search, tmp_path / "one.cflm")
    search.save(tmp_path / "two.cflm")
    assert (tmp_path / "one.cflm").read_bytes() == (tmp_path / "two.cflm").read_bytes()
    assert load_model(tmp_path / "one.cflm").predict(UNSEEN).tolist() == search.predict(UNSEEN).tolist()
    with pytest.raises(ValueError, match="in this order"):
        CompressiveSearchCV(CompressiveFeatures(), LogisticClassifier()).fit(TEXTS, LABELS)


def test_a_pickle_of_a_search_has_no_corpus():
    search = CompressiveSearchCV(LogisticClassifier(), CompressiveFeatures(), lams=[0.1, 1.0], cv=2)
    search.fit(TEXTS * 30, np.tile(LABELS, 30))
    kept = pickle.dumps(search)
    again = pickle.loads(kept)
    assert len(kept) < 0.3 * len(pickle.dumps(search.features_)) and hasattr(search, "path_")
    assert again.predict_proba(UNSEEN).tobytes() == search.predict_proba(UNSEEN).tobytes()
    assert again.best_params_ == search.best_params_ and not hasattr(again, "path_")
    assert clone(again).fit(TEXTS * 30, np.tile(LABELS, 30)).best_score_ == search.best_score_


@pytest.mark.parametrize("own", [{}, {"dictionary_cost": len}])
def test_a_pickle_with_k_grams_has_no_corpus(own):
    model = SentenceLassoClassifier(0.05, 0.05, features=CompressiveFeatures(lam=0.5, **own))
    model.fit(TEXTS * 30, np.tile(LABELS, 30))
    kept = pickle.dumps(model)
    assert pickle.loads(kept).predict_proba(UNSEEN).tobytes() == model.predict_proba(UNSEEN).tobytes()
    assert (len(kept) < 0.2 * len(pickle.dumps(model._features.model))) == (not own)


@pytest.mark.parametrize("labels", ["int32", "int8", "float32", "<U12", "bool", object])
def test_labels_keep_their_type(tmp_path, labels):
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    y = np.array(["no", "yes"], dtype=object)[y] if labels is object else y.astype(labels)
    model = PLQClassifier().fit(X, y)
    model.save(tmp_path / "m.cflm")
    found = load_model(tmp_path / "m.cflm").predict(X)
    assert found.dtype == y.dtype == model.predict(X).dtype and found.tolist() == model.predict(X).tolist()


def test_what_set_output_asked_for_is_kept(tmp_path):
    steps = make_pipeline(StandardScaler(), MaxAbsScaler()).set_output(transform="pandas")
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(9, 2)), columns=["a", "b"])
    save_model(steps.fit(X), tmp_path / "m.cflm")
    pd.testing.assert_frame_equal(load_model(tmp_path / "m.cflm").transform(X), steps.transform(X))


@pytest.mark.parametrize("changes", [
    {"constraints": 3}, {"constraints": [3]}, {"loss": "foo"}, {"loss": "huber"}, {"tol": -1}, {"fit_intercept": "no"},
])  # fmt: skip
def test_parameters_that_no_model_has_are_refused(tmp_path, changes):
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    PLQClassifier().fit(X, y).save(tmp_path / "m.cflm")
    altered(tmp_path / "m.cflm", lambda header, parts: header["parameters"].update(changes))
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "m.cflm")
    for more in ({"n_iter": [0]}, {"n_iter": "x"}, {"violation": -1.0}, {"violation": "x"}):
        PLQClassifier().fit(X, y).save(tmp_path / "m.cflm")
        altered(tmp_path / "m.cflm", lambda header, parts, more=more: header.update(more))
        with pytest.raises(ModelFileError):
            load_model(tmp_path / "m.cflm")


@pytest.mark.parametrize("given", [no_constraints(3), equalities(np.ones((1, 3)), [1.0]), box(3, upper=[np.inf, 0, 1])])
def test_constraints_of_ones_own_are_kept(tmp_path, given):
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    model = PLQClassifier(constraints=[given, "nonnegative:1"] if len(given) else given).fit(X, y)
    model.save(tmp_path / "m.cflm")
    again = load_model(tmp_path / "m.cflm")
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert clone(again).fit(X, y).coef_.tobytes() == model.coef_.tobytes(), "and hold in another fit"


def test_a_chain_is_a_model_too(tmp_path):
    model = ChainCRF(c2=0.1).fit([[["a"], ["b"]], [["b"]]], [["x", "y"], ["y"]])
    save_model(model, tmp_path / "m.cflm")
    assert load_model(tmp_path / "m.cflm").predict([[["b"], ["a"]]]) == model.predict([[["b"], ["a"]]])


def short_array(header, parts):
    file = io.BytesIO()
    np.save(file, np.zeros((1, 2)))
    parts["2.coef.npy"] = file.getvalue()


def huge_array(header, parts):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (1, 1 << 50)})
    parts["2.coef.npy"] = file.getvalue()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda header, parts: header.update(version=99), "version 99"),
        (lambda header, parts: header.update(kind="forest"), "damaged"),
        (lambda header, parts: header.update(steps=[]), "damaged"),
        (lambda header, parts: header["steps"][0].pop("step"), "damaged"),
        (lambda header, parts: header["steps"][0]["step"].update(kind="pipeline"), "damaged"),
        (lambda header, parts: header["steps"][0]["step"].update(every_match="("), "damaged"),
        (lambda header, parts: header["steps"][0]["step"].update(vocabulary=["a", "a"]), "damaged"),
        (lambda header, parts: header["steps"][0]["step"]["parameters"].update(dtype="O"), "damaged"),
        (lambda header, parts: header["steps"][0]["step"].update(vocabulary=["a"]), "damaged"),
        (lambda header, parts: header["steps"][2]["step"].update(classes=["a"]), "damaged"),
        (lambda header, parts: header["steps"][2]["step"].update(gap="small"), "damaged"),
        (lambda header, parts: parts.pop("2.coef.npy"), "damaged"),
        (short_array, "damaged"),
        (huge_array, "damaged"),
    ],
)  # fmt: skip
def test_damaged_pipelines_are_said_to_be(tmp_path, change, said):
    path = tmp_path / "m.cflm"
    model = make_pipeline(*(step for _, step in vectorizer("binary").steps), LogisticClassifier()).fit(TEXTS, LABELS)
    save_model(model, path)
    altered(path, change)
    with pytest.raises(ModelFileError, match=said):
        load_model(path)


def test_a_device_is_no_model():
    """Reading one may never end."""
    with pytest.raises(ModelFileError, match="is no file"):
        load_model(os.devnull)


@pytest.mark.parametrize("cut", [0, 10, 300, -40, -1])
def test_truncated_files_are_said_to_be(tmp_path, cut):
    path = tmp_path / "m.cflm"
    save_model(make_pipeline(CountVectorizer(), LogisticClassifier()).fit(TEXTS, LABELS), path)
    path.write_bytes(path.read_bytes()[:cut] if cut else b"")
    with pytest.raises(ModelFileError):
        load_model(path)
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "none.cflm")


def test_a_model_of_other_columns_is_refused(tmp_path):
    X = sparse.random(24, 6, 0.5, random_state=0, format="csr")
    LogisticClassifier().fit(X, LABELS).save(tmp_path / "m.cflm")
    with pytest.raises(ValueError, match="5 features"):
        load_model(tmp_path / "m.cflm").predict(X[:, :5])


def of_step(number, **changes):
    return lambda header, parts: header["steps"][number]["step"].update(changes)


def of_parameters(number, **changes):
    return lambda header, parts: header["steps"][number]["step"]["parameters"].update(changes)


def packed_otherwise(path):
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


@pytest.mark.parametrize(
    "change",
    [
        of_parameters(0, input="filename"),
        of_parameters(0, input="file"),
        of_parameters(0, preprocessor="abc"),
        of_parameters(0, analyzer="call"),
        of_parameters(0, ngram_range=[1, 10**6]),
        of_parameters(0, ngram_range=3),
        of_parameters(0, stop_words=5),
        of_step(1, n_features=float("inf")),
        of_step(1, n_features=-1),
        of_step(2, classes=["pos", "neg"]),
        lambda header, parts: parts.pop("1.idf.npy", None) or parts.pop("1.idf_.npy"),
        lambda header, parts: header["steps"].append(dict(header["steps"][2], number=2)),
        lambda header, parts: header["steps"].insert(1, header["steps"][0]),
        lambda header, parts: header.update(about=["x"]),
        lambda header, parts: header.update(versions="x"),
    ],
)  # fmt: skip
def test_what_a_file_could_do_it_does_not(tmp_path, change):
    """Read other files, make endless terms, or bring anything but a sentence about."""
    path = tmp_path / "m.cflm"
    model = make_pipeline(*(step for _, step in vectorizer("tf-idf").steps), LogisticClassifier()).fit(TEXTS, LABELS)
    save_model(model, path)
    altered(path, change)
    with pytest.raises(ModelFileError):
        load_model(path)


def test_files_packed_otherwise_or_with_endless_headers_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "m.cflm"
    LogisticClassifier().fit(np.eye(24), LABELS).save(path)
    packed_otherwise(path)
    with pytest.raises(ModelFileError, match="packed in another way"):
        load_model(path)
    LogisticClassifier().fit(np.eye(24), LABELS).save(path)
    monkeypatch.setattr("cflengine.linear.saving._MOST_HEADER", 100)
    with pytest.raises(ModelFileError, match="more than any model's"):
        LogisticClassifier.load(path)


@pytest.mark.parametrize(
    "vectorizer_",
    [
        CountVectorizer(dtype=np.int8),
        CountVectorizer(ngram_range=(1, 50)),
        CountVectorizer(analyzer=str.split),
    ],
)
def test_vectorizers_that_would_not_load_are_not_saved(tmp_path, vectorizer_):
    model = make_pipeline(vectorizer_, LogisticClassifier()).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="cannot be saved"):
        save_model(model, tmp_path / "m.cflm")


def test_the_same_model_is_the_same_bytes_at_any_time(tmp_path, monkeypatch):
    model = make_pipeline(CountVectorizer(), LogisticClassifier()).fit(TEXTS, LABELS)
    written = []
    for second in (1, 2):
        monkeypatch.setattr(
            zipfile.time, "localtime", lambda *_, second=second: (2026, 1, 1, 0, 0, 4 * second, 0, 1, 0)
        )
        save_model(model, tmp_path / "m.cflm")
        written.append((tmp_path / "m.cflm").read_bytes())
    assert written[0] == written[1]


def test_a_pipeline_within_a_pipeline_is_refused_when_it_is_saved(tmp_path):
    inner = make_pipeline(Binarizer(), Binarizer())
    model = make_pipeline(inner, LogisticClassifier()).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(InputError, match="pipeline within a pipeline"):
        save_model(model, tmp_path / "m.cflm")
    assert not list(tmp_path.iterdir())
