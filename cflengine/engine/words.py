"""Numbers in sentences, and names that numbers tell apart."""

from __future__ import annotations

from collections.abc import Iterable


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


def numbered(names: Iterable[str], form: str = "{} ({})") -> list[str]:
    """Names of which none stands twice: a later one of the same gets the first number from 2 on that makes it another.
    form: how name and number are written."""
    names = list(names)
    taken, seen, found = set(names), dict[str, int](), list[str]()
    for name in names:
        own, k = name, seen.get(name, 1)
        while name in seen and own in taken:
            k += 1
            own = form.format(name, k)
        seen[name] = k
        taken.add(own)
        found.append(own)
    return found
