"""The command: every file it leaves, every sentence it ends with, its help."""

from __future__ import annotations

import argparse
import gzip
import io
import json
import re
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from scipy.io import mmread

from cflengine import CompressiveFeatures, Corpus, __version__, cli
from cflengine.cli import compress as compress_command
from cflengine.cli import options, reports
from cflengine.compression.export import write_run
from cflengine.engine.files import restore_cell
from cflengine.linear.feature_files import matrix_market

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample_data" / "reviews.csv"
CSV = (
    "text,who,=n\n"
    '"the cat sat on the mat, the cat sat",=cmd(),1\n'
    '"the dog sat on the mat",-b,2\n'
    '"the cat, the ""dog"", and the mat","two\nlines",3\n'
    ",nobody,4\n"
)
FILES = {
    "features.csv", "features.npz", "feature_names.txt", "dictionary.csv", "documents.csv", "pointers.parquet",
    "trace.csv", "model.cflm", "proof.npz", "report.json",
}  # fmt: skip
PATH_FILES = {"path.csv", "documents.csv", "report.json"}
SENTENCE_FILES = {"models.csv", "sentences.csv", "weights.csv", "documents.csv", "grid.csv", "proof.npz", "report.json"}


@pytest.fixture
def run(capsys):
    """A function: arguments to exit code, standard output and standard error."""

    def call(*arguments: object) -> SimpleNamespace:
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code
        out, err = capsys.readouterr()
        return SimpleNamespace(code=code, out=out, err=err)

    return call


@pytest.fixture
def compress(run, tmp_path):
    """A function: content (or path) and options to the report and the folder of a run that must succeed."""

    def call(content: str | bytes | Path, *options: object, name: str = "input.csv") -> SimpleNamespace:
        source = content if isinstance(content, Path) else tmp_path / name
        if not isinstance(content, Path):
            source.write_bytes(content.encode() if isinstance(content, str) else content)
        out = tmp_path / f"out{len(list(tmp_path.iterdir()))}"
        end = run("compress", source, "--out", out, *options)
        assert end.code == 0 and end.err == "", end.err
        report = json.loads((out / "report.json").read_text("utf-8"), parse_constant=pytest.fail)
        return SimpleNamespace(report=report, folder=out, out=end.out)

    return call


def matrix_of(folder: Path) -> tuple[np.ndarray, list[str]]:
    return sparse.load_npz(folder / "features.npz").toarray(), (folder / "feature_names.txt").read_text("utf-8").split(
        "\n"
    )[:-1]


# ---- what it leaves


def test_every_file_of_a_run(compress):
    end = compress(CSV, "--lam", "1")
    assert {path.name for path in end.folder.iterdir()} == FILES | {"left_out.csv"}
    features, names = matrix_of(end.folder)

    long = pd.read_csv(end.folder / "features.csv", keep_default_na=False)
    dense = np.zeros_like(features)
    dense[long["document"], [names.index(restore_cell(name)) for name in long["feature"]]] = long["count"]
    assert np.array_equal(dense, features) and features.dtype.kind == "i"
    assert np.array_equal(mmread(io.BytesIO(matrix_market(sparse.csr_matrix(features)))).toarray(), features)

    dictionary = pd.read_csv(end.folder / "dictionary.csv", keep_default_na=False)
    assert [restore_cell(name) for name in dictionary["gram"]] == names
    assert dictionary["count"].tolist() == features.sum(axis=0).tolist()
    assert dictionary["documents"].tolist() == (features > 0).sum(axis=0).tolist()
    assert dictionary["cost"].tolist() == dictionary["length"].tolist()

    documents = pd.read_csv(end.folder / "documents.csv", keep_default_na=False)
    assert list(documents) == ["document", "row", "tokens", "pointers", "cost", "gap", "meta_who", "meta_=n"]
    assert documents["row"].tolist() == [0, 1, 2] and documents["tokens"].tolist() == [10, 6, 11]
    assert documents["meta_who"].tolist() == ["'=cmd()", "'-b", "two\nlines"]
    assert documents["pointers"].tolist() == features.sum(axis=1).tolist()

    pointers = pq.read_table(end.folder / "pointers.parquet").to_pandas()
    assert pointers.groupby("document").size().tolist() == documents["pointers"].tolist()
    trace = pd.read_csv(end.folder / "trace.csv")
    wanted = {"iteration", "objective", "best_objective", "relaxation", "lower_bound", "gap", "zeta", "rho"}
    assert wanted <= set(trace) and trace["stage"].iloc[-1] == "re-encoded"

    report = end.report
    assert report["objective"] == report["n_pointers"] * 1.0 + dictionary["cost"].sum()
    assert report["n_pointers"] == len(pointers) and report["dictionary_size"] == len(names)
    assert report["gap"] == pytest.approx(report["objective"] / report["lower_bound"] - 1) and report["gap"] >= 0
    assert report["n_documents"] == 3 and report["n_tokens"] == 27
    assert 0 < report["solver_seconds"] <= report["seconds"]
    assert report["peak_memory_bytes"] is None or report["peak_memory_bytes"] > 1 << 20
    assert report["versions"]["cflengine"] == __version__ and {"python", "numpy", "numba"} <= set(report["versions"])
    assert report["settings"]["tol"] == 1e-3 and report["arguments"]["max_gram"] == 3
    assert (
        report["corpus"]["n_missing"] + report["corpus"]["n_empty"] == 1 and report["corpus"]["text_column"] == "text"
    )
    assert report["certificate"]["covered"] is True and report["reason"] == "converged"
    for line in ("3 documents, 27 tokens (1 record", "dictionary", "objective", "lower bound", "gap", str(end.folder)):
        assert line in end.out


