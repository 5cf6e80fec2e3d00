"""A run of ``cflengine tokenizer``, checked: words cut and counted again, each made of its fewest pieces by a slow
loop, and the bound recomputed from prices over every piece of every word.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cflengine.engine.gaps import relative_gap, round_down, sum_terms
from cflengine.tokenizer.huggingface import UNKNOWN, byte_letters, byte_names
from cflengine.tokenizer.problem import fewest_tokens, tokens_at_least
from cflengine.tokenizer.words import Cutting, WordTable
from cflengine.verify.findings import (
    Finding,
    proof_array,
    read_proof,
    require,
    require_bound,
    require_gap,
    require_same,
)


def verify_tokenizer(folder: Path, report: dict[str, Any], corpus: Any) -> Finding:
    """Check it. Raises FalseResult."""
    arguments, proof = report["arguments"], read_proof(folder)
    pattern = None if arguments["pattern"] == "none" else arguments["pattern"]
    cutting = Cutting(arguments["unit"], pattern, tuple(arguments["normalise"]))
    table = WordTable.of(cutting.count(corpus.texts), cutting)
    words = [_written(cutting, table.units[a:e]) for a, e in table.spans()]
    require_same(report["n_running"], table.n_running, "the words are")
    require_same(report["n_words"], len(words), "the distinct words are")
    own = set(arguments["special"]) | ({UNKNOWN, *byte_names()} if cutting.unit == "character" else set())
    required, forbidden = (
        {_written(cutting, cutting.units(cutting.normalised(piece))) for piece in some}
        for some in (arguments["require"], [*arguments["forbid"], *own])
    )
    pieces = _pieces(cutting, proof)
    alpha, longest = proof_array(proof, "alpha"), int(arguments["longest"])
    require(alpha.shape == table.units.shape and report["mu"] >= 0, "there are not as many prices as units.")
    over, occurrences = _excess(words, table, np.maximum(alpha, 0.0).astype(np.float64), longest)
    enough = {piece for piece, count in occurrences.items() if count >= arguments["min_count"]}
    required &= {piece for piece in occurrences if len(piece) > 1}
    allowed = (enough - forbidden) | required
    _check_pieces(folder, report, cutting, table, pieces)
    for piece in pieces:
        require(1 < len(piece) <= longest and piece in allowed, f"{piece!r} is a piece that is not allowed.")
    require(required <= set(pieces), "a required piece is not there.")
    tokens = float(sum(n * fewest_tokens(set(pieces), w, longest) for w, n in zip(words, table.counts, strict=True)))
    require_same(report["objective"], tokens, "the tokens are")
    costs = {piece: 0.0 if len(piece) == 1 or piece in required else float(report["mu"]) for piece in over}
    paid = [(e, max(e - costs[piece], 0.0)) for piece, e in over.items() if len(piece) == 1 or piece in allowed]
    gathered = float(np.maximum(alpha, 0.0).sum())
    terms = sum_terms(len(alpha)) + max(occurrences.values(), default=0) + len(over)
    value = round_down(gathered - sum(e for _, e in paid), terms, gathered + sum(e for e, _ in paid))
    bound = float(tokens_at_least(value, float(report["mu"]), len(pieces) - len(required)))
    require_bound(report, bound)
    require_gap(report, tokens, bound)
    checked = (
        f"{table.n_running:,} words, {len(words):,} distinct",
        f"{len(pieces):,} pieces, as in tokenizer.json",
    )
    return Finding("tokenizer", tokens, bound, relative_gap(tokens, bound), checked)


def _written(cutting: Cutting, units: np.ndarray) -> str:
    """Units as tokenizer.json has them, a letter each."""
    letters = byte_letters()
    return "".join(letters[u] if cutting.unit == "byte" else chr(u) for u in units.tolist())


def _pieces(cutting: Cutting, proof: dict[str, np.ndarray]) -> list[str]:
    """The pieces that were chosen."""
    units, ptr = proof_array(proof, "units"), proof_array(proof, "ptr")
    good = ptr[0] == 0 and ptr[-1] == len(units) and (np.diff(ptr) > 1).all()
    require(bool(good), "the pieces are not as they were written.")
    pieces = [_written(cutting, units[a:e]) for a, e in zip(ptr[:-1].tolist(), ptr[1:].tolist(), strict=True)]
    require(len(set(pieces)) == len(pieces), "a piece is there twice.")
    return pieces


def _spans(words: list[str], longest: int) -> Iterator[tuple[int, int, int]]:
    for w, word in enumerate(words):
        for a in range(len(word)):
            for e in range(a + 1, min(a + longest, len(word)) + 1):
                yield w, a, e


def _excess(
    words: list[str], table: WordTable, alpha: np.ndarray, longest: int
) -> tuple[dict[str, float], Counter[str]]:
    """e_s of (3) in problem.py where it is above 0, and how often the pieces occur."""
    over: dict[str, float] = {}
    occurrences: Counter[str] = Counter()
    sums = [np.append(0.0, np.cumsum(alpha[a:e])).tolist() for a, e in table.spans()]
    counts = table.counts.tolist()
    for w, a, e in _spans(words, longest):
        piece = words[w][a:e]
        occurrences[piece] += counts[w]
        more = sums[w][e] - sums[w][a] - counts[w]
        if more > 0:
            over[piece] = over.get(piece, 0.0) + more
    return over, occurrences


def _check_pieces(folder: Path, report: dict[str, Any], cutting: Cutting, table: WordTable, pieces: list[str]) -> None:
    """That tokenizer.json has the units, and these pieces, and nothing else."""
    content = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    names = [name for name, _ in content["model"]["vocab"]]
    units = list(byte_letters())
    if cutting.unit == "character":
        units = [UNKNOWN, *byte_names(), *(chr(code) for code in table.alphabet().tolist())]
    require(names == [*report["arguments"]["special"], *units, *pieces], "tokenizer.json has other pieces.")
    require_same(report["vocab_size"], len(names), "the entries are")
    require_same(report["size"], len(pieces), "the pieces are")
