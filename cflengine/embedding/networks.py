"""Networks over word vectors, in JAX: the mean, a convolution, a GRU, a BiLSTM, each under a linear layer.

As in the article's code: convolutions over 3, 4 and 5 words, recurrent layers, then ReLU and the largest value over the
document's positions. Padding is masked throughout: it takes no part in the largest value, and a recurrent state passes
it unchanged.

XLA divides sums among as many threads as there are processors, and so rounds otherwise where there are others: here it
has two, wherever it runs, unless JAX was in use before or the user has set NPROC.
"""

from __future__ import annotations

import math
import os
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from cflengine.embedding.settings import CONVOLUTIONS, STATES, inputs, shapes
from cflengine.engine.memory import require_bytes

Params = dict[str, Any]
_THREADS = "2"
_COPIES = 6  # of all weights: themselves, the best ones, the gradient, Adam's two moments, a step's results
_PASSES = 3  # of what the network makes of each word of a batch: forward, backward, and what is under way


def _begin_with_threads() -> None:
    """Have XLA's threads started, which look at NPROC once."""
    if "NPROC" in os.environ:
        return
    os.environ["NPROC"] = _THREADS
    try:
        jax.devices("cpu")
    finally:
        del os.environ["NPROC"]


_begin_with_threads()


def require_memory(network: str, vectors: tuple[int, int], n_classes: int, hidden: int, batch: tuple[int, int]) -> None:
    """MemoryLimitError for weights, and what a batch makes of its words, that do not fit; vectors: shape of M; batch:
    documents and words of each."""
    net = sum(math.prod(shape) for shape in shapes(network, vectors[1], n_classes, hidden).values())
    each = math.prod(batch) * (vectors[1] + STATES[network] * hidden)
    needed = 4 * _COPIES * (math.prod(vectors) + net) + 4 * _PASSES * each
    require_bytes(needed, "Training this network", "take fewer hidden units, a smaller dimension, or smaller batches.")


def initial(network: str, r: int, n_classes: int, hidden: int, seed: int) -> Params:
    """Weights uniform within ±1/√(inputs), float32, by name."""
    rng = np.random.default_rng((seed, 1))
    found = shapes(network, r, n_classes, hidden)
    params = {}
    for name, shape in found.items():
        bound = 1.0 / np.sqrt(inputs(name, r, hidden, found["output"][0]))
        params[name] = jnp.asarray(rng.uniform(-bound, bound, shape), dtype=jnp.float32)
    return params


def logits(network: str, params: Params, X: jax.Array, mask: jax.Array) -> jax.Array:
    """(B, C) of word vectors X (B, L, r); mask: (B, L), 1 where there is a word."""
    if network == "mean":
        total = (X * mask[..., None]).sum(axis=1)
        found = total / jnp.maximum(mask.sum(axis=1, keepdims=True), 1.0)
    elif network == "cnn":
        found = jnp.concatenate([_convolution(params, size, X, mask) for size in CONVOLUTIONS], axis=1)
    elif network == "gru":
        found = _largest(_recurrent(_gru_step, params, "forward", X, mask), mask)
    else:
        forward = _recurrent(_lstm_step, params, "forward", X, mask)
        backward = _recurrent(_lstm_step, params, "backward", X[:, ::-1], mask[:, ::-1])[:, ::-1]
        found = _largest(jnp.concatenate([forward, backward], axis=2), mask)
    return found @ params["output"] + params["output_bias"]


def _largest(H: jax.Array, mask: jax.Array) -> jax.Array:
    """The largest ReLU over a document's positions; 0 for a document without words."""
    return (jax.nn.relu(H) * mask[..., None]).max(axis=1)


