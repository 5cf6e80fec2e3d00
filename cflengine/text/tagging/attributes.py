"""Sentences of attributes, as python-crfsuite takes them, to a sparse matrix of tokens."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from cflengine.engine.checks import InputError, is_number


def attribute_items(token: Any) -> list[tuple[str, float]]:
    """(attribute, value) of a token: strings count 1; a mapping has numbers, or strings, which become ``name:string``.

    Raises TypeError for anything else, ValueError for a value that is not finite.
    """
    if isinstance(token, str | bytes):
        raise TypeError(f"a token is a list of attributes, or a mapping, not the string {token!r}.")
    if not isinstance(token, Mapping):
        items = []
        for name in token:
            if not isinstance(name, str):
                raise TypeError(f"an attribute is a string, not {name!r}.")
            items.append((name, 1.0))
        return items
    items = []
    for name, value in token.items():
        if isinstance(value, str):
            items.append((f"{name}:{value}", 1.0))
        elif is_number(value) or isinstance(value, bool | np.bool_):
            if not math.isfinite(value):
                raise InputError(f"the value of attribute {name!r} is {value!r}: it must be finite.")
            items.append((str(name), float(value)))
        else:
            raise TypeError(f"the value of attribute {name!r} is a number or a string, not {value!r}.")
    return items


class AttributeTable:
    """Numbers attributes in order of their first occurrence, and builds matrices of them."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.number = {name: j for j, name in enumerate(names)}

    @property
    def names(self) -> list[str]:
        """The attributes in order."""
        return list(self.number)

    def _add_names(self, names: Sequence[Any], indices: array, learn: bool) -> None:
        known = self.number.get
        for name in names:
            at = known(name)
            if at is None:
                if not isinstance(name, str):
                    raise TypeError(f"an attribute is a string, not {name!r}.")
                if not learn:
                    continue
                at = self.number[name] = len(self.number)
            indices.append(at)

    def _add_items(self, token: Any, indices: array, others: dict[int, float], learn: bool) -> None:
        for name, value in attribute_items(token):
            at = self.number.setdefault(name, len(self.number)) if learn else self.number.get(name)
            if at is not None:
                if value != 1.0:
                    others[len(indices)] = value
                indices.append(at)

    def matrix(
        self, sentences: Iterable[Iterable[Any]], *, learn: bool = False
    ) -> tuple[sparse.csr_matrix, np.ndarray]:
        """float64 (T, A) and the token pointer int64 (N+1,). learn: number new attributes; else they are left out.

        Raises TypeError and ValueError for tokens that are none, saying which sentence.
        """
        indices, ptr, lengths = array("i"), array("q", [0]), array("q", [0])
        others: dict[int, float] = {}  # values that are not 1, by place
        for s, sentence in enumerate(sentences):
            try:
                for token in sentence:
                    if type(token) is list:  # names alone: by far the most frequent, and the innermost loop of reading
                        self._add_names(token, indices, learn)
                    else:
                        self._add_items(token, indices, others, learn)
                    ptr.append(len(indices))
            except (TypeError, ValueError) as error:
                raise type(error)(f"sentence {s}: {error}") from None
            lengths.append(len(ptr) - 1)
        values = np.ones(len(indices))
        values[list(others)] = list(others.values())
        X = sparse.csr_matrix(
            (values, np.frombuffer(indices, dtype=np.int32) if indices else np.zeros(0, np.int32), np.array(ptr)),
            shape=(len(ptr) - 1, len(self.number)),
        )
        X.sum_duplicates()
        return X, np.array(lengths, dtype=np.int64)
