"""The words that the app uses, beside those of the papers; links between its pages, and what to do next on each.

A page's icon is of Streamlit's own font, which every system draws alike, and which the server sends. (A system without
a font for emoji draws boxes.) ``app.py`` sets the icon of the browser's tab before it names the pages, or Streamlit
would fetch theirs from elsewhere.
"""

from __future__ import annotations

import streamlit as st

_ICONS = {
    "corpus": "library_books", "pointers": "menu_book", "path": "stacked_bar_chart", "phrases": "search",
    "compare": "compare_arrows", "overtime": "timeline", "boilerplate": "content_copy", "tasks": "target",
    "sentences": "format_quote", "clusters": "hub", "tagger": "label", "losses": "balance",
    "embeddings": "scatter_plot", "features": "download", "models": "inventory_2", "solve": "show_chart",
    "race": "sports_score", "vocabulary": "edit_note", "tokenizer": "content_cut", "toy": "extension",
}  # fmt: skip
#: the icon of every page, by its file's name
ICONS = {page: f":material/{name}:" for page, name in _ICONS.items()}

TERMS = (
    ("piece", "pointer", "One use of a word or phrase: the text is a row of pieces."),
    ("phrase of up to K words", "K-gram", "A sequence of words that is stored once and used wherever it stands."),
    ("dictionary", "dictionary", "The words and phrases that are stored; each costs its number of words, once."),
    ("words ↔ long phrases", "λ", "What one use costs. Small: single words. Large: few, long phrases."),
    ("size", "objective", "λ times all uses, and the words of the dictionary: what the corpus takes to store."),
    (
        "cannot be below",
        "lower bound",
        "A size that no dictionary of such phrases undercuts, computed from the text.",
    ),
    (
        "proved within",
        "gap",
        "Size found divided by the bound, minus 1: no dictionary can be smaller by more than this.",
    ),
    ("surprise", "price, dual variable", "What a word adds to the bound: high where nothing else in the corpus helps."),
    ("from undecided to decided", "ζ", "The solver's way from shares of pieces (ζ = 0) to whole ones (ζ = 1)."),
    (
        "accuracy on unseen documents",
        "test accuracy",
        "The share that is right of documents nothing was learnt from.",
    ),
    (
        "certified",
        "certificate, duality gap",
        "Recomputed from the data whatever the solver did; anyone can repeat it.",
    ),
)

#: page -> the next one, with what to expect there
NEXT = {
    "": ("pointers", "Read the documents in their pieces"),  # of the first page
    "pointers": ("phrases", "Every phrase, and all places where it stands"),
    "path": ("pointers", "Read the documents in their pieces"),
    "phrases": ("compare", "Which groups of documents say what"),
    "compare": ("overtime", "And when they say it"),
    "overtime": ("boilerplate", "What documents repeat from each other"),
    "boilerplate": ("tasks", "What these phrases predict"),
    "tasks": ("sentences", "Which sentences decide the labels"),
    "sentences": ("clusters", "Which words do the same work"),
    "clusters": ("losses", "Choose what an error costs"),
    "tagger": ("sentences", "Which sentences decide labels"),
    "losses": ("embeddings", "Whether classes differ in their words"),
    "embeddings": ("features", "Take the features away"),
    "features": ("solve", "Watch how they are found"),
    "models": ("features", "Export the features"),
    "solve": ("race", "The solvers side by side"),
    "race": ("toy", "How it works, on a line of text"),
    "vocabulary": ("pointers", "Read the corpus in pieces"),
    "tokenizer": ("pointers", "Read the corpus in words and phrases"),
    "toy": ("solve", "Watch the solver on the corpus"),
}


def link_to(page: str, label: str) -> None:
    """A link to a page, by its file's name."""
    st.page_link(f"pages/{page}.py", label=label, icon=ICONS[page])


def draw_next(page: str) -> None:
    """The one next step at the end of a page."""
    found = NEXT.get(page)
    if found is not None:
        target, label = found
        link_to(target, f"Next: {label}")


def draw_glossary() -> None:
    """The words, in a table."""
    rows = "".join(f"| **{said}** | {term} | {meaning} |\n" for said, term, meaning in TERMS)
    st.markdown(f"| here | in papers | what it is |\n|---|---|---|\n{rows}")
