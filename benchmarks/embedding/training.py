"""Networks by penalties, over seeds: each training is done once and kept, some at a time: one leaves a core idle."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.corpora import corpus_path
from benchmarks.embedding.tables import ARTICLE_RATE
from benchmarks.keeping import Kept
from benchmarks.report import say
from cflengine import WordMMDEmbedding
from cflengine.embedding import DEFAULT_LAMS, DivergedError

SEEDS = 5
RATES = (ARTICLE_RATE, 0.01)  # at the second a recurrent network learns from long documents, too
GRIDS: dict[str, tuple[float, ...]] = {
    "none": (0.0,),
    "l1": (0.1, 1.0, 10.0),
    "dropout": (0.2, 0.5, 0.8),
    "re-embedding": (0.1, 1.0, 10.0),
    "group lasso": (0.1, 1.0, 10.0),
    "wmmd": (10.0, 100.0, 1000.0),
}
ARTICLE = ("none", "l1", "dropout", "wmmd")
OTHERS = ("none", "re-embedding", "group lasso")
FLAT = (0.0, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6)
VECTORS = ("glove100_50k", "vectors.npz")
PAIRS = (
    ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"),
    ("alt.atheism", "soc.religion.christian"),
)


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

    def parts(self, setting: Setting) -> tuple[np.ndarray, np.ndarray]:
        """Documents that a setting learns from, and those it is tried on: λ was chosen by none of the latter."""
        order = np.random.default_rng(1).permutation(self.halves(0)[0])
        choosing = order[: len(order) // 5]
        if setting.part == "choose":
            return order[len(order) // 5 :], choosing
        train, test = self.halves(setting.seed)
        return train, np.setdiff1d(test, choosing)

    def case(self, setting: Setting) -> dict[str, Any]:
        """What a training of it depends on, beside code and data."""
        case = {"corpus": self.name, "vectors": self.vectors is not None} | setting._asdict()
        return case | ({"dimension": self.dimension} if self.dimension != 20 else {})


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


class Setting(NamedTuple):
    """What is trained; part: which documents it is tried on, "choose" or "test"."""

    network: str
    penalty: str
    lam: float
    seed: int
    part: str
    rate: float = ARTICLE_RATE


class Trainings(Kept):
    """Trainings that were done; seconds: of all that were asked for, however long ago they were done."""

    def __init__(self, path: Path, basis: str, workers: int = 1) -> None:
        super().__init__(path, basis)
        self.workers, self.seconds = workers, 0.0

    def all(self, corpus: Corpus, settings: Sequence[Setting], quick: bool) -> list[dict[str, Any]]:
        """What each of them found, now or before."""
        cases = [corpus.case(setting) for setting in settings]
        missing = [k for k, case in enumerate(cases) if self.key(case) not in self.known]
        if missing:
            with ProcessPoolExecutor(
                min(self.workers, len(missing)), multiprocessing.get_context("spawn"),
                initializer=_begin, initargs=(corpus, quick, self.workers),
            ) as pool:  # fmt: skip
                running = {pool.submit(_train, settings[k]): k for k in missing}
                for done in as_completed(running):
                    k, found = running[done], done.result()
                    self.keep(cases[k], found)
                    say(f"  {corpus.name}: {', '.join(map(str, settings[k]))}: {found['test']:.4f}")
        rows = [self.known[self.key(case)] for case in cases]
        self.seconds += sum(row["seconds"] / row["workers"] for row in rows)
        return rows

    def summaries(self, corpus: Corpus, groups: Sequence[Sequence[Setting]], quick: bool) -> list[dict[str, Any]]:
        """Of each group of settings, which are all run together."""
        rows = iter(self.all(corpus, [one for group in groups for one in group], quick))
        return [_summary([next(rows) for _ in group]) for group in groups]


_here: dict[str, Any] = {}  # of a worker: what it trains on


def _begin(corpus: Corpus, quick: bool, workers: int) -> None:
    _here.update(corpus=corpus, quick=quick, workers=workers)


def ce_t1(data: str | None, kept: Trainings, *, quick: bool) -> dict[str, Any]:
    """All networks and penalties."""
    networks = ("mean", "cnn") if quick else ("mean", "cnn", "gru", "bilstm")
    return _grid(read("ce_t1", data, quick), networks, tuple(GRIDS), kept, quick)


def bbc(data: str | None, kept: Trainings, *, quick: bool) -> dict[str, Any]:
    """The article's two networks and four penalties, and the mean; the GRU at the learning rate that is better without
    a penalty, and once at the article's."""
    corpus = read("bbc_news", data, quick)
    found = _grid(corpus, ("mean", "cnn"), ARTICLE, kept, quick)
    tried = kept.all(corpus, [Setting("gru", "none", 0.0, 0, "choose", rate) for rate in RATES], quick)
    rate = max(zip(RATES, tried, strict=True), key=lambda pair: pair[1]["test"])[0]
    for one, penalties in {ARTICLE_RATE: ("none",), rate: ARTICLE}.items():
        found |= _at_rate(corpus, "gru", penalties, kept, quick, one)
    return found


