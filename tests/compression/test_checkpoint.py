"""A run that is killed can be gone on with."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from cflengine import CompressiveFeatures, ExactSettings, GuidedSettings, ShardedSettings, cli
from cflengine.compression import checkpoint
from cflengine.compression.checkpoint import Checkpoint, read_checkpoint
from cflengine.compression.model.certificate import certify
from cflengine.engine import ClusterLostError, locked_folder
from cflengine.engine.checks import InputError
from cflengine.text import index_file
from naive.corpora import repeated_phrases

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample_data" / "reviews.csv"
TEXTS = repeated_phrases(7, 90, 4)
SETTINGS = {
    "guided": GuidedSettings(tol=0.0, annealings=1, relaxation_iterations=60),
    "sharded": ShardedSettings(
        tol=0.0, shards=3, in_memory=True, guided=GuidedSettings(annealings=1, relaxation_iterations=60)
    ),
}


@pytest.mark.parametrize("solver", SETTINGS)
@pytest.mark.parametrize("scale", [1.0, 250.0])
def test_a_run_begins_where_another_was_stopped(tmp_path, monkeypatch, solver, scale):
    """Whatever the unit of costs."""
    monkeypatch.setattr(checkpoint, "_SHARE", 0.0)
    costs = {"lam": scale, "dictionary_cost": lambda gram: scale * len(gram)}
    model = CompressiveFeatures(solver=solver, settings=SETTINGS[solver], **costs)
    table = model.tokenize(TEXTS)
    digest, path = table.digest(3), tmp_path / "best.npz"

    def stop(stats) -> bool:
        return stats.iteration < 50

    model.set_params(listeners=[Checkpoint(path, digest, every_s=0.0), stop]).fit_tokens(table)
    cover, alpha = read_checkpoint(path, digest)
    index = model.index_
    kept = certify(cover, alpha, index.gram_of, model.costs_at(scale))
    assert kept.covered and kept.lower_bound > 0.5 * model.result_.lower_bound

    events = []
    again = CompressiveFeatures(solver=solver, settings=SETTINGS[solver], listeners=[events.append], **costs)
    result = again.fit_tokens(table, (cover, alpha)).result_
    assert events[0].best_objective <= kept.objective and result.objective <= kept.objective
    assert events[0].lower_bound >= 0.999 * kept.lower_bound
    assert result.lower_bound >= 0.999 * kept.lower_bound


def test_the_file_is_written_now_and_then_and_only_where_something_is_better(tmp_path):
    class Run:
        best_objective, lower_bound = 10.0, 5.0
        asked = 0

        def incumbent(self):
            self.asked += 1
            return np.ones(3, dtype=np.uint8), np.ones(3)

    run, path = Run(), tmp_path / "best.npz"
    late = Checkpoint(path, "d", every_s=1e6)
    late.shown(run)
    assert not path.exists() and run.asked == 0
    soon = Checkpoint(path, "d", every_s=0.0)
    for expected, best in ((1, 10.0), (1, 10.0), (2, 9.0)):
        run.best_objective, soon._next = best, 0.0
        soon.shown(run)
        assert run.asked == expected
    cover, alpha = read_checkpoint(path, "d")
    assert (
        cover.dtype == np.uint8 and alpha.dtype == np.float32 and [p.name for p in tmp_path.iterdir()] == ["best.npz"]
    )


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04 not an archive", {"digest": np.array("d")},
                {"digest": np.array("d"), "cover": np.ones(3), "alpha": np.ones(3)},
                {"digest": np.array("d"), "cover": np.ones(3, np.uint8), "alpha": np.ones(2)},
                {"digest": np.array("d"), "cover": np.ones(3, np.uint8), "alpha": np.full(3, np.nan)},
                {"digest": np.array("d"), "cover": np.array([{}], object), "alpha": np.ones(1)},
                (6, 210), (8, 1)],
)  # fmt: skip
def test_a_damaged_file_is_not_used(tmp_path, content):
    """A pair: of a place in the list of an archive's files, and a byte there, as of a later ZIP or an encrypted one."""
    path = tmp_path / "best.npz"
    if isinstance(content, tuple):
        np.savez(path, digest=np.array("d"), cover=np.ones(3, np.uint8), alpha=np.ones(3))
        place, byte = content
        whole = bytearray(path.read_bytes())
        whole[whole.rfind(b"PK\x01\x02") + place] = byte
        content = bytes(whole)
    if isinstance(content, dict):
        np.savez(path, **content)
    else:
        path.write_bytes(content)
    assert read_checkpoint(path, "d") is None


