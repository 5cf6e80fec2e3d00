"""Entities in tags: IOB1, IOB2 and BIOES, and precision, recall and F1 by entities as conlleval counts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from cflengine.engine.checks import InputError, check_choice

SCHEMES = ("IOB1", "IOB2", "BIOES")
Span = tuple[int, int, str]

PREDICTED = "{}.{}"  # of tagged files that are called the same, the name of a later one's predictions


def tagged_name(file: object) -> str:
    """What a file of tagged sentences is called: without its folder, and without ``.gz``."""
    return Path(str(file)).name.removesuffix(".gz")


def split_tag(tag: str) -> tuple[str, str]:
    """``B-PER`` -> (B, PER); a tag without a prefix is outside of every entity, as ``O`` is."""
    prefix, dash, kind = tag.partition("-")
    if dash and prefix in ("B", "I", "E", "S", "L", "U"):
        return {"L": "E", "U": "S"}.get(prefix, prefix), kind
    return "O", ""


def entities(tags: Sequence[str]) -> list[Span]:
    """The entities in a sentence's tags, of whichever scheme; conlleval's rules.

    Parameters
    ----------
    tags : sequence of str
        One a token.

    Returns
    -------
    list of (int, int, str)
        First token, the one behind the last, kind.
    """
    found: list[Span] = []
    begun = -1
    before, before_kind = "O", ""
    for position, tag in enumerate([*tags, "O"]):
        prefix, kind = split_tag(tag)
        cut = before in ("O", "E", "S") or prefix in ("O", "B", "S") or kind != before_kind
        if before != "O" and cut:
            found.append((begun, position, before_kind))
        if prefix != "O" and cut:
            begun = position
        before, before_kind = prefix, kind
    return found


def tags_of(spans: Iterable[Span], n: int, scheme: str) -> list[str]:
    """The tags of n tokens with these entities. Raises ValueError for an unknown scheme, or spans that overlap."""
    check_choice(scheme, "scheme", SCHEMES)
    tags = ["O"] * n
    last_end, last_kind = -1, ""
    for first, end, kind in sorted(spans):
        if not 0 <= max(first, last_end) <= first < end <= n:
            raise InputError(f"entity {first}:{end} overlaps another or leaves the sentence of {n} tokens.")
        for position in range(first, end):
            tags[position] = f"I-{kind}"
        if scheme != "IOB1" or (first == last_end and kind == last_kind):
            tags[first] = f"B-{kind}"
        if scheme == "BIOES":
            tags[end - 1] = f"E-{kind}"
            if end == first + 1:
                tags[first] = f"S-{kind}"
        last_end, last_kind = end, kind
    return tags


def convert(tags: Sequence[str], scheme: str) -> list[str]:
    """The same entities in another scheme."""
    return tags_of(entities(tags), len(tags), scheme)


@dataclass(frozen=True)
class Score:
    """Entities of a kind, counted.

    Parameters
    ----------
    right : int
        Predicted, and in the truth.
    predicted : int
        All that were predicted.
    true : int
        All in the truth.
    """

    right: int
    predicted: int
    true: int

    @property
    def precision(self) -> float:
        """Share of the predicted that is right; 0 where none is predicted, as conlleval has it."""
        return self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of the true that is found; 0 where there is none."""
        return self.right / self.true if self.true else 0.0

    @property
    def f1(self) -> float:
        """2 P R/(P + R)."""
        return 2 * self.right / (self.predicted + self.true) if self.right else 0.0


def evaluate(true: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]]) -> dict[str, Score]:
    """Precision, recall and F1 of entities.

    Parameters
    ----------
    true : iterable of sequences of str
        Tags of each sentence.
    predicted : iterable of sequences of str
        Likewise.

    Returns
    -------
    dict of str to Score
        By kind, and "" for all kinds.

    Raises
    ------
    InputError
        Where sentences do not pair up.
    """
    counts: dict[str, Counter[str]] = {"right": Counter(), "predicted": Counter(), "true": Counter()}
    truths, guesses = list(true), list(predicted)
    if len(truths) != len(guesses):
        raise InputError(f"there are {len(guesses)} sentences but tags of {len(truths)}.")
    for truth, guess in zip(truths, guesses, strict=True):
        if len(truth) != len(guess):
            raise InputError(f"a sentence of {len(truth)} tags was given {len(guess)}.")
        wanted, found = set(entities(truth)), set(entities(guess))
        for name, spans in (("right", wanted & found), ("predicted", found), ("true", wanted)):
            for _, _, kind in spans:
                counts[name][kind] += 1
                counts[name][""] += 1
    kinds = sorted(set(counts["true"]) | set(counts["predicted"]) | {""})
    return {kind: Score(counts["right"][kind], counts["predicted"][kind], counts["true"][kind]) for kind in kinds}


def score_frame(scores: dict[str, Score]) -> pd.DataFrame:
    """A row a kind: kind, precision, recall, f1, true, predicted, right."""
    rows = [
        {"kind": kind, "precision": s.precision, "recall": s.recall, "f1": s.f1, "true": s.true,
         "predicted": s.predicted, "right": s.right}
        for kind, s in scores.items()
    ]  # fmt: skip
    return pd.DataFrame(rows)
