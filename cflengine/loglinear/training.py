"""Sentences as arrays: what a chain is learnt from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from cflengine.engine.checks import InputError
from cflengine.engine.memory import require_bytes
from cflengine.loglinear.model.problem import ChainData
from cflengine.text.tagging.attributes import AttributeTable


def training_data(
    attributes: Iterable[Iterable[Any]], labels: Iterable[Sequence[str]]
) -> tuple[AttributeTable, list[Any], ChainData]:
    """Attributes numbered, classes sorted, and the sentences as arrays.

    Parameters
    ----------
    attributes : iterable of iterables
        Of each sentence, the attributes of each token.
    labels : iterable of sequences of str
        Of each sentence, the label of each token.

    Returns
    -------
    tuple of AttributeTable, list and ChainData
        Names of attributes, names of classes, and the arrays.

    Raises
    ------
    InputError
        As :meth:`ChainCRF.fit` raises it.
    """
    table = AttributeTable()
    X, ptr = table.matrix(attributes, learn=True)
    classes, label = _labels(labels, ptr)
    if not X.nnz:
        raise InputError("no token has an attribute: nothing to learn from (does the template match the columns?).")
    # the scores and derivatives of a few points; and, for the certificate, a table of label pairs a sentence
    n_labels, n_sentences = len(classes), len(ptr) - 1
    require_bytes(
        16 * X.nnz + (150 * len(label) + 8 * X.shape[1] + 60 * n_sentences * n_labels) * n_labels,
        f"A chain of {len(label):,} tokens and {len(classes)} labels", "take fewer sentences.",
    )  # fmt: skip
    return table, classes, ChainData(X, ptr, label)


def _labels(labels: Iterable[Sequence[str]], ptr: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """The classes, sorted, and every token's, int32 (T,). Raises ValueError unless labels and tokens pair up, for an
    empty sentence, and for fewer than two classes."""
    sequences = [list(sequence) for sequence in labels]
    lengths = np.diff(ptr)
    if len(sequences) != len(lengths):
        raise InputError(f"there are {len(lengths)} sentences but {len(sequences)} sequences of labels.")
    if not len(sequences):
        raise InputError("there is no sentence to learn from.")
    for s, (sequence, length) in enumerate(zip(sequences, lengths, strict=True)):
        if len(sequence) != length:
            raise InputError(f"sentence {s} has {length} tokens but {len(sequence)} labels.")
        if not length:
            raise InputError(f"sentence {s} is empty: leave it out of the training sentences.")
    classes = sorted({label for sequence in sequences for label in sequence})
    if len(classes) < 2:
        raise InputError(f"the labels are all {classes[0]!r}: a tagger needs two classes.")
    number = {label: c for c, label in enumerate(classes)}
    return classes, np.array([number[label] for sequence in sequences for label in sequence], dtype=np.int32)