def test_a_disk_that_does_not_take_it_is_said_once_and_ends_nothing(tmp_path):
    class Run:
        best_objective, lower_bound = 10.0, 5.0

        def incumbent(self):
            return np.ones(3, dtype=np.uint8), np.ones(3)

    said = []
    kept = Checkpoint(tmp_path / "gone" / "best.npz", "d", every_s=0.0, say=said.append)
    for _ in range(2):
        kept._next = 0.0
        kept.shown(Run())
    assert len(said) == 1 and "cannot be kept" in said[0] and "No such file" in said[0]
    (tmp_path / "gone").mkdir()
    kept._next = 0.0
    kept.shown(Run())
    assert read_checkpoint(kept.path, "d") is not None


@pytest.mark.parametrize("solver", SETTINGS)
def test_what_is_known_has_to_be_a_solution(solver):
    model = CompressiveFeatures(solver=solver, settings=SETTINGS[solver])
    table = model.tokenize(TEXTS)
    good, prices = model.fit_tokens(table).result_.cover, np.ones(table.n_tokens, np.float32)
    assert model.fit_tokens(table, (good, prices)).result_.certificate.covered
    first = int(np.flatnonzero(good)[-1])
    bare, crossing, foreign = good.copy(), good.copy(), good.copy()
    bare[first] = 0
    crossing[-1] = 1 << 2  # three words from the last on
    foreign[0] = 1 << 7
    for wrong, sentence in ((bare, "leaves a token without a pointer"), (np.zeros_like(good), "without a pointer"),
                            (crossing, "a pointer of 3 words where there is no"), (foreign, "where there is no"),
                            (good.astype(np.float64), "no cover of pointers")):  # fmt: skip
        with pytest.raises(InputError, match=sentence):
            model.fit_tokens(table, (wrong, prices))
    with pytest.raises(InputError, match="its prices are no numbers"):
        model.fit_tokens(table, (good, prices * np.nan))


def test_the_file_of_another_corpus_is_refused(tmp_path):
    path = tmp_path / "best.npz"
    np.savez(path, cover=np.ones(3, np.uint8), alpha=np.ones(3), digest=np.array("other"))
    with pytest.raises(InputError, match="is of another corpus"):
        read_checkpoint(path, "d")


def test_what_cannot_begin_from_a_solution_says_so():
    model = CompressiveFeatures()
    table = model.tokenize(TEXTS)
    cover = np.ones(table.n_tokens, dtype=np.uint8)
    with pytest.raises(InputError, match=r"not one of .* tokens"):
        model.fit_tokens(table, (cover[:-1], cover))
    for solver, settings in (("homotopy", None), ("exact", ExactSettings())):
        with pytest.raises(InputError, match="cannot begin from a solution"):
            CompressiveFeatures(solver=solver, settings=settings).fit_tokens(table, (cover, cover))


_RUN = """
import sys
from cflengine import cli
from cflengine.compression import checkpoint
from cflengine.text import index_file
checkpoint.EVERY_S = index_file.WORTH_S = 0.0
cli.main(sys.argv[1:])
"""


@pytest.mark.parametrize("options", [(), ("--shards", "3")])
def test_kill_9_and_resume(tmp_path, capsys, monkeypatch, options):
    """What was found before is there, the corpus is not indexed again, what is in the folder never looks complete, and
    the new run can be verified."""
    out = tmp_path / "run"
    arguments = ["compress", str(SAMPLE), "--limit", "400", "--gap", "0", "--out", str(out), "--quiet", *options]
    best = out / ".cflengine-best.npz"
    process = subprocess.Popen([sys.executable, "-c", _RUN, *arguments], cwd=ROOT)
    try:
        ends = time.monotonic() + 240
        while not best.exists() and time.monotonic() < ends and process.poll() is None:
            time.sleep(0.05)
        time.sleep(0.3)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(30)
    assert best.exists() and not (out / "report.json").exists()
    (out / "..cflengine-best.npz.0123.part").write_bytes(b"as if it was killed while it was writing")
    capsys.readouterr()
    arguments[arguments.index("0")] = "0.02"
    with monkeypatch.context() as patched:
        patched.setattr(index_file, "index_kgrams", None)
        assert cli.main([*arguments, "--resume"]) == 0
    assert capsys.readouterr().err == "" and not list(out.glob("*.cflengine*"))
    assert json.loads((out / "report.json").read_text("utf-8"))["gap"] <= 0.02
    assert cli.main(["verify", str(out)]) == 0


