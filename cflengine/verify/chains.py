"""Runs of ``cflengine train-crf`` checked from their files and the input.

The training data are made again: attributes by the template that was asked for, and the features that these sentences
have. Objective and bound are those of the certificate, plain numpy, at the weights of the model. The labels that it
predicts of the test files' tokens are held against the likeliest sequences, and scores are counted again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cflengine.engine.gaps import relative_gap
from cflengine.engine.words import numbered
from cflengine.linear.saving import read_model
from cflengine.loglinear.model.certificate import certify_chain
from cflengine.loglinear.model.problem import ChainData, ChainFeatures, chain_features
from cflengine.text.corpus import whole_characters
from cflengine.text.tagging.attributes import AttributeTable
from cflengine.text.tagging.conll import read_columns
from cflengine.text.tagging.tags import PREDICTED, convert, evaluate, score_frame, tagged_name
from cflengine.text.tagging.templates import attribute_maker, usual_template
from cflengine.verify.answers import cell_of, check_column
from cflengine.verify.findings import (
    MODEL,
    Finding,
    check_reasons,
    check_table,
    check_trace,
    close,
    read_proof,
    require,
    require_gap_of,
    require_same,
    rows_of,
    with_progress,
)
from cflengine.verify.learners import compare_fit, worst

_Sentences = list[list[tuple[str, ...]]]


def verify_chain(folder: Path, report: dict[str, Any], sentences: _Sentences) -> Finding:
    """Check a run of ``cflengine train-crf``; sentences: columns of each token of the training file. Raises
    FalseResult."""
    arguments, proof = report["arguments"], read_proof(folder)
    header, arrays = read_model(folder / MODEL, "chain")
    notes = _check_template(report, header, len(sentences[0][0]) - 1)
    data, features = _problem(arguments, header, sentences)
    w = arrays["w"]
    _check_sizes(report, header, data, len(w))
    own = (features.ptr, features.label, features.before, features.after)
    same = all(np.array_equal(arrays[name], part) for name, part in zip(_PARTS, own, strict=True))
    first, last, before, after = (arrays[name] for name in _PARTS)
    stored = ChainFeatures(first, last, before, after, len(header["classes"]))
    require(stored.takes(w, len(header["attributes"])), f"the parts of {MODEL} do not fit together.")
    require(same, f"the features of {MODEL} are not those that the training sentences have.")
    ridge, lasso = 2.0 * float(header["c2"]), float(header["c1"])
    require_same(report["settings"]["ridge"], ridge, "a weight of the ridge of")
    require_same(report["settings"]["lasso"], lasso, "a weight of the lasso of")
    certify = partial(certify_chain, data, features, ridge=ridge, lasso=lasso)
    found = compare_fit(report, certify, w, proof.get("proof_w_0"))
    require_gap_of(header["gap"], relative_gap(*found), "model.cflm says")
    check_reasons(header, MODEL)
    check_trace(folder / "trace.csv", [found])
    _check_weights(folder / "weights.csv", header, features, w)
    checked = [f"{len(sentences):,} training sentences, {len(data.label):,} tokens, {len(w):,} weights; weights.csv"]
    if arguments.get("test"):
        checked.append(_check_predictions(folder, report, header, features, w))
        notes += ("the test files: their tokens and labels are taken as NAME.predicted has them",)
    else:
        none = not report["scores"] and not report["labels_unseen_in_training"]
        require(none, "the report has scores without test files.")
    return worst("conditional random field", [found], tuple(checked), notes)


_PARTS = ("ptr", "label", "before", "after")


def _check_template(report: dict[str, Any], header: dict[str, Any], n_columns: int) -> tuple[str, ...]:
    """The model's template is the one that was asked for, or the usual one. Returns what could not be checked."""
    stated, path = report["arguments"].get("template"), report.get("template_path")
    expected = usual_template(n_columns)
    if stated is not None:
        place = next((Path(name) for name in (stated, path) if name and Path(name).is_file()), None)
        if place is None:
            return (f"the template: the file {stated!r} is not there, so it is taken as the model has it",)
        expected = place.read_bytes().decode("utf-8-sig")
    require(header["template"] == expected, f"the template of {MODEL} is not the one that was asked for.")
    return ()


def _problem(
    arguments: dict[str, Any], header: dict[str, Any], sentences: _Sentences
) -> tuple[ChainData, ChainFeatures]:
    """The training sentences as the model numbers attributes and labels, and the features that they have."""
    attributes_of, transitions = attribute_maker(header["template"])
    table = AttributeTable()
    X, ptr = table.matrix((attributes_of([cells[:-1] for cells in one]) for one in sentences), learn=True)
    require(table.names == header["attributes"], f"the attributes of {MODEL} are not those of the training sentences.")
    tags = [[cells[-1] for cells in sentence] for sentence in sentences]
    if arguments.get("scheme"):
        tags = [convert(one, arguments["scheme"]) for one in tags]
    classes = sorted({tag for one in tags for tag in one})
    require(header["classes"] == classes, f"the labels of {MODEL} are not those of the training file.")
    number = {label: c for c, label in enumerate(classes)}
    data = ChainData(X, ptr, np.array([number[tag] for one in tags for tag in one], dtype=np.int32))
    given, flags = header.get("parameters", {}), []
    for name, flag in (("all_possible_states", "all_states"), ("all_possible_transitions", "all_transitions")):
        flags.append(bool(arguments[flag]))
        require(given.get(name, flags[-1]) == flags[-1], f"{MODEL} says that {name} is {given.get(name)!r}.")
    features = chain_features(
        data, len(classes), all_states=flags[0], all_transitions=flags[1], transitions=transitions
    )
    return data, features


