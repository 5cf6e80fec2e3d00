"""Networks and their vectors: each forward pass against plain numpy, penalties, checkpoints, stops, files."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from cflengine import WordMMDEmbedding, load_model, save_model
from cflengine.embedding.laws import WordLaws
from cflengine.embedding.penalties import (
    BatchPenalty,
    StructuredPenalty,
    batch_laws,
    bigram_penalty,
    group_masks,
    word_discrepancy,
)
from cflengine.embedding.settings import NETWORKS, REGULARISERS, Kernel, TrainSettings
from cflengine.embedding.training import Training
from cflengine.embedding.width import median_width
from cflengine.engine.checks import MissingPackageError
from cflengine.engine.memory import MemoryLimitError
from cflengine.linear.saving import ModelFileError
from tests.embedding.test_word_mmd import BEER, LAND, SEA

pytest.importorskip("jax")
pytest.importorskip("optax")

TEXTS = 3 * (BEER + SEA)
LABELS = np.array(3 * (["beer"] * 4 + ["sea"] * 4))


def model(network="mean", regulariser="none", lam=None, **own):
    usual = {"epochs": 8, "batch_size": 8, "hidden": 6, "dimension": 4, "min_count": 1, "max_length": 6}
    return WordMMDEmbedding(network, regulariser, lam, **(usual | own))


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def gru(net, way, X):
    h, out = np.zeros(6), []
    for x in X:
        given, state = x @ net[f"{way}_input"] + net[f"{way}_bias"], h @ net[f"{way}_state"] + net[f"{way}_state_bias"]
        r, z = sigmoid(given[:6] + state[:6]), sigmoid(given[6:12] + state[6:12])
        h = (1 - z) * np.tanh(given[12:] + r * state[12:]) + z * h
        out.append(h)
    return np.array(out)


def lstm(net, way, X):
    h, c, out = np.zeros(6), np.zeros(6), []
    for x in X:
        gates = x @ net[f"{way}_input"] + net[f"{way}_bias"] + h @ net[f"{way}_state"] + net[f"{way}_state_bias"]
        c = sigmoid(gates[6:12]) * c + sigmoid(gates[:6]) * np.tanh(gates[12:18])
        h = sigmoid(gates[18:]) * np.tanh(c)
        out.append(h)
    return np.array(out)


def convolution(net, size, X):
    before = (size - 1) // 2
    padded = np.vstack([np.zeros((before, 4)), X, np.zeros((size - 1 - before + 6, 4))])
    rows = [np.einsum("sk,skh->h", padded[i : i + size], net[f"filter{size}"]) for i in range(len(X))]
    return np.array(rows) + net[f"bias{size}"]


def naive_logits(network, net, X):
    if network == "mean":
        top = X.mean(axis=0)
    elif network == "cnn":
        top = np.concatenate([np.maximum(convolution(net, size, X), 0).max(axis=0) for size in (3, 4, 5)])
    elif network == "gru":
        top = np.maximum(gru(net, "forward", X), 0).max(axis=0)
    else:
        both = np.hstack([lstm(net, "forward", X), lstm(net, "backward", X[::-1])[::-1]])
        top = np.maximum(both, 0).max(axis=0)
    return top @ net["output"] + net["output_bias"]


@pytest.mark.parametrize("network", NETWORKS)
def test_a_network_is_what_its_formula_says_also_with_padding(network):
    fitted = model(network, epochs=2).fit(TEXTS, LABELS)
    texts = ["hops", "wave salt wind sail boat", "ale malt unknownword hops", "salt foam path wind sail wave boat hops"]
    net = {key: one.astype(np.float64) for key, one in fitted._net.items()}
    found = fitted.decision_function(texts)
    for text, scores in zip(texts, found, strict=True):
        X = np.array([fitted.vectors_[fitted.words_.index(w)] for w in text.split() if w in fitted.words_][:6])
        np.testing.assert_allclose(scores, naive_logits(network, net, X.astype(np.float64)), atol=2e-5)


@pytest.mark.parametrize("network", NETWORKS)
def test_every_network_learns(network):
    fitted = model(network, "wmmd", 1.0, epochs=15).fit(TEXTS, LABELS)
    assert (fitted.predict(TEXTS) == LABELS).mean() > 0.9
    assert fitted.predict_proba(TEXTS).sum(axis=1) == pytest.approx(1.0)
    assert fitted.result_.accuracy == (fitted.predict(TEXTS) == LABELS).mean()
    assert len(fitted.trace_) == 16
    assert fitted.result_.film.shape == (16, len(fitted.words_), 4)


@pytest.mark.parametrize("regulariser", [name for name in REGULARISERS if name != "structured wmmd"])
def test_every_penalty_trains(regulariser):
    fitted = model("cnn", regulariser).fit(TEXTS, LABELS)
    assert np.isfinite(fitted.vectors_).all()
    assert (np.linalg.norm(fitted.vectors_, axis=1) <= 1.0 + 1e-5).all()


def test_wmmd_keeps_classes_apart():
    plain = model("cnn", epochs=20).fit(TEXTS, LABELS)
    kept = model("cnn", "wmmd", 100.0, epochs=20).fit(TEXTS, LABELS)
    assert kept.trace_["wmmd"].iloc[-1] > plain.trace_["wmmd"].iloc[-1] + 0.1
    assert kept.trace_["wmmd"].iloc[0] == plain.trace_["wmmd"].iloc[0]


def test_the_trace_is_recomputed_from_the_vectors():
    fitted = model(regulariser="wmmd", lam=1.0).fit(TEXTS, LABELS)
    counts = np.array([[text.split().count(word) for word in fitted.words_] for text in TEXTS])
    laws = WordLaws.of(sparse.csr_matrix(counts), (LABELS == "sea").astype(int))
    expected, error = word_discrepancy(laws, fitted.vectors_.astype(np.float64))
    assert error == 0.0 and (fitted.trace_["wmmd_error"] == 0.0).all() and fitted.result_.discrepancy_errors() == (0, 0)
    assert fitted.trace_["wmmd"].iloc[-1] == pytest.approx(expected, abs=1e-9)
    scores = fitted.predict_proba(TEXTS)[np.arange(24), (LABELS == "sea").astype(int)]
    assert fitted.result_.objective == pytest.approx(-np.log(scores).mean(), rel=1e-5)


def random_batch(seed=0, V=30):
    rng = np.random.default_rng(seed)
    counts = sparse.csr_matrix(rng.poisson(0.4, size=(12, V)))
    return counts, rng.integers(0, 3, 12), rng.normal(size=(V, 4))


def fixed_width_gradient(penalty_of, M, widths):
    """Finite differences of Σ of statistics with widths held fixed."""
    out = np.zeros(M.shape)
    for v in range(len(M)):
        for k in range(M.shape[1]):
            up, down = M.copy(), M.copy()
            up[v, k] += 1e-5
            down[v, k] -= 1e-5
            out[v, k] = (penalty_of(up, widths) - penalty_of(down, widths)) / 2e-5
    return out


def statistic(laws, M, width):
    from cflengine.embedding.problem import wmmd2

    return wmmd2(laws.laws.toarray(), laws.y, Kernel("gaussian", (width,))(M, M))


def test_the_penalty_of_a_batch_and_its_gradient():
    counts, y, M = random_batch()
    kept = np.ones(30, dtype=bool)
    kept[[2, 7]] = False
    batch = np.arange(0, 12, 1)
    value, gradient = BatchPenalty(counts, y, kept)(batch, M)
    laws, words = batch_laws(counts, y, kept)
    assert not {2, 7} & set(words.tolist())
    width = median_width(laws, M[words])
    assert value == pytest.approx(statistic(laws, M[words], width), abs=1e-10)
    expected = fixed_width_gradient(lambda A, w: statistic(laws, A[words], w), M, width)
    np.testing.assert_allclose(gradient, expected, atol=1e-8)
    assert (gradient[[2, 7]] == 0).all()


def test_classes_with_one_document_in_a_batch_take_no_part():
    counts, _, M = random_batch()
    y = np.array([0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 0, 0])
    kept = np.ones(30, dtype=bool)
    laws, _ = batch_laws(counts, y, kept)
    assert laws.n_classes == 2
    assert laws.n_documents == 11
    value, gradient = BatchPenalty(counts, y, kept)(np.array([0, 1, 3, 5]), M)
    assert (value, np.abs(gradient).max()) == (0.0, 0.0)
    assert BatchPenalty(counts, y, kept)(np.arange(12), np.ones((30, 4)))[0] == 0.0  # a median of 0


def test_groups_of_words():
    counts, y, M = random_batch(1)
    masks = group_masks([["a", "b", "c"], ["d"]], ["d", "a", "x", "c"])
    assert [mask.tolist() for mask in masks] == [[False, True, False, True], [True, False, False, False]]
    halves = [np.arange(30) < 15, np.arange(30) >= 15]
    parts = [BatchPenalty(counts, y, half) for half in halves]
    value, gradient = StructuredPenalty(tuple(parts))(np.arange(12), M)
    each = [part(np.arange(12), M) for part in parts]
    assert value == each[0][0] + each[1][0]
    np.testing.assert_array_equal(gradient, each[0][1] + each[1][1])
    fitted = model("mean", "structured wmmd", groups=[["hops", "wave", "ale"]]).fit(TEXTS, LABELS)
    assert np.isfinite(fitted.vectors_).all()


def test_bigrams_have_the_vectors_of_both_words():
    rng = np.random.default_rng(2)
    ids = rng.integers(-1, 6, size=(10, 7)).astype(np.int32)
    y, M = np.arange(10) % 2, rng.normal(size=(6, 3))
    kept = np.array([True, True, True, True, True, False])
    value, gradient = bigram_penalty(ids, y, kept, None)(np.arange(10), M)
    pairs = [[(a, b) for a, b in pairwise(row) if min(a, b) >= 0 and max(a, b) < 5] for row in ids]
    known = sorted({pair for row in pairs for pair in row})
    counts = sparse.csr_matrix(np.array([[row.count(pair) for pair in known] for row in pairs]))
    laws, words = batch_laws(counts, y, np.ones(len(known), dtype=bool))
    first, second = np.array(known)[words].T

    def joined(A):
        return np.hstack([A[first], A[second]])

    width = median_width(laws, joined(M))
    assert value == pytest.approx(statistic(laws, joined(M), width), abs=1e-10)
    expected = fixed_width_gradient(lambda A, w: statistic(laws, joined(A), w), M, width)
    np.testing.assert_allclose(gradient, expected, atol=1e-8)


@pytest.mark.parametrize("regulariser", ["wmmd", "dropout"])
def test_the_same_seed_gives_the_same_bytes(regulariser):
    first, second = (model("cnn", regulariser).fit(TEXTS, LABELS) for _ in range(2))
    assert first.vectors_.tobytes() == second.vectors_.tobytes()
    other = model("cnn", regulariser, random_state=1).fit(TEXTS, LABELS)
    assert first.vectors_.tobytes() != other.vectors_.tobytes()


def test_a_checkpoint_goes_on_to_the_same_bytes(tmp_path):
    path = tmp_path / "run.npz"
    whole = model("gru", "wmmd").fit(TEXTS, LABELS)
    cut = model("gru", "wmmd", checkpoint=path, listeners=(lambda event: event.iteration < 3,)).fit(TEXTS, LABELS)
    assert cut.n_iter_ == 3
    assert cut.solver_reason_ == "interrupted"
    resumed = model("gru", "wmmd", checkpoint=path).fit(TEXTS, LABELS)
    assert resumed.vectors_.tobytes() == whole.vectors_.tobytes()
    numbers = ["iteration", "objective", "accuracy", "wmmd", "penalty"]
    np.testing.assert_array_equal(resumed.trace_[numbers].to_numpy(), whole.trace_[numbers].to_numpy())
    assert resumed.result_.film.tobytes() == whole.result_.film.tobytes()
    with pytest.raises(ValueError, match="of other documents or settings"):
        model("gru", "wmmd", lam=5.0, checkpoint=path).fit(TEXTS, LABELS)
    path.write_bytes(b"PK nothing")
    with pytest.raises(ValueError, match="no checkpoint"):
        model("gru", "wmmd", checkpoint=path).fit(TEXTS, LABELS)


def test_a_stop_within_an_epoch_leaves_the_last_whole_one():
    class Stop:
        def __init__(self):
            self.asked = 0

        def __call__(self, event):
            self.last = event.iteration

        def poll(self):
            self.asked += 1
            return self.asked < 12  # within the third epoch

    stop = Stop()
    fitted = model("mean", batch_size=6, listeners=(stop,)).fit(TEXTS, LABELS)
    assert fitted.solver_reason_ == "interrupted"
    shorter = model("mean", batch_size=6, listeners=(lambda event: event.iteration < stop.last,)).fit(TEXTS, LABELS)
    assert 0 < fitted.n_iter_ == shorter.n_iter_ < 8
    assert fitted.vectors_.tobytes() == shorter.vectors_.tobytes()


def test_divergence_is_stopped_and_said(monkeypatch):
    steps = iter([(0.5, 3.0, 0.0)] * 4 + [(float("nan"), 0.0, 0.0)])
    monkeypatch.setattr(Training, "_step", lambda self, batch, rate, step: next(steps))
    fitted = model("mean", batch_size=6).fit(TEXTS, LABELS)
    assert fitted.solver_reason_ == "numerical error"
    assert fitted.n_iter_ == 1
    monkeypatch.setattr(Training, "_step", lambda self, batch, rate, step: (float("inf"), 0.0, 0.0))
    with pytest.raises(ValueError, match="diverged in its first epoch"):
        model("mean").fit(TEXTS, LABELS)


def test_a_divergence_in_the_last_step_is_noticed_and_an_endless_penalty_is_survived():
    with pytest.raises(ValueError, match="diverged in its first epoch"):
        model(epochs=3, batch_size=64, learning_rate=1e30, max_norm=None).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="diverged in its first epoch"):
        model(regulariser="wmmd", lam=1e300, max_norm=None).fit(TEXTS, LABELS)


def test_checkpoints_of_other_groups_and_of_runs_that_ended(tmp_path):
    path = tmp_path / "run.npz"
    own = {"regulariser": "structured wmmd", "checkpoint": path, "epochs": 2}
    model(groups=[["hops", "wave"]], **own).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="of other documents"):
        model(groups=[["ale", "wind"]], **own).fit(TEXTS, LABELS)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ValueError, match="no checkpoint"):
        model(groups=[["hops", "wave"]], **own).fit(TEXTS, LABELS)
    ended = {"network": "cnn", "dev_share": 0.25, "epochs": 30, "patience": 2, "checkpoint": tmp_path / "ended.npz"}
    first, again = (model(**ended).fit(TEXTS, LABELS) for _ in range(2))
    assert first.n_iter_ == again.n_iter_
    assert again.solver_reason_ == "converged"
    assert again.vectors_.tobytes() == first.vectors_.tobytes()


def test_nothing_and_one_string_to_predict():
    fitted = model().fit(TEXTS, LABELS)
    assert fitted.predict([]).shape == (0,)
    assert fitted.predict_proba([]).shape == (0, 2)
    with pytest.raises(ValueError, match="not one string"):
        fitted.predict("hops")


def test_a_huge_lam_trains_all_the_same():
    fitted = model("cnn", "wmmd", 1e9, epochs=10).fit(TEXTS, LABELS)
    assert np.isfinite(fitted.vectors_).all()
    assert fitted.trace_["wmmd"].iloc[-1] > fitted.trace_["wmmd"].iloc[0]


def test_early_stopping_keeps_the_best_epoch():
    fitted = model("cnn", dev_share=0.25, epochs=30, patience=3).fit(TEXTS, LABELS)
    trace = fitted.trace_.set_index("iteration").drop(index=0)  # weights as they were drawn
    best = trace[trace["dev_accuracy"] == trace["dev_accuracy"].max()]
    assert fitted.result_.dev_accuracy == trace["dev_accuracy"].max()
    assert fitted.result_.best_epoch == best["dev_loss"].idxmin(), "of equal accuracies, the least cross entropy"
    assert fitted.n_iter_ == best.index[0] + 3, "epochs without a better accuracy"
    assert fitted.solver_reason_ == "converged"


def test_weights_as_they_were_drawn_are_never_kept():
    labels = np.array(["all"] * (len(TEXTS) - 6) + ["few"] * 6)
    dev = np.zeros(len(TEXTS), dtype=bool)
    dev[:4] = True  # of one class: any weights may be right about all of them
    for seed in range(4):
        fitted = model("mean", epochs=2, learning_rate=1e-4, random_state=seed).fit(TEXTS, labels, dev=dev)
        assert fitted.result_.best_epoch > 0
        assert not np.array_equal(fitted.vectors_, fitted.initial_vectors_)


def test_a_run_that_goes_on_counts_its_earlier_seconds(tmp_path):
    path = tmp_path / "run.npz"
    first = model(epochs=4, checkpoint=path, listeners=[lambda event: event.iteration < 2]).fit(TEXTS, LABELS)
    again = model(epochs=4, checkpoint=path).fit(TEXTS, LABELS)
    seconds = again.trace_["elapsed_s"].to_numpy()
    assert len(seconds) == 5 and (np.diff(seconds) > 0).all()
    assert again.result_.seconds > first.result_.seconds


def test_a_loaded_model_does_not_know_how_its_vectors_began(tmp_path):
    fitted, y = model("mean", epochs=1).fit(TEXTS, LABELS), (LABELS == "sea").astype(np.int64)
    save_model(fitted, tmp_path / "m.cflm")
    found, own = load_model(tmp_path / "m.cflm").discrepancies(TEXTS, y), fitted.discrepancies(TEXTS, y)
    assert np.isnan(found["before"]) and np.isfinite(own["before"])
    assert found["after"] == own["after"] and found["words"] == own["words"]


def test_vectors_that_are_given(tmp_path):
    given = {word: np.random.default_rng(k).normal(size=5) for k, word in enumerate(["hops", "ale", "wave"])}
    fitted = model("mean", "re-embedding", 1e4, learning_rate=1e-3, max_norm=None).fit(TEXTS, LABELS, given)
    assert fitted.vectors_.shape == (len(fitted.words_), 5)
    assert fitted.result_.settings["dimension"] == 5
    at = fitted.words_.index("ale")
    np.testing.assert_allclose(fitted.initial_vectors_[at], given["ale"], rtol=1e-6)
    np.testing.assert_allclose(fitted.vectors_, fitted.initial_vectors_, atol=2e-2)
    learnt = model("mean", initial="learnt", epochs=1).fit(TEXTS, LABELS)
    assert learnt.vectors_.shape[1] == 4
    fitted.save(tmp_path / "m.cflm")
    again = WordMMDEmbedding.load(tmp_path / "m.cflm")
    np.testing.assert_array_equal(again.predict_proba(TEXTS), fitted.predict_proba(TEXTS))


def test_transform_is_the_mean_vector():
    fitted = model().fit(TEXTS, LABELS)
    assert fitted.get_feature_names_out()[0] == "wordmmdembedding0"
    texts, labels = TEXTS, LABELS
    np.testing.assert_array_equal(clone(fitted).fit_transform(texts, labels), fitted.transform(texts))
    table = clone(fitted).set_output(transform="pandas").fit(texts, labels).transform(["hops hops wave"])
    assert table.columns.tolist() == fitted.get_feature_names_out().tolist()
    found = fitted.transform(["hops hops wave", "nothing known"])
    M = fitted.vectors_.astype(np.float64)
    expected = (2 * M[fitted.words_.index("hops")] + M[fitted.words_.index("wave")]) / 3
    np.testing.assert_allclose(found[0], expected, rtol=1e-6)
    assert (found[1] == 0).all()


@pytest.mark.parametrize("network", NETWORKS)
def test_saved_models_say_the_same(tmp_path, network):
    fitted = model(network, epochs=2).fit(TEXTS + LAND, [*LABELS, *["land"] * 4])
    save_model(fitted, tmp_path / "m.cflm", about={"target": "place"})
    again = load_model(tmp_path / "m.cflm")
    np.testing.assert_array_equal(again.predict_proba(TEXTS), fitted.predict_proba(TEXTS))
    assert list(again.classes_) == ["beer", "land", "sea"]
    assert again.words_ == fitted.words_


def test_files_whose_parts_do_not_fit(tmp_path):
    from cflengine.linear import saving

    fitted = model("gru", epochs=1).fit(TEXTS, LABELS)
    header, arrays = fitted.to_parts()
    broken = [
        (header, arrays | {"vectors": arrays["vectors"][1:]}),
        (header, arrays | {"net.output": arrays["net.output"][1:]}),
        (header, {key: one for key, one in arrays.items() if key != "net.forward_bias"}),
        (header | {"words": header["words"][:-1] + header["words"][:1]}, arrays),
        (header | {"parameters": header["parameters"] | {"network": "cnn"}}, arrays),
        (header | {"parameters": header["parameters"] | {"network": "perceptron"}}, arrays),
        (header | {"parameters": header["parameters"] | {"token_pattern": "("}}, arrays),
        (header, arrays | {"vectors": np.full_like(arrays["vectors"], np.nan)}),
    ]
    for k, (own, values) in enumerate(broken):
        path = tmp_path / f"{k}.cflm"
        saving.write_model(path, "embedding", own, values)
        with pytest.raises(ModelFileError):
            WordMMDEmbedding.load(path)


def test_clones_share_nothing_but_listeners():
    heard = []
    fitted = model(listeners=(heard.append,)).fit(TEXTS, LABELS)
    copy = clone(fitted)
    assert not hasattr(copy, "vectors_")
    assert copy.listeners == fitted.listeners


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"network": "transformer"}, "network must be one of"),
        ({"regulariser": "l2"}, "regulariser must be one of"),
        ({"regulariser": "dropout", "lam": 1.0}, "a share below 1"),
        ({"regulariser": "wmmd", "lam": -1.0}, "lam must be"),
        ({"regulariser": "structured wmmd"}, "needs them"),
        ({"groups": [["a"]]}, "needs them"),
        ({"regulariser": "structured wmmd", "groups": [["nowhere"]]}, "none that occurs"),
        ({"min_count": 0}, "min_count"),
        ({"min_count": 500}, "fewer than two words"),
        ({"epochs": 0}, "epochs"),
        ({"dev_share": 1.0}, "dev_share"),
        ({"max_norm": 0.0}, "max_norm"),
        ({"regulariser": "structured wmmd", "groups": ["abc"]}, "lists of words"),
        ({"checkpoint": "/nowhere/at/all/run.npz"}, "is not there"),
        ({"initial": "glove"}, "initial must be one of"),
        ({"max_length": 4}, "max_length"),
    ],
)
def test_one_sentence_for_wrong_settings(own, said):
    with pytest.raises(ValueError, match=said):
        model(**own).fit(TEXTS, LABELS)


def test_what_to_install_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "jax" else object())
    with pytest.raises(MissingPackageError, match=r"pip install 'cflengine\[neural\]'"):
        model().fit(TEXTS, LABELS)


def test_one_class_and_empty_documents():
    with pytest.raises(ValueError, match="one class only"):
        model().fit(TEXTS, ["a"] * 24)
    fitted = model("cnn", "wmmd").fit([*TEXTS, "", "?"], [*LABELS, "beer", "sea"])
    assert len(fitted.predict(["", "hops"])) == 2


def test_settings_are_checked_by_themselves():
    with pytest.raises(ValueError, match="time_limit"):
        TrainSettings(time_limit=0)


def test_groups_are_lower_cased_as_texts_are_and_words_that_are_nowhere_are_said():
    given = [["Hops", "WAVE", "nowhere"]]
    with pytest.warns(UserWarning, match="words of groups that the texts do not have are left out: 'nowhere'"):
        loud = model("mean", "structured wmmd", groups=given).fit(TEXTS, LABELS)
    plain = model("mean", "structured wmmd", groups=[["hops", "wave"]]).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(loud.vectors_, plain.vectors_)


_BYTES = """
import hashlib, sys
from cflengine import WordMMDEmbedding
from tests.embedding.test_training import LABELS, TEXTS
found = WordMMDEmbedding("cnn", "none", epochs=2, batch_size=8, hidden=64, dimension=32, min_count=1).fit(TEXTS, LABELS)
print(hashlib.sha256(found.vectors_.tobytes()).hexdigest())
"""


def test_the_number_of_processors_changes_no_byte():
    """XLA divides sums of a convolution among its threads."""
    if not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one processor here")
    first = min(os.sched_getaffinity(0))
    environment = {name: value for name, value in os.environ.items() if name != "NPROC"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    said = [
        subprocess.run(
            [sys.executable, "-c", code + _BYTES], capture_output=True, text=True, check=True, env=environment
        ).stdout
        for code in ("", f"import os; os.sched_setaffinity(0, [{first}])")
    ]
    assert said[0] == said[1]


@pytest.mark.parametrize(("size", "same"), [(24, True), (10**9, True), (6, False)])
def test_a_batch_is_no_larger_than_the_documents(size, same):
    whole = model("cnn", batch_size=len(TEXTS), epochs=2).fit(TEXTS, LABELS)
    found = model("cnn", batch_size=size, epochs=2).fit(TEXTS, LABELS)
    assert (found.vectors_.tobytes() == whole.vectors_.tobytes()) == same


@pytest.mark.parametrize("own", [{"network": "gru", "hidden": 10**7}, {"network": "cnn", "dimension": 10**10}])
def test_a_network_that_does_not_fit_is_refused_before_work(own):
    with pytest.raises(MemoryLimitError, match=r"fewer hidden units|Vectors of these words"):
        model(**own).fit(TEXTS, LABELS)


def test_documents_set_aside_that_leave_one_of_a_class_are_refused():
    with pytest.raises(ValueError, match="one document to learn from with a known word"):
        model("mean", "wmmd", dev_share=0.97).fit(TEXTS, LABELS)
