"""What every solve leaves behind: one frozen result, saved as JSON and npz, never as a pickle."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache, cached_property
from inspect import isfunction
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from cflengine._version import __version__
from cflengine.engine.checks import InputError
from cflengine.engine.files import NPZ_DAMAGE, finite, replaced
from cflengine.engine.progress import IterationStats, TerminationReason, trace_frame

RESULT, ARRAYS, TRACE = "result.json", "arrays.npz", "trace.csv"


@dataclass(frozen=True, kw_only=True)
class Result:
    """A solution and what is proved about it.

    objective: at the solution; lower_bound: on the best one; gap = objective/bound − 1: all recomputed from the data
    and rounded outward. reason: why the solver ended. n_iterations; n_passes: over the data; seconds: of solver time.
    solver: its name; settings: every parameter. events: those of the solve, or the table that they were saved as.
    """

    objective: float
    lower_bound: float
    gap: float
    reason: TerminationReason
    n_iterations: int
    n_passes: float
    seconds: float
    solver: str
    settings: Mapping[str, Any]
    events: tuple[IterationStats, ...] | pd.DataFrame = field(repr=False)

    @property
    def is_proved(self) -> bool:
        """Whether objective and gap are proved ones."""
        return True

    @cached_property
    def trace(self) -> pd.DataFrame:
        """A row an event. Made when it is asked for: it takes longer than a small solve."""
        return self.events if isinstance(self.events, pd.DataFrame) else trace_frame(self.events)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays and the trace, as plain numbers and strings."""
        facts: dict[str, Any] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, str | int | float | bool | None | np.number):
                facts[one.name] = str(value) if isinstance(value, str) else value
        return facts | {"settings": dict(self.settings), "versions": versions()}

    def arrays(self) -> dict[str, np.ndarray]:
        """The fields that are arrays."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in found.items() if isinstance(value, np.ndarray)}

    def save(self, folder: str | Path) -> None:
        """Write result.json, arrays.npz and trace.csv into ``folder`` (made if absent), each as a whole."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with replaced(folder / ARRAYS) as file:
            arrays: dict[str, Any] = {**self.arrays()}
            np.savez(file, **arrays)
        with replaced(folder / TRACE) as file:
            self.trace.to_csv(file, index=False)
        infinite = {name: str(value) for name, value in self.to_dict().items() if value in (math.inf, -math.inf)}
        facts = finite({"kind": type(self).__name__} | self.to_dict() | infinite)
        with replaced(folder / RESULT) as file:
            file.write((json.dumps(facts, indent=2, default=_plain, allow_nan=False) + "\n").encode())

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what :meth:`save` wrote. Raises OSError or ValueError if it is not there or not that."""
        folder = Path(folder)
        try:
            facts = json.loads((folder / RESULT).read_text(encoding="utf-8"))
            with np.load(folder / ARRAYS, allow_pickle=False) as arrays:
                vectors = {name: arrays[name] for name in arrays.files}
            if facts["kind"] != cls.__name__:
                raise InputError(f"it is a {facts['kind']}, not a {cls.__name__}")
            values = cls._from_facts(facts) | cls._from_arrays(vectors) | {"events": pd.read_csv(folder / TRACE)}
            return cls(**values)
        except (TypeError, *NPZ_DAMAGE) as error:
            raise InputError(f"{folder} does not hold a saved result: {error}.") from error

    @classmethod
    def _from_arrays(cls, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
        """The fields that are made of arrays, from arrays.npz."""
        return dict(arrays)

    @classmethod
    def _from_facts(cls, facts: dict[str, Any]) -> dict[str, Any]:
        """The fields that are neither arrays nor the trace, from result.json."""
        known = {one.name: one.type for one in fields(cls)}
        values = {name: facts[name] for name in known if name in facts}
        for name, value in values.items():
            if known[name] == "float":
                values[name] = math.nan if value is None else float(value)
        return values | {"reason": TerminationReason(facts["reason"])}


def _plain(value: Any) -> Any:
    """Numbers of numpy as Python's, anything else as text."""
    return value.item() if isinstance(value, np.generic) else str(value)


def versions() -> dict[str, str]:
    """Versions of what the numbers depend on."""
    return {"cflengine": __version__, "python": platform.python_version(), **_packages()}


@cache
def _packages() -> dict[str, str]:
    """Looked up once: each is read from a file."""
    from importlib.metadata import version

    return {name: version(name) for name in ("numpy", "scipy", "numba", "pandas", "scikit-learn", "pyarrow")}


def settings_dict(settings: Any) -> dict[str, Any]:
    """A settings dataclass as plain values; of a function its name."""
    values = {key: value for key, value in asdict(settings).items() if not isinstance(value, np.ndarray)}
    return {key: value.__name__ if isfunction(value) else value for key, value in values.items()}
