"""A λ-path as the live text shows it: of some documents every solved λ, in words and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from cflengine import Corpus
from cflengine.compression import PathPoint
from pages.parts.components.live_text import LiveDocuments, LivePoint
from pages.parts.shared.path_run import PathRun
from pages.parts.shared.views import stage_view
from pages.parts.shared.words import at_least, number, proved_sentence

LISTED = 14  # phrases beside the text


def live_points(
    run: PathRun,
    corpus: Corpus,
    documents: list[int],
    *,
    one: str = "document",
    most: int | None = None,
    meta: bool = True,
) -> LiveDocuments:
    """The documents, with what is shown of them at each λ that is solved. one: what a document is called; most: tokens
    of each that are shown; meta: whether their other columns are."""
    assert run.corpus is not None
    shown: list[dict[str, Any]] = []
    points = []
    for point in run.points:
        shown, grams = stage_view(run.corpus, corpus, documents, point.result.cover, most=most)
        ids = np.fromiter(grams, np.int64, len(grams))
        counts = run.counts(point, ids)
        said = proved_sentence(point.result, run.max_gram, len(corpus), one)
        labels = dict(zip(ids.tolist(), run.phrases.spell(ids), strict=True))
        points.append(
            LivePoint(
                point.lam, said, note(point), point.shares.tolist(),
                [view["pointers"] for view in shown],
                {gram: (labels[gram], counts.get(gram, 0), grams[gram]["cost"]) for gram in labels},
                [(row["gram"], row["label"], row["length"], row["count"]) for row in _top(run, point)],
            )
        )  # fmt: skip
    titles = [{"title": view["title"], "meta": view["meta"] if meta else "", "text": view["text"]} for view in shown]
    return LiveDocuments(titles, points)


def _top(run: PathRun, point: PathPoint) -> list[dict[str, Any]]:
    """The most used phrases, or single words where there are none."""
    found = run.top(point, min(2, run.max_gram), LISTED, telling=True)
    return found or run.top(point, 1, LISTED, telling=True) or run.top(point, 1, LISTED)


def note(point: PathPoint) -> str:
    """What storing costs at a λ."""
    result = point.result
    # costs come in steps: where less than one step is open, what was found is the least
    least = "" if result.optimal else f" than {at_least(result.lower_bound)}"
    return (
        f"{number(result.n_pointers)} uses of {number(point.mean_length, 2)} words on average; all storage costs "
        f"{number(result.objective)}, and cannot cost less{least}."
    )


def telling_documents(run: PathRun, count: int, lam: float) -> list[int]:
    """Short documents of which much is made of phrases: the text that shows best what λ does. Ascending."""
    assert run.corpus is not None
    table, point = run.corpus.table, run.points.nearest(lam)
    sizes = np.diff(table.doc_ptr)
    start = np.flatnonzero(point.result.cover & 0b11111110)
    pieces = np.bincount(np.searchsorted(table.doc_ptr, start, side="right") - 1, minlength=len(sizes))
    good = np.flatnonzero((sizes >= _SHORTEST) & (sizes <= _LONGEST))
    if len(good) < count:
        good = np.flatnonzero(sizes > 0)
        return np.sort(good[np.argsort(np.abs(sizes[good] - _LONGEST), kind="stable")[:count]]).tolist()
    best = good[np.argsort(-(pieces[good] / sizes[good]), kind="stable")[:count]]
    return np.sort(best).tolist()


_SHORTEST, _LONGEST = 30, 70
