"""A network over word vectors that are kept apart by wMMD, with scikit-learn's manners."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from cflengine.embedding.fitted import FittedEmbedding
from cflengine.embedding.learnt import learn_vectors
from cflengine.embedding.penalties import BatchPenalty, Penalty, StructuredPenalty, bigram_penalty, group_masks
from cflengine.embedding.settings import DEFAULT_LAMS, TrainSettings, require_neural
from cflengine.embedding.training import TrainData, Training, check_checkpoint, check_use
from cflengine.embedding.vectors import word_vectors
from cflengine.embedding.words import label_texts, left_out, longest_document, stop_word_set, word_ids
from cflengine.engine.checks import InputError, check_choice, check_whole
from cflengine.engine.estimators import all_or_nothing, clone_sharing_listeners, outside, seed_of
from cflengine.engine.memory import require_bytes
from cflengine.engine.progress import Listener, Poll, Progress, TerminationReason
from cflengine.linear import saving
from cflengine.linear.parameters import read_parameters
from cflengine.linear.saving import require
from cflengine.text.token_table import WORD_PATTERN, TokenTable, check_pattern
from cflengine.text.tokens import Tokenizer

INITIAL = ("random", "learnt")
_DIVERGED = (
    "training diverged in its first epoch: take a smaller lam or learning_rate, or, with a recurrent network, "
    "max_gradient=1."
)


class DivergedError(InputError):
    """Training that has no epoch to keep."""


class WordMMDEmbedding(FittedEmbedding):
    """A neural text classifier whose word vectors M are trained with it, under a penalty (Gao, Dai, JASA 2025).

    Minimises mean cross entropy + penalty over the network and M; the penalty is one of
    :data:`~cflengine.embedding.settings.REGULARISERS`, of which "wmmd", −λ Σ wMMD²(M) over pairs of classes in a batch,
    keeps the words of classes apart. Needs the extra ``neural`` (JAX and optax).

    Parameters
    ----------
    network : str, default: 'cnn'
        "mean" (of vectors, under a linear layer), "cnn" (convolutions over 3, 4 and 5 words), "gru", "bilstm".
    regulariser : str, default: 'wmmd'
        The penalty, a key of :data:`~cflengine.embedding.settings.REGULARISERS`.
    lam : float or None, default: None
        λ of the penalty; None: a usual one of that penalty.
    dimension : int, default: 20
        r, where no vectors are given.
    initial : str, default: 'random'
        Where M begins then: "random" (normal), or "learnt" from the documents by PPMI and a singular value
        decomposition.
    groups : Sequence[Sequence[str]] or None, default: None
        Lists of words, for "structured wmmd".
    stop_words : object, default: None
        None, "english" or a list: words that the penalty leaves out; the network sees them.
    min_count : int, default: 2
        Occurrences, also in texts to stop by, below which a word is unknown.
    epochs : int, default: 30
        See :class:`~cflengine.embedding.settings.TrainSettings`; the defaults are the article's.
    batch_size : int, default: 64
        See :class:`~cflengine.embedding.settings.TrainSettings`; the defaults are the article's.
    learning_rate : float, default: 0.1
        See :class:`~cflengine.embedding.settings.TrainSettings`; the defaults are the article's.
    hidden : int, default: 100
        See :class:`~cflengine.embedding.settings.TrainSettings`; the defaults are the article's.
    max_length : int, default: 256
        See :class:`~cflengine.embedding.settings.TrainSettings`; the defaults are the article's.
    max_norm : float or None, default: 1.0
        See :class:`~cflengine.embedding.settings.TrainSettings`; the defaults are the article's.
    max_gradient : float or None, default: None
        See :class:`~cflengine.embedding.settings.TrainSettings`; the defaults are the article's.
    dev_share : float, default: 0.0
        See :class:`~cflengine.embedding.settings.TrainSettings`; the defaults are the article's.
    patience : int or None, default: None
        See :class:`~cflengine.embedding.settings.TrainSettings`; the defaults are the article's.
    token_pattern : str, default: '\\w+'
        Regular expression; every match is a word.
    lowercase : bool, default: True
        lower-case words.
    random_state : object, default: 0
        Of everything drawn.
    checkpoint : str or os.PathLike[str] or None, default: None
        A file, written after each epoch, from which the same fit goes on.
    n_threads : int or None, default: None
        Of the penalty, None for all cores.
    time_limit : float or None, default: None
        Seconds, None for no limit.
    listeners : Sequence[Listener], default: ()
        Get an event an epoch (accuracy, penalty, wmmd, dev_accuracy); False ends the fit, with what there is.

    Attributes
    ----------
    classes_ : labels, sorted. words_ : the vocabulary; vectors_ : float32 (V, r), M as trained; initial_vectors_ : as
        it began. result_ : TrainResult; trace_ : DataFrame, a row an epoch. n_iter_ : epochs; solver_reason_.
        n_drawn_ : words that the vectors given do not have, whose own begin at random; 0 without such vectors.

    Raises
    ------
    MissingPackageError where JAX or optax is not installed; ValueError for settings out of range, labels of one class,
    texts without words, vectors that cannot be used, and training that diverged in its first epoch; Stopped where a
    listener or the time limit ends it while vectors are read or learnt.

    Notes
    -----
    What each regulariser adds to the mean cross entropy; M: (V, r), M₀: as it began.

    - "none": nothing.
    - "l1": λ mean |M_vk|.
    - "dropout": nothing; in training a word's coordinates are 0 with probability λ, the others are divided by 1 − λ.
    - "re-embedding": λ mean (M_vk − M₀_vk)² (Labutov, Lipson, ACL 2013; Peng et al., EMNLP 2015).
    - "group lasso": λ mean_v ‖M_v‖₂, a group for each word's vector.
    - "wmmd": −λ Σ wMMD²(M) over pairs of classes, of the documents of a batch.
    - "structured wmmd": −λ Σ wMMD² over ``groups`` of words, of the documents' words in each.
    - "bigram wmmd": −λ Σ wMMD² over pairs of classes, of two known words in a row, their vectors joined.
    """

    kind = "embedding"

    def __init__(
        self,
        network: str = "cnn",
        regulariser: str = "wmmd",
        lam: float | None = None,
        *,
        dimension: int = 20,
        initial: str = "random",
        groups: Sequence[Sequence[str]] | None = None,
        stop_words: Any = None,
        min_count: int = 2,
        epochs: int = 30,
        batch_size: int = 64,
        learning_rate: float = 0.1,
        hidden: int = 100,
        max_length: int = 256,
        max_norm: float | None = 1.0,
        max_gradient: float | None = None,
        dev_share: float = 0.0,
        patience: int | None = None,
        token_pattern: str = WORD_PATTERN,
        lowercase: bool = True,
        random_state: Any = 0,
        checkpoint: str | os.PathLike[str] | None = None,
        n_threads: int | None = None,
        time_limit: float | None = None,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.network = network
        self.regulariser = regulariser
        self.lam = lam
        self.dimension = dimension
        self.initial = initial
        self.groups = groups
        self.stop_words = stop_words
        self.min_count = min_count
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.hidden = hidden
        self.max_length = max_length
        self.max_norm = max_norm
        self.max_gradient = max_gradient
        self.dev_share = dev_share
        self.patience = patience
        self.token_pattern = token_pattern
        self.lowercase = lowercase
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.n_threads = n_threads
        self.time_limit = time_limit
        self.listeners = listeners

    @all_or_nothing
    def fit(
        self, texts: Sequence[str], labels: Any, vectors: Any = None, *, dev: np.ndarray | None = None
    ) -> WordMMDEmbedding:
        """Learn from labelled texts.

        Parameters
        ----------
        texts : Sequence[str]
            N texts.
        labels : object
            (N,), the class of each.
        vectors : object, default: None
            Where M begins: a mapping from words to vectors, a pair of words and an array, or a file, as
            :meth:`WordMMD.fit <cflengine.WordMMD.fit>` takes them; a word without one begins at random. None: as
            ``initial`` says.
        dev : numpy.ndarray or None, default: None
            bool (N,), texts to stop early by, in place of a ``dev_share``.

        Returns
        -------
        WordMMDEmbedding
            Itself.

        Raises
        ------
        What the class raises.
        """
        settings = self._settings()
        require_neural()
        progress = Progress(self.listeners, time_limit=settings.time_limit)
        texts, classes, y = label_texts(texts, labels)
        dev = _checked_dev(dev, y)
        table = Tokenizer(self.token_pattern, self.lowercase)(texts)
        words, M = self._vocabulary(table, vectors, settings, progress.poll)
        settings = replace(settings, dimension=M.shape[1])  # that of vectors which were given
        number = {word: k for k, word in enumerate(words)}
        ids = word_ids(table, number, min(settings.max_length, longest_document(table)))
        data = replace(self._data(ids, y, len(classes), M, words), dev=dev)
        check_use(data, settings, classes)
        run = Training(
            data, settings, self._penalty(data, words), progress=progress, n_threads=self.n_threads,
            checkpoint=None if self.checkpoint is None else Path(self.checkpoint),
            about=json.dumps([self._groups(), words, saving.plain_labels(classes), self.token_pattern, self.lowercase]),
        )  # fmt: skip
        result = run.run()
        if result.reason is TerminationReason.NUMERICAL_ERROR and result.n_iterations == 0:
            raise DivergedError(_DIVERGED)
        self._set(classes, words, run.tree["net"], result.M)
        self.initial_vectors_, self.result_, self.trace_ = np.asarray(run.begun), result, result.trace
        self.n_iter_, self.solver_reason_ = result.n_iterations, str(result.reason)
        return self

    @classmethod
    def from_parts(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], name: str) -> WordMMDEmbedding:
        """The other way; name: of the file. Raises ModelFileError where the parts do not fit together."""
        require({"parameters", "classes", "words", "reason"} <= set(header) and "vectors" in arrays, name)
        classes, words = header["classes"], header["words"]
        require(saving.are_labels(classes) and isinstance(words, list), name)
        require(all(isinstance(word, str) for word in words) and len(set(words)) == len(words), name)
        model = cls(**read_parameters(cls, header["parameters"], name, least=_LEAST))
        settings = model._settings()
        M, net = arrays["vectors"], saving.under(arrays, "net")
        require(M.shape == (len(words), settings.dimension) and M.dtype == np.float32, name)
        require(_fits(net, settings, len(classes)), name)
        require(all(np.isfinite(one).all() for one in (M, *net.values())), name)
        model._set(saving.label_array(classes), tuple(words), net, M)
        model.solver_reason_ = str(header["reason"])
        return model

    def check(self) -> None:
        """ValueError for parameters that ``fit`` would refuse, whatever the texts."""
        self._settings()
        stop_word_set(self.stop_words)

    def _settings(self) -> TrainSettings:
        check_whole(self, {"min_count": 1})
        check_pattern(self.token_pattern)
        check_choice(self.initial, "initial", INITIAL)
        groups = self._groups()
        if self.checkpoint is not None:
            check_checkpoint(Path(self.checkpoint))
        if (self.regulariser == "structured wmmd") != bool(groups):
            raise InputError('groups of words are for the regulariser "structured wmmd", which needs them.')
        known = DEFAULT_LAMS.get(self.regulariser, 0.0) if self.lam is None else self.lam
        own: dict[str, Any] = {name: getattr(self, name) for name in _OF_TRAINING}
        return TrainSettings(lam=known, random_state=seed_of(self.random_state), **own)

    def _groups(self) -> list[list[str]]:
        given = [] if self.groups is None else self.groups
        if not isinstance(given, str) and isinstance(given, Iterable):
            groups = [[] if isinstance(group, str) else list(group) for group in given]
            if all(group and all(isinstance(word, str) for word in group) for group in groups):
                return [list(map(str, group)) for group in groups]
        raise InputError("groups are lists of words: [['good', 'bad'], ['day']].")

    def _vocabulary(
        self, table: TokenTable, vectors: Any, settings: TrainSettings, poll: Poll
    ) -> tuple[tuple[str, ...], np.ndarray]:
        """The words of at least min_count occurrences, and where their vectors begin, float64 (V, r)."""
        counts = np.bincount(table.tokens, minlength=len(table.vocabulary)) if table.n_tokens else np.zeros(0, int)
        chosen = np.flatnonzero(counts >= self.min_count)
        if len(chosen) < 2:
            raise InputError(f"fewer than two words occur {self.min_count} times: take a smaller min_count.")
        words, self.n_drawn_ = tuple(table.vocabulary[k] for k in chosen.tolist()), 0
        rng = np.random.default_rng((settings.random_state, 0))
        if vectors is None:
            require_bytes(16 * len(words) * settings.dimension, "Vectors of these words", "take a smaller dimension.")
        else:
            found = word_vectors(vectors, words, poll)
            self.n_drawn_ = len(words) - len(found.words)
            return words, found.with_drawn(words, rng)
        if self.initial == "learnt":
            word_of = np.full(len(counts), -1, dtype=np.int64)
            word_of[chosen] = np.arange(len(chosen))
            M = learn_vectors(
                word_of[table.tokens], table.doc_ptr, len(words), settings.dimension,
                seed=settings.random_state, poll=poll,
            )  # fmt: skip
            return words, np.pad(M, ((0, 0), (0, settings.dimension - M.shape[1])))
        return words, rng.normal(size=(len(words), settings.dimension))

    def _data(self, ids: np.ndarray, y: np.ndarray, n_classes: int, M: np.ndarray, words: tuple[str, ...]) -> TrainData:
        document, at = np.nonzero(ids >= 0)
        counts = sparse.coo_matrix((np.ones(len(document)), (document, ids[document, at])), (len(ids), len(words)))
        return TrainData(
            ids, y, n_classes, M, counts.tocsr(), ~left_out(words, self.stop_words, self.lowercase), words
        )  # fmt: skip

    def _penalty(self, data: TrainData, words: tuple[str, ...]) -> Penalty | None:
        if self.regulariser == "wmmd":
            return BatchPenalty(data.counts, data.y, data.kept, self.n_threads)
        if self.regulariser == "bigram wmmd":
            return bigram_penalty(data.ids, data.y, data.kept, self.n_threads)
        if self.regulariser != "structured wmmd":
            return None
        groups = [[word.lower() if self.lowercase else word for word in group] for group in self._groups()]
        missing = sorted({word for group in groups for word in group} - set(words))
        if missing:
            named = ", ".join(map(repr, missing[:5])) + (" ..." if len(missing) > 5 else "")
            warnings.warn(f"words of groups that the texts do not have are left out: {named}.", stacklevel=outside())
        masks = [mask & data.kept for mask in group_masks(groups, words)]
        if not all(mask.any() for mask in masks):
            raise InputError("a group of words has none that occurs in the texts.")
        return StructuredPenalty(tuple(BatchPenalty(data.counts, data.y, mask, self.n_threads) for mask in masks))

    def __sklearn_clone__(self) -> Any:
        return clone_sharing_listeners(self)


_OF_TRAINING = (
    "network", "regulariser", "dimension", "epochs", "batch_size", "learning_rate", "hidden", "max_length", "max_norm",
    "max_gradient",
    "dev_share", "patience", "time_limit",
)  # fmt: skip
#: parameters that files of version 2 have
_LEAST = (
    "network", "regulariser", "lam", "dimension", "hidden", "max_length", "token_pattern", "lowercase", "min_count",
    "epochs", "groups",
)  # fmt: skip


def _checked_dev(dev: Any, y: np.ndarray) -> np.ndarray | None:
    """ValueError unless it is a truth value a text that leaves two classes to learn from."""
    if dev is None:
        return None
    found = np.asarray(dev)
    if found.shape != y.shape or found.dtype != bool:
        raise InputError("dev must be an array of truth values, one a text.")
    if len(np.unique(y[~found])) < 2:
        raise InputError("the documents to learn from are all of one class: split otherwise.")
    return found


def _fits(net: Mapping[str, np.ndarray], settings: TrainSettings, n_classes: int) -> bool:
    """Whether a file's weights are those of its network."""
    from cflengine.embedding.settings import shapes

    expected = shapes(settings.network, settings.dimension, n_classes, settings.hidden)
    return {key: one.shape for key, one in net.items()} == expected and all(
        one.dtype == np.float32 for one in net.values()
    )
