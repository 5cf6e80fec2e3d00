"""``cflengine embed``: what it writes, what verify says of it, and what it refuses."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cflengine import WordMMDEmbedding, load_model
from cflengine.cli import main
from cflengine.embedding.vectors import word_vectors

DATA = Path(__file__).resolve().parents[2] / "sample_data"
REVIEWS = str(DATA / "reviews.csv")


def embed(out: Path, *options: str) -> int:
    usual = ["--limit", "200", "--permutations", "49", "--label-column", "sentiment"]
    epochs = [] if "none" in options else ["--epochs", "2"]
    return main(["embed", REVIEWS, *usual, *epochs, "--out", str(out), *options])


def report_of(out: Path) -> dict:
    return json.loads((out / "report.json").read_text())


RUNS = {
    "statistic": ("--network", "none"),
    "several classes": ("--network", "none", "--label-column", "style", "--classes", "Hazy IPA,Best Bitter,Wheat Beer"),
    "laplace": ("--network", "none", "--kernel", "laplace", "--width", "1", "--width", "3"),
    "linear": ("--network", "none", "--kernel", "linear", "--stop-words", "english"),
    "random features": ("--network", "none", "--random-features", "300"),
    "few random features": ("--network", "none", "--random-features", "2", "--kernel", "laplace", "--seed", "2"),
    "no test": ("--network", "none", "--permutations", "0"),
    "mean": ("--network", "mean", "--test-split", "0.3", "--dev-split", "0.2", "--min-count", "1"),
    "cnn": ("--network", "cnn", "--regulariser", "group lasso", "--lam", "0.1", "--max-length", "30", "--keep-case"),
}


def test_the_folder_of_vectors_is_no_place_to_write_to(tmp_path, capsys):
    (tmp_path / "vectors.txt").write_text("the 1 0\nbeer 0 1\n")
    assert embed(tmp_path, "--network", "none", "--vectors", str(tmp_path / "vectors.txt")) == 2
    assert "vectors.txt" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["vectors.txt"]


@pytest.mark.parametrize("name", list(RUNS))
def test_a_run_is_verified(tmp_path, name, capsys):
    if "none" not in RUNS[name]:
        pytest.importorskip("optax")
    out = tmp_path / "run"
    assert embed(out, *RUNS[name]) == 0
    assert "wMMD²" in capsys.readouterr().out
    assert main(["verify", str(out)]) == 0
    said = capsys.readouterr().out
    assert "wMMD²" in said
    report = report_of(out)
    statistic = json.loads((out / "statistic.json").read_text())
    assert statistic["statistic"] == report["statistic"]["statistic"]
    assert statistic["n_permutations"] == (0 if name == "no test" else 49)
    words = pd.read_csv(out / "witness.csv", keep_default_na=False)
    found = word_vectors(out / "vectors.npz", words["word"].unique().tolist())
    assert len(found.words) == report["statistic"]["n_words"]
    assert set(report["files"]) >= {"statistic.json", "witness.csv", "vectors.npz", "vectors.txt", "report.json"}


def test_a_run_of_more_documents_than_a_matrix_holds_is_verified(tmp_path, monkeypatch, capsys):
    from cflengine.embedding import comparison
    from cflengine.verify import embedding, permutations

    for module in (comparison, embedding, permutations):
        monkeypatch.setattr(module, "MOST_DOCUMENTS", 50)
    out = tmp_path / "run"
    assert embed(out, *RUNS["several classes"]) == 0
    assert report_of(out)["statistic"]["null_kernel"] == "random features"
    assert main(["verify", str(out)]) == 0
    assert "49 permutations, made again" in capsys.readouterr().out
    (pd.read_csv(out / "null.csv") + 1.0).to_csv(out / "null.csv", index=False)
    assert main(["verify", str(out)]) == 1
    monkeypatch.setattr(permutations, "_MOST_WORK", 1.0)
    assert main(["verify", str(out)]) == 1


def test_permutations_that_are_too_many_are_said(tmp_path, monkeypatch, capsys):
    from cflengine.verify import permutations

    out = tmp_path / "run"
    assert embed(out, *RUNS["several classes"], "--permutations", "150") == 0
    monkeypatch.setattr(permutations, "_MOST_WORK", 1.0)
    capsys.readouterr()
    assert main(["verify", str(out)]) == 0
    said = capsys.readouterr().out
    assert "not verified: p where it hangs on the permuted statistics after the first 64" in said
    assert "not verified: p of single pairs" in said and "not verified: p of the words" in said


def test_permutations_that_were_stopped_on_the_way_are_said(tmp_path, monkeypatch, capsys):
    from cflengine.embedding import comparison

    out = tmp_path / "run"
    monkeypatch.setattr(comparison, "_whole", lambda *given: float("nan"))  # as after a time limit
    assert embed(out, *RUNS["several classes"]) == 0
    capsys.readouterr()
    assert main(["verify", str(out)]) == 0
    said = capsys.readouterr().out
    assert "p of the words themselves: permutations were stopped" in said and "p of some pairs of classes" in said
    monkeypatch.setattr(comparison, "_null", lambda *given: np.empty(0))
    assert embed(out, *RUNS["several classes"]) == 0
    assert report_of(out)["statistic"]["null_kernel"] == ""
    assert "no test, stopped" in capsys.readouterr().out
    assert main(["verify", str(out)]) == 0
    assert "not verified: p values: permutations were stopped" in capsys.readouterr().out


@pytest.mark.parametrize("words", [10, 40])
def test_a_drawn_width_is_drawn_again(tmp_path, monkeypatch, words, capsys):
    from cflengine.embedding import penalties, width
    from cflengine.verify import training as own
    from cflengine.verify import word_products

    pytest.importorskip("optax")
    for module in (width, word_products):
        monkeypatch.setattr(module, "MOST_EXACT", 10)
    for module in (penalties, own):
        monkeypatch.setattr(module, "EPOCH_WORDS", words)
    out = tmp_path / "run"
    assert embed(out, "--network", "mean", "--min-count", "40") == 0
    assert main(["verify", str(out)]) == 0
    assert "checked: wMMD² before and after training" in capsys.readouterr().out


def test_p_of_a_pair_is_repeated(tmp_path, capsys):
    out = tmp_path / "run"
    assert embed(out, *RUNS["several classes"]) == 0
    report = report_of(out)
    report["pairwise"][1]["p_value"] = 0.98
    (out / "report.json").write_text(json.dumps(report))
    (out / "statistic.json").write_text(json.dumps(report["statistic"] | {"pairwise": report["pairwise"]}))
    assert main(["verify", str(out)]) == 1
    assert re.search("p of .* and .* is", capsys.readouterr().err)


def test_a_trained_network_predicts_what_it_said(tmp_path, capsys):
    pytest.importorskip("optax")
    out, predictions = tmp_path / "run", tmp_path / "p.csv"
    assert embed(out, "--network", "cnn", "--test-split", "0.3", "--dimension", "6") == 0
    assert main(["predict", str(out / "model.cflm"), REVIEWS, "--limit", "200", "--out", str(predictions)]) == 0
    own = pd.read_csv(out / "predictions.csv").set_index("document")
    again = pd.read_csv(predictions).set_index("document").loc[own.index]
    assert (again["predicted"] == own["predicted"]).all()
    np.testing.assert_allclose(again["probability"], own["probability"])
    model = load_model(out / "model.cflm")
    assert isinstance(model, WordMMDEmbedding)
    text = word_vectors(out / "vectors.txt", model.words_)
    np.testing.assert_allclose(text.M, model.vectors_, rtol=1e-6, atol=1e-9)
    trace = pd.read_csv(out / "trace.csv")
    assert len(trace) == 3
    assert report_of(out)["training"]["wmmd_after"] == pytest.approx(trace["wmmd"].iloc[-1])
    assert set(report_of(out)["training"]["accuracy"]) == {"train", "test"}


def test_half_of_the_documents_judge_the_network_unless_said_otherwise(tmp_path, capsys):
    pytest.importorskip("optax")
    for name, options, shares in (("half", (), [100, 100]), ("all", ("--test-split", "none", "--epochs", "1"), [200])):
        out = tmp_path / name
        assert embed(out, "--network", "mean", "--permutations", "0", *options) == 0
        parts = pd.read_csv(out / "predictions.csv")["split"].value_counts()
        assert sorted(parts) == pytest.approx(shares, abs=1)
        assert main(["verify", str(out)]) == 0
    capsys.readouterr()


def test_what_is_changed_is_found_out(tmp_path, capsys):
    out = tmp_path / "run"
    assert embed(out, "--network", "none") == 0
    report = report_of(out)

    def says(change) -> str:
        own = json.loads(json.dumps(report))
        change(own)
        (out / "report.json").write_text(json.dumps(own))
        (out / "statistic.json").write_text(json.dumps(own["statistic"] | {"pairwise": own["pairwise"]}))
        capsys.readouterr()
        assert main(["verify", str(out)]) == 1
        return capsys.readouterr().err

    assert "a statistic of" in says(lambda own: own["statistic"].update(statistic=0.5))
    assert "an interval" in says(lambda own: own["statistic"].update(interval=[0.0, 1.0]))
    assert "p value" in says(lambda own: own["statistic"].update(p_value=0.5))
    assert "a pair's statistic" in says(lambda own: own["pairwise"][0].update(statistic=0.5))
    assert "median distance" in says(lambda own: own["statistic"].update(widths=[3.3]))
    assert "identity" in says(lambda own: own["statistic"]["identity"].update(statistic=0.5))
    assert "p of the words" in says(lambda own: own["statistic"]["identity"].update(p_value=0.5))
    assert "p of the only pair" in says(lambda own: own["pairwise"][0].update(p_value=0.5))
    assert "a pair's interval" in says(lambda own: own["pairwise"][0].update(low=-1.0))
    assert "number of words" in says(lambda own: own["statistic"].update(n_words=3))
    assert "documents left out" in says(lambda own: own["statistic"].update(n_empty=3))
    assert "documents of class" in says(lambda own: own["statistic"]["classes"].update(positive=3))
    (out / "report.json").write_text(json.dumps(report))
    assert main(["verify", str(out)]) == 1
    assert "statistic.json is not" in capsys.readouterr().err
    (out / "statistic.json").write_text(json.dumps(report["statistic"] | {"pairwise": report["pairwise"]}))
    words = (out / "witness.csv").read_bytes()
    frame = pd.read_csv(out / "witness.csv", keep_default_na=False)
    frame.assign(witness=-frame["witness"]).to_csv(out / "witness.csv", index=False)
    assert main(["verify", str(out)]) == 1
    assert "the witness of" in capsys.readouterr().err
    (out / "witness.csv").write_bytes(words)
    null = pd.read_csv(out / "null.csv")
    (null * 0.9).to_csv(out / "null.csv", index=False)
    assert main(["verify", str(out)]) == 1
    assert "permuted statistic" in capsys.readouterr().err
    null.to_csv(out / "null.csv", index=False)
    assert main(["verify", str(out)]) == 0


def test_a_network_of_the_users_own_vectors_is_verified(tmp_path, capsys):
    pytest.importorskip("optax")
    path, out = tmp_path / "v.txt", tmp_path / "run"
    path.write_text("malt 1 0\nhops 0 1\nbeer 0.5 0.5\ngood 1 1\nsweet 2 1\nbitter -1 0\n")
    assert embed(out, "--network", "mean", "--vectors", str(path)) == 0
    assert report_of(out)["training"]["settings"]["dimension"] == 2
    assert load_model(out / "model.cflm").dimension == 2
    assert main(["verify", str(out)]) == 0
    trace = pd.read_csv(out / "trace.csv")
    options = ("--network", "mean", "--vectors", str(path), "--initial", "random", "--dimension", "3")
    assert embed(out, *options) == 0
    assert load_model(out / "model.cflm").dimension == 3
    assert main(["verify", str(out)]) == 0
    assert embed(out, "--network", "mean", "--initial", "compared") == 0
    with np.load(out / "vectors.npz") as arrays:
        assert arrays["trained_vectors"].shape[1] == arrays["vectors"].shape[1] == 50
    assert main(["verify", str(out)]) == 0
    assert embed(out, "--network", "mean", "--vectors", str(path), "--initial", "compared") == 0
    assert pd.read_csv(out / "trace.csv")["wmmd"].equals(trace["wmmd"])


def test_vectors_of_the_users_own(tmp_path, capsys):
    path = tmp_path / "v.txt"
    path.write_text("malt 1 0\nhops 0 1\nbeer 0.5 0.5\ngood 1 1\nsweet 2 1\nbitter -1 0\n")
    assert embed(tmp_path / "run", "--network", "none", "--vectors", str(path)) == 0
    assert report_of(tmp_path / "run")["statistic"]["n_words"] == 6
    assert "v.txt" in capsys.readouterr().out
    assert embed(tmp_path / "run", "--network", "none", "--vectors", str(tmp_path / "absent.txt")) == 2
    path.write_text("malt 1 0\nhops 0\n")
    assert embed(tmp_path / "run", "--network", "none", "--vectors", str(path)) == 2
    assert "is it cut off?" in capsys.readouterr().err
    assert (tmp_path / "run" / "report.json").exists()  # the last run is as it was


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--label-column", "nothing"), "no column 'nothing'"),
        (("--classes", "positive"), "needs two classes"),
        (("--kernel", "linear", "--width", "1"), "no width"),
        (("--kernel", "linear", "--random-features", "9"), "--random-features plays no part with --kernel linear"),
        (("--group", "good,great"), "--group plays no part with --network none"),
        (("--checkpoint", "run.npz"), "--checkpoint plays no part with --network none"),
        (("--vectors", "v.txt", "--network", "mean", "--dimension", "3"), "--dimension is that of the vectors which"),
        (("--network", "mean", "--regulariser", "none", "--lam", "7"), "--lam plays no part with --regulariser none"),
        (("--test-split", "2"), "a test split is"),
    ],
)
def test_wrong_input_is_one_sentence(tmp_path, options, said, capsys):
    assert embed(tmp_path / "run", "--network", "none", *options) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_without_jax_the_statistic_is_there_and_what_to_install_is_said(tmp_path):
    """In a process where JAX cannot be found."""
    code = (
        "import importlib.util as u, sys; find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name in ('jax', 'optax') else find(name, *rest)\n"
        "from cflengine.cli import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    usual = ["embed", REVIEWS, "--limit", "60", "--permutations", "9", "--label-column", "sentiment"]
    auto = [*usual, "--out", str(tmp_path / "a")]
    done = subprocess.run([sys.executable, "-c", code, *auto], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert "pip install 'cflengine[neural]'" in done.stdout
    assert (tmp_path / "a" / "statistic.json").exists()
    asked = [*usual, "--network", "cnn", "--out", str(tmp_path / "b")]
    done = subprocess.run(
        [sys.executable, "-c", code, *asked], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 2
    assert "pip install 'cflengine[neural]'" in done.stderr
    assert not (tmp_path / "b" / "report.json").exists()


@pytest.mark.parametrize(
    "options",
    [
        ("--regulariser", "dropout", "--lam", "2"),
        ("--checkpoint", "nofolder/ck"),
        ("--checkpoint", REVIEWS),
        ("--lam", "inf"),
        ("--regulariser", "structured wmmd"),
        ("--group", "good,great"),
        ("--patience", "2"),
        ("--batch-size", "2"),
    ],
)
def test_what_training_refuses_is_said_before_the_statistic(tmp_path, options, monkeypatch, capsys):
    pytest.importorskip("optax")
    monkeypatch.setattr("cflengine.cli.embed._statistic", lambda *given: pytest.fail("the statistic was computed"))
    assert embed(tmp_path / "run", "--network", "mean", *options) == 2
    assert capsys.readouterr().err.startswith("cflengine embed: ")


def test_options_of_the_network_reach_it(tmp_path, capsys):
    pytest.importorskip("optax")
    out = tmp_path / "run"
    own = ("--batch-size", "32", "--learning-rate", "0.01", "--hidden", "7", "--initial", "learnt", "--patience", "1")
    groups = ("--regulariser", "structured wmmd", "--group", "good,great", "--group", "bad,awful,poor")
    splits = ("--test-split", "none", "--dev-split", "0.2")
    assert embed(out, "--network", "cnn", *splits, *own, *groups) == 0, capsys.readouterr().err
    model = load_model(out / "model.cflm")
    assert (model.batch_size, model.learning_rate, model.hidden, model.patience) == (32, 0.01, 7, 1)
    assert (model.initial, model.regulariser) == ("learnt", "structured wmmd")
    assert model.groups == [["good", "great"], ["bad", "awful", "poor"]]
    assert report_of(out)["arguments"]["group"] == model.groups


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--regulariser", "structured wmmd", "--group", "nowhere,xyzzy"), "has none that occurs"),
        (("--learning-rate", "1e30"), "diverged in its first epoch"),
    ],
)
def test_a_network_that_fails_leaves_the_statistic(tmp_path, options, said, capsys):
    pytest.importorskip("optax")
    out = tmp_path / "run"
    assert embed(out, "--network", "mean", *options) == 2
    shown = capsys.readouterr()
    assert f"The statistic is written to {out}." in shown.err and said in shown.err
    assert "wMMD²" in shown.out and "training" not in report_of(out)
    assert said in report_of(out)["note"]
    assert main(["verify", str(out)]) == 0


def test_a_checkpoint_of_another_run_leaves_the_statistic(tmp_path, capsys):
    pytest.importorskip("optax")
    file = ("--network", "mean", "--checkpoint", str(tmp_path / "run.npz"))
    assert embed(tmp_path / "one", *file) == 0
    assert embed(tmp_path / "other", *file, "--batch-size", "16") == 2
    assert "is of other documents or settings" in capsys.readouterr().err
    assert (tmp_path / "other" / "witness.csv").exists()


def test_a_network_of_no_epoch_is_no_result(tmp_path, monkeypatch, capsys):
    pytest.importorskip("optax")
    from cflengine.embedding.training import Training

    monkeypatch.setattr(Training, "_run_epoch", lambda self: None)
    out = tmp_path / "run"
    assert embed(out, "--network", "mean") == 0
    assert "no network was trained: the time limit came before its first epoch was over" in capsys.readouterr().out
    assert "training" not in report_of(out) and not (out / "model.cflm").exists()
    assert (out / "witness.csv").exists() and main(["verify", str(out)]) == 0


def test_the_summary_names_a_few_of_many_classes(tmp_path, capsys):
    rows = "\n".join(f"the word{k % 3} of all,c{k % 12:02d}" for k in range(48))
    (tmp_path / "t.csv").write_text(f"text,label\n{rows}\n")
    run = ["embed", str(tmp_path / "t.csv"), "--label-column", "label", "--network", "none", "--permutations", "19"]
    assert main([*run, "--out", str(tmp_path / "run")]) == 0
    assert "48 documents (c00 4, c01 4, c02 4, c03 4, c04 4, c05 4, c06 4, c07 4 and 4 more classes)" in (
        capsys.readouterr().out
    )


def test_a_run_that_trains_nothing_leaves_an_earlier_one_as_it_was(tmp_path, capsys):
    pytest.importorskip("optax")
    out, checkpoint = tmp_path / "run", str(tmp_path / "c.npz")
    own = ("--network", "mean", "--min-count", "1", "--checkpoint", checkpoint)
    assert embed(out, *own) == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert "model.cflm" in before
    for other in (("--lam", "7"), ("--learning-rate", "1e30", "--checkpoint", str(tmp_path / "d.npz"))):
        capsys.readouterr()
        assert embed(out, *own, *other) == 2
        said = capsys.readouterr()
        assert "is as the run before left it" in said.err and "wMMD²" in said.out and "written to" not in said.out
        assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert embed(tmp_path / "new", *own, "--lam", "7") == 2  # where there is none, the statistic stays
    assert "The statistic is written to" in capsys.readouterr().err and (tmp_path / "new" / "statistic.json").exists()
    assert embed(out, *own[:-1], ".") == 2
    assert f"{Path.cwd()} is no checkpoint" in capsys.readouterr().err
