"""The app: ``streamlit run app.py``. A router and the routes that push a running solve to the browser."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.parts.components.backend_address import BackendAddress
from pages.parts.components.static_routes import plotly_js_route
from pages.parts.shared.guard import PageEndedError, keep_downloads
from pages.parts.shared.jobs import trace_route

#: section -> pages: file, title, and the letter that opens it after g (shared/keys.py)
PAGES = {
    "": (("pages/corpus.py", "Corpus", "c"),),
    "Explore": (
        ("pages/pointers.py", "Read", "r"),
        ("pages/path.py", "Words to phrases", "w"),
        ("pages/phrases.py", "Phrases", "p"),
        ("pages/compare.py", "Compare", "m"),
        ("pages/overtime.py", "Over time", "o"),
        ("pages/boilerplate.py", "Boilerplate", "b"),
    ),
    "Explain labels": (
        ("pages/tasks.py", "Tasks", "t"),
        ("pages/sentences.py", "Telling sentences", "s"),
        ("pages/clusters.py", "Word groups", "g"),
        ("pages/tagger.py", "Names", "n"),
        ("pages/losses.py", "Losses", "l"),
        ("pages/embeddings.py", "Embeddings", "e"),
    ),
    "Take away": (("pages/features.py", "Export", "x"), ("pages/models.py", "Saved models", "d")),
    "Lab": (
        ("pages/solve.py", "Watch the solver", "v"),
        ("pages/race.py", "Race", "a"),
        ("pages/vocabulary.py", "My word list", "y"),
        ("pages/tokenizer.py", "Tokenizer", "z"),
        ("pages/toy.py", "How it works", "h"),
    ),
}
MOVED = ("pages/homotopy.py",)  # addresses of earlier versions

#: Streamlit leaves 130 pixels above a title, its captions are too pale to be read, and tables beside texts shrink until
#: their numbers are gone; some 90 characters are the longest line that is read with ease
STYLE = """<style>.stMainBlockContainer { padding-top: 2.75rem; padding-bottom: 4rem; }
.st-key-bar { row-gap: 0.25rem; }
.stMainBlockContainer h2 { font-size: 1.5rem; }
[data-testid^="stBaseButton-primary"]:enabled, [data-testid^="stBaseButton-primary"]:enabled p,
span[data-baseweb="tag"] span,
[data-testid="stMultiSelect"] span[title] { color: light-dark(white, #0d1b21); }
[data-testid^="stBaseButton-primary"]:enabled:is(:hover, :active) {
  background-color: light-dark(#095a75, #6bc3dd); border-color: light-dark(#095a75, #6bc3dd);
}
[data-testid^="stBaseButton"] kbd { opacity: 1; color: inherit; }
@media (pointer: coarse) { [data-testid^="stBaseButton"] kbd { display: none; } }
[data-testid="stCaptionContainer"], [data-testid="stCaptionContainer"] p { color: inherit; }
[data-testid="stCaptionContainer"] { opacity: 0.84; }
[data-testid="stMarkdownContainer"] > :is(p, ul) { max-width: 46rem; }
[data-testid="stCaptionContainer"] > :is(p, ul) { max-width: 40rem; }
[data-testid="stCode"] .token { color: light-dark(#4f525c, #c3c6cf) !important; } /* its colours are as pale */
[data-testid="stCode"] .token:is(.keyword, .parameter, .variable, .builtin, .function) {
  color: light-dark(#0b5cad, #6cb8ff) !important;
}
[data-testid="stCode"] .token:is(.string, .number, .boolean) { color: light-dark(#0a6b32, #56d38a) !important; }
[data-testid="stCode"] .token.operator { color: light-dark(#a04000, #ffab66) !important; }
@media (hover: none) { .stElementContainer:has(.stDataFrame) { margin-top: 1.75rem; } } /* its tools always show */
@media (max-width: 640px) { .stMainBlockContainer { padding-top: 4.25rem; } }
@media (max-width: 1050px) {
  .stHorizontalBlock:has(> .stColumn .stDataFrame) { flex-wrap: wrap; }
  .stHorizontalBlock:has(> .stColumn .stDataFrame) > .stColumn { flex: 1 1 100%; min-width: 100%; }
}</style>"""


def say_failure(error: Exception) -> bool:
    """One sentence on the page, without Streamlit's links to elsewhere; the terminal has the traceback already."""
    st.error(
        "This page failed unexpectedly; the terminal has the details. Your corpus and results are still there: go on "
        "with another page, or reload this one."
    )
    return True


keep_downloads()
app = st.App(
    __file__,
    routes=[plotly_js_route(), trace_route()],
    middleware=[Middleware(BackendAddress)],
    on_script_error=say_failure,
)


def main() -> None:
    """One script run: page frame, sidebar, page."""
    from pages.parts.components.page_tools import page_tools
    from pages.parts.corpus.reading import take_read
    from pages.parts.shared.asking import warm_engine
    from pages.parts.shared.bar import draw_bar
    from pages.parts.shared.glossary import ICONS, draw_next
    from pages.parts.shared.keys import key_data
    from pages.parts.shared.sidebar import draw_sidebar
    from pages.parts.shared.state import start_session

    st.set_page_config(page_title="cflengine", page_icon="🧩", layout="wide")
    start_session()
    take_read()
    st.html(STYLE)
    sections = {
        name: [st.Page(path, title=title, icon=ICONS[Path(path).stem]) for path, title, _ in pages]
        for name, pages in PAGES.items()
    }
    keys = {letter: (Path(path).stem, title) for pages in PAGES.values() for path, title, letter in pages}
    moved = [st.Page(path, visibility="hidden") for path in MOVED]
    sections[""] += moved
    page = st.navigation(sections, expanded=True)
    draw_sidebar()
    page_tools(key_data({key: name for key, (name, _) in keys.items()}))  # before the page, which may stop the run
    draw_selection = draw_bar({key: title for key, (_, title) in keys.items()})
    with suppress(PageEndedError):
        page.run()
    draw_selection()
    draw_next(page.url_path)
    warm_engine()  # once the first page stands: compiling slows everything down


def preload() -> None:
    """Import what the first page needs, and read the sample, before anybody has asked."""
    from importlib import import_module

    for name in ("pages.parts.shared.sidebar", "pages.parts.corpus.first", "pages.parts.corpus.sources"):
        import_module(name)
    import_module("pages.parts.shared.state").sample_job()


# the ASGI server imports this module once without a script run: then it wants ``app`` alone
if get_script_run_ctx(suppress_warning=True) is not None:
    main()
else:
    preload()
