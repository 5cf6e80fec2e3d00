"""The command among other processes: signals, streams, encodings, time."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cflengine.text
from cflengine import cli
from cflengine.text import index_file
from cflengine.text.corpus import CorpusError
from cflengine.text.reading.readers import read_corpus

ROOT = Path(__file__).resolve().parents[2]
CALL = [sys.executable, "-c", "from cflengine.cli import main; raise SystemExit(main())"]
TEXTS = "text,label\n" + "".join(f"the cat {i % 7} sat on the mat,{'xy'[i % 2]}\n" for i in range(60))


@pytest.fixture
def source(tmp_path) -> Path:
    path = tmp_path / "in" / "texts.csv"
    path.parent.mkdir()
    path.write_text(TEXTS)
    return path


def call(*arguments: object, **options) -> subprocess.CompletedProcess:
    words = [argument if isinstance(argument, bytes) else str(argument) for argument in arguments]
    options = {"capture_output": True, "timeout": 240, "cwd": ROOT} | options
    return subprocess.run([*CALL, *words], check=False, **options)


def test_greek_on_a_narrow_stream(source, tmp_path):
    answer = call(
        "path", source, "--lams", "0.5,1", "--out", tmp_path / "run", env=os.environ | {"PYTHONIOENCODING": "ascii"}
    )
    assert answer.returncode == 0 and b"K-grams" in answer.stdout and b"Traceback" not in answer.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes there")
def test_names_that_are_no_text(tmp_path):
    folder = tmp_path / "letters"
    folder.mkdir()
    for i in range(4):
        (Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9%d.txt" % i))).write_text("the cat sat on the mat " * 4)
    out = Path(os.fsdecode(os.fsencode(tmp_path) + b"/r\xe9sum\xe9"))
    answer = call("compress", folder, "--out", out)
    assert answer.returncode == 0, answer.stderr
    assert json.loads((out / "report.json").read_text())["n_documents"] == 4 and b"written to" in answer.stdout


def test_closed_streams(source, tmp_path):
    for close in ("2>&-", ">&- 2>&-"):
        line = " ".join(
            ["exec", *(f"'{word}'" for word in CALL), "compress", str(source), "--out", str(tmp_path / "run"), close]
        )
        assert subprocess.run(["sh", "-c", line], cwd=ROOT, timeout=240, check=False).returncode == 0
        assert (tmp_path / "run" / "report.json").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
def test_a_reader_that_ends_first_is_no_error(source, tmp_path):
    words = [*CALL, "compress", str(source), "--out", str(tmp_path / "run")]
    process = subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.close()
    said = process.stderr.read().decode()
    assert process.wait(240) == 141 and "ipe" not in said and "rror" not in said
    assert (tmp_path / "run" / "report.json").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("wait", [0.05, 0.3, 1.0])
def test_an_early_interrupt_is_one_line(source, tmp_path, wait):
    program = "from cflengine.cli import main; print('here', flush=True); raise SystemExit(main())"
    words = [sys.executable, "-c", program, "compress", str(source), "--out", str(tmp_path / "run"), "--lam", "1"]
    process = subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout.readline() == b"here\n"  # what comes before is Python's own start
    time.sleep(wait)
    for _ in range(3):
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.02)
    _, err = process.communicate(timeout=120)
    assert process.returncode in (0, 130, -2, 1) and err.count(b"\n") <= 2
    if process.returncode == 130:
        assert b"Traceback" not in err and b"interrupted" in err


def test_bugs_are_called_so_and_input_errors_are_not(source, tmp_path, monkeypatch, capsys):
    def broken(*_, **__):
        raise ValueError("not enough values to unpack")

    monkeypatch.setattr("cflengine.text.reading.inputs.read_corpus", broken)
    assert cli.main(["compress", str(source), "--out", str(tmp_path / "run")]) == 1
    said = capsys.readouterr().err
    assert "internal error (ValueError" in said and "--debug" in said and said.count("\n") == 1
    assert cli.main(["compress", str(source), "--out", str(tmp_path / "run"), "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err
    monkeypatch.setattr(
        "cflengine.text.reading.inputs.read_corpus", lambda *_, **__: (_ for _ in ()).throw(MemoryError())
    )
    assert cli.main(["compress", str(source), "--out", str(tmp_path / "run")]) == 2
    assert "not enough memory" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["compress", "path", "sentences", "train-logistic"])
def test_a_pattern_that_is_none_is_one_line(command, source, tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(
            [command, str(source), "--label-column", "label", "--token-pattern", "(", "--out", str(tmp_path / "r")]
        )
    said = capsys.readouterr().err
    assert (end.value.code == 2 and "regular expression" in said) or "unrecognized" in said


def test_the_pattern_means_the_same_everywhere(source, tmp_path):
    for command in ("train-logistic", "sentences"):
        out = tmp_path / command
        more = ["--grid", "1", "--models", "ridge"] if command == "sentences" else []
        arguments = [command, source, "--label-column", "label", "--token-pattern", r"(\w)\w*", "--quiet", "--out", out]
        assert cli.main([str(word) for word in [*arguments, *more]]) == 0
        assert {"cat", "sat", "mat"} <= set(pd.read_csv(out / "weights.csv")["feature"].astype(str))


def test_classes_may_hold_commas_and_dashes(tmp_path):
    path = tmp_path / "in" / "t.csv"
    path.parent.mkdir()
    frame = pd.DataFrame({"text": ["good cat sat", "bad dog ran", "old cow lay"] * 8, "who": ["a, b", "-c", "d"] * 8})
    frame.to_csv(path, index=False)
    out = tmp_path / "run"
    assert cli.main(["train-logistic", str(path), "--text-column", "text", "--label-column", "who",
                     '--classes="a, b",-c', "--out", str(out), "--quiet"]) == 0  # fmt: skip
    assert json.loads((out / "report.json").read_text())["classes"] == ["-c", "a, b"]


@pytest.mark.parametrize("solver", ["guided", "homotopy"])
def test_the_index_is_under_the_time_limit_too(source, tmp_path, monkeypatch, solver):
    """What it takes, the solver has less; such as a kernel that is compiled in it."""
    for module in (cflengine.text, index_file):
        make = module.index_kgrams

        def slow(*arguments, make=make, **named):
            time.sleep(0.3)
            return make(*arguments, **named)

        monkeypatch.setattr(module, "index_kgrams", slow)
    out = tmp_path / "run"
    options = ["--limit", "30", "--solver", solver, "--time-limit", "60"]
    assert cli.main(["compress", str(source), "--quiet", "--out", str(out), *options]) == 0
    assert json.loads((out / "report.json").read_text())["settings"]["time_limit"] < 59.7


@pytest.mark.parametrize(("limit", "seconds", "late"), [(3.0, 60.0, True), (3.0, 3.9, False), (60.0, 65.0, False),
                                                        (60.0, 67.0, True), (None, 9e9, False)])  # fmt: skip
def test_a_limit_that_was_not_kept_is_told(capsys, limit, seconds, late):
    cli._say_late("cflengine compress", limit, seconds)
    said = capsys.readouterr().err
    assert said.count("\n") == late and (not late or f"took {seconds:.0f} s where --time-limit is {limit:g}:" in said)


def test_reading_is_under_the_time_limit(tmp_path, capsys):
    path = tmp_path / "in" / "bomb.csv.gz"
    path.parent.mkdir()
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"text\n")
        for i in range(3000):
            file.write(b"%d the cat sat on the mat and so did the dog of the house over there\n" % i * 400)
    began = time.monotonic()
    assert cli.main(["compress", str(path), "--time-limit", "0.2", "--out", str(tmp_path / "run")]) == 2
    assert time.monotonic() - began < 10 and "time limit" in capsys.readouterr().err


def test_a_parquet_file_that_repeats_a_long_text_is_bounded(tmp_path):
    path = tmp_path / "small.parquet"
    indices = pa.array([0] * 100_000, type=pa.int32())
    column = pa.DictionaryArray.from_arrays(indices, pa.array(["word " * 600_000]))
    pq.write_table(pa.table({"text": column}), path, compression="zstd")
    assert path.stat().st_size < 10_000
    with pytest.raises(CorpusError, match=r"compression bomb|holds more than"):
        read_corpus(path)


def test_templates_without_end_and_of_no_text(tmp_path, capsys):
    train = tmp_path / "in" / "t.conll"
    train.parent.mkdir()
    train.write_text("a x N\nb y M\n\n")
    for template in ("/dev/zero", str(tmp_path)):
        if Path(template).exists():
            assert cli.main(["train-crf", str(train), "--template", template, "--out", str(tmp_path / "r")]) == 2
            assert "template" in capsys.readouterr().err


def test_what_was_guessed_is_said(tmp_path, capsys):
    path = tmp_path / "in" / "t.csv"
    path.parent.mkdir()
    path.write_bytes("text\ncafé au lait est à côté\nété après la forêt\n".encode("cp1252") * 5)
    out = tmp_path / "run"
    assert cli.main(["compress", str(path), "--out", str(out), "--quiet"]) == 0
    assert "windows-1252" in capsys.readouterr().err
    assert cli.main(["compress", str(path), "--out", str(out), "--quiet", "--encoding", "cp1252"]) == 0
    assert "detected" not in capsys.readouterr().err


def test_all_that_was_left_out_is_in_a_table(tmp_path):
    path = tmp_path / "in" / "t.csv"
    path.parent.mkdir()
    path.write_text("id,text\n" + "".join(f"{i},{'the cat sat' if i % 3 == 0 else ''}\n" for i in range(300)))
    out = tmp_path / "run"
    assert cli.main(["compress", str(path), "--text-column", "text", "--out", str(out), "--quiet"]) == 0
    report = json.loads((out / "report.json").read_text())["corpus"]
    assert report["n_left_out"] == 200 and len(report["left_out"]) == 20
    frame = pd.read_csv(out / "left_out.csv")
    assert len(frame) == 200 and set(frame["why"]) == {"empty"} and frame["record"].tolist()[:3] == [1, 2, 4]


def test_a_gap_that_is_larger_than_asked_for_is_said_to_be(tmp_path, capsys):
    generator = np.random.default_rng(0)
    path = tmp_path / "dna.txt"
    path.write_text("\n".join("".join(line) for line in generator.choice(list("ACGT"), (40, 60))))
    tokenizer = ["tokenizer", str(path), "--pattern", "none", "--vocab-size", "290", "--out", str(tmp_path / "run")]
    assert cli.main(tokenizer) == 0
    said = capsys.readouterr().out
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["gap"] > 0.001 and report["reason"] == "converged"
    assert "0.100 % was asked for, but neither search nor bound got any further)" in said
    assert cli.main([*tokenizer, "--gap", "0.9"]) == 0
    assert "asked for" not in capsys.readouterr().out
