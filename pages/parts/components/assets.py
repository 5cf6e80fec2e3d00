"""Scripts and style sheets of the app's own components."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent


def asset(*names: str) -> str:
    """Files of this folder, or beside it ("telling/…"), one after the other, as one module or style sheet."""
    return "\n".join(
        (_HERE / name if "/" not in name else _HERE.parent / name).read_text(encoding="utf-8") for name in names
    )
