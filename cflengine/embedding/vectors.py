"""Vectors of words, from where users have them: a mapping, arrays, word2vec or GloVe text (also .gz), npz.

Only the words of a vocabulary are kept: a file of 10 GB is read through, never held.
"""

from __future__ import annotations

import gzip
import os
import zipfile
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from cflengine.engine.checks import InputError
from cflengine.engine.files import replaced
from cflengine.engine.progress import Poll, go_on
from cflengine.text.token_table import printable

_LONGEST_LINE = 1 << 20  # bytes: no vector takes more
_BLOCK = 16 << 20  # bytes of an npz member at once
_LINES_BEFORE = 64  # the last one, which is compared with them
_LINES_LOOKED_AT = 200
_OFTEN = 20_000  # lines between two questions whether to go on
_LONGEST_VECTOR = 10_000
_MOST_WORDS = 4 << 30  # bytes
_MOST_LINES = 50_000_000
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, gzip.BadGzipFile, NotImplementedError, RuntimeError)


class VectorsError(InputError):
    """Vectors that cannot be used; the message says which, and why."""


@dataclass(frozen=True)
class WordVectors:
    """words: in the vocabulary's order; M: float64 (V, r); name: where from; n_asked: words of the vocabulary."""

    words: tuple[str, ...]
    M: np.ndarray = field(repr=False)
    name: str = "vectors"
    n_asked: int = 0

    @property
    def dimension(self) -> int:
        """r."""
        return self.M.shape[1]

    def with_drawn(self, words: Sequence[str], rng: np.random.Generator) -> np.ndarray:
        """float64 (len(words), r): vectors of ``words``, which hold all of these; of one without, normal numbers of the
        same spread, around the mean."""
        M = rng.normal(size=(len(words), self.dimension)) * self.M.std() + self.M.mean(axis=0)
        at = {word: k for k, word in enumerate(words)}
        M[[at[word] for word in self.words]] = self.M
        return M


def word_vectors(source: Any, vocabulary: Sequence[str], poll: Poll = lambda: True) -> WordVectors:
    """The vectors of the words of a vocabulary that ``source`` has.

    source: a mapping from words to vectors (also gensim's KeyedVectors), a pair (words, array), or the path of a text
    file or npz. Raises VectorsError for vectors of different lengths, NaN or infinite ones, a file that is cut off, and
    where no word has a vector; OSError for no file; Stopped once ``poll`` says False.
    """
    if isinstance(source, str | os.PathLike):
        name, found = Path(source).name, _from_file(Path(source), vocabulary, poll)
    elif isinstance(source, tuple | list) and len(source) == 2:
        name, found = "arrays", _from_arrays(source[0], source[1], vocabulary)
    elif isinstance(source, Mapping) or (hasattr(source, "__getitem__") and hasattr(source, "__contains__")):
        name, found = "mapping", {word: source[word] for word in vocabulary if word in source}
    else:
        raise VectorsError(
            f"vectors must be a mapping, a path or a pair (words, array), not a {type(source).__name__}."
        )
    return _checked(found, vocabulary, name)


def check_vectors_file(path: Path) -> None:
    """Look at a file's first lines, or the shapes of its arrays; what is damaged further on is found by reading it.

    Parameters
    ----------
    path : Path
        Of the file: word2vec's or GloVe's text (also .gz), or npz.

    Raises
    ------
    VectorsError
        Where these are not of vectors; OSError for no file.
    """
    _from_file(path, None, lambda: True)


