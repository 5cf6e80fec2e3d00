"""Tables and reports as files that are safe to open.

A CSV cell that a spreadsheet would run as a formula is defused with a leading apostrophe; cells that begin with an
apostrophe get one too, so :func:`restore_cell` undoes it exactly.
"""

from __future__ import annotations

import csv
import glob
import json
import math
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile
from zlib import error as DeflateError

import numpy as np
import pandas as pd
import pyarrow as pa

#: what numpy raises of an .npz file that is damaged, or none
NPZ_DAMAGE = (ValueError, KeyError, EOFError, BadZipFile, DeflateError, RuntimeError)
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "'")


def defuse_cell(text: str) -> str:
    """A cell that no spreadsheet takes for a formula.

    Parameters
    ----------
    text : str
        Of a cell.

    Returns
    -------
    str
        With an apostrophe before it, where a spreadsheet would take it for one.
    """
    return "'" + text if text.startswith(_FORMULA_STARTS) else text


def restore_cell(text: str) -> str:
    """The inverse of :func:`defuse_cell`.

    Parameters
    ----------
    text : str
        Of a cell.

    Returns
    -------
    str
        Without the apostrophe.
    """
    return text[1:] if text.startswith("'") else text


def defuse_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """A copy with every text cell and every column name defused."""
    safe = frame.copy()
    for name in safe.columns:
        if not pd.api.types.is_numeric_dtype(safe[name]) and not pd.api.types.is_datetime64_any_dtype(safe[name]):
            cells = [defuse_cell(cell) if isinstance(cell, str) else cell for cell in safe[name].astype(object)]
            # object: what is guessed of some rows, as that [1, None] are fractions, is not what is guessed of all
            safe[name] = pd.Series(cells, index=safe.index, dtype=object)
    safe.columns = [defuse_cell(str(name)) for name in safe.columns]
    return safe


def frame_csv(frame: pd.DataFrame) -> bytes:
    """A frame as UTF-8 CSV, defused; text is quoted throughout, since a bare carriage return would end a row.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns of any kind; the index is left out.

    Returns
    -------
    bytes
        The file.
    """
    return b"".join(csv_blocks(frame, max(len(frame), 1)))


def csv_blocks(frame: pd.DataFrame, n_rows: int = 20_000) -> Iterator[bytes]:
    """The same in blocks of rows, for frames of a row a document, whose file would take as much memory again; with
    dates in one, since pandas looks at all of a column to see whether they have times of day."""
    if any(pd.api.types.is_datetime64_any_dtype(kind) for kind in frame.dtypes):
        n_rows = max(len(frame), 1)
    for first in range(0, max(len(frame), 1), n_rows):
        block = defuse_frame(frame.iloc[first : first + n_rows])
        text = block.to_csv(index=False, header=not first, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        yield text.encode("utf-8", "replace")


def sparse_arrays(name: str, matrix: Any) -> dict[str, np.ndarray]:
    """A CSR matrix as arrays of an npz file: NAME_data, NAME_indices, NAME_indptr, NAME_shape."""
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": np.array(matrix.shape)}
    return {f"{name}_{part}": array for part, array in parts.items()}


def arrow_file(path: str | Path) -> pa.OSFile:
    """A file for pyarrow to read. Raises OSError.

    Not a file of Python's: threads of pyarrow let go of it after the last row, and where the interpreter ends at that
    moment the process is aborted (exit code 134). Not the path itself, which pyarrow wants to be UTF-8.
    """
    return pa.OSFile(os.fsencode(path))


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """An npz file, compressed; nothing in it is a pickle."""
    named: Any = dict(arrays)
    with open(path, "wb") as file:
        np.savez_compressed(file, **named)


@contextmanager
def replaced(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes the place of another once it is written whole; what fails or dies leaves that as it was.

    Parameters
    ----------
    path : Path
        Of the file; of a link, what it points to is replaced; what is no file (a pipe, a device, /dev/stdout) is
        written to as it is.

    Returns
    -------
    context manager
        Of the binary file to write to.
    """
    if path.exists() and (not path.is_file() or path.absolute().is_relative_to("/dev")):
        with open(path, "wb") as file:
            yield file
        return
    path = path.resolve() if path.is_symlink() else path
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        with open(beside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def remove_unfinished(path: Path) -> None:
    """Remove what a process that was killed in :func:`replaced` left beside a file.

    Parameters
    ----------
    path : Path
        The file's; no other process may be writing it now.

    Returns
    -------
    None
        Also where nothing is there.
    """
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        left.unlink(missing_ok=True)


def finite(value: Any) -> Any:
    """NaN and infinities as None, which JSON can say.

    Parameters
    ----------
    value : object
        A number, or dictionaries and lists of them.

    Returns
    -------
    object
        The same, finite.
    """
    if isinstance(value, dict):
        return {key: finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def report_bytes(report: Mapping[str, Any]) -> bytes:
    """A report as JSON; NaN and infinities become null, and what is no UTF-8 in names of files JSON's own escapes, by
    which these files are found again.

    Parameters
    ----------
    report : mapping
        Of plain values.

    Returns
    -------
    bytes
        UTF-8.
    """
    text = json.dumps(finite(dict(report)), indent=2, ensure_ascii=False, default=str, allow_nan=False)
    return (text + "\n").encode("utf-8", "backslashreplace")


def write_report(folder: Path, report: Mapping[str, Any], name: str = "report.json") -> None:
    """A report in a file of a folder (see :func:`report_bytes`).

    Parameters
    ----------
    folder : Path
        It is there.
    report : mapping
        Of plain values.
    name : str
        The file's.
    """
    with replaced(folder / name) as file:
        file.write(report_bytes(report))
