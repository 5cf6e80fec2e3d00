"""Where compiled kernels are kept between processes.

numba's disk cache looks only at the file a kernel stands in: an edit in an imported module, or a changed
global constant, leaves callers on old machine code (numba issues 1833 and 9483). The cache folder is
therefore named after a digest of all sources of the package; folders of older digests are pruned.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

_KEEP_FOLDERS = 4


def user_cache_dir() -> Path:
    """The folder for this package's caches, by the platform's convention (not created)."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "cflengine"


def source_digest(package: Path) -> str:
    """First 16 hexadecimal digits of a SHA-256 over the names and contents of ``package/**/*.py``."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(b"\0")
        digest.update(path.read_bytes())
        digest.update(b"\0")
    return digest.hexdigest()[:16]


def configure_numba_cache() -> Path | None:
    """Point numba at a cache folder keyed by the package's sources; call before the first kernel is defined.

    Returns the folder, or None where the user has set ``NUMBA_CACHE_DIR`` (their choice stands).
    Where the home folder cannot be written, a folder below the temporary directory is taken.
    """
    if os.environ.get("NUMBA_CACHE_DIR"):
        return None
    digest = source_digest(Path(__file__).resolve().parents[1])
    folder = user_cache_dir() / "numba" / digest
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(folder)
    except OSError:
        folder = _private_temporary_folder() / digest
        folder.mkdir(exist_ok=True, mode=0o700)
    _prune(folder.parent, keep=folder)
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = str(folder)
    else:
        os.environ["NUMBA_CACHE_DIR"] = str(folder)
    return folder


def _private_temporary_folder() -> Path:
    """A folder below the temporary directory in which no other user can plant machine code for us to load."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"cflengine-{user}"
    folder.mkdir(exist_ok=True, mode=0o700)
    facts = folder.lstat()
    if hasattr(os, "getuid") and (folder.is_symlink() or facts.st_uid != user or facts.st_mode & 0o022):
        return Path(tempfile.mkdtemp(prefix="cflengine-"))
    return folder


def _prune(parent: Path, *, keep: Path) -> None:
    """Remove all but the newest few digests, so that upgrades do not fill the user's disk."""
    folders = [path for path in parent.iterdir() if path.is_dir() and path != keep]
    folders.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in folders[_KEEP_FOLDERS - 1 :]:
        shutil.rmtree(path, ignore_errors=True)
