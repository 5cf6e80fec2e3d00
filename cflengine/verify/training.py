"""The network of a run of ``cflengine embed``: settings, predictions and losses made again, wMMD² of its vectors."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import log_softmax

from cflengine.embedding.laws import WordLaws
from cflengine.embedding.problem import EPOCH_FEATURES, EPOCH_WORDS
from cflengine.embedding.settings import DEFAULT_LAMS
from cflengine.engine.progress import TerminationReason
from cflengine.linear.labels import Labels, split_documents
from cflengine.linear.saving import read_model, under
from cflengine.text.token_table import plain_tokens
from cflengine.verify.answers import cell_of, check_column, check_places, parts_of
from cflengine.verify.findings import MODEL, close, require, require_same, rows_of
from cflengine.verify.models import about_run, check_about
from cflengine.verify.networks import network_scores, words_of
from cflengine.verify.permutations import same_number
from cflengine.verify.word_products import median_discrepancy

_FLOAT32 = 1e-4  # by which probabilities that were computed in it may differ
_FILE = "predictions.csv"
#: setting -> the option that asked for it
_OPTIONS = {
    "hidden": "hidden", "max_length": "max_length", "epochs": "epochs", "batch_size": "batch_size",
    "learning_rate": "learning_rate", "max_gradient": "max_gradient", "patience": "patience", "random_state": "seed",
}  # fmt: skip


def check_training(
    folder: Path, report: dict[str, Any], corpus: Any, labels: Labels, vectors: tuple[list[str], np.ndarray]
) -> tuple[list[str], list[str]]:
    """All that the report says of its network. vectors: its words and M. Raises FalseResult; returns what was checked,
    and what was not."""
    said, arguments = report["training"], report["arguments"]
    header, arrays = read_model(folder / MODEL, "embedding")
    parameters, words, (kept, M) = header["parameters"], header["words"], vectors
    _check_settings(parameters, report, M.shape[1])
    require(header["reason"] == said["reason"], f"{MODEL} says that training ended by {header['reason']!r}.")
    require_same(said["n_words"], len(words), "the words of the network are")
    same = kept in (words, [word.replace("\n", "␊") for word in words]) and np.array_equal(M, arrays["vectors"])
    require(same, f"vectors.npz has other vectors than {MODEL}.")
    split = split_documents(
        labels, corpus.metadata, dev=arguments["dev_split"], test=arguments["test_split"],
        random_state=arguments["seed"],
    )  # fmt: skip
    documents, part = parts_of(split)
    about = about_run(report) | {"n_documents": int((part == "train").sum())}
    check_about(folder / MODEL, header, about)
    texts = [corpus.texts[d] for d in documents.tolist()]
    table = plain_tokens(texts, parameters["token_pattern"], lowercase=parameters["lowercase"])
    shown = words_of(table, words, parameters["max_length"])
    scores = network_scores(parameters["network"], under(arrays, "net"), M, shown)
    rows = rows_of(folder / _FILE)
    check_places(rows, documents, corpus.rows[documents], part, _FILE)
    names = labels.of(documents).tolist()
    check_column(rows, "label", [cell_of(str(name)) for name in names], _FILE)
    wrong = _check_predictions(rows, said, labels, part, (scores, header["classes"]))
    require(wrong is None, f"{_FILE} is wrong about document {documents[wrong or 0]}.")
    trace, best = _trace(folder / "trace.csv", said, has_dev=bool((part == "dev").any()))
    y = np.array([header["classes"].index(name) for name in names])
    _check_losses(said, trace, best, (scores, part, y))
    checked = [f"{len(rows):,} predictions, of the network in {MODEL}, against the labels", "its cross entropy"]
    notes = ["the network's way from where it began to its weights"]
    learnt, begun = np.flatnonzero(part == "train"), _begun(folder, M)
    if parameters["stop_words"] is not None:
        return checked, [*notes, "wMMD² before and after training, from which stop words are left out"]
    _check_discrepancies(said, [shown[d] for d in learnt.tolist()], y[learnt], (begun, M))
    return [*checked, "wMMD² before and after training"], notes


def _check_settings(parameters: dict[str, Any], report: dict[str, Any], dimension: int) -> None:
    """Those of the model are those of the report, and those that were asked for."""
    said, arguments = report["training"], report["arguments"]
    settings = said["settings"]
    usual = DEFAULT_LAMS.get(parameters["regulariser"])
    own = parameters | {"lam": usual if parameters["lam"] is None else parameters["lam"]}
    for name, stated in settings.items():
        if name in own and name != "time_limit":
            require(own[name] == stated, f"{MODEL} says that {name} is {own[name]!r}, the report {stated!r}.")
    asked = {name: arguments[option] for name, option in _OPTIONS.items()}
    asked |= {"regulariser": arguments["regulariser"], "dimension": dimension}
    if arguments["lam"] is not None:
        asked["lam"] = arguments["lam"]
    if arguments["network"] != "auto":
        asked["network"] = arguments["network"]
    for name, value in asked.items():
        require(settings[name] == value, f"the report says that {name} is {settings[name]!r}, not {value!r}.")
    require(said["network"] == settings["network"], "the report names two networks.")
    compared = arguments["initial"] == "compared"
    texts = {
        "min_count": arguments["min_count"] or 2, "stop_words": arguments["stop_words"], "groups": arguments["group"],
        "lowercase": not arguments["keep_case"], "initial": "random" if compared else arguments["initial"],
    }  # fmt: skip
    if arguments["token_pattern"] is not None:
        texts["token_pattern"] = arguments["token_pattern"]
    if arguments["dimension"] is not None and not compared:
        texts["dimension"] = arguments["dimension"]
    for name, value in texts.items():
        require(parameters[name] == value, f"{MODEL} says that {name} is {parameters[name]!r}, not {value!r}.")


def _check_predictions(
    rows: list[dict[str, str]],
    said: dict[str, Any],
    labels: Labels,
    part: np.ndarray,
    found: tuple[np.ndarray, list[str]],
) -> int | None:
    """Which prediction is not the network's, None where all are; found: its scores, and the classes they are of. The
    share of right ones of each part is the report's, else FalseResult."""
    names = {cell_of(name): name for name in labels.classes}
    require({row["predicted"] for row in rows} <= names.keys(), f"{_FILE} predicts a class that the labels have not.")
    right = np.array([row["predicted"] == row["label"] for row in rows])
    require(said["accuracy"].keys() == set(part), "the report says the accuracy of other parts than there are.")
    for name, share in said["accuracy"].items():
        require_same(share, float(np.mean(right[part == name])), f"the share of right ones of the {name} part is")
    probability = np.exp(log_softmax(found[0], axis=1))
    own = probability[np.arange(len(rows)), [found[1].index(names[row["predicted"]]) for row in rows]]
    near = np.abs(own - np.array([float(row["probability"]) for row in rows])) <= _FLOAT32
    near &= own >= probability.max(axis=1) - _FLOAT32
    return None if near.all() else int(np.argmin(near))


