"""A K-gram index in a file, so that a run that was killed does not index its corpus again.

Tokens and borders of documents are not in it: they come from the texts, whose digest says that it is the same corpus.
What is in an archive has checksums, and a file has its name only once it is whole, so damage is found; what is read is
checked to be numbers of K-grams that there are. That they are the right ones is believed, as everything of a run's own
folder is until ``cflengine verify`` makes the index anew from the texts.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from cflengine.engine.checks import InputError
from cflengine.engine.files import NPZ_DAMAGE, remove_unfinished, replaced
from cflengine.engine.mapped import mapped_array
from cflengine.engine.progress import Watch
from cflengine.text.kgrams import KGramIndex, index_kgrams

#: an index that was made in fewer seconds is not kept
WORTH_S = 5.0
_FREE = 2.0  # times its size must be free on disk
_AT_ONCE = 1 << 24  # numbers that are read at a time


class IndexFile:
    """The index of one corpus in a file.

    Parameters
    ----------
    path : Path
        Of the file.
    digest : str
        Of the corpus (:meth:`~cflengine.text.token_table.TokenTable.digest`).
    say : Callable[[str], None]
        Told in a sentence why a file is of no use.
    """

    def __init__(self, path: Path, digest: str, say: Callable[[str], None]) -> None:
        self.path, self.digest, self.say = path, digest, say

    def make(self, tokens: np.ndarray, doc_ptr: np.ndarray, max_gram: int, **how: Any) -> KGramIndex:
        """:func:`~cflengine.text.kgrams.index_kgrams`, whose parameters these are; keeps what took long to make."""
        self.remove()
        began = time.monotonic()
        index = index_kgrams(tokens, doc_ptr, max_gram, **how)
        if time.monotonic() - began >= WORTH_S and shutil.disk_usage(self.path.parent).free > _FREE * index.nbytes:
            with suppress(OSError), replaced(self.path) as file:  # without it, a later run indexes again
                np.savez(
                    file, digest=np.array(self.digest), grp_ptr=index.grp_ptr, len_ptr=index.len_ptr,
                    gram_of=index.gram_of,
                )  # fmt: skip
        return index

    def read_or_make(self, tokens: np.ndarray, doc_ptr: np.ndarray, max_gram: int, **how: Any) -> KGramIndex:
        """The same index from the file, if there is one and it is whole; made and kept otherwise.

        Raises InputError where the file is another corpus's.
        """
        try:
            return self._read(tokens, doc_ptr, max_gram, **how)
        except FileNotFoundError:
            pass
        except InputError:
            raise
        except (OSError, *NPZ_DAMAGE) as error:
            self.say(f"{self.path} is damaged ({type(error).__name__}): the corpus is indexed again")
        return self.make(tokens, doc_ptr, max_gram, **how)

    def remove(self) -> None:
        """The file, and what a run that was killed while writing it left."""
        self.path.unlink(missing_ok=True)
        remove_unfinished(self.path)

    def _read(
        self,
        tokens: np.ndarray,
        doc_ptr: np.ndarray,
        max_gram: int,
        *,
        on_disk: bool = False,
        folder: str | None = None,
        watch: Watch | None = None,
    ) -> KGramIndex:
        with np.load(self.path, allow_pickle=False) as arrays:
            if str(arrays["digest"]) != self.digest:
                raise InputError(
                    f"{self.path} is of another corpus, another K or other tokens: leave out --resume to begin anew."
                )
            grp_ptr, len_ptr = arrays["grp_ptr"], arrays["len_ptr"]
            n_grams, shape = len(grp_ptr) - 1, (max_gram, len(tokens))
            if not (grp_ptr.dtype == len_ptr.dtype == np.int32 and len(len_ptr) == max_gram + 1):
                raise ValueError("its K-grams have no numbers")
            if len_ptr[0] != 0 or len_ptr[-1] != n_grams or (np.diff(len_ptr) < 0).any() or grp_ptr[0] != 0:
                raise ValueError("its K-grams are not numbered by length")
            if n_grams and int(np.diff(grp_ptr).min()) < 1:
                raise ValueError("it has K-grams that stand nowhere")
            gram_of = mapped_array(shape, np.int32, folder) if on_disk else np.empty(shape, dtype=np.int32)
            with arrays.zip.open("gram_of.npy") as file:
                _fill(file, gram_of, n_grams, watch or Watch())
        return KGramIndex(
            np.ascontiguousarray(tokens, dtype=np.int32), np.ascontiguousarray(doc_ptr, dtype=np.int64),
            gram_of, grp_ptr, len_ptr,
        )  # fmt: skip


def _fill(file: IO[bytes], gram_of: np.ndarray, n_grams: int, watch: Watch) -> None:
    """Read an array of this shape from a .npy file, whose archive checks its sum at its end."""
    version = np.lib.format.read_magic(file)
    if version != (1, 0) or np.lib.format.read_array_header_1_0(file) != (gram_of.shape, False, gram_of.dtype):
        raise ValueError("it is not of so many tokens")
    flat = gram_of.reshape(-1)
    watch.begin("reading the index", "bytes", flat.nbytes)
    for first in range(0, len(flat), _AT_ONCE):
        part = flat[first : first + _AT_ONCE]
        view, done = part.data.cast("B"), 0
        while done < len(view):
            read = file.readinto(view[done:])  # type: ignore[attr-defined]
            if not read:
                raise EOFError("it ends early")
            done += read
        if int(part.min()) < -1 or int(part.max()) >= n_grams:
            raise ValueError("it names K-grams that there are not")
        watch.at((first + len(part)) * flat.itemsize)
    if file.read(1):
        raise ValueError("it is longer than it says")
