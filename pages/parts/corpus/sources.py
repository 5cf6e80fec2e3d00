"""Where a corpus comes from: the sample, an upload, a path on this computer, 20 Newsgroups."""

from __future__ import annotations

import ipaddress
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import streamlit as st

from cflengine import CorpusError, preview_corpus, read_corpus
from cflengine.compression import is_project
from cflengine.engine import Watch
from cflengine.text import TokenChoice, suggested_tokens
from pages.parts.corpus.check import has_much_html
from pages.parts.corpus.reading import Reading, choose, draw_reading, take_corpus
from pages.parts.export.project import open_project
from pages.parts.shared import corpora
from pages.parts.shared.choosing import choose_corpus
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.metrics import table_height
from pages.parts.shared.state import PATH, active_jobs, current_corpus, left_corpora, stop_job
from pages.parts.shared.views import shortened, without_midnight
from pages.parts.shared.words import brief, plain

ENCODINGS = (
    "utf-8", "utf-16", "cp1252", "latin-1", "cp1250", "cp1251", "koi8-r", "cp1253", "cp1254", "cp1255", "cp1256",
    "big5", "gb18030", "shift_jis", "euc_jp", "euc_kr",
)  # fmt: skip
_PREVIEWS = 4  # that are kept: workbooks take a while to open
FORMATS = "CSV, TSV, JSONL, Parquet, Excel or TXT (each also .gz), a ZIP of .txt files, or a project file"


def draw_source() -> None:
    """Where a corpus may come from: the file that is dropped is read at once; what it may be read as else is folded
    away."""
    _pending()
    draw_reading()
    drop, others = st.columns([5, 3], gap="medium", vertical_alignment="center")
    with drop:
        _upload()
    with others, st.container(horizontal=True, gap="small"):
        if st.session_state.corpus_id != corpora.SAMPLE:
            st.button("Sample reviews", on_click=_take, args=(corpora.SAMPLE,), key="use_sample")
        for left in left_corpora():
            if left.corpus_id != corpora.SAMPLE and (loaded := corpora.recall(left.corpus_id)) is not None:
                st.button(
                    f"Back to {plain(brief(loaded.corpus.name))}", on_click=_take, args=(left.corpus_id,),
                    key=f"back_{left.corpus_id}", help="With what was found there, as far as memory held it",
                )  # fmt: skip
        with st.popover("A path on this computer"):
            _path()
        with st.popover("20 Newsgroups"):
            st.caption("18,846 posts, fetched once by scikit-learn (needs the network), without headers or quotes.")
            if st.button("Fetch and use 20 Newsgroups", key="use_newsgroups"):
                choose(lambda watch: Reading(corpora.fetch_newsgroups()), "20 Newsgroups")
    _reread()


def _pending() -> None:
    """A corpus that would stop what runs: nothing is stopped unasked."""
    waiting = corpora.recall(st.session_state.get("pending_corpus"))
    if waiting is None:
        return
    before, name = plain(current_corpus().corpus.name), plain(waiting.corpus.name)
    busy = bool(active_jobs())
    doing = "is still running. Stop it and go on" if busy else "has ended. Go on"
    otherwise = "it as it was read now" if name == before else name
    st.warning(f"Work on {before} {doing} with {otherwise}?")
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Stop it and go on" if busy else "Go on", type="primary", key="pending_yes", on_click=_take_pending,
            args=(waiting.id,),
        )  # fmt: skip
        st.button(
            "Let it run" if busy else f"Stay with {before}",
            key="pending_no",
            on_click=lambda: st.session_state.update(pending_corpus=None),
        )


def _take_pending(corpus_id: str) -> None:
    st.session_state.pending_corpus = None
    loaded = corpora.recall(corpus_id)
    if loaded is not None:
        choose_corpus(loaded)


def _take(corpus_id: str) -> None:
    loaded = corpora.recall(corpus_id)
    if loaded is not None:
        take_corpus(loaded)


def _path() -> None:
    if not only_this_computer():
        st.info(
            "This server can be reached from other computers, so it reads no files by their path: everyone who can "
            "open this page could read them. Upload the file, or start the app on localhost."
        )
        return
    path = st.text_input(
        "File or folder", key="path", placeholder="/home/me/reviews.csv",
        help="Read where it is: nothing is copied. For large corpora and folders of .txt files.",
    )  # fmt: skip
    if path and st.session_state.get("path_read") != path:
        st.session_state.path_read = path
        _read({"path": Path(path).expanduser(), "name": Path(path).name, "source": path})


def only_this_computer() -> bool:
    """Whether the server listens to this computer alone."""
    address = st.get_option("server.address")
    return address == "localhost" or (isinstance(address, str) and _is_loopback(address))


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:  # a name: it may mean any address
        return False


def _upload() -> None:
    generation = st.session_state.setdefault("upload_generation", 0)
    upload = st.file_uploader(
        f"Drop your file here: {FORMATS}", key=f"upload_{generation}", help="Stays on this computer."
    )
    if upload is not None:
        path = corpora.spill(upload)
        # a fresh uploader: the old one's bytes have just been removed from memory
        st.session_state.upload_generation = generation + 1
        _read({"path": path, "name": upload.name, "source": upload.name})
        st.rerun()


def _read(file: dict[str, Any]) -> None:
    """Read a file as it is read by default; where its text is not plain to see, ask."""
    state = st.session_state
    state.update(opened=file, reading_error="", ask_column=False, previews={})
    if is_project(file["path"]):
        state.opened = None  # there is nothing in it that could be read otherwise
        choose(lambda watch: open_project(file["path"], file["name"]), file["name"], _size(file["path"]))
    try:
        preview = preview_corpus(file["path"], name=file["name"])
    except CorpusError as error:
        state.update(reading_error=str(error), opened=None)  # it is not read in any other way either
        return
    options: dict[str, Any] = {}
    if _has_columns(preview):
        if preview.suggested_text_column is None:
            state.ask_column = True
            return
        options["text_column"] = preview.suggested_text_column
    _choose(file, options)


