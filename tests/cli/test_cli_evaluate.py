"""``cflengine evaluate``, and ways to count in the other commands."""

from __future__ import annotations

import json
import time

import numpy as np
import pandas as pd
import pytest

from cflengine import load_model, read_corpus
from cflengine.cli import evaluate, main


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    rng = np.random.default_rng(0)
    rows = []
    for k in range(90):
        score = int(rng.integers(0, 6))
        words = [*rng.choice(["the", "beer", "of", "it"], 6), *["good"] * score, *["dull"] * (5 - score)]
        rows.append((" ".join(words) + ".", "up" if score > 2 else "down", score, f"=w{k % 6}", k % 9, "x"))
    frame = pd.DataFrame(rows, columns=["text", "mood", "score", "who", "day", "same"])
    path = tmp_path_factory.mktemp("in") / "reviews.csv"
    frame.to_csv(path, index=False)
    return path


def run(reviews, out, *more):
    return main(["evaluate", str(reviews), "--out", str(out), "--lams", "0.1,1", "--no-rivals", *more])


def test_everything_is_written_and_told(reviews, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(reviews, out, "--target", "mood", "score", "--cache", str(tmp_path / "kept")) == 0
    said = capsys.readouterr().out
    assert "mood (90 documents" in said and "← recommended" in said and "unigrams" in said
    report = json.loads((out / "report.json").read_text())
    mood = report["targets"]["mood"]["methods"]
    assert {"unigrams", "all_kgrams", "compressed:pointers", "compressed:soft"} <= set(mood)
    assert mood["compressed:soft"]["lam"] in (0.1, 1.0) and mood["unigrams"]["accuracy"] > 0.9
    assert report["targets"]["score"]["measure"] == "mse" and report["saved_seconds"] > 0
    for name in ("methods", "path", "telling", "predictions", "learning_curve"):
        assert len(pd.read_csv(out / f"{name}.csv")), name
    texts = read_corpus(reviews).texts
    assert (load_model(out / "model-mood.cflm").predict(texts) == pd.read_csv(reviews)["mood"]).mean() > 0.9
    assert run(reviews, out, "--target", "score", "--cache", str(tmp_path / "kept")) == 0
    assert json.loads((out / "report.json").read_text())["path_read"]
    assert not (out / "model-mood.cflm").exists()


def test_authors_groups_and_times(reviews, tmp_path):
    out = tmp_path / "out"
    assert run(reviews, out, "--target", "who", "--task", "author", "--quiet") == 0
    who = json.loads((out / "report.json").read_text())["targets"]["who"]
    assert who["task"] == "author" and who["baseline"]["accuracy"] == pytest.approx(1 / 6)
    assert "'=w" in (out / "predictions.csv").read_text()  # no formula
    assert run(reviews, out, "--target", "mood", "--group", "who", "--counting", "occurrences", "--quiet") == 0
    report = json.loads((out / "report.json").read_text())
    assert "groups of who" in report["targets"]["mood"]["split"]
    assert "compressed:pointers" not in report["targets"]["mood"]["methods"]
    assert run(reviews, out, "--target", "mood", "--time", "day", "--quiet") == 0


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--target", "same"], "needs two classes"),
        (["--target", "nowhere"], "no column 'nowhere'"),
        (["--target", "mood", "--group", "same"], "makes 1 group"),
        (["--target", "mood", "--group", "who", "--time", "day"], "not by both"),
        (["--target", "mood", "--counting", "all"], "no way to count"),
        (["--target", "mood", "--folds", "1"], "is not between 2 and 20"),
        (["--target", "text"], "no column 'text'"),
    ],
)
def test_what_cannot_be_gets_one_line(reviews, tmp_path, capsys, more, says):
    try:
        code = run(reviews, tmp_path / "out", *more)
    except SystemExit as stop:
        code = stop.code
    error = capsys.readouterr().err
    assert code == 2 and says in error and error.count("\n") == 1
    assert not (tmp_path / "out" / "report.json").exists()