def test_the_command_and_the_estimator_agree(compress):
    end = compress(SAMPLE, "--limit", 60, "--lam", 0.5, "--max-gram", 2, "--weighting", "tf-idf", "--quiet")
    assert end.out == "" and end.report["n_documents"] == 60
    texts = pd.read_csv(SAMPLE)["text"].head(60).tolist()
    model = CompressiveFeatures(lam=0.5, max_gram=2, weighting="tf-idf")
    features, names = matrix_of(end.folder)
    assert np.array_equal(model.fit_transform(texts).toarray(), features)
    assert names == list(model.get_feature_names_out())
    long = pd.read_csv(end.folder / "features.csv", keep_default_na=False)
    assert np.array_equal(long["weight"], features[features != 0])


def test_every_file_of_a_path(run, tmp_path):
    end = run("path", SAMPLE, "--limit", 60, "--lams", "0.1:1:3", "--out", tmp_path / "out")
    assert end.code == 0 and end.err == "" and end.out.count("λ ") == 3
    table = pd.read_csv(tmp_path / "out" / "path.csv")
    assert table["lam"].tolist() == pytest.approx([0.1, 0.1**0.5, 1.0])
    assert (table["lower_bound"] <= table["objective"]).all() and (table["gap"] < 0.02).all()
    assert table[["share_1", "share_2", "share_3"]].sum(axis=1).tolist() == pytest.approx([1, 1, 1])
    for lam, size, pointers in zip(table["lam"], table["dictionary_size"], table["n_pointers"], strict=True):
        features, names = matrix_of(tmp_path / "out" / f"lam-{lam:g}")
        assert len(names) == size and features.sum() == pointers
    report = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"), parse_constant=pytest.fail)
    assert [point["objective"] for point in report["points"]] == table["objective"].tolist()
    assert len(pd.read_csv(tmp_path / "out" / "documents.csv")) == report["n_documents"] == 60


def test_what_a_path_does_not_come_to_is_said(run, tmp_path, monkeypatch):
    from cflengine.compression import estimator

    solve = estimator.solve_path
    monkeypatch.setattr(
        estimator, "solve_path", lambda index, lams, *given, **named: solve(index, list(lams)[:1], *given, **named)
    )
    end = run("path", SAMPLE, "--limit", 30, "--lams", "0.1,0.5,1", "--out", tmp_path / "out")
    assert end.code == 0 and "not solved: λ 0.5, 1 (the time limit came first)" in end.out
    report = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert report["lams_not_solved"] == [0.5, 1.0] and len(report["points"]) == 1


def test_documents_that_are_left_out_and_scripts_that_are_cut_wrongly_are_said(run, tmp_path):
    rows = [f"{text},{label}" for text, label in (("की यह पाठ है", "a"), ("कि यह पाठ है", "b")) for _ in range(40)]
    (tmp_path / "hindi.csv").write_text("\n".join(["text,label", *rows, ",a", "और यह,"]) + "\n", encoding="utf-8")
    end = run("train-logistic", tmp_path / "hindi.csv", "--label-column", "label", "--out", tmp_path / "out")
    assert end.code == 0 and "1 of 82 records left out" in end.err and "--tokens" in end.err
    assert "(1 without a label are left out)" in end.out
    end = run(
        "train-logistic", tmp_path / "hindi.csv", "--label-column", "label", "--tokens", "characters", "--quiet",
        "--out", tmp_path / "out2",
    )  # fmt: skip
    assert end.code == 0 and "--tokens" not in end.err


