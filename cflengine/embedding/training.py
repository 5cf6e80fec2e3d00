"""Training of a network and its vectors: cross entropy plus a penalty, by Adam, an epoch at a time.

What a stop, a time limit or a divergence cuts off is the epoch under way: what is left is the last whole one, or, with
a development set, the best. Nothing is proved about it, since the loss is not convex; the numbers of the trace are
computed from the vectors as they were. The same data and settings give the same bytes, on any number of processors.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, is_zipfile

import numpy as np
from scipy import sparse
from scipy.special import log_softmax

from cflengine.embedding.laws import Pairs, WordLaws, drawn_pairs
from cflengine.embedding.penalties import Penalty, batch_laws, word_discrepancy
from cflengine.embedding.settings import TrainSettings
from cflengine.embedding.width import is_drawn
from cflengine.embedding.words import require_two
from cflengine.engine.checks import InputError
from cflengine.engine.files import replaced
from cflengine.engine.progress import IterationStats, Progress, TerminationReason
from cflengine.engine.results import Result, settings_dict

FILM_WORDS = 1_000  # whose vectors are kept after every epoch: the most frequent
_AT_ONCE = 512  # documents in a prediction
_DIVERGED = 1e6  # cross entropy of a document, on average: no network that learns has it
_LARGEST = 1e30  # that float32 holds, and its products rarely
_NO_CHECKPOINT = "{} is no checkpoint, or is damaged: name another file."
_DAMAGE = (ArithmeticError, AttributeError, BadZipFile, EOFError, LookupError, OSError, TypeError, ValueError)


@dataclass(frozen=True)
class TrainData:
    """ids: int32 (N, L), words of each document, −1 where there is none; y: int64 (N,), classes from 0; M: float64 (V,
    r), where vectors begin; counts: CSR (N, V), what the network sees; kept: bool (V,), the words of wMMD.
    words: those of the rows of M. dev: bool (N,), documents to stop early by, None to draw them."""

    ids: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    n_classes: int
    M: np.ndarray = field(repr=False)
    counts: sparse.csr_matrix = field(repr=False)
    kept: np.ndarray = field(repr=False)
    words: Sequence[str] = field(repr=False)
    dev: np.ndarray | None = field(repr=False, default=None)

    def digest(self, settings: TrainSettings, about: str) -> str:
        """Of everything that a run depends on; about: what is neither in the data nor in the settings."""
        facts = settings_dict(settings) | {"about": about}
        for free in ("time_limit", "tol"):
            facts.pop(free)
        digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
        dev = np.zeros(0, dtype=bool) if self.dev is None else self.dev
        for array in (self.ids, self.y, self.M, self.kept, dev):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class TrainResult(Result):
    """What training leaves. M: float32 (V, r); best_epoch: which it is of; accuracy: of the documents learnt from,
    dev_accuracy: of those beside (NaN without). film: float32 (epochs + 1, words, r), of film_words, int64, the most
    frequent first. objective: cross entropy of the documents learnt from; lower_bound and gap are NaN."""

    M: np.ndarray = field(repr=False)
    film: np.ndarray = field(repr=False)
    film_words: np.ndarray = field(repr=False)
    best_epoch: int
    accuracy: float
    dev_accuracy: float

    def discrepancies(self) -> tuple[float, float]:
        """wMMD² of the documents learnt from, by the vectors as they began and as they are kept."""
        return self._at_both("wmmd")

    def discrepancy_errors(self) -> tuple[float, float]:
        """Their standard errors: 0 where they are exact, above where random features stand in for many words."""
        return self._at_both("wmmd_error")

    def _at_both(self, name: str) -> tuple[float, float]:
        column = self.trace.set_index("iteration")[name]
        return float(column.loc[0]), float(column.loc[self.best_epoch])


def check_checkpoint(path: Path) -> None:
    """InputError for a file that cannot be one, or could not be written."""
    if not path.resolve().parent.is_dir():
        raise InputError(f"the folder of the checkpoint {path} is not there.")
    if path.exists() and not is_zipfile(path):
        raise InputError(_NO_CHECKPOINT.format(path.name or path.resolve()))


def check_use(data: TrainData, settings: TrainSettings, classes: np.ndarray) -> None:
    """ValueError for a penalty that no batch could have, and for patience without documents to be patient with."""
    none_beside = settings.dev_share == 0 if data.dev is None else not data.dev.any()
    if settings.patience is not None and none_beside:
        raise InputError("patience is for documents to stop early by: give a dev_share, or dev.")
    if "wmmd" not in settings.regulariser or settings.lam == 0:
        return
    if not data.kept.any():
        raise InputError("every word that the network sees is a stop word: nothing is left to be compared.")
    learnt, _ = _split(data, settings)
    has_words = np.asarray(data.counts[:, data.kept].sum(axis=1)).ravel() > 0
    sizes = np.bincount(data.y[learnt[has_words[learnt]]], minlength=data.n_classes)
    require_two(sizes, classes, "to learn from with a known word: wMMD")


class Training:
    """One run. penalty: None without wMMD; checkpoint: a file, written after each epoch, from which a run of the same
    data and settings goes on; about: what else it has to be of. A listener with a method ``vectors(words, M)`` gets,
    before each event, the most frequent words and their vectors, float32."""

    def __init__(
        self,
        data: TrainData,
        settings: TrainSettings,
        penalty: Penalty | None = None,
        *,
        progress: Progress | None = None,
        checkpoint: Path | None = None,
        about: str = "",
        n_threads: int | None = None,
    ) -> None:
        import jax.numpy as jnp

        from cflengine.embedding import networks

        self.data, self.settings, self.penalty, self.n_threads = data, settings, penalty, n_threads
        self.checkpoint, self.networks = checkpoint, networks
        self.progress, self.about = progress or Progress(time_limit=settings.time_limit), about
        self.train, self.dev = _split(data, settings)
        self.batch_size = min(settings.batch_size, len(self.train))
        batch = (self.batch_size, data.ids.shape[1])
        networks.require_memory(settings.network, data.M.shape, data.n_classes, settings.hidden, batch)
        net = networks.initial(
            settings.network, data.M.shape[1], data.n_classes, settings.hidden, settings.random_state
        )
        M = _within(data.M, settings.max_norm)
        self.tree: Any = {"M": jnp.asarray(M, dtype=jnp.float32), "net": net}
        self.begun, self.state = self.tree["M"], networks.begin(self.tree)
        #: accuracy and −cross entropy of documents beside, the epoch they are of, its weights
        self.best: tuple[float, float, int, Any] = (-math.inf, -math.inf, 0, self.tree)
        self.better = 0  # the epoch that had a better accuracy than all before it
        self.epoch, self.reason = 0, TerminationReason.ITERATION_LIMIT
        self.earlier_s = 0.0  # of the run that a checkpoint is of
        self.frequent = np.argsort(-np.asarray(data.counts.sum(axis=0)).ravel(), kind="stable")[:FILM_WORDS]
        self.film = [np.asarray(self.begun)[self.frequent]]

    @cached_property
    def digest(self) -> str:
        """Of everything that the run depends on."""
        return self.data.digest(self.settings, self.about)

    @cached_property
    def _compared(self) -> tuple[WordLaws, np.ndarray] | None:
        """Laws of the documents learnt from, and their words: see :func:`batch_laws`."""
        return batch_laws(self.data.counts[self.train], self.data.y[self.train], self.data.kept)

    @cached_property
    def _pairs(self) -> Pairs | None:
        """By which the median distance of these words is measured: the same at every epoch."""
        assert self._compared is not None
        laws = self._compared[0]
        return drawn_pairs(laws.laws, 0) if is_drawn(laws) else None

    def run(self) -> TrainResult:
        """All epochs, or as many as time and listeners allow."""
        if self.checkpoint is not None and self.checkpoint.exists():
            self._resume()
            if self.reason is TerminationReason.CONVERGED:
                return self._result()
        else:
            self._report({"loss": math.nan, "accuracy": math.nan, "penalty": math.nan})
        while self.epoch < self.settings.epochs and self.progress.poll():
            before = (self.tree, self.state)
            found = self._run_epoch()
            if found is None:
                self.tree, self.state = before
                break
            self.epoch += 1
            self.film.append(np.asarray(self.tree["M"])[self.frequent])
            going = self._report(found) and not self._impatient()
            if self.checkpoint is not None:
                self._save()
            if not going:
                break
        return self._result()

    def _run_epoch(self) -> dict[str, float] | None:
        """One pass over the documents; None where it was stopped or diverged, and ``reason`` says which."""
        own = self.settings
        order = np.random.default_rng((own.random_state, 2, self.epoch)).permutation(self.train)
        rate = own.learning_rate * (1.0 - self.epoch / own.epochs)
        loss = correct = penalty = 0.0
        for step, first in enumerate(range(0, len(order), self.batch_size)):
            if not self.progress.poll():
                return None
            batch = order[first : first + self.batch_size]
            entropy, right, value = self._step(batch, rate, step)
            if not (math.isfinite(entropy) and math.isfinite(value)):
                self.reason = TerminationReason.NUMERICAL_ERROR
                return None
            loss, correct, penalty = loss + entropy * len(batch), correct + right, penalty + value * len(batch)
        if loss > _DIVERGED * len(order) or not self._is_finite():
            self.reason = TerminationReason.NUMERICAL_ERROR
            return None
        n = len(order)
        return {"loss": loss / n, "accuracy": correct / n, "penalty": penalty / n}

    def _is_finite(self) -> bool:
        """Whether all weights, and some documents' scores, are numbers: the last step's loss was that before it."""
        import jax

        # of Adam, too: where a square of a gradient is infinite, its steps are 0, and nothing is learnt any more
        leaves = jax.tree.leaves((self.tree, self.state))
        if not all(bool(np.isfinite(np.asarray(leaf)).all()) for leaf in leaves):
            return False
        some = self.data.ids[self.train[: self.batch_size]]
        return bool(np.isfinite(self.scores(self.tree, some)).all())

    def _step(self, batch: np.ndarray, rate: float, step: int) -> tuple[float, float, float]:
        """Cross entropy, correct ones and what the penalty adds to the loss of a batch, before the step."""
        import jax
        import jax.numpy as jnp

        own, data = self.settings, self.data
        short = self.batch_size - len(batch)
        filled = np.concatenate([batch, np.repeat(batch[:1], short)]) if short else batch
        given = {
            "ids": data.ids[filled], "y": data.y[filled].astype(np.int32),
            "weight": (np.arange(self.batch_size) < len(batch)).astype(np.float32),
        }  # fmt: skip
        key = jax.random.fold_in(jax.random.fold_in(jax.random.PRNGKey(own.random_state % 2**32), self.epoch), step)
        (_, (entropy, correct, added)), gradient = self.networks.loss_and_gradient(
            own.network, own.regulariser, self.tree, self.begun, given, jnp.float32(min(own.lam, _LARGEST)), key
        )
        value, penalty_gradient = 0.0, np.zeros((1, 1), dtype=np.float32)
        if self.penalty is not None and own.lam > 0 and math.isfinite(float(entropy)):
            value, towards = self.penalty(batch, np.asarray(self.tree["M"], dtype=np.float64))
            with np.errstate(over="ignore"):
                penalty_gradient = (-own.lam * towards).astype(np.float32)
        self.tree, self.state = self.networks.update(
            self.tree, self.state, gradient, penalty_gradient, jnp.float32(min(rate, _LARGEST)), own.max_norm,
            own.max_gradient,
        )  # fmt: skip
        return float(entropy), float(correct), float(added) - own.lam * value

    def _report(self, found: dict[str, float]) -> bool:
        dev, entropy = self._judged(self.dev)
        # weights as they were drawn are never kept, and without a development set the last ones are
        score = (dev, -entropy) if len(self.dev) else (float(self.epoch), 0.0)
        if self.epoch and score > self.best[:2]:
            self.better = self.epoch if score[0] > self.best[0] else self.better
            self.best = (*score, self.epoch, self.tree)
        for listener in self.progress.listeners:
            if hasattr(listener, "vectors"):
                listener.vectors([self.data.words[v] for v in self.frequent.tolist()], self.film[-1])
        extra, (wmmd, error) = {name: found[name] for name in ("accuracy", "penalty")}, self.discrepancy()
        return self.progress.report(
            IterationStats(
                self.epoch, "epoch", self._seconds, work=float(self.epoch), objective=found["loss"],
                lam=self.settings.lam,
                extra=extra | {"dev_accuracy": dev, "dev_loss": entropy, "wmmd": wmmd, "wmmd_error": error},
            )
        )  # fmt: skip

    def _impatient(self) -> bool:
        patience = self.settings.patience
        done = patience is not None and len(self.dev) > 0 and self.epoch - self.better >= patience
        if done:
            self.reason = TerminationReason.CONVERGED
        return done

    @property
    def _seconds(self) -> float:
        return self.earlier_s + self.progress.elapsed_s

    def _judged(self, documents: np.ndarray) -> tuple[float, float]:
        """The share of documents whose class is found, and their cross entropy; NaN without any."""
        if not len(documents):
            return math.nan, math.nan
        scores, y = self.scores(self.tree, self.data.ids[documents]), self.data.y[documents]
        entropy = -log_softmax(scores, axis=1)[np.arange(len(y)), y]
        return float(np.mean(scores.argmax(axis=1) == y)), float(entropy.mean())

    def scores(self, tree: Any, ids: np.ndarray) -> np.ndarray:
        """float32 (documents, C)."""
        return predict_scores(self.settings.network, tree["net"], tree["M"], ids)

    def discrepancy(self) -> tuple[float, float]:
        """wMMD² of the documents learnt from by the vectors as they are, at their median width; NaN for a width of 0;
        and its standard error: above 0 by random features, where words are many."""
        if self._compared is None:
            return math.nan, math.nan
        laws, words = self._compared
        M = np.asarray(self.tree["M"], dtype=np.float64)[words]
        return word_discrepancy(laws, M, self.n_threads, self._pairs)

    def _result(self) -> TrainResult:
        if self.progress.reason is not None and self.reason is TerminationReason.ITERATION_LIMIT:
            self.reason = self.progress.reason
        _, _, epoch, self.tree = self.best
        accuracy, entropy = self._judged(self.train)
        return TrainResult(
            objective=entropy, lower_bound=math.nan, gap=math.nan, reason=self.reason,
            n_iterations=self.epoch, n_passes=float(self.epoch), seconds=self._seconds,
            solver=self.settings.network, settings=settings_dict(self.settings), events=tuple(self.progress.records),
            M=np.asarray(self.tree["M"]), film=np.stack(self.film), film_words=self.frequent, best_epoch=epoch,
            accuracy=accuracy, dev_accuracy=self._judged(self.dev)[0],
        )  # fmt: skip

    def _save(self) -> None:
        """Everything that the next epochs depend on, in one file."""
        import jax

        assert self.checkpoint is not None
        leaves = jax.tree.leaves((self.tree, self.state, self.best[3]))
        arrays: dict[str, Any] = {f"leaf{k}": np.asarray(leaf) for k, leaf in enumerate(leaves)}
        facts = {
            "digest": self.digest, "epoch": self.epoch, "best": self.best[:3], "better": self.better,
            "reason": str(self.reason),
            "trace": [stats.to_row() for stats in self.progress.records],
        }  # fmt: skip
        arrays["film"], arrays["facts"] = np.stack(self.film), np.array(json.dumps(facts))
        with replaced(self.checkpoint) as file:
            np.savez(file, **arrays)

    def _resume(self) -> None:
        """Go on where a run of the same data and settings was. Raises ValueError for a file of another one."""
        import jax

        assert self.checkpoint is not None
        begun, structure = jax.tree.flatten((self.tree, self.state, self.best[3]))
        try:
            with np.load(self.checkpoint, allow_pickle=False) as arrays:
                facts = json.loads(str(arrays["facts"]))
                leaves = [arrays[f"leaf{k}"] for k in range(len(begun))]
                film, digest, trace = arrays["film"], facts["digest"], list(facts["trace"])
                accuracy, entropy, best_epoch = facts["best"]
                epoch, better, reason = int(facts["epoch"]), int(facts["better"]), TerminationReason(facts["reason"])
        except _DAMAGE as error:
            raise InputError(_NO_CHECKPOINT.format(self.checkpoint.name)) from error
        if digest != self.digest:
            raise InputError(f"{self.checkpoint.name} is of other documents or settings: remove it, or name another.")
        self.tree, self.state, best = jax.tree.unflatten(structure, leaves)
        self.epoch, self.best, self.film = epoch, (accuracy, entropy, best_epoch, best), list(film)
        self.better, self.reason = better, reason
        for row in trace:
            own = {name: row.pop(name) for name in IterationStats.__slots__ if name in row}
            self.progress.records.append(IterationStats(**own, extra=row))
        self.earlier_s = self.progress.records[-1].elapsed_s if trace else 0.0


def predict_scores(network: str, net: Any, M: Any, ids: np.ndarray) -> np.ndarray:
    """Logits float32 (documents, C), some documents at a time."""
    from cflengine.embedding import networks

    found = []
    for first in range(0, len(ids), _AT_ONCE):
        part = ids[first : first + _AT_ONCE]
        short = _AT_ONCE - len(part) if len(ids) > _AT_ONCE else 0
        filled = np.pad(part, ((0, short), (0, 0)), constant_values=-1)
        found.append(np.asarray(networks.predict(network, net, M, filled))[: len(part)])
    return np.concatenate(found) if found else np.zeros((0, 0), dtype=np.float32)


def _within(M: np.ndarray, max_norm: float | None) -> np.ndarray:
    """Vectors as training begins with them: all made smaller by one factor, so that half of them are within the
    largest length, and the others cut to it."""
    if max_norm is None:
        return M
    lengths = np.linalg.norm(M, axis=1, keepdims=True)
    middle = float(np.median(lengths[lengths > 0])) if (lengths > 0).any() else 1.0
    smaller = min(1.0, max_norm / middle)
    return M * (smaller * np.minimum(1.0, max_norm / np.maximum(smaller * lengths, 1e-12)))


def _split(data: TrainData, settings: TrainSettings) -> tuple[np.ndarray, np.ndarray]:
    """Documents to learn from and, of every class the share, to stop early by."""
    if data.dev is not None:
        return np.flatnonzero(~data.dev), np.flatnonzero(data.dev)
    y, rank = data.y, np.empty(len(data.y), dtype=np.int64)
    order = np.random.default_rng((settings.random_state, 3)).permutation(len(y))
    for c in np.unique(y):
        mine = order[y[order] == c]
        share = settings.dev_share * len(mine)
        rank[mine] = np.arange(len(mine)) < (max(int(share), 1) if share > 0 and len(mine) > 1 else 0)
    return np.flatnonzero(rank == 0), np.flatnonzero(rank == 1)
