"""Where the files are that are no modules of the package: the app, its pages, the sample."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def app_folder() -> Path:
    """The folder of ``app.py``, ``pages`` and ``sample_data``: inside the package where it was installed from a wheel,
    else beside it, as in a checkout."""
    inside = _PACKAGE / "_app"
    return inside if (inside / "app.py").exists() else _PACKAGE.parent


def sample_file(name: str = "reviews.csv") -> Path:
    """A file of the sample.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    Path
        Where it is.
    """
    return app_folder() / "sample_data" / name
