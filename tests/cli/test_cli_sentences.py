"""``cflengine sentences``: the files of a run, its summary, the sentence it ends with when it cannot go on."""

from __future__ import annotations

import argparse
import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from cflengine import cli, load_model
from cflengine.cli import sentences
from cflengine.cli.options import Clock
from cflengine.cli.sentences import SearchProgress
from cflengine.sentence_lasso import GROUP_WEIGHTS
from cflengine.text import UNITS

FILES = {"models.csv", "sentences.csv", "weights.csv", "documents.csv", "grid.csv", "proof.npz", "report.json"}
MODELS = {f"{name}.cflm" for name in ("sentence", "frequency", "elastic", "ridge", "lasso")}


@pytest.fixture
def run(capsys):
    """A function: arguments to exit code, standard output and standard error."""

    def call(*arguments: object) -> SimpleNamespace:
        try:
            code = cli.main(["sentences", *map(str, arguments)])
        except SystemExit as end:
            code = end.code
        out, err = capsys.readouterr()
        return SimpleNamespace(code=code, out=out, err=err)

    return call


@pytest.fixture
def table(tmp_path):
    """A CSV of 60 reviews: two moods, one constant column, one split."""
    rng = np.random.default_rng(0)
    rows = []
    for k in range(60):
        telling = ["good", "nice"] if k % 2 else ["bad", "grim"]
        words = [*rng.choice(["the", "beer", "of", "it"], 4), ".", *rng.choice(telling, 2), "!"]
        rows.append((" ".join(words), "up" if k % 2 else "down", "x", "test" if k >= 48 else "train", f"w{k % 3}"))
    path = tmp_path / "reviews.csv"
    pd.DataFrame(rows, columns=["text", "mood", "one", "split", "who"]).to_csv(path, index=False)
    return path


def test_a_run_leaves_its_files(run, table, tmp_path):
    out = tmp_path / "out"
    end = run(table, "--label-column", "mood", "--test-split", "split=test", "--grid", "0.1,1", "--out", out)
    assert "not all was tried" not in end.out
    assert end.code == 0 and end.err == "" and {path.name for path in out.iterdir()} == FILES | MODELS
    report = json.loads((out / "report.json").read_text("utf-8"), parse_constant=pytest.fail)
    assert report["classes"] == ["down", "up"] and report["n_documents"] == {"train": 38, "dev": 10, "test": 12}
    models = pd.read_csv(out / "models.csv")
    assert models["penalty"].tolist() == ["sentence", "frequency", "elastic", "ridge", "lasso"]
    assert (models["gap"] <= 1e-4).all() and (models["accuracy"] == 1).all()
    assert [model["results"][0]["gap"] for model in report["models"]] == models["gap"].tolist()
    assert len(pd.read_csv(out / "grid.csv")) == 4 + 4 + 4 + 2 + 2
    for part in ("60 documents: 38 to learn from, 10 to choose by, 12 to judge by", "sentence ", "100.0 %", str(out)):
        assert part in end.out


def test_what_guessing_would_be_right_on_is_said(run, table, tmp_path):
    end = run(table, "--label-column", "mood", "--test-split", "who=w1", "--grid", "1", "--out", tmp_path / "out")
    assert "guessing   test 50.0 % right, by always saying" in end.out


def test_a_split_finds_a_column_with_an_equals_sign_in_its_name(run, table, tmp_path):
    frame = pd.read_csv(table).rename(columns={"who": "a=b"})
    frame.to_csv(table, index=False)
    end = run(table, "--label-column", "mood", "--test-split", "a=b=w1", "--grid", "1", "--out", tmp_path / "out")
    assert end.code == 0 and json.loads((tmp_path / "out" / "report.json").read_text())["n_documents"]["test"] == 20


def test_options_reach_the_models(run, table, tmp_path):
    out = tmp_path / "out"
    end = run(
        table, "--label-column", "mood", "--models", "lasso,sentence", "--lam-sen", "0.05", "--lam-las", "0.2,0.1",
        "--solver", "admm", "--rho", "2", "--classes", "up,down", "--gap", "1e-3", "--out", out, "--quiet",
    )  # fmt: skip
    assert end.code == 0 and end.out == end.err == ""
    report = json.loads((out / "report.json").read_text("utf-8"))
    assert [model["penalty"] for model in report["models"]] == ["sentence", "lasso"]
    settings = report["models"][0]["results"][0]["settings"]
    assert settings["rho"] == 2 and settings["lam_sen"] == 0.05 and settings["lam_las"] in (0.1, 0.2)
    assert report["models"][0]["results"][0]["solver"] == "admm"
    assert report["models"][1]["results"][0]["solver"] == "majorise"  # the baselines have one solver


def test_sentences_alone_are_learnt_and_verified(run, table, tmp_path):
    out = tmp_path / "out"
    wanted = ("--label-column", "mood", "--models", "sentence", "--lam-sen", "0.01,0.1", "--lam-las", "0")
    end = run(table, *wanted, "--out", out, "--quiet")
    assert end.code == 0, end.err
    (model,) = json.loads((out / "report.json").read_text("utf-8"))["models"]
    assert model["lam_las"] == 0 and model["gap"] <= 1e-4 and load_model(out / "sentence.cflm").l1 == 0
    assert cli.main(["verify", str(out)]) == 0