@pytest.mark.parametrize("lams", ["", "1:2", "0:1:5", "3:1:5", "1:2:0", "0.1,much", "-1", "1:2:1e3", "1:2:3:4"])
def test_bad_lams_end_with_one_sentence(run, tmp_path, lams):
    assert_one_line(run("path", SAMPLE, f"--lams={lams}", "--out", tmp_path / "out"), "0.01:3:10")


def test_shards_are_a_solver_of_their_own(compress, tmp_path):
    (tmp_path / "scratch").mkdir()
    report = compress(SAMPLE, "--limit", 80, "--shards", 3, "--scratch", tmp_path / "scratch", "--gap", 0.01).report
    assert report["solver"] == "sharded" and report["settings"]["shards"] == 3 and report["gap"] <= 0.01
    assert not list((tmp_path / "scratch").iterdir())
    assert compress(SAMPLE, "--limit", 20, "--solver", "sharded").report["settings"]["shards"] == 4


def test_the_number_of_threads_changes_nothing(compress):
    one, two = (compress(SAMPLE, "--limit", 80, "--threads", n, "--quiet").folder for n in (1, 2))
    for name in FILES - {"trace.csv", "report.json"}:
        assert (one / name).read_bytes() == (two / name).read_bytes(), name


@pytest.mark.parametrize(
    ("options", "documents"),
    [((), 3), (("--documents", "paragraph"), 2), (("--limit", "2"), 2), (("--min-words", "4"), 1)],
)
def test_a_text_file(compress, options, documents):
    text = "one two three four\nfive six\n\nseven eight nine\n"
    assert compress(text, *options, name="input.txt").report["n_documents"] == documents


def test_zips_folders_and_gzip(compress, tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("b.txt", "a b c a b c")
        archive.writestr("a.txt", "c b a")
    end = compress(packed.getvalue(), name="input.zip")
    assert end.report["n_documents"] == 2
    assert pd.read_csv(end.folder / "documents.csv")["tokens"].tolist() == [3, 6]
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").write_text("a b c\na b c\n")
    assert compress(folder).report["n_documents"] == 1
    assert compress(gzip.compress(CSV.encode()), name="input.csv.gz").report["n_documents"] == 3
    assert (
        compress('{"body": "a b a b"}\n{"body": "b a"}\n', "--text-column", "body", name="x.jsonl").report["n_tokens"]
        == 6
    )


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("only one document here", ()),
        ("word\n", ()),
        ("one\ntwo\none\n", ()),
        ("a b\nc d\n", ("--max-gram", "8")),
        ("a b a b a b\n", ("--lam", "0")),
        ("a b a b a b\n", ("--lam", "1e6")),
        ("a b a b a b\n", ("--solver", "homotopy", "--last-zeta", "0")),
        ("a b a b a b\n", ("--solver", "homotopy", "--polish")),
        ("a b a b a b\n", ("--solver", "reweighting", "--polish")),
        ("a b a b a b\n", ("--solver", "reweighting", "--rounds", "3")),
        ("a b a b a b\n", ("--solver", "exact")),
        ("a b a b a b\n", ("--gap", "0.05")),
        ("a b a b a b\n", ("--relaxation-gap", "0.01")),
        ("a b a b a b\n", ("--time-limit", "0.2")),
        ("a b a b a b\n", ("--time-limit", "60")),
        ("a b a b a b\n", ("--solver", "homotopy", "--threads", "64")),
    ],
)
def test_small_and_extreme_runs_are_certified(compress, text, options):
    report = compress(text, *options, name="input.txt").report
    assert report["certificate"]["covered"] and report["lower_bound"] <= report["objective"] + 1e-9
    assert report["dictionary_size"] >= 1
    if "--time-limit" not in options and "--last-zeta" not in options:
        assert report["gap"] < 0.5


def test_tokens_as_asked_for(compress):
    _, names = matrix_of(compress("Cat cat\n", "--keep-case", "--max-gram", "1", name="input.txt").folder)
    assert names == ["Cat", "cat"]
    _, names = matrix_of(
        compress("cat-o'-nine tails\n", "--token-pattern", r"\S+", "--max-gram", "1", name="x.txt").folder
    )
    assert names == ["cat-o'-nine", "tails"]


