"""Saved models in the app: to take away, and to bring along and apply to the corpus at hand."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from cflengine import ChainCRF, save_model
from cflengine.engine import frame_csv
from cflengine.linear import check_reads_texts, coverage, judged, load_with_header, prediction_frame
from pages.parts.shared.asking import asked
from pages.parts.shared.corpora import LoadedCorpus
from pages.parts.shared.metrics import metric_row, table_height
from pages.parts.shared.words import gap_text, many, number, plain

_SHOWN = 500
_KINDS = {
    "logistic": "logistic regression", "sentence lasso": "sentence lasso", "penalised": "penalised logistic regression",
    "plq classifier": "classifier by a chosen loss", "plq regressor": "regression by a chosen loss", "chain": "tagger",
    "k-grams": "compressive features", "embedding": "network over word vectors",
}  # fmt: skip


def model_download(
    model: Any, about: Mapping[str, Any], *, key: str, label: str = "Model", name: str = "model.cflm"
) -> None:
    """A button that hands out a fitted model as a file."""

    def made() -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.cflm"
            save_model(model, path, about=about)
            return path.read_bytes()

    st.container(width="content").download_button(label, made, name, "application/zip", on_click="ignore", key=key)


def read_uploaded(data: bytes, name: str) -> tuple[Any, dict[str, Any]]:
    """A model and its header; a tagger as it is. Raises ValueError, in one sentence, for what is no model or does not
    read texts."""
    file = io.BytesIO(data)
    file.name = name  # what messages call it
    model, header = load_with_header(file)
    if not isinstance(model, ChainCRF):
        check_reads_texts(model)
    return model, header


def draw_model(header: Mapping[str, Any]) -> None:
    """What a model's file says of itself."""
    last = header["steps"][-1]["step"] if header["kind"] == "pipeline" else header
    about = header.get("about") or {}
    items: list[Any] = []
    if about.get("target"):
        of = f": {about['one_class']} or not" if about.get("one_class") else ""
        items.append(("Predicts", plain(f"{about['target']}{of}")))
    if last.get("classes"):
        items.append(("Classes", number(len(last["classes"]))))
    gap = last.get("gap")
    items.append(("Gap, proved", gap_text(float("inf") if gap is None else gap), "When it was fitted."))
    metric_row(items)
    kind = _KINDS.get(last["kind"], str(last["kind"]))
    learnt = f"learnt from {plain(str(about['learnt_from']))}" if about.get("learnt_from") else "learnt elsewhere"
    n = about.get("n_documents")
    documents = f" ({many(n, 'document')})" if isinstance(n, int) and n > 0 else ""
    version = (header.get("versions") or {}).get("cflengine", "?")
    st.caption(f"A {plain(kind)}, {learnt}{documents}, by cflengine {plain(str(version))}.")


def draw_applied(model: Any, header: Mapping[str, Any], loaded: LoadedCorpus, *, key: str) -> None:
    """The model's predictions for every document of the corpus."""
    texts, rows = loaded.corpus.texts, loaded.corpus.rows
    try:
        frame = asked("applied", (key, loaded.id), lambda: prediction_frame(model, texts, rows), waiting="Predicting …")
    except Exception as error:  # a file may be whole and yet hold what cannot be worked with
        st.error(plain(f"This model cannot predict these texts: {error}"))
        return
    if frame is None:
        return
    if (header.get("about") or {}).get("corpus_digest") == loaded.corpus.digest:
        st.caption("⚠ The model has learnt from documents of this very corpus; others will tell how good it is.")
    line = judged(frame, loaded.corpus.metadata, header.get("about") or {})
    st.markdown(
        f"**{many(len(frame), 'document')}** of {plain(loaded.corpus.name)}" + (f": {plain(line)}" if line else "")
    )
    if little := coverage(frame):
        st.warning(f"{little[0].upper()}{little[1:]}.")
    texts = [text[:300] for text in loaded.corpus.texts[:_SHOWN]]
    shown = pd.concat([frame.drop(columns="row").head(_SHOWN), pd.Series(texts, name="text")], axis=1)
    st.dataframe(
        shown, hide_index=True, height=table_height(len(shown), 420), alt="A row a document, with what is predicted",
        column_config={
            "text": st.column_config.TextColumn(width="large"),
            "probability": st.column_config.NumberColumn(format="%.4f"),
        },
    )  # fmt: skip
    st.download_button(
        "Predictions (CSV)",
        lambda: frame_csv(frame),
        "predictions.csv",
        "text/csv",
        on_click="ignore",
        key="applied_csv",
    )
