"""What a run keeps beside its proof (models, vocabularies, networks, tokenizers, tables): altered, it is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cflengine import cli
from cflengine.engine.progress import Progress, TerminationReason
from cflengine.linear.saving import read_model, write_model
from cflengine.verify import FalseResult, verify_run

TEXTS = [
    "The cat sat on the mat. The cat sat.", "the dog sat on the mat", "The cat, the dog and the MAT!", "a b a b a b",
    "the cat sat on the dog. Good!", "a b c", "the good cat sat", "bad dog. Bad mat.", "a dog sat on a mat", "the bad",
]  # fmt: skip
_LABEL = ("--text-column", "text", "--label-column", "label")
RUNS = {
    "compress": ("compress", "--text-column", "text"),
    "logistic": ("train-logistic", *_LABEL),
    "own tokens": ("train-logistic", *_LABEL, "--token-pattern", "[a-z]{3,}"),
    "one C": ("erm", *_LABEL, "--loss", "hinge", "--path", "10", "--dev-split", "0.3", "--constraint",
              "nonnegative"),
    "tf-idf": ("train-logistic", *_LABEL, "--weighting", "tf-idf", "--test-split", "0.2"),
    "k-grams": ("train-logistic", *_LABEL, "--features", "kgrams"),
    "cfl": ("erm", "--text-column", "text", "--label-column", "number", "--loss", "huber:1", "--features", "cfl",
            "--constraint", "nonnegative"),
    "K-grams judged": ("erm", "--text-column", "text", "--label-column", "number", "--loss", "huber:1", "--features",
                       "cfl", "--counting", "soft", "--weighting", "count", "--lam", "0.3", "--test-split", "0.3",
                       "--sentence-borders"),
    "sentences of K-grams": ("sentences", *_LABEL, "--grid", "0.1", "--features", "kgrams", "--dev-split", "0.3"),
    "λ-path": ("path", "--text-column", "text", "--lams", "0.3,1", "--counting", "soft"),
    "sentences": ("sentences", *_LABEL, "--dev-split", "0.3", "--test-split", "0.2", "--grid", "0.1"),
    "path": ("erm", *_LABEL, "--loss", "hinge", "--path", "0.1,1", "--dev-split", "0.3", "--weighting", "tf-idf"),
    "numbers": ("erm", "--text-column", "text", "--label-column", "number", "--loss", "huber:1"),
    "network": (
        "embed", *_LABEL, "--network", "cnn", "--epochs", "3", "--permutations", "9", "--dev-split", "0.3",
        "--test-split", "none",
    ),
    "no test": ("embed", *_LABEL, "--network", "none", "--permutations", "0"),
    "features": ("embed", *_LABEL, "--network", "none", "--permutations", "9", "--random-features", "32"),
    "tokenizer": ("tokenizer", "--text-column", "text", "--unit", "character", "--vocab-size", "295"),
}  # fmt: skip


def command(*arguments: object) -> None:
    assert cli.main([str(argument) for argument in arguments]) == 0


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("in") / "texts.csv"
    n = 4 * len(TEXTS)
    labels = ["x", "y", "x", "y", "y"] * (n // 5)
    pd.DataFrame({"text": TEXTS * 4, "label": labels, "number": np.linspace(-1, 4, n)}).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def runs(source, tmp_path_factory) -> Callable[[str], Path]:
    """The folder of a run, which is made once."""
    made: dict[str, Path] = {}

    def of(name: str) -> Path:
        if name not in made:
            if name == "network":
                pytest.importorskip("optax")
            out = tmp_path_factory.mktemp("out") / name
            first, *options = RUNS[name]
            command(first, source, *options, "--out", out, "--quiet")
            assert verify_run(out)
            made[name] = out
        return made[name]

    return of


def altered(file: str, change: Callable[[dict[str, Any], dict[str, np.ndarray]], None]) -> Callable[[Path], None]:
    """A model whose header and arrays are changed in place."""

    def alter(run: Path) -> None:
        header, arrays = read_model(run / file)
        change(header, arrays)
        write_model(run / file, header["kind"], header, arrays)

    return alter


def last(header: dict[str, Any]) -> dict[str, Any]:
    return header["steps"][-1]["step"] if "steps" in header else header


def scaled(name: str, factor: float) -> Callable[[Any, Any], None]:
    return lambda header, arrays: arrays.update({name: arrays[name] * factor})


def sloped(name: str) -> Callable[[Any, Any], None]:
    """Each entry by another factor: what all have in common goes when documents are scaled to length 1."""
    return lambda header, arrays: arrays.update({name: arrays[name] * np.linspace(1.0, 2.0, len(arrays[name]))})


def in_report(*keys: Any, value: Any, file: str = "report.json") -> Callable[[Path], None]:
    """A number of report.json."""

    def alter(run: Path) -> None:
        report = json.loads((run / file).read_text())
        place = report
        for key in keys[:-1]:
            place = place[key]
        assert place[keys[-1]] != value
        place[keys[-1]] = value
        (run / file).write_text(json.dumps(report))

    return alter


def in_table(file: str, column: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    """The last cell of a column of a CSV file that holds something."""

    def alter(run: Path) -> None:
        frame = pd.read_csv(run / file, keep_default_na=False)
        values = frame[column].astype(object)
        place = max(k for k, cell in enumerate(values) if cell != "")
        values.iloc[place] = change(values.iloc[place])
        frame.assign(**{column: values}).to_csv(run / file, index=False)

    return alter


def filled(file: str, column: str, value: str) -> Callable[[Path], None]:
    """The first empty cell of a column of a CSV file."""

    def alter(run: Path) -> None:
        frame = pd.read_csv(run / file, dtype=str, keep_default_na=False)
        frame.loc[frame[column].eq("").idxmax(), column] = value
        frame.to_csv(run / file, index=False)

    return alter


def exchanged(file: str, column: str) -> Callable[[Path], None]:
    """The first two cells of a column of a CSV file that differ, each in the other's place."""

    def alter(run: Path) -> None:
        frame = pd.read_csv(run / file, keep_default_na=False)
        values = frame[column].astype(object)
        other = next(k for k, cell in enumerate(values) if cell != values.iloc[0])
        values.iloc[[0, other]] = values.iloc[[other, 0]].tolist()
        frame.assign(**{column: values}).to_csv(run / file, index=False)

    return alter


def without_column(file: str, column: str) -> Callable[[Path], None]:
    """A column of a CSV file left out."""
    return lambda run: (
        pd.read_csv(run / file, dtype=str, keep_default_na=False).drop(columns=column).to_csv(run / file, index=False)
    )


def renamed(file: str, old: str, new: str) -> Callable[[Path], None]:
    """The head of a CSV file, otherwise."""

    def alter(run: Path) -> None:
        head, rest = (run / file).read_text("utf-8").split("\n", 1)
        head = head.replace('"', "")
        assert old in head
        (run / file).write_text(head.replace(old, new) + "\n" + rest, "utf-8")

    return alter


