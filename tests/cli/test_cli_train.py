"""``cflengine train-logistic`` and ``cflengine train-crf``, from files to files."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pandas as pd
import pytest

from cflengine import ChainCRF, load_model, read_corpus
from cflengine.cli import main
from cflengine.text.tagging.conll import read_columns

ROOT = Path(__file__).resolve().parents[2]
REVIEWS, TAGGED = str(ROOT / "sample_data" / "reviews.csv"), ROOT / "sample_data" / "tagged.conll"


def logistic(out: Path, *options: str) -> int:
    return main(
        ["train-logistic", REVIEWS, "--label-column", "sentiment", "--limit", "300", "--out", str(out), *options]
    )


def read_report(out: Path) -> dict:
    return json.loads((out / "report.json").read_text())


def test_logistic_writes_model_weights_predictions_and_proof(tmp_path, capsys):
    assert logistic(tmp_path / "run", "--test-split", "0.3", "--sigma2", "0.5") == 0
    said = capsys.readouterr().out
    assert "proved gap" in said and "dual coordinate descent" in said and "test " in said
    out = tmp_path / "run"
    report = read_report(out)
    (fit,) = report["fits"]
    assert fit["gap"] <= 1e-4 and fit["lower_bound"] <= fit["objective"] and fit["settings"]["ridge"] == 2.0
    assert report["n_documents"] == {"train": 210, "test": 90} and 0.5 < report["accuracy"]["test"] <= 1
    model = load_model(out / "model.cflm")[-1]
    weights = pd.read_csv(out / "weights.csv")
    assert len(weights) == report["n_features"] == model.n_features_in_
    assert weights["weight"].abs().is_monotonic_decreasing and set(weights["class"]) == {"positive"}
    documents = pd.read_csv(out / "documents.csv")
    truth = read_corpus(REVIEWS, text_column="text", limit=300).metadata["sentiment"]
    assert documents["label"].tolist() == truth.tolist()
    right = (documents["label"] == documents["predicted"])[documents["split"] == "test"].mean()
    assert right == pytest.approx(report["accuracy"]["test"])
    trace = pd.read_csv(out / "trace.csv")
    assert {"fit", "passes", "objective", "lower_bound", "gap"} <= set(trace.columns) and "zeta" not in trace.columns


@pytest.mark.parametrize("weighting", ["binary", "count", "tf-idf"])
@pytest.mark.parametrize("features", ["words", "kgrams"])
def test_every_kind_of_feature(tmp_path, weighting, features):
    assert logistic(tmp_path, "--weighting", weighting, "--features", features, "--quiet") == 0
    assert read_report(tmp_path)["fits"][0]["gap"] <= 1e-4


@pytest.mark.parametrize("multiclass", ["ovr", "multinomial"])
def test_an_l1_penalty_needs_no_word_on_the_solver(tmp_path, multiclass):
    assert logistic(tmp_path, "--l1-ratio", "0.5", "--multiclass", multiclass, "--time-limit", "60", "--quiet") == 0
    (fit,) = read_report(tmp_path)["fits"]
    assert fit["gap"] <= 1e-4 and fit["settings"]["lasso"] == 0.5 and fit["solver"] == "lbfgs"
    assert 0 < (pd.read_csv(tmp_path / "weights.csv")["weight"] != 0).sum() < read_report(tmp_path)["n_features"]
    assert main(["verify", str(tmp_path), "--quiet"]) == 0


def test_clusters_are_told_with_the_weights(tmp_path):
    options = ("--solver", "clustered", "--rounds", "1", "--cluster-factor", "20", "--clustering", "kmeans")
    assert logistic(tmp_path, *options, "--memory", "7", "--quiet") == 0
    weights = pd.read_csv(tmp_path / "weights.csv")
    assert 1 < weights["cluster"].nunique() <= len(weights) / 20 + 1
    settings = read_report(tmp_path)["fits"][0]["settings"]
    assert settings["memory"] == 7 and settings["rounds"] == 1 and settings["clustering"] == "kmeans"


@pytest.mark.parametrize("multiclass", ["ovr", "multinomial"])
def test_several_classes(tmp_path, multiclass):
    out = str(tmp_path)
    command = ["train-logistic", REVIEWS, "--label-column", "style", "--classes", "Porter,Gose,Saison", "--out", out]
    assert main([*command, "--multiclass", multiclass, "--quiet"]) == 0
    assert len(read_report(tmp_path)["fits"]) == (3 if multiclass == "ovr" else 1)
    assert set(pd.read_csv(tmp_path / "weights.csv")["class"]) == {"Porter", "Gose", "Saison"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--label-column", "nothing"], "no column 'nothing'"),
        (["--rounds", "3"], "--rounds is for --solver clustered"),
        (["--solver", "dual", "--memory", "3"], "--memory is for --solver lbfgs or clustered"),
        (["--test-split", "2"], "share between 0 and 1"),
        (["--token-pattern", "zzz"], "hold no word"),
        (["--classes", "positive"], "two classes"),
        (["--max-gram", "4"], "--max-gram plays no part with --features words"),
        (["--counting", "soft"], "--counting plays no part with --features words"),
        (["--sentence-borders"], "--sentence-borders plays no part with --features words"),
        (["--features", "kgrams", "--temp", "2"], "--temperature plays no part with --counting pointers"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(tmp_path, capsys, options, said):
    assert logistic(tmp_path / "run", *options) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


# ---- CRF


@pytest.fixture
def tagged(tmp_path) -> tuple[Path, Path]:
    """A training and a test file out of the sample."""
    sentences = TAGGED.read_text(encoding="utf-8").split("\n\n")
    train, test = tmp_path / "train.conll", tmp_path / "test.conll"
    train.write_text("\n\n".join(sentences[:400]) + "\n", encoding="utf-8")
    test.write_text("\n\n".join(sentences[400:500]) + "\n", encoding="utf-8")
    return train, test


def test_words_and_labels_are_enough(tmp_path):
    source, out = tmp_path / "train.txt", tmp_path / "run"
    source.write_text("Kim PER\nleft O\n\nRome LOC\nfell O\n\n" * 3, encoding="utf-8")
    assert main(["train-crf", str(source), "--out", str(out), "--quiet"]) == 0
    attributes = set(pd.read_csv(out / "weights.csv")["attribute"].dropna())
    assert {name[:3] for name in attributes} == {"U00", "U01"}
    assert main(["verify", str(out), "--quiet"]) == 0


def test_crf_writes_model_weights_scores_and_tagged_files(tagged, tmp_path, capsys):
    train, test = tagged
    out = tmp_path / "run"
    assert (
        main(["train-crf", str(train), "--test", str(test), "--test", str(train), "--c2", "0.1", "--out", str(out)])
        == 0
    )
    said = capsys.readouterr().out
    assert "proved gap" in said and "BEER" in said and "precision" in said
    report = read_report(out)
    assert report["gap"] <= 1e-4 and report["n_sentences"] == 400
    model = ChainCRF.load(out / "model.cflm")
    rows = [[cells[:-1] for cells in sentence] for sentence in read_columns(test)]
    predicted = [[cells[-1] for cells in sentence] for sentence in read_columns(out / "test.conll.predicted")]
    assert model.predict(rows) == predicted
    scores = pd.read_csv(out / "evaluation.csv", keep_default_na=False)
    overall = scores[scores["kind"] == ""].set_index("file")["f1"]
    assert overall["train.conll"] > 0.9 > overall["test.conll"] > 0
    weights = pd.read_csv(out / "weights.csv")
    assert len(weights) == report["n_weights"] and weights["before"].notna().sum() > 0
    assert pd.read_csv(out / "trace.csv")["passes"].is_monotonic_increasing


def test_template_scheme_and_clusters(tagged, tmp_path):
    train, _ = tagged
    template = tmp_path / "t.template"
    template.write_text("U00:%x[0,0]\nU01:%x[0,1]\n")
    options = ["--template", str(template), "--scheme", "BIOES", "--solver", "clustered", "--fine-iter", "3"]
    assert main(["train-crf", str(train), *options, "--out", str(tmp_path / "run"), "--quiet"]) == 0
    report = read_report(tmp_path / "run")
    assert any(label.startswith("S-") for label in report["labels"])
    assert pd.read_csv(tmp_path / "run" / "weights.csv")["before"].isna().all()  # no B line: no transitions


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda a, b: [REVIEWS], "columns"),
        (lambda a, b: [str(a), "--test", str(a.parent / "absent")], "absent"),
        (lambda a, b: [str(a), "--c2", "0"], "both 0"),
        (lambda a, b: [str(a), "--template", str(a)], "neither with U nor with B"),
        (lambda a, b: [str(a), "--solver", "clustered", "--c1", "1"], "knows no c1"),
        (lambda a, b: [str(a), "--rounds", "1"], "--rounds is for"),
    ],
)
def test_what_is_wrong_with_a_crf_is_said_in_a_line(tagged, tmp_path, capsys, make, said):
    assert main(["train-crf", *make(*tagged), "--out", str(tmp_path / "run")]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_encodings_of_column_files_are_found_or_stated(tagged, tmp_path, capsys):
    text = "Café NNP B-LOC\nist VB O\n\n" * 5
    (tmp_path / "in").mkdir()
    path, name = tmp_path / "in" / "t.conll", tmp_path / "in" / os.fsdecode(b"na\xefve.conll")
    for encoding, stated in (("cp1252", ["--encoding", "cp1252"]), ("cp1252", []), ("utf-16", [])):
        path.write_text(text, encoding=encoding)
        name.write_text(text, encoding=encoding)
        out = tmp_path / f"{encoding}{len(stated)}"
        words = ["train-crf", str(path), "--test", str(name), "--out", str(out), "--quiet", *stated]
        assert main(words) == 0
        model = ChainCRF.load(out / "model.cflm")
        assert any("Café" in attribute for attribute in model.attributes_)
        assert main(["verify", str(out), "--quiet"]) == 0
        assert (out / os.fsdecode(b"na\xefve.conll.predicted")).read_text().startswith("Café NNP B-LOC ")
        file = tmp_path / "tagged.conll"
        assert main(["tag", str(out / "model.cflm"), str(path), "--out", str(file), "--quiet", *stated]) == 0
        assert file.read_text().startswith("Café NNP B-LOC B-LOC\n")
        said = capsys.readouterr().err
        assert ("windows-1252" in said) == (encoding == "cp1252" and not stated)
    assert main(["tag", str(out / "model.cflm"), str(path), "--encoding", "no", "--out", str(file)]) == 2
    assert "is not an encoding" in capsys.readouterr().err


def test_a_test_file_with_other_columns(tagged, tmp_path, capsys):
    other = tmp_path / "other.conll"
    other.write_text("a O\n")
    assert main(["train-crf", str(tagged[0]), "--test", str(other), "--out", str(tmp_path / "run")]) == 2
    assert "'other.conll' has 2 columns, but 'train.conll' has 3" in capsys.readouterr().err


def test_help_names_the_files(capsys):
    for command in ("train-logistic", "train-crf"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        assert "model.cflm" in capsys.readouterr().out


def test_one_column_is_no_training_file():
    from cflengine.loglinear.tagging import TaggedFile

    with pytest.raises(ValueError, match="one column"):
        TaggedFile.read(io.BytesIO(b"a\nb\n"), name="x")
