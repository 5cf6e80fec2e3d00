"""The mathematics in numpy, against enumeration and finite differences; the kernels against the mathematics."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from cflengine.engine.jit import threads
from cflengine.engine.progress import Stopped
from cflengine.loglinear.kernels import chain as kernels_chain
from cflengine.loglinear.model import chain
from cflengine.loglinear.model.chain import ChainModel, ChainScorer, infer
from cflengine.loglinear.model.losses import TiedModel, collected
from cflengine.loglinear.model.problem import (
    binary_loss,
    chain_features,
    chain_loss,
    forward_backward,
    gathered_chain,
    multinomial_loss,
)
from naive.loglinear import binary, chain_data, enumerate_chain, multinomial


def models(seed: int):
    data = chain_data(seed)
    return [
        binary(seed), binary(seed, ones=True), multinomial(seed), ChainModel(data, chain_features(data, 4)),
        ChainModel(data, chain_features(data, 4, all_states=True, all_transitions=True)),
    ]  # fmt: skip


def reference(model, w):
    """Loss and gradient by problem.py."""
    if isinstance(model, ChainModel):
        loss, _, derivatives = chain_loss(model.data, model.features, w)
        return loss, gathered_chain(model.data, model.features, derivatives)
    if hasattr(model, "y"):
        loss, _, derivative = binary_loss(model.design.X, model.y, w)
        return loss, model.design.X.T @ derivative
    loss, _, derivative = multinomial_loss(model.design.X, model.label, w)
    return loss, np.asarray(model.design.X.T @ derivative).ravel()


@pytest.mark.parametrize("which", range(5))
@pytest.mark.parametrize("size", [0.0, 1.0, 30.0])
def test_kernels_agree_with_the_mathematics(which, size):
    model = models(which)[which]
    w = size * np.random.default_rng(which).normal(size=model.n_weights)
    loss, derivative = model.loss(model.scores(w))
    expected, gradient = reference(model, w)
    assert loss == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(model.gather(derivative), gradient, rtol=1e-9, atol=1e-9 * np.abs(gradient).max())


@pytest.mark.parametrize("which", range(5))
def test_gradient_by_finite_differences(which):
    model = models(10 + which)[which]
    generator = np.random.default_rng(which)
    w, p = generator.normal(size=(2, model.n_weights))
    h = 1e-6
    numeric = (reference(model, w + h * p)[0] - reference(model, w - h * p)[0]) / (2 * h)
    _, derivative = model.loss(model.scores(w))
    assert model.gather(derivative) @ p == pytest.approx(numeric, rel=1e-6)


@pytest.mark.parametrize("which", range(3))
def test_curvature_is_the_second_derivative(which):
    model = models(20 + which)[which]
    generator = np.random.default_rng(which)
    w, p = generator.normal(size=(2, model.n_weights))
    h = 1e-6
    scores, moved = model.scores(w), model.scores(p)
    numeric = (model.loss(scores + h * moved)[1] - model.loss(scores - h * moved)[1]) / (2 * h)
    derivative = model.loss(scores)[1]
    np.testing.assert_allclose(model.curvature(derivative, moved), numeric, rtol=1e-4, atol=1e-7)
    unit = np.zeros(model.n_weights)
    unit[3] = 1.0
    along = model.gather(model.curvature(derivative, model.scores(unit)))
    assert model.diagonal(derivative)[3] == pytest.approx(along[3], rel=1e-10)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [0.1, 3.0, 50.0])
def test_forward_backward_is_enumeration(seed, size):
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, 6, 7)
    ptr = np.concatenate([[0], np.cumsum(lengths)])
    emission, transition = size * generator.normal(size=(ptr[-1], 3)), size * generator.normal(size=(3, 3))
    log_z, marginals, pairs = forward_backward(emission, transition, ptr)
    by_kernel = np.empty_like(marginals)
    kernel_log_z, by_block = infer(emission, transition, ptr, by_kernel)
    label = np.empty(ptr[-1], dtype=np.int32)
    kernels_chain.viterbi(emission, transition, ptr, label, (0, len(ptr) - 1))
    total = np.zeros((3, 3))
    for s, (a, b) in enumerate(itertools.pairwise(ptr)):
        z, expected, expected_pairs, best = enumerate_chain(emission[a:b], transition)
        total += expected_pairs
        for found in (log_z[s], kernel_log_z[s]):
            assert found == pytest.approx(z, rel=1e-10, abs=1e-10)
        for found in (marginals[a:b], by_kernel[a:b]):
            np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-12)
        assert label[a:b].tolist() == best
    for found in (pairs, by_block.sum(axis=0)):
        np.testing.assert_allclose(found, total, rtol=1e-7, atol=1e-12)


def test_scores_beyond_the_range_of_exp_take_the_way_through_logarithms():
    """Every way from label to label but one is forbidden by −2,000: scaled sums would have no digit left."""
    generator = np.random.default_rng(3)
    ptr = np.array([0, 3, 9, 10])
    emission = 400 * generator.normal(size=(10, 3))
    transition = np.array([[-2000.0, 0.0, -2000.0], [-2000.0, -2000.0, 0.0], [0.0, -2000.0, -2000.0]])
    log_z, marginals, pairs = forward_backward(emission, transition, ptr)
    found = np.empty_like(marginals)
    kernel_log_z, by_block = infer(emission, transition, ptr, found)
    np.testing.assert_allclose(kernel_log_z, log_z, rtol=1e-12)
    np.testing.assert_allclose(found, marginals, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(by_block.sum(axis=0), pairs, rtol=1e-7, atol=1e-12)
    assert np.isfinite(found).all() and found.sum(axis=1) == pytest.approx(np.ones(10))


@pytest.mark.parametrize("n_labels", [2, 16, 17, 33])
def test_tiles_of_every_width(n_labels):
    """Many labels mean narrow tiles; and a tile is hardly ever full."""
    generator = np.random.default_rng(n_labels)
    lengths = generator.integers(0, 6, 75)
    ptr = np.concatenate([[0], np.cumsum(lengths)])
    emission, transition = 5 * generator.normal(size=(ptr[-1], n_labels)), generator.normal(size=(n_labels, n_labels))
    log_z, marginals, pairs = forward_backward(emission, transition, ptr)
    found = np.empty_like(marginals)
    kernel_log_z, by_tile = infer(emission, transition, ptr, found)
    np.testing.assert_allclose(kernel_log_z, log_z, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(found, marginals, rtol=1e-8, atol=1e-13)
    np.testing.assert_allclose(by_tile.sum(axis=0), pairs, rtol=1e-8, atol=1e-12)


def test_a_pass_in_pieces_is_the_same_pass(monkeypatch):
    generator = np.random.default_rng(0)
    ptr = np.concatenate([[0], np.cumsum(generator.integers(1, 9, 400))])
    emission, transition = generator.normal(size=(ptr[-1], 3)), generator.normal(size=(3, 3))
    marginals, asked = [np.empty_like(emission) for _ in range(2)], []
    whole = infer(emission, transition, ptr, marginals[0])
    monkeypatch.setattr(chain, "_PIECE_NS", 1.0)
    pieces = infer(emission, transition, ptr, marginals[1], None, lambda: not asked.append(1))
    assert len(asked) == len(whole[1]) == 7
    for one, other in zip((*whole, marginals[0]), (*pieces, marginals[1]), strict=True):
        assert one.tobytes() == other.tobytes()
    with pytest.raises(Stopped):
        infer(emission, transition, ptr, marginals[1], None, lambda: False)


def test_pieces_are_of_as_many_tokens_whatever_the_lengths(monkeypatch):
    """Long sentences come first: pieces of as many sentences would make the first one ten times the others."""
    lengths = np.concatenate([np.full(256, 40), np.full(2_560, 1)])
    ptr = np.concatenate([[0], np.cumsum(lengths)])
    emission, asked = np.zeros((ptr[-1], 2)), []
    monkeypatch.setattr(chain, "_PIECE_NS", 3_000 * (0.6 * 4 + 5.0 * 2))  # 3,000 tokens
    infer(emission, np.zeros((2, 2)), ptr, np.empty_like(emission), None, lambda: not asked.append(1))
    assert len(asked) == 5  # four tiles of 2,560 tokens each, a piece of its own each, and one piece of the rest


def test_a_long_sentence_makes_narrow_tiles(monkeypatch):
    """The memory of a tile is bounded, and the answers are those of wide ones."""
    generator = np.random.default_rng(1)
    ptr = np.concatenate([[0, 300], 300 + np.cumsum(generator.integers(1, 5, 40))])
    emission, transition = generator.normal(size=(ptr[-1], 3)), generator.normal(size=(3, 3))
    found, expected = np.empty_like(emission), np.empty_like(emission)
    wide = infer(emission, transition, ptr, expected)
    monkeypatch.setattr(chain, "_MOST_OF_TILE", 300 * 3 * 20)
    narrow = infer(emission, transition, ptr, found)
    assert len(wide[1]) == 1 and len(narrow[1]) == 3
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(narrow[0], wide[0], rtol=1e-13)
    np.testing.assert_allclose(narrow[1].sum(axis=0), wide[1][0], rtol=1e-12)


def test_the_exponential_of_tiles_is_exact_to_the_last_digits():
    from cflengine.engine.kernels_exp import exp_row

    x = -np.concatenate([[0.0, 1e-300, 1e-17, 700.0], np.geomspace(1e-12, 690, 5000)])
    expected = np.exp(x)
    exp_row(x)
    np.testing.assert_allclose(x, expected, rtol=5e-16)
    far = np.array([-701.0, -1e300, -np.inf])
    exp_row(far)
    assert (far < 1e-303).all() and (far >= 0).all()


def test_a_long_sentence_of_large_scores():
    generator = np.random.default_rng(4)
    emission, transition = 30 * generator.normal(size=(3000, 5)), 30 * generator.normal(size=(5, 5))
    ptr = np.array([0, 3000])
    log_z, marginals, _ = forward_backward(emission, transition, ptr)
    found = np.empty_like(marginals)
    assert infer(emission, transition, ptr, found)[0][0] == pytest.approx(log_z[0], rel=1e-12)
    np.testing.assert_allclose(found, marginals, atol=1e-9)


@pytest.mark.parametrize("which", range(5))
def test_the_same_bytes_with_one_thread_and_two(which):
    model = models(which)[which]
    w = np.random.default_rng(1).normal(size=model.n_weights)
    answers = []
    for n in (1, 2):
        with threads(n):
            loss, derivative = model.loss(model.scores(w))
            answers.append((loss, derivative.tobytes(), model.gather(derivative).tobytes()))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("which", range(5))
def test_tied_weights_are_equal_weights(which):
    model = models(which)[which]
    generator = np.random.default_rng(which)
    cluster_of = generator.integers(0, 6, model.n_weights)
    cluster_of[:6] = np.arange(6)
    delta = generator.normal(size=6)
    tied = TiedModel(model, cluster_of, 6)
    loss, derivative = tied.loss(tied.scores(delta))
    expected, gradient = reference(model, delta[cluster_of])
    assert loss == pytest.approx(expected)
    np.testing.assert_allclose(tied.gather(derivative), np.bincount(cluster_of, gradient, 6), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(collected(gradient, cluster_of, 6), np.bincount(cluster_of, gradient, 6))
    if hasattr(model, "merged"):
        merged = model.merged(cluster_of, 6)
        np.testing.assert_allclose(merged.scores(delta), tied.scores(delta))
        assert merged.n_weights == 6 and sum(merged.cost) <= 1.0


def test_scores_with_and_without_a_table_of_all_weights(chain, monkeypatch):
    from cflengine.loglinear.model import chain as module

    data, features = chain
    w = np.random.default_rng(0).normal(size=features.n_weights)
    with_table = ChainModel(data, features).scores(w)
    monkeypatch.setattr(module, "_MOST_CELLS", 0)
    without = ChainModel(data, features)
    assert without._table is None
    np.testing.assert_allclose(with_table, without.scores(w), rtol=1e-12, atol=1e-12)


def test_features_are_those_that_occur(chain):
    data, features = chain
    names = {(a, int(features.label[e])) for a in range(30) for e in range(features.ptr[a], features.ptr[a + 1])}
    tokens, attributes = data.X.nonzero()
    assert names == {(int(a), int(data.label[t])) for t, a in zip(tokens, attributes, strict=True)}
    inside = [t for t in range(len(data.label)) if t not in set(data.ptr.tolist())]
    pairs = {(int(data.label[t - 1]), int(data.label[t])) for t in inside}
    assert set(zip(features.before.tolist(), features.after.tolist(), strict=True)) == pairs
    none = chain_features(data, 4, transitions=False)
    assert len(none.before) == 0 and none.n_weights == features.n_states
    assert chain_features(data, 4, all_transitions=True).before.tolist() == np.repeat(np.arange(4), 4).tolist()


def test_a_chain_at_work(chain):
    data, features = chain
    w = np.random.default_rng(0).normal(size=features.n_weights)
    scorer = ChainScorer(features, w)
    marginals, label = scorer.marginals(data.X, data.ptr), scorer.decode(data.X, data.ptr)
    for a, b in zip(data.ptr[:20], data.ptr[1:21], strict=True):
        _, expected, _, best = enumerate_chain(scorer.emissions(data.X)[a:b], scorer.transition)
        np.testing.assert_allclose(marginals[a:b], expected, atol=1e-10)
        assert label[a:b].tolist() == best
