"""Models in files: a ZIP of ``header.json`` and one ``.npy`` for each array. Nothing in it is ever executed.

header.json: ``{"format": "cflengine model", "version": 3, "kind": ..., "versions": ..., "about": ...}`` and what the
kind needs (parameters, classes, names of features, the certificate); arrays are float64 or integers, in numpy's own
format without pickles. The kinds stand in persistence.py.
"""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, Self

import numpy as np

from cflengine.engine.checks import InputError
from cflengine.engine.files import replaced
from cflengine.engine.memory import require_bytes
from cflengine.engine.results import versions

FORMAT, VERSION = "cflengine model", 3
_READ = (2, VERSION)  # in 2, fewer parameters stand
_BEFORE = "cflengine loglinear"  # version 1
_HEADER = "header.json"
_MOST_HEADER = 256 << 20  # bytes: a dictionary of ten million K-grams
_OBJECTS = 25  # times its text is what JSON may take as objects

_DAMAGE = (
    ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError, re.error
)  # fmt: skip

_WIDEST_LABEL = 1 << 16  # bytes, of those that are wider than any of them

#: A model as values that JSON has, and arrays.
Parts = tuple[dict[str, Any], dict[str, np.ndarray]]


class ModelFileError(InputError):
    """A file that is no model, one of another version, or a damaged one; the message says which."""


