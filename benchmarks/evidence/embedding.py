"""Word-level MMD: accuracies beside the published ones, and the speed of the statistic."""

from __future__ import annotations

from typing import Any

from benchmarks.embedding.tables import PUBLISHED
from benchmarks.evidence.page import DOES_NOT, HOLDS, IN_PART, Claim, Evidence, Part, seconds, share, verdict

FIVE_TIMES = 5.0  # what was asked of the statistic's speed


def parts(evidence: Evidence) -> list[Part]:
    """A table for each corpus with published figures, and one for the others."""
    cases = evidence.cases()
    found = [_published(name, cases[name]) for name in ("ce-t1", "bbc", "bbc-100") if name in cases]
    if "flat" in cases:
        found.append(_flat(cases["flat"]))
    if "english" in cases:
        found.append(_english(cases["english"]))
    return found


def _rows(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in body.values() if isinstance(row, dict) and "test" in row]


def _published(name: str, body: dict[str, Any]) -> Part:
    rows, claims = [], []
    for row in _rows(body):
        said = PUBLISHED.get((name, row["network"]), {}).get(row["penalty"])
        test, published = f"{share(row['test'])} ± {share(row['spread'])}", "–" if said is None else f"{said:g} %"
        rows.append((row["network"], row["penalty"], f"{row['lam']:g}", test, published))
    by = {(row["network"], row["penalty"]): row for row in _rows(body)}
    for network in dict.fromkeys(row["network"] for row in _rows(body)):
        plain, ours = by.get((network, "none")), by.get((network, "wmmd"))
        if plain is None or ours is None:
            continue
        gain, beyond = ours["test"] - plain["test"], max(ours["spread"], plain["spread"])
        claims.append(
            Claim(
                f"wMMD beats no penalty ({network})", f"{share(plain['test'])} → {share(ours['test'])}",
                HOLDS if gain > beyond else IN_PART if gain > 0 else DOES_NOT,
            )
        )  # fmt: skip
    note = "Test accuracy, mean and spread of five seeds. Holds: by more than the spread; in part: by less."
    return Part(f"Embeddings: {name}", note, ("network", "penalty", "λ", "test", "published"), rows, claims)


def _flat(body: dict[str, Any]) -> Part:
    rows, claims = _rows(body), []
    for network in dict.fromkeys(row["network"] for row in rows):
        tests = [row["test"] for row in rows if row["network"] == network and row["lam"] >= 100]
        if len(tests) > 1:
            spread = max(tests) - min(tests)
            found = f"{share(min(tests))} to {share(max(tests))}"
            claims.append(
                Claim(f"Accuracy stays flat for large λ ({network})", found, HOLDS if spread < 0.02 else IN_PART)
            )
    table = [(row["network"], f"{row['lam']:g}", share(row["test"])) for row in rows]
    return Part("Embeddings: λ of wMMD on CE-T1", "", ("network", "λ", "test"), table, claims)


def _english(body: dict[str, Any]) -> Part:
    table, better = [], []
    for case, rows in body.items():
        if not isinstance(rows, dict):
            continue
        by = {row["penalty"]: row for row in _rows(rows)}
        table.append((case, *(share(by[name]["test"]) if name in by else "–" for name in ("none", "dropout", "wmmd"))))
        if "none" in by and "wmmd" in by:
            better.append(by["wmmd"]["test"] > by["none"]["test"])
    claim = Claim(
        "wMMD beats no penalty over English text",
        f"{sum(better)} of {len(better)} cases",
        verdict(sum(better), len(better)),
    )
    return Part("Embeddings: English text (CNN)", "", ("case", "none", "dropout", "wMMD"), table, [claim])


def speed_parts(evidence: Evidence) -> list[Part]:
    """Seconds of value and gradient."""
    rows, times = [], []
    for words, row in evidence.corpora["speed"].items():
        if isinstance(row, dict):
            rows.append((f"{int(words):,}", seconds(row["ours"]), seconds(row.get("numpy")), seconds(row.get("jax")),
                         f"{row['peak_bytes'] / 2**20:,.0f}"))  # fmt: skip
            times += [(row["times_numpy"], row["times_jax"])] if words == "10000" else []
    claims = [
        Claim(
            f"At 10,000 words at least {FIVE_TIMES:g} times as fast as V × V in numpy and in JAX",
            f"{a:.1f} and {b:.1f} times", verdict(int(a >= FIVE_TIMES) + int(b >= FIVE_TIMES), 2),
        )
        for a, b in times
    ]  # fmt: skip
    head = ("words", "ours, s", "numpy V × V, s", "JAX V × V, s", "peak, MiB")
    return [Part("Embeddings: value and gradient of wMMD²", "Medians.", head, rows, claims)]
