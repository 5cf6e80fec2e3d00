"""What the documents of one group cost in another group's dictionary.

Each group is compressed by itself; its dictionary is then what every other group is encoded with, as cheaply as can be
(§3.1 of the paper): a pointer costs λ, a word that the dictionary lacks λ + c. The dictionary itself is not charged: it
is there. A group's own dictionary suits it best; how much more it costs in another one says how foreign that is, and
the phrases that it lacks say why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from cflengine.compression.estimator import CompressiveFeatures
from cflengine.compression.solvers.guided.settings import GuidedSettings
from cflengine.engine.checks import InputError
from cflengine.engine.progress import Listener, Poll, go_on
from cflengine.text.token_table import TokenTable

QUICK = GuidedSettings(tol=5e-3)


@dataclass(frozen=True)
class CrossCost:
    """What each group of documents costs in the dictionary of each other.

    Parameters
    ----------
    names : tuple[str, ...]
        Of the groups.
    cost : ndarray
        float64 (A, B), what a group costs in the dictionary of B, per 1,000 words.
    words : ndarray
        int64 (A,), of each group.
    gaps : ndarray
        float64 (B,), proved, of each dictionary.
    models : tuple[CompressiveFeatures, ...]
        The fitted features of each group.
    """

    names: tuple[str, ...]
    cost: np.ndarray
    words: np.ndarray
    gaps: np.ndarray
    models: tuple[CompressiveFeatures, ...] = field(repr=False)

    @property
    def excess(self) -> np.ndarray:
        """float64 (A, B): by which share a group costs more than in its own dictionary."""
        return self.cost / self.cost.diagonal()[:, None] - 1.0

    def lost(self, a: int, b: int, most: int = 200) -> pd.DataFrame:
        """The phrases of group A's dictionary that B's lacks, by what encoding them without it costs more: phrase,
        uses, each (the cost of one in B's dictionary, less λ), more (of all uses)."""
        own, other = self.models[a], self.models[b]
        known = set(other.grams_)
        missing = [i for i, gram in enumerate(own.grams_) if gram not in known]
        uses = own.dictionary_["count"].to_numpy()[missing]
        table = _as_documents([own.grams_[i] for i in missing])
        encoding, _ = other._codebook.encode(table)
        literal = encoding.gram < 0
        each = np.bincount(
            encoding.document, np.where(literal, other._codebook.literal_cost, float(other.lam)), len(missing)
        )
        frame = pd.DataFrame(
            {
                "phrase": own.dictionary_["gram"].to_numpy()[missing],
                "uses": uses,
                "each": each - float(own.lam),
                "more": uses * (each - float(own.lam)),
            }
        )
        return frame.sort_values("more", ascending=False, kind="stable", ignore_index=True).head(most)


def cross_compress(
    table: TokenTable,
    group: np.ndarray,
    names: Sequence[str],
    *,
    lam: float = 1.0,
    max_gram: int = 3,
    settings: GuidedSettings = QUICK,
    listeners: Sequence[Listener] = (),
    on_group: Callable[[int], object] = lambda number: None,
    poll: Poll = lambda: True,
) -> CrossCost:
    """Compress every group, and encode every other with its dictionary.

    Parameters
    ----------
    table : TokenTable
        All documents.
    group : int64 ndarray (N,)
        −1 for a document that does not take part.
    names : sequence of str
        Of the groups.
    lam : float
        λ.
    max_gram : int
        K.
    settings : GuidedSettings
        The solver's.
    listeners : sequence of callables
        Told of every event of the solver.
    on_group : callable
        Told of the number of each group that is begun.
    poll : callable
        Says False to stop.

    Returns
    -------
    CrossCost
        What each group costs in each dictionary.

    Raises
    ------
    InputError
        For a group without a word.
    MemoryLimitError
        Before any work, if it does not fit.
    Stopped
        Once ``poll`` says False.
    """
    tables = [part_of(table, np.flatnonzero(group == number)) for number in range(len(names))]
    empty = [name for name, part in zip(names, tables, strict=True) if not part.n_tokens]
    if empty:
        raise InputError(f"the group {empty[0]!r} has no word.")
    models = []
    for number, part in enumerate(tables):
        go_on(poll)
        on_group(number)
        model = CompressiveFeatures(lam=lam, max_gram=max_gram, settings=settings, listeners=tuple(listeners))
        models.append(model.fit_tokens(part))
        go_on(poll)
        model.set_params(listeners=())
    cost = np.empty((len(names), len(names)))
    for b, model in enumerate(models):
        for a, part in enumerate(tables):
            go_on(poll)
            cost[a, b] = 1000.0 * model._codebook.encode(part)[1] / part.n_tokens
    gaps = np.array([model.duality_gap_ for model in models])
    words = np.array([part.n_tokens for part in tables])
    return CrossCost(tuple(names), cost, words, gaps, tuple(models))


def part_of(table: TokenTable, documents: np.ndarray) -> TokenTable:
    """Some documents of a table, with the same vocabulary."""
    sizes = np.diff(table.doc_ptr)[documents]
    doc_ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    at = np.repeat(table.doc_ptr[documents] - doc_ptr[:-1], sizes) + np.arange(doc_ptr[-1])
    sentence_ptr = None
    if table.sentence_ptr is not None:
        begins = np.zeros(table.n_tokens + 1, dtype=bool)
        begins[table.sentence_ptr] = True
        sentence_ptr = np.append(np.flatnonzero(begins[at]), len(at))
    return TokenTable(table.tokens[at], doc_ptr, table.start[at], table.end[at], table.vocabulary, sentence_ptr)


def _as_documents(grams: Sequence[tuple[str, ...]]) -> TokenTable:
    """Each K-gram a document of its words."""
    number: dict[str, int] = {}
    tokens = np.array([number.setdefault(word, len(number)) for gram in grams for word in gram], dtype=np.int32)
    doc_ptr = np.concatenate([[0], np.cumsum([len(gram) for gram in grams])]).astype(np.int64)
    start = np.arange(len(tokens), dtype=np.int32)
    return TokenTable(tokens, doc_ptr, start, start + 1, list(number))
