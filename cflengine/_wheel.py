"""How the wheel is built: the app, its pages and the sample, which a checkout has beside the package, go into it.

Runs where nothing but setuptools is installed.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parents[1]
INSIDE = "cflengine/_app"
PARTS = ("app.py", "pages", "sample_data", ".streamlit/config.toml")


class BuildWithApp(build_py):
    """``build_py``, and a copy of :data:`PARTS` into the package."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for source, place in self._app_files():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, place)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        copied = [] if self.editable_mode else [str(place) for _, place in self._app_files()]
        return super().get_outputs(include_bytecode) + copied

    def get_source_files(self) -> list[str]:  # what a source distribution holds
        return super().get_source_files() + [str(source.relative_to(ROOT)) for source, _ in self._app_files()]

    def _app_files(self) -> list[tuple[Path, Path]]:
        """Each file, and where it goes."""
        found = []
        for part in PARTS:
            path = ROOT / part
            files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
            found += [file for file in files if "__pycache__" not in file.parts]
        return [(file, Path(self.build_lib, INSIDE, file.relative_to(ROOT))) for file in found]
