"""Which files a run lists in its report: those that it writes, no more and no less, as what it was asked for has it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cflengine.engine.output import files_of_run
from cflengine.engine.words import numbered
from cflengine.text.tagging.tags import PREDICTED, tagged_name
from cflengine.verify.findings import MODEL, PROOF, require

_ALWAYS = {
    "compress": {
        "documents.csv", "features.csv", "features.npz", "feature_names.txt", "dictionary.csv", "pointers.parquet",
        "trace.csv", MODEL, PROOF,
    },
    "path": {"path.csv", "documents.csv"},
    "sentences": {"documents.csv", "grid.csv", "models.csv", "sentences.csv", "weights.csv", PROOF},
    "train-logistic": {"documents.csv", "trace.csv", "weights.csv", MODEL, PROOF},
    "train-crf": {"trace.csv", "weights.csv", MODEL, PROOF},
    "erm": {"documents.csv", "trace.csv", "weights.csv", MODEL, PROOF},
    "embed": {"null.csv", "pairwise.csv", "statistic.json", "vectors.npz", "vectors.txt", "witness.csv"},
    "tokenizer": {"pieces.csv", "tokenizer.json", "trace.csv", PROOF},
    "tokenizer-report": {"lacking.csv", "pieces.csv", "trace.csv", PROOF},
}  # fmt: skip
_OLDER = {"trace.csv", MODEL, PROOF}  # which runs of older versions lack; without a proof nothing is proved
_OF_LAM = {"features.npz", "feature_names.txt", "dictionary.csv", "pointers.parquet", MODEL, PROOF}


def check_files(folder: Path, command: str, report: Mapping[str, Any], *, n_left_out: int) -> None:
    """FalseResult where a run lists a file that it does not write, or lacks one that it does. n_left_out: records of
    the input that are no documents."""
    arguments, listed = report["arguments"], set(files_of_run(folder))
    expected = _ALWAYS[command] | {"report.json"}
    if command == "path":
        expected |= {f"{point['folder']}/{name}" for point in report["points"] for name in _OF_LAM}
    if command == "sentences":
        expected |= {f"{model['penalty']}.cflm" for model in report["models"]}
    if command == "train-crf" and arguments.get("test"):
        tested = numbered(map(tagged_name, arguments["test"]), PREDICTED)
        expected |= {"evaluation.csv", *(f"{name}.predicted" for name in tested)}
    if command == "erm" and report["path"]:
        expected |= {"path.csv"}
    if command == "embed" and "training" in report:
        expected |= {"predictions.csv", "trace.csv", MODEL}
    if command == "tokenizer" and arguments["unit"] == "character":
        expected |= {"vocab.txt"}
    if n_left_out:
        expected |= {"left_out.csv"}
    for name in sorted((listed - expected) | (expected - listed - _OLDER)):
        said = "lists" if name in listed else "does not list"
        writes = "does not write" if name in listed else "writes"
        require(False, f"the report {said} {name}, which such a run {writes}.")
