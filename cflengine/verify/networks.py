"""A trained network's predictions made again in plain numpy, float64: the mean, a convolution, a GRU, a BiLSTM.

What is the sum over words, the largest value over positions or the next state there, is a few lines here, for some
documents at a time, padded to the longest of them; padding is left out of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cflengine.linear.labels import Labels, split_documents
from cflengine.linear.saving import read_model, under
from cflengine.text.token_table import TokenTable, plain_tokens
from cflengine.verify.answers import cell_of, check_column, check_places, parts_of
from cflengine.verify.findings import MODEL, require, require_same, rows_of

_AT_ONCE = 256  # documents
_FILTERS = (3, 4, 5)  # words
_FLOAT32 = 1e-4  # by which probabilities that were computed in it may differ

Net = Mapping[str, np.ndarray]


def check_predictions(
    folder: Path, report: dict[str, Any], corpus: Any, labels: Labels, vectors: tuple[list[str], np.ndarray]
) -> str:
    """predictions.csv is what the network in model.cflm predicts, of all documents, and which share of each part is
    right. vectors: the network's words and M. Raises FalseResult; returns what was checked."""
    arguments = report["arguments"]
    split = split_documents(
        labels, corpus.metadata, dev=arguments["dev_split"], test=arguments["test_split"], seed=arguments["seed"]
    )  # fmt: skip
    documents, part = parts_of(split)
    rows, file = rows_of(folder / "predictions.csv"), "predictions.csv"
    check_places(rows, documents, corpus.rows[documents], part, file)
    check_column(rows, "label", [cell_of(str(name)) for name in labels.of(documents).tolist()], file)
    names = {cell_of(name): name for name in labels.classes}
    require({row["predicted"] for row in rows} <= names.keys(), f"{file} predicts a class that the labels have not.")
    right = np.array([row["predicted"] == row["label"] for row in rows])
    said = report["training"]["accuracy"]
    require(said.keys() == set(part), "the report says the accuracy of other parts than there are.")
    for name, share in said.items():
        require_same(share, float(np.mean(right[part == name])), f"the share of right ones of the {name} part is")
    predicted = [names[row["predicted"]] for row in rows]
    probability = np.array([float(row["probability"]) for row in rows])
    texts = [corpus.texts[d] for d in documents.tolist()]
    wrong = check_network(folder, report, texts, (predicted, probability), vectors)
    require(wrong is None, f"{file} is wrong about document {documents[wrong or 0]}.")
    return f"{len(rows):,} predictions, of the network in model.cflm, against the labels"


def check_network(
    folder: Path, report: dict[str, Any], texts: list[str], said: tuple[list[str], np.ndarray],
    vectors: tuple[list[str], np.ndarray],
) -> int | None:  # fmt: skip
    """Which prediction is not the network's of model.cflm, None where all are; said: class and probability by text;
    vectors: its words and M as vectors.npz has them. Raises FalseResult where these or its settings are others."""
    header, arrays = read_model(folder / MODEL, "embedding")
    parameters, words, (kept, M) = header["parameters"], header["words"], vectors
    for name in ("network", "dimension", "hidden", "max_length"):
        own, stated = parameters[name], report["training"]["settings"][name]
        require(own == stated, f"{MODEL} says that {name} is {own!r}, the report {stated!r}.")
    require_same(report["training"]["n_words"], len(words), "the words of the network are")
    same = kept in (words, [word.replace("\n", "␊") for word in words]) and np.array_equal(M, arrays["vectors"])
    require(same, f"vectors.npz has other vectors than {MODEL}.")
    table = plain_tokens(texts, parameters["token_pattern"], lowercase=parameters["lowercase"])
    documents = words_of(table, words, parameters["max_length"])
    found = probabilities(parameters["network"], under(arrays, "net"), M, documents)
    own = found[np.arange(len(texts)), [header["classes"].index(name) for name in said[0]]]
    near = (np.abs(own - said[1]) <= _FLOAT32) & (own >= found.max(axis=1) - _FLOAT32)
    return None if near.all() else int(np.argmin(near))


def probabilities(network: str, net: Net, M: np.ndarray, documents: list[np.ndarray]) -> np.ndarray:
    """float64 (N, C). net: the weights by name; M: float64 (V, r); documents: the words of each, int (L,)."""
    found, net = [], {name: values.astype(np.float64) for name, values in net.items()}
    for first in range(0, len(documents), _AT_ONCE):
        some = documents[first : first + _AT_ONCE]
        X, here = _padded(M, some)
        scores = _top(network, net, X, here) @ net["output"] + net["output_bias"]
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        found.append(scores / scores.sum(axis=1, keepdims=True))
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
