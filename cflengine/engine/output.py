"""A folder of results that is never half of one run and half of another.

Everything is written into a hidden folder inside the output folder; when all of it is whole, the last run's
report.json goes first, then the last run's other files, then the new files come in by renaming, report.json last. So a
folder with a report.json is complete, whenever the process was killed. While a run is at work it holds a lock on the
folder.
"""

from __future__ import annotations

import errno
import glob
import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import IO

from cflengine.engine.checks import InputError
from cflengine.engine.files import report_bytes
from cflengine.engine.results import versions

_HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)  # another process has the lock
REPORT, LOCK = "report.json", ".cflengine.lock"
_STAGING = ".cflengine-{}.part"
_NAMES = ".names.json"  # within it, as soon as files begin to take their places: those of the last run, and the new


def output_path(out: str, inputs: Iterable[str] = ()) -> Path:
    """A folder to write to, which need not be there yet.

    Parameters
    ----------
    out : str
        As the command line names it.
    inputs : iterable of str
        What the run reads.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    InputError
        For an empty name or a file, and where the run would write to what it reads, or the next one would read what
        this one writes: the folder of an input file, an input folder, one within it, or where a pattern looks.
    """
    if not out.strip():
        raise InputError("--out is empty; give the name of a folder.")
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--out {out} is a file; give a folder.")
    where = folder.resolve()
    for name in inputs:
        if reads(name, where):
            raise InputError(f"--out {out} lies within the input {name}: the next run would read it; give another one.")
        local = _on_this_computer(name)
        if local is not None and Path(local).is_file() and where == Path(local).resolve().parent:
            raise InputError(f"--out {out} is the folder of {name}, which could be overwritten; give another one.")
        if any(_match(folders, where.parts) for folders in _pattern_folders(name)):
            raise InputError(f"--out {out} is where {name} looks: the next run would read it; give another one.")
    return folder


def reads(name: str, path: Path) -> bool:
    """Whether an input of this name is read at a path, or would be as soon as something is there.

    Parameters
    ----------
    name : str
        Of a file, of a folder (with all that is in it), a pattern, or an address; of addresses only those of this
        computer are known.
    path : Path
        Resolved.

    Returns
    -------
    bool
        True where it is read.
    """
    local = _on_this_computer(name)
    if local is None:
        return False
    pattern = _pattern(local)
    if pattern is None:
        source = Path(local).resolve()
        return source == path or (source.is_dir() and source in path.parents)
    return any(_match(pattern, one.parts) for one in (path, *path.parents))


def _on_this_computer(name: str) -> str | None:
    """The path of an input; None for an address of another computer."""
    if "://" not in name or Path(name).exists():
        return name
    scheme, separator, path = name.rpartition("::")[2].rpartition("://")  # the last of a chain of file systems
    return path if not separator or scheme in ("file", "local") else None


def _pattern(local: str) -> tuple[str, ...] | None:
    """The parts of a pattern of names, those before the first wildcard resolved; None for a name."""
    if not glob.has_magic(local) or Path(local).exists():
        return None
    parts = Path(local).parts
    first = next(k for k, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:first]).resolve().parts + parts[first:]


def _pattern_folders(name: str) -> Iterator[Sequence[str]]:
    """Patterns of the folders such that a run's files in them, or one folder below, would match a pattern."""
    local = _on_this_computer(name)
    pattern = None if local is None else _pattern(local)
    if pattern is not None:
        yield pattern[:-1]
        if glob.has_magic(pattern[-2]):
            yield pattern[:-2]


