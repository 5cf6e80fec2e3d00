"""Tagged column files in, a trained tagger with its predictions and scores out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from cflengine.engine.checks import InputError
from cflengine.engine.files import frame_csv, write_arrays, write_report
from cflengine.engine.memory import peak_bytes
from cflengine.engine.results import versions
from cflengine.engine.words import many, numbered
from cflengine.loglinear.crf import ChainCRF
from cflengine.text.corpus import CorpusError, whole_characters
from cflengine.text.tagging.conll import Rows, read_columns, write_columns
from cflengine.text.tagging.tags import PREDICTED, convert, evaluate, score_frame, tagged_name


@dataclass(frozen=True)
class TaggedFile:
    """Sentences of a column file.

    Parameters
    ----------
    name : str
        Of the file.
    rows : list[Rows]
        All columns but the last.
    labels : list[list[str]]
        The last column, in another scheme if asked.
    """

    name: str
    rows: list[Rows] = field(repr=False)
    labels: list[list[str]] = field(repr=False)

    @classmethod
    def read(
        cls,
        source: Any,
        *,
        name: str | None = None,
        scheme: str | None = None,
        limit: int | None = None,
        encoding: str | None = None,
        say: Callable[[str], None] = lambda note: None,
    ) -> Any:
        """Read one, as :func:`~cflengine.text.read_columns` does. Raises CorpusError for what is no column file of two
        columns or more."""
        sentences = read_columns(source, name=name, encoding=encoding, say=say)[:limit]
        name = tagged_name(name or source)
        if len(sentences[0][0]) < 2:
            raise CorpusError(f"'{name}' has one column; the label is the last of at least two.")
        labels = [[cells[-1] for cells in sentence] for sentence in sentences]
        if scheme:
            labels = [convert(tags, scheme) for tags in labels]
        return cls(name, [[cells[:-1] for cells in sentence] for sentence in sentences], labels)

    @property
    def n_tokens(self) -> int:
        """Tokens of all sentences."""
        return sum(map(len, self.rows))

    def require_columns(self, train: TaggedFile) -> None:
        """CorpusError unless there are as many columns as in ``train``."""
        own, other = len(self.rows[0][0]) + 1, len(train.rows[0][0]) + 1
        if own != other:
            raise CorpusError(f"'{self.name}' has {own} columns, but '{train.name}' has {other}.")


def tag_columns(model: ChainCRF, sentences: Sequence[Rows]) -> tuple[list[list[tuple[str, ...]]], float | None]:
    """Every token's columns with the predicted label behind them.

    Parameters
    ----------
    model : ChainCRF
        Fitted.
    sentences : sequence of rows
        Columns of each token.

    Returns
    -------
    tuple of list and float or None
        The rows; and which share of the last column is predicted, where that holds labels of the model and no others,
        so that the sentences may be labelled already.

    Raises
    ------
    InputError
        Where the sentences are not what the model was made for: they have other columns than it was learnt from, with
        or without a label, or none of their attributes is one of its.
    """
    _require_columns(model, sentences)
    predicted = model.predict(sentences)
    tagged = [
        [(*cells, label) for cells, label in zip(rows, labels, strict=True)]
        for rows, labels in zip(sentences, predicted, strict=True)
    ]
    last = [cells[-1] for rows in sentences for cells in rows]
    if not set(last) <= set(model.classes_.tolist()):
        return tagged, None
    flat = [label for labels in predicted for label in labels]
    return tagged, sum(a == b for a, b in zip(last, flat, strict=True)) / max(1, len(flat))


def _require_columns(model: ChainCRF, sentences: Sequence[Rows]) -> None:
    widths, learnt = {len(cells) for rows in sentences for cells in rows}, model.n_columns_
    if learnt is not None and not widths <= {learnt, learnt + 1}:
        raise InputError(
            f"the tagger was learnt from {many(learnt, 'column')} and a label, but there are tokens of "
            f"{many(max(widths - {learnt, learnt + 1}), 'column')}."
        )
    if model.template is not None or not widths:
        return
    known = set(model.attributes_)
    if not any(cell in known for rows in sentences for cells in rows for cell in cells):
        raise InputError("the tagger was learnt from attributes, and none of these columns is one of them.")


def write_tagger(folder: Path, model: ChainCRF, tests: Sequence[TaggedFile]) -> pd.DataFrame:
    """The model, its weights and trace, and every test file as it is tagged.

    Parameters
    ----------
    folder : Path
        Where to; it is there.
    model : ChainCRF
        Fitted.
    tests : sequence of TaggedFile
        What it is judged on.

    Returns
    -------
    pandas.DataFrame
        The scores, a row a kind of entity.
    """
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / "model.cflm")
    other = model.result_.proof_w
    write_arrays(folder / "proof.npz", {} if other is None else {"proof_w_0": other})
    weights = pd.concat([model.state_features_, model.transition_features_], ignore_index=True)
    (folder / "weights.csv").write_bytes(frame_csv(weights))
    trace = model.trace_.dropna(axis="columns", how="all") if len(model.trace_) else model.trace_
    (folder / "trace.csv").write_bytes(frame_csv(trace))
    scores = []
    for test, name in zip(tests, numbered((test.name for test in tests), PREDICTED), strict=True):
        predicted = model.predict(test.rows)
        tagged = (
            [(*cells, true, guess) for cells, true, guess in zip(rows, labels, guesses, strict=True)]
            for rows, labels, guesses in zip(test.rows, test.labels, predicted, strict=True)
        )
        with (folder / f"{name}.predicted").open("w", encoding="utf-8") as file:
            file.writelines(write_columns(tagged))
        found = score_frame(evaluate(test.labels, predicted))
        found.insert(0, "file", whole_characters(name)[0])
        scores.append(found)
    frame = pd.concat(scores, ignore_index=True) if scores else pd.DataFrame()
    if len(frame):
        (folder / "evaluation.csv").write_bytes(frame_csv(frame))
    return frame


def tagging_report(
    folder: Path, model: ChainCRF, train: TaggedFile, tests: Sequence[TaggedFile], scores: pd.DataFrame,
    own: dict[str, Any], seconds: float,
) -> dict[str, Any]:  # fmt: skip
    """What report.json says; written to a folder.

    Parameters
    ----------
    folder : Path
        Where to; it is there.
    model : ChainCRF
        Fitted.
    train : TaggedFile
        What it was fitted on.
    tests : sequence of TaggedFile
        What it was judged on.
    scores : pandas.DataFrame
        As :func:`write_tagger` gives them.
    own : dict
        What the command says of itself.
    seconds : float
        Of the whole run.

    Returns
    -------
    dict
        Plain values.
    """
    unseen = {test.name: sorted({t for tags in test.labels for t in tags} - set(model.classes_)) for test in tests}
    report = (
        model.result_.to_dict()
        | {
            "labels": model.classes_.tolist(),
            "n_sentences": len(train.rows),
            "n_tokens": train.n_tokens,
            "n_attributes": len(model.attributes_),
            "n_weights": len(model.coef_),
            "scores": scores.to_dict("records"),
            "labels_unseen_in_training": unseen,
            "total_seconds": seconds,
            "peak_memory_bytes": peak_bytes(),
            "versions": versions(),
        }
        | own
    )
    write_report(folder, report)
    return report
