"""The app: ``streamlit run app.py``. A router and the routes that push a running solve to the browser."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.parts.components.static_routes import plotly_js_route
from pages.parts.shared.jobs import trace_route

PAGES = {
    "": (("pages/corpus.py", "Corpus", "📚"),),
    "Explore": (
        ("pages/pointers.py", "Read", "📖"),
        ("pages/path.py", "Words to phrases", "🌈"),
        ("pages/phrases.py", "Phrases", "🔎"),
        ("pages/compare.py", "Compare", "🆚"),
        ("pages/overtime.py", "Over time", "📅"),
        ("pages/boilerplate.py", "Boilerplate", "♻️"),
    ),
    "Explain labels": (
        ("pages/tasks.py", "Tasks", "🎯"),
        ("pages/sentences.py", "Telling sentences", "💬"),
        ("pages/clusters.py", "Word groups", "🪢"),
        ("pages/tagger.py", "Names", "🏷️"),
        ("pages/losses.py", "Losses", "⚖️"),
        ("pages/embeddings.py", "Embeddings", "🧭"),
    ),
    "Take away": (("pages/features.py", "Export", "🧮"), ("pages/models.py", "Saved models", "📦")),
    "Lab": (
        ("pages/solve.py", "Watch the solver", "📈"),
        ("pages/race.py", "Race", "🏁"),
        ("pages/vocabulary.py", "My word list", "📝"),
        ("pages/toy.py", "How it works", "🧩"),
    ),
}
MOVED = ("pages/homotopy.py",)  # addresses of earlier versions

#: Streamlit leaves 130 pixels above a title, its captions are too pale to be read, and tables beside texts shrink until
#: their numbers are gone; some 90 characters are the longest line that is read with ease
STYLE = """<style>.stMainBlockContainer { padding-top: 2.75rem; padding-bottom: 4rem; }
.st-key-bar { row-gap: 0.25rem; }
.stMainBlockContainer h2 { font-size: 1.5rem; }
[data-testid^="stBaseButton-primary"], [data-testid^="stBaseButton-primary"] p, span[data-baseweb="tag"] span,
[data-testid="stMultiSelect"] span[title] { color: light-dark(white, #0d1b21); }
[data-testid="stCaptionContainer"], [data-testid="stCaptionContainer"] p { color: inherit; }
[data-testid="stCaptionContainer"] { opacity: 0.84; }
[data-testid="stMarkdownContainer"] > :is(p, ul) { max-width: 46rem; }
@media (max-width: 640px) { .stMainBlockContainer { padding-top: 4.25rem; } }
@media (max-width: 1050px) {
  .stHorizontalBlock:has(> .stColumn .stDataFrame) { flex-wrap: wrap; }
  .stHorizontalBlock:has(> .stColumn .stDataFrame) > .stColumn { flex: 1 1 100%; min-width: 100%; }
}</style>"""

app = st.App(__file__, routes=[plotly_js_route(), trace_route()])


def main() -> None:
    """One script run: page frame, sidebar, page."""
    from pages.parts.components.page_tools import page_tools
    from pages.parts.shared.bar import draw_bar
    from pages.parts.shared.glossary import draw_next
    from pages.parts.shared.sidebar import draw_sidebar
    from pages.parts.shared.state import start_session, warm_engine

    st.set_page_config(page_title="cflengine", page_icon="🧩", layout="wide")
    start_session()
    st.html(STYLE)
    sections = {
        name: [st.Page(path, title=title, icon=icon) for path, title, icon in pages] for name, pages in PAGES.items()
    }
    moved = [st.Page(path, visibility="hidden") for path in MOVED]
    sections[""] += moved
    page = st.navigation(sections, expanded=True)
    draw_sidebar()
    page_tools()  # before the page, which may stop the run
    draw_bar()
    page.run()
    draw_next(page.url_path)
    warm_engine()  # once the first page stands: compiling slows everything down


def preload() -> None:
    """Import what the first page needs, and read the sample, before anybody has asked."""
    from importlib import import_module

    for name in ("pages.parts.shared.sidebar", "pages.parts.read.first", "pages.parts.shared.sources"):
        import_module(name)
    import_module("pages.parts.shared.state").sample_job()


# the ASGI server imports this module once without a script run: then it wants ``app`` alone
if get_script_run_ctx(suppress_warning=True) is not None:
    main()
else:
    preload()