def append(path: Path, text: str) -> None:
    """Behind its end."""
    path.write_text(path.read_text("utf-8") + text, "utf-8")


def without_last(file: str, name: str) -> Callable[[Path], None]:
    """A list of a report without its last."""

    def alter(run: Path) -> None:
        report = json.loads((run / file).read_text())
        report[name].pop()
        (run / file).write_text(json.dumps(report))

    return alter


def without_rows(file: str, rows: slice) -> Callable[[Path], None]:
    """Some rows of a CSV file left out."""

    def alter(run: Path) -> None:
        frame = pd.read_csv(run / file, keep_default_na=False)
        frame.drop(index=frame.index[rows]).to_csv(run / file, index=False)

    return alter


def in_vectors(name: str, factor: float) -> Callable[[Path], None]:
    """Vectors that are longer or shorter."""

    def alter(run: Path) -> None:
        arrays = dict(np.load(run / "vectors.npz"))
        np.savez(run / "vectors.npz", **arrays | {name: factor * arrays[name]})

    return alter


def in_statistic(name: str, value: Any) -> Callable[[Path], None]:
    """The same in report.json and statistic.json."""

    def alter(run: Path) -> None:
        in_report("statistic", name, value=value)(run)
        in_report(name, value=value, file="statistic.json")(run)

    return alter


def in_proof(file: str, name: str, change: Callable[[np.ndarray], Any]) -> Callable[[Path], None]:
    """An array of what proves a run."""

    def alter(run: Path) -> None:
        arrays = dict(np.load(run / file))
        arrays[name] = change(arrays[name])
        np.savez(run / file, **arrays)

    return alter


