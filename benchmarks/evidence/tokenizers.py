"""Subword vocabularies: tokens a word beside other programs', and what is proved."""

from __future__ import annotations

from typing import Any

from benchmarks.evidence.page import Claim, Evidence, Part, seconds, share, verdict

GAP = 0.003  # what was asked to be proved
SMALL = 8_000  # up to which size fewer tokens are asked for on held-out texts, too


def parts(evidence: Evidence) -> list[Part]:
    """One table, and what was asked."""
    rows, cases = [], evidence.cases()
    for case, row in cases.items():
        corpus, size = case.rsplit(" ", 1)
        number = f"{int(size):,}"
        own = row["ours"]
        proved = f"{share(own['gap'], 2)} in {seconds(own['seconds'])} s"
        rows.append((corpus, number, "cflengine", *_rates(own), proved))
        for kind, theirs in row["peers"].items():
            best = theirs.get("from_best")
            said = f"{'–' if best is None else share(best, 2)} in {seconds(theirs['seconds'])} s"
            rows.append((corpus, number, kind, *_rates(theirs), said))
    note = (
        "Vocabularies of bytes, words by GPT-2's pattern, pieces of up to 16 bytes. Proved: how many more tokens than "
        "with any vocabulary of the size the training half takes at most; of peers, too, where size and words are the "
        "same."
    )
    head = ("corpus", "size", "trained by", "tokens a word", "held out", "proved; seconds")
    return [Part("Tokenizers", note, head, rows, _claims(cases))]


def _rates(row: dict[str, Any]) -> tuple[str, str]:
    return f"{row['train_per_word']:.4f}", f"{row['held_out_per_word']:.4f}"


def _claims(cases: dict[str, dict[str, Any]]) -> list[Claim]:
    small = {case: row for case, row in cases.items() if int(case.rsplit(" ", 1)[1]) <= SMALL}

    def fewer(half: str, some: dict[str, dict[str, Any]]) -> int:
        key = f"{half}_per_word"
        return sum(all(row["ours"][key] < peer[key] for peer in row["peers"].values()) for row in some.values())

    proved = sum(row["ours"]["gap"] <= GAP for row in cases.values())
    alike = sum(row["ours"].get("texts_alike", 0) for row in cases.values())
    compared = sum(row["ours"].get("texts_compared", 0) for row in cases.values())
    counted = (
        (f"Proved to {share(GAP)}", proved, len(cases)),
        ("Fewer tokens than every peer, training half", fewer("train", cases), len(cases)),
        (f"Fewer tokens than every peer, held-out half, up to {SMALL:,}", fewer("held_out", small), len(small)),
        ("Hugging Face's tokenizers encode held-out texts alike", alike, compared),
    )
    return [Claim(said, f"{holds:,} of {of:,}", verdict(holds, of)) for said, holds, of in counted]