def test_names_stay_one_a_line_and_distinct(compress):
    # a pattern whose tokens are white space themselves: names must neither vanish nor break the file's lines
    end = compress(CSV, "--token-pattern", r"(?s).", "--lam", "0", "--max-gram", "1")
    features, names = matrix_of(end.folder)
    assert len(names) == features.shape[1] == len(set(names)) and all(name.strip() for name in names)
    assert (end.folder / "feature_names.txt").read_text("utf-8").splitlines() == names


def test_an_existing_folder_is_written_to(compress, run, tmp_path):
    source = tmp_path / "input.txt"
    source.write_text("a b a b\n")
    out = tmp_path / "new" / "deep"
    for _ in range(2):
        assert run("compress", source, "--out", out, "--quiet").code == 0
    assert {path.name for path in out.iterdir()} == FILES


# ---- how it ends


def bad_zip() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("../evil.txt", "a b c")
    return packed.getvalue()


BAD_INPUT = {
    "empty.csv": (b"", "is empty"),
    "numbers.csv": (b"id,n\n1,2\n3,4\n", "no column looks like text"),
    "binary.csv": (bytes(range(256)) * 20, "NUL bytes|binary data"),
    "picture.csv": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "NUL bytes|binary data"),
    "quotes.csv": (b'id,text\n1,fine\n2,"not closed\n3,more\n', "quoted field"),
    "traversal.zip": (bad_zip(), "leads out of the archive"),
    "marks.txt": (b"... !!! ???\n", "None of the 1 records"),
    "noname": (b"some words", "does not tell its format"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_ends_with_one_sentence(run, tmp_path, name):
    data, message = BAD_INPUT[name]
    (tmp_path / name).write_bytes(data)
    end = run("compress", tmp_path / name, "--out", tmp_path / "out")
    assert_one_line(end, message)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.csv"], "no file or folder"),
        (["missing\n.csv"], "no file or folder"),
        (["{csv}", "--text-column", "body"], "no column 'body'"),
        (["{csv}", "--lam", "-1"], "--lam"),
        (["{csv}", "--lam=-0.5"], "between 0 and"),
        (["{csv}", "--lam", "nan"], "between 0 and"),
        (["{csv}", "--lam", "1e9"], "between 0 and"),
        (["{csv}", "--lam", "inf"], "between 0 and"),
        (["{csv}", "--lam", "much"], "is not a number"),
        (["{csv}", "--max-gram", "0"], "between 1 and 8"),
        (["{csv}", "--max-gram", "9"], "between 1 and 8"),
        (["{csv}", "--max-gram", "2.5"], "is not a whole number"),
        (["{csv}", "--weighting", "bm25"], "bm25"),
        (["{csv}", "--time-limit", "0"], "at least"),
        (["{csv}", "--time-limit", "inf"], "--time-limit must be"),
        (["{csv}", "--relaxation-gap", "nan"], "at least"),
        (["{csv}", "--last-zeta", "1.5"], "between 0 and 1"),
        (["{csv}", "--last-zeta", "0.5"], "is for --solver homotopy or relay, not guided"),
        (["{csv}", "--solver", "exact", "--rounds", "3"], "is for --solver reweighting, not exact"),
        (["{csv}", "--solver", "homotopy", "--shards", "3"], "--shards is for --solver sharded, not homotopy"),
        (["{csv}", "--shards", "0"], "at least 1"),
        (["{csv}", "--shards", "2", "--scratch", "{csv}/none"], "is no folder; make it first"),
        (["{csv}", "--shards", "2", "--solver", "guided"], "--shards is for --solver sharded, not guided"),
        (["{csv}", "--shards", "1", "--cluster", "local"], "two shards or more; shards is 1"),
        (["{csv}", "--polish"], "the solver 'guided' needs none"),
        (["{csv}", "--gap", "-1"], "at least 0"),
        (["{csv}", "--limit", "0"], "at least 1"),
        (["{csv}", "--threads", "-2"], "--threads"),
        (["{csv}", "--token-pattern", "("], "regular expression"),
        (["{csv}", "--token-pattern", "zzz"], "hold no token"),
        (["{csv}", "--frobnicate"], "frobnicate"),
        (["{csv}", "another.csv"], "another.csv"),
        ([], "INPUT"),
    ],
)
def test_bad_usage_ends_with_one_sentence(run, tmp_path, arguments, message):
    (tmp_path / "input.csv").write_text(CSV)
    arguments = [argument.replace("{csv}", str(tmp_path / "input.csv")) for argument in arguments]
    end = run("compress", *arguments, "--out", tmp_path / "out")
    assert_one_line(end, message)
    assert not list(tmp_path.glob("out/*"))