def _checked(found: Mapping[str, Any], vocabulary: Sequence[str], name: str) -> WordVectors:
    words = tuple(word for word in vocabulary if word in found)
    if not words:
        raise VectorsError(
            f"none of the {len(vocabulary):,} words has a vector in {name}: is it of this language, and are its words "
            "lower-cased as these are?"
        )
    rows = []
    for word in words:
        try:
            row = np.asarray(found[word])
            if np.iscomplexobj(row):
                raise TypeError("complex")
            rows.append(row.astype(np.float64).ravel())
        except (TypeError, ValueError, OverflowError) as error:
            raise VectorsError(f"the vector of {word!r} is not made of numbers.") from error
        if not len(rows[0]):
            raise VectorsError(f"the vector of {words[0]!r} has no numbers.")
        if len(rows[-1]) != len(rows[0]):
            raise VectorsError(
                f"the vector of {word!r} has {len(rows[-1])} numbers, that of {words[0]!r} {len(rows[0])}."
            )
        if not np.isfinite(rows[-1]).all():
            raise VectorsError(f"the vector of {word!r} holds NaN or an infinite number.")
    return WordVectors(words, np.stack(rows), name, len(vocabulary))


def _from_arrays(words: Any, array: Any, vocabulary: Sequence[str]) -> dict[str, np.ndarray]:
    words = list(words)
    try:
        array = np.asarray(array)
    except ValueError as error:
        raise VectorsError("the vectors have different lengths.") from error
    if array.ndim != 2 or len(words) != len(array):
        raise VectorsError(f"{len(words):,} words and an array of shape {array.shape} are no vectors: (words, r) is.")
    wanted = set(vocabulary)
    found: dict[str, np.ndarray] = {}
    for word, row in zip(words, array, strict=True):
        if str(word) in wanted:
            found.setdefault(str(word), row)
    return found


def _from_file(path: Path, vocabulary: Sequence[str] | None, poll: Poll) -> dict[str, np.ndarray]:
    """vocabulary: None to look at the beginning alone."""
    if path.is_dir():
        raise VectorsError(f"{path.name} is a folder: name the file of vectors in it.")
    if path.exists() and not path.is_file():
        raise VectorsError(f"{path} is no file of vectors.")  # a pipe could make us wait for ever
    with open(path, "rb") as file:
        start = file.read(4)
    try:
        if start[:2] == b"PK":
            return _from_npz(path, vocabulary, poll)
        return _from_text(path, start[:2] == b"\x1f\x8b", vocabulary, poll)
    except UnicodeDecodeError as error:
        raise VectorsError(f"{path.name} holds words that are not UTF-8.") from error
    except _DAMAGE as error:
        raise VectorsError(f"{path.name} is cut off or damaged: {error}.") from error


def _lines(path: Path, packed: bool) -> Iterator[bytes]:
    with gzip.open(path, "rb") if packed else open(path, "rb") as file:
        while line := file.readline(_LONGEST_LINE + 1):
            if len(line) > _LONGEST_LINE or b"\0" in line[:64]:
                raise VectorsError(f"{path.name} is no text of vectors: word2vec and GloVe text, and npz, can be read.")
            yield line