def bbc_rest(data: str | None, kept: Trainings, *, quick: bool) -> dict[str, Any]:
    """The penalties that the article does not try on it, the recurrent network at the rate that `bbc` prefers."""
    corpus = read("bbc_news", data, quick)
    found = _grid(corpus, ("mean", "cnn"), OTHERS, kept, quick)
    return found | _at_rate(corpus, "gru", OTHERS, kept, quick, RATES[1])


def bbc_bilstm(data: str | None, kept: Trainings, *, quick: bool) -> dict[str, Any]:
    """The network that the article does not try, at the rate of the other recurrent one."""
    return _at_rate(read("bbc_news", data, quick), "bilstm", ARTICLE, kept, quick, RATES[1])


def bbc_100(data: str | None, kept: Trainings, *, quick: bool) -> dict[str, Any]:
    """The convolution with vectors of 100 numbers, as the article has it."""
    return _grid(read("bbc_news", data, quick, dimension=100), ("cnn",), ARTICLE, kept, quick)


def english(data: str | None, kept: Trainings, *, quick: bool) -> dict[str, Any]:
    """Movie polarity and pairs of newsgroups, from random vectors and from GloVe."""
    glove = str(corpus_path(VECTORS[0], data, VECTORS[1]))
    found: dict[str, Any] = {}
    for vectors in (None, glove):
        corpora = [read("movie_polarity_v2", data, quick, vectors=vectors)]
        corpora += [read("20news_bydate", data, quick, pair, vectors=vectors) for pair in PAIRS]
        for corpus in corpora:
            title = f"{corpus.name}, {'GloVe' if vectors else 'random vectors'}"
            found[title] = _grid(corpus, ("cnn",), ("none", "dropout", "wmmd"), kept, quick)
    return found


def flat(data: str | None, kept: Trainings, *, quick: bool) -> dict[str, Any]:
    """Accuracy over λ of wMMD, to far beyond what is sensible."""
    corpus, found = read("ce_t1", data, quick), {}
    for network in ("cnn",) if quick else ("cnn", "gru"):
        lams = FLAT[:3] if quick else FLAT
        settings = [_seeds(network, "wmmd" if lam else "none", lam, quick) for lam in lams]
        for lam, summary in zip(lams, kept.summaries(corpus, settings, quick), strict=True):
            found[f"{network} {lam:g}"] = {"lam": lam, "network": network} | summary
    return found


def _grid(
    corpus: Corpus,
    networks: Sequence[str],
    penalties: Sequence[str],
    kept: Trainings,
    quick: bool,
    rate: float = ARTICLE_RATE,
) -> dict[str, Any]:
    pairs = [(network, penalty) for network in networks for penalty in penalties]
    lams = _chosen(corpus, pairs, kept, quick, rate)
    settings = [_seeds(*pair, lams[pair], quick, rate) for pair in pairs]
    found = {}
    for pair, summary in zip(pairs, kept.summaries(corpus, settings, quick), strict=True):
        found[" ".join(pair)] = {"network": pair[0], "penalty": pair[1], "lam": lams[pair], "rate": rate} | summary
    return found