def test_parameters_are_called_by_their_options(run, tmp_path):
    path = tmp_path / "vocab_size.csv"
    path.write_text("text\nthe cat sat\n")
    end = run("tokenizer", path, "--vocab-size", "10", "--out", tmp_path / "out")
    assert_one_line(end, "--vocab-size must be at least 256")
    assert_one_line(
        run("tokenizer", tmp_path / "vocab_size", "--vocab-size", "10", "--out", tmp_path / "out"), "vocab_size'"
    )


def test_out_must_be_a_folder_and_that_is_said_before_the_work(run, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("kept")
    monkeypatch.setattr(CompressiveFeatures, "fit", lambda model, texts: pytest.fail("the corpus was solved"))
    assert_one_line(run("compress", SAMPLE, "--out", tmp_path / "file"), "is a file")
    assert_one_line(run("compress", SAMPLE, "--out", tmp_path / "file" / "below"), "file")
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.parametrize("arguments", [[], ["frobnicate"], ["--frobnicate"], ["compress", "x.csv"]])
def test_incomplete_commands(run, arguments):
    assert_one_line(run(*arguments), "see cflengine")


def assert_one_line(end: SimpleNamespace, message: str) -> None:
    assert end.code == 2 and end.out == ""
    assert end.err.startswith("cflengine") and end.err.endswith("\n") and end.err.count("\n") == 1, end.err
    assert re.search(message, end.err), end.err


def test_a_solution_that_proves_nothing_can_be_reported(capsys, tmp_path):
    # a bound of 0 is a gap of infinity, which JSON does not know
    model = CompressiveFeatures().fit(["a b a b"])
    nothing = replace(model.result_.certificate, lower_bound=0.0, gap=np.inf)
    model.result_ = replace(model.result_, lower_bound=0.0, gap=np.inf, certificate=nothing, relaxation=np.nan)
    corpus = Corpus.from_texts(["a b a b"])
    report = reports.run_report(model, corpus, 1.0, {})
    compress_command._summary(report, tmp_path)
    assert "none proved" in capsys.readouterr().out
    write_run(tmp_path, model, model.transform(["a b a b"]), reports.document_table(model, corpus), report)
    read = json.loads((tmp_path / "report.json").read_text("utf-8"), parse_constant=pytest.fail)
    assert read["gap"] is None and read["certificate"]["gap"] is None and read["relaxation"] is None


# ---- help


FILES_OF = [("compress", FILES), ("path", PATH_FILES), ("sentences", SENTENCE_FILES)]


@pytest.mark.parametrize(("command", "files"), FILES_OF)
def test_help_names_every_option_and_every_file(run, command, files):
    end = run(command, "--help")
    assert end.code == 0 and end.err == ""
    parser = cli.build_parser()
    commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction)).choices
    for action in commands[command]._actions:
        assert action.help, action.dest
        for option in action.option_strings or [action.metavar]:
            assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", end.out), option
    assert set(re.findall(r"^  ([a-z_]+\.[a-z]+)  ", end.out, re.MULTILINE)) - {"left_out.csv"} == files
    whole = run("--help").out
    assert all(re.search(rf"^ +{name}\s", whole, re.MULTILINE) for name in commands)


@pytest.mark.parametrize(("command", "least"), [("compress", 4), ("path", 2), ("sentences", 3)])
def test_examples_in_the_help_parse(run, command, least):
    lines = re.findall(rf"^  cflengine ({command} .*?)(?:   .*)?$", run(command, "--help").out, re.MULTILINE)
    assert len(lines) >= least
    for line in lines:
        cli.build_parser().parse_args(line.split())


def test_version_and_module():
    end = subprocess.run(
        [sys.executable, "-m", "cflengine", "--version"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert end.stdout == f"cflengine {__version__}\n" and end.stderr == ""


def test_a_time_limit_leaves_time_for_what_comes_after_the_solver(monkeypatch):
    """As long as what came before it took, and at most half of what is left."""
    now = [100.0]
    monkeypatch.setattr(options.time, "monotonic", lambda: now[0])
    clock = options.Clock(10.0)
    found = []
    for seconds in (0.0, 1.0, 2.0, 5.0, 9.0, 12.0):
        now[0] = 100.0 + seconds
        found.append(clock.left)
    assert found == pytest.approx([10.0, 8.0, 6.0, 2.5, 0.5, 1e-3])
    assert clock.ends == 110.0 and clock.solving_ends == 110.0
    assert options.Clock(None).left is None and options.Clock(None).solving_ends is None
