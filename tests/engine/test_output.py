"""A folder of results is one run's: never overwritten inputs, never half of two runs, never two writers."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from cflengine.engine import output
from cflengine.engine.checks import InputError
from cflengine.engine.files import replaced
from cflengine.engine.output import LOCK, locked_folder, new_files, output_path

ROOT = Path(__file__).resolve().parents[2]


def write(folder: Path, **files: str) -> None:
    with new_files(folder) as staging:
        for name, text in files.items():
            path = staging / name.replace("__", "/")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        (staging / "report.json").write_text("{}")


def there(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file() and path.name != LOCK}


def test_a_run_takes_the_place_of_the_last_one(tmp_path):
    (tmp_path / "mine.txt").write_text("the user's")
    write(tmp_path, a="1", b="1", lam__c="1")
    assert there(tmp_path) == {"mine.txt", "a", "b", "lam/c", "report.json"}
    assert json.loads((tmp_path / "report.json").read_text())["files"] == ["a", "b", "lam/c", "report.json"]
    write(tmp_path, a="2")
    assert there(tmp_path) == {"mine.txt", "a", "report.json"} and (tmp_path / "a").read_text() == "2"
    assert not (tmp_path / "lam").exists()


def test_what_fails_leaves_the_last_run(tmp_path):
    write(tmp_path, a="1")
    with pytest.raises(RuntimeError), new_files(tmp_path) as staging:
        (staging / "a").write_text("2")
        raise RuntimeError
    assert there(tmp_path) == {"a", "report.json"} and (tmp_path / "a").read_text() == "1"


def test_a_file_of_the_users_is_kept_under_another_name(tmp_path):
    said: list[str] = []
    for name in ("features.csv", "features.csv.bak", "report.json"):
        (tmp_path / name).write_text("mine")
    with new_files(tmp_path, said.append) as staging:
        (staging / "features.csv").write_text("new")
        (staging / "report.json").write_text("{}")
    assert (tmp_path / "features.csv").read_text() == "new"
    assert (tmp_path / "features.csv.bak2").read_text() == (tmp_path / "report.json.bak").read_text() == "mine"
    assert len(said) == 2 and "features.csv.bak2" in said[0]
    with new_files(tmp_path, said.append) as staging:
        (staging / "features.csv").write_text("newer")
        (staging / "report.json").write_text("{}")
    assert len(said) == 2, "that one was ours"


def killed_at(folder: Path, monkeypatch, owner, name: str, n: int, **files: str) -> None:
    """A run that is killed where it calls a function of owner for the n-th time: nothing is tidied up."""
    call, done = getattr(owner, name), []

    def until(*arguments):
        if len(done) == n:
            raise KeyboardInterrupt
        done.append(call(*arguments))

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(owner, name, until)
        patched.setattr(output.shutil, "rmtree", lambda *_, **__: None)
        write(folder, **files)
    assert len(done) == n


@pytest.mark.parametrize(("owner", "name", "n"), [(Path, "unlink", 1), (os, "replace", 0), (os, "replace", 2)])
def test_what_a_killed_run_left_is_no_file_of_the_users(tmp_path, monkeypatch, owner, name, n):
    """Neither what it had brought in, nor what it had not yet removed of the last run, whose report goes first."""
    write(tmp_path, a="1", z="1")
    killed_at(tmp_path, monkeypatch, owner, name, n, a="2", b="2")
    assert not (tmp_path / "report.json").exists()
    with new_files(tmp_path, lambda text: pytest.fail(text)) as staging:
        for name in ("a", "b", "z"):
            (staging / name).write_text("3")
    assert there(tmp_path) == {"a", "b", "z"} and {path.read_text() for path in tmp_path.iterdir()} == {"3"}


def test_what_killed_runs_left_goes_with_the_next_run_whatever_that_writes(tmp_path, monkeypatch):
    write(tmp_path, a="1", z="1")
    killed_at(tmp_path, monkeypatch, os, "replace", 2, a="2", b="2", c="2")
    (tmp_path / f".cflengine-{os.getpid()}.part").rename(tmp_path / ".cflengine-1.part")  # another process's
    killed_at(tmp_path, monkeypatch, Path, "unlink", 1, d="3")  # and this one while it tidied up
    with new_files(tmp_path, lambda text: pytest.fail(text)) as staging:
        (staging / "e").write_text("4")
    assert there(tmp_path) == {"e"}


@pytest.mark.parametrize("n", [None, 1])
def test_a_file_of_the_users_beside_what_a_killed_run_left_is_kept(tmp_path, monkeypatch, n):
    """It was killed before its files were whole, or after the first had come in."""
    if n is None:
        (tmp_path / ".cflengine-99999999.part").mkdir()
    else:
        killed_at(tmp_path, monkeypatch, os, "replace", n, a="1", b="1")
    (tmp_path / "b").write_text("mine")
    said: list[str] = []
    with new_files(tmp_path, said.append) as staging:
        for name in ("a", "b"):
            (staging / name).write_text("new")
    assert there(tmp_path) == {"a", "b", "b.bak"} and (tmp_path / "b.bak").read_text() == "mine"
    assert len(said) == 1 and "b.bak" in said[0]


@pytest.mark.parametrize("report", [{}, {"tool": "other"}, {"versions": {"other": "1"}}, {"versions": "1.0"}])
def test_a_report_of_another_tool_names_nothing_that_goes(tmp_path, report):
    (tmp_path / "data").mkdir()
    for name in ("notes.txt", "data/mine.csv"):
        (tmp_path / name).write_text("mine")
    (tmp_path / "report.json").write_text(json.dumps(report | {"files": ["notes.txt", "data/mine.csv"]}))
    said: list[str] = []
    with new_files(tmp_path, said.append) as staging:
        (staging / "report.json").write_text("{}")
    assert there(tmp_path) == {"notes.txt", "data/mine.csv", "report.json", "report.json.bak"} and len(said) == 1


def test_what_is_no_file_is_written_to_and_a_link_stays_one(tmp_path):
    target, link, pipe = tmp_path / "target.csv", tmp_path / "link.csv", tmp_path / "pipe"
    target.write_text("old")
    link.symlink_to(target)
    with replaced(link) as file:
        file.write(b"new")
    assert link.is_symlink() and target.read_text() == "new"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with replaced(pipe) as file:
        file.write(b"through the pipe")
    reader.join(timeout=10)
    assert read == [b"through the pipe"] and pipe.is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.csv", "pipe", "target.csv"]


def test_a_report_that_names_files_elsewhere_removes_none(tmp_path):
    run, other = tmp_path / "run", tmp_path / "other.txt"
    run.mkdir(), other.write_text("mine")
    (run / "report.json").write_text(json.dumps({"files": ["../other.txt", str(other), "", 7, "a/b/c"]}))
    write(run, a="1")
    assert other.exists()


@pytest.mark.parametrize("out", ["", "  "])
def test_a_folder_without_a_name_is_refused(out):
    with pytest.raises(InputError, match="--out is empty"):
        output_path(out)


def test_outputs_never_touch_inputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "documents.csv").write_text("text\na b\n")
    (tmp_path / "letters").mkdir()
    for out, source in ((".", "documents.csv"), (str(tmp_path), "documents.csv"), ("letters", "letters"),
                        ("letters/run", "letters"), (".", "letters/../documents.csv")):  # fmt: skip
        with pytest.raises(InputError, match="give another one"):
            output_path(out, [source])
    (tmp_path / "letters" / "a.txt").write_text("a")
    for out, source in (
        (".", "*.csv"), (str(tmp_path), "./doc*.csv"), ("letters", "letters/*.txt"), ("letters", "*/a.txt"),
        ("letters/run", "letters/**/*.txt"), ("letters/run", "**/*.csv"), ("letters", "letters/*/*.txt"),
        ("letters_run", "letters*"), ("letters/run", "lett*"), (".", (tmp_path / "documents.csv").as_uri()),
        ("letters", f"{tmp_path.as_uri()}/letters/*.txt"), (".", f"gzip::file://{tmp_path}/documents.csv"),
    ):  # fmt: skip
        with pytest.raises(InputError, match="give another one"):
            output_path(out, [source])
    far = ["documents.csv", "letters", "*.csv", "letters/*.txt", "s3://bucket/*.csv", "https://x.org/run?a=*"]
    assert output_path("run", far) == Path("run") and output_path(".", ["letters/*.txt"]) == Path()
    with pytest.raises(InputError, match="is a file"):
        output_path("documents.csv")


HOLDS = """
import sys, time
from pathlib import Path
from cflengine.engine.output import locked_folder, new_files
with locked_folder(Path(sys.argv[1])):
    with new_files(Path(sys.argv[1])) as staging:
        (staging / "a").write_text("new")
        print("ready", flush=True)
        time.sleep(60)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_two_writers_and_one_that_is_killed(tmp_path):
    write(tmp_path, a="old")
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    with pytest.raises(InputError, match="another run is writing"), locked_folder(tmp_path):
        pass
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert (tmp_path / "a").read_text() == "old" and (tmp_path / "report.json").exists()
    for _ in range(50):
        try:
            with locked_folder(tmp_path):
                write(tmp_path, a="newer")
            break
        except InputError:
            time.sleep(0.1)
    assert there(tmp_path) == {"a", "report.json"} and (tmp_path / "a").read_text() == "newer"


def test_a_lock_on_a_file_that_is_gone_is_no_lock(tmp_path, monkeypatch):
    """Another run may end, and remove its lock, between the opening of the file and the locking of it."""
    taken = output._try_lock

    def too_late(file):
        (tmp_path / LOCK).unlink()
        return taken(file)

    monkeypatch.setattr(output, "_try_lock", too_late)
    with pytest.raises(InputError, match="another run"), locked_folder(tmp_path):
        pass


def test_a_file_system_without_locks_can_be_written_to(tmp_path, monkeypatch):
    """There it cannot be known whether a run is at work: what looks left behind stays."""
    fcntl = pytest.importorskip("fcntl")

    def unknown(file, operation):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", unknown)
    with locked_folder(tmp_path / "out"):
        write(tmp_path / "out", a="new")
        output.remove_abandoned([tmp_path / "out"])
    assert (tmp_path / "out" / "a").read_text() == "new"

    def held(file, operation):
        raise OSError(errno.EWOULDBLOCK, "Resource temporarily unavailable")

    monkeypatch.setattr(fcntl, "flock", held)
    with pytest.raises(InputError, match="another run"), locked_folder(tmp_path / "out"):
        pass