def _from_text(path: Path, packed: bool, vocabulary: Sequence[str] | None, poll: Poll) -> dict[str, np.ndarray]:
    """A word and its numbers a line, between spaces; word2vec's first line says how many there are."""
    wanted = {word.encode("utf-8", "surrogatepass") for word in vocabulary or ()}
    found: dict[str, np.ndarray] = {}
    dimension = promised = read = 0
    longer: dict[str, tuple[int, int]] = {}  # wanted words whose lines have more numbers than the first: line, numbers
    line, fields, before = b"", list[bytes](), deque[list[bytes]](maxlen=_LINES_BEFORE)
    for number, line in enumerate(_lines(path, packed), 1):
        if number % _OFTEN == 0:
            go_on(poll)
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if read:
            before.append(fields[-dimension:])
        fields = line.split()
        if number == 1 and len(fields) == 2 and all(one.isdigit() and len(one) < 12 for one in fields):
            promised, dimension = int(fields[0]), int(fields[1])
            continue
        if not fields:
            continue
        read += 1
        dimension = dimension or len(fields) - 1
        if not 0 < dimension <= _LONGEST_VECTOR:
            raise VectorsError(f"{path.name} is no text of vectors: its line {number} has {len(fields)} parts.")
        if len(fields) < dimension + 1:
            raise VectorsError(
                f"line {number} of {path.name} has {len(fields) - 1} numbers, others have {dimension}: is it cut off?"
            )
        if vocabulary is None:
            _numbers(fields[-dimension:], number, path.name)
            if read == _LINES_LOOKED_AT:
                return {}
            continue
        word = b" ".join(fields[:-dimension])  # a few words of GloVe hold spaces
        if word in wanted:
            found.setdefault(word.decode("utf-8", "surrogatepass"), _numbers(fields[-dimension:], number, path.name))
        elif len(fields) > dimension + 1 and fields[0] in wanted and all(map(_is_number, fields[1:-dimension])):
            longer.setdefault(fields[0].decode("utf-8", "surrogatepass"), (number, len(fields) - 1))
    for one, (number, many) in longer.items():
        if one not in found:  # as it would be, were this a word of several parts
            raise VectorsError(f"line {number} of {path.name} has {many} numbers, others have {dimension}.")
    if _ends_in_a_number(line, fields[-dimension:], before):
        raise VectorsError(f"{path.name} ends in the middle of a number: it is cut off.")
    if promised > read:
        raise VectorsError(f"{path.name} promises {promised:,} vectors and holds {read:,}: it is cut off.")
    return found


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _ends_in_a_number(line: bytes, fields: list[bytes], before: Iterable[list[bytes]]) -> bool:
    """Whether a last line, which no line break ends, has fewer decimals in its last number than in any other, by two
    or more, and no number of the lines before it has so few: writers that leave out zeros at the end write such."""
    if line.endswith(b"\n") or len(fields) < 3 or b"e" in fields[-1].lower():
        return False
    few = _decimals(fields[-1])
    return few + 2 <= min(map(_decimals, fields[:-1])) and all(few < _decimals(one) for own in before for one in own)


def _decimals(field: bytes) -> int:
    return len(field.partition(b".")[2])


def _numbers(fields: list[bytes], number: int, name: str) -> np.ndarray:
    try:
        return np.array(fields, dtype="S").astype(np.float64)
    except ValueError as error:
        raise VectorsError(f"line {number} of {name} holds something that is no number.") from error


def _from_npz(path: Path, vocabulary: Sequence[str] | None, poll: Poll) -> dict[str, np.ndarray]:
    """Arrays ``words`` (text, or uint8: UTF-8 lines) and ``vectors``; words may stand beside instead, a line each, in
    words.txt or words.txt.gz."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if "vectors.npy" not in names:
            raise VectorsError(f"{path.name} has no array 'vectors'; it has {', '.join(names[:5])}.")
        words = _npz_words(archive, path) if "words.npy" in names else _words_beside(path)
        rows = {word: k for k, word in reversed(list(enumerate(words)))}
        chosen = {rows[word]: word for word in vocabulary or () if word in rows}
        with _npy(archive, "vectors.npy") as (file, shape, kind, by_columns):
            if (
                len(shape) != 2
                or shape[0] != len(words)
                or not 0 < shape[1] <= _LONGEST_VECTOR
                or kind.kind not in "fiu"
            ):
                raise VectorsError(f"{len(words):,} words and vectors of shape {shape} do not fit together.")
            if vocabulary is None:
                return {}
            return (_npz_columns if by_columns else _npz_rows)(file, shape, kind, chosen, poll)


def _npz_rows(
    file: IO[bytes], shape: tuple[int, ...], kind: np.dtype, chosen: Mapping[int, str], poll: Poll
) -> dict[str, np.ndarray]:
    width = shape[1] * kind.itemsize
    at_once = max(1, _BLOCK // width)
    found = {}
    for first in range(0, shape[0], at_once):
        go_on(poll)
        count = min(at_once, shape[0] - first)
        data = file.read(count * width)
        if len(data) < count * width:
            raise EOFError("the array ends too early")
        block = np.frombuffer(data, dtype=kind).reshape(count, shape[1])
        for k in range(first, first + count):
            if k in chosen:
                found[chosen[k]] = block[k - first].astype(np.float64)
    return found


def _npz_columns(
    file: IO[bytes], shape: tuple[int, ...], kind: np.dtype, chosen: Mapping[int, str], poll: Poll
) -> dict[str, np.ndarray]:
    """Of an array in Fortran's order, a column at a time."""
    rows, width = np.fromiter(chosen, dtype=np.int64), shape[0] * kind.itemsize
    found = np.empty((len(rows), shape[1]))
    for k in range(shape[1]):
        go_on(poll)
        data = file.read(width)
        if len(data) < width:
            raise EOFError("the array ends too early")
        found[:, k] = np.frombuffer(data, dtype=kind)[rows]
    return dict(zip(chosen.values(), found, strict=True))