def with_entry(place: int, value: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda array: np.concatenate([array[:place], [value], array[place + 1 :]]).astype(array.dtype)


def in_json(*keys: str, value: Any) -> Callable[[Path], None]:
    """A part of tokenizer.json."""

    def alter(run: Path) -> None:
        content = json.loads((run / "tokenizer.json").read_text("utf-8"))
        place = content
        for key in keys[:-1]:
            place = place[key]
        assert place[keys[-1]] != value
        place[keys[-1]] = value
        (run / "tokenizer.json").write_text(json.dumps(content), "utf-8")

    return alter


def reversed_words(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    step = header["steps"][0]["step"] if "steps" in header else header["reads"]
    step["vocabulary"] = step["vocabulary"][::-1]


def other_classes(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    assert last(header)["classes"] == ["x", "y"]
    last(header)["classes"] = ["y", "z"]


def one_for_all(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    last(header)["multinomial"] = not last(header)["multinomial"]


def another_threshold(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    header["steps"][1]["step"]["parameters"]["threshold"] = 1.0


def one_step_less(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    del header["steps"][1]


def parameter(name: str, value: Any) -> Callable[[Any, Any], None]:
    return lambda header, arrays: last(header)["parameters"].update({name: value})


def gap(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    last(header)["gap"] = 1e-12 if last(header)["gap"] != 1e-12 else 2e-6


def documents(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    header["about"]["n_documents"] += 1


def about(name: str, value: Any) -> Callable[[Any, Any], None]:
    """What a model says of what it was learnt from."""
    return lambda header, arrays: header["about"].update({name: value})


def all_of(*changes: Callable[[Path], Any]) -> Callable[[Path], None]:
    """Changes that go together."""

    def alter(run: Path) -> None:
        for change in changes:
            change(run)

    return alter


def without_files(*names: str) -> Callable[[Path], None]:
    """They are gone, and the report lists them no more."""

    def alter(run: Path) -> None:
        report = json.loads((run / "report.json").read_text())
        report["files"] = [name for name in report["files"] if name not in names]
        (run / "report.json").write_text(json.dumps(report))
        for name in names:
            (run / name).unlink()

    return alter


def said_best(value: float) -> Callable[[Path], None]:
    """The accuracy on the development set, wherever it stands, of the first model."""

    def alter(run: Path) -> None:
        report = json.loads((run / "report.json").read_text())
        model = report["models"][0]
        model["dev_accuracy"] = value
        (run / "report.json").write_text(json.dumps(report))
        models, grid = (pd.read_csv(run / name) for name in ("models.csv", "grid.csv"))
        models.loc[models["penalty"] == model["penalty"], "dev_accuracy"] = value
        own = (grid["penalty"] == model["penalty"]) & (grid["accuracy"] == grid["accuracy"].max())
        for name in ("lam_sen", "lam_las", "lam_rid"):
            if model.get(name) is not None:
                own &= np.isclose(grid[name], model[name])
        grid.loc[own, "accuracy"] = value
        models.to_csv(run / "models.csv", index=False)
        grid.to_csv(run / "grid.csv", index=False)

    return alter


def another_of_a_path(run: Path) -> None:
    """The model of a C that was tried and was not the best."""
    report = json.loads((run / "report.json").read_text())
    other = next(row["C"] for row in report["path"] if row["C"] != report["C"])
    source, arguments = report["input_path"], report["arguments"]
    options = [*RUNS["path"][1:3], *RUNS["path"][3:]]
    at = options.index("--path")
    fixed = run.parent / "fixed"
    command("erm", *source, *options[:at], "--C", other, *options[at + 2 :], "--out", fixed, "--quiet")
    again = json.loads((fixed / "report.json").read_text())
    for name in ("model.cflm", "weights.csv", "documents.csv", "trace.csv"):
        shutil.copy(fixed / name, run)
    proof, own = dict(np.load(run / "proof.npz")), dict(np.load(fixed / "proof.npz"))
    np.savez(run / "proof.npz", **proof | own)
    kept = {name: report[name] for name in ("path", "files", "arguments")}
    assert arguments["path"]
    (run / "report.json").write_text(json.dumps(again | kept))


def made_up_literals(run: Path) -> None:
    of_report(lambda report: report["compression"].update(literal_cost=50.0))(run)
    altered("model.cflm", lambda header, _: header["parameters"].update(literal_cost=50.0))(run)
    altered("model.cflm", lambda _, arrays: arrays.update(literal=np.array([50.0])))(run)


def of_report(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    """report.json, changed in place."""

    def alter(run: Path) -> None:
        report = json.loads((run / "report.json").read_text())
        change(report)
        (run / "report.json").write_text(json.dumps(report))

    return alter


def grams_said(**said: Any) -> Callable[[Any, Any], None]:
    """What a model's file says of the step that finds its K-grams."""
    return lambda header, _: header["steps"][0]["step"].update(said)


def another_word(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """The longest K-gram ends in another word."""
    max(header["steps"][0]["step"]["grams"], key=len)[-1] = "zebra"


def turned_grams(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    header["steps"][0]["step"]["grams"].reverse()


def without_array(name: str) -> Callable[[Path], None]:
    """What proves a run, but for one array."""

    def alter(run: Path) -> None:
        arrays = dict(np.load(run / "proof.npz"))
        del arrays[name]
        np.savez(run / "proof.npz", **arrays)

    return alter


def shorter_path(run: Path) -> None:
    without_last("report.json", "path")(run)
    without_rows("path.csv", slice(1, 2))(run)


def another_class_of_weight_0(run: Path) -> None:
    frame = pd.read_csv(run / "weights.csv", keep_default_na=False)
    at = frame["weight"].eq(0.0).idxmax()
    assert frame.loc[at, "weight"] == 0.0
    frame.loc[at, "class"] = "elsewhere"
    frame.to_csv(run / "weights.csv", index=False)


def another_name_of_weight_0(run: Path) -> None:
    frame = pd.read_csv(run / "weights.csv", keep_default_na=False)
    frame.loc[frame["weight"].eq(0.0).idxmax(), "feature"] = "nowhere"
    assert frame.loc[frame["feature"].eq("nowhere"), "weight"].eq(0.0).all()
    frame.to_csv(run / "weights.csv", index=False)


FALSE: dict[str, tuple[str, Callable[[Path], None]]] = {
    "price by length": ("compress", altered("model.cflm", scaled("by_length", 2.0))),
    "price of a literal": ("compress", altered("model.cflm", scaled("literal", 0.0))),
    "documents of an entry": ("compress", altered("model.cflm", scaled("documents", 2))),
    "literal_cost": ("compress", altered("model.cflm", parameter("literal_cost", 0.001))),
    "gap of a dictionary": ("compress", altered("model.cflm", gap)),
    "documents in dictionary.csv": ("compress", in_table("dictionary.csv", "documents", lambda cell: cell + 1)),
    "bound in a trace": ("compress", in_table("trace.csv", "lower_bound", lambda cell: 2.0 * float(cell))),
    "objective in a trace": ("compress", in_table("trace.csv", "best_objective", lambda cell: 0.5 * float(cell))),
    "gap in a trace": ("compress", in_table("trace.csv", "gap", lambda cell: float(cell) + 0.5)),
    "certificate": ("compress", in_report("certificate", "lower_bound", value=1e9)),
    "shrink": ("compress", in_report("certificate", "shrink", value=0.25)),
    "vocabulary": ("logistic", altered("model.cflm", reversed_words)),
    "threshold": ("logistic", altered("model.cflm", another_threshold)),
    "a step": ("logistic", altered("model.cflm", one_step_less)),
    "C of a model": ("logistic", altered("model.cflm", parameter("C", 7.0))),
    "gap of a model": ("logistic", altered("model.cflm", gap)),
    "documents of a model": ("logistic", altered("model.cflm", documents)),
    "ridge": ("logistic", in_report("fits", 0, "settings", "ridge", value=0.5)),
    "intercept": ("logistic", in_report("intercepts", 0, value=12.0)),
    "trace of a model": ("logistic", in_table("trace.csv", "lower_bound", lambda cell: cell + 1.0)),
    "target of a model": ("logistic", altered("model.cflm", about("target", "number"))),
    "origin of a model": ("logistic", altered("model.cflm", about("learnt_from", "wiki.csv"))),
    "corpus of a model": ("numbers", altered("model.cflm", about("corpus_digest", "0"))),
    "target of sentences": ("sentences", altered("elastic.cflm", about("target", "number"))),
    "weights of classes": ("logistic", altered("model.cflm", parameter("class_weight", {"x": 9.0, "y": 1.0}))),
    "weights of classes of sentences": ("sentences", altered("elastic.cflm", parameter("class_weight", "balanced"))),
    "no intercept": ("logistic", altered("model.cflm", parameter("fit_intercept", False))),
    "usual tokens, not own ones": ("own tokens", in_report("arguments", "token_pattern", value=None)),
    "own tokens, not usual ones": ("logistic", in_report("arguments", "token_pattern", value="[a-z]{4,}")),
    "own tokens of a path": ("path", in_report("arguments", "token_pattern", value="[a-z]{4,}")),
    "own tokens of sentences": ("sentences", in_report("arguments", "token_pattern", value="[a-z]{4,}")),
    "own tokens of a compression": ("compress", in_report("arguments", "token_pattern", value="[a-z]{4,}")),
    "C that were asked for": ("path", in_report("arguments", "path", value=[0.001, 0.1, 1.0, 10.0])),
    "a C left out": ("path", shorter_path),
    "a grid that was not tried": ("sentences", in_table("grid.csv", "lam_las", lambda cell: 7.0)),
    "a penalty that was not tried": ("sentences", in_table("grid.csv", "penalty", lambda cell: "other")),
    "class of weight 0": ("one C", another_class_of_weight_0),
    "columns of a matrix": ("k-grams", in_proof("proof.npz", "X_indices", with_entry(3, 10**6))),
    "borders of rows": ("k-grams", in_proof("proof.npz", "X_indptr", with_entry(2, 10**6))),
    "borders below 0": ("k-grams", in_proof("proof.npz", "X_indptr", with_entry(2, -7))),
    "label in documents.csv": ("compress", in_table("documents.csv", "meta_label", lambda cell: "z")),
    "number in documents.csv": ("compress", in_table("documents.csv", "meta_number", lambda cell: cell + 1)),
    "record in documents.csv": ("compress", in_table("documents.csv", "row", lambda cell: 0)),
    "costs left out": ("compress", without_column("documents.csv", "cost")),
    "labels left out": ("compress", without_column("documents.csv", "meta_label")),
    "column of texts": ("compress", in_report("corpus", "text_column", value="label")),
    "encoding": ("compress", in_report("corpus", "encoding", value="cp1252")),
    "possible pointers": ("compress", in_report("possible_pointers", value=3)),
    "K-gram behind a quote": ("compress", in_table("dictionary.csv", "gram", lambda cell: "'" + cell)),
    "names of columns": ("compress", renamed("features.csv", "document,feature", "feature_id,feature")),
    "lines behind the last": ("compress", lambda run: append(run / "feature_names.txt", "more")),
    "λ left out": (
        "λ-path",
        lambda run: [without_last("report.json", "points")(run), without_rows("path.csv", slice(1, 2))(run)],
    ),
    "λ not solved": ("λ-path", in_report("lams_not_solved", value=[5.0])),
    "λ asked for": ("λ-path", in_report("arguments", "lams", value=[0.3, 1.0, 7.0])),
    "shares of a λ-path": ("λ-path", in_table("path.csv", "share_1", lambda cell: cell + 0.1)),
    "objective at λ": ("λ-path", in_report("points", 0, "objective", value=1.0)),
    "bound at λ": ("λ-path", in_report("points", 1, "lower_bound", value=1e4)),
    "gap at λ": ("λ-path", in_report("points", 1, "gap", value=0.25)),
    "λ": ("λ-path", in_report("points", 0, "lam", value=0.31)),
    "folder of λ": ("λ-path", in_report("points", 0, "folder", value="lam-1")),
    "folder elsewhere": ("λ-path", in_report("points", 0, "folder", value="../lam-1")),
    "corpus of a path": ("λ-path", in_report("digest", value="0")),
    "table of a λ-path": ("λ-path", in_table("path.csv", "n_pointers", lambda cell: cell + 1)),
    "tokens of a λ-path": ("λ-path", in_table("documents.csv", "tokens", lambda cell: cell + 1)),
    "dictionary at λ": ("λ-path", altered("lam-0.3/model.cflm", scaled("cost", 2.0))),
    "prices at λ": ("λ-path", in_proof("lam-1/proof.npz", "alpha", lambda alpha: 0.9 * alpha)),
    "features at λ": ("λ-path", lambda run: shutil.copy(run / "lam-1" / "features.npz", run / "lam-0.3")),
    "pointers at λ": ("λ-path", lambda run: shutil.copy(run / "lam-1" / "pointers.parquet", run / "lam-0.3")),
    "weights.csv": ("logistic", in_table("weights.csv", "weight", lambda cell: cell + 1.0)),
    "class of a weight": ("logistic", in_table("weights.csv", "class", lambda cell: "z")),
    "weights of K-grams": ("k-grams", in_table("weights.csv", "weight", lambda cell: cell + 1.0)),
    "K-gram of a weight": ("k-grams", exchanged("weights.csv", "feature")),
    "K-gram of a weight of erm": ("cfl", exchanged("weights.csv", "feature")),
    "name of a feature of weight 0": ("cfl", another_name_of_weight_0),
    "weighting of K-grams": ("k-grams", altered("model.cflm", one_step_less)),
    "classes of a model of erm": ("path", altered("model.cflm", other_classes)),
    "one model for all classes": ("logistic", altered("model.cflm", one_for_all)),
    "K-gram of a weight of sentences": ("sentences of K-grams", exchanged("weights.csv", "feature")),
    "a path that was not": ("path", in_report("arguments", "path", value=[])),
    "no path, though its table is there": (
        "path",
        of_report(lambda report: report["arguments"].update(path=None, C=report["C"]) or report.update(path=None)),
    ),
    "the worse of a path": ("path", another_of_a_path),
    "best on the development set": ("sentences", said_best(0.99)),
    "violation of a model": ("cfl", altered("model.cflm", lambda header, _: last(header).update(violation=0.5))),
    "no corpus": ("compress", in_report("corpus", value=None)),
    "encoding note": ("logistic", in_report("corpus", "encoding_note", value="guessed")),
    "source": ("compress", in_report("corpus", "source", value="other.csv")),
    "warnings": ("compress", in_report("corpus", "warnings", value=["none"])),
    "a file of no such run": (
        "logistic",
        all_of(
            lambda run: (run / "evaluation.csv").write_text("x"),
            in_report("files", value=["evaluation.csv", "model.cflm"]),
        ),
    ),
    "fewer files": ("compress", without_files("features.csv")),
    "λ that was not solved": (
        "λ-path",
        of_report(lambda report: report.update(lams_not_solved=[report["points"].pop(0)["lam"]])),
    ),
    "a network that was not": (
        "network",
        of_report(lambda report: report.pop("training") and report["arguments"].update(network="none")),
    ),
    "cost of a literal": ("compress", made_up_literals),
    "what a dictionary is from": ("compress", altered("model.cflm", about("learnt_from", "other.csv"))),
    "documents of a network": ("network", altered("model.cflm", about("n_documents", 10**6))),
    "target of a network": ("network", altered("model.cflm", about("target", "other"))),
    "no text": ("compress", in_report("gap_lies_in", "no_text", "n_documents", value=3)),
    "nearly all of the gap": ("compress", in_report("gap_lies_in", "documents_with_99_percent", value=39)),
    "idf of K-grams": ("cfl", altered("model.cflm", sloped("0.idf"))),
    "uses of K-grams": ("cfl", altered("model.cflm", sloped("0.count"))),
    "documents of K-grams": ("k-grams", altered("model.cflm", sloped("0.documents"))),
    "cost of K-grams": ("cfl", altered("model.cflm", scaled("0.cost", 2.0))),
    "cost of their pointers": ("k-grams", altered("model.cflm", scaled("0.by_length", 2.0))),
    "cost of words they lack": ("cfl", altered("model.cflm", scaled("0.literal", 0.5))),
    "gap of K-grams": ("cfl", altered("model.cflm", grams_said(gap=0.0))),
    "no gap of K-grams": ("cfl", altered("model.cflm", grams_said(gap=None))),
    "prices of K-grams": ("k-grams", in_proof("proof.npz", "grams.alpha", lambda alpha: 0.5 * alpha)),
    "prices of K-grams that are gone": ("k-grams", without_array("grams.alpha")),
    "words of a K-gram": ("cfl", altered("model.cflm", another_word)),
    "order of K-grams": ("k-grams", altered("model.cflm", turned_grams)),
    "features as K-grams are found": ("cfl", in_proof("proof.npz", "X_data", lambda data: data[::-1] + 1.0)),
    "prediction by K-grams, unseen": ("K-grams judged", in_table("documents.csv", "residual", lambda cell: cell + 1.0)),
    "loss by K-grams, unseen": ("K-grams judged", in_report("mean_loss", "test", value=0.125)),
    "K-grams of the second model": ("sentences of K-grams", altered("ridge.cflm", sloped("features.idf"))),
    "idf of K-grams of sentences": ("sentences of K-grams", altered("sentence.cflm", sloped("features.idf"))),
    "sentences by K-grams": (
        "sentences of K-grams",
        in_table("sentences.csv", "log_odds_ridge", lambda x: x + 1),
    ),
    "K-grams of a model": ("cfl", altered("model.cflm", lambda header, _: header["steps"][0]["step"]["grams"].pop())),
    "tokens of K-grams": ("cfl", in_report("token_pattern", value="x")),
    "λ of K-grams": ("cfl", in_report("arguments", "lam", value=2.0)),
    "number of K-grams": ("cfl", in_report("n_features", value=7)),
    "classes of numbers": ("cfl", in_report("classes", value=["z"])),
    "documents without a number": ("cfl", in_report("n_unlabelled", value=5)),
    "values that are no numbers": ("cfl", in_report("unread_numbers", value=5)),
    "constant of a loss": ("cfl", in_report("loss_constant", value=1.0)),
    "intercept of a fit of erm": ("cfl", in_report("fits", 0, "bias", value=1e9)),
    "support of a fit": ("cfl", in_report("fits", 0, "support", value=1)),
    "C that was asked for": ("cfl", in_report("arguments", "C", value=77.0)),
    "class of a fit of erm": ("path", in_report("fits", 0, "class", value="z")),
    "documents without a class": ("logistic", in_report("n_unlabelled", value=9)),
    "documents without a class, sentences": ("sentences", in_report("n_unlabelled", value=9)),
    "support of a sentence model": ("sentences", in_report("models", 0, "results", 0, "support", value=10**6)),
    "penalty in models.csv": ("sentences", in_table("models.csv", "penalty", lambda cell: cell + "x")),
    "prediction by K-grams": ("k-grams", in_table("documents.csv", "predicted", lambda cell: "xy"[cell == "x"])),
    "share right by K-grams": ("k-grams", in_report("accuracy", "train", value=0.125)),
    "document": ("tf-idf", in_table("documents.csv", "document", lambda cell: cell + 1)),
    "record": ("tf-idf", in_table("documents.csv", "row", lambda cell: cell + 1)),
    "part": ("tf-idf", in_table("documents.csv", "split", lambda cell: "dev")),
    "label": ("tf-idf", in_table("documents.csv", "label", lambda cell: "xy"[cell == "x"])),
    "prediction": ("tf-idf", in_table("documents.csv", "predicted", lambda cell: "xy"[cell == "x"])),
    "no class": ("tf-idf", in_table("documents.csv", "predicted", lambda cell: "z")),
    "probability of a class": ("tf-idf", in_table("documents.csv", "probability", lambda cell: 0.99 * cell)),
    "share right, training": ("tf-idf", in_report("accuracy", "train", value=0.125)),
    "share right, test": ("tf-idf", in_report("accuracy", "test", value=0.125)),
    "share right of none": ("logistic", in_report("accuracy", "test", value=0.125)),
    "features": ("logistic", in_report("arguments", "features", value="kgrams")),
    "number of features": ("logistic", in_report("n_features", value=3)),
    "class of a fit": ("logistic", in_report("fits", 0, "class", value="x")),
    "records": ("logistic", in_report("corpus", "n_records", value=50)),
    "types": ("compress", in_report("n_types", value=3)),
    "counting that was asked for": ("compress", in_report("arguments", "counting", value="soft")),
    "case that was asked for": ("compress", in_report("arguments", "keep_case", value=True)),
    "weighting of a path": ("λ-path", in_report("arguments", "weighting", value="idf")),
    "idf": ("tf-idf", altered("model.cflm", sloped("1.idf_"))),
    "weights of a sentence model": ("sentences", altered("sentence.cflm", scaled("coef", -5.0))),
    "intercept of the ridge": ("sentences", altered("ridge.cflm", lambda h, arrays: arrays["intercept"].__iadd__(1))),
    "words of a sentence model": ("sentences", altered("lasso.cflm", reversed_words)),
    "gap of a sentence model": ("sentences", in_report("models", 0, "gap", value=0.5)),
    "features of a sentence model": ("sentences", in_report("models", 0, "features", value=10**6)),
    "weights of groups": ("sentences", in_report("arguments", "group_weights", value="length")),
    "groups": ("sentences", in_report("arguments", "groups", value="document")),
    "groups of a model": ("sentences", altered("sentence.cflm", lambda h, _: h["parameters"].update(groups="clause"))),
    "models.csv": ("sentences", in_table("models.csv", "gap", lambda cell: 0.5)),
    "λ of a sentence model": ("sentences", altered("sentence.cflm", parameter("lam_sen", 99.0))),
    "λ of the lasso": ("sentences", altered("lasso.cflm", parameter("l1", 99.0))),
    "words of a model": ("sentences", altered("ridge.cflm", parameter("token_pattern", "x"))),
    "λ in models.csv": ("sentences", in_table("models.csv", "lam_las", lambda cell: 9)),
    "λ of a fit": ("sentences", in_report("models", 0, "results", 0, "settings", "lam_sen", value=5.0)),
    "intercept of a fit": ("sentences", in_report("models", 0, "results", 0, "bias", value=5.0)),
    "λ that was asked for": ("sentences", in_report("arguments", "grid", value=[0.25])),
    "accuracy in models.csv": ("sentences", in_table("models.csv", "accuracy", lambda cell: 0.125)),
    "accuracy of a model": ("sentences", in_report("models", 1, "accuracy", value=0.125)),
    "choice": ("sentences", in_report("models", 0, "dev_accuracy", value=0.125)),
    "size of a model": ("sentences", in_report("models", 0, "model_size", value=0.125)),
    "grid.csv": ("sentences", in_table("grid.csv", "accuracy", lambda cell: 1.5)),
    "occurrences": ("sentences", in_table("weights.csv", "occurrences", lambda cell: cell + 1)),
    "weight of a sentence model": ("sentences", in_table("weights.csv", "weight", lambda cell: -cell)),
    "feature": ("sentences", in_table("weights.csv", "feature", lambda cell: "nowhere")),
    "model of a weight": ("sentences", in_table("weights.csv", "model", lambda cell: "nowhere")),
    "probability of a sentence model": (
        "sentences",
        in_table("documents.csv", "probability", lambda cell: 0.99 * cell),
    ),
    "log-odds": ("sentences", in_table("sentences.csv", "log_odds_ridge", lambda cell: cell + 0.1)),
    "norm": ("sentences", in_table("sentences.csv", "group_norm", lambda cell: cell + 0.1)),
    "selected": ("sentences", in_table("sentences.csv", "selected", lambda cell: not cell)),
    "text of a sentence": ("sentences", in_table("sentences.csv", "text", lambda cell: cell[1:])),
    "end of a sentence": ("sentences", in_table("sentences.csv", "end", lambda cell: cell + 1)),
    "part of a sentence": ("sentences", in_table("sentences.csv", "split", lambda cell: "dev")),
    "vocabulary of an SVM": ("path", altered("model.cflm", reversed_words)),
    "idf of an SVM": ("path", altered("model.cflm", sloped("1.idf_"))),
    "loss": ("path", altered("model.cflm", parameter("loss", "squared_hinge"))),
    "objective of the path": ("path", in_report("path", 0, "objective", value=0.001)),
    "bound of the path": ("path", in_report("path", 1, "lower_bound", value=1e6)),
    "gap of the path": ("path", in_report("path", 1, "gap", value=1e-13)),
    "features of the path": ("path", in_report("path", 0, "features", value=10**6)),
    "path.csv": ("path", in_table("path.csv", "objective", lambda cell: 1.5 * cell)),
    "trace of an SVM": ("path", in_table("trace.csv", "best_objective", lambda cell: 0.5 * cell)),
    "no path": ("path", in_report("path", value=None)),
    "violation": ("numbers", in_report("fits", 0, "violation", value=0.01)),
    "score": ("path", in_table("documents.csv", "score", lambda cell: cell + 0.1)),
    "development share of the path": (
        "path",
        lambda run: [
            in_report("path", 1, "dev", value=0.125)(run),
            in_table("path.csv", "dev", lambda cell: 0.125)(run),
        ],
    ),
    "accuracy of an SVM": ("path", in_report("accuracy", "dev", value=0.125)),
    "weight of a regression": ("numbers", in_table("weights.csv", "weight", lambda cell: cell + 1.0)),
    "value": ("numbers", in_table("documents.csv", "value", lambda cell: cell + 0.1)),
    "predicted value": ("numbers", in_table("documents.csv", "predicted", lambda cell: cell + 0.1)),
    "residual": ("numbers", in_table("documents.csv", "residual", lambda cell: cell + 0.1)),
    "mean loss": ("numbers", in_report("mean_loss", "train", value=0.125)),
    "documents": ("numbers", in_report("n_documents", "train", value=7)),
    "network": ("network", altered("model.cflm", scaled("net.filter4", -1.0))),
    "vectors": ("network", altered("model.cflm", scaled("vectors", 2.0))),
    "longest": ("network", altered("model.cflm", parameter("max_length", 1))),
    "probability": ("network", in_table("predictions.csv", "probability", lambda cell: 0.5 * cell)),
    "kernel": ("network", in_report("arguments", "kernel", value="laplace")),
    "tolerance": ("network", in_statistic("tie_tolerance", -1e9)),
    "standard error": ("network", in_statistic("approximation_error", 1000.0)),
    "kernel of permutations": ("network", in_statistic("null_kernel", "random features")),
    "classes of a comparison": ("network", in_report("classes", value=["y", "x"])),
    "class of a pair": ("network", in_table("pairwise.csv", "class", lambda cell: "z")),
    "class of a word": ("network", in_table("witness.csv", "class", lambda cell: "xy"[cell == "x"])),
    "share of a word": ("network", in_table("witness.csv", "share", lambda cell: cell + 0.1)),
    "words of a witness": ("network", without_rows("witness.csv", slice(1, None))),
    "predictions left out": ("network", without_rows("predictions.csv", slice(5, 6))),
    "part of a prediction": ("network", in_table("predictions.csv", "split", lambda cell: "test")),
    "vectors.txt": ("network", lambda run: (run / "vectors.txt").write_text("1 1\nthe 0.5\n")),
    "pairwise.csv": ("network", in_table("pairwise.csv", "statistic", lambda cell: cell + 1.0)),
    "vectors as they began": ("network", in_vectors("initial_vectors", 0.0)),
    "wMMD² before": ("network", in_report("training", "wmmd_before", value=1.0)),
    "wMMD² after": ("network", in_report("training", "wmmd_after", value=1.0)),
    "wMMD² after, in the trace, too": (
        "network",
        lambda run: [
            in_report("training", "wmmd_after", value=1.0)(run),
            in_table("trace.csv", "wmmd", lambda cell: 1.0)(run),
        ],
    ),
    "cross entropy": ("network", in_report("training", "cross_entropy", value=1e-4)),
    "epochs": ("network", in_report("training", "epochs", value=2)),
    "best epoch": ("network", in_report("training", "best_epoch", value=0)),
    "end of training": ("network", in_report("training", "reason", value="converged")),
    "λ of a penalty": ("network", in_report("training", "settings", "lam", value=7.0)),
    "penalty": ("network", in_report("training", "settings", "regulariser", value="l1")),
    "penalty of the model": ("network", altered("model.cflm", parameter("regulariser", "l1"))),
    "learning rate": ("network", in_report("training", "settings", "learning_rate", value=0.7)),
    "loss of the dev part": ("network", in_table("trace.csv", "dev_loss", lambda cell: cell + 1.0)),
    "dimension": ("network", in_statistic("dimension", 3)),
    "width": ("network", in_statistic("widths", [3.0])),
    "width of the words themselves": (
        "no test",
        lambda run: [
            in_report("statistic", "identity", "width", value=1.5)(run),
            in_report("identity", "width", value=1.5, file="statistic.json")(run),
        ],
    ),
    "p of a pair without permutations": (
        "no test",
        lambda run: [
            in_report("pairwise", 0, "p_value", value=0.001)(run),
            in_report("pairwise", 0, "p_value", value=0.001, file="statistic.json")(run),
        ],
    ),
    "observed without permutations": ("no test", in_statistic("null_observed", 9.9)),
    "unlabelled": ("no test", in_report("n_unlabelled", value=1)),
    "permutations that were asked for": ("network", in_report("arguments", "permutations", value=8)),
    "least occurrences": ("network", in_report("arguments", "min_count", value=50)),
    "stop words": ("network", in_report("arguments", "stop_words", value="english")),
    "groups of a penalty": ("network", in_report("arguments", "group", value=[["x"]])),
    "beginning": ("network", in_report("arguments", "initial", value="learnt")),
    "dimension that was asked for": ("network", in_report("arguments", "dimension", value=99)),
    "case": ("network", in_report("arguments", "keep_case", value=True)),
    "p by features": ("features", in_statistic("p_value", 0.9)),
    "observed by features": ("features", in_statistic("null_observed", 9.0)),
    "statistic by features": ("features", in_statistic("statistic", 0.01)),
    "interval by features": ("features", in_statistic("interval", [0.0, 1.0])),
    "standard error by features": ("features", in_statistic("approximation_error", 0.5)),
    "permuted statistics by features": (
        "features",
        lambda run: [
            in_table("null.csv", "statistic", lambda cell: cell - 9.0)(run),
            in_statistic("p_value", 0.1)(run),
        ],
    ),
    "witness by features": ("features", in_table("witness.csv", "witness", lambda cell: 1.1 * cell)),
    "preset that was asked for": ("λ-path", in_report("arguments", "tokens", value="social")),
    "punctuation that was asked for": ("compress", in_report("arguments", "drop_punctuation", value=True)),
    "reason in path.csv": ("λ-path", in_table("path.csv", "reason", lambda cell: "convergedx")),
    "reason of a model": (
        "logistic",
        altered("model.cflm", lambda header, arrays: last(header).update(reason="convergedx")),
    ),
    "pattern": ("tokenizer", in_json("pre_tokenizer", value=None)),
    "normaliser": ("tokenizer", in_json("normalizer", value={"type": "Lowercase"})),
    "decoder": ("tokenizer", in_json("decoder", value={"type": "Fuse"})),
    "unknown": ("tokenizer", in_json("model", "unk_id", value=5)),
    "bytes": ("tokenizer", in_json("model", "byte_fallback", value=False)),
    "pieces.csv": ("tokenizer", in_table("pieces.csv", "occurrences", lambda cell: int(cell) + 1)),
    "vocab.txt": ("tokenizer", lambda run: (run / "vocab.txt").write_text("the\t-1\n")),
    "trace of a tokenizer": ("tokenizer", in_table("trace.csv", "lower_bound", lambda cell: 1e6)),
    "size that was asked for": ("tokenizer", in_report("arguments", "vocab_size", value=296)),
    "documents of a tokenizer": ("tokenizer", in_report("n_documents", value=7)),
    "tokens a word": ("tokenizer", in_report("tokens_per_word", value=1.0)),
    "least tokens a word": ("tokenizer", in_report("least_tokens_per_word", value=1.5)),
}


@pytest.mark.parametrize("name", FALSE)
def test_it_is_refused(name, runs, tmp_path):
    of, alter = FALSE[name]
    run = Path(shutil.copytree(runs(of), tmp_path / "run"))
    alter(run)
    with pytest.raises(FalseResult):
        verify_run(run)


def test_scores_of_pieces_and_their_weights(runs, tmp_path):
    run = Path(shutil.copytree(runs("tokenizer"), tmp_path / "run"))
    content = json.loads((run / "tokenizer.json").read_text("utf-8"))
    content["model"]["vocab"][-1][1] = -9.0
    (run / "tokenizer.json").write_text(json.dumps(content), "utf-8")
    with pytest.raises(FalseResult, match="as this run wrote it"):
        verify_run(run)
    run = Path(shutil.copytree(runs("tokenizer"), tmp_path / "again"))
    arrays = dict(np.load(run / "proof.npz"))
    np.savez(run / "proof.npz", **arrays | {"weight": arrays["weight"] + 1})
    with pytest.raises(FalseResult, match="occur otherwise"):
        verify_run(run)


def test_columns_called_source_are_compared_whole(tmp_path):
    """One of the user's own, and the one that names a document's input, which may have been moved since."""
    (tmp_path / "p").mkdir()
    (tmp_path / "q").mkdir()
    for folder in "pq":
        frame = pd.DataFrame({"text": TEXTS, "source_share": [f"{folder}/2"] * len(TEXTS)})
        frame.to_csv(tmp_path / folder / "x.csv", index=False)
    inputs = [tmp_path / folder / "x.csv" for folder in "pq"]
    command("compress", *inputs, "--text-column", "text", "--out", tmp_path / "run", "--quiet")
    assert verify_run(tmp_path / "run")
    moved = [shutil.copytree(path.parent, tmp_path / f"moved {path.parent.name}") / "x.csv" for path in inputs]
    assert verify_run(tmp_path / "run", [str(path) for path in moved])
    table = pd.read_csv(tmp_path / "run" / "documents.csv")
    names = dict(zip(map(str, inputs), map(str, reversed(inputs)), strict=True))
    for changes in (
        {"meta_source_share": table["meta_source_share"].str.replace("p/2", "999/2")},
        {"meta_source": table["meta_source"].map(names)}, {"meta_source": str(inputs[0])},
        {"meta_source": [str(inputs[0]), *table["meta_source"][1:-1], str(inputs[0])]},
    ):  # fmt: skip
        run = Path(shutil.copytree(tmp_path / "run", tmp_path / "copy", dirs_exist_ok=True))
        table.assign(**changes).to_csv(run / "documents.csv", index=False)
        with pytest.raises(FalseResult, match=r"documents\.csv"):
            verify_run(run)


def test_every_λ_of_a_path_is_proved(runs):
    run = runs("λ-path")
    found, said = verify_run(run), json.loads((run / "report.json").read_text())["points"]
    assert [one.name for one in found] == ["λ = 0.3", "λ = 1"]
    for one, point in zip(found, said, strict=True):
        assert one.lower_bound == pytest.approx(point["lower_bound"], rel=1e-12) and 0 <= one.gap < 0.02
    assert (run / "lam-1" / "model.cflm").exists()


@pytest.mark.parametrize(("name", "place", "value"), [
    ("label", -1, 5), ("label", -1, 10**6), ("ptr", 3, 10**8), ("ptr", -1, 5), ("after", 0, -3), ("w", 0, np.nan),
])  # fmt: skip
def test_parts_of_a_tagger_that_do_not_fit_together(name, place, value, tmp_path):
    (tmp_path / "in").mkdir()
    source, run = tmp_path / "in" / "t.conll", tmp_path / "run"
    source.write_text("the DT O\ncat NN B\n\na DT O\ndog NN B\nsat VB O\n\n" * 4)
    command("train-crf", source, "--out", run, "--quiet")
    assert verify_run(run)

    def change(header, arrays):
        array = arrays[name].copy()
        array[place] = value
        arrays[name] = array

    altered("model.cflm", change)(run)
    with pytest.raises(FalseResult, match="do not fit together"):
        verify_run(run)


def test_a_path_without_its_dual_points_proves_nothing(runs, tmp_path):
    run = Path(shutil.copytree(runs("path"), tmp_path / "run"))
    arrays = dict(np.load(run / "proof.npz"))
    np.savez(run / "proof.npz", **{name: values for name, values in arrays.items() if name != "path_0_lam_0"})
    with pytest.raises(FalseResult, match="path_0_lam_0"):
        verify_run(run)


@pytest.mark.parametrize("network", ["mean", "gru", "bilstm"])
def test_predictions_of_every_network_are_made_again(network, source, tmp_path):
    pytest.importorskip("optax")
    run = tmp_path / "run"
    options = ("--epochs", "1", "--permutations", "0", "--network", network)
    command("embed", source, *_LABEL, *options, "--out", run, "--quiet")
    assert verify_run(run)
    altered("model.cflm", scaled("net.output", -1.0))(run)
    with pytest.raises(FalseResult, match="document"):
        verify_run(run)


def test_a_report_on_a_tokenizer(source, runs, tmp_path):
    pytest.importorskip("tokenizers")
    out = tmp_path / "report"
    given = tmp_path / "given.json"
    content = json.loads((runs("tokenizer") / "tokenizer.json").read_text("utf-8"))
    given.write_text(json.dumps(content), "utf-8")
    command("tokenizer-report", given, source, "--text-column", "text", "--out", out, "--quiet")
    assert verify_run(out)
    for name, alter in {
        "wasted": in_report("n_wasted", value=99), "absent": in_report("n_absent", value=99),
        "longer": in_report("longer", value=99), "size": in_report("size", value=99),
        "required": in_report("required", value=99), "trace": in_table("trace.csv", "best_objective", lambda cell: 1.0),
        "used": in_table("pieces.csv", "used", lambda cell: cell + 1),
        "occurrences": in_table("pieces.csv", "occurrences", lambda cell: cell + 1),
    }.items():  # fmt: skip
        run = Path(shutil.copytree(out, tmp_path / name))
        alter(run)
        with pytest.raises(FalseResult):
            verify_run(run)


def test_regularisation_of_a_tagger(tmp_path):
    source, out = tmp_path / "train.txt", tmp_path / "run"
    source.write_text("Kim NN PER\nleft VB O\n\nRome NN LOC\nfell VB O\n\n" * 3)
    command("train-crf", source, "--out", out, "--quiet")
    assert verify_run(out)
    for alter in (
        in_report("arguments", "c2", value=0.5), in_report("settings", "ridge", value=7.0),
        altered("model.cflm", gap), in_report("settings", "lasso", value=1.0),
        in_table("weights.csv", "weight", lambda cell: cell + 1.0),
        in_table("weights.csv", "label", lambda cell: "LOC"),
        in_table("weights.csv", "after", lambda cell: "O" if cell != "O" else "PER"),
    ):  # fmt: skip
        run = Path(shutil.copytree(out, tmp_path / "copy", dirs_exist_ok=True))
        alter(run)
        with pytest.raises(FalseResult):
            verify_run(run)


TRAIN = "Kim NN B-PER\nleft VB O\n\nRome NN B-LOC\nfell VB O\n\nKim NN B-PER\nfell VB O\n\n" * 3
TEST = "Rome NN B-LOC\nleft VB O\n\nBob NN B-PER\nfell VB X\n\nKim NN B-PER\n"


@pytest.fixture(scope="module")
def tagger(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tagger")
    (folder / "train.txt").write_text(TRAIN)
    (folder / "test.txt").write_text(TEST)
    (folder / "words.tpl").write_text("U:%x[0,0]\n")
    (folder / "again").mkdir()
    (folder / "again" / "test.txt").write_text(TRAIN)
    tests = ("--test", folder / "test.txt", "--test", folder / "again" / "test.txt")
    command("train-crf", folder / "train.txt", *tests, "--out", folder / "run", "--quiet")
    assert any("tagged again" in line for line in verify_run(folder / "run")[0].checked)
    return folder


def predicted(name: str, old: str, new: str) -> Callable[[Path], Any]:
    def alter(run: Path) -> None:
        text = (run / name).read_text()
        assert old in text
        (run / name).write_text(text.replace(old, new, 1))

    return alter


def trained_otherwise(*options: object) -> Callable[[Path], Any]:
    """Another run, which says that it was made without these options."""

    def alter(run: Path) -> None:
        folder = run.parent
        given = [folder / name if isinstance(name, str) and name.endswith(".tpl") else name for name in options]
        asked = json.loads((run / "report.json").read_text())["arguments"]
        tests = [part for name in asked["test"] for part in ("--test", name)]
        command("train-crf", folder / "train.txt", *tests, *given, "--out", run, "--quiet")
        assert verify_run(run)
        report = json.loads((run / "report.json").read_text())
        report["arguments"] = asked
        (run / "report.json").write_text(json.dumps(report))

    return alter


def fewer_features(header, arrays):
    """Weights of two thirds of the state features are left out."""
    ptr, n = arrays["ptr"], arrays["ptr"][-1]
    keep = np.arange(n) % 3 > 0
    arrays["ptr"] = np.concatenate([[0], np.cumsum(keep)])[ptr].astype(ptr.dtype)
    arrays["label"] = arrays["label"][keep]
    arrays["w"] = np.concatenate([arrays["w"][:n][keep], arrays["w"][n:]])


FALSE_TAGGERS = {
    "fewer features": altered("model.cflm", fewer_features),
    "all states": trained_otherwise("--all-states"),
    "all transitions": trained_otherwise("--all-transitions"),
    "flag of the report": in_report("arguments", "all_transitions", value=True),
    "flag of the model": altered(
        "model.cflm", lambda header, arrays: header["parameters"].update(all_possible_states=True)
    ),
    "template": trained_otherwise("--template", "words.tpl"),
    "attribute of a transition": filled("weights.csv", "attribute", "x"),
    "label of a transition": filled("weights.csv", "label", "O"),
    "before of a state": filled("weights.csv", "before", "O"),
    "after of a state": filled("weights.csv", "after", "O"),
    "reason of the model": altered("model.cflm", lambda header, arrays: header.update(reason="convergedx")),
    "scores": in_report("scores", 0, "f1", value=0.99),
    "no tests, though they have scores": in_report("arguments", "test", value=[]),
    "scores without tests": all_of(
        in_report("arguments", "test", value=[]),
        without_files("evaluation.csv", "test.txt.predicted", "test.txt.2.predicted"),
    ),
    "evaluation.csv": in_table("evaluation.csv", "recall", lambda cell: 0.99),
    "kind of entity": in_table("evaluation.csv", "kind", lambda cell: "ORG"),
    "labels that were not seen": in_report("labels_unseen_in_training", value={"test.txt": ["Y"]}),
    "predicted": predicted("test.txt.predicted", "left VB O O", "left VB O B-PER"),
    "predicted, second file": predicted("test.txt.2.predicted", "left VB O O", "left VB O B-PER"),
    "true label": predicted("test.txt.predicted", "Bob NN B-PER", "Bob NN B-LOC"),
    "unknown label": predicted("test.txt.predicted", "left VB O O", "left VB O Z"),
}


@pytest.mark.parametrize("name", FALSE_TAGGERS)
def test_a_false_tagger_is_refused(name, tagger):
    run = Path(shutil.copytree(tagger / "run", tagger / "copy", dirs_exist_ok=True))
    FALSE_TAGGERS[name](run)
    with pytest.raises(FalseResult):
        verify_run(run)


def test_a_tagger_with_a_template_is_verified_from_anywhere(tagger, tmp_path, monkeypatch):
    monkeypatch.chdir(tagger)
    command("train-crf", "train.txt", "--template", "words.tpl", "--out", "own", "--quiet")
    report = json.loads((tagger / "own" / "report.json").read_text())
    assert report["input_path"] == [str(tagger / "train.txt")]
    monkeypatch.chdir(tmp_path)
    assert not verify_run(tagger / "own")[0].notes
    altered("model.cflm", lambda header, arrays: header.update(template=header["template"] + "U1:%x[0,0]\n"))(
        tagger / "own"
    )
    with pytest.raises(FalseResult, match="template"):
        verify_run(tagger / "own")
    command("train-crf", tagger / "train.txt", "--template", tagger / "words.tpl", "--out", tagger / "own", "--quiet")
    (tagger / "words.tpl").rename(tagger / "gone.tpl")
    assert "words.tpl" in verify_run(tagger / "own")[0].notes[0]
    (tagger / "gone.tpl").rename(tagger / "words.tpl")


def test_a_path_over_one_C_is_a_path(runs):
    rows = pd.read_csv(runs("one C") / "path.csv")
    assert rows["C"].tolist() == [10.0]


def test_a_path_that_was_stopped_is_verified(source, tmp_path, monkeypatch):
    """Models of which nothing is proved yet have no gap, in the report and in the table."""

    def stop(progress: Progress, stats: object) -> bool:
        progress.reason = TerminationReason.TIME_LIMIT
        return False

    monkeypatch.setattr(Progress, "report", stop)
    out = tmp_path / "run"
    first, *options = RUNS["path"]
    command(first, source, *options, "--out", out, "--quiet")
    report = json.loads((out / "report.json").read_text())
    assert report["fits"][0]["reason"] == "time limit" and verify_run(out)
    assert any(row["gap"] is None or row["gap"] > 1e-3 for row in report["path"])
    in_report("path", 0, "gap", value=1e-9)(out)
    with pytest.raises(FalseResult, match="gap"):
        verify_run(out)


@pytest.mark.parametrize(
    "learner", [("train-logistic",), ("erm", "--loss", "hinge"), ("sentences",), ("embed", "--network", "none")]
)
def test_classes_that_differ_by_a_zero_at_the_end_stay_apart(tmp_path, learner):
    """numpy's strings would lose it."""
    rows = [("a b", "y"), ("c d", "y\0"), ("a e", "y"), ("d f", "y\0")] * 6
    pd.DataFrame(rows, columns=["text", "y"]).to_parquet(tmp_path / "texts.parquet")
    given = (str(tmp_path / "texts.parquet"), "--label-column=y", f"--out={tmp_path / 'out'}", "--quiet")
    assert cli.main([*learner, *given]) == 0
    assert verify_run(tmp_path / "out")
    table = tmp_path / "out" / "documents.csv"
    if table.exists() and learner[0] != "embed":
        frame = pd.read_csv(table)
        assert (frame["predicted"] == frame["label"]).all() and set(frame["label"]) == {"y", "y\0"}
