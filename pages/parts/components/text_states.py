"""Texts in several states that are sent at once, so that the browser goes from one to another without a request.

What all states share, titles and texts, travels once; of each state its pointers as :mod:`~.text_view` draws them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pages.parts.components.assets import plain_json, version_of
from pages.parts.components.text_view import encode_document, legend_counts

_NONE: dict[str, list[int]] = {"start": [], "end": [], "gram": [], "length": []}
_SHARED = ("title", "meta", "text")


def shared_texts(documents: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """What the states of documents, dicts of "title", "text" and "meta", share."""
    plain = [encode_document({**document, "pointers": _NONE}) for document in documents]
    return [{name: document[name] for name in _SHARED} for document in plain]


def text_state(
    documents: Sequence[Mapping[str, str]],
    views: Sequence[Mapping[str, Any]],
    grams: Mapping[int, tuple[str, int, float]],
) -> dict[str, Any]:
    """One state: of each document its pointers, as :func:`~pages.parts.components.text_view.text_view` takes them, and
    id → (label, uses, cost) of those pointers."""
    encoded = [encode_document({**document, "pointers": view}) for document, view in zip(documents, views, strict=True)]
    return {
        "documents": [{name: doc[name] for name in doc if name not in _SHARED} for doc in encoded],
        "grams": {int(gram): [label, int(uses), float(cost)] for gram, (label, uses, cost) in grams.items()},
        "counts": legend_counts(encoded),
    }


def packed(view: Mapping[str, Any]) -> tuple[bytes, str]:
    """What is sent, JSON, and its version."""
    payload = plain_json(view)
    return payload, version_of(payload)
