"""Keys that work on every page, in one table: drawn beside the glossary, and followed by keys.js."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

RUN, STOP = "Ctrl+Enter", "Alt+S"  # Streamlit's own shortcuts, shown on their buttons

#: key -> (what it does, in the words of keys.js; what it does, for the user)
ACTIONS = {
    "?": ("words", "These keys, and what the words mean"),
    "/": ("find", "The page's search box"),
    "l": ("slider", "The page's first slider (λ where there is one); then ← and →"),
    ".": ("play", "Play and pause"),
    "j": ("down", "The next document"),
    "k": ("up", "The document before"),
    "n": ("next", "The next step, at the end of the page"),
}


def key_data(pages: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """What keys.js follows; pages: letter -> the page's module. The first page's address is empty."""
    first = next(iter(pages))
    return {
        "actions": {key: action for key, (action, _) in ACTIONS.items()},
        "pages": {letter: "" if letter == first else page for letter, page in pages.items()},
    }


def draw_keys(titles: Mapping[str, str]) -> None:
    """The keys in a table; titles: letter -> the title of the page that it opens."""
    rows = [(key, said) for key, (_, said) in ACTIONS.items()]
    rows += [(RUN, "Run what the page offers"), (STOP, "Stop; what was found stays")]
    table = "".join(f"| `{key}` | {said} |\n" for key, said in rows)
    pages = " · ".join(f"`{letter}` {title}" for letter, title in titles.items())
    st.markdown(f"| key | what it does |\n|---|---|\n{table}| `g` and then | {pages} |\n")