def _at_rate(
    corpus: Corpus, network: str, penalties: Sequence[str], kept: Trainings, quick: bool, rate: float
) -> dict[str, Any]:
    """The same of one network, with the learning rate in the names."""
    rows = _grid(corpus, (network,), penalties, kept, quick, rate)
    return {f"{name}, rate {rate:g}": row for name, row in rows.items()}


def _chosen(
    corpus: Corpus, pairs: Sequence[tuple[str, str]], kept: Trainings, quick: bool, rate: float
) -> dict[tuple[str, str], float]:
    """λ by accuracy on a fifth of the first seed's documents to learn from; of equal ones the usual one's neighbour."""
    grids = {pair: (DEFAULT_LAMS[pair[1]],) if quick else GRIDS[pair[1]] for pair in pairs}
    tried = [Setting(*pair, lam, 0, "choose", rate) for pair, grid in grids.items() if len(grid) > 1 for lam in grid]
    worth = {
        (one.network, one.penalty, one.lam): row["test"]
        for one, row in zip(tried, kept.all(corpus, tried, quick), strict=True)
    }

    def rank(pair: tuple[str, str], lam: float) -> tuple[float, float]:
        return worth[*pair, lam], -abs(np.log(lam / DEFAULT_LAMS[pair[1]]))

    best = {pair: max(grid, key=lambda lam: rank(pair, lam)) for pair, grid in grids.items() if len(grid) > 1}
    return {pair: grid[0] for pair, grid in grids.items()} | best


def _seeds(network: str, penalty: str, lam: float, quick: bool, rate: float = ARTICLE_RATE) -> list[Setting]:
    return [Setting(network, penalty, lam, seed, "test", rate) for seed in range(2 if quick else SEEDS)]


def _train(setting: Setting) -> dict[str, Any]:
    """In a worker. A training that diverges gives every document the largest class."""
    corpus, quick, workers = _here["corpus"], _here["quick"], _here["workers"]
    began, (train, test) = time.perf_counter(), corpus.parts(setting)
    model = WordMMDEmbedding(
        setting.network, setting.penalty, setting.lam, random_state=setting.seed, min_count=1 if quick else 5,
        epochs=2 if quick else 30, dimension=corpus.dimension, learning_rate=setting.rate,
        n_threads=1 if workers > 1 else None,
    )  # fmt: skip
    texts, y = corpus.texts, corpus.y
    try:
        model.fit([texts[d] for d in train.tolist()], y[train], corpus.vectors)
    except DivergedError:
        largest = np.bincount(y[train]).argmax()
        found = {"test": float(np.mean(y[test] == largest)), "train": float(np.mean(y[train] == largest))}
        found |= {"wmmd": float("nan"), "diverged": True}
    else:
        right = float(np.mean(model.predict([texts[d] for d in test.tolist()]) == y[test]))
        found = {"test": right, "train": model.result_.accuracy, "wmmd": float(model.trace_["wmmd"].iloc[-1])}
    return found | {"seconds": time.perf_counter() - began, "workers": workers}


def _summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    tests = np.array([row["test"] for row in rows])
    wmmd = [row["wmmd"] for row in rows if row["wmmd"] is not None]
    return {
        "test": float(tests.mean()), "spread": float(tests.std(ddof=1)), "tests": tests.tolist(),
        "train": float(np.mean([row["train"] for row in rows])), "wmmd": float(np.mean(wmmd)) if wmmd else None,
        "diverged": sum(row.get("diverged", False) for row in rows),
        "seconds": float(np.mean([row["seconds"] for row in rows])),
    }  # fmt: skip