def test_nothing_to_go_on_from_is_said(tmp_path, capsys):
    out = tmp_path / "run"
    arguments = ["compress", str(SAMPLE), "--limit", "30", "--out", str(out), "--quiet", "--resume"]
    assert cli.main(arguments) == 0
    assert "nothing in" in capsys.readouterr().err and (out / "report.json").exists()
    (out / ".cflengine-best.npz").write_bytes(b"nonsense")
    assert cli.main(arguments) == 0
    assert "is damaged, and not used" in capsys.readouterr().err
    assert cli.main([*arguments, "--solver", "homotopy"]) == 2
    assert "--resume is for --solver guided or sharded, not homotopy" in capsys.readouterr().err


def test_an_index_is_enough_to_go_on_from_and_gone_in_the_end(tmp_path, capsys, monkeypatch):
    """As of a run that was killed before it had found anything."""
    out = tmp_path / "run"
    arguments = ["compress", str(SAMPLE), "--limit", "30", "--out", str(out), "--quiet"]
    monkeypatch.setattr(index_file, "WORTH_S", 0.0)
    with monkeypatch.context() as patched:
        patched.setattr(CompressiveFeatures, "adopt", None)  # as if it was killed: an error of the program's own
        assert cli.main(arguments) not in (0, 2)
    assert (out / ".cflengine-index.npz").exists() and not (out / "report.json").exists()
    capsys.readouterr()
    with monkeypatch.context() as patched:
        patched.setattr(index_file, "index_kgrams", None)
        assert cli.main([*arguments, "--resume"]) == 0
    assert capsys.readouterr().err == "" and not list(out.glob("*.cflengine*")) and (out / "report.json").exists()


def test_what_another_corpus_left_is_gone_where_a_run_begins_anew(tmp_path, monkeypatch):
    """So that the next one can be gone on with, also if it is killed before it has found anything."""
    out = tmp_path / "run"
    out.mkdir()
    np.savez(out / ".cflengine-best.npz", digest=np.array("another"), cover=np.ones(3, np.uint8), alpha=np.ones(3))
    arguments = ["compress", str(SAMPLE), "--limit", "30", "--out", str(out), "--quiet"]
    with monkeypatch.context() as patched:
        patched.setattr(CompressiveFeatures, "adopt", None)
        assert cli.main(arguments) not in (0, 2)
    assert cli.main([*arguments, "--resume"]) == 0


def test_a_folder_that_is_taken_is_said_before_anything_is_read(tmp_path, capsys):
    out = tmp_path / "run"
    with locked_folder(out):
        assert cli.main(["compress", str(tmp_path / "there is none.csv"), "--out", str(out), "--quiet"]) == 2
        assert "another run is writing" in capsys.readouterr().err
    assert cli.main(["compress", str(tmp_path / "there is none.csv"), "--out", str(out), "--quiet"]) == 2
    assert "another run" not in capsys.readouterr().err and not out.exists()  # for nothing no folder is left


@pytest.mark.parametrize("solver", ["guided", "sharded"])
def test_a_disk_that_is_full_at_the_end_loses_no_solution(tmp_path, capsys, monkeypatch, solver):
    out = tmp_path / "run"
    arguments = ["compress", str(SAMPLE), "--limit", "30", "--out", str(out), "--quiet", "--solver", solver]

    def full(*_) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("cflengine.compression.write_run", full)
        assert cli.main(arguments) == 2
    said = capsys.readouterr().err
    assert f"the disk of {out} is full" in said and "--resume goes on from it" in said
    assert not (out / "report.json").exists()
    assert cli.main([*arguments, "--resume", "--gap", "1"]) == 0
    report = json.loads((out / "report.json").read_text("utf-8"))
    assert capsys.readouterr().err == "" and report["gap"] < 0.01  # not what a gap of 1 ends with


def test_a_cluster_that_is_lost_leaves_what_was_found(tmp_path, capsys, monkeypatch):
    def lost(*_, **__) -> None:
        (tmp_path / "run" / ".cflengine-best.npz").write_bytes(b"")
        raise ClusterLostError("the Dask scheduler at tcp://a:1 is gone.")

    monkeypatch.setattr(CompressiveFeatures, "fit_tokens", lost)
    arguments = ["compress", str(SAMPLE), "--limit", "30", "--out", str(tmp_path / "run"), "--quiet", "--shards", "2"]
    assert cli.main(arguments) == 2
    assert "tcp://a:1 is gone. The best solution until then is kept: --resume" in capsys.readouterr().err
