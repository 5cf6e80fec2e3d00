"""An evaluation in the worker's thread: what was asked for, and what is known so far."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from cflengine import IterationStats
from cflengine.compression import path_lams, warm_up
from cflengine.engine import InputError
from cflengine.experiments import AuthorRules, Budget, Evaluation, EvaluationSettings, Finding, find, make_tasks
from cflengine.plq import warm_up as warm_learners
from cflengine.text import USUAL_TOKENS, TokenChoice
from pages.parts.shared.jobs import Job

HOW = {
    "usual": "a quarter at random; of fewer than 1,000 documents, all of them in five folds",
    "folds": "every document once, in five folds",
    "group": "keep documents of a group together",
    "time": "judge by the latest",
}
OWN_SPLIT = "those that the corpus sets apart for testing"  # usual, where there are such
SLOW_TOKENS = 1_000_000  # beyond, fewer λ and no other tools unless asked for


@dataclass(frozen=True)
class TasksChoice:
    """columns: to predict; how: to split (HOW), by: the column that takes; n_lams: of the path; rivals: whether other
    tools are tried, too; max_gram: K; held_out: documents of each author."""

    columns: tuple[str, ...]
    how: str = "usual"
    by: str | None = None
    n_lams: int = 10
    rivals: bool = True
    max_gram: int = 3
    held_out: int = 3
    tokens: TokenChoice = USUAL_TOKENS

    @property
    def lams(self) -> tuple[float, ...]:
        """The λ of the path."""
        return tuple(path_lams(0.01, 3.0, self.n_lams))

    @property
    def plan(self) -> dict[str, Any]:
        """How documents are split, as :func:`make_tasks` takes it. Raises ValueError where a column is missing."""
        rules = {"rules": AuthorRules(held_out=self.held_out)}
        if self.how in ("group", "time"):
            if self.by is None:
                raise InputError("say which column documents are split by.")
            return rules | {self.how: self.by}
        return rules | ({"folds": 5} if self.how == "folds" else {})


@st.cache_resource(show_spinner=False)
def _kept() -> tempfile.TemporaryDirectory[str]:
    """Where dictionaries are kept while the server runs, so that the next target needs no solver."""
    return tempfile.TemporaryDirectory(prefix="cflengine-")


@dataclass
class TasksRun:
    """``rows`` grow while it runs; ``findings`` are there once the job is done. stage: what is being done."""

    choice: TasksChoice
    stage: str = "Waiting"
    rows: list[dict[str, Any]] = field(default_factory=list)
    evaluation: Evaluation | None = None
    findings: tuple[Finding, ...] = ()
    seconds: float = 0.0

    def run(self, texts: Sequence[str], metadata: pd.DataFrame, job: Job) -> None:
        """Evaluate. Raises ValueError for columns that cannot be."""
        choice, began = self.choice, time.perf_counter()
        tasks = make_tasks(texts, metadata, choice.columns, **choice.plan)
        self.stage = "Loading the engine"
        warm_up("guided", "counting")
        warm_learners()  # otherwise the first method, words, would be charged for it
        settings = EvaluationSettings(
            lams=choice.lams, max_gram=choice.max_gram, rivals=choice.rivals, **choice.tokens.parameters
        )
        self.evaluation = Evaluation(
            texts, tasks, settings, budget=Budget(None, job.poll), on_row=self.rows.append, on_stage=self._note,
            listeners=(self._hear, lambda stats: job.step() or True), folder=Path(_kept().name),
        )  # fmt: skip
        self.evaluation.run()
        self.findings = tuple(find(self.evaluation, standing) for standing in self.evaluation.standings)
        self.seconds = time.perf_counter() - began

    def _note(self, stage: str) -> None:
        self.stage = stage

    def _hear(self, stats: IterationStats) -> bool:
        gap = f", proved within {100 * stats.gap:.2f} %" if stats.gap < 1 else ""
        self.stage = f"Finding dictionaries: λ = {stats.lam:.3g}{gap}"
        return True

    def frame(self, column: str) -> pd.DataFrame:
        """The rows of one target so far."""
        return pd.DataFrame([row for row in list(self.rows) if row["target"] == column])
