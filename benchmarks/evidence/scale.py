"""Shards beside the guided solver, and what a corpus takes by its size."""

from __future__ import annotations

from typing import Any

from benchmarks.compression.sizes import STEPS, every_row
from benchmarks.evidence.page import DOES_NOT, HOLDS, Claim, Evidence, Part, seconds, share

_RATIO = 1.0010  # of four shards' proved ratio over the unsharded one's
_EXPONENT = 1.15
_MANY, _BYTES, _RATE = 10_000_000, 90, 20
_LARGE, _MINUTES = 100_000_000, 40
_GROWS = {"read_s": "read", "tokens_s": "cut texts into tokens", "index_s": "index", "solve_s": "prove the gap"}


def parts(evidence: Evidence) -> list[Part]:
    """What there is of both sections."""
    found = evidence.corpora
    options = evidence.document["options"]
    made = [_shards(found["shards"], options)] if "shards" in found else []
    return made + ([_sizes(found["sizes"], options)] if "sizes" in found else [])


def _shards(found: dict[str, Any], options: dict[str, Any]) -> Part:
    runs = {name: row for name, row in found["runs"].items() if row}
    marks = list(next(iter(runs.values()))["bounds"])
    best = max(row["lower_bound"] for row in runs.values())
    rows = [
        (name, f"{row['objective']:,.0f}", f"{row['ratio']:.5f}", f"{row['steps']:,}", seconds(row["seconds"]),
         f"{row['exchanged_bytes'] / 2**20:,.0f}",
         *(f"{bound / best:.4f}" if bound else "–" for bound in (*row["bounds"].values(), row["lower_bound"])))
        for name, row in runs.items()
    ]  # fmt: skip
    ratio = runs["4 shards"]["ratio"] / runs["guided"]["ratio"]
    answers: dict[str, set[tuple[float, float]]] = {}
    for name, row in runs.items():
        answers.setdefault(name.split(",")[0], set()).add((row["objective"], row["lower_bound"]))
    alone = answers.pop("1 shard", set()) | answers.pop("guided")
    same = all(len(own) == 1 for own in answers.values())
    killed = " and with a worker that is killed in the middle" if any("killed" in name for name in runs) else ""
    claims = [
        Claim(
            "Four shards prove at most 1.0010 times the unsharded ratio, after as many steps on the relaxation",
            f"{ratio:.5f}", HOLDS if ratio <= _RATIO else DOES_NOT,
        ),
        Claim(
            f"In turn, on one worker, on two{killed} objective and bound are the same",
            f"{sum(map(len, answers.values()))} answers for {len(answers)} numbers of shards",
            HOLDS if same else DOES_NOT,
        ),
    ]  # fmt: skip
    if "1 shard" in runs:
        told = f"objectives {' and '.join(f'{own[0]:,.0f}' for own in sorted(alone))}"
        claims.append(Claim("One shard gives the unsharded answer", told, HOLDS if len(alone) == 1 else DOES_NOT))
    note = (
        f"{options['corpus']}, {found['tokens']:,} tokens, K = 3, λ = 1; one annealing and the search after it, "
        f"{found['relaxation_steps']:,} steps on the relaxation before. Bounds over the best of all."
    )
    head = ("run", "objective", "proved ratio", "steps", "s", "MiB exchanged", *(f"bound, {m} steps" for m in marks))
    return Part("Compression: in shards", note, (*head, "at the end"), rows, claims)


def _sizes(found: dict[str, Any], options: dict[str, Any]) -> Part:
    every = every_row(found)
    rows = [
        (", ".join(row.get("corpora", ["generated"])), f"{row['tokens']:,}", row["shards"],
         f"{row['k_grams_a_token']:.3f}", *(seconds(row[key]) if key in row else "in index" for key in STEPS),
         share(row["gap"], 2),
         "–" if row["bytes_a_token"] is None else f"{row['bytes_a_token']:.0f}")
        for row in every
    ]  # fmt: skip
    claims = [
        Claim(f"Time to {what} grows with tokens to a power of at most {_EXPONENT}", f"{found['exponents'][key]:.2f}",
              HOLDS if found["exponents"][key] <= _EXPONENT else DOES_NOT)
        for key, what in _GROWS.items() if key in found["exponents"]
    ]  # fmt: skip
    claims += [claim for row in every if row["tokens"] >= _MANY for claim in _asked(row)]
    claims += [_large(row, options) for row in every if row["tokens"] >= _LARGE]
    note = (
        "Generated texts (Zipf words, planted phrases), and real ones together, from files to written features, K = 3, "
        f"λ = 1, to a proved {share(options['gap'])}. Bytes a token: the process's peak above an interpreter with its "
        "imports; pages of files, which the system can drop, are not counted. Rest of the fit: the "
        "solver's arrays, shards made, the table of features."
    )
    steps = ("read, s", "cut, s", "index, s", "rest of the fit, s", "solve, s", "write, s")
    head = ("texts", "tokens", "shards", "K-grams a token", *steps, "proved gap", "bytes a token")
    limit = f", in {options['cap']:g} GiB" if options.get("cap") else ""
    what = "by size" if len(every) > 1 else f"{every[0]['tokens']:,} tokens"
    return Part(f"Compression: {what}{limit}", note, head, rows, claims)


def _asked(row: dict[str, Any]) -> list[Claim]:
    """Memory and speed, of a corpus with tokens enough for both to be more than what every process takes."""
    of = f"({', '.join(row.get('corpora', ['generated']))}, {row['tokens']:,} tokens)"
    claims, steps = [], ("read_s", "tokens_s", "index_s")
    if "characters" in row and all(key in row for key in steps):
        rate = row["characters"] / 1e6 / sum(row[key] for key in steps)
        claims.append(
            Claim(f"Read, cut and indexed at {_RATE} million characters a second together {of}", f"{rate:.1f}",
                  HOLDS if rate >= _RATE else DOES_NOT)
        )  # fmt: skip
    if row["bytes_a_token"] is not None:
        claims.append(
            Claim(f"At most {_BYTES} bytes a token {of}", f"{row['bytes_a_token']:.0f}",
                  HOLDS if row["bytes_a_token"] <= _BYTES else DOES_NOT)
        )  # fmt: skip
    return claims


def _large(row: dict[str, Any], options: dict[str, Any]) -> Claim:
    minutes = sum(row.get(key, 0.0) for key in STEPS) / 60.0
    where = f" in {options['cap']:g} GiB" if options.get("cap") else ""
    return Claim(
        f"{row['tokens']:,} tokens are read, proved to {share(options['gap'])} and written{where} in under "
        f"{_MINUTES} minutes",
        f"{share(row['gap'], 2)}, {minutes:.0f} minutes",
        HOLDS if row["gap"] <= options["gap"] and minutes < _MINUTES else DOES_NOT,
    )
