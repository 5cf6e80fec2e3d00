"""Features as files: long or wide, with the corpus's own columns joined; dictionary, pointers and the model."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet
import streamlit as st
from scipy import sparse

from cflengine import CompressiveFeatures, Corpus
from cflengine.compression import pointer_table
from cflengine.engine import frame_csv
from cflengine.linear import (
    MOST_CELLS,
    matrix_market,
    wide_cells,
    write_long_csv,
    write_long_parquet,
    write_wide_csv,
    write_wide_parquet,
)
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.models import model_download
from pages.parts.shared.words import many

PREVIEW_DOCUMENTS, PREVIEW_FEATURES, PREVIEW_ROWS = 50, 30, 100
RECORD = "record"
_BYTES = "application/octet-stream"


@dataclass(frozen=True)
class Shape:
    """wide: a row a document, else a row a non-zero entry; joined: columns of the corpus on the left, RECORD among them
    for the number in the source; defused: whether names of features are safe to open in a spreadsheet."""

    wide: bool = False
    joined: tuple[str, ...] = ()
    defused: bool = True

    def documents(self, corpus: Corpus) -> pd.DataFrame | None:
        """What is joined."""
        if not self.joined:
            return None
        columns = {name: corpus.rows if name == RECORD else corpus.metadata[name].to_numpy() for name in self.joined}
        return pd.DataFrame(columns)


def preview_table(
    model: CompressiveFeatures, features: sparse.csr_matrix, corpus: Corpus, shape: Shape, telling: np.ndarray
) -> pd.DataFrame:
    """A corner of the table: the first documents by the features that most of them have, behind what is joined; or the
    first rows of a long one. telling: bool, of each feature whether it is more than function words and punctuation;
    those come first."""
    if not shape.wide:
        return _long_preview(model, features, corpus, shape)
    first = features[:PREVIEW_DOCUMENTS]
    top = np.lexsort((-model.dictionary_["documents"].to_numpy(), -first.getnnz(axis=0), ~telling))[:PREVIEW_FEATURES]
    corner = first[:, top].toarray()
    frame = pd.DataFrame(corner, columns=list(model.get_feature_names_out()[top])).round(4)
    joined = shape.documents(corpus)
    if joined is not None:
        joined = joined.head(len(frame)).astype(str)
        joined.columns = [f"{name} (column)" if name in frame else name for name in joined.columns]
        frame = pd.concat([joined, frame], axis=1)
    frame.index = pd.Index(range(len(frame)), name="document")
    return frame


def _long_preview(
    model: CompressiveFeatures, features: sparse.csr_matrix, corpus: Corpus, shape: Shape
) -> pd.DataFrame:
    """The first rows of the long table, as the file has them."""
    file = io.BytesIO()
    names, n = list(model.get_feature_names_out()), int(np.searchsorted(features.indptr, PREVIEW_ROWS)) + 1
    joined = shape.documents(corpus)
    some = None if joined is None else joined.head(min(n, features.shape[0]))
    write_long_csv(features[:n], names, file, documents=some, defused=shape.defused)
    frame = pd.read_csv(io.BytesIO(file.getvalue()), keep_default_na=False, nrows=PREVIEW_ROWS)
    return frame.set_index("document")


def preview_caption(features: sparse.csr_matrix, shape: Shape) -> str:
    """What the preview shows of the files."""
    documents, columns = features.shape
    if not shape.wide:
        first = "All" if features.nnz <= PREVIEW_ROWS else f"The first {PREVIEW_ROWS} of"
        return f"{first} {many(features.nnz, 'row')} of the table that the buttons below download."
    if documents <= PREVIEW_DOCUMENTS and columns <= PREVIEW_FEATURES:
        return "All of the table that the buttons below download, phrases of function words and punctuation last."
    return (
        f"{min(documents, PREVIEW_DOCUMENTS)} of {many(documents, 'document')} by {min(columns, PREVIEW_FEATURES)} of "
        f"{many(columns, 'phrase')}, those of function words and punctuation last; the downloads hold everything."
    )


def draw_shape(corpus: Corpus, features: sparse.csr_matrix) -> Shape:
    """The choices."""
    columns = [RECORD, *(str(name) for name in corpus.metadata.columns if str(name) != RECORD)]
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        wide = st.segmented_control(
            "Table", ["long", "wide"], default="long", required=True, key="export_shape",
            help="long: a row for each feature that a document has. wide: a row a document, a column a feature.",
        )  # fmt: skip
        joined = st.multiselect(
            "Columns to join", columns, key="export_joined", placeholder="none", width=320,
            help="The documents' own columns (id, label, date); record is a document's place in the source, from 0.",
        )  # fmt: skip
        exact = st.toggle(
            "Names exactly as they are", key="export_exact",
            help="Without it, a name that begins with = + - @ or ' gets an apostrophe in front, so that no spreadsheet "
            "takes it for a formula. Parquet, Matrix Market and the model always hold the exact names.",
        )  # fmt: skip
    if wide == "wide" and wide_cells(features) > MOST_CELLS:
        st.warning(
            f"{many(features.shape[0], 'document')} by {many(features.shape[1], 'feature')} are "
            f"{wide_cells(features):,} cells: too many for a wide table. The files below are long."
        )
        wide = "long"
    return Shape(wide == "wide", tuple(joined), not exact)


def _made(writer: Callable[..., None], *arguments: Any, **named: Any) -> Callable[[], bytes]:
    def data() -> bytes:
        file = io.BytesIO()
        writer(*arguments, file, **named)
        return file.getvalue()

    return data


def stem_of(model: CompressiveFeatures, weighting: str) -> str:
    """What files of these features are called."""
    return f"features-{weighting}" if model.counting == "pointers" else f"features-{model.counting}-{weighting}"


def draw_files(
    model: CompressiveFeatures, features: sparse.csr_matrix, weighting: str, loaded: LoadedCorpus, shape: Shape
) -> None:
    """The buttons. Files are made when they are asked for, off the script's thread."""
    names, documents = list(model.get_feature_names_out()), shape.documents(loaded.corpus)
    csv = write_wide_csv if shape.wide else write_long_csv
    parquet = write_wide_parquet if shape.wide else write_long_parquet
    row = "a row a document" if shape.wide else "a row a non-zero entry"
    table = _made(csv, features, names, documents=documents, defused=shape.defused)

    def dictionary() -> bytes:
        return frame_csv(model.dictionary_)

    def pointers() -> bytes:
        file = io.BytesIO()
        pyarrow.parquet.write_table(pointer_table(model.encoding_, names), file, compression="zstd")
        return file.getvalue()

    stem, wide = stem_of(model, weighting), "-wide" if shape.wide else ""
    files = (
        ("CSV", table, f"{stem}{wide}.csv", "text/csv", row),
        ("Parquet", _made(parquet, features, names, documents=documents), f"{stem}{wide}.parquet", _BYTES,
         "the same, smaller and faster to read, names exact"),
        ("Matrix Market", lambda: matrix_market(features), f"{stem}.mtx", "text/plain", "documents × features"),
        ("Feature names", lambda: "".join(f"{n}\n" for n in names).encode(), "feature_names.txt", "text/plain",
         "the matrix's columns, a K-gram a line"),
        ("Dictionary", dictionary, "dictionary.csv", "text/csv", "K-gram, length, count of pointers, documents, cost"),
        ("Pointers", pointers, "pointers.parquet", _BYTES, "where each K-gram stands in the texts"),
    )  # fmt: skip
    with st.container(horizontal=True, gap="small"):
        for label, data, name, mime, explanation in files:
            st.container(width="content").download_button(
                label, data, name, mime, help=explanation, on_click="ignore", key=f"download_{label}"
            )
        corpus = loaded.corpus
        about = {"learnt_from": corpus.name, "n_documents": len(corpus), "corpus_digest": corpus.digest}
        model_download(model, about, key="download_model", label="Model file", name="k-grams.cflm")
    st.caption(
        "The model file holds the dictionary, so that new documents get the same features: "
        '`load_model("k-grams.cflm").transform(texts)` in Python, or '
        "`cflengine encode k-grams.cflm INPUT` on the command line."
    )
