"""Finished parts of a long benchmark, kept so that a stopped run goes on; of other code or data nothing is taken."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.corpora import REPOSITORY
from cflengine.engine import finite


def digest_of(packages: Sequence[str], files: Iterable[Path] = ()) -> str:
    """16 hexadecimal digits of the sources below the repository's ``packages``, and of what stands in ``files``.

    Parameters
    ----------
    packages : sequence of str
        Folders of Python files whose code what is measured depends on.
    files : iterable of Path
        Data.

    Returns
    -------
    str
    """
    digest = hashlib.sha256()
    for package in packages:
        for path in sorted((REPOSITORY / package).rglob("*.py")):
            digest.update(path.relative_to(REPOSITORY).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    for path in files:
        with open(path, "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


class Kept:
    """A line of JSON for each part that was done, by what it depends on.

    Parameters
    ----------
    path : Path
        The file; it need not be there.
    basis : str
        What all parts depend on, as :func:`digest_of` gives it.
    fresh : bool, default: False
        Whether what is there is done again.
    """

    def __init__(self, path: Path, basis: str, *, fresh: bool = False) -> None:
        self.path, self.basis = path, basis
        self.known: dict[str, Any] = {}
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() and not fresh else []
        for line in lines:
            try:
                row = json.loads(line)
                self.known[row["case"]] = row["found"]
            except (ValueError, TypeError, KeyError):
                continue  # cut off by a stop

    def key(self, case: dict[str, Any]) -> str:
        """What a case is known by."""
        return json.dumps(case | {"basis": self.basis}, sort_keys=True)

    def keep(self, case: dict[str, Any], found: Any) -> None:
        """Write down what was found for a case."""
        # by way of JSON, so that now and later give the same
        self.known[self.key(case)] = json.loads(json.dumps(finite(found), default=float))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"case": self.key(case), "found": self.known[self.key(case)]}) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def once(self, case: dict[str, Any], make: Callable[[], Any]) -> Any:
        """What was found for a case, now or before."""
        if self.key(case) not in self.known:
            self.keep(case, make())
        return self.known[self.key(case)]