def _trace(path: Path, said: dict[str, Any], *, has_dev: bool) -> tuple[pd.DataFrame, int]:
    """Its rows, and the epoch that is kept, both as the report says."""
    trace, settings = pd.read_csv(path).set_index("iteration"), said["settings"]
    epochs, reason = said["epochs"], said["reason"]
    require(
        trace.index.tolist() == list(range(epochs + 1)), f"{path.name} has not a row for each of {epochs!r} epochs."
    )
    require(1 <= epochs <= settings["epochs"], f"the report says {epochs!r} epochs of {settings['epochs']!r}.")
    whole, best, better = trace.drop(index=0), epochs, epochs
    if has_dev and "dev_loss" in trace:
        of_most = whole[whole["dev_accuracy"] == whole["dev_accuracy"].max()]
        best, better = int(of_most["dev_loss"].idxmin()), int(of_most.index[0])
    if not has_dev or "dev_loss" in trace:
        require(said["best_epoch"] == best, f"the report keeps epoch {said['best_epoch']!r}, but the best is {best}.")
    possible = {
        TerminationReason.ITERATION_LIMIT: epochs == settings["epochs"],
        TerminationReason.CONVERGED: has_dev and ("dev_loss" not in trace or epochs - better == settings["patience"]),
    }
    known = reason in set(map(str, TerminationReason))
    require(known and possible.get(reason, True), f"the report says that training ended by {reason!r}.")
    return trace, int(said["best_epoch"])