def write_model(
    path: str | os.PathLike[str] | IO[bytes], kind: str, header: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write a model; an existing file is replaced only once the new one is whole. path: or a file that is open."""
    known = {"format": FORMAT, "version": VERSION, "kind": kind, "versions": versions()}
    text = json.dumps(known | dict(header), allow_nan=False)
    with (
        replaced(Path(path)) if isinstance(path, str | os.PathLike) else nullcontext(path) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        with archive.open(_HEADER, "w") as member:  # unlike writestr's with no time in it: same model, same bytes
            member.write(text.encode())
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)


def read_model(
    path: str | os.PathLike[str] | IO[bytes], kind: str | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a model of this kind, or of any. Raises ModelFileError, or OSError where there is no file
    to read. path: or a file that is open."""
    if not isinstance(path, str | os.PathLike):
        return _read(path, file_name(path), kind)
    if Path(path).exists() and not Path(path).is_file():
        raise ModelFileError(f"'{path}' is no file.")  # a device may be read without end
    with open(path, "rb") as file:
        return _read(file, file_name(path), kind)


def _read(file: IO[bytes], name: str, kind: str | None) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    try:
        with zipfile.ZipFile(file) as archive:
            _check_members(archive, name)
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
    except _DAMAGE as error:
        raise ModelFileError(f"'{name}' is damaged: {error}") from error
    return header, arrays


def _check_members(archive: zipfile.ZipFile, name: str) -> None:
    """Bounds before anything is unpacked. Raises ModelFileError, MemoryLimitError."""
    members = archive.infolist()
    if any(one.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for one in members):
        raise ModelFileError(f"'{name}' is not a model of cflengine: it is packed in another way.")
    text = sum(one.file_size for one in members if one.filename == _HEADER)
    if text > _MOST_HEADER:
        raise ModelFileError(f"'{name}' has a header of {text:,} bytes, more than any model's.")
    arrays = sum(one.file_size for one in members) - text
    require_bytes(2 * arrays + _OBJECTS * text, f"'{name}'", "close other programs.")


def _header(archive: zipfile.ZipFile, name: str, kind: str | None) -> dict[str, Any]:
    if _HEADER not in archive.namelist():
        raise ModelFileError(f"'{name}' is not a model of cflengine.")
    header = json.loads(archive.read(_HEADER))
    if not isinstance(header, dict) or header.get("format") not in (FORMAT, _BEFORE):
        raise ModelFileError(f"'{name}' is not a model of cflengine.")
    if header.get("version") not in _READ:
        raise ModelFileError(
            f"'{name}' is of version {header.get('version')!r} of the format; this program reads version {VERSION}: "
            "install the version of cflengine that wrote it, or learn the model again."
        )
    require(isinstance(header.get("about", {}), dict) and isinstance(header.get("versions", {}), dict), name)
    if kind is not None and header.get("kind") != kind:
        raise ModelFileError(f"'{name}' holds a model of kind {header.get('kind')!r}, not {kind!r}.")
    return header


class SavedModel:
    """What estimators that are kept in a file share; they have ``to_parts``, ``from_parts`` and their ``kind``."""

    kind: str
    #: the parameters that the fit took (linear/parameters.py)
    _learnt_with: dict[str, Any]

    def to_parts(self) -> Parts:
        """The model as values that JSON has, and arrays."""
        raise NotImplementedError

    @classmethod
    def from_parts(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], name: str) -> Self:
        """The other way; name: of the file. Raises ModelFileError where the parts do not fit together."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str], *, about: Mapping[str, Any] | None = None) -> None:
        """Write the model to a file that holds data alone, never code.

        Parameters
        ----------
        path : str or path
            Of the file, which is replaced as a whole.
        about : Mapping or None, default: None
            Anything that JSON has, kept beside the model.

        Raises
        ------
        NotFittedError; ValueError for labels, and parameters such as functions, that JSON has not.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        header, arrays = self.to_parts()
        write_model(path, self.kind, header | {"about": dict(about or {})}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """A saved model, ready for use: it predicts the same bytes.

        Parameters
        ----------
        path : str or path
            Of the file.

        Returns
        -------
        object
            The model.

        Raises
        ------
        ModelFileError for a file of another kind or version, or a damaged one.
        """
        header, arrays = read_model(path, cls.kind)
        with damage_said(path) as name:
            return cls.from_parts(header, arrays, name)


def nested(parts: Parts, prefix: str) -> Parts:
    """The parts of a model inside another: its arrays under ``prefix``."""
    header, arrays = parts
    return header, {f"{prefix}.{key}": value for key, value in arrays.items()}


def under(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The arrays of a model inside another."""
    start = prefix + "."
    return {key.removeprefix(start): value for key, value in arrays.items() if key.startswith(start)}


def last_parts(path: str | os.PathLike[str], kind: str) -> Parts:
    """Header and arrays of a model of this kind, which may be the last step of a pipeline; "about" is the file's.
    Raises what :func:`read_model` raises."""
    header, arrays = read_model(path)
    name = Path(path).name
    if header["kind"] == "pipeline":
        require(isinstance(header.get("steps"), list) and bool(header["steps"]), name)
        last = header["steps"][-1]
        require(isinstance(last, dict) and isinstance(last.get("step"), dict) and "number" in last, name)
        header, arrays = last["step"] | {"about": header.get("about", {})}, under(arrays, str(last["number"]))
    require(header.get("kind") == kind, name)
    return header, arrays


def plain(value: Any, name: str) -> Any:
    """A parameter as JSON has it. Raises ValueError for one that JSON cannot give back."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [plain(one, name) for one in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: plain(one, name) for key, one in value.items()}
    raise InputError(
        f"a model whose {name} is a Python object ({type(value).__name__}) cannot be saved: a file holds numbers and "
        "text, never code."
    )


def plain_labels(classes: np.ndarray) -> list[Any]:
    """Class labels as JSON has them. Raises ValueError for labels that JSON cannot give back."""
    labels = classes.tolist()
    if classes.dtype.kind not in "OUbiuf" or not all(isinstance(label, str | int | float | bool) for label in labels):
        raise InputError("only models whose labels are strings, numbers or truth values can be saved.")
    return labels


def are_labels(values: Any) -> bool:
    """Whether a file's classes are some: at least two different ones, of kinds that :func:`plain_labels` writes."""
    if not isinstance(values, list) or not all(isinstance(value, str | int | float | bool) for value in values):
        return False
    if len(values) < 2 or len(set(map(repr, values))) != len(values):
        return False
    ordered = label_array(values)
    return bool((ordered[:-1] < ordered[1:]).all())  # as np.unique leaves them


def label_array(labels: Sequence[Any]) -> np.ndarray:
    """Labels as an array that keeps them whole: numpy's own strings lose zeros at their end."""
    if not any(isinstance(label, str) and label.endswith("\0") for label in labels):
        return np.array(labels)
    out = np.empty(len(labels), dtype=object)
    out[:] = labels
    return out


def typed_labels(labels: Sequence[Any], kind: Any, name: str) -> np.ndarray:
    """Labels as an array of the type that a file (``name``) says they had, None in files that do not say."""
    plain_ones = label_array(labels)
    if kind is None:
        return plain_ones
    require(isinstance(kind, str) and np.dtype(kind).kind in "OUbiuf", name)
    require(np.dtype(kind).itemsize <= max(_WIDEST_LABEL, plain_ones.itemsize), name)
    typed = plain_ones.astype(np.dtype(kind))
    require(typed.tolist() == list(labels), name)
    return typed


@contextmanager
def damage_said(path: str | os.PathLike[str] | IO[bytes]) -> Iterator[str]:
    """Whatever a damaged file brings about as ModelFileError; gives the file's name."""
    name = file_name(path)
    try:
        yield name
    except (ModelFileError, OSError):
        raise
    except _DAMAGE as error:
        raise ModelFileError(f"'{name}' is damaged: {error}") from error


def file_name(path: str | os.PathLike[str] | IO[bytes]) -> str:
    """What a file is called in messages."""
    return Path(path if isinstance(path, str | os.PathLike) else getattr(path, "name", "the file")).name


def require(condition: bool, name: str) -> None:
    """ModelFileError unless the parts of a file fit together."""
    if not condition:
        raise ModelFileError(f"'{name}' is damaged: its parts do not fit together.")
