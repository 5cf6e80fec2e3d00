"""Features, dictionary and pointers as files: for spreadsheets, for other programs, and back."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
from scipy import sparse
from scipy.io import mmwrite

from cflengine.compression.encoding import Encoding
from cflengine.engine.files import defuse_cell, frame_csv, write_arrays, write_report
from cflengine.text.tokens import printable


def long_table(features: sparse.csr_matrix, names: Sequence[str], *, defused: bool) -> pa.Table:
    """One row a non-zero entry: document (int32), feature (text), count or weight; by document, then feature."""
    matrix = features.tocsr()
    matrix.sort_indices()
    words = pa.array([defuse_cell(name) for name in names] if defused else list(names), type=pa.string())
    documents = np.repeat(np.arange(matrix.shape[0], dtype=np.int32), np.diff(matrix.indptr))
    feature = pa.DictionaryArray.from_arrays(pa.array(matrix.indices.astype(np.int32)), words)
    value = "count" if np.issubdtype(matrix.dtype, np.integer) else "weight"
    return pa.table({"document": documents, "feature": feature, value: matrix.data})


def write_long_csv(features: sparse.csr_matrix, names: Sequence[str], file: str | Path | IO[bytes]) -> None:
    """``document,feature,count`` (or ``weight``), safe to open in a spreadsheet."""
    table = long_table(features, names, defused=True)
    # row groups: the CSV writer wants plain strings, and decoding all of them at once would cost gigabytes
    with pa_csv.CSVWriter(file, _plain(table.slice(0, 0)).schema) as writer:
        for start in range(0, table.num_rows, 1 << 20):
            writer.write_table(_plain(table.slice(start, 1 << 20)))


def _plain(table: pa.Table) -> pa.Table:
    return table.set_column(1, "feature", table.column("feature").cast(pa.string()))


def write_long_parquet(features: sparse.csr_matrix, names: Sequence[str], file: str | Path | IO[bytes]) -> None:
    """The same table as Parquet (zstd), K-grams as they are."""
    pa_parquet.write_table(long_table(features, names, defused=False), file, compression="zstd")


def matrix_market(features: sparse.csr_matrix) -> bytes:
    """The matrix in Matrix Market coordinate format (documents × features)."""
    file = io.BytesIO()
    mmwrite(file, features.tocoo())
    return file.getvalue()


def pointer_table(encoding: Encoding, names: Sequence[str]) -> pa.Table:
    """One row a pointer: document, start (token), length (tokens), start_char, end_char, gram (text)."""
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

    model: a fitted :class:`~cflengine.CompressiveFeatures`; documents: a row a document, with its metadata.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    names = list(model.get_feature_names_out())
    # open files, not paths: arrow takes no path that is not UTF-8
    with open(folder / "features.csv", "wb") as file:
        write_long_csv(features, names, file)
    _write_features(folder, model, features)
    (folder / "documents.csv").write_bytes(frame_csv(documents))
    with open(folder / "pointers.parquet", "wb") as file:
        pa_parquet.write_table(pointer_table(model.encoding_, names), file, compression="zstd")
    model.result_.trace.to_csv(folder / "trace.csv", index=False)
    write_arrays(folder / "proof.npz", {"alpha": model.result_.alpha})
    write_report(folder, report)


def _write_features(folder: Path, model: Any, features: sparse.csr_matrix) -> None:
    sparse.save_npz(folder / "features.npz", features, compressed=False)
    names = model.get_feature_names_out()
    (folder / "feature_names.txt").write_text("".join(name + "\n" for name in names), encoding="utf-8")
    (folder / "dictionary.csv").write_bytes(frame_csv(model.dictionary_))


def lam_folders(lams: Sequence[float]) -> list[str]:
    """A folder's name for each λ, as short as they can be told apart by."""
    for digits in range(6, 18):
        names = [f"lam-{lam:.{digits}g}" for lam in lams]
        if len(set(names)) == len(set(lams)):
            break
    return names


def write_path(folder: str | Path, path: Any, documents: pd.DataFrame, report: dict[str, Any]) -> None:
    """Everything that ``cflengine path`` leaves in its output folder (see its help).

    path: a :class:`~cflengine.compression.feature_path.FeaturePath`; documents: a row a document.
    """
    folder = Path(folder)
    path.frame.to_csv(folder / "path.csv", index=False)
    (folder / "documents.csv").write_bytes(frame_csv(documents))
    for lam, name in zip(path.lams, lam_folders(path.lams), strict=True):
        model = path.model(lam)
        below = folder / name
        below.mkdir(exist_ok=True)
        _write_features(below, model, model.weigh(model.encoding_))
    write_report(folder, report)
