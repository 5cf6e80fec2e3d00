"""Where a corpus comes from: the sample, an upload, a path on this computer, 20 Newsgroups."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Any

import streamlit as st

from cflengine import CorpusError, preview_corpus, read_corpus
from pages.parts import corpora
from pages.parts.state import choose_corpus
from pages.parts.views import shortened
from pages.parts.words import plain

SAMPLE, UPLOAD, PATH, NEWSGROUPS = "Sample reviews", "Upload", "Path on this computer", "20 Newsgroups"


def draw_source() -> None:
    """The choice of a source, and what it needs."""
    choice = st.segmented_control(
        "Corpus", [SAMPLE, UPLOAD, PATH, NEWSGROUPS], default=SAMPLE, key="source", required=True
    )
    if choice == SAMPLE:
        st.caption("2,000 invented beer reviews, written for this project by a generator.")
        if st.session_state.corpus_id != corpora.SAMPLE:
            st.button("Use the sample", on_click=_use_sample)
    elif choice == UPLOAD:
        _upload()
    elif choice == PATH and not only_this_computer():
        st.info(
            "This server can be reached from other computers, so it reads no files by their path: everyone who can "
            "open this page could read them. Upload the file, or start the app on localhost."
        )
    elif choice == PATH:
        path = st.text_input(
            "File or folder", key="path", placeholder="/home/me/reviews.csv",
            help="Read where it is: nothing is copied. For large corpora and folders of .txt files.",
        )  # fmt: skip
        if path:
            _mapping(Path(path).expanduser(), Path(path).name, str(path))
    else:
        st.caption("18,846 posts, fetched once by scikit-learn (this needs the network), without headers and quotes.")
        if st.button("Fetch and use 20 Newsgroups"):
            _choose(corpora.fetch_newsgroups)


def only_this_computer() -> bool:
    """Whether the server listens to this computer alone."""
    address = st.get_option("server.address")
    return address == "localhost" or (isinstance(address, str) and _is_loopback(address))


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:  # a name: it may mean any address
        return False


def _use_sample() -> None:
    choose_corpus(corpora.recall(corpora.SAMPLE))


def _upload() -> None:
    generation = st.session_state.setdefault("upload_generation", 0)
    upload = st.file_uploader(
        "CSV, TSV, JSONL, Parquet or TXT (each also .gz), or a ZIP of .txt files",
        key=f"upload_{generation}",
        help="Stays on this computer.",
    )
    if upload is not None:
        path = corpora.spill(upload)
        st.session_state.uploaded = {"path": path, "name": upload.name}
        # a fresh uploader: the old one's bytes have just been removed from memory
        st.session_state.upload_generation = generation + 1
        st.rerun()
    uploaded = st.session_state.get("uploaded")
    # the file goes with the session's connection; after an interruption it has to be sent again
    if uploaded and not uploaded["path"].exists():
        st.session_state.uploaded = uploaded = None
        st.info("The connection was lost and the upload with it: please choose the file again.")
    if uploaded:
        _mapping(uploaded["path"], uploaded["name"], uploaded["name"])


def _mapping(path: Path, name: str, source: str) -> None:
    """Preview a file and let the user say what its text is; errors leave the current corpus alone."""
    st.markdown(f"**{plain(name)}**")
    by_paragraph = False
    if ".txt" in name.lower():
        by_paragraph = st.toggle("A document is a paragraph (set off by blank lines), not a line")
    documents = "paragraph" if by_paragraph else "line"
    try:
        preview = preview_corpus(path, name=name, documents=documents)
    except CorpusError as error:
        st.error(plain(str(error)))
        return
    options: dict[str, Any] = {"documents": documents}
    left, middle, right = st.columns(3)
    if preview.columns and preview.format not in ("txt", "zip", "folder"):
        columns = list(preview.columns)
        suggested = preview.suggested_text_column
        options["text_column"] = left.selectbox(
            "Column that holds the text", columns, key=f"column_{name}", format_func=str,
            index=columns.index(suggested) if suggested in columns else None, placeholder="Choose a column",
        )  # fmt: skip
    options["min_words"] = middle.number_input("Leave out documents of fewer words than", 1, 10_000, 1)
    limit = right.number_input("Read at most so many documents (0: all)", 0, None, 0)
    options["limit"] = limit or None
    st.dataframe(shortened(preview.rows), height=220, hide_index=True, alt="The first records of the file")
    ready = options.get("text_column", "") is not None
    if st.button("Use this corpus", type="primary", disabled=not ready):
        _choose(lambda: corpora.remember(read_corpus(path, name=name, **options), source=source, options=options))


def _choose(load: Any) -> None:
    """Load a corpus and make it the current one; one sentence if it cannot be."""
    try:
        with st.spinner("Reading and counting …"):
            loaded = load()
            if loaded.table.n_tokens == 0:
                raise CorpusError("This corpus holds no token: nothing could be compressed.")
    except CorpusError as error:
        st.error(plain(str(error)))
        return
    choose_corpus(loaded)
    st.rerun()