def _choose(file: dict[str, Any], options: dict[str, Any]) -> NoReturn:
    choose(lambda watch: Reading(_loaded(file, options, watch)), file["name"], _size(file["path"]))


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _loaded(file: dict[str, Any], options: dict[str, Any], watch: Watch) -> LoadedCorpus:
    corpus = read_corpus(file["path"], name=file["name"], **options)
    watch.begin("looking at what was read")
    tokens = TokenChoice(suggested_tokens(corpus.texts))
    return corpora.remember(corpus, source=file["source"], options=options, tokens=tokens)


def _has_columns(preview: Any) -> bool:
    return bool(preview.columns) and preview.format not in ("txt", "zip", "folder")


def _reread() -> None:
    """The file that was opened last, to be read in another way; and what went wrong with it."""
    state = st.session_state
    if state.get("reading_error"):
        st.error(plain(state.reading_error))
    file = state.get("opened")
    if file is None:
        return
    if not file["path"].exists():  # an upload goes with the session's connection
        state.opened = None
        return
    if state.get("ask_column"):
        st.info(f"Which column of {plain(file['name'])} holds the text?")
        _mapping(file)
    else:
        title, failed = f"Read {plain(file['name'])} otherwise", bool(state.get("reading_error"))
        more = st.expander(title, failed, key="reread", on_change="rerun")
        if more.open:
            with more:
                _mapping(file)


def offer_without_html(loaded: LoadedCorpus) -> None:
    """A button where the file that was read can be read again, without the HTML in it."""
    file = st.session_state.get("opened")
    if file is None or file["source"] != loaded.source or not loaded.is_checked:
        return
    offered = has_much_html(loaded.check, loaded) and not loaded.options.get("strip_html")
    if offered and st.button("Take the HTML out", key="strip_html", help="Tags, and references such as &amp;amp;."):
        stop_job(PATH)  # the press says so; work on other pages is asked about
        _choose(file, loaded.options | {"strip_html": True})


def _previewed(file: dict[str, Any], options: dict[str, Any]) -> Any:
    """The beginning of a file, read like that once, as long as it stays the same; None where it cannot be, which is
    said."""
    about = file["path"].stat()
    known = st.session_state.setdefault("previews", {})
    key = (str(file["path"]), about.st_mtime_ns, about.st_size, *sorted(options.items()))
    if key in known:
        return known[key]
    try:
        found = preview_corpus(file["path"], name=file["name"], **options)
    except CorpusError as error:
        st.error(plain(str(error)))
        return None
    found = replace(found, rows=shortened(without_midnight(found.rows)))
    if file["path"].is_file():  # what is in a folder may change, and the folder not
        if len(known) >= _PREVIEWS:
            known.clear()
        known[key] = found
    return found


def _mapping(file: dict[str, Any]) -> None:
    """Preview a file and let the user say what its text is; errors leave the current corpus alone."""
    name, by_paragraph = file["name"], False
    if ".txt" in name.lower():
        by_paragraph = st.toggle("A document is a paragraph (set off by blank lines), not a line")
    now = current_corpus()
    before = now.options if file["source"] == now.source else {}
    options: dict[str, Any] = {"documents": "paragraph" if by_paragraph else "line"}
    if not any(kind in name.lower() for kind in (".parquet", ".xlsx", ".xlsm")):
        chosen = before.get("encoding") or ""
        known = list(dict.fromkeys(["", *ENCODINGS, chosen or "utf-8"]))
        found = f"as it was found ({now.corpus.report.encoding or 'UTF-8'})" if before else "as it is found"
        options["encoding"] = st.selectbox(
            "Encoding", known, known.index(chosen), format_func=lambda one: one or found, width=280,
            key=f"encoding_{name}", help="Where letters look wrong below, another one may be right.",
        ) or None  # fmt: skip
    preview = _previewed(file, options)
    if preview is not None and len(preview.sheets) > 1:
        first = before.get("sheet")
        options["sheet"] = st.selectbox(
            "Sheet", preview.sheets, preview.sheets.index(first) if first in preview.sheets else 0, width=280,
            key=f"sheet_{name}",
        )  # fmt: skip
        preview = _previewed(file, options)
    if preview is None:
        return
    left, middle, right = st.columns(3)
    if _has_columns(preview):
        columns = list(preview.columns)
        suggested, of_sheet = preview.suggested_text_column, options.get("sheet", "")
        options["text_column"] = left.selectbox(
            "Column that holds the text", columns, key=f"column_{name}{of_sheet}", format_func=str,
            index=columns.index(suggested) if suggested in columns else None, placeholder="Choose a column",
        )  # fmt: skip
    options["min_words"] = middle.number_input("Leave out documents of fewer words than", 1, 10_000, 1)
    limit = right.number_input("Read at most so many documents (0: all)", 0, None, 0)
    options["limit"] = limit or None
    options["strip_html"] = st.toggle(
        "Take HTML out of the texts", bool(before.get("strip_html")),
        help="Tags such as <br />, comments, and references such as &amp;amp; for what they stand for.",
    )  # fmt: skip
    st.dataframe(
        preview.rows,
        height=table_height(len(preview.rows), 220),
        hide_index=True,
        alt="The first records of the file",
    )
    ready = options.get("text_column", "") is not None
    if st.button("Use this corpus", type="primary", disabled=not ready):
        _choose(file, options)
