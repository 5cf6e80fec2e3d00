"""The corpora of the sections of ``compression-peers``, and what all sections share."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import cflengine
from benchmarks.compression.peers.runner import ABSENT, DONE, KILLED, Answer, run_peer
from benchmarks.corpora import SAMPLE, corpus_path
from cflengine.compression import StorageCosts, storage_costs
from cflengine.text import DEFAULT_TOKEN_PATTERN, KGramIndex, Tokenizer, TokenTable, index_kgrams

# words alone, as the figures were cut that were measured on BBC News before there was an engine
LETTERS = r"[A-Za-z']+"


@dataclass(frozen=True)
class Case:
    """A corpus or the beginning of one.

    documents: at most so many; tokens: whole documents up to about so many; shuffled: documents in the order of
    random.Random(0).shuffle before any are taken.
    """

    name: str
    corpus: str
    max_gram: int
    documents: int | None = None
    tokens: int | None = None
    pattern: str = DEFAULT_TOKEN_PATTERN
    shuffled: bool = False
    lam: float = 1.0

    def read(self, data: str | None) -> TokenTable:
        """The tokens. Raises FileNotFoundError where the corpus is absent."""
        path = corpus_path(self.corpus, data)
        limit = None if self.shuffled else self.documents
        texts = cflengine.read_corpus(path, text_column="text", limit=limit).texts
        if self.shuffled:
            order = list(range(len(texts)))
            random.Random(0).shuffle(order)
            texts = [texts[i] for i in order[: self.documents]]
        table = Tokenizer(self.pattern)(texts)
        if self.tokens is None:
            return table
        last = max(1, int(np.abs(table.doc_ptr - self.tokens).argmin()))
        return Tokenizer(self.pattern)(texts[:last])


@dataclass(frozen=True)
class Context:
    """What a section is told. limit: seconds for each solve of each solver; folder: for files, removed at the end."""

    data: str | None
    n_threads: int
    limit: float
    quick: bool
    wanted: Callable[[str], bool]
    say: Callable[[str], None]
    folder: Path

    def run(self, task: str, file: Path, *, solves: int = 1, **options: Any) -> Answer:
        """Run a task in a process of its own; killed where it overruns the limit by far (``solves`` limits)."""
        # it must also start, read, set up, and come to notice its limit
        kill_after = 1.2 * solves * self.limit + 120
        return run_peer(task, file, kill_after=kill_after, n_threads=self.n_threads, limit=self.limit, **options)

    def tables(self, cases: list[Case]) -> list[tuple[Case, TokenTable]]:
        """The cases that are wanted and whose corpora are there; says so where they are not."""
        found = []
        for case in cases:
            if not self.wanted(case.name):
                continue
            try:
                found.append((case, case.read(self.data)))
            except FileNotFoundError as error:
                self.say(f"{case.name} is left out: {error}")
        return found

    def corpus_file(self, case: Case, table: TokenTable) -> Path:
        """The corpus as the tasks of ours.py and the dictionaries' want it."""
        file = self.folder / "corpus.npz"
        np.savez(
            file, tokens=table.tokens, doc_ptr=table.doc_ptr, n_types=len(table.vocabulary), max_gram=case.max_gram,
            lam=case.lam,
        )  # fmt: skip
        return file


def problem_of(case: Case, table: TokenTable) -> tuple[KGramIndex, StorageCosts]:
    """Index and costs: λ for a pointer, its words for a K-gram."""
    index = index_kgrams(table.tokens, table.doc_ptr, case.max_gram)
    return index, storage_costs(index.gram_of, index.lengths(), case.lam)


def quick_case(max_gram: int) -> Case:
    """A few documents of the sample."""
    return Case(f"sample K={max_gram}", SAMPLE, max_gram, documents=25)


def why_not(answer: Answer) -> str:
    """A cell for a peer that gave no answer."""
    return {ABSENT: "absent", KILLED: "killed", DONE: ""}.get(answer.status, "failed")


def facts_of(answer: Answer) -> dict[str, Any]:
    """What is written down of a peer's answer."""
    return {"status": why_not(answer), "note": answer.note, "peak_mb": megabytes(answer), **answer.facts}


def megabytes(answer: Answer) -> float | None:
    """Peak resident memory above that of the interpreter with its imports."""
    peak, baseline = answer.facts.get("peak"), answer.facts.get("baseline", 0)
    return None if peak is None or baseline is None else (peak - baseline) / 1e6
