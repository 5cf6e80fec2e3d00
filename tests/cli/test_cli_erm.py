"""``cflengine erm``, ``predict`` and ``tag``: what they write, what verify says of it, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cflengine import PLQRegressor, load_model, read_corpus
from cflengine.cli import main
from cflengine.text.token_table import DEFAULT_TOKEN_PATTERN

DATA = Path(__file__).resolve().parents[2] / "sample_data"
REVIEWS, TAGGED = str(DATA / "reviews.csv"), str(DATA / "tagged.conll")


def erm(out: Path, *options: str) -> int:
    return main(["erm", REVIEWS, "--limit", "300", "--out", str(out), *options])


def report_of(out: Path) -> dict:
    return json.loads((out / "report.json").read_text())


RUNS = {
    "svm": ("--loss", "hinge", "--label-column", "sentiment", "--test-split", "0.3"),
    "many classes": ("--loss", "squared_hinge", "--label-column", "style", "--weighting", "binary"),
    "fair": ("--loss", "smoothed_hinge", "--label-column", "sentiment", "--constraint", "fair:abv:0.001"),
    "quantile of K-grams": (
        "--loss", "quantile:0.9", "--label-column", "overall", "--features", "cfl", "--constraint", "nonnegative",
    ),
    "monotone": (
        "--loss", "huber:0.5", "--label-column", "overall", "--constraint", "monotone:the,and", "--no-intercept",
        "--l1-ratio", "0.3",
    ),
    "drawn": ("--loss", "drawn:-3,4/0,0/3,1.5", "--label-column", "overall"),
    "path": ("--loss", "squared", "--label-column", "abv", "--path", "0.1,1", "--dev-split", "0.2"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(RUNS))
def test_a_run_is_verified_and_predicts_what_it_said(tmp_path, name, capsys):
    out = tmp_path / "run"
    assert erm(out, *RUNS[name]) == 0
    assert "proved gap" in capsys.readouterr().out
    report = report_of(out)
    assert all(fit["gap"] <= 1e-4 and fit["violation"] <= 1e-9 for fit in report["fits"])
    assert main(["verify", str(out)]) == 0
    predictions = tmp_path / "predictions.csv"
    assert main(["predict", str(out / "model.cflm"), REVIEWS, "--limit", "300", "--out", str(predictions)]) == 0
    said = capsys.readouterr().out
    written, own = pd.read_csv(predictions), pd.read_csv(out / "documents.csv").set_index("document")
    assert len(written) == 300
    again = written.set_index("document").loc[own.index]
    assert (again["predicted"] == own["predicted"]).all()
    if "score" in own:
        np.testing.assert_array_equal(again["score"], own["score"])
        assert "% of 300 have the" in said
    else:
        assert "off by" in said
    if name == "path":
        assert pd.read_csv(out / "path.csv")["C"].tolist() == [0.1, 1.0] and report["C"] in (0.1, 1.0)


def test_the_command_and_python_give_the_same_numbers(tmp_path):
    erm(tmp_path / "run", *RUNS["quantile of K-grams"], "--quiet")
    model = load_model(tmp_path / "run" / "model.cflm")
    corpus = read_corpus(REVIEWS, limit=300)
    X = model[:-1].transform(corpus.texts)
    same = PLQRegressor("quantile:0.9", constraints=["nonnegative"], max_iter=1_000_000)
    same.fit(X, corpus.metadata["overall"])
    np.testing.assert_array_equal(same.coef_, model[-1].coef_)
    assert report_of(tmp_path / "run")["fits"][0]["objective"] == same.result_.objective


def test_a_false_claim_is_found(tmp_path, capsys):
    out = tmp_path / "run"
    erm(out, *RUNS["monotone"], "--quiet")
    whole = (out / "report.json").read_text()
    fit = report_of(out)["fits"][0]
    for where, changed in (
        (("fits", 0, "lower_bound"), fit["objective"]),
        (("fits", 0, "objective"), 0.9 * fit["objective"]),
        (("arguments", "constraint"), ["monotone:and,the"]),
        (("arguments", "constraint"), []),
        (("arguments", "loss"), "huber:0.6"),
        (("C",), 2.0),
        (("fits",), []),
    ):
        report = place = json.loads(whole)
        for key in where[:-1]:
            place = place[key]
        place[where[-1]] = changed
        (out / "report.json").write_text(json.dumps(report))
        assert main(["verify", str(out)]) == 1
        assert "not verified" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--loss", "log", "--label-column", "abv"), "the loss must be one of"),
        (("--loss", "quantile:2", "--label-column", "abv"), "between 0 and 1"),
        (("--loss", "hinge", "--label-column", "nothing"), "there is no column 'nothing'"),
        (("--loss", "squared", "--label-column", "style"), "holds no numbers"),
        (("--loss", "squared", "--label-column", "abv", "--classes", "a,b"), "--classes is for"),
        (("--loss", "squared", "--label-column", "abv", "--path", "1,2"), "--dev-split"),
        (
            ("--loss", "squared", "--label-column", "abv", "--constraint", "fair:no:0.1"),
            "no column 'no' to take values",
        ),
        (("--loss", "squared", "--label-column", "abv", "--path", "1", "--C", "2"), "not allowed with"),
        (("--loss", "squared", "--label-column", "abv", "--path", "0"), "numbers above 0"),
        (("--loss", "squared", "--label-column", "abv", "--constraint", "fair:0.1"), "fair:COLUMN:MOST"),
        (("--loss", "squared", "--label-column", "abv", "--constraint", "fair:beer:0.1"), "numbers or two values"),
        (("--loss", "squared", "--label-column", "abv", "--constraint", "monotone:zzz,a"), "no feature"),
        (("--loss", "squared", "--label-column", "abv", "--constraint", "box:1"), "box"),
        (
            ("--loss", "squared", "--label-column", "abv", "--constraint", "box:2:3", "--constraint", "box:-1:0"),
            "contra",
        ),
    ],
)
def test_wrong_options_are_said_in_one_line(tmp_path, options, said, capsys):
    try:
        code = erm(tmp_path / "run", *options)
    except SystemExit as stop:
        code = stop.code
    error = capsys.readouterr().err
    assert code == 2 and said in error and error.count("\n") == 1 and "internal" not in error
    assert not (tmp_path / "run" / "report.json").exists()


def test_what_is_no_model_for_texts_is_refused(tmp_path, capsys):
    matrix = tmp_path / "matrix.cflm"
    PLQRegressor().fit(np.eye(3), [1.0, 2.0, 3.0]).save(matrix)
    other = tmp_path / "other.cflm"
    other.write_text("no model")
    assert main(["train-crf", TAGGED, "--limit", "50", "--out", str(tmp_path / "tagger"), "--quiet"]) == 0
    tagger = tmp_path / "tagger" / "model.cflm"
    out = str(tmp_path / "p.csv")
    assert main(["predict", str(matrix), REVIEWS, "--out", out]) == 2
    assert "columns of features; the model was learnt from 3" in capsys.readouterr().err
    for model, said in ((other, "not a model"), (tagger, "cflengine tag"), ("gone", "gone")):
        assert main(["predict", str(model), REVIEWS, "--out", out]) == 2
        assert said in capsys.readouterr().err
    for target, said in (
        (REVIEWS, "is read by"),
        (str(tmp_path), "no name of a file"),
        ("no/where/x.csv", "is not there"),
    ):
        assert main(["predict", str(matrix), REVIEWS, "--out", target]) == 2
        assert said in capsys.readouterr().err
    assert main(["tag", str(matrix), TAGGED, "--out", out]) == 2
    assert "not 'chain'. It tags no tokens" in capsys.readouterr().err
    assert main(["verify", str(tmp_path / "tagger" / "report.json")]) == 2
    assert "is a file: name the folder of the run" in capsys.readouterr().err


def test_tokens_are_tagged_with_and_without_labels(tmp_path, capsys):
    assert main(["train-crf", TAGGED, "--limit", "600", "--out", str(tmp_path / "run"), "--quiet"]) == 0
    model, out = str(tmp_path / "run" / "model.cflm"), tmp_path / "tagged.conll"
    assert main(["tag", model, TAGGED, "--out", str(out)]) == 0
    assert "% of them are predicted" in capsys.readouterr().out
    labelled = [line.split() for line in out.read_text().splitlines() if line]
    plain = tmp_path / "plain.conll"
    lines = Path(TAGGED).read_text().splitlines()
    plain.write_text("\n".join(" ".join(line.split()[:-1]) for line in lines) + "\n")
    capsys.readouterr()
    assert main(["tag", model, str(plain), "--out", str(tmp_path / "again.conll")]) == 0
    said = capsys.readouterr()
    assert "last column" not in said.out and said.err == ""
    latin = tmp_path / "latin.conll"
    latin.write_bytes(("\n".join(f"{word} NN" for word in ("était", "à", "forêt", "là", "été"))).encode("latin-1"))
    assert main(["tag", model, str(latin), "--out", str(tmp_path / "latin.out"), "--quiet"]) == 0
    assert "latin.conll: not UTF-8; detected as" in capsys.readouterr().err
    again = [line.split() for line in (tmp_path / "again.conll").read_text().splitlines() if line]
    assert [row[-1] for row in again] == [row[-1] for row in labelled]
    assert [row[:-1] for row in again] == [row[:-2] for row in labelled]


def test_an_optimum_of_nothing_has_no_relative_gap(tmp_path, capsys):
    pd.DataFrame({"text": ["a b", "b c", "c d", "d a"] * 5, "y": [7.0] * 20}).to_csv(tmp_path / "in.csv", index=False)
    given = (str(tmp_path / "in.csv"), "--label-column", "y", "--text-column", "text", "--test-split", "0.2")
    assert main(["erm", *given, "--loss", "squared", "--out", str(tmp_path / "run")]) == 0
    assert "proved at most" in capsys.readouterr().out and main(["verify", str(tmp_path / "run")]) == 0


def table_with_gaps(path: Path, n: int = 240) -> pd.DataFrame:
    """Whole numbers as programs write them where there are gaps: 13.0, 14.0, and nothing."""
    frame = pd.read_csv(REVIEWS, nrows=n)[["text", "overall"]]
    frame["year"] = np.where(np.arange(n) % 3, 2011.0, 2012.0)
    frame["grade"] = np.where(frame["text"].str.contains("sweet"), 14.0, 13.0)
    frame.loc[:9, ["grade", "year"]] = np.nan
    frame.to_csv(path, index=False)
    return frame


def test_whole_numbers_with_gaps_are_the_same_classes_everywhere(tmp_path, capsys):
    table_with_gaps(tmp_path / "t.csv")
    name, out = str(tmp_path / "t.csv"), tmp_path / "run"
    run = ["erm", name, "--loss", "hinge", "--label-column", "grade", "--C", "10", "--out", str(out)]
    assert main(run) == 0
    assert report_of(out)["classes"] == ["13", "14"] and report_of(out)["accuracy"]["train"] > 0.99
    assert main(["predict", str(out / "model.cflm"), name, "--out", str(tmp_path / "p.csv")]) == 0
    assert "100.0 % of 230 have the grade that is predicted" in capsys.readouterr().out
    for value in ("2012", "2012.0"):
        assert main([*run, "--test-split", f"year={value}"]) == 0
        assert report_of(out)["n_documents"] == {"train": 154, "test": 76}
    assert main([*run, "--classes", "13.0,14"]) == 0


def test_classes_left_aside_are_not_said_to_have_no_value(tmp_path, capsys):
    assert erm(tmp_path / "run", "--loss", "hinge", "--label-column", "style", "--classes", "Porter,Hazy IPA") == 0
    assert "documents without one of these classes in style" in capsys.readouterr().out


def test_the_report_says_how_k_grams_were_cut_and_what_a_loss_never_falls_below(tmp_path, capsys):
    features = ("--features", "cfl", "--lam", "0.3")
    assert erm(tmp_path / "run", "--loss", "drawn:0,0/1,-1", "--label-column", "overall", *features) == 0
    assert "never below -1" in capsys.readouterr().out
    report = report_of(tmp_path / "run")
    assert report["token_pattern"] == DEFAULT_TOKEN_PATTERN and report["loss_constant"] == -1.0
    assert main(["verify", str(tmp_path / "run")]) == 0


def test_a_run_without_allowed_weights_is_not_called_proved_nor_false(tmp_path, capsys, monkeypatch):
    """Its constraints contradict each other, by less than is seen, say."""
    monkeypatch.setattr("cflengine.plq.constraints.check_feasible", lambda constraints: None)
    box = ("--constraint", "box:1e-9:", "--constraint", "box::0", "--constraint", "box:-1:")
    limits = ("--label-column", "overall", "--time-limit", "1")
    assert erm(tmp_path / "run", "--loss", "huber:1", *box, *limits) == 0
    assert "not proved: the constraints fail by" in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "run")]) == 0
