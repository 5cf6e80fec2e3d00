"""Subword vocabularies: tokens a word beside other programs', what is proved, and whether fewer tokens model better."""

from __future__ import annotations

from typing import Any

from benchmarks.evidence.page import Claim, Evidence, Part, seconds, share, verdict

GAP = 0.003  # what was asked to be proved
SMALL = 8_000  # up to which size fewer tokens are asked for on held-out texts, too
MINUTES, GIB = 5, 4  # for the largest corpus, whole
BPE = "Hugging Face BPE"


def parts(evidence: Evidence) -> list[Part]:
    """One table, and what was asked."""
    rows, cases = [], evidence.cases()
    for case, row in cases.items():
        corpus, size = case.rsplit(" ", 1)
        for name, one in {"cflengine": row["ours"], **row["peers"]}.items():
            proved = one.get("gap", one.get("from_best"))
            made = ["–" if proved is None else share(proved, 2), seconds(one["seconds"]), _gib(one["peak_fitting"])]
            rows.append([corpus.replace("_whole", ", whole"), f"{int(size):,}", name, *_rates(one), *made])
    note = (
        "Vocabularies of bytes, words by GPT-2's pattern, pieces of up to 16 bytes. Above best: how many more tokens "
        "the training half takes, at most, than with any vocabulary of the size, proved; of peers, too, where size and "
        "words are the same. Bits a character: of held-out texts, by a 5-gram model of the tokens of a million words."
    )
    head = ("corpus", "size", "trained by", "tokens a word", "held out", "bits a character", "above best", "s", "GiB")
    return [Part("Tokenizers", note, head, rows, _claims(cases))]


def _rates(row: dict[str, Any]) -> list[str]:
    keys = ("train_per_word", "held_out_per_word", "bits_a_character")
    return [f"{row[key]:.4f}" if key in row else "–" for key in keys]


def _gib(size: float) -> str:
    return f"{size / 2**30:.2f}"


def _claims(cases: dict[str, dict[str, Any]]) -> list[Claim]:
    compared = {case: row for case, row in cases.items() if row["peers"]}
    small = {case: row for case, row in compared.items() if int(case.rsplit(" ", 1)[1]) <= SMALL}
    whole = [row["ours"] for case, row in cases.items() if "_whole " in case]

    def fewest(key: str, some: dict[str, dict[str, Any]], peer: str | None = None) -> tuple[int, int]:
        rows = [(row["ours"], [row["peers"][peer]] if peer else row["peers"].values()) for row in some.values()]
        return sum(all(own[key] < theirs[key] for theirs in others) for own, others in rows), len(rows)

    within = sum(own["seconds"] <= 60 * MINUTES and own["peak_fitting"] <= GIB * 2**30 for own in whole)
    counted = (
        (f"Proved to {share(GAP)}", sum(row["ours"]["gap"] <= GAP for row in cases.values()), len(cases)),
        (f"IMDb whole in {MINUTES} minutes and {GIB} GiB", within, len(whole)),
        ("Fewer tokens than every peer, training half", *fewest("train_per_word", compared)),
        (f"Fewer tokens than every peer, held-out half, up to {SMALL:,}", *fewest("held_out_per_word", small)),
        ("Fewer bits a character than every peer", *fewest("bits_a_character", compared)),
        (f"Fewer bits a character than {BPE}", *fewest("bits_a_character", compared, BPE)),
        (
            "Hugging Face's tokenizers encode texts of a million words alike",
            *(sum(row["ours"].get(f"texts_{what}", 0) for row in cases.values()) for what in ("alike", "compared")),
        ),
    )
    return [Claim(said, f"{holds:,} of {of:,}", verdict(holds, of)) for said, holds, of in counted if of]
