"""Features, dictionary and pointers as files: for spreadsheets, for other programs, and back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
from scipy import sparse

from cflengine.compression.codebook import Encoding
from cflengine.engine.files import csv_blocks, frame_csv, write_arrays, write_report
from cflengine.linear.feature_files import write_long_csv
from cflengine.linear.persistence import save_model
from cflengine.text.tokens import printable

MODEL = "model.cflm"


def pointer_table(encoding: Encoding, names: Sequence[str]) -> pa.Table:
    """Where the pointers of an encoding stand.

    Parameters
    ----------
    encoding : Encoding
        Of documents.
    names : sequence of str
        Of the K-grams.

    Returns
    -------
    pyarrow.Table
        A row a pointer: document, start (token), length (tokens), start_char, end_char, gram (text).
    """
    words = pa.array([*names, *map(printable, encoding.literals)], type=pa.string())
    gram = np.where(encoding.gram >= 0, encoding.gram, len(names) - 1 - encoding.gram).astype(np.int32)
    columns: dict[str, Any] = {
        name: getattr(encoding, name) for name in ("document", "start", "length", "start_char", "end_char")
    }
    return pa.table(columns | {"gram": pa.DictionaryArray.from_arrays(pa.array(gram), words)})


def write_run(
    folder: str | Path, model: Any, features: sparse.csr_matrix, documents: pd.DataFrame, report: dict[str, Any]
) -> None:
    """Everything that ``cflengine compress`` leaves in its output folder (see its help).

    Parameters
    ----------
    folder : str or Path
        Where to; it is there.
    model : CompressiveFeatures
        Fitted.
    features : CSR matrix (documents, features)
        Of the documents.
    documents : pandas.DataFrame
        A row a document, with its metadata.
    report : dict
        What report.json says.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    names = list(model.get_feature_names_out())
    # open files, not paths: arrow takes no path that is not UTF-8
    with open(folder / "features.csv", "wb") as file:
        write_long_csv(features, names, file)
    _write_model(folder, model, features, report)
    with open(folder / "documents.csv", "wb") as file:
        file.writelines(csv_blocks(documents))
    model.result_.trace.to_csv(folder / "trace.csv", index=False)
    write_report(folder, report)


def _write_model(folder: Path, model: Any, features: sparse.csr_matrix, report: dict[str, Any]) -> None:
    """Features, dictionary and pointers, the saved model, and what proves its bound."""
    sparse.save_npz(folder / "features.npz", features, compressed=False)
    names = list(model.get_feature_names_out())
    (folder / "feature_names.txt").write_text("".join(name + "\n" for name in names), encoding="utf-8")
    (folder / "dictionary.csv").write_bytes(frame_csv(model.dictionary_))
    with open(folder / "pointers.parquet", "wb") as file:
        pa_parquet.write_table(pointer_table(model.encoding_, names), file, compression="zstd")
    save_model(model, folder / MODEL, about={"learnt_from": report["corpus"]["source"]} if "corpus" in report else None)
    write_arrays(folder / "proof.npz", model.result_.proof_arrays())


def lam_folders(lams: Sequence[float]) -> list[str]:
    """A folder's name for each λ, as short as they can be told apart by."""
    for digits in range(6, 18):
        names = [f"lam-{lam:.{digits}g}" for lam in lams]
        if len(set(names)) == len(set(lams)):
            break
    return names


def write_path(folder: str | Path, path: Any, documents: pd.DataFrame, report: dict[str, Any]) -> None:
    """Everything that ``cflengine path`` leaves in its output folder (see its help).

    Parameters
    ----------
    folder : str or Path
        Where to; it is there.
    path : FeaturePath
        The models.
    documents : pandas.DataFrame
        A row a document.
    report : dict
        Gets the names of the folders.
    """
    folder = Path(folder)
    path.frame.to_csv(folder / "path.csv", index=False)
    with open(folder / "documents.csv", "wb") as file:
        file.writelines(csv_blocks(documents))
    points = []
    for point, lam, name in zip(report["points"], path.lams, lam_folders(path.lams), strict=True):
        model = path.model(lam)
        below = folder / name
        below.mkdir(exist_ok=True)
        _write_model(below, model, model.features(), report)
        points.append(point | {"folder": name})
    write_report(folder, report | {"points": points})
