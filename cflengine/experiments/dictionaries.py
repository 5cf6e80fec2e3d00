"""The dictionaries of a corpus at every λ, found once for all targets, and kept in files where a folder is given.

A folder holds, for each corpus (by the digest of its tokens), settings and λ of a path, a file of features a λ and,
written last, a table of the path (report.json): a path that is there is read, another is solved.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from cflengine.compression.estimator import CompressiveFeatures
from cflengine.compression.solvers.guided.settings import GuidedSettings
from cflengine.engine.checks import InputError
from cflengine.engine.files import write_report
from cflengine.engine.progress import IterationStats, Listener, Progress
from cflengine.linear.saving import ModelFileError
from cflengine.text.tokens import TokenTable


@dataclass(frozen=True)
class Dictionary:
    """One λ: features that count any tokens; gap: proved; seconds: that finding it took."""

    lam: float
    model: CompressiveFeatures = field(repr=False)
    gap: float
    seconds: float


@dataclass(frozen=True)
class DictionaryPath:
    """By rising λ; seconds: that solving took, now or when it was kept; stopped: before every λ was there."""

    dictionaries: tuple[Dictionary, ...]
    seconds: float
    read: bool = False
    stopped: bool = False

    def frame(self) -> pd.DataFrame:
        """A row a λ: lam, features, gap, seconds."""
        return pd.DataFrame(
            {
                "lam": [one.lam for one in self.dictionaries],
                "features": [len(one.model.grams_) for one in self.dictionaries],
                "gap": [one.gap for one in self.dictionaries],
                "seconds": [one.seconds for one in self.dictionaries],
            }
        )


def find_dictionaries(
    features: CompressiveFeatures,
    table: TokenTable,
    lams: Iterable[float],
    *,
    listeners: Sequence[Listener] = (),
    folder: Path | None = None,
) -> DictionaryPath:
    """Solve a λ-path, or read it from ``folder`` if it is there, and keep it there if it was solved to its end.

    features: not fitted; its ``settings`` are the path's.
    """
    lams = sorted({float(lam) for lam in lams})
    kept = None
    if folder is not None:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"dictionaries are kept in a folder, and '{folder}' is none.")
        folder.mkdir(parents=True, exist_ok=True)  # what cannot be written to is said before the work
        kept = folder / f"path-{_key(features, table, lams)}"
        found = _read(kept, lams)
        if found is not None:
            return found
    asked = _Asked(listeners)
    path = features.set_params(listeners=(asked,)).path(table, lams)
    points = tuple(
        Dictionary(point.lam, path.model(point.lam).set_params(listeners=()), point.result.gap, point.seconds)
        for point in path.points
    )
    whole = DictionaryPath(points, sum(one.seconds for one in points), stopped=asked.stopped)
    if kept is not None and not whole.stopped:
        _write(kept, whole)
    return whole


class _Asked:
    """The listeners as one, which remembers whether any said stop: a path that was stopped on its way back is not to be
    kept as if it had ended."""

    def __init__(self, listeners: Sequence[Listener]) -> None:
        self.progress, self.stopped = Progress(listeners, recording=False), False

    def __call__(self, stats: IterationStats) -> bool:
        self.stopped = not self.progress(stats) or self.stopped
        return not self.stopped

    def poll(self) -> bool:
        """Whether to go on."""
        self.stopped = not self.progress.poll() or self.stopped
        return not self.stopped


def _key(features: CompressiveFeatures, table: TokenTable, lams: list[float]) -> str:
    settings = features.settings if isinstance(features.settings, GuidedSettings) else None
    asked = [table.digest(int(features.max_gram)), lams, features.token_pattern, features.lowercase, repr(settings)]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:16]


def _write(folder: Path, path: DictionaryPath) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for k, one in enumerate(path.dictionaries):
        one.model.save(folder / f"{k}.cflm")
    rows = [{"lam": one.lam, "gap": one.gap, "seconds": one.seconds} for one in path.dictionaries]
    write_report(folder, {"points": rows})


def _read(folder: Path, lams: list[float]) -> DictionaryPath | None:
    """What is kept; None where it is not there, cannot be read, or is not what it was, so that it is solved again."""
    try:
        points = json.loads((folder / "report.json").read_text(encoding="utf-8"))["points"]
        found = tuple(
            Dictionary(
                float(row["lam"]),
                CompressiveFeatures.load(folder / f"{k}.cflm"),
                float(row["gap"]),
                float(row["seconds"]),
            )
            for k, row in enumerate(points)
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ModelFileError):
        return None
    if [one.lam for one in found] != lams or [float(one.model.lam) for one in found] != lams:
        return None
    return DictionaryPath(found, sum(one.seconds for one in found), read=True)


def together(models: Sequence[CompressiveFeatures]) -> CompressiveFeatures:
    """Features whose dictionary is that of all of these; for counting occurrences, not for encoding, since pointers
    have the last one's costs."""
    grams = sorted({gram for model in models for gram in model.grams_})
    header, arrays = models[-1].to_parts()
    nothing = np.zeros(len(grams))
    arrays |= {"idf": nothing, "count": nothing, "documents": nothing, "cost": np.array([float(len(g)) for g in grams])}
    return CompressiveFeatures.from_parts(header | {"grams": [list(gram) for gram in grams]}, arrays, "the dictionary")
