"""Numbers in sentences."""

from __future__ import annotations


def many(count: int, one: str, more: str | None = None) -> str:
    """A number with what it counts: ``1 document``, ``2,000 documents``.

    Parameters
    ----------
    count : int
        How many.
    one : str
        What one of them is called.
    more : str or None, default: None
        What several are called; None for ``one`` with an s.

    Returns
    -------
    str
        Both.
    """
    return f"{count:,} {one if count == 1 else (more or one + 's')}"