def _match(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether a path's parts are those of a pattern, in which ** stands for any number."""
    if not pattern or not parts:
        return not parts and all(part == "**" for part in pattern)
    if pattern[0] == "**":
        return _match(pattern[1:], parts) or _match(pattern, parts[1:])
    return fnmatch(parts[0], pattern[0]) and _match(pattern[1:], parts[1:])


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Make the folder and hold it for this process, within the block.

    Parameters
    ----------
    folder : Path
        It need not be there yet.

    Returns
    -------
    context manager
        Of nothing.

    Raises
    ------
    InputError
        Where another process writes to it.
    """
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / LOCK, "a+b") as file:
        if _try_lock(file) is False or not _is_at(folder / LOCK, file):
            raise InputError(f"another run is writing to {folder}: wait for it, or give another --out.")
        try:
            yield
        finally:
            with suppress(OSError):
                os.unlink(folder / LOCK)
                if made:  # for nothing, if there is nothing in it
                    os.rmdir(folder)


def remove_abandoned(folders: Iterable[Path]) -> None:
    """Remove those that a process held by :func:`locked_folder` and left behind when it was killed."""
    for folder in folders:
        with suppress(OSError), open(folder / LOCK, "r+b") as file:
            if _try_lock(file):
                shutil.rmtree(folder)


def _try_lock(file: IO[bytes]) -> bool | None:
    """Whether there is now a lock, which ends with the process, also when that is killed; None on a file system that
    has none."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in _HELD else None
    return True


def _is_at(path: Path, file: IO[bytes]) -> bool:
    """Whether the file still has that name: the run before may have removed it between our opening and our lock."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except OSError:
        return False


@contextmanager
def new_files(folder: Path, say: Callable[[str], None] = lambda text: None) -> Iterator[Path]:
    """An empty folder to write a run to; at the end, what is in it takes the place of the last run's files.

    What fails or is killed before leaves the last run as it was. A file of the same name that no run wrote is kept
    under another, NAME.bak.

    Parameters
    ----------
    folder : Path
        The run's.
    say : callable
        Told of every file that is kept under another name.

    Returns
    -------
    context manager
        Of the Path of the empty folder.
    """
    ours: set[str] = set()
    for old in folder.glob(_STAGING.format("*")):  # of a run that was killed: no other process holds the lock
        ours |= _brought_in(old)
        shutil.rmtree(old, ignore_errors=True)
    staging = folder / _STAGING.format(os.getpid())
    staging.mkdir()
    try:
        yield staging
        _replace(folder, staging, ours, say)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _replace(folder: Path, staging: Path, ours: set[str], say: Callable[[str], None]) -> None:
    """ours: names of files that a run which was killed has left; say: who is told of files that are kept aside."""
    names = sorted(path.relative_to(staging).as_posix() for path in staging.rglob("*") if path.is_file())
    _list_files(staging / REPORT, names)
    last = files_of_run(folder)
    last += sorted(ours.difference(last))
    (staging / _NAMES).write_text(json.dumps({"last": last, "new": names}), encoding="utf-8")  # from now on it begins
    for name in last:
        with suppress(OSError):
            (folder / name).unlink()
    for below in {(folder / name).parent for name in last} - {folder}:
        with suppress(OSError):
            below.rmdir()  # only if nothing from elsewhere is in it
    for name in sorted(names, key=lambda name: name == REPORT):
        (folder / name).parent.mkdir(exist_ok=True)
        if name not in ours and os.path.lexists(folder / name):
            _keep_aside(folder / name, say)
        os.replace(staging / name, folder / name)


def _brought_in(staging: Path) -> set[str]:
    """What a run that was killed while its files took the place of the last run's has left: those that had come in,
    and those of the last run. Nothing where it was killed before."""
    try:
        listed = json.loads((staging / _NAMES).read_text(encoding="utf-8"))
        here = {*listed["last"], *(name for name in listed["new"] if not os.path.lexists(staging / name))}
        return {name for name in here if _within(name)}
    except (OSError, ValueError, LookupError, TypeError):
        return set()


def _keep_aside(path: Path, say: Callable[[str], None]) -> None:
    """Whatever still has the name of a result is not of the last run."""
    kept = next(
        other for k in itertools.count(1)
        if not os.path.lexists(other := path.with_name(f"{path.name}.bak" + (str(k) if k > 1 else "")))
    )  # fmt: skip
    os.replace(path, kept)
    say(f"there was a file {path} that no run had written: it is {kept.name} now")


def files_of_run(folder: Path) -> list[str]:
    """The names of what the last run left, report.json first; only those within the folder count. Nothing where the
    report is not one of ours, which name this package among the versions."""
    try:
        report = json.loads((folder / REPORT).read_text(encoding="utf-8"))
        listed, version = report["files"], report["versions"]["cflengine"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return []
    if not isinstance(listed, list) or not isinstance(version, str):
        return []
    names = [name for name in listed if isinstance(name, str) and _within(name)]
    return [REPORT, *(name for name in names if name != REPORT)]


def _within(name: str) -> bool:
    parts = Path(name).parts
    return bool(parts) and len(parts) <= 2 and not Path(name).is_absolute() and ".." not in parts


def _list_files(path: Path, names: list[str]) -> None:
    """Put the names of all files into a report."""
    if not path.exists():
        return
    report = json.loads(path.read_text(encoding="utf-8"))
    path.write_bytes(report_bytes({"versions": versions()} | report | {"files": names}))
