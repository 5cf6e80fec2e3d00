"""The networks' derivatives, which take short cuts, against those that JAX finds of the plain formula."""

from __future__ import annotations

import numpy as np
import pytest

from cflengine.embedding.settings import CONVOLUTIONS, GATES, WAYS

pytest.importorskip("optax")
import jax
import jax.numpy as jnp

from cflengine.embedding import networks

HIDDEN, R, CLASSES = 7, 5, 3


@pytest.mark.parametrize("length", [5, 17])
@pytest.mark.parametrize("documents", [1, 8, 19])
def test_convolutions(documents, length):
    params, X, mask = drawn("cnn", documents, length)

    def plain(params, X):
        found = []
        for size in CONVOLUTIONS:
            H = jax.lax.conv_general_dilated(
                X * mask[..., None], params[f"filter{size}"], (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")
            )
            H = jax.nn.relu(H + params[f"bias{size}"]) * mask[..., None]
            found.append(H.max(axis=1))
        return jnp.concatenate(found, axis=1) @ params["output"] + params["output_bias"]

    assert_alike("cnn", plain, params, X, mask)


@pytest.mark.parametrize("network", ["gru", "bilstm"])
def test_recurrent_ones(network):
    params, X, mask = drawn(network, 6, 9)

    def states(params, way, X, mask):
        inputs = X @ params[f"{way}_input"] + params[f"{way}_bias"]
        carry = (jnp.zeros((len(X), HIDDEN)),) * 2
        step, found = {"gru": networks._gru_step, "bilstm": networks._lstm_step}[network], []
        for k in range(X.shape[1]):
            new = step(carry, inputs[:, k], carry[0] @ params[f"{way}_state"] + params[f"{way}_state_bias"])
            carry = tuple(jnp.where(mask[:, k, None] > 0, a, b) for a, b in zip(new, carry, strict=True))
            found.append(carry[0])
        return jnp.stack(found, axis=1)

    def plain(params, X):
        found = [states(params, "forward", X, mask)]
        if len(WAYS[network]) == 2:
            found.append(states(params, "backward", X[:, ::-1], mask[:, ::-1])[:, ::-1])
        H = jax.nn.relu(jnp.concatenate(found, axis=2)) * mask[..., None]
        return H.max(axis=1) @ params["output"] + params["output_bias"]

    assert params["forward_state"].shape == (HIDDEN, GATES[network] * HIDDEN)
    assert_alike(network, plain, params, X, mask)


def drawn(network, documents, length):
    """Weights, vectors and a mask; the first document has no word, the second all."""
    rng = np.random.default_rng(documents + length)
    params = networks.initial(network, R, CLASSES, HIDDEN, 0)
    X = jnp.asarray(rng.normal(size=(documents, length, R)), dtype=jnp.float32)
    ends = rng.integers(0, length + 1, documents)
    ends[:2] = [0, length][: len(ends[:2])]
    return params, X, jnp.asarray(np.arange(length) < ends[:, None], dtype=jnp.float32)


def assert_alike(network, plain, params, X, mask):
    weights = jnp.asarray(np.random.default_rng(3).normal(size=(len(X), CLASSES)), dtype=jnp.float32)

    def loss(of):
        return lambda params, X: (of(params, X) * weights).sum()

    own = loss(lambda params, X: networks.logits(network, params, X, mask))
    value, found = jax.value_and_grad(own, argnums=(0, 1))(params, X)
    other, expected = jax.value_and_grad(loss(plain), argnums=(0, 1))(params, X)
    np.testing.assert_allclose(value, other, rtol=1e-5)
    assert set(found[0]) == set(params)
    for one, two in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)
    assert float(jnp.abs(expected[1]).max()) > 0 or len(X) == 1
