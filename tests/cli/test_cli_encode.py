"""``cflengine encode``: features of other documents by a saved dictionary."""

from __future__ import annotations

import json
import shutil

import pandas as pd
import pytest

from cflengine import CompressiveFeatures, LogisticClassifier, load_model
from cflengine.cli import main
from cflengine.compression import parts
from cflengine.engine import cluster


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A folder with a compressed corpus and its dictionary."""
    folder = tmp_path_factory.mktemp("encode")
    lines = [f'"the house number {i % 7} is on fire, and so is number {i % 5}",{i}' for i in range(80)]
    (folder / "first.csv").write_text("text,n\n" + "\n".join(lines) + "\n")
    (folder / "second.csv").write_text("n,text\n1,the house number 3 is on fire\n2,\n3,nothing of the kind\n")
    assert (
        main(["compress", str(folder / "first.csv"), "--text-column", "text", "--out", str(folder / "run"), "--quiet"])
        == 0
    )
    return folder


def encode(run, *inputs: str, **options) -> tuple[pd.DataFrame, dict]:
    out = run / options.pop("out", "features")
    given = [word for name, value in options.items() for word in (f"--{name}", value)]
    names = [str(run / name) for name in inputs]
    assert (
        main(["encode", str(run / "run" / "model.cflm"), *names, "--out", str(out), "--text-column", "text", *given])
        == 0
    )
    frames = [pd.read_parquet(path) for path in sorted(out.glob("features-*.parquet"))]
    return pd.concat(frames, ignore_index=True), json.loads((out / "report.json").read_text())


def test_the_documents_it_was_learnt_from_count_as_they_did(run):
    found, report = encode(run, "first.csv")
    before = pd.read_csv(run / "run" / "features.csv")
    assert (
        found["feature"].tolist() == before["feature"].tolist() and found["count"].tolist() == before["count"].tolist()
    )
    assert (report["n_documents"], report["n_parts"]) == (80, 1) and report["tokens_per_core_second"] > 0
    assert report["model"]["about"] == {"learnt_from": "first.csv"} and report["command"] == "encode"


def test_several_inputs_in_parts(run, monkeypatch, capsys):
    monkeypatch.setattr(parts, "PART_CHARACTERS", 1000)
    found, report = encode(run, "first.csv", "second.csv", out="several")
    assert report["n_parts"] > 3 and report["n_documents"] == 82
    last = found[found["source"].str.endswith("second.csv")]
    assert set(last["document"]) <= {80, 81} and set(last["row"]) <= {0, 2}
    second = str(run / "second.csv")
    assert (report["n_records"], report["n_left_out"]) == (83, 1)
    assert [line[:2] for line in report["left_out"]] == [[second, 1]]
    left_out = pd.read_csv(run / "several" / "left_out.csv")
    assert left_out.values.tolist() == report["left_out"]
    model = load_model(run / "run" / "model.cflm")
    assert isinstance(model, CompressiveFeatures)
    assert last["count"].sum() == model.transform(["the house number 3 is on fire", "nothing of the kind"]).sum()
    assert "82 documents" in capsys.readouterr().out


def test_a_pattern_and_a_limit(run):
    _, report = encode(run, "*.csv", out="some", limit="81")
    assert report["n_documents"] == 81
    _, report = encode(run, "*.csv", out="some", limit="80")
    assert report["n_documents"] == 80


def test_what_is_wrong_is_one_sentence(run, capsys, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_S", 0.5)
    model, first = str(run / "run" / "model.cflm"), str(run / "first.csv")
    out = ["--out", str(run / "none")]
    other = run / "other.cflm"
    LogisticClassifier().fit([[0.0], [1.0]], ["a", "b"]).save(other)
    wrong = {
        "holds no dictionary of K-grams, but a model that predicts": [str(other), first, *out],
        "--threads is for work in this process": [model, first, *out, "--cluster", "local", "--threads", "1"],
        "is named twice": [model, first, first, *out, "--text-column", "text"],
        "which could be overwritten": [model, first, "--out", str(run)],
        "is not a model of cflengine": [first, first, *out],
        "no Dask scheduler answers": [model, first, *out, "--text-column", "text", "--cluster", "tcp://127.0.0.1:9"],
    }
    for sentence, arguments in wrong.items():
        assert main(["encode", *arguments]) == 2, sentence
        assert sentence in capsys.readouterr().err
    assert not (run / "none" / "report.json").exists()


def test_one_of_several_that_cannot_be_read_costs_no_part_that_is_done(run, capsys):
    (run / "empty.csv").write_text("")
    (run / "wrong.csv").write_text("a,b\n1,2\n")
    (run / "copy.csv").write_text((run / "second.csv").read_text())
    names = [str(run / f"{name}.csv") for name in ("second", "empty", "wrong", "copy")]
    out = run / "passed-over"
    how = ["--out", str(out), "--text-column", "text", "--quiet"]
    assert main(["encode", str(run / "run" / "model.cflm"), *names, *how]) == 2
    said = capsys.readouterr().err
    assert "passed over: 'empty.csv' is empty" in said and "'wrong.csv' has no column 'text'" in said
    assert "1 input could not be read, and its documents are not among these" in said
    assert f"{names[3]} holds the same documents as {names[0]}" in said
    report = json.loads((out / "report.json").read_text())
    assert report["n_documents"] == 4 and [name for name, _ in report["not_read"]] == [names[2]]
    assert len(report["warnings"]) == 3 and len(pd.read_parquet(out / "features-00000.parquet"))
    assert main(["encode", str(run / "run" / "model.cflm"), *names[:2], *how]) == 0, "an empty one is no failure"
    assert main(["encode", str(run / "run" / "model.cflm"), *names[1:3], *how]) == 2
    assert json.loads((out / "report.json").read_text())["n_documents"] == 2, "that of the run before"


def test_predict_says_what_a_dictionary_is_for(run, capsys):
    assert main(["predict", str(run / "run" / "model.cflm"), str(run / "first.csv"), "--out", str(run / "p.csv")]) == 2
    assert "cflengine encode" in capsys.readouterr().err


def test_compress_takes_several_inputs_and_verify_reads_them_again(run, capsys):
    names = [str(run / "first.csv"), str(run / "second.csv")]
    assert main(["compress", *names, "--text-column", "text", "--out", str(run / "both"), "--quiet"]) == 0
    report = json.loads((run / "both" / "report.json").read_text())
    assert report["n_documents"] == 82 and report["input_path"] == names
    documents = pd.read_csv(run / "both" / "documents.csv")
    assert documents["meta_source"].iloc[-1].endswith("second.csv") and documents["row"].iloc[-1] == 82
    assert main(["verify", str(run / "both")]) == 0
    assert main(["verify", str(run / "both"), *names]) == 0
    (run / "moved").mkdir()
    moved = [shutil.copy(name, run / "moved") for name in names]
    assert main(["verify", str(run / "both"), *map(str, moved)]) == 0
    assert main(["verify", str(run / "both"), *reversed(names)]) == 1
    assert "not the corpus that was compressed" in capsys.readouterr().err
