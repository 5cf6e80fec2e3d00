"""A λ-path of a corpus, and what can be said of every λ between its points without solving anything.

Fix two solved λ₁ < λ₂ with dual prices α₁, α₂ (see cflengine.compression.model.certificate). The prices that prove a
bound, {(α, λ): Σ_{i ∈ J(s)} ((Xᵀα)_i − λ)₊ ≤ c(s) for every s, α ≥ 0}, are a convex set, so at λ = (1−t) λ₁ + t λ₂
the prices (1−t) α₁ + t α₂ are feasible and prove the bound (1−t) Σα₁ + t Σα₂: the line between two proved bounds is
proved. And a solution of p pointers and dictionary cost C costs C + λp at any λ. Hence every λ of the path's range
has a certified solution, the cheapest of all that are known, at once; solving there, warm from it, only improves it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from cflengine import CompressionSession, CompressiveFeatures, GuidedSettings
from cflengine.compression import (
    PATH_SETTINGS,
    CompressionPath,
    CompressionResult,
    FeaturePath,
    GuidedSolver,
    HomotopySettings,
    PathPoint,
    PreparedCorpus,
    RelaySettings,
    StageSnapshot,
    certified_point,
    estimated_seconds,
    pointers_by_length,
    read_lambda_path,
    solve_path,
    solve_relay,
)
from cflengine.engine import NAN, IterationStats, Listener, TerminationReason, fits, relative_gap, round_down, round_up
from cflengine.text import USUAL_TOKENS, KGramIndex, Phrasebook, TokenChoice, TokenTable, index_by_sorting

QUICK_S = 20.0  # what a homotopy may take to be run without having been asked for
BETWEEN = 9  # values of the slider between two λ of the path, on average
_CANDIDATES = 40  # most used K-grams that are looked at for one that is shown
LOOK_S = 0.3  # between two pictures of the first solve
EARLY_S, EARLY_GAP = 3.0, 0.1  # from when on, and how good, the first solve's best solution opens all pages
EARLY_BYTES = 40  # a token, which have to be free: proving it in between takes about half of them
BRIEF_TOKENS, BRIEF_GAP = 300_000, 0.01  # larger ones: each λ to that gap before any further
KEEP_ASKED = 12  # solutions beside the path's own that are kept, each of 5 bytes a token


@dataclass(frozen=True)
class Here:
    """The cheapest known solution at ``lam``, and what is proved of it there; ``point`` is where it was found."""

    lam: float
    point: PathPoint
    objective: float
    lower_bound: float

    @property
    def gap(self) -> float:
        return relative_gap(self.objective, self.lower_bound)

    @property
    def solved(self) -> bool:
        """Whether it was found at this very λ."""
        return self.point.lam == self.lam


@dataclass(frozen=True)
class Uses:
    """The K-grams of a solution: int32 (D,) their numbers in the index, most used first (then by number), int64 (D,)
    their pointers, int8 (D,) their length."""

    gram: np.ndarray
    count: np.ndarray
    length: np.ndarray


@dataclass(frozen=True)
class Picture:
    """A solve at a moment: pointers of its best solution, uint8 (n,); w in steps of 1/255, uint8 (K, n), or None."""

    cover: np.ndarray
    weights: np.ndarray | None


class PathRun:
    """The points of a path, each as soon as it is certified, and the λ solved later.

    The solver's thread alone calls :meth:`solve` and :meth:`refine`; ``points`` is replaced, never changed, so anybody
    may read it meanwhile. lams: at least one λ; settings: of every solve; texts: the documents; tokens: how they
    are cut. ``corpus`` and ``phrases`` are there once there is a point.
    """

    def __init__(
        self,
        lams: Iterable[float],
        max_gram: int,
        settings: GuidedSettings,
        texts: Sequence[str],
        tokens: TokenChoice = USUAL_TOKENS,
    ) -> None:
        self.lams, self.tokens = tuple(sorted(lams)), tokens
        self.max_gram, self.settings, self.texts = max_gram, settings, texts
        self.points = CompressionPath(())
        self.corpus: PreparedCorpus | None = None
        self.by_homotopy = False  # whether the first λ is solved by it
        self.stages: tuple[StageSnapshot, ...] = ()  # of the homotopy, where one was run
        self.film: Path | None = None  # a file of them, which is read when they are asked for
        self.first = NAN  # the λ that is solved before all others
        self.picture: Picture | None = None  # of the first λ, while it is solved
        self.early = False  # whether the only point is what that solve had by then
        self._session: CompressionSession | None = None
        self._asked: list[float] = []
        self._efforts: dict[float, int] = {}
        self._uses: dict[float, tuple[PathPoint, Uses]] = {}

    @classmethod
    def kept(cls, file: Path, table: TokenTable, max_gram: int, texts: Sequence[str]) -> PathRun:
        """What is in a file (compression/path_file.py) of a small corpus, certified anew; nothing is compiled. Raises
        ModelFileError."""
        corpus = PreparedCorpus(table, index_by_sorting(table.tokens, table.segment_ptr, max_gram))
        points = read_lambda_path(file, corpus)
        return cls.known(points, corpus, max_gram, texts)

    @classmethod
    def known(
        cls,
        points: CompressionPath,
        corpus: PreparedCorpus,
        max_gram: int,
        texts: Sequence[str],
        tokens: TokenChoice = USUAL_TOKENS,
    ) -> PathRun:
        """Points that are certified already."""
        run = cls([point.lam for point in points], max_gram, GuidedSettings(), texts, tokens)
        run.corpus, run.points = corpus, points
        return run

    @property
    def estimator(self) -> CompressiveFeatures:
        """One with the settings of every solve, not fitted."""
        return CompressiveFeatures(max_gram=self.max_gram, settings=self.settings, **self.tokens.parameters)

    @cached_property
    def phrases(self) -> Phrasebook:
        """The K-grams, as readers want them."""
        assert self.corpus is not None  # there is a point
        return Phrasebook(self.texts, self.corpus.table, self.corpus.index)

    # ---- in the solver's thread

    @property
    def session(self) -> CompressionSession:
        """What solves; made when it is first needed."""
        if self._session is None:
            assert self.corpus is not None
            estimator = self.estimator
            estimator.corpus_ = self.corpus
            self._session = CompressionSession(estimator)
        return self._session

    def solve(self, table: TokenTable, listener: Listener, *, first: float | None = None) -> None:
        """Solve for every λ, briefly before thoroughly in large corpora, so that the slider soon moves; ``first``, one
        of them, before all others: by the homotopy and then the guided solver where that is quick, so that there is
        something to watch, and a text to read. Raises what :meth:`CompressiveFeatures.prepare` does."""
        self.corpus = self.corpus or self.estimator.prepare(table)
        session = self.session
        session.solver = solver = _Watched(self.corpus.index, self)
        # the points of a path that was stopped are there already
        if first is not None and not self.points and not self._begin(first, listener):
            solver.run = None
            return
        brief = [replace(PATH_SETTINGS, tol=max(BRIEF_GAP, self.settings.tol))] if table.n_tokens > BRIEF_TOKENS else []
        self.points = solve_path(
            solver.index, self.lams, [*brief, self.settings], costs_at=session.estimator.costs_at,
            listeners=(listener,), solver=solver, known=self.points,
        )  # fmt: skip
        solver.run = None

    def _begin(self, lam: float, listener: Listener) -> bool:
        """The λ that is solved first; whether to go on."""
        assert self.corpus is not None
        corpus, self.first = self.corpus, lam
        self.by_homotopy = estimated_seconds(self.max_gram * corpus.table.n_tokens, "homotopy") < QUICK_S
        if self.by_homotopy:
            homotopy = HomotopySettings(keep_stages=True, relaxation_gap=1e-3)
            settings = RelaySettings(tol=self.settings.tol, homotopy=homotopy)
            result = solve_relay(
                corpus.index, corpus.costs(lam), settings, listeners=(listener, _Watcher(self, lam)), lam=lam
            )
            self.stages = result.stages
        else:
            watcher = _Watcher(self, lam)
            result = self.session.solver.solve(corpus.costs(lam), self.settings, listeners=(listener, watcher), lam=lam)
        self.note(lam, replace(result, stages=()), result.seconds, instead=True)
        self.picture, self.early = None, False
        return result.reason not in (TerminationReason.INTERRUPTED, TerminationReason.NUMERICAL_ERROR)

    def refine(self, lam: float, listener: Listener) -> None:
        """Solve at ``lam``, warm from the cheapest known solution: at first briefly, the second time until the path's
        gap is reached or the search brings nothing more. A solve that is stopped leaves nothing."""
        effort, here = self.effort(lam), self.at(lam)
        if effort == 0:
            return
        settings = replace(self.settings, annealings=min(1, self.settings.annealings))
        if effort == 1:
            settings = settings.search_only()
        known = replace(here.point.result, alpha=self._prices(lam))
        model = self.session.solve(lam, settings=settings, known=known, listeners=(listener,))
        if model.result_.reason == TerminationReason.INTERRUPTED:
            return
        self._efforts[lam] = effort
        if lam not in self._asked:
            self._asked.append(lam)
        self.note(lam, model.result_, model.result_.seconds)  # without what its listeners took
        while len(self._asked) > KEEP_ASKED:
            old = self._asked.pop(0)
            self._efforts.pop(old, None)
            self.points = CompressionPath(point for point in self.points if point.lam != old)

    def note_early(self, lam: float, run: Any) -> None:
        """What the first solve has so far, which is certified like any other, so that every page has something."""
        assert self.corpus is not None
        cover, alpha = run.proved_solution()
        seconds, reason = run.progress.elapsed_s, TerminationReason.TIME_LIMIT
        point = certified_point(self.corpus, lam, cover, alpha.astype(np.float32), seconds, reason)
        if math.isfinite(point.result.gap) and not (self.points and self.points[0].result.gap <= point.result.gap):
            self.points, self.early = CompressionPath([point]), True

    def note(self, lam: float, result: CompressionResult, seconds: float, *, instead: bool = False) -> None:
        """Put a result among the points, unless there is a better one for its λ; instead: even so."""
        before = next((point for point in self.points if point.lam == lam), None)
        if before is not None and not instead and before.result.gap <= result.gap:
            return
        counts = pointers_by_length(result.cover, self.max_gram)
        slim = replace(result, alpha=result.alpha.astype(np.float32))
        others = [point for point in self.points if point.lam != lam]
        self.points = CompressionPath([*others, PathPoint(lam, slim, counts, seconds)])

    # ---- for everybody

    @property
    def choices(self) -> list[float]:
        """The slider's values: the λ of the points that are there, and rounded ones between, ``BETWEEN`` on average, at
        nearly equal ratios: so the slider moves as the chart's axis does, which is logarithmic."""
        lams = [lam for lam in self.lams if any(point.lam == lam for point in self.points)]
        values = set(lams)
        step = math.log(self.lams[-1] / self.lams[0]) / ((len(self.lams) - 1) * (BETWEEN + 1)) if len(lams) > 1 else 1.0
        for low, high in pairwise(lams):
            between = np.geomspace(low, high, max(1, round(math.log(high / low) / step)) + 1)[1:-1]
            values.update(value for value in (float(f"{x:.3g}") for x in between) if low < value < high)
        return sorted(values)

    def at(self, lam: float) -> Here:
        """The cheapest known solution at ``lam`` with its proved bound. Raises ValueError while there is no point."""
        if not self.points:
            raise ValueError("no λ is solved yet.")
        points = sorted(self.points, key=lambda point: abs(point.lam - lam))
        cheapest = min(points, key=lambda point: _cost(point, lam))
        low, high, t = self._between(lam)
        bound = sum(share * point.result.lower_bound for point, share in ((low, 1 - t), (high, t)) if point is not None)
        return Here(lam, cheapest, _cost(cheapest, lam), bound if t == 0 else round_down(bound, 8))

    def _between(self, lam: float) -> tuple[PathPoint | None, PathPoint | None, float]:
        """The points on either side of λ and the share t of the upper one: λ = (1−t) low + t high.

        Below the first point, None stands for λ = 0, where prices of 0 prove the bound 0; above the last one, t = 0:
        what its prices prove stays proved when pointers cost more.
        """
        low = next((point for point in reversed(self.points) if point.lam <= lam), None)
        high = next((point for point in self.points if point.lam > lam), None)
        if high is None:
            return low, None, 0.0
        start = low.lam if low is not None else 0.0
        return low, high, (lam - start) / (high.lam - start)

    def _prices(self, lam: float) -> np.ndarray:
        """float32 (n,): the prices that prove the bound at λ."""
        low, high, t = self._between(lam)
        parts = [(point.result.alpha, share) for point, share in ((low, 1 - t), (high, t)) if point is not None]
        return sum(np.float32(share) * alpha for alpha, share in parts)

    def effort(self, lam: float) -> int:
        """What a solve at ``lam`` would be: 1 brief, 2 thorough, 0 for none, since nothing is left to gain."""
        if lam in self.lams or not self.points or self.at(lam).gap <= self.settings.tol:
            return 0
        return (self._efforts.get(lam, 0) + 1) % 3

    def uses(self, point: PathPoint) -> Uses:
        """The K-grams of a point's solution; kept, since a slider that moves comes back to it."""
        kept = self._uses.get(point.lam)
        if kept is None or kept[0] is not point:
            assert self.corpus is not None  # there is a point
            kept = (point, _uses(point.result.cover, self.corpus.index))
            if len(self._uses) > len(self.lams) + KEEP_ASKED:
                self._uses.clear()
            self._uses[point.lam] = kept
        return kept[1]

    def top(self, point: PathPoint, least_length: int, most: int, *, telling: bool = False) -> list[dict[str, Any]]:
        """The ``most`` used K-grams of at least so many words: dicts of gram (its number), label, length, count.
        telling: only those that are more than punctuation and function words."""
        uses = self.uses(point)
        chosen = np.flatnonzero(uses.length >= least_length)
        if telling:
            chosen = chosen[: _CANDIDATES * most]
            chosen = chosen[self.phrases.says_something(uses.gram[chosen])]
        chosen = chosen[:most]
        labels = self.phrases.spell(uses.gram[chosen])
        return [
            {"gram": int(uses.gram[i]), "label": label, "length": int(uses.length[i]), "count": int(uses.count[i])}
            for i, label in zip(chosen.tolist(), labels, strict=True)
        ]

    def counts(self, point: PathPoint, grams: np.ndarray) -> dict[int, int]:
        """How many pointers each of these K-grams has in a point's solution."""
        uses = self.uses(point)
        found, _, where = np.intersect1d(grams, uses.gram, return_indices=True)
        return dict(zip(found.tolist(), uses.count[where].tolist(), strict=True))

    def count(self, point: PathPoint, gram: int) -> int:
        """How many pointers K-gram ``gram`` has in a point's solution."""
        uses = self.uses(point)
        return int(uses.count[uses.gram == gram].sum())

    def label(self, gram: int) -> str:
        """K-gram ``gram`` as the text spells it."""
        return self.phrases.spell(np.array([gram]))[0]

    def model(self, lam: float) -> CompressiveFeatures:
        """The fitted estimator at a solved λ."""
        assert self.corpus is not None
        return FeaturePath(self.estimator, self.corpus, self.points).model(lam)