def _check_sizes(report: dict[str, Any], header: dict[str, Any], data: ChainData, n_weights: int) -> None:
    for name, n in (
        ("n_tokens", len(data.label)), ("n_sentences", len(data.ptr) - 1), ("n_attributes", data.X.shape[1]),
        ("n_weights", n_weights),
    ):  # fmt: skip
        require_same(report.get(name), n, f"{name} is")
    require(report.get("labels") == header["classes"], "the labels of the report are not those of the model.")
    for name in ("c1", "c2"):
        require_same(report["arguments"][name], float(header[name]), f"{name} of the model is")


def _check_weights(path: Path, header: dict[str, Any], features: ChainFeatures, w: np.ndarray) -> None:
    """weights.csv lists state features, then transitions, as the model orders them."""
    rows, classes, n = rows_of(path), [cell_of(name) for name in header["classes"]], features.n_states
    require(len(rows) == len(w), f"weights.csv has {len(rows):,} rows, but the model has {len(w):,} weights.")
    attribute = np.repeat(np.arange(len(features.ptr) - 1), np.diff(features.ptr))
    names = [cell_of(header["attributes"][a]) for a in attribute.tolist()]
    states, transitions, labels = rows[:n], rows[n:], [classes[c] for c in features.label.tolist()]
    before, after = ([classes[c] for c in part.tolist()] for part in (features.before, features.after))
    for part, column, cells in (
        (states, "attribute", names), (states, "label", labels), (states, "before", [""] * n),
        (states, "after", [""] * n), (transitions, "before", before), (transitions, "after", after),
        (transitions, "attribute", [""] * len(before)), (transitions, "label", [""] * len(before)),
    ):  # fmt: skip
        check_column(part, column, cells, "weights.csv")
    for i, (row, weight) in enumerate(zip(rows, w.tolist(), strict=True)):
        require(float(row["weight"]) == weight, f"weights.csv says in row {i + 1} another weight than {weight!r}.")


# ---- what was tagged


def _check_predictions(
    folder: Path, report: dict[str, Any], header: dict[str, Any], features: ChainFeatures, w: np.ndarray
) -> str:
    """Labels predicted for the tokens of NAME.predicted are of the model's likeliest sequences; evaluation.csv and the
    report have their scores. Returns what was checked."""
    stated = [tagged_name(name) for name in report["arguments"]["test"]]
    scores: list[dict[str, Any]] = []
    unseen, n_tokens = {}, 0
    for own, name in zip(stated, numbered(stated, PREDICTED), strict=True):
        tagged = read_columns(folder / f"{name}.predicted", encoding="utf-8")
        truth, guesses = ([[cells[k] for cells in one] for one in tagged] for k in (-2, -1))
        _check_likeliest(f"{name}.predicted", header, features, w, ([c[:-2] for c in one] for one in tagged), guesses)
        frame = score_frame(evaluate(truth, guesses))
        scores += [{"file": whole_characters(name)[0], **row} for row in frame.to_dict("records")]
        unseen[own] = sorted({tag for one in truth for tag in one} - set(header["classes"]))
        n_tokens += sum(map(len, guesses))
    _check_scores(folder / "evaluation.csv", report["scores"], scores)
    require(report["labels_unseen_in_training"] == unseen, "the report says other labels that training had not.")
    return f"evaluation.csv; {n_tokens:,} tokens tagged again"


def _check_likeliest(
    name: str, header: dict[str, Any], features: ChainFeatures, w: np.ndarray, rows: Any, guesses: list[list[str]]
) -> None:
    """Every sequence of labels scores as much as any other of its sentence; of equal ones it may be any."""
    attributes_of, _ = attribute_maker(header["template"])
    X, ptr = AttributeTable(header["attributes"]).matrix(attributes_of(sentence) for sentence in rows)
    states, transition = features.matrices(w)
    emission = np.asarray((X @ states).todense())
    number = {label: c for c, label in enumerate(header["classes"])}
    allowed = 1e-9 * max(1.0, float(np.abs(w).max(initial=0.0)))
    for s, guess in enumerate(with_progress(guesses, f"tagging {name} again", "sentences")):
        known = all(tag in number for tag in guess)
        require(known, f"{name} has a label in sentence {s} that the model does not know.")
        own, label = emission[ptr[s] : ptr[s + 1]], [number[tag] for tag in guess]
        best = own[0]
        for row in own[1:]:
            best = (best[:, None] + transition).max(axis=0) + row
        score = own[np.arange(len(label)), label].sum() + transition[label[:-1], label[1:]].sum()
        likely = score >= best.max() - allowed * len(label)
        require(bool(likely), f"{name} has in sentence {s} other labels than the model's likeliest.")


def _check_scores(path: Path, said: Sequence[dict[str, Any]], scores: list[dict[str, Any]]) -> None:
    """Of evaluation.csv and of the report."""
    numbers = tuple(name for name in scores[0] if name not in ("file", "kind"))
    for name in ("file", "kind"):
        check_column(rows_of(path), name, [cell_of(row[name]) for row in scores], path.name)
    check_table(path, scores, numbers)
    require(len(said) == len(scores), "the report's scores are not those of what was tagged.")
    for own, row in zip(scores, said, strict=True):
        same = own.keys() == row.keys() and all(row[name] == own[name] for name in ("file", "kind"))
        same = same and all(close(float(row[name]), float(own[name])) for name in numbers)
        require(same, "the report's scores are not those of what was tagged.")
