"""Ctrl-C: the first one keeps the best solution so far, the second one gives up."""

from __future__ import annotations

import io
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from cflengine import CompressiveFeatures, PLQClassifier, cli
from cflengine.cli import compress, terminal

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample_data" / "reviews.csv"


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX terminal")
@pytest.mark.parametrize("moment", ["step 0 ", r"step [1-9]\d"])
def test_ctrl_c_keeps_the_best_solution(tmp_path, moment):
    import pty

    terminal, stderr = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "cflengine", "compress", str(SAMPLE), "--max-gram", "5", "--limit", "800", "--out",
         str(tmp_path / "out")],
        stdout=subprocess.PIPE, stderr=stderr, cwd=ROOT, text=True,
    )  # fmt: skip
    os.close(stderr)
    try:
        shown = until(terminal, moment, process)
        process.send_signal(signal.SIGINT)
        rest, out = drain(terminal), process.stdout.read()
        assert process.wait(timeout=60) == 0, shown + rest
    finally:
        process.kill()
        process.stdout.close()
        os.close(terminal)
    assert (tmp_path / "out" / "features.csv").stat().st_size > 0
    report = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert report["reason"] == "interrupted" and report["certificate"]["covered"]
    assert 0 < report["lower_bound"] <= report["objective"]
    assert "interrupted after" in out and "Traceback" not in shown + rest


def until(terminal: int, pattern: str, process: subprocess.Popen) -> str:
    """What a terminal shows until it shows a pattern."""
    shown, end = "", time.monotonic() + 120
    while not re.search(pattern, shown):
        assert time.monotonic() < end and process.poll() is None, shown
        if select.select([terminal], [], [], 0.2)[0]:
            shown += os.read(terminal, 4096).decode("utf-8", "replace")
    return shown


def drain(terminal: int) -> str:
    """The rest of it; a terminal whose other end is closed answers with an error on Linux."""
    shown = ""
    while True:
        try:
            data = os.read(terminal, 4096)
        except OSError:
            return shown
        if not data:
            return shown
        shown += data.decode("utf-8", "replace")


def test_a_second_ctrl_c_gives_up():
    with terminal.TerminalProgress(io.StringIO(), show=False) as progress:
        assert progress.poll()
        signal.raise_signal(signal.SIGINT)
        assert not progress.poll()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is not progress._interrupt


@pytest.fixture
def interrupts():
    """SIGINT as a terminal has it: a shell that runs the tests in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupted_before_the_solve(capsys, tmp_path, monkeypatch, interrupts):
    monkeypatch.setattr(compress, "read", lambda arguments, clock: signal.raise_signal(signal.SIGINT))
    assert cli.main(["compress", str(SAMPLE), "--out", str(tmp_path / "out")]) == 130
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "nothing was written" in err
    assert not list(tmp_path.glob("out/*"))


def test_interrupted_where_python_cannot_raise_it(capsys, tmp_path, monkeypatch, interrupts):
    """As in a callback while modules are imported."""

    class Finalised:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    def read(arguments, clock):
        thing = Finalised()
        del thing
        for _ in range(500):
            time.sleep(0.01)

    monkeypatch.setattr(compress, "read", read)
    before = sys.unraisablehook
    assert cli.main(["compress", str(SAMPLE), "--out", str(tmp_path / "out")]) == 130
    assert capsys.readouterr().err.count("\n") == 1 and sys.unraisablehook is before


def test_what_is_read_is_shown_on_one_line_that_goes():
    stream = io.StringIO()
    with terminal.TerminalWatch(stream, show=True) as watch:
        watch.begin("reading", "bytes", 3_000_000)
        watch._last = 0.0
        watch.at(1_200_000)
        watch.begin("indexing phrases", "lengths", 3)
    shown = stream.getvalue().split("\r\033[K")
    assert shown == ["", "reading …", "reading, 1.2 of 3.0 MB", "indexing phrases, 0 of 3 lengths", ""]
    quiet = io.StringIO()
    with terminal.TerminalWatch(quiet, show=False) as watch:
        watch.begin("reading")
        watch.at(3)
    assert quiet.getvalue() == ""


def unsolvable(progress, time_limit: float | None = None) -> str:
    """Why a fit that no gap ends was ended by a listener of the command."""
    X = np.random.default_rng(0).normal(size=(60, 5))
    model = PLQClassifier("hinge", tol=0, max_iter=10**9, time_limit=time_limit, listeners=(progress,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, ["a", "b", "c"] * 20).solver_reason_


def test_a_time_limit_is_no_interrupt():
    late = terminal.TerminalProgress(io.StringIO(), show=False, ends=0.0)
    assert unsolvable(late) == "time limit"
    late.stop = True
    assert unsolvable(late) == "interrupted"
    assert unsolvable(terminal.TerminalProgress(io.StringIO(), show=False), time_limit=0.05) == "time limit"


def test_a_path_ends_at_the_time_limit_of_the_command():
    texts = ["a b a b c", "c b a"] * 5
    late = terminal.TerminalProgress(io.StringIO(), show=False, ends=0.0)
    found = CompressiveFeatures(max_gram=2, listeners=(late,)).path(texts, [0.5, 1.0, 2.0])
    assert len(found.frame) == 1 and found.frame["reason"].tolist() == ["time limit"]


CALLED_BACK = """
def call_back():
    global through
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.05)  # where an exception would be raised
    through = True
"""


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_within_a_callback_of_llvm_is_put_off(capsys):
    """An exception there is printed, and forgotten."""
    within = {"os": os, "signal": signal, "time": time}
    exec(compile(CALLED_BACK, "/site-packages/llvmlite/binding/executionengine.py", "exec"), within)

    def load() -> None:
        within["call_back"]()
        assert within["through"]
        time.sleep(5)
        pytest.fail("it was forgotten")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background ignore Ctrl-C
    try:
        with pytest.raises(KeyboardInterrupt):
            terminal.load_engine(load, quiet=True)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
