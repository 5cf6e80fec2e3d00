"""The cache of compiled kernels is keyed by the package's sources and does not grow for ever."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from cflengine.engine import cache

PACKAGE = Path(cache.__file__).resolve().parents[1]


@pytest.fixture
def package(tmp_path) -> Path:
    copy = tmp_path / "cflengine"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def test_digest_is_of_the_sources_alone(package):
    digest = cache.source_digest(package)
    assert len(digest) == 16 and int(digest, 16) >= 0
    (package / "notes.txt").write_text("no source")
    (package / "engine" / "__pycache__").mkdir()
    (package / "engine" / "__pycache__" / "jit.pyc").write_bytes(b"\0")
    assert cache.source_digest(package) == digest


@pytest.mark.parametrize("edit", ["change", "add", "remove", "rename"])
def test_digest_changes_with_any_source(package, edit):
    before = cache.source_digest(package)
    kernel = package / "compression" / "kernels" / "prox.py"
    if edit == "change":
        kernel.write_bytes(kernel.read_bytes() + b"\n")
    elif edit == "add":
        (package / "compression" / "extra.py").touch()
    elif edit == "remove":
        kernel.unlink()
    else:
        kernel.rename(kernel.with_name("proximal.py"))
    assert cache.source_digest(package) != before


def folder_of(base: Path, name: str, age: int) -> Path:
    folder = base / name
    folder.mkdir(parents=True)
    (folder / "kernel.nbi").write_bytes(b"machine code")
    os.utime(folder, (1e9 - age, 1e9 - age))
    return folder


@pytest.fixture
def configured(monkeypatch, tmp_path):
    """configure_numba_cache() without a user's choice, numba's own setting put back afterwards."""
    import numba

    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(numba.config, "CACHE_DIR", numba.config.CACHE_DIR)
    monkeypatch.setattr(cache, "user_cache_dir", lambda: tmp_path / "home" / "cflengine")
    return numba.config


def test_numba_is_pointed_at_a_folder_named_after_the_digest(configured, tmp_path):
    folder = cache.configure_numba_cache()
    assert folder == tmp_path / "home" / "cflengine" / "numba" / cache.source_digest(PACKAGE)
    assert folder.is_dir() and str(folder) == configured.CACHE_DIR


def test_old_digests_are_pruned_but_never_the_one_in_use(configured, tmp_path):
    base = tmp_path / "home" / "cflengine" / "numba"
    others = [folder_of(base, f"digest{age}", age) for age in range(5)]
    current = folder_of(base, cache.source_digest(PACKAGE), age=99)
    cache.configure_numba_cache()
    assert [path.exists() for path in others] == [True, True, True, False, False]
    assert (current / "kernel.nbi").exists()


def test_users_choice_of_a_cache_stands(configured, monkeypatch):
    before = configured.CACHE_DIR
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/elsewhere")
    assert cache.configure_numba_cache() is None and before == configured.CACHE_DIR


def test_home_that_cannot_be_written_sends_the_cache_to_the_temporary_folder(configured, monkeypatch, tmp_path):
    (tmp_path / "a file").touch()
    monkeypatch.setattr(cache, "user_cache_dir", lambda: tmp_path / "a file" / "cflengine")
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(tmp_path))
    folder = cache.configure_numba_cache()
    assert folder.is_dir() and folder.is_relative_to(tmp_path) and str(folder) == configured.CACHE_DIR
    if os.name == "posix":
        assert folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("platform", "variable", "tail"),
    [("linux", "XDG_CACHE_HOME", ""), ("win32", "LOCALAPPDATA", ""), ("darwin", None, "Library/Caches")],
)
def test_user_cache_dir_follows_the_platform(monkeypatch, tmp_path, platform, variable, tail):
    monkeypatch.setattr(cache.sys, "platform", platform)
    monkeypatch.setattr(cache.Path, "home", lambda: tmp_path)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    default = cache.user_cache_dir()
    assert default.is_relative_to(tmp_path) and default.name == "cflengine"
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / "chosen"))
        assert cache.user_cache_dir() == tmp_path / "chosen" / "cflengine"
    else:
        assert default == tmp_path / tail / "cflengine"


def test_a_temporary_folder_that_others_can_write_is_not_trusted(monkeypatch, tmp_path):
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(cache.tempfile, "tempdir", str(tmp_path))
    own = cache._private_temporary_folder()
    assert own.parent == tmp_path and cache._private_temporary_folder() == own
    own.chmod(0o777)
    other = cache._private_temporary_folder()
    assert other != own and other.is_dir() and not other.stat().st_mode & 0o022