def _check_losses(
    said: dict[str, Any], trace: pd.DataFrame, best: int, found: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> None:
    """Cross entropies; found: scores of all documents, the part that each is of, its class."""
    scores, part, y = found
    entropy = -log_softmax(scores, axis=1)[np.arange(len(y)), y]
    near = _FLOAT32 + 1e-5 * float(np.abs(scores).max())
    own, stated = float(entropy[part == "train"].mean()), said["cross_entropy"]
    good = isinstance(stated, int | float) and abs(stated - own) <= near
    require(good, f"the report says a cross entropy of {stated!r}, but it is {own!r}.")
    for name, epoch in (("wmmd_before", 0), ("wmmd_after", best)):
        same_number(said[name], float(trace.loc[epoch, "wmmd"]), 0.0, f"{name}, unlike trace.csv,")
    if "wmmd_error" in said:
        errors = [float(trace.loc[epoch, "wmmd_error"]) for epoch in (0, best)]
        same_number(said["wmmd_error"], max(errors), 0.0, "wmmd_error, unlike trace.csv,")
    if "dev" in said["accuracy"] and "dev_loss" in trace:
        row = trace.loc[best]
        same = close(float(row["dev_accuracy"]), said["accuracy"]["dev"])
        same = same and abs(float(row["dev_loss"]) - float(entropy[part == "dev"].mean())) <= near
        require(same, "trace.csv says other things about the dev part than the network that was kept.")


def _begun(folder: Path, M: np.ndarray) -> np.ndarray:
    """The vectors as they began; M: as they are."""
    with np.load(folder / "vectors.npz", allow_pickle=False) as arrays:
        begun = np.asarray(arrays["initial_vectors"], dtype=np.float64)
    require(begun.shape == M.shape and bool(np.isfinite(begun).all()), "initial_vectors are not those of the words.")
    return begun


def _check_discrepancies(
    said: dict[str, Any], shown: list[np.ndarray], y: np.ndarray, vectors: tuple[np.ndarray, np.ndarray]
) -> None:
    """wMMD² of the documents learnt from, by the vectors as they began and as they are. shown: the words of each."""
    M = vectors[1]
    lengths = np.array([len(one) for one in shown])
    rows = (np.ones(int(lengths.sum())), (np.repeat(np.arange(len(shown)), lengths), np.concatenate(shown)))
    counts = sparse.coo_matrix(rows, (len(shown), len(M))).tocsr()
    used = np.flatnonzero(lengths > 0)
    used = used[np.bincount(y[used])[y[used]] >= 2]
    classes, number = np.unique(y[used], return_inverse=True)
    words = np.flatnonzero(np.asarray(counts.sum(axis=0)).ravel() > 0)
    laws = WordLaws.of(counts[used][:, words], number).laws if len(classes) > 1 else None
    for name, own in zip(("wmmd_before", "wmmd_after"), vectors, strict=True):
        ends, value = list[float](), said[name]
        if laws is not None:
            ends = median_discrepancy(laws, number, own[words], EPOCH_WORDS, EPOCH_FEATURES)
        none = value is None or math.isnan(value)
        good = none if not ends or none else ends[0] <= value <= ends[1]
        require(good, f"the report says {name} {value!r}, but it is between {ends[:1]!r} and {ends[1:]!r}.")
