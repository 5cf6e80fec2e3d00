"""A matrix of named features as files: for spreadsheets, for other programs, and back.

Long: a row a non-zero entry. Wide: a row a document, a column a feature. Both with what is known of the documents
joined on the left, if it is given; names of features as they are, or safe to open in a spreadsheet (``defused``).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
from scipy import sparse
from scipy.io import mmwrite

from cflengine.engine.checks import InputError
from cflengine.engine.files import defuse_cell, defuse_frame

MOST_CELLS = 60_000_000  # of a wide table
_AT_ONCE = 1 << 20  # rows of a long table, cells of a wide one, that are spelled out at a time

File = str | Path | IO[bytes]


def long_table(
    features: sparse.csr_matrix, names: Sequence[str], *, defused: bool, documents: pd.DataFrame | None = None
) -> pa.Table:
    """One row a non-zero entry: document (int32), the columns of ``documents`` (a row a document), feature (text),
    count or weight; by document, then feature."""
    matrix = features.tocsr()
    matrix.sort_indices()
    words = pa.array([defuse_cell(name) for name in names] if defused else list(names), type=pa.string())
    row = np.repeat(np.arange(matrix.shape[0], dtype=np.int32), np.diff(matrix.indptr))
    value = "count" if np.issubdtype(matrix.dtype, np.integer) else "weight"
    columns: dict[str, pa.Array] = {"document": pa.array(row)}
    for name, column in _joined(documents, defused, ("document", "feature", value)).items():
        columns[name] = _spread(column, row)
    columns["feature"] = pa.DictionaryArray.from_arrays(pa.array(matrix.indices.astype(np.int32)), words)
    return pa.table(columns | {value: matrix.data})


def _spread(column: pa.Array, row: np.ndarray) -> pa.Array:
    """A column of the documents, of each entry's: what is missing is so in the entries, since Parquet takes no
    dictionary that holds nothing."""
    missing = column.is_null().to_numpy(zero_copy_only=False)
    number = np.cumsum(~missing, dtype=np.int32) - 1
    return pa.DictionaryArray.from_arrays(pa.array(number[row], mask=missing[row]), column.drop_null())


def write_long_csv(
    features: sparse.csr_matrix,
    names: Sequence[str],
    file: File,
    *,
    documents: pd.DataFrame | None = None,
    defused: bool = True,
) -> None:
    """``document,…,feature,count`` (or ``weight``), a row an entry that is not 0.

    Parameters
    ----------
    features : CSR matrix (documents, features)
        Counts or weights.
    names : sequence of str
        Of the features.
    file : path or binary file
        Where to.
    documents : pandas.DataFrame, optional
        Columns of each document, which stand behind its number.
    defused : bool
        Whether cells that a spreadsheet would take for a formula are changed.
    """
    table = long_table(features, names, defused=defused, documents=documents)
    # row groups: the CSV writer wants plain strings, and decoding all of them at once would cost gigabytes
    with pa_csv.CSVWriter(file, _plain(table.slice(0, 0)).schema) as writer:
        for start in range(0, table.num_rows, _AT_ONCE):
            writer.write_table(_plain(table.slice(start, _AT_ONCE)))


def _plain(table: pa.Table) -> pa.Table:
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(field.type.value_type))
    return table


def write_long_parquet(
    features: sparse.csr_matrix, names: Sequence[str], file: File, *, documents: pd.DataFrame | None = None
) -> None:
    """The same table as Parquet (zstd), K-grams as they are.

    Parameters
    ----------
    features : CSR matrix (documents, features)
        Counts or weights.
    names : sequence of str
        Of the features.
    file : path or binary file
        Where to.
    documents : pandas.DataFrame, optional
        Columns of each document.
    """
    table = long_table(features, names, defused=False, documents=documents)
    pa_parquet.write_table(table, file, compression="zstd")


def wide_cells(features: sparse.csr_matrix) -> int:
    """How many cells a wide table has.

    Parameters
    ----------
    features : CSR matrix (documents, features)
        Counts or weights.

    Returns
    -------
    int
        Documents times features.
    """
    return int(features.shape[0]) * int(features.shape[1])


def write_wide_csv(
    features: sparse.csr_matrix,
    names: Sequence[str],
    file: File,
    *,
    documents: pd.DataFrame | None = None,
    defused: bool = True,
) -> None:
    """``document,…`` and a column a feature.

    Parameters
    ----------
    features : CSR matrix (documents, features)
        Counts or weights.
    names : sequence of str
        Of the features.
    file : path or binary file
        Where to.
    documents : pandas.DataFrame, optional
        Columns of each document.
    defused : bool
        Whether cells that a spreadsheet would take for a formula are changed.

    Raises
    ------
    InputError
        Beyond MOST_CELLS.
    """
    _write_wide(features, names, documents, defused, lambda schema: pa_csv.CSVWriter(file, schema))


def write_wide_parquet(
    features: sparse.csr_matrix, names: Sequence[str], file: File, *, documents: pd.DataFrame | None = None
) -> None:
    """The same as Parquet (zstd), K-grams as they are.

    Parameters
    ----------
    features : CSR matrix (documents, features)
        Counts or weights.
    names : sequence of str
        Of the features.
    file : path or binary file
        Where to.
    documents : pandas.DataFrame, optional
        Columns of each document.

    Raises
    ------
    InputError
        Beyond MOST_CELLS.
    """
    _write_wide(
        features, names, documents, False, lambda schema: pa_parquet.ParquetWriter(file, schema, compression="zstd")
    )


def _write_wide(
    features: sparse.csr_matrix,
    names: Sequence[str],
    documents: pd.DataFrame | None,
    defused: bool,
    writer_of: Callable[[pa.Schema], pa_csv.CSVWriter | pa_parquet.ParquetWriter],
) -> None:
    if wide_cells(features) > MOST_CELLS:
        raise InputError(
            f"a table of {features.shape[0]:,} documents by {features.shape[1]:,} features would have "
            f"{wide_cells(features):,} cells: take the long one."
        )
    parts = _wide_parts(features.tocsr(), names, documents, defused)
    first = next(parts)
    with writer_of(first.schema) as writer:
        writer.write_table(first)
        for part in parts:
            writer.write_table(part)


def _wide_parts(
    matrix: sparse.csr_matrix, names: Sequence[str], documents: pd.DataFrame | None, defused: bool
) -> Iterator[pa.Table]:
    """The table in parts of so many rows; the first is there even if there is no row."""
    taken = {"document"}
    shown = [_free(defuse_cell(name) if defused else name, taken, " (feature)") for name in names]
    left = _joined(documents, defused, ("document", *shown))
    rows = max(1, _AT_ONCE // max(1, matrix.shape[1]))
    for a in range(0, max(matrix.shape[0], 1), rows):
        dense = matrix[a : a + rows].toarray()
        columns = [pa.array(np.arange(a, a + len(dense), dtype=np.int32))]
        columns += [column.slice(a, len(dense)) for column in left.values()]
        columns += [pa.array(column) for column in np.ascontiguousarray(dense.T)]
        yield pa.table(columns, names=["document", *left, *shown])


def _joined(documents: pd.DataFrame | None, defused: bool, taken: Sequence[str]) -> dict[str, pa.Array]:
    """Columns of the documents under names that are not taken; text that is none becomes text."""
    found: dict[str, pa.Array] = {}
    if documents is None:
        return found
    frame, used = (defuse_frame(documents) if defused else documents), set(taken)
    for i, name in enumerate(map(str, frame.columns)):
        found[_free(name, used, " (column)")] = arrow_column(frame.iloc[:, i])
    return found


def _free(name: str, taken: set[str], more: str) -> str:
    """The name, or a longer one that is not taken; it is, afterwards."""
    while name in taken:
        name += more
    taken.add(name)
    return name


def arrow_column(column: pd.Series) -> pa.Array:
    """A column for Parquet; values of several kinds as text."""
    try:
        return pa.Array.from_pandas(column)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # lists beside numbers, half characters: as they are spelled
        text = [None if pd.isna(value) is True else str(value).encode("utf-8", "replace").decode() for value in column]
        return pa.array(text, type=pa.string())


def matrix_market(features: sparse.csr_matrix) -> bytes:
    """The matrix in Matrix Market coordinate format.

    Parameters
    ----------
    features : CSR matrix (documents, features)
        Counts or weights.

    Returns
    -------
    bytes
        The file.
    """
    file = io.BytesIO()
    mmwrite(file, features.tocoo())
    return file.getvalue()
