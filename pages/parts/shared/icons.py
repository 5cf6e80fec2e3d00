"""The icon of every page, by its file's name: of Streamlit's own font, which every system draws alike, and which the
server sends. (A system without a font for emoji draws boxes.)

``app.py`` sets the page's icon in the browser's tab before it names the pages, or Streamlit would fetch theirs from
elsewhere.
"""

from __future__ import annotations

_NAMES = {
    "corpus": "library_books", "pointers": "menu_book", "path": "stacked_bar_chart", "phrases": "search",
    "compare": "compare_arrows", "overtime": "timeline", "boilerplate": "content_copy", "tasks": "target",
    "sentences": "format_quote", "clusters": "hub", "tagger": "label", "losses": "balance",
    "embeddings": "scatter_plot", "features": "download", "models": "inventory_2", "solve": "show_chart",
    "race": "sports_score", "vocabulary": "edit_note", "tokenizer": "content_cut", "toy": "extension",
}  # fmt: skip
ICONS = {page: f":material/{name}:" for page, name in _NAMES.items()}
