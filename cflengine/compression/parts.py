"""Features of many new documents, part after part: in this process, or on the workers of a Dask cluster.

A part is a run of documents of one input, of about as many characters as the next. What comes of it is a table of its
non-zero features, and does not depend on where it was made.
"""

from __future__ import annotations

import hashlib
import io
import math
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from cflengine._version import __version__
from cflengine.engine.checks import InputError, MissingPackageError
from cflengine.engine.cluster import LOST, check_workers, connected, lost_error, submit, usable_workers
from cflengine.engine.jit import threads
from cflengine.linear.persistence import load_model, save_model
from cflengine.text.corpus import whole_characters
from cflengine.text.stored import as_documents, refuse_frame

if TYPE_CHECKING:
    from distributed import Client, Future

    from cflengine.compression.estimator import CompressiveFeatures
    from cflengine.text.corpus import Corpus

PART_CHARACTERS = 16 << 20  # some four million tokens, which take some 250 MB to encode
_QUEUED = 2  # parts for every thread of the workers, each of which encodes one
_MOST_QUEUED = 100  # whose texts are in memory here
_ASKED_EVERY_S = 1.0  # whether workers that were chosen are still there

_models: dict[str, CompressiveFeatures] = {}  # on a worker, that of the run it is at work for


@dataclass(frozen=True)
class Documents:
    """A part of an input that is to be encoded.

    Parameters
    ----------
    first : int
        Number of its first document.
    rows : ndarray
        int64, by document, in its input.
    texts : list[str]
        Of its documents.
    source : str
        What its input is called.
    """

    first: int
    rows: np.ndarray
    texts: list[str]
    source: str


@dataclass(frozen=True)
class EncodedPart:
    """The features of a part, as a table of those that are not zero.

    Parameters
    ----------
    table : Table
        document (int64), source, row (int64), feature, count or weight.
    n_documents : int
        Of the part.
    n_tokens : int
        Of the part.
    seconds : float
        That encoding took.
    n_threads : int
        That it ran on.
    """

    table: pa.Table
    n_documents: int
    n_tokens: int
    seconds: float
    n_threads: int


def in_parts(corpus: Corpus, source: str, first: int = 0) -> Iterator[Documents]:
    """A corpus in parts.

    Parameters
    ----------
    corpus : Corpus
        What was read.
    source : str
        What it is from, for messages.
    first : int
        Number of its first document.

    Returns
    -------
    iterator of Documents
        In order.
    """
    source, _ = whole_characters(source)  # a name of a file need not be text
    begin = size = 0
    texts: list[str] = []
    for text in corpus.texts:
        texts.append(text)
        size += len(text)
        if size >= PART_CHARACTERS:
            yield Documents(first + begin, corpus.rows[begin : begin + len(texts)], texts, source)
            begin, size, texts = begin + len(texts), 0, []
    if texts:
        yield Documents(first + begin, corpus.rows[begin:], texts, source)


def encode_part(model: CompressiveFeatures, part: Documents) -> EncodedPart:
    """The features of some documents, with as many threads as the model has."""
    began = time.perf_counter()
    with threads(model.n_threads) as n_threads:
        table = model._tokens(part.texts)
        features = model.features(table)
    row = np.repeat(np.arange(features.shape[0]), np.diff(features.indptr))
    kinds, which = np.unique(features.indices, return_inverse=True)  # a part does not carry the whole dictionary
    names = pa.array(model.get_feature_names_out()[kinds], type=pa.string())
    value = "count" if np.issubdtype(features.dtype, np.integer) else "weight"
    columns: dict[str, Any] = {
        "document": part.first + row,
        "source": pa.DictionaryArray.from_arrays(np.zeros(len(row), dtype=np.int32), pa.array([part.source])),
        "row": part.rows[row],
        "feature": pa.DictionaryArray.from_arrays(which.astype(np.int32), names),
        value: features.data,
    }
    seconds = time.perf_counter() - began
    return EncodedPart(pa.table(columns), len(part.texts), table.n_tokens, seconds, n_threads)


def encode_parts(
    model: CompressiveFeatures, parts: Iterable[Documents], *, cluster: str | None = None
) -> Iterator[EncodedPart]:
    """The features of all parts, in their order; a few parts are in memory at a time.

    Parameters
    ----------
    model : CompressiveFeatures
        Fitted.
    parts : iterable of Documents
        As :func:`in_parts` gives them.
    cluster : str, optional
        "local" or a scheduler's address.

    Returns
    -------
    iterator of EncodedPart
        One a part.

    Raises
    ------
    MissingPackageError
        Without Dask.
    InputError
        Where no scheduler or no usable worker answers.
    """
    if cluster is None:
        _load_kernels(model)
        for part in parts:
            yield encode_part(model, part)
        return
    key, saved = _saved(model)
    with connected(cluster) as client:
        check_workers(client)
        workers = _Workers(client, key, saved)
        waiting: deque[tuple[Documents, Future]] = deque()
        for part in parts:
            waiting.append((part, workers.begin(part)))
            while len(waiting) >= min(_QUEUED * workers.threads(), _MOST_QUEUED):
                yield workers.end(*waiting.popleft())
        while waiting:
            yield workers.end(*waiting.popleft())


