"""Models in files: a ZIP of ``header.json`` and one ``.npy`` for each array. Nothing in it is ever executed.

header.json: ``{"format": "cflengine loglinear", "version": 1, "kind": "logistic" | "chain", ...}`` and what the kind
needs (settings, classes, names of features); arrays are float64 or integers, in numpy's own format without pickles.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from cflengine.engine.checks import InputError
from cflengine.engine.files import replaced
from cflengine.engine.memory import require_bytes

FORMAT, VERSION = "cflengine loglinear", 1
_HEADER = "header.json"


class ModelFileError(InputError):
    """A file that is no model, one of another version, or a damaged one; the message says which."""


def write_model(path: str | os.PathLike[str], kind: str, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write a model; an existing file is replaced only once the new one is whole."""
    text = json.dumps({"format": FORMAT, "version": VERSION, "kind": kind, **header}, allow_nan=False)
    with (
        replaced(Path(path)) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        archive.writestr(_HEADER, text)
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)


def read_model(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a model of this kind. Raises ModelFileError, or OSError where there is no file to read."""
    name = Path(path).name
    with open(path, "rb") as file:
        return _read(file, name, kind)


def _read(file: IO[bytes], name: str, kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    try:
        with zipfile.ZipFile(file) as archive:
            sizes = sum(info.file_size for info in archive.infolist())
            require_bytes(2 * sizes, f"'{name}'", "close other programs.")
            header = _header(archive, name, kind)
            arrays = {
                Path(entry).stem: np.lib.format.read_array(io.BytesIO(archive.read(entry)), allow_pickle=False)
                for entry in archive.namelist()
                if entry.endswith(".npy")
            }
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        raise ModelFileError(f"'{name}' is not a model of cflengine, or it is truncated.") from error
    except ModelFileError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelFileError(f"'{name}' is damaged: {error}") from error
    return header, arrays


def _header(archive: zipfile.ZipFile, name: str, kind: str) -> dict[str, Any]:
    if _HEADER not in archive.namelist():
        raise ModelFileError(f"'{name}' is not a model of cflengine.")
    header = json.loads(archive.read(_HEADER))
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(f"'{name}' is not a model of cflengine.")
    if header.get("version") != VERSION:
        raise ModelFileError(
            f"'{name}' is of version {header.get('version')!r} of the format; this program reads version {VERSION}."
        )
    if header.get("kind") != kind:
        raise ModelFileError(f"'{name}' holds a model of kind {header.get('kind')!r}, not {kind!r}.")
    return header


def plain_labels(classes: np.ndarray) -> list[Any]:
    """Class labels as JSON has them. Raises ValueError for labels that JSON cannot give back."""
    labels = classes.tolist()
    if not all(isinstance(label, str | int | float | bool) for label in labels):
        raise InputError("only models whose labels are strings, numbers or truth values can be saved.")
    return labels


def are_labels(values: Any) -> bool:
    """Whether a file's classes are some: at least two different ones, of kinds that :func:`plain_labels` writes."""
    if not isinstance(values, list) or not all(isinstance(value, str | int | float | bool) for value in values):
        return False
    return len(values) >= 2 and len(set(map(repr, values))) == len(values)


def label_array(labels: Sequence[Any]) -> np.ndarray:
    """Labels as an array that keeps them whole: numpy's own strings lose zeros at their end."""
    if not any(isinstance(label, str) and label.endswith("\0") for label in labels):
        return np.array(labels)
    out = np.empty(len(labels), dtype=object)
    out[:] = labels
    return out


def require(condition: bool, name: str) -> None:
    """ModelFileError unless the parts of a file fit together."""
    if not condition:
        raise ModelFileError(f"'{name}' is damaged: its parts do not fit together.")