@contextmanager
def _npy(archive: zipfile.ZipFile, name: str) -> Iterator[tuple[IO[bytes], tuple[int, ...], np.dtype, bool]]:
    """An array of an npz, opened after its header: its bytes, shape and kind, whether columns come first."""
    with ExitStack() as stack:
        file = stack.enter_context(archive.open(name))
        try:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, fortran, kind = read(file)
        except ValueError as error:
            raise VectorsError(f"the array {name} is damaged: {error}.") from error
        if kind.hasobject:
            raise VectorsError(f"the array {name} must be numbers or text.")
        yield file, shape, kind, fortran


def _npz_words(archive: zipfile.ZipFile, path: Path) -> list[str]:
    with _npy(archive, "words.npy") as (file, shape, kind, _):
        if len(shape) == 1 and kind == np.uint8 and shape[0] <= _MOST_WORDS:
            return file.read(shape[0]).decode("utf-8", "surrogatepass").split("\n")
        if len(shape) != 1 or kind.kind not in "US" or not 0 < kind.itemsize <= 4_096:
            raise VectorsError(f"the array 'words' of {path.name} must be a list of words.")
        if shape[0] * kind.itemsize > _MOST_WORDS:
            raise VectorsError(f"{path.name} has more words than can be read.")
        found: list[str] = []
        at_once = max(1, _BLOCK // kind.itemsize)
        while len(found) < shape[0]:
            count = min(at_once, shape[0] - len(found))
            data = file.read(count * kind.itemsize)
            if len(data) < count * kind.itemsize:
                raise EOFError("the words end too early")
            found += np.frombuffer(data, dtype=kind).astype(str).tolist()
    return found


def _words_beside(path: Path) -> list[str]:
    for name, opener in (("words.txt", open), ("words.txt.gz", gzip.open)):
        beside = path.with_name(name)
        if beside.exists():
            with opener(beside, "rt", encoding="utf-8", errors="surrogateescape") as lines:
                return [line.rstrip("\n") for line in islice(lines, _MOST_LINES)]
    raise VectorsError(f"{path.name} has no array 'words', and beside it is no words.txt.")


def write_text(path: Path, words: Sequence[str], M: np.ndarray) -> None:
    """Write vectors as word2vec's text: the numbers of words and of dimensions, then a word and its vector a line.

    Parameters
    ----------
    path : Path
        Of the file, which is replaced as a whole.
    words : Sequence[str]
        V words; white space in them, but single spaces, is shown by a sign.
    M : numpy.ndarray
        float (V, r), their vectors.
    """
    with replaced(path) as file:
        file.writelines(text_lines(words, M))


def text_lines(words: Sequence[str], M: np.ndarray) -> Iterator[bytes]:
    """The lines of :func:`write_text`."""
    yield f"{len(words)} {M.shape[1]}\n".encode()
    for word, row in zip(words, M, strict=True):
        numbers = " ".join(f"{value:.9g}" for value in row.tolist())
        shown = word if " ".join(word.split()) == word else printable(word)
        yield f"{shown} {numbers}\n".encode("utf-8", "surrogatepass")
