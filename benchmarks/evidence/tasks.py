"""What features are worth (AISTATS 2014, §5.1): each method against words on the same documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.evidence.page import Claim, Evidence, Part, share, verdict

NEARLY_TWICE = 1.8
METHODS = {
    "unigrams": "words", "compressed:pointers": "pointers (the paper's)", "compressed:occurrences": "occurrences",
    "compressed:soft": "soft counts", "compressed:several": "all λ together", "all_kgrams": "all K-grams",
}  # fmt: skip


def parts(evidence: Evidence) -> list[Part]:
    """A table for classes, one for numbers, and the paper's claims."""
    found = {
        f"{section}: {case}": body
        for section, cases in evidence.cases().items()
        for case, body in cases.items()
        if isinstance(body, dict) and "methods" in body
    }
    right = {name: body for name, body in found.items() if "accuracy" in body["methods"]["unigrams"]}
    numbers = {name: body for name, body in found.items() if name not in right}
    head = ("target", *METHODS.values(), "the best other")
    classes = Part(
        "Features: accuracy by method", "Share of held-out documents; in brackets p against words.", head,
        [(name, *(_cell(body, method) for method in METHODS), _other(body, _cell)) for name, body in right.items()],
    )  # fmt: skip
    errors = Part(
        "Features: squared error below words'", "1 − error / error of words; in brackets p.", head,
        [(name, *(_gain(body, method) for method in METHODS), _other(body, _gain)) for name, body in numbers.items()],
    )  # fmt: skip
    authors = {name: body for name, body in right.items() if name.startswith("authors")}
    ratios = [_accuracy(body, "compressed:pointers") / _accuracy(body, "unigrams") for body in authors.values()]
    four = [name for name, body in numbers.items() if _gain_of(body, "compressed:pointers") >= 0.04]
    best = [
        name for name, body in numbers.items() if max(_gain_of(body, method) for method in list(METHODS)[1:5]) >= 0.04
    ]
    classes.claims = [
        Claim(
            "Pointers are nearly twice as accurate as words on authors (§5.1.1)",
            f"{min(ratios):.2f} to {max(ratios):.2f} times as accurate in {len(ratios)} variants",
            verdict(sum(ratio > NEARLY_TWICE for ratio in ratios), len(ratios)),
        )
    ]  # fmt: skip
    errors.claims = [
        Claim(
            "Pointers have an error at least 4 % below words' (§5.1.2)", f"{len(four)} of {len(numbers)} targets",
            verdict(len(four), len(numbers)),
        ),
        Claim(
            "Some count of the same K-grams has an error at least 4 % below words'",
            f"{len(best)} of {len(numbers)} targets", verdict(len(best), len(numbers)),
        ),
    ]  # fmt: skip
    for part, bodies in ((classes, right), (errors, numbers)):
        first = sum(_best_of(body, compressed=True) >= _best_of(body, compressed=False) for body in bodies.values())
        part.claims.append(
            Claim(
                "Some count of compressive features is at least as good as every other method",
                f"{first} of {len(bodies)} targets", verdict(first, len(bodies)),
            )
        )  # fmt: skip
    return [classes, errors]


def _best_of(body: dict[str, Any], *, compressed: bool) -> float:
    """The best score of compressive features, or of all else."""
    chosen = [row for name, row in body["methods"].items() if name.startswith("compressed:") == compressed]
    return max(row["accuracy"] if "accuracy" in row else -row["mse"] for row in chosen)


def _other(body: dict[str, Any], shown: Callable[[dict[str, Any], str], str]) -> str:
    """The best method that has no column, with its name; a dash where there is none."""
    rest = {name: row for name, row in body["methods"].items() if name not in METHODS}
    rest = {name: row for name, row in rest.items() if not name.startswith("compressed:")}
    if not rest:
        return "–"
    name = max(rest, key=lambda one: rest[one].get("accuracy", -rest[one].get("mse", 0.0)))
    return f"{name.replace('_', ' ').replace(':', ', ')}: {shown(body, name)}"


def _accuracy(body: dict[str, Any], method: str) -> float:
    return float(body["methods"][method]["accuracy"])


def _p(row: dict[str, Any]) -> str:
    p = row.get("against_unigrams", {}).get("p")
    return "" if p is None else f" ({p:.2g})"


def _cell(body: dict[str, Any], method: str) -> str:
    row = body["methods"].get(method)
    return "–" if row is None else share(row["accuracy"]) + ("" if method == "unigrams" else _p(row))


def _gain_of(body: dict[str, Any], method: str) -> float:
    row = body["methods"].get(method)
    return float("-inf") if row is None else 1.0 - row["mse"] / body["methods"]["unigrams"]["mse"]


def _gain(body: dict[str, Any], method: str) -> str:
    row = body["methods"].get(method)
    if row is None:
        return "–"
    return f"error {row['mse']:.3g}" if method == "unigrams" else share(_gain_of(body, method)) + _p(row)
