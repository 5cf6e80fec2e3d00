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
Filters = list[jax.Array]
_THREADS = "2"
_TOGETHER = 8  # documents in a convolution: what it makes of them stays in the processor's cache
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
        filters = [params[f"filter{size}"] for size in CONVOLUTIONS]
        found = _convolutions(filters, [params[f"bias{size}"] for size in CONVOLUTIONS], X * mask[..., None], mask)
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


@jax.custom_vjp
def _convolutions(filters: Filters, biases: Filters, X: jax.Array, mask: jax.Array) -> jax.Array:
    """(B, channels): of each channel the largest ReLU over a document's positions. filters: (size, r, channels) each;
    X: (B, L, r), 0 where there is no word.

    A derivative goes through one position a channel alone: it takes a fraction of the convolution's work. Documents
    pass a few at a time, so that nothing is made of all positions of a batch, which would take memory that the system
    clears anew for every batch.
    """
    return _convolve(filters, biases, X, mask)[0]


def _convolve(filters: Filters, biases: Filters, X: jax.Array, mask: jax.Array) -> Any:
    """The same, and what :func:`_back` needs."""

    def some(part: Any) -> Any:
        x, here = part
        found = [
            jax.lax.conv_general_dilated(x, F, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")) + bias
            for F, bias in zip(filters, biases, strict=True)
        ]
        H = jnp.where(here[..., None] > 0, jnp.concatenate(found, axis=2), 0.0)
        largest = H.max(axis=1)
        positions = jnp.arange(H.shape[1], dtype=jnp.int32)[:, None]
        # in two steps, which become vector instructions, as argmax does not
        return largest, jnp.where(largest[:, None] == H, positions, H.shape[1] - 1).min(axis=1)

    largest, at = jax.lax.map(some, (_in_parts(X), _in_parts(mask)))
    found = jnp.maximum(_joined(largest, X), 0.0)
    return found, (filters, X, _joined(at, X), found)


def _back(kept: Any, gradient: jax.Array) -> Any:
    """The derivative by filters, biases and X."""
    filters, X, at, found = kept
    gradient = jnp.where(found > 0.0, gradient, 0.0)
    ends = np.cumsum([F.shape[2] for F in filters])[:-1]

    def some(sums: list[jax.Array], part: Any) -> Any:
        x, at, gradient = part
        towards, cut = jnp.zeros_like(x), (jnp.split(at, ends, axis=1), jnp.split(gradient, ends, axis=1))
        for k, own in enumerate(zip(filters, *cut, strict=True)):
            by_filter, by_x = _through_largest(x, *own)
            sums[k], towards = sums[k] + by_filter, towards + by_x
        return sums, towards

    parts = (_in_parts(X), _in_parts(at), _in_parts(gradient))
    sums, towards = jax.lax.scan(some, [jnp.zeros_like(F) for F in filters], parts)
    return sums, jnp.split(gradient.sum(axis=0), ends), _joined(towards, X), None


def _through_largest(x: jax.Array, F: jax.Array, at: jax.Array, gradient: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The derivative by F and x of one convolution, whose channels have their largest value at positions (B, H)."""
    size, left = len(F), (len(F) - 1) // 2
    x = jnp.pad(x, ((0, 0), (left, size - 1 - left), (0, 0)))
    documents, by_filter, by_x = jnp.arange(len(x))[:, None], [], jnp.zeros_like(x)
    for k in range(size):
        by_filter.append(jnp.einsum("bh,bhr->rh", gradient, x[documents, at + k]))
        by_x = by_x.at[documents, at + k].add(gradient[:, :, None] * F[k].T)
    return jnp.stack(by_filter), by_x[:, left : left + x.shape[1] - size + 1]


def _in_parts(A: jax.Array) -> jax.Array:
    """Some rows, and behind the last ones zeros, beside others."""
    more = -len(A) % _TOGETHER
    return jnp.pad(A, ((0, more), *((0, 0),) * (A.ndim - 1))).reshape(-1, _TOGETHER, *A.shape[1:])


def _joined(parts: jax.Array, X: jax.Array) -> jax.Array:
    """The rows again, as many as X has."""
    return parts.reshape(-1, *parts.shape[2:])[: len(X)]


_convolutions.defvjp(_convolve, _back)


def _recurrent(step: Any, params: Params, way: str, X: jax.Array, mask: jax.Array) -> jax.Array:
    """(B, L, H): the state after each word. States alone are kept for the derivative, which does each step again: that
    is quicker than to store, and clear, what the gates of all words are."""
    W, bias = params[f"{way}_input"], params[f"{way}_bias"]
    U, state_bias = params[f"{way}_state"], params[f"{way}_state_bias"]
    start = jnp.zeros((X.shape[0], U.shape[0]), dtype=X.dtype)

    @jax.checkpoint
    def one(carry: Any, at: Any) -> Any:
        x, here = at
        new = step(carry, x @ W + bias, carry[0] @ U + state_bias)
        kept = jax.tree.map(lambda after, before: jnp.where(here[:, None] > 0, after, before), new, carry)
        return kept, kept[0]

    _, states = jax.lax.scan(one, (start, start), (X.swapaxes(0, 1), mask.T))
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
    """What is added to the loss and differentiated here; wMMD's gradient comes from the engine.

    l1: λ mean |M_vk|; re-embedding: λ mean (M_vk − M₀_vk)²; group lasso: λ mean_v ‖M_v‖₂.
    """
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
    """((loss, (cross entropy, correct, penalty)), gradient of the tree {"M", "net"}).

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
        added = penalty(regulariser, lam, M, begun)
        return entropy + added, (entropy, correct, added)

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