def test_a_time_limit_keeps_what_is_there(reviews, tmp_path, monkeypatch, capsys):
    out, read = tmp_path / "out", evaluate.read

    def up_once_read(arguments, clock):
        corpus = read(arguments, clock)
        clock.ends = time.monotonic()
        return corpus

    monkeypatch.setattr(evaluate, "read", up_once_read)
    assert run(reviews, out, "--target", "mood", "--time-limit", "60", "--min-documents", "5", "--quiet") == 0
    assert "--min-documents and --held-out play no part" in capsys.readouterr().err
    report = json.loads((out / "report.json").read_text())
    assert report["notes"] and report["targets"]["mood"]["methods"] == {}


@pytest.mark.parametrize("counting", ["occurrences", "soft"])
@pytest.mark.parametrize("weighting", ["count", "tf", "damped"])
def test_counts_of_every_kind_are_verified(reviews, tmp_path, capsys, counting, weighting):
    out = tmp_path / "run"
    warmth = ["--temperature", "0.7"] if counting == "soft" else []
    own = ["--counting", counting, *warmth, "--weighting", weighting, "--quiet"]
    assert main(["compress", str(reviews), "--out", str(out), *own]) == 0
    assert main(["verify", str(out), "--quiet"]) == 0
    report = json.loads((out / "report.json").read_text())
    report["compression"]["counting"] = report["arguments"]["counting"] = "pointers"
    (out / "report.json").write_text(json.dumps(report))
    assert main(["verify", str(out)]) == 1
    assert "features.npz is not what the documents count to" in capsys.readouterr().err


def test_what_a_word_outside_the_dictionary_costs_is_a_choice_and_verified(reviews, tmp_path, capsys):
    low, high = tmp_path / "low", tmp_path / "high"
    for out, cost in ((low, "0.2"), (high, "9")):
        own = ["--counting", "soft", "--literal-cost", cost, "--lam", "2", "--quiet"]
        assert main(["compress", str(reviews), "--out", str(out), *own]) == 0
        assert main(["verify", str(out), "--quiet"]) == 0
        assert load_model(out / "model.cflm").literal_cost == float(cost)
    # where passing costs less, phrases are expected to be used less
    few, many = (np.load(out / "features.npz")["data"].sum() for out in (low, high))
    assert few < many
    report = json.loads((low / "report.json").read_text())
    report["compression"]["literal_cost"] = report["arguments"]["literal_cost"] = 9.0
    (low / "report.json").write_text(json.dumps(report))
    assert main(["verify", str(low)]) == 1
    report["compression"]["literal_cost"] = 0.2
    (low / "report.json").write_text(json.dumps(report))
    assert main(["verify", str(low)]) == 1
    assert "literal_cost" in capsys.readouterr().err


def test_kgrams_of_a_model_may_be_counted_softly(reviews, tmp_path):
    own = ["--label-column", "mood", "--features", "cfl", "--counting", "soft", "--loss", "hinge", "--quiet"]
    own += ["--literal-cost", "2"]
    assert main(["erm", str(reviews), "--out", str(tmp_path / "m"), *own]) == 0
    model = load_model(tmp_path / "m" / "model.cflm")
    assert model[0].counting == "soft" and main(["verify", str(tmp_path / "m"), "--quiet"]) == 0


def test_a_time_limit_is_for_the_kgrams_too(reviews, tmp_path, monkeypatch):
    from cflengine import CompressiveFeatures

    fit, limits = CompressiveFeatures.fit, []

    def noted(self, X, y=None):
        limits.append(self.settings.time_limit)
        return fit(self, X, y)

    monkeypatch.setattr(CompressiveFeatures, "fit", noted)
    own = ["--label-column", "mood", "--features", "cfl", "--loss", "hinge", "--quiet", "--time-limit", "60"]
    assert main(["erm", str(reviews), "--out", str(tmp_path / "m"), *own]) == 0
    assert 0 < limits[0] <= 30


def test_a_share_that_is_none_is_one_sentence(reviews, tmp_path, capsys):
    assert (
        main(["evaluate", str(reviews), "--target", "mood", "--test-split", "abc", "--out", str(tmp_path / "o")]) == 2
    )
    assert "abc" in capsys.readouterr().err
