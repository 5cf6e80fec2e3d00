"""Tokenisers and phrase finders: what a corpus costs with the dictionary that each of them picks.

A tool's pieces are its dictionary; words it lacks are added where the text needs them. With it the corpus is
encoded optimally, once with all of its dictionary ("as it is": pieces that stay unused are free of charge) and once
pruned by cflengine.compression.analysis.foreign_vocabulary. Every tool is run over a small grid of its settings; the
one with the lowest pruned cost counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.compression.peers.cases import LETTERS, Case, Context, problem_of, quick_case, why_not
from benchmarks.compression.peers.runner import Answer
from benchmarks.measure import timed
from benchmarks.report import Figure, Section, table
from cflengine.compression import Coder, StorageCosts, encode_with_vocabulary, match_sequences
from cflengine.text import KGramIndex

TITLE = "tokenisers and phrase finders"
SIZES = [1.1, 1.3, 1.5, 2.0, 2.5]  # of a vocabulary, in word types
GRID = [(min_count, threshold) for min_count in (1, 2, 4) for threshold in (0.1, 1.0, 10.0)]
LEAST_COUNTS = (2, 3, 4, 6)

TOOLS: dict[str, tuple[str, dict[str, Any]]] = {
    "Hugging Face BPE": ("benchmarks.compression.peers.hugging_face:byte_pairs", {"sizes": SIZES}),
    "Hugging Face Unigram": ("benchmarks.compression.peers.hugging_face:unigram", {"sizes": SIZES}),
    "SentencePiece BPE": ("benchmarks.compression.peers.sentence_piece:train", {"kind": "bpe", "sizes": SIZES}),
    "SentencePiece Unigram": ("benchmarks.compression.peers.sentence_piece:train", {"kind": "unigram", "sizes": SIZES}),
    "GreedTok": ("benchmarks.compression.peers.greedtok:partition_cover", {"sizes": SIZES}),
    "gensim Phrases": ("benchmarks.compression.peers.gensim_phrases:phrases", {"grid": GRID}),
}
WORDS, ABOVE = "single words", "K-grams above a count"
OURS = {"guided": "ours, guided", "homotopy": "ours, homotopy"}
OUR_GAP = 0.0005

CASES = [
    Case("bbc 300, K=5", "bbc_news", 5, documents=300, pattern=LETTERS, shuffled=True),
    Case("20news 3,000, K=3", "20news_bydate", 3, documents=3000),
]
QUICK = [quick_case(3)]


def columns(context: Context) -> Iterator[tuple[str, dict[str, Any]]]:
    """Measure one corpus after the other."""
    for case, tokens in context.tables(QUICK if context.quick else CASES):
        index, costs = problem_of(case, tokens)
        file = context.corpus_file(case, tokens)
        figures: dict[str, Any] = {"tokens": index.n_tokens, "words": int(index.len_ptr[1]), "tools": {}}
        tools = figures["tools"]
        none = np.zeros(index.n_grams, dtype=bool)
        tools[WORDS] = _best([_cost(index, costs, none) | {"setting": "", "seconds": 0.0}])
        above = ((f"count >= {count}", index.counts() >= count) for count in LEAST_COUNTS)
        tools[ABOVE] = _best([_cost(index, costs, chosen) | {"setting": s, "seconds": 0.0} for s, chosen in above])
        for name, (task, options) in TOOLS.items():
            answer = context.run(task, file, **options)
            context.say(f"{case.name}, {name}: {answer.status} {answer.note}".rstrip())
            tools[name] = _tool(answer, index, costs)
        for solver, name in OURS.items():
            answer = context.run("benchmarks.compression.peers.ours:compress", file, solver=solver, gap=OUR_GAP)
            context.say(f"{case.name}, {name}: {answer.status} {answer.note}".rstrip())
            tools[name] = _ours(answer)
        bounds = [tools[name]["lower_bound"] for name in OURS.values() if "lower_bound" in tools[name]]
        figures["bound"] = max(bounds) if bounds else None
        yield case.name, figures


def _tool(answer: Answer, index: KGramIndex, costs: StorageCosts) -> dict[str, Any]:
    """The dictionaries of all settings, encoded."""
    if not answer.done:
        return {"status": why_not(answer), "note": answer.note}
    grid = []
    for i, setting in enumerate(answer.facts["settings"]):
        gram = match_sequences(index, answer.arrays[f"tokens_{i}"], answer.arrays[f"ptr_{i}"])
        chosen = np.zeros(index.n_grams, dtype=bool)
        chosen[gram[gram >= 0]] = True
        grid.append(_cost(index, costs, chosen) | setting)
    return _best(grid)


def _cost(index: KGramIndex, costs: StorageCosts, chosen: np.ndarray) -> dict[str, Any]:
    """Total storage cost with a dictionary: as it is, and pruned."""
    coder = Coder(index, costs)
    words = np.arange(index.n_grams) < index.len_ptr[1]
    price = np.where(chosen, 0.0, np.where(words, costs.dictionary, np.inf))
    plain, _, _ = coder.evaluate(coder.encode(price))
    (_, cost, used), seconds = timed(encode_with_vocabulary, index, costs, chosen)
    return {"plain": plain, "cost": cost, "used": int(used.sum()), "encode_s": seconds}


def _best(grid: list[dict[str, Any]]) -> dict[str, Any]:
    """The cheapest of a grid, the least plain cost, and the grid itself."""
    best = min(grid, key=lambda row: row["cost"])
    return best | {"least_plain": min(row["plain"] for row in grid), "status": "", "grid": grid}


def _ours(answer: Answer) -> dict[str, Any]:
    if not answer.done:
        return {"status": why_not(answer), "note": answer.note}
    facts = dict(answer.facts)
    return facts | {
        "status": "",
        "cost": facts["objective"],
        "used": facts["dictionary_size"],
        "setting": facts["reason"],
    }


def show(results: Mapping[str, Mapping[str, Any]]) -> str:
    """The table."""
    cells: dict[str, dict[str, str]] = {}
    for column, figures in results.items():
        row = cells[column] = {"tokens": f"{figures['tokens']:,}", "words": f"{figures['words']:,}"}
        if figures["bound"]:
            row["bound"] = f"{figures['bound']:,.1f}"
        for name, found in figures["tools"].items():
            for key, (_, _, form) in _ROWS.items():
                value = found.get(key)
                row[f"{name} {key}"] = form.format(value) if value is not None else found["status"] or "–"
            if figures["bound"] and "cost" in found:
                row[f"{name} above"] = f"{found['cost'] / figures['bound'] - 1:.2%}"
    return table(_sections(), cells)


_ROWS = {
    "cost": (
        "total storage cost",
        "problem (1), lam = 1: encoded optimally and pruned, at its best setting",
        "{:,.0f}",
    ),
    "least_plain": ("as it is", "optimal encoding, every piece in use paid for; the best setting for that", "{:,.0f}"),
    "used": ("K-grams in use", "of the pruned dictionary, single words included", "{:,}"),
    "seconds": ("seconds", "of the tool at that setting", "{:.2f}"),
    "encode_s": ("seconds for encoding and pruning", "ours, on top of the tool's", "{:.2f}"),
    "setting": ("best setting", "", "{}"),
}


def _sections() -> list[Section]:
    names = (WORDS, ABOVE, *TOOLS, *OURS.values())

    def rows(key: str) -> tuple[Figure, ...]:
        return tuple(Figure(f"{name} {key}", f"  {name}", "{}") for name in names)

    corpus = (("tokens", "tokens"), ("words", "word types"), ("bound", "our lower bound"))
    shown = [Section("corpus", "", tuple(Figure(key, label, "{}") for key, label in corpus))]
    for key, (title, legend, _) in _ROWS.items():
        shown.append(Section(title, legend, rows(key)))
        if key == "cost":
            shown.append(Section("above our bound", "proved: at most so far from optimal", rows("above")))
    return shown
