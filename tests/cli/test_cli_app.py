"""``cflengine app``: the server starts where it is asked to, and ends when it is told to."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

from cflengine.cli import main
from cflengine.engine import installed


def free_port() -> int:
    """Below those that the system hands out by itself, which a cluster of another test may get meanwhile."""
    for port in random.Random(os.getpid()).sample(range(20_000, 30_000), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_the_app_starts_and_ends(tmp_path):
    port = free_port()
    words = [sys.executable, "-m", "cflengine", "app", "--port", str(port), "--no-browser"]
    process = subprocess.Popen(words, cwd=Path(__file__).resolve().parents[2], stdout=subprocess.PIPE)
    try:
        until = time.monotonic() + 90
        while True:
            try:
                with urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=2) as answer:
                    assert answer.read() == b"ok"
                break
            except (urllib.error.URLError, TimeoutError):
                assert process.poll() is None and time.monotonic() < until
                time.sleep(0.2)
    finally:
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=30)
    assert f"localhost:{port}".encode() in said and process.returncode is not None
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=2)


def test_a_package_without_the_app_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(installed, "_PACKAGE", tmp_path / "cflengine")
    assert main(["app"]) == 2
    assert "the app is not installed" in capsys.readouterr().err
    (tmp_path / "cflengine" / "_app").mkdir(parents=True)
    (tmp_path / "cflengine" / "_app" / "app.py").write_text("")
    assert installed.sample_file().parent == tmp_path / "cflengine" / "_app" / "sample_data"


def test_the_sample_has_a_name(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["compress", "sample", "--limit", "40", "--quiet", "--out", "run"]) == 0
    assert main(["verify", "run"]) == 0
    (tmp_path / "sample").write_text("a file of that name is that file\n" * 3)
    assert main(["compress", "sample", "--out", "own", "--quiet"]) == 2, "its name says nothing of its kind"
    assert "sample" in capsys.readouterr().err
