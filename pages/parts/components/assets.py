"""Scripts and style sheets of the app's own components, and what goes to them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent


def asset(*names: str) -> str:
    """Files of the folder "browser", or beside this one ("telling/…"), one after the other, as one module or sheet."""
    return "\n".join(
        (_HERE / "browser" / name if "/" not in name else _HERE.parent / name).read_text(encoding="utf-8")
        for name in names
    )


def plain_json(view: Mapping[str, Any]) -> bytes:
    """What a component draws, as short as JSON is; not the numbers that JSON cannot say, which raise ValueError."""
    return json.dumps(view, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def version_of(payload: bytes) -> str:
    """By which the browser knows that it has this already."""
    return hashlib.blake2b(payload, digest_size=12).hexdigest()


def message(header: Mapping[str, Any], payload: bytes) -> bytes:
    """What a component is sent: a line, and the rest, which it reads only where ``header["version"]`` is new to it.
    Bytes, not a dict: Streamlit would write a dict as JSON twice."""
    return json.dumps(header).encode() + b"\n" + payload


def no_callback() -> None:
    """Streamlit reports only events that have a callback."""