def test_kgrams_and_more_than_two_classes(run, table, tmp_path):
    out = tmp_path / "out"
    end = run(
        table, "--label-column", "who", "--features", "kgrams", "--max-gram", "2", "--grid", "0.1",
        "--models", "sentence", "--out", out,
    )  # fmt: skip
    assert end.code == 0, end.err
    report = json.loads((out / "report.json").read_text("utf-8"))
    assert len(report["models"][0]["results"]) == 3 and report["classes"] == ["w0", "w1", "w2"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--label-column", "nothing"], "the columns are:"),
        (["--label-column", "one"], "needs two classes"),
        (["--label-column", "mood", "--classes", "up,sideways"], "no value 'sideways'"),
        (["--label-column", "mood", "--dev-split", "split=never"], "development set is empty"),
        (["--label-column", "mood", "--dev-split", "2"], "share between 0 and 1"),
        (["--label-column", "mood", "--rho", "1"], "--rho is for --solver admm"),
        (["--label-column", "mood", "--lam-sen", "0"], "numbers above 0"),
        (["--label-column", "mood", "--grid", "1,x"], "numbers above 0"),
        (["--label-column", "mood", "--grid", "0,1"], "numbers above 0"),
        (["--label-column", "mood", "--lam-las", "-1"], "none below 0"),
        (["--label-column", "mood", "--lam-las", "0,nan"], "none below 0"),
        (["--label-column", "mood", "--lam-las", "0"], "--lam-las 0 is for --models sentence"),
        (["--label-column", "mood", "--models", "svm"], "'svm' is none of"),
        (
            ["--label-column", "mood", "--models", "lasso", "--lam-rid", "1"],
            "--lam-rid plays no part with --models lasso",
        ),
        (
            ["--label-column", "mood", "--models", "lasso", "--group-weights", "length"],
            "--group-weights plays no part with --models lasso",
        ),
        (
            ["--label-column", "mood", "--models", "lasso", "--solver", "admm"],
            "--solver plays no part with --models lasso",
        ),
        (["--label-column", "mood", "--language", "klingon"], "language must be a code such as 'en'"),
        (["--label-column", "mood", "--test-split", "who=w0", "--dev-split", "who=w0"], "are the test's already"),
        ([], "--label-column"),
    ],
)
def test_what_cannot_be_is_one_line(run, table, tmp_path, options, says):
    end = run(table, *options, "--out", tmp_path / "out")
    assert end.code == 2 and says in end.err and end.err.count("\n") == 1 and not (tmp_path / "out").exists()


def test_a_time_limit_keeps_what_is_there(run, table, tmp_path, monkeypatch):
    out = tmp_path / "out"
    read = sentences.read
    monkeypatch.setattr(sentences, "read", lambda arguments, clock: read(arguments, Clock(None)))
    end = run(table, "--label-column", "mood", "--time-limit", "0.001", "--out", out)
    assert end.code == 0, end.err
    said = re.search(r"not all was tried: (\d) of 36 models of the grid for sentence, none for (.*)", end.out)
    assert int(said[1]) == len(pd.read_csv(out / "grid.csv"))
    assert said[2] == "frequency, elastic, ridge, lasso (the time limit came first)"
    assert len(pd.read_csv(out / "grid.csv")) < 30 and (pd.read_csv(out / "models.csv")["penalty"] == "sentence").all()


def test_the_first_interrupt_keeps_what_is_there():
    progress = SearchProgress(None, show=False, ends=None)
    progress.begin("sentence", 4)
    point = SimpleNamespace(accuracy=0.5)
    assert progress.poll() and progress.on_point(point)
    progress.stop = True
    assert not progress.poll() and not progress.on_point(point) and progress.done == 2


def test_help_names_every_file(run):
    end = run("--help")
    assert end.code == 0 and all(name in end.out for name in FILES)


def test_groups_are_those_of_the_classifier():
    options = {action.dest: action.choices for action in _actions()}
    assert (options["groups"], options["group_weights"]) == (UNITS, GROUP_WEIGHTS)


def _actions() -> list[argparse.Action]:
    """The command's options."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()
    sentences.add_command(commands)
    return commands.choices["sentences"]._actions


def test_other_groups_are_told_of_by_their_name(run, table, tmp_path, capsys):
    out = tmp_path / "out"
    end = run(
        table, "--label-column", "mood", "--models", "sentence", "--grid", "0.1", "--groups", "document",
        "--group-weights", "length", "--out", out,
    )  # fmt: skip
    assert end.code == 0 and "48 training documents" in end.out
    assert cli.main(["verify", str(out)]) == 0 and "48 documents" in capsys.readouterr().out
    assert len(pd.read_csv(out / "sentences.csv")) == 60
