"""What every result says of itself: the settings and versions it depends on."""

from __future__ import annotations

import platform
from dataclasses import asdict
from typing import Any

import numpy as np

from cflengine._version import __version__


def versions() -> dict[str, str]:
    """Versions of what the numbers depend on."""
    from importlib.metadata import version

    packages = {name: version(name) for name in ("numpy", "scipy", "numba", "pandas", "scikit-learn", "pyarrow")}
    return {"cflengine": __version__, "python": platform.python_version(), **packages}


def settings_dict(settings: Any) -> dict[str, Any]:
    """A settings dataclass as plain values."""
    return {key: value for key, value in asdict(settings).items() if not isinstance(value, np.ndarray)}
