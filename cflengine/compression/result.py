"""What a solve leaves behind: one frozen result, saved as JSON and npz, never as a pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from cflengine.compression.certificate import Certificate
from cflengine.engine.progress import TerminationReason
from cflengine.engine.results import versions


@dataclass(frozen=True)
class StageSnapshot:
    """The homotopy as it stood at the end of one value of ζ.

    marks: uint8 (n,), the binary solution ψ there (bit k-1 of marks[i]: the pointer of length k at token i);
    weights: uint8 (K, n), w in steps of 1/255, or None for a corpus too large to keep it;
    binary_share: of the pointers with w > 0.01, the share with w ≥ 0.99.
    """

    zeta: float
    iteration: int
    objective: float
    relaxation: float
    n_pointers: int
    dictionary_size: int
    binary_share: float
    marks: np.ndarray = field(repr=False)
    weights: np.ndarray | None = field(repr=False, default=None)

    def summary(self) -> dict[str, float | int]:
        """The scalars."""
        arrays = ("marks", "weights")
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in arrays}


@dataclass(frozen=True)
class CompressionResult:
    """A compressed corpus and what is proved about it.

    objective, lower_bound, gap, n_pointers, dictionary_size: recomputed from the data (see ``certificate``);
    relaxation: value of the continuous iterate at the end of ζ = 0, an estimate; relaxation_upper: the relaxed
    objective at a feasible point near it, proved; marks: uint8 (n,), the pointers; dictionary: int32, the K-grams
    used, ascending; alpha: float64 (n,), the dual price of every token, Σ alpha = lower_bound up to rounding.
    """

    marks: np.ndarray = field(repr=False)
    dictionary: np.ndarray = field(repr=False)
    alpha: np.ndarray = field(repr=False)
    certificate: Certificate
    reason: TerminationReason
    relaxation: float
    relaxation_upper: float
    n_iterations: int
    seconds: float
    solver: str
    settings: Mapping[str, Any]
    digest: str
    trace: pd.DataFrame = field(repr=False)
    stages: tuple[StageSnapshot, ...] = field(repr=False, default=())

    @property
    def objective(self) -> float:
        return self.certificate.objective

    @property
    def lower_bound(self) -> float:
        return self.certificate.lower_bound

    @property
    def gap(self) -> float:
        return self.certificate.gap

    @property
    def n_pointers(self) -> int:
        return self.certificate.n_pointers

    @property
    def dictionary_size(self) -> int:
        return self.certificate.dictionary_size

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays, the trace and the stages, as plain numbers and strings."""
        return {
            "objective": self.objective,
            "lower_bound": self.lower_bound,
            "gap": self.gap,
            "n_pointers": self.n_pointers,
            "dictionary_size": self.dictionary_size,
            "reason": str(self.reason),
            "relaxation": self.relaxation,
            "relaxation_upper": self.relaxation_upper,
            "n_iterations": self.n_iterations,
            "seconds": self.seconds,
            "solver": self.solver,
            "settings": dict(self.settings),
            "certificate": self.certificate.to_dict(),
            "corpus_digest": self.digest,
            "versions": versions(),
        }

    def save(self, folder: str | Path) -> None:
        """Write result.json, arrays.npz and trace.csv into ``folder`` (made if absent). Stages are not kept."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "result.json").write_text(json.dumps(self.to_dict(), indent=2) + "\n", encoding="utf-8")
        np.savez(folder / "arrays.npz", marks=self.marks, dictionary=self.dictionary, alpha=self.alpha)
        self.trace.to_csv(folder / "trace.csv", index=False)

    @classmethod
    def load(cls, folder: str | Path) -> CompressionResult:
        """Read what :meth:`save` wrote. Raises OSError or ValueError if it is not there or not that."""
        try:
            return cls._load(Path(folder))
        except (KeyError, TypeError, BadZipFile) as error:
            raise ValueError(f"{folder} does not hold a saved result: {error}.") from error

    @classmethod
    def _load(cls, folder: Path) -> CompressionResult:
        facts = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        with np.load(folder / "arrays.npz", allow_pickle=False) as arrays:
            vectors = {name: arrays[name] for name in ("marks", "dictionary", "alpha")}
        scalars = ("relaxation", "relaxation_upper", "n_iterations", "seconds", "solver", "settings")
        return cls(
            **vectors,
            certificate=Certificate(**facts["certificate"]),
            reason=TerminationReason(facts["reason"]),
            digest=facts["corpus_digest"],
            trace=pd.read_csv(folder / "trace.csv"),
            **{name: facts[name] for name in scalars},
        )
