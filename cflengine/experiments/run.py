"""Columns to findings in one call: what the command and the app do, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from inspect import signature
from typing import Any

import pandas as pd

from cflengine.engine.checks import InputError
from cflengine.experiments.authors import AuthorRules, AuthorTask
from cflengine.experiments.evaluation import Evaluation, EvaluationSettings
from cflengine.experiments.findings import Finding, find
from cflengine.experiments.splits import make_plan
from cflengine.experiments.targets import read_targets
from cflengine.experiments.tasks import DocumentTask, Task


def make_tasks(
    texts: Sequence[str],
    metadata: pd.DataFrame,
    columns: Sequence[str],
    *,
    task: str = "auto",
    rules: AuthorRules | None = None,
    random_state: int = 0,
    n_threads: int | None = None,
    **plan: Any,
) -> list[Task]:
    """A task for each column. Classes and numbers share one split; authors hold documents of their own out.

    Parameters
    ----------
    texts : sequence of str
        The documents.
    metadata : pandas.DataFrame
        Their columns.
    columns : sequence of str
        The targets.
    task : {"auto", "class", "number", "author"}
        What they are.
    rules : AuthorRules, optional
        Which authors count, and what is held out.
    random_state : int
        Of what is drawn.
    n_threads : int, optional
        By default all cores.
    **plan : object
        As :func:`make_plan` takes it.

    Returns
    -------
    list of Task
        In the order of the columns.

    Raises
    ------
    InputError
        For columns that are no targets, or cannot be split so.
    """
    targets = read_targets(metadata, columns, task)
    shared = [target for target in targets if target.task != "author"]
    if not shared and any(value is not None for value in plan.values()):
        raise InputError("authors hold documents of their own out: they are split neither by shares, groups nor time.")
    split = make_plan(metadata, shared, random_state=random_state, **plan) if shared else None
    tasks: list[Task] = []
    for target in targets:
        if target.task != "author" and split is not None:
            tasks.append(DocumentTask(target, split, random_state=random_state, n_threads=n_threads))
            continue
        authors = AuthorTask(target, texts, rules, random_state=random_state)
        if any(value is not None for value in plan.values()):
            authors.how += "; the split that was asked for is not theirs"
        tasks.append(authors)
    return tasks


def evaluate(
    texts: Sequence[str],
    metadata: pd.DataFrame | Mapping[str, Any] | pd.Series,
    columns: str | Sequence[str],
    settings: EvaluationSettings | None = None,
    **plan: Any,
) -> list[Finding]:
    """What compressive features of texts are worth for columns of their table, beside words, all K-grams and other
    tools' phrases.

    Parameters
    ----------
    texts : Sequence[str]
        The documents, N strings.
    metadata : DataFrame or Mapping or Series
        Their table, N rows.
    columns : str or Sequence[str]
        What to predict: classes, numbers, or authors.
    settings : EvaluationSettings or None, default: None
        λ, ways to count, weighting, time limit ...; None for the defaults.
    **plan : object
        Task, rules, test, dev, folds, group, time, random_state (see :func:`make_tasks`).

    Returns
    -------
    A :class:`~cflengine.experiments.findings.Finding` for each column: ``table()``, ``methods``, ``recommended``,
    ``telling``, ``predictions``, ``curve``.

    Raises
    ------
    ValueError for columns that are no targets, splits that cannot be, and documents without a single token; TypeError
    for an argument that there is not.
    """
    unknown = plan.keys() - {*signature(make_tasks).parameters, *signature(make_plan).parameters}
    if unknown:
        own_settings = {one.name for one in fields(EvaluationSettings)}
        where = "; it is one of EvaluationSettings, the fourth argument" if unknown <= own_settings else ""
        raise TypeError(f"evaluate() has no argument {min(unknown)!r}{where}.")
    if isinstance(metadata, Mapping | pd.Series):
        metadata = pd.DataFrame(metadata)
    if not isinstance(metadata, pd.DataFrame):
        raise TypeError(f"metadata is a table of columns, a DataFrame, not {type(metadata).__name__}.")
    columns = [columns] if isinstance(columns, str) else list(columns)
    own = settings or EvaluationSettings()
    run = Evaluation(texts, make_tasks(texts, metadata, columns, n_threads=own.n_threads, **plan), own)
    run.run()
    return [find(run, standing) for standing in run.standings]
