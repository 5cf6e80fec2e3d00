"""A trained network's scores made again in plain numpy, float64: the mean, a convolution, a GRU, a BiLSTM.

What is the sum over words, the largest value over positions or the next state there, is a few lines here, for some
documents at a time, padded to the longest of them; padding is left out of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cflengine.text.token_table import TokenTable

_AT_ONCE = 256  # documents
_FILTERS = (3, 4, 5)  # words

Net = Mapping[str, np.ndarray]


def network_scores(network: str, net: Net, M: np.ndarray, documents: list[np.ndarray]) -> np.ndarray:
    """Logits, float64 (N, C). net: the weights by name; M: float64 (V, r); documents: the words of each, int (L,)."""
    found, net = [], {name: values.astype(np.float64) for name, values in net.items()}
    for first in range(0, len(documents), _AT_ONCE):
        some = documents[first : first + _AT_ONCE]
        X, here = _padded(M, some)
        found.append(_top(network, net, X, here) @ net["output"] + net["output_bias"])
    return np.concatenate(found)


def words_of(table: TokenTable, words: list[str], most: int) -> list[np.ndarray]:
    """The first ``most`` words of each document that the network knows, as their numbers."""
    number = {word: k for k, word in enumerate(words)}
    known = np.array([number.get(form, -1) for form in table.vocabulary], dtype=np.int64)[table.tokens]
    each = np.split(known, table.doc_ptr[1:-1])
    return [one[one >= 0][:most] for one in each]


def _padded(M: np.ndarray, documents: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """X (B, L, r), zeros behind a document's end, and bool (B, L), where there is a word."""
    lengths = np.array([len(one) for one in documents])
    here = np.arange(max(int(lengths.max()), 1)) < lengths[:, None]
    X = np.zeros((*here.shape, M.shape[1]))
    X[here] = M[np.concatenate(documents)]
    return X, here


def _top(network: str, net: Net, X: np.ndarray, here: np.ndarray) -> np.ndarray:
    """What the last layer sees of each document."""
    if network == "mean":
        return X.sum(axis=1) / np.maximum(here.sum(axis=1, keepdims=True), 1)
    if network == "cnn":
        return np.concatenate([_largest(_convolved(net, size, X), here) for size in _FILTERS], axis=1)
    if network == "gru":
        return _largest(_states(_gru, net, "forward", X, here), here)
    back = _states(_lstm, net, "backward", X[:, ::-1], here[:, ::-1])[:, ::-1]
    return _largest(np.concatenate([_states(_lstm, net, "forward", X, here), back], axis=2), here)


def _largest(H: np.ndarray, here: np.ndarray) -> np.ndarray:
    """Over the positions of each document, and 0 where none is above it."""
    return np.where(here[..., None], np.maximum(H, 0.0), 0.0).max(axis=1)


def _convolved(net: Net, size: int, X: np.ndarray) -> np.ndarray:
    """Filters of ``size`` words, in the middle of which is the position; of an even size, before the middle."""
    before = (size - 1) // 2
    wide = np.pad(X, ((0, 0), (before, size - 1 - before), (0, 0)))
    parts = (wide[:, k : k + X.shape[1]] @ net[f"filter{size}"][k] for k in range(size))
    return np.asarray(sum(parts) + net[f"bias{size}"])


def _states(step: Callable[..., Any], net: Net, way: str, X: np.ndarray, here: np.ndarray) -> np.ndarray:
    """(B, L, H): the state at each position, which padding leaves as it is."""
    given = X @ net[f"{way}_input"] + net[f"{way}_bias"]
    state = cell = np.zeros((len(X), len(net[f"{way}_state"])))
    found = []
    for at in range(X.shape[1]):
        new = step(state, cell, given[:, at], state @ net[f"{way}_state"] + net[f"{way}_state_bias"])
        state, cell = (np.where(here[:, at, None], a, b) for a, b in zip(new, (state, cell), strict=True))
        found.append(state)
    return np.stack(found, axis=1)


def _gru(state: np.ndarray, cell: np.ndarray, given: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    reset, update, new = np.split(given, 3, axis=1)
    own_reset, own_update, own_new = np.split(own, 3, axis=1)
    share = _sigmoid(update + own_update)
    state = (1.0 - share) * np.tanh(new + _sigmoid(reset + own_reset) * own_new) + share * state
    return state, state


def _lstm(state: np.ndarray, cell: np.ndarray, given: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    enter, forget, new, leave = np.split(given + own, 4, axis=1)
    cell = _sigmoid(forget) * cell + _sigmoid(enter) * np.tanh(new)
    return _sigmoid(leave) * np.tanh(cell), cell


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (1.0 + np.tanh(0.5 * x))