class _Watcher:
    """A listener of the first solve that keeps a picture of the best solution for pages to look at, a few times a
    second; and after a while the solution itself, certified, now and then."""

    def __init__(self, run: PathRun, lam: float) -> None:
        self.run, self.lam, self.next = run, lam, 0.0
        self.certified = time.perf_counter() + EARLY_S

    def __call__(self, stats: IterationStats) -> None:
        """Events by themselves say nothing of the solution."""

    def shown(self, run: Any) -> None:
        """From :meth:`~cflengine.engine.progress.Progress.show`."""
        now = time.perf_counter()
        if now < self.next:
            return
        self.run.picture = Picture(*run.picture())
        self.next = time.perf_counter() + max(LOOK_S, 10 * (time.perf_counter() - now))
        began, gap = time.perf_counter(), relative_gap(run.best_objective, run.lower_bound)
        known = self.run.points[0].result.gap if self.run.points else EARLY_GAP
        proves = began >= self.certified and gap < 0.7 * known and hasattr(run, "proved_solution")
        if proves and fits(EARLY_BYTES * run.index.n_tokens):
            self.run.note_early(self.lam, run)
            self.certified = time.perf_counter() + 10 * (time.perf_counter() - began)


class _Watched(GuidedSolver):
    """A solver that shows a run every result as soon as it is there."""

    def __init__(self, index: KGramIndex, run: PathRun) -> None:
        super().__init__(index)
        self.run: PathRun | None = run

    def solve(self, *arguments: Any, lam: float = NAN, **named: Any) -> CompressionResult:
        result = super().solve(*arguments, lam=lam, **named)
        if self.run is not None:
            self.run.note(lam, result, result.seconds)  # without what its listeners took
        return result


def _cost(point: PathPoint, lam: float) -> float:
    """What a point's solution costs at another λ; exactly what was certified at its own."""
    result = point.result
    if lam == point.lam:
        return result.objective
    return round_up(result.objective + (lam - point.lam) * result.n_pointers, 64)


def _uses(cover: np.ndarray, index: KGramIndex) -> Uses:
    # numpy: the first screen waits for nothing that is compiled
    pointers = np.concatenate([row[cover >> k & 1 == 1] for k, row in enumerate(index.gram_of)])
    counts = np.bincount(pointers, minlength=index.n_grams)
    gram = np.flatnonzero(counts)
    gram = gram[np.lexsort((gram, -counts[gram]))]
    length = np.searchsorted(index.len_ptr, gram, side="right")
    return Uses(gram.astype(np.int32), counts[gram], length.astype(np.int8))
