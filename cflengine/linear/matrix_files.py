"""A table of features as a matrix, batch by batch: CSV or TSV (also .gz), and Parquet.

A cell of a feature is a finite number; an empty one is no number. Batches are bounded in bytes before they are decoded,
so that a table may be larger than memory.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from cflengine.engine.checks import InputError
from cflengine.engine.files import arrow_file

_BLOCK_BYTES = 1 << 24  # of a CSV; a row has to fit in it
_MOST_CELLS = 1 << 21  # of a batch of a Parquet file
_TRUTH = pa.array(["True", "False", "true", "false", "TRUE", "FALSE"])
_COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}


def feature_batches(
    path: str | Path, n_features: int, names: Sequence[str] | None, *, beside: Any = None, encoding: str | None = None
) -> Iterator[tuple[np.ndarray, pd.DataFrame]]:
    """(float64 (rows, n_features), the column ``beside`` of those rows as a frame, which has none where the table lacks
    it), for all rows in their order.

    names: of the columns to take, in order; None: every column but ``beside``, which must be n_features. encoding: of a
    CSV file, None for UTF-8, or UTF-16 where it begins like that.
    Raises InputError for columns that are missing, too many, or twice there, and for cells that are no numbers.
    """
    path, shown = Path(path), Path(path).name
    if not path.is_file():
        raise InputError(f"there is no file {shown}.")
    columns, batches = _open(path, encoding)
    own = [str(beside)] if beside is not None and str(beside) in columns else []
    wanted = [column for column in columns if column not in own] if names is None else [str(name) for name in names]
    missing = [name for name in wanted if name not in columns]
    if missing:
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        raise InputError(f"{shown} lacks the column {missing[0]!r}{more}, which the model was learnt from.")
    if len(wanted) != n_features:
        raise InputError(f"{shown} has {len(wanted):,} columns of features; the model was learnt from {n_features:,}.")
    try:
        for batch in batches(wanted + [name for name in own if name not in wanted]):
            X = np.empty((batch.num_rows, n_features))
            for j, name in enumerate(wanted):
                X[:, j] = _numbers(batch.column(name), name, shown)
            yield X, batch.select(own).to_pandas()
    except (UnicodeDecodeError, pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> InputError:
    """One sentence on a table that is none."""
    said = str(error).splitlines()[0]
    if isinstance(error, UnicodeDecodeError) or "invalid UTF8" in said:
        wrong = error.encoding.upper() if isinstance(error, UnicodeDecodeError) else "UTF-8"
        return InputError(f"{path.name} is not {wrong}; say by --encoding what it is, or save it as UTF-8.")
    with arrow_file(path) as file:
        if file.read(4) == b"PK\x03\x04":
            return InputError(f"{path.name} is a workbook or a ZIP; save its table as CSV or Parquet.")
    return InputError(f"{path.name} cannot be read as a table: {said}")


def _open(path: Path, encoding: str | None) -> tuple[list[str], Callable[[list[str]], Iterator[pa.RecordBatch]]]:
    """Names of the columns of a table, and a function from some of them to its batches. Raises InputError."""
    try:
        if path.suffix.lower() == ".parquet":
            columns = pa_parquet.read_schema(arrow_file(path)).names
            return _once(columns, path), lambda wanted: _parquet_batches(path, wanted)
        encoding = encoding or _marked(path)
        with _csv(path, {}, encoding) as reader:
            columns = reader.schema.names
        return _once(columns, path), lambda wanted: _csv_batches(path, wanted, encoding)
    except LookupError as error:
        raise InputError(f"there is no encoding {encoding!r}.") from error
    except (UnicodeDecodeError, pa.ArrowInvalid) as error:
        raise _unreadable(path, error) from error


def _parquet_batches(path: Path, wanted: list[str]) -> Iterator[pa.RecordBatch]:
    # texts stay as few as they are in the file: a small file may hold one of megabytes in every row
    with arrow_file(path) as opened, pa_parquet.ParquetFile(opened, read_dictionary=wanted) as file:
        yield from file.iter_batches(max(1, _MOST_CELLS // max(len(wanted), 1)), columns=wanted)


def _marked(path: Path) -> str:
    """UTF-16 where a byte order mark says so, else UTF-8."""
    with pa.input_stream(arrow_file(path), compression=_COMPRESSED.get(path.suffix.lower())) as stream:
        return "utf-16" if stream.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8"


def _csv_batches(path: Path, wanted: list[str], encoding: str) -> Iterator[pa.RecordBatch]:
    # as text: what a column holds is then told by every cell, not by the first ones
    how = {"column_types": dict.fromkeys(wanted, pa.string()), "include_columns": wanted}
    with _csv(path, how, encoding) as reader:
        yield from reader


def _csv(path: Path, how: dict[str, Any], encoding: str) -> pa_csv.CSVStreamingReader:
    return pa_csv.open_csv(
        pa.input_stream(arrow_file(path), compression=_COMPRESSED.get(path.suffix.lower())),
        pa_csv.ReadOptions(block_size=_BLOCK_BYTES, encoding=encoding),
        pa_csv.ParseOptions(delimiter="\t" if ".tsv" in path.suffixes[-2:] else ","),
        pa_csv.ConvertOptions(**how),
    )


def _once(columns: list[str], path: Path) -> list[str]:
    twice = [name for name in columns if columns.count(name) > 1] if len(set(columns)) < len(columns) else []
    if twice:
        raise InputError(f"{path.name} has the column {twice[0]!r} twice.")
    return columns


def _numbers(column: pa.Array, name: str, shown: str) -> np.ndarray:
    """A column as finite numbers; true and false are 1 and 0. Raises InputError."""
    try:
        if pa.types.is_string(column.type) and pc.all(pc.is_in(column, _TRUTH)).as_py():
            column = column.cast(pa.bool_())
        if pa.types.is_dictionary(column.type):
            column = column.dictionary.cast(pa.float64()).take(column.indices)
        values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        values = np.array([np.nan])
    if not np.isfinite(values).all():
        raise InputError(f"the column {name!r} of {shown} has a cell that is no finite number.")
    return values
