"""Chromium, and scripts of Streamlit served as a user starts them."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
#: the one without windows first: it takes an eighth less of a run
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), "/usr/bin/chromium")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)

needs_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(importlib.util.find_spec("playwright") is None, reason="needs playwright"),
    pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="needs Chromium"),
]


@contextmanager
def served(script: Path, log: Path) -> Iterator[str]:
    """The address of a script; no traceback may stand in its log in the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.headless", "true"]
    command += ["--server.port", str(port), "--server.fileWatcherType", "none"]
    # it solves while a test looks at it; with all threads it would take them from the tests beside this one
    environment = {**os.environ, "PYTHONUTF8": "1", "NUMBA_NUM_THREADS": "1"}
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, env=environment)
        url = f"http://localhost:{port}"
        try:
            while True:
                try:
                    urllib.request.urlopen(f"{url}/_stcore/health", timeout=1).close()
                    break
                except OSError:  # not listening yet
                    assert process.poll() is None, log.read_text("utf-8")
                    time.sleep(0.1)
            yield url
        finally:
            process.terminate()
            process.wait(timeout=30)
    assert "Traceback" not in log.read_text("utf-8"), log.read_text("utf-8")
