"""Networks by penalties, over seeds: each training is done once and kept."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from benchmarks.corpora import corpus_path
from benchmarks.keeping import Kept
from benchmarks.report import say
from cflengine import WordMMDEmbedding
from cflengine.embedding import DEFAULT_LAMS

SEEDS = 5
GRIDS: dict[str, tuple[float, ...]] = {
    "none": (0.0,),
    "l1": (0.1, 1.0, 10.0),
    "dropout": (0.2, 0.5, 0.8),
    "re-embedding": (0.1, 1.0, 10.0),
    "group lasso": (0.1, 1.0, 10.0),
    "wmmd": (10.0, 100.0, 1000.0),
}
ARTICLE = ("none", "l1", "dropout", "wmmd")
FLAT = (0.0, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6)
PAIRS = (
    ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"),
    ("alt.atheism", "soc.religion.christian"),
)


class Trainings(Kept):
    """Trainings that were done; seconds: of all that were asked for, however long ago they were done."""

    seconds = 0.0

    def once(self, case: dict[str, Any], make: Callable[[], Any]) -> Any:
        """As :class:`Kept` has it."""
        found = super().once(case, make)
        self.seconds += found["seconds"]
        return found


@dataclass(frozen=True)
class Corpus:
    """Labelled texts, where vectors begin, None at random, or a file, and how many numbers they have at random."""

    name: str
    texts: list[str] = field(repr=False)
    y: np.ndarray = field(repr=False)
    vectors: str | None = None
    dimension: int = 20

    def halves(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Documents to learn from and to test by, half each of every class."""
        rng, train = np.random.default_rng(seed), np.zeros(len(self.y), dtype=bool)
        for c in np.unique(self.y):
            mine = rng.permutation(np.flatnonzero(self.y == c))
            train[mine[: len(mine) // 2]] = True
        return np.flatnonzero(train), np.flatnonzero(~train)


def read(name: str, data: str | None, quick: bool, classes: Sequence[str] | None = None, **own: Any) -> Corpus:
    """A corpus, or some of its classes. Raises FileNotFoundError."""
    with gzip.open(corpus_path(name, data), "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    records = [one for one in records if classes is None or one["label"] in classes]
    if quick:
        records = records[:: max(1, len(records) // 120)]
    labels = np.array([str(one["label"]) for one in records])
    title = name if classes is None else " / ".join(classes)
    return Corpus(title, [one["text"] for one in records], np.unique(labels, return_inverse=True)[1], **own)


def ce_t1(data: str | None, kept: Trainings, *, quick: bool, n_threads: int | None) -> dict[str, Any]:
    """All networks and penalties."""
    networks = ("mean", "cnn") if quick else ("mean", "cnn", "gru", "bilstm")
    return _grid(read("ce_t1", data, quick), networks, tuple(GRIDS), kept, quick)


def bbc(data: str | None, kept: Trainings, *, quick: bool, n_threads: int | None) -> dict[str, Any]:
    """The article's two networks and four penalties, and the mean."""
    return _grid(read("bbc_news", data, quick), ("mean", "cnn", "gru"), ARTICLE, kept, quick)


def bbc_100(data: str | None, kept: Trainings, *, quick: bool, n_threads: int | None) -> dict[str, Any]:
    """The convolution with vectors of 100 numbers, as the article has it."""
    return _grid(read("bbc_news", data, quick, dimension=100), ("cnn",), ARTICLE, kept, quick)


def english(data: str | None, kept: Trainings, *, quick: bool, n_threads: int | None) -> dict[str, Any]:
    """Movie polarity and pairs of newsgroups, from random vectors and from GloVe."""
    glove = str(corpus_path("glove100_50k", data, "vectors.npz"))
    found: dict[str, Any] = {}
    for vectors in (None, glove):
        corpora = [read("movie_polarity_v2", data, quick, vectors=vectors)]
        corpora += [read("20news_bydate", data, quick, pair, vectors=vectors) for pair in PAIRS]
        for corpus in corpora:
            title = f"{corpus.name}, {'GloVe' if vectors else 'random vectors'}"
            found[title] = _grid(corpus, ("cnn",), ("none", "dropout", "wmmd"), kept, quick)
    return found


def flat(data: str | None, kept: Trainings, *, quick: bool, n_threads: int | None) -> dict[str, Any]:
    """Accuracy over λ of wMMD, to far beyond what is sensible."""
    corpus, found = read("ce_t1", data, quick), {}
    for network in ("cnn",) if quick else ("cnn", "gru"):
        for lam in FLAT[:3] if quick else FLAT:
            rows = list(_seeds(corpus, network, "wmmd" if lam else "none", lam, kept, quick))
            found[f"{network} {lam:g}"] = {"lam": lam, "network": network} | _summary(rows)
    return found


def _grid(
    corpus: Corpus, networks: Sequence[str], penalties: Sequence[str], kept: Trainings, quick: bool
) -> dict[str, Any]:
    found = {}
    for network in networks:
        for penalty in penalties:
            lam = _chosen(corpus, network, penalty, kept, quick)
            rows = list(_seeds(corpus, network, penalty, lam, kept, quick))
            found[f"{network} {penalty}"] = {"network": network, "penalty": penalty, "lam": lam} | _summary(rows)
    return found


def _chosen(corpus: Corpus, network: str, penalty: str, kept: Trainings, quick: bool) -> float:
    """λ by accuracy on a fifth of the first seed's documents to learn from; of equal ones the usual one's neighbour."""
    grid = GRIDS[penalty]
    if len(grid) == 1 or quick:
        return DEFAULT_LAMS[penalty]
    train, _ = corpus.halves(0)
    order = np.random.default_rng(1).permutation(train)
    cut = len(order) // 5
    worth = {}
    for lam in grid:
        setting = Setting(network, penalty, lam, 0, "choose")
        found = _train(corpus, setting, order[cut:], order[:cut], kept, quick)
        worth[lam] = found["test"]
    return max(grid, key=lambda lam: (worth[lam], -abs(np.log(lam / DEFAULT_LAMS[penalty]))))


def _seeds(
    corpus: Corpus, network: str, penalty: str, lam: float, kept: Trainings, quick: bool
) -> Iterator[dict[str, float]]:
    for seed in range(2 if quick else SEEDS):
        train, test = corpus.halves(seed)
        yield _train(corpus, Setting(network, penalty, lam, seed, "test"), train, test, kept, quick)


class Setting(NamedTuple):
    """What is trained; part: which documents it is tried on."""

    network: str
    penalty: str
    lam: float
    seed: int
    part: str


def _train(corpus: Corpus, setting: Setting, train, test, kept: Trainings, quick: bool) -> dict[str, float]:
    network, penalty, lam, seed, part = setting
    case = {"corpus": corpus.name, "vectors": corpus.vectors is not None} | setting._asdict()
    case |= {"dimension": corpus.dimension} if corpus.dimension != 20 else {}

    def make() -> dict[str, float]:
        began = time.perf_counter()
        model = WordMMDEmbedding(
            network, penalty, lam, random_state=seed, min_count=1 if quick else 5, epochs=2 if quick else 30,
            dimension=corpus.dimension,
        )  # fmt: skip
        texts = corpus.texts
        model.fit([texts[d] for d in train.tolist()], corpus.y[train], corpus.vectors)
        right = float(np.mean(model.predict([texts[d] for d in test.tolist()]) == corpus.y[test]))
        found = {
            "test": right, "train": model.result_.accuracy, "wmmd": float(model.trace_["wmmd"].iloc[-1]),
            "seconds": time.perf_counter() - began,
        }  # fmt: skip
        say(f"  {corpus.name}: {network}, {penalty} {lam:g}, seed {seed} ({part}): {right:.4f}")
        return found

    return kept.once(case, make)


def _summary(rows: Sequence[dict[str, float]]) -> dict[str, Any]:
    tests = np.array([row["test"] for row in rows])
    return {
        "test": float(tests.mean()), "spread": float(tests.std(ddof=1)), "tests": tests.tolist(),
        "train": float(np.mean([row["train"] for row in rows])), "wmmd": float(np.mean([row["wmmd"] for row in rows])),
        "seconds": float(np.mean([row["seconds"] for row in rows])),
    }  # fmt: skip