class OtherVersionError(Exception):
    """The worker has another version of this package."""


class _GoneError(Exception):
    """All workers that a part was meant for are gone."""


class _Workers:
    """A model on the workers of a cluster, sent again where it was lost with the last that had it. usable: those to
    work on; None for all."""

    def __init__(self, client: Client, key: str, saved: bytes) -> None:
        self.client, self.key, self.saved = client, key, saved
        self.usable: list[str] | None = None
        self._send()

    def _send(self) -> None:
        self.sent = self.client.scatter(self.saved, broadcast=True)

    def threads(self) -> int:
        """Of the workers that are there."""
        return max(1, sum(one["nthreads"] for one in self._listed().values()))

    def _listed(self) -> dict[str, Any]:
        found: dict[str, Any] = self.client.scheduler_info(n_workers=-1)["workers"]
        return found

    def begin(self, part: Documents) -> Future:
        return submit(self.client, _on_worker, self.key, self.sent, part, __version__, workers=self.usable)

    def end(self, part: Documents, future: Future) -> EncodedPart:
        """Wait for a part. Raises what went wrong there, InputError where no worker comes back, or all are lost."""
        from distributed import KilledWorker

        for _ in range(LOST):
            try:
                self._wait(future)
                return future.result()
            except OtherVersionError:  # a worker that came later
                self.usable = usable_workers(self.client)
            except (_GoneError, CancelledError):  # the second is what Dask says of calls whose arguments are gone
                self.usable = usable_workers(self.client)
                if self.sent.status != "finished":
                    self._send()
            except KilledWorker:
                break
            future = self.begin(part)
        raise lost_error(f"the part from document {part.first + 1} on")

    def _wait(self, future: Future) -> None:
        """Until the part is done. Raises _GoneError where it waits for workers that were chosen and are all gone."""
        from distributed import wait

        while future.status == "pending":
            with suppress(TimeoutError), self.client.as_current():
                wait(future, timeout=_ASKED_EVERY_S)
            if future.status == "pending" and self.usable is not None and not set(self.usable) & set(self._listed()):
                future.cancel()
                raise _GoneError


def transform_partitions(model: CompressiveFeatures, X: Any) -> Any:
    """The features of a Dask bag of texts, or of a series of them, by partition: a Dask array of CSR matrices. Raises
    MissingPackageError without Dask's arrays, TypeError for a frame, InputError where set_output asks for
    one."""
    refuse_frame(X)
    if getattr(model, "_sklearn_output_config", {}).get("transform", "default") != "default":
        raise InputError("Dask partitions become Dask arrays of sparse matrices: set_output(transform='default').")
    try:
        import dask.array as da
        from dask import delayed
    except ImportError:
        raise MissingPackageError('features of Dask partitions need Dask: pip install "cflengine[cluster]".') from None
    key, saved = _saved(model)
    held, on_partition = delayed(saved), delayed(_features_on_worker, pure=True)
    kind = model.features([]).dtype
    shape, meta = (math.nan, len(model.grams_)), sparse.csr_matrix((0, 0), dtype=kind)
    parts = (on_partition(key, held, part, __version__) for part in X.to_delayed())
    return da.concatenate(
        [da.from_delayed(part, shape=shape, dtype=kind, meta=meta) for part in parts], allow_unknown_chunksizes=True
    )


def _saved(model: CompressiveFeatures) -> tuple[str, bytes]:
    """A name for a model, and what travels of it: what transforming takes, not the corpus it was learnt from."""
    file = io.BytesIO()
    save_model(model, file)
    return hashlib.sha256(file.getvalue()).hexdigest(), file.getvalue()


def _model(key: str, data: bytes) -> CompressiveFeatures:
    found = _models.get(key)
    if found is None:
        _models.clear()
        # a part a thread of the worker, which may have several at work
        found = _models[key] = _load_kernels(load_model(io.BytesIO(data)).set_params(n_threads=1))
    return found


def _load_kernels(model: CompressiveFeatures) -> CompressiveFeatures:
    """What is compiled is there before seconds are counted."""
    model.features(["a"])
    return model


def _on_worker(key: str, data: bytes, part: Documents, version: str) -> EncodedPart:
    if version != __version__:
        raise OtherVersionError
    return encode_part(_model(key, data), part)


def _features_on_worker(key: str, data: bytes, texts: Any, version: str) -> sparse.csr_matrix:
    if version != __version__:
        raise InputError(f"a worker has cflengine {__version__}, but the model is of {version}: they must be the same.")
    return _model(key, data).features(as_documents(texts))
