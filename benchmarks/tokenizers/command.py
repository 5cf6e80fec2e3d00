"""Subword vocabularies: tokens a word, what is proved, and those of Hugging Face's, SentencePiece's and GreedTok.

Every other text is held out, none of imdb_whole. Vocabularies are of bytes, words by GPT-2's pattern, pieces of up to
16 bytes; a size counts the 256 bytes. SentencePiece cuts words its own way, from characters with bytes for the rare; a
line break counts as a token of its. Each fit runs in a process of its own, whose peak memory is measured. Bits a
character are those of an n-gram model of the tokens, all read the same million words.
"""

from __future__ import annotations

import argparse
import subprocess
from typing import Any

from benchmarks.corpora import present
from benchmarks.measure import memory_of
from benchmarks.report import machine, machine_line, say, write_json
from benchmarks.tokenizers.fits import MIXTURE, PEERS, WHOLE, parts_of
from cflengine.engine import threads

CASES = (*MIXTURE, "mixture", *WHOLE)
SIZES = (1_000, 4_000, 8_000, 16_000, 32_000)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options beside the common ones."""
    parser.add_argument("--corpora", default=",".join(CASES), metavar="A,B", help="(default: all)")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), metavar="N,N", help="(default: %(default)s)")
    parser.add_argument("--limit", type=float, default=270.0, metavar="S", help="seconds a fit (default: 270)")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; 2 where there is nothing to measure."""
    names = arguments.corpora.split(",")
    wanted = {one for name in names for one in parts_of(name)}
    found, missing = present(sorted(wanted), arguments.data)
    for sentence in missing:
        say(sentence)
    sizes = [int(size) for size in arguments.sizes.split(",")][: 1 if arguments.quick else None]
    options = {"sizes": sizes, "limit": arguments.limit, "quick": arguments.quick}
    results: dict[str, Any] = {}
    with threads(arguments.threads) as n_threads:
        facts = machine(n_threads)
    print(machine_line(facts), flush=True)
    for name in names:
        if not set(parts_of(name)) <= set(found):
            continue
        for size in sizes:
            row = measured(name, size, arguments)
            results[f"{name} {size}"] = row
            print(shown(name, size, row), flush=True)
            if arguments.json:
                write_json(arguments.json, "tokenizers", facts, options, results)
    return 0 if results else 2


def measured(name: str, size: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """A corpus at a size: this engine's vocabulary and the peers', those that are not installed or fail left out."""
    case = {"name": name, "size": size, "data": arguments.data, "limit": 300 if arguments.quick else None}
    say(f"{name}, {size:,}")
    own = memory_of("benchmarks.tokenizers.fits:ours", **case, time_limit=arguments.limit)
    row: dict[str, Any] = {"ours": own, "peers": {}}
    for kind in () if name in WHOLE else PEERS:
        say(f"  {kind}")
        try:
            theirs = memory_of("benchmarks.tokenizers.fits:peer", kind=kind, **case)
        except subprocess.CalledProcessError as error:
            say(f"  left out: {error}")
            continue
        if not kind.startswith("SentencePiece") and theirs["entries"] == size:
            theirs["from_best"] = theirs["train_tokens"] / own["lower_bound"] - 1.0
        row["peers"][kind] = theirs
    return row


def shown(name: str, size: int, row: dict[str, Any]) -> str:
    """Some lines for a terminal."""
    own = row["ours"]
    proof = f"proved to {100 * own['gap']:.3f} % in {own['seconds']:.0f} s, {own['peak_fitting'] / 2**30:.2f} GiB"
    lines = [f"{name} {size:,}: {_rates(own)}; {proof}"]
    for kind, theirs in row["peers"].items():
        best = f", {100 * theirs['from_best']:.2f} % above what is proved" if "from_best" in theirs else ""
        made = f"({theirs['entries']:,} entries, {theirs['seconds']:.0f} s{best})"
        lines.append(f"  {kind:<22} {_rates(theirs)} {made}")
    return "\n".join(lines)


def _rates(row: dict[str, Any]) -> str:
    said = f"{row['train_per_word']:.4f} tokens a word"
    if "held_out_per_word" not in row:
        return said
    return f"{said}, held out {row['held_out_per_word']:.4f}, {row['bits_a_character']:.4f} bits a character"
