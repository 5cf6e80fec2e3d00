"""What is far out, without end or cut off is refused, or said, and never changes a figure silently."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from cflengine import WordMMD, WordMMDEmbedding
from cflengine.embedding.laws import WordLaws
from cflengine.embedding.pairs import FarVectorError, pair_sums
from cflengine.embedding.problem import kernel_matrix
from cflengine.embedding.settings import Kernel
from cflengine.embedding.vectors import VectorsError, word_vectors
from cflengine.embedding.width import median_width
from cflengine.engine.checks import InputError
from tests.embedding.test_statistic import random_laws
from tests.embedding.test_training import LABELS, TEXTS, model

WORDS = ("good", "bad", "beer", "the", "is")


@pytest.mark.parametrize("family", ["gaussian", "laplace"])
@pytest.mark.parametrize("far", [1e3, 1e5, 1e7, 1e12])
def test_a_vector_far_from_all_others_changes_no_other_distance(family, far):
    laws, _ = random_laws()
    M = np.random.default_rng(1).normal(size=(laws.laws.shape[1], 5))
    M[7] *= far
    kernel = Kernel(family, (2.0,))
    if far > 1e5:
        with pytest.raises(FarVectorError, match=r"^vector 7 is .* times the kernel's width") as caught:
            pair_sums(laws, M, kernel)
        again = pickle.loads(pickle.dumps(caught.value))  # as a search's worker sends it
        assert (str(again), again.row) == (str(caught.value), 7)
        return
    K, P = kernel_matrix(M, M, family, (2.0,)), laws.sums
    found = pair_sums(laws, M, kernel)
    np.testing.assert_allclose(found.KP, K @ P, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rounds", [2, 3])
@pytest.mark.parametrize("far", [1.0, 1e3, 1e6, 1e12])
def test_the_median_is_that_of_the_usual_words(rounds, far):
    laws, _ = random_laws(V=60)
    M = np.random.default_rng(1).normal(size=(60, 5))
    M[7] *= far
    assert median_width(laws, M, rounds=rounds) == pytest.approx(slow_median(laws, M), rel=1e-3)


def slow_median(laws: WordLaws, M: np.ndarray) -> float:
    """By all pairs of words of different documents."""
    P = laws.laws.toarray()
    weight = np.outer(P.sum(axis=0), P.sum(axis=0)) - P.T @ P
    squared = ((M[:, None] - M[None]) ** 2).sum(axis=2)
    order = np.argsort(squared, axis=None)
    total = np.cumsum(weight.ravel()[order])
    return float(np.sqrt(squared.ravel()[order][np.searchsorted(total, 0.5 * total[-1])]))


def test_the_word_of_a_far_vector_is_named():
    texts, labels = ["good beer is good", "the beer is good", "bad beer is bad", "the beer is bad"], [0, 0, 1, 1]
    M = np.random.default_rng(0).normal(size=(5, 3))
    M[3] *= 1e9
    with pytest.raises(InputError, match="the vector of 'the' is"):
        WordMMD(n_permutations=0).fit(texts, labels, (WORDS, M))


@pytest.mark.parametrize("width", [1e-9, (1.0, 1e-9)])
def test_a_width_that_is_too_small_is_blamed_on_no_word(width):
    M = np.random.default_rng(0).normal(size=(5, 3))
    texts, labels = ["the beer is good"] * 4 + ["the beer is bad"] * 4, ["a", "a", "b", "b"] * 2
    with pytest.raises(InputError, match=r"^a width of 1e-09 is too small"):
        WordMMD(n_permutations=0, width=width).fit(texts, labels, (WORDS, M))


@pytest.mark.parametrize("width", [True, "1", (True,), object()])
def test_a_width_that_is_no_number(width):
    with pytest.raises(InputError, match="width must be"):
        WordMMD(width=width).fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    ("own", "reason"),
    [
        ({"regulariser": "wmmd", "lam": 1e25}, "numerical error"),
        ({"regulariser": "l1", "lam": 1e25}, "numerical error"),
        ({"regulariser": "group lasso", "lam": 1e38}, "numerical error"),
        ({"learning_rate": 1e30}, "numerical error"),
        ({"network": "cnn", "learning_rate": 1e10}, "numerical error"),
    ],
)
def test_training_that_diverges_is_said_to(own, reason):
    try:
        fitted = model(**own).fit(TEXTS, LABELS)
    except InputError as error:
        assert "diverged in its first epoch" in str(error)
    else:
        assert fitted.solver_reason_ == reason


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"regulariser": "wmmd", "batch_size": 1}, "batch_size must be at least 4"),
        ({"regulariser": "wmmd", "stop_words": sorted(set(" ".join(TEXTS).lower().split()))}, "is a stop word"),
        ({"patience": 2}, "give a dev_share"),
        ({"stop_words": (word for word in ["beer"])}, "list of words"),
        ({"stop_words": 5}, "list of words"),
    ],
)
def test_what_could_not_act_is_refused(own, said):
    with pytest.raises(InputError, match=said):
        model(**own).fit(TEXTS, LABELS)


def test_one_document_of_a_class_is_no_class_for_a_penalty():
    labels = np.array(["a"] * (len(TEXTS) - 1) + ["b"])
    with pytest.raises(InputError, match="class 'b' has one document to learn from"):
        model(regulariser="wmmd").fit(TEXTS, labels)
    assert model(regulariser="wmmd", lam=0.0).fit(TEXTS, labels).n_iter_ == 8


def test_stop_words_are_left_out_however_they_are_written():
    texts, labels = ["The Beer is good", "THE beer Is bad"] * 4, ["a", "b"] * 4
    kept = WordMMD(n_permutations=0, stop_words="english", lowercase=False).fit(texts, labels).words_.vectors.words
    assert set(kept) == {"Beer", "good", "beer", "bad"}
    kept = WordMMD(n_permutations=0, stop_words=["The", "IS"]).fit(texts, labels).words_.vectors.words
    assert set(kept) == {"beer", "good", "bad"}
    kept = WordMMD(n_permutations=0, stop_words=["The"], lowercase=False).fit(texts, labels).words_.vectors.words
    assert "THE" in kept and "The" not in kept


def test_groups_may_be_an_array():
    own = {"regulariser": "structured wmmd", "batch_size": 24}
    one = model(groups=np.array([["hops", "ale"], ["wave", "salt"]]), **own).fit(TEXTS, LABELS)
    assert np.array_equal(
        one.vectors_, model(groups=[["beer", "ale"], ["sea", "wave"]], **own).fit(TEXTS, LABELS).vectors_
    )
    for groups in (["beer"], "beer", [[1, 2]], [[]]):
        with pytest.raises(InputError, match="groups are lists of words"):
            model(groups=groups, **own).fit(TEXTS, LABELS)


def test_stop_words_may_be_an_array_and_a_small_share_is_a_document():
    one = model(regulariser="wmmd", stop_words=np.array(["beer"])).fit(TEXTS, LABELS)
    other = model(regulariser="wmmd", stop_words=["beer"]).fit(TEXTS, LABELS)
    assert np.array_equal(one.vectors_, other.vectors_)
    assert np.isfinite(model(dev_share=0.02, patience=3).fit(TEXTS, LABELS).result_.dev_accuracy)


def test_parameters_are_checked_without_texts():
    WordMMDEmbedding().check()
    with pytest.raises(InputError, match="a share below 1"):
        WordMMDEmbedding(regulariser="dropout", lam=2.0).check()


def test_lines_of_different_lengths_lose_no_word(tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("good 1 2 3\nbad 2 3 4 5\nbeer 1 2 3\nthe 4 5 6 7 8\n")
    with pytest.raises(VectorsError, match=r"line 2 of v\.txt has 4 numbers, others have 3"):
        word_vectors(path, WORDS)
    path.write_text("good 1 2 3\nbad 2 1 2 3\nbad 4 5 6\n. . . 1 2 3\nthe mark 1 2 3\n")
    found = word_vectors(path, (*WORDS, "the mark", "bad 2"))
    assert found.words == ("good", "bad", "the mark", "bad 2"), "words of several parts are words"


@pytest.mark.parametrize(
    ("before", "text", "cut"),
    [
        ("1.1234 2.1234 3.1234", "1.25 -0.125 1.4934", False),
        ("1.1234 2.1234 3.1234", "1.2534 -0.1253 1.4", True),
        ("1 2 3", "1 2 3", False),
        ("1.1234 2.5 3.1234", "1.2534 -0.1253 1.4", False),  # its writer leaves out zeros at the end
        ("1.1234 2.1234 3.1234", "1.2534 -0.1253 1e-05", False),
    ],
)
@pytest.mark.parametrize("header", ["", "2 3\n"])
def test_a_file_that_ends_within_a_number_is_cut_off(tmp_path, before, text, cut, header):
    path = tmp_path / "v.txt"
    path.write_text(f"{header}good {before}\nbad {text}\n")
    assert word_vectors(path, WORDS).words == ("good", "bad")
    path.write_text(f"{header}good {before}\nbad {text}")
    if cut:
        with pytest.raises(VectorsError, match="middle of a number"):
            word_vectors(path, WORDS)
    else:
        assert word_vectors(path, WORDS).words == ("good", "bad")


def test_arrays_that_are_none_are_said_to_be():
    for M, said in (([[1.0], [1.0, 2.0]], "different lengths"), (1j * np.ones((2, 3)), "not made of numbers")):
        with pytest.raises(VectorsError, match=said):
            word_vectors((["good", "bad"], M), WORDS)
    assert word_vectors(((word for word in WORDS), np.ones((5, 2))), WORDS).words == WORDS


def test_what_is_asked_about_is_texts_or_what_cut_made_of_them():
    fitted = model().fit(TEXTS, LABELS)
    assert fitted.predict(fitted.cut(TEXTS)).tolist() == fitted.predict(TEXTS).tolist()
    for wrong in ("beer", np.full((2, 5), 999), np.array([["beer"], ["sea"]]), np.ones((2, 5))):
        with pytest.raises(InputError, match="list of strings"):
            fitted.predict(wrong)
    with pytest.raises(InputError, match="list of strings"):
        fitted.transform("beer")


def test_ids_that_do_not_fit_are_refused_before_work(monkeypatch):
    from cflengine.engine import MemoryLimitError

    monkeypatch.setattr("cflengine.engine.memory.available_bytes", lambda: 1_000)
    monkeypatch.setattr("cflengine.engine.memory._ALWAYS", 0)
    with pytest.raises(MemoryLimitError, match="smaller max_length"):
        model(max_length=10**6).fit([*TEXTS, "beer " * 10**5], [*LABELS, "sea"])


def test_gradients_are_cut_to_a_length_and_those_that_overflowed_are_none():
    import jax.numpy as jnp

    from cflengine.embedding import networks

    tree = {"M": jnp.ones((3, 2)), "net": {"output": jnp.ones(2)}}
    nothing = jnp.zeros((1, 1))
    for scale, length in ((0.01, None), (100.0, 1.0), (jnp.inf, 0.0)):
        gradient = {"M": jnp.full((3, 2), scale), "net": {"output": jnp.full(2, scale)}}
        _, state = networks.update(tree, networks.begin(tree), gradient, nothing, jnp.float32(0.1), None, 1.0)
        moved = 10.0 * np.sqrt(sum(float((leaf**2).sum()) for leaf in (state.mu["M"], state.mu["net"]["output"])))
        assert moved == pytest.approx(scale * np.sqrt(8.0) if length is None else length, rel=1e-5)


def test_a_recurrent_network_learns_from_long_documents():
    """Its gradients grow with every word: without a largest length they overflow, or drown all that come after."""
    rng = np.random.default_rng(0)
    words = [f"w{k}" for k in range(60)]
    labels = np.arange(40) % 2
    texts = [" ".join(rng.choice(words[:40] if y else words[20:], 150)) for y in labels]
    own = {"hidden": 40, "max_length": 150, "dimension": 8, "epochs": 12, "batch_size": 8}
    fitted = model("gru", max_gradient=1.0, **own).fit(texts, labels)
    assert fitted.solver_reason_ == "iteration limit" and fitted.result_.accuracy > 0.9
    with pytest.raises(InputError, match="max_gradient"):
        model("gru", max_gradient=0.0).fit(TEXTS, LABELS)
