"""A matrix of named features as files: for spreadsheets, for other programs, and back."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
from scipy import sparse
from scipy.io import mmwrite

from cflengine.engine.files import defuse_cell


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
