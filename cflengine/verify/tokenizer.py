"""Runs of ``cflengine tokenizer`` and ``tokenizer-report``, checked: words cut and counted again, each made of its
fewest pieces by a slow loop, and the bound recomputed from prices over every piece of every word.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cflengine.engine.files import restore_cell
from cflengine.engine.gaps import relative_gap, round_down, sum_terms
from cflengine.tokenizer.foreign import ForeignTokenizer
from cflengine.tokenizer.huggingface import UNKNOWN, byte_letters, byte_names, sentencepiece_vocab, tokenizer_json
from cflengine.tokenizer.problem import fewest_tokens, tokens_at_least
from cflengine.tokenizer.words import Cutting, WordTable
from cflengine.verify.findings import (
    Finding,
    check_trace,
    proof_array,
    read_proof,
    require,
    require_bound,
    require_gap,
    require_same,
    rows_of,
    with_progress,
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
    forbidden |= own  # as they are written, too
    pieces = _pieces(proof, lambda units: _written(cutting, units))
    longest = int(arguments["longest"])
    over, occurrences, alpha = _excess(words, table, report, proof, longest)
    enough = {piece for piece, count in occurrences.items() if count >= arguments["min_count"]}
    required &= {piece for piece in occurrences if len(piece) > 1}
    allowed = (enough - forbidden) | required
    _check_files(folder, report, cutting, table, {piece: occurrences[piece] for piece in pieces}, proof)
    require(required <= set(pieces), "a required piece is not there.")
    tokens, bound = _certificate(words, table, report, pieces, (over, occurrences, alpha), allowed, required)
    words_at_all = max(table.n_running, 1)
    require_same(report["tokens_per_word"], tokens / words_at_all, "tokens a word are")
    require_same(report["least_tokens_per_word"], bound / words_at_all, "tokens a word are at least")
    require_same(report["required"], len(required), "required pieces are")
    require_same(report["vocab_size"], arguments["vocab_size"], "the entries that were asked for are")
    require_same(report["settings"]["tol"], arguments["gap"], "the gap that was asked for is")
    require_same(report["n_documents"], len(corpus.texts), "the documents are")
    check_trace(folder / "trace.csv", [(tokens, bound)])
    checked = (
        f"{table.n_running:,} words, {len(words):,} distinct",
        f"{len(pieces):,} pieces, and tokenizer.json, which holds nothing else",
    )
    return Finding("tokenizer", tokens, bound, relative_gap(tokens, bound), checked)


def verify_tokenizer_report(folder: Path, report: dict[str, Any], corpus: Any) -> Finding:
    """Check what ``cflengine tokenizer-report`` says of a tokenizer, which is asked again for its tokens. Raises
    FalseResult."""
    arguments, proof = report["arguments"], read_proof(folder)
    stated = Path(arguments["tokenizer"])
    tokenizer = ForeignTokenizer.open(stated if stated.exists() else report["tokenizer_path"])
    own = tokenizer.count(corpus.texts)
    table, known = own.table, np.unique(own.table.units)

    def written(units: np.ndarray) -> str:
        return "".join(map(chr, np.searchsorted(known, units).tolist()))

    def spelled(units: np.ndarray) -> str | None:
        """A piece as the words are written; None where it has a unit that is in none of them."""
        return written(units) if np.isin(units, known).all() else None

    words = [written(table.units[a:e]) for a, e in table.spans()]
    for name, value, what in (
        ("n_running", table.n_running, "the words are"), ("n_words", len(words), "the distinct words are"),
        ("tokens", own.tokens, "the tokens of the tokenizer are"), ("left_out", own.left_out, "the words left out are"),
        ("pieces", tokenizer.size, "the pieces of the tokenizer are"),
    ):  # fmt: skip
        require_same(report[name], value, what)
    longest = int(report["longest"])
    own_pieces = {i: spelled(units) for i, units in enumerate(tokenizer.own) if 1 < len(units) <= longest}
    theirs = {piece for piece in own_pieces.values() if piece is not None}
    shortest = sum(n * fewest_tokens(theirs, w, longest) for w, n in zip(words, table.counts.tolist(), strict=True))
    require_same(report["shortest"], shortest, "the tokens with its pieces are")
    pieces = _pieces(proof, written)
    over, occurrences, alpha = _excess(words, table, report, proof, longest)
    allowed = {piece for piece in occurrences if len(piece) > 1}
    require(len(pieces) == min(tokenizer.size, len(allowed)), "the better vocabulary is of another size.")
    tokens, bound = _certificate(words, table, report, pieces, (over, occurrences, alpha), allowed, set())
    require_same(report["above_at_most"], relative_gap(own.tokens, bound), "the distance is at most")
    require_same(report["above_at_least"], max(own.tokens / tokens - 1.0, 0.0), "the distance is at least")
    _check_report(folder, report, tokenizer, own.used, {i: occurrences[p or ""] for i, p in own_pieces.items()})
    for name, value, what in (
        ("size", len(pieces), "the pieces of the better vocabulary are"), ("required", 0, "required pieces are"),
        ("n_documents", len(corpus.texts), "the documents are"),
    ):  # fmt: skip
        require_same(report[name], value, what)
    check_trace(folder / "trace.csv", [(tokens, bound)])
    lacking = {piece: occurrences[piece] for piece in pieces if piece not in theirs}
    said = [(restore_cell(row["piece"]), int(row["occurrences"])) for row in rows_of(folder / "lacking.csv")]
    expected = [(tokenizer.text_of(known[[ord(unit) for unit in piece]]), n) for piece, n in lacking.items()]
    require(sorted(said) == sorted(expected), "lacking.csv lists other pieces, or says that they occur otherwise.")
    checked = (
        f"{table.n_running:,} words, {len(words):,} distinct: {own.tokens:,} tokens",
        f"{shortest:,} tokens with the same pieces, {tokens:,.0f} with {len(pieces):,} others",
        "pieces.csv and lacking.csv: pieces, occurrences, uses",
    )
    notes = ("what single pieces save: it is taken as the run left it",)
    return Finding("tokenizer-report", tokens, bound, relative_gap(tokens, bound), checked, notes)


def _certificate(
    words: list[str],
    table: WordTable,
    report: dict[str, Any],
    pieces: list[str],
    prices: tuple[dict[str, float], Counter[str], np.ndarray],
    allowed: set[str],
    required: set[str],
) -> tuple[float, float]:
    """Tokens and bound, as the report has them."""
    over, occurrences, alpha = prices
    longest = max(map(len, occurrences))
    for piece in pieces:
        require(piece in allowed and len(piece) > 1, f"{piece!r} is a piece that is not allowed.")
    tokens = float(sum(n * fewest_tokens(set(pieces), w, longest) for w, n in zip(words, table.counts, strict=True)))
    require_same(report["objective"], tokens, "the tokens are")
    costs = {piece: 0.0 if len(piece) == 1 or piece in required else float(report["mu"]) for piece in over}
    paid = [(e, max(e - costs[piece], 0.0)) for piece, e in over.items() if len(piece) == 1 or piece in allowed]
    gathered, moved = float(alpha.sum()), float(np.abs(alpha).sum())
    terms = sum_terms(len(alpha)) + max(occurrences.values(), default=0) + len(over)
    value = round_down(gathered - sum(e for _, e in paid), terms, moved + sum(e for e, _ in paid))
    bound = float(tokens_at_least(value, float(report["mu"]), len(pieces) - len(required)))
    require_bound(report, bound)
    require_gap(report, tokens, bound)
    return tokens, bound


def _written(cutting: Cutting, units: np.ndarray) -> str:
    """Units as tokenizer.json has them, a letter each."""
    letters = byte_letters()
    return "".join(letters[u] if cutting.unit == "byte" else chr(u) for u in units.tolist())


def _pieces(proof: dict[str, np.ndarray], written: Callable[[np.ndarray], str]) -> list[str]:
    """The pieces that were chosen."""
    units, ptr = proof_array(proof, "units"), proof_array(proof, "ptr")
    good = ptr[0] == 0 and ptr[-1] == len(units) and (np.diff(ptr) > 1).all()
    require(bool(good), "the pieces are not as they were written.")
    pieces = [written(units[a:e]) for a, e in zip(ptr[:-1].tolist(), ptr[1:].tolist(), strict=True)]
    require(len(set(pieces)) == len(pieces), "a piece is there twice.")
    return pieces


def _spans(words: list[str], longest: int) -> Iterator[tuple[int, int, int]]:
    for w, word in enumerate(with_progress(words, "all pieces of all words", "words")):
        for a in range(len(word)):
            for e in range(a + 1, min(a + longest, len(word)) + 1):
                yield w, a, e


def _excess(
    words: list[str], table: WordTable, report: dict[str, Any], proof: dict[str, np.ndarray], longest: int
) -> tuple[dict[str, float], Counter[str], np.ndarray]:
    """e_s of (3) in problem.py where it is above 0, how often the pieces occur, and the prices."""
    prices = proof_array(proof, "alpha")
    require(report["mu"] >= 0, f"the price of a piece is {report['mu']!r}.")
    require(prices.shape == table.units.shape, "there are not as many prices as units.")
    alpha = prices.astype(np.float64)
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
    return over, occurrences, alpha


def _check_files(
    folder: Path, report: dict[str, Any], cutting: Cutting, table: WordTable, pieces: dict[str, int], proof: Any
) -> None:
    """tokenizer.json is what these pieces, units and words' pattern make, and nothing else; so are the lists of pieces.
    pieces: how often each occurs."""
    special, units = report["arguments"]["special"], list(byte_letters())
    unknown = len(special) if cutting.unit == "character" else None
    if unknown is not None:
        units = [UNKNOWN, *byte_names(), *(chr(code) for code in table.alphabet().tolist())]
    names = [*special, *units, *pieces]
    content = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    require([name for name, _ in content["model"]["vocab"]] == names, "tokenizer.json has other pieces.")
    require(content == tokenizer_json(cutting, names, special, unknown), "tokenizer.json is not as this run wrote it.")
    require_same(report["vocab_size"], len(names), "the entries are")
    require_same(report["size"], len(pieces), "the pieces are")
    require(
        proof_array(proof, "weight").tolist() == list(pieces.values()), "pieces occur otherwise than proof.npz says."
    )
    before = len(names) - len(pieces)
    rows = [(name, "", "False") for name in names[:before]] + [(name, str(n), "True") for name, n in pieces.items()]
    said = [
        (int(row["id"]), restore_cell(row["piece"]), row["occurrences"], row["chosen"])
        for row in rows_of(folder / "pieces.csv")
    ]
    expected = [(i, *row) for i, row in enumerate(rows)]
    require(said == expected, "pieces.csv lists other pieces, or says that they occur otherwise.")
    if unknown is not None:
        listed = (folder / "vocab.txt").read_text("utf-8")
        require(listed == sentencepiece_vocab(names), "vocab.txt lists other pieces.")


def _check_report(
    folder: Path, report: dict[str, Any], tokenizer: ForeignTokenizer, used: np.ndarray, occurrences: dict[int, int]
) -> None:
    """The tokenizer's pieces in pieces.csv, and what the report counts of them. used: by id; occurrences: of those that
    are in the table."""
    rows = rows_of(folder / "pieces.csv")
    expected = [(tokenizer.text_of(tokenizer.own[i]), n, int(used[i])) for i, n in occurrences.items()]
    said = [(restore_cell(row["piece"]), int(row["occurrences"]), int(row["used"])) for row in rows]
    same = sorted(said) == sorted(expected)
    require(same, "pieces.csv says that the tokenizer's pieces are others, or that they occur otherwise.")
    lengths = np.array([len(units) for units in tokenizer.own])
    for name, value in (
        ("entries", len(tokenizer.names)), ("n_absent", sum(n == 0 for n in occurrences.values())),
        ("n_wasted", sum(int(row["saves"]) == 0 for row in rows)),
        ("longer", int(np.count_nonzero(lengths[used > 0] > int(report["longest"])))),
    ):  # fmt: skip
        require_same(report[name], value, f"{name} is")
    require(report["kind"] == tokenizer.kind, f"the tokenizer is of the kind {tokenizer.kind}.")
