"""What ``cflengine evaluate`` leaves in its output folder (see its help)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any

import pandas as pd

from cflengine.engine.files import frame_csv, write_report
from cflengine.engine.memory import peak_bytes
from cflengine.engine.results import versions
from cflengine.experiments.evaluation import Evaluation
from cflengine.experiments.findings import Finding, final_model
from cflengine.linear.export import about_corpus
from cflengine.linear.persistence import save_model

_TELLING = 20


def by_target(findings: Sequence[Finding], name: str) -> pd.DataFrame:
    """A table of every finding, one under the other, with the target in front."""
    frames = []
    for finding in findings:
        frame = getattr(finding, name)
        frame = (frame() if callable(frame) else frame).copy()
        frame.insert(0, "target", finding.task.target.column)
        frames.append(frame)
    full = [frame for frame in frames if len(frame)] or frames[:1]
    return pd.concat(full, ignore_index=True) if full else pd.DataFrame({"target": []})


def flat_table(findings: Sequence[Finding]) -> pd.DataFrame:
    """methods.csv: intervals and the test against unigrams in columns of their own.

    Parameters
    ----------
    findings : sequence of Finding
        One a target.

    Returns
    -------
    pandas.DataFrame
        A row a target and method.
    """
    frame = by_target(findings, "table")
    for name in [str(name) for name in frame if str(name).endswith("_interval")]:
        pairs = frame.pop(name)
        for k, side in enumerate(("low", "high")):
            frame[f"{name.removesuffix('_interval')}_{side}"] = [_at(pair, k) for pair in pairs]
    for against in [str(name) for name in frame if str(name).startswith("against_")]:
        tests = [test if isinstance(test, dict) else {} for test in frame.pop(against)]
        frame[f"gain_{against}"] = [test.get("gain", float("nan")) for test in tests]
        for k, side in enumerate(("low", "high")):
            frame[f"gain_{against}_{side}"] = [_at(test.get("gain_interval"), k) for test in tests]
        frame[f"p_{against}"] = [test.get("p", float("nan")) for test in tests]
    if "by_split" in frame:
        frame["by_split"] = [_readable(splits) if isinstance(splits, list) else "" for splits in frame["by_split"]]
    return frame.drop(columns="chosen", errors="ignore")


def _readable(splits: list[dict[str, float]]) -> str:
    """What each split chose: lam=0.1; lam=0.3 temperature=3; "" where there was no choice."""
    return (
        "; ".join(" ".join(f"{key}={value:g}" for key, value in one.items()) for one in splits) if any(splits) else ""
    )


def _at(pair: Any, k: int) -> float:
    return pair[k] if isinstance(pair, list) else float("nan")


def evaluation_report(
    evaluation: Evaluation, findings: Sequence[Finding], corpus: Any, command: dict[str, Any], seconds: float
) -> dict[str, Any]:
    """What report.json says: an entry a target, in which there is one a method.

    Parameters
    ----------
    evaluation : Evaluation
        The comparison.
    findings : sequence of Finding
        One a target.
    corpus : Corpus
        What was read.
    command : dict
        The command's arguments.
    seconds : float
        Of the whole run.

    Returns
    -------
    dict
        Plain values.
    """
    own = evaluation.settings
    return {
        "targets": {finding.task.target.column: _told(finding) for finding in findings},
        "path": evaluation.path.frame().to_dict("records"),
        "path_seconds": evaluation.path.seconds,
        "path_read": evaluation.path.read,
        "feature_seconds": evaluation.features.seconds if evaluation.features else {},
        "saved_seconds": evaluation.saved_seconds(),
        "notes": evaluation.notes,
        "weighting": own.weighting,
        "max_gram": own.max_gram,
        "seconds": seconds,
        "peak_memory_bytes": peak_bytes(),
        "corpus": corpus.report.to_dict(),
        "versions": versions(),
    } | command


def _told(finding: Finding) -> dict[str, Any]:
    task = finding.task
    return task.target.summary() | {
        "split": task.how,
        "learner": task.learner,
        "measure": task.measure,
        "n_judged": len(task.truth),
        "baseline": finding.baseline,
        "recommended": finding.recommended,
        "methods": finding.methods,
        "dictionary_of_training_texts": finding.unseen,
        "learners": finding.learners,
        "telling": finding.telling.head(_TELLING).to_dict("records"),
        "learning_curve": finding.curve.to_dict("records"),
        "notes": list(finding.notes),
    }


def model_names(columns: Sequence[str]) -> list[str]:
    """The name of each target's model file, of any column's name; names that would be the same get a number."""
    taken: set[str] = set()
    names = []
    for column in columns:
        plain = re.sub(r"[^\w-]+", "_", column)[:50] or "_"
        tried = chain([plain], (f"{plain}-{k}" for k in count(2)))
        name = next(one for one in tried if one.lower() not in taken)  # some systems do not tell capitals apart
        taken.add(name.lower())
        names.append(f"model-{name}.cflm")
    return names


def write_evaluation(
    folder: Path, evaluation: Evaluation, findings: Sequence[Finding], corpus: Any, report: dict[str, Any]
) -> None:
    """Everything that ``cflengine evaluate`` leaves in its output folder (see its help); report.json last.

    Parameters
    ----------
    folder : Path
        Where to; it is there.
    evaluation : Evaluation
        The comparison.
    findings : sequence of Finding
        One a target.
    corpus : Corpus
        What was read.
    report : dict
        As :func:`evaluation_report` gives it.
    """
    predictions = by_target(findings, "predictions")
    if len(predictions):
        predictions.insert(2, "row", corpus.rows[predictions["document"].to_numpy(dtype=int)])
    tables = {
        "methods": flat_table(findings),
        "path": evaluation.frame(),
        "predictions": predictions,
        "telling": by_target(findings, "telling"),
        "learning_curve": by_target(findings, "curve"),
    }
    for name, frame in tables.items():
        (folder / f"{name}.csv").write_bytes(frame_csv(frame))
    names = model_names([finding.task.target.column for finding in findings])
    for finding, name in zip(findings, names, strict=True):
        if finding.recommended and finding.task.linear and not evaluation.budget.poll():
            evaluation.notes.append(f"stopped before {name} was learnt")
            continue
        try:
            model = final_model(evaluation, finding)
        except MemoryError:
            evaluation.notes.append(f"there is too little memory for {name}")
            continue
        if model is not None:
            save_model(model, folder / name, about=about_corpus(corpus, finding.task.target.column))
            report["targets"][finding.task.target.column]["model"] = name
    write_report(folder, report)