def _convolution(params: Params, size: int, X: jax.Array, mask: jax.Array) -> jax.Array:
    X = X * mask[..., None]
    found = jax.lax.conv_general_dilated(
        X, params[f"filter{size}"], (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")
    )
    return _largest(found + params[f"bias{size}"], mask)


def _recurrent(step: Any, params: Params, way: str, X: jax.Array, mask: jax.Array) -> jax.Array:
    """(B, L, H): the state after each word."""
    inputs = X @ params[f"{way}_input"] + params[f"{way}_bias"]
    U, bias = params[f"{way}_state"], params[f"{way}_state_bias"]
    start = jnp.zeros((X.shape[0], U.shape[0]), dtype=X.dtype)

    def one(carry: Any, at: Any) -> Any:
        given, here = at
        new = step(carry, given, carry[0] @ U + bias)
        kept = jax.tree.map(lambda after, before: jnp.where(here[:, None] > 0, after, before), new, carry)
        return kept, kept[0]

    _, states = jax.lax.scan(one, (start, start), (inputs.swapaxes(0, 1), mask.T))
    return states.swapaxes(0, 1)


def _gru_step(carry: Any, given: jax.Array, state: jax.Array) -> Any:
    h, _ = carry
    reset, update, new = jnp.split(given, 3, axis=1)
    reset_h, update_h, new_h = jnp.split(state, 3, axis=1)
    z = jax.nn.sigmoid(update + update_h)
    candidate = jnp.tanh(new + jax.nn.sigmoid(reset + reset_h) * new_h)
    h = (1.0 - z) * candidate + z * h
    return h, h


def _lstm_step(carry: Any, given: jax.Array, state: jax.Array) -> Any:
    _, c = carry
    enter, forget, cell, leave = jnp.split(given + state, 4, axis=1)
    c = jax.nn.sigmoid(forget) * c + jax.nn.sigmoid(enter) * jnp.tanh(cell)
    return jax.nn.sigmoid(leave) * jnp.tanh(c), c


@partial(jax.jit, static_argnames=("network",))
def predict(network: str, params: Params, M: jax.Array, ids: jax.Array) -> jax.Array:
    """Logits (B, C); ids: int32 (B, L), −1 where there is no word."""
    mask = (ids >= 0).astype(M.dtype)
    return logits(network, params, M[jnp.maximum(ids, 0)], mask)


def penalty(regulariser: str, lam: jax.Array, M: jax.Array, begun: jax.Array) -> jax.Array:
    """What is added to the loss and differentiated here; wMMD's gradient comes from the engine."""
    if regulariser == "l1":
        return lam * jnp.abs(M).mean()
    if regulariser == "re-embedding":
        return lam * ((M - begun) ** 2).mean()
    if regulariser == "group lasso":
        return lam * jnp.sqrt((M**2).sum(axis=1) + 1e-12).mean()
    return jnp.zeros(())


@partial(jax.jit, static_argnames=("network", "regulariser"))
def loss_and_gradient(
    network: str, regulariser: str, tree: Params, begun: jax.Array, batch: Params, lam: jax.Array, key: jax.Array
) -> Any:
    """((loss, (cross entropy, correct)), gradient of the tree {"M", "net"}).

    batch: ids int32 (B, L), y int32 (B,), weight float32 (B,), 0 for rows that only fill up the batch.
    """

    def loss(tree: Params) -> Any:
        M, ids = tree["M"], batch["ids"]
        mask = (ids >= 0).astype(M.dtype)
        X = M[jnp.maximum(ids, 0)]
        if regulariser == "dropout":
            kept = jax.random.bernoulli(key, 1.0 - lam, X.shape)
            X = jnp.where(kept, X / (1.0 - lam), 0.0)
        scores = logits(network, tree["net"], X, mask)
        each = -jnp.take_along_axis(jax.nn.log_softmax(scores), batch["y"][:, None], axis=1)[:, 0]
        entropy = (each * batch["weight"]).sum() / batch["weight"].sum()
        correct = ((scores.argmax(axis=1) == batch["y"]) * batch["weight"]).sum()
        return entropy + penalty(regulariser, lam, M, begun), (entropy, correct)

    return jax.value_and_grad(loss, has_aux=True)(tree)


@partial(jax.jit, static_argnames=("max_norm", "max_gradient"))
def update(
    tree: Params,
    state: Any,
    gradient: Params,
    penalty_gradient: jax.Array,
    rate: jax.Array,
    max_norm: float | None,
    max_gradient: float | None,
) -> Any:
    """A step of Adam; penalty_gradient: float32 (V, r), what is added to the gradient of M. Returns the tree and Adam's
    state."""
    import optax

    if max_gradient is not None:  # one that overflowed says nothing
        length = jnp.sqrt(sum((leaf**2).sum() for leaf in jax.tree.leaves(gradient)))
        kept = jnp.minimum(1.0, max_gradient / length)
        gradient = jax.tree.map(lambda leaf: jnp.where(jnp.isfinite(length), leaf * kept, 0.0), gradient)
    gradient = gradient | {"M": gradient["M"] + penalty_gradient}
    steps, state = optax.scale_by_adam().update(gradient, state)
    tree = jax.tree.map(lambda value, step: value - rate * step, tree, steps)
    if max_norm is not None:
        lengths = jnp.sqrt((tree["M"] ** 2).sum(axis=1, keepdims=True))
        tree = tree | {"M": tree["M"] * jnp.minimum(1.0, max_norm / jnp.maximum(lengths, 1e-12))}
    return tree, state


def begin(tree: Params) -> Any:
    """Adam's state before the first step."""
    import optax

    return optax.scale_by_adam().init(tree)
