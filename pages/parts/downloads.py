"""Features to take away: files, and the command and the Python lines that make them again."""

from __future__ import annotations

import io
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from scipy import sparse

from cflengine import CompressiveFeatures, Corpus
from cflengine.compression.export import pointer_table
from cflengine.engine.files import frame_csv
from cflengine.linear.feature_files import matrix_market, write_long_csv, write_long_parquet
from cflengine.text.token_table import DEFAULT_TOKEN_PATTERN
from pages.parts.commands import command_line as make_command
from pages.parts.commands import reading_options
from pages.parts.corpora import NEWSGROUPS, LoadedCorpus

PREVIEW_DOCUMENTS, PREVIEW_FEATURES = 50, 30


def preview_table(model: CompressiveFeatures, features: sparse.csr_matrix, corpus: Corpus) -> pd.DataFrame:
    """A dense corner: the first documents by the features that most documents have."""
    top = np.argsort(-model.dictionary_["documents"].to_numpy(), kind="stable")[:PREVIEW_FEATURES]
    corner = features[:PREVIEW_DOCUMENTS][:, top].toarray()
    names = model.get_feature_names_out()[top]
    frame = pd.DataFrame(corner, columns=list(names))
    frame.index = pd.Index(range(len(frame)), name="document")
    return frame.round(4)


def draw_downloads(model: CompressiveFeatures, features: sparse.csr_matrix, weighting: str) -> None:
    """The buttons. Files are made when they are asked for, off the script's thread."""
    names = list(model.get_feature_names_out())

    def csv() -> bytes:
        file = io.BytesIO()
        write_long_csv(features, names, file)
        return file.getvalue()

    def parquet() -> bytes:
        file = io.BytesIO()
        write_long_parquet(features, names, file)
        return file.getvalue()

    def dictionary() -> bytes:
        return frame_csv(model.dictionary_)

    def pointers() -> bytes:
        import pyarrow.parquet

        file = io.BytesIO()
        pyarrow.parquet.write_table(pointer_table(model.encoding_, names), file, compression="zstd")
        return file.getvalue()

    stem = f"features-{weighting}" if model.counting == "pointers" else f"features-{model.counting}-{weighting}"
    files = (
        ("CSV", csv, f"{stem}.csv", "text/csv", "document, feature, value: one row a non-zero entry"),
        ("Parquet", parquet, f"{stem}.parquet", "application/octet-stream", "the same, smaller and faster to read"),
        ("Matrix Market", lambda: matrix_market(features), f"{stem}.mtx", "text/plain", "documents × features"),
        ("Feature names", lambda: "".join(f"{n}\n" for n in names).encode(), "feature_names.txt", "text/plain",
         "the matrix's columns, a K-gram a line"),
        ("Dictionary", dictionary, "dictionary.csv", "text/csv", "K-gram, length, pointers, documents, cost"),
        ("Pointers", pointers, "pointers.parquet", "application/octet-stream", "where each K-gram stands in the texts"),
    )  # fmt: skip
    columns = st.columns(len(files))
    for column, (label, data, name, mime, explanation) in zip(columns, files, strict=True):
        column.download_button(
            label, data, name, mime, help=explanation, on_click="ignore", key=f"download_{label}", width="stretch"
        )


def _solving(settings: Any) -> dict[str, Any]:
    """The solver's settings that differ from their defaults, but for what only the app needs."""
    if settings is None:
        return {}
    usual = type(settings)()
    values = {f.name: (getattr(settings, f.name), getattr(usual, f.name)) for f in fields(settings)}
    return {name: value for name, (value, before) in values.items() if value != before and name != "keep_stages"}


def _code(settings: Any, used: set[str]) -> str:
    """Settings as a Python expression; the names of their classes go into ``used``."""
    used.add(type(settings).__name__)
    parts = [f"{n}={_code(v, used) if is_dataclass(v) else repr(v)}" for n, v in _solving(settings).items()]
    return f"{type(settings).__name__}({', '.join(parts)})"


def command_line(loaded: LoadedCorpus, model: CompressiveFeatures, weighting: str) -> str:
    """The ``cflengine compress`` call that writes these features."""
    options = {"lam": f"{model.lam:g}", "max_gram": model.max_gram, "weighting": weighting}
    if model.counting != "pointers":
        options["counting"] = model.counting
    if model.counting == "soft":
        options["temperature"] = f"{model.temperature:g}"
    if model.solver != "guided":
        options["solver"] = model.solver
    solving = _solving(model.settings)
    solving |= _solving(solving.pop("homotopy", None))
    if "tol" in solving:
        solving["gap"] = solving.pop("tol")
    return make_command("compress", loaded, options | solving, "run")


def python_lines(loaded: LoadedCorpus, model: CompressiveFeatures, weighting: str) -> str:
    """The same in Python."""
    if loaded.source == NEWSGROUPS:
        imports, read = "from cflengine.text.newsgroups import load_newsgroups\n", "load_newsgroups()"
    else:
        options = "".join(f", {name}={value!r}" for name, value in reading_options(loaded).items())
        imports, read = "from cflengine import read_corpus\n", f"read_corpus({loaded.source!r}{options})"
    used: set[str] = set()
    settings = f", settings={_code(model.settings, used)}" if _solving(model.settings) else ""
    names = ", ".join(["CompressiveFeatures", *sorted(used)])
    solver = f", solver={model.solver!r}" if model.solver != "guided" else ""
    counting = f", counting={model.counting!r}" if model.counting != "pointers" else ""
    counting += f", temperature={model.temperature:g}" if model.counting == "soft" else ""
    if model.token_pattern != DEFAULT_TOKEN_PATTERN:
        counting += f", token_pattern={model.token_pattern!r}"
    if not model.lowercase:
        counting += ", lowercase=False"
    model_line = (
        f"CompressiveFeatures(lam={model.lam:g}, max_gram={model.max_gram}{solver}, weighting={weighting!r}"
        f"{counting}{settings})"
    )
    return (
        f"from cflengine import {names}\n{imports}\n"
        f"corpus = {read}\n"
        f"model = {model_line}\n"
        "features = model.fit_transform(corpus.texts)  # scipy CSR, documents × K-grams\n"
        "names = model.get_feature_names_out()\n"
        "print(model.result_.gap)  # proved: cost / lower bound - 1"
    )
