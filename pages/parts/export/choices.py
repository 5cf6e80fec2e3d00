"""What pages were asked for, and what goes along with the user, as plain values in a project's file.

A file may say anything: a value that no control of the page could have made is left at its default, and what does not
fit the corpus a page leaves by itself (:func:`~pages.parts.shared.selection.session_choice`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from cflengine.embedding import DEFAULT_LAMS, NETWORKS
from cflengine.loglinear import CLUSTERINGS
from cflengine.sentence_lasso import GROUP_WEIGHTS
from cflengine.text import UNITS
from pages.parts.compare.run import CompareChoice
from pages.parts.embeddings.close import LENGTHS, SHAPES
from pages.parts.embeddings.controls import KERNELS
from pages.parts.embeddings.run import EmbedChoice, SimulationChoice, TrainChoice
from pages.parts.embeddings.train_view import DEV, DIMENSIONS, LAMS, MOST_DROPPED, PENALTIES, RATES, TEST
from pages.parts.groups.run import RIDGES, WeightsChoice
from pages.parts.losses.loss_editor import clean_points
from pages.parts.losses.run import COSTS, TITLES, LossChoice
from pages.parts.overtime.view import PERIODS, TimeChoice
from pages.parts.shared.selection import GROUP, PATTERN, PHRASE
from pages.parts.subwords.controls import CUT_BY, PIECES
from pages.parts.subwords.run import SIZES, SubwordChoice
from pages.parts.tasks.run import HOW, TasksChoice
from pages.parts.telling.run import Wanted

_Check = Callable[[Any], bool]
_LONGEST = 1_000  # characters of a name or a phrase


def _name(value: Any) -> bool:
    """Half of a surrogate pair, which JSON can say, could not be shown."""
    return isinstance(value, str) and len(value) <= _LONGEST and not re.search("[\ud800-\udfff]", value)


def _names(value: Any) -> bool:
    return isinstance(value, tuple) and all(map(_name, value)) and len(set(value)) == len(value)


def _whole(low: int, high: int) -> _Check:
    return lambda value: type(value) is int and low <= value <= high


def _one_of(*values: Any) -> _Check:
    return lambda value: any(type(value) is type(one) and value == one for one in values)


_share = _one_of(0.1, 0.2, 0.3, 0.4)


def _part(value: Any) -> bool:
    return _share(value) or _name(value)


def _shapes(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(map(_one_of(*SHAPES), value))


def _yes_or_no(value: Any) -> bool:
    return isinstance(value, bool)


def _level(value: Any) -> bool:
    return isinstance(value, float) and 0.01 <= value <= 100.0


#: by the name that it has in the session: what a page is asked for, and what each of its fields may be
_KEPT: dict[str, tuple[type, Mapping[str, _Check]]] = {
    "tasks": (TasksChoice, {
        "columns": _names, "how": _one_of(*HOW), "by": lambda value: value is None or _name(value),
        "n_lams": _one_of(4, 10), "rivals": _yes_or_no, "held_out": _whole(1, 9),
    }),
    "telling": (Wanted, {
        "column": _name, "classes": _names, "dev": _part, "test": _part, "seed": _whole(0, 9999),
        "groups": _one_of(*UNITS), "group_weights": _one_of(*GROUP_WEIGHTS),
    }),
    "weights": (WeightsChoice, {
        "column": _name, "name": _name, "ridge": _one_of(*RIDGES), "clustering": _one_of(*CLUSTERINGS),
        "cluster_factor": lambda value: isinstance(value, float) and 2.0 <= value <= 200.0,
        "rounds": _whole(1, 5), "fine_iter": _whole(1, 30), "test": _part,
    }),
    "compare": (CompareChoice, {"column": _name, "groups": _names}),
    "loss": (LossChoice, {
        "column": _name, "numbers": _yes_or_no, "loss": _one_of(*TITLES), "level": _level,
        "points": lambda value: value == () or clean_points(value) == value, "C": _one_of(*COSTS),
        "features": _one_of("words", "kgrams"), "constraints": _names,
        "sensitive": lambda value: value is None or _name(value), "band": _yes_or_no, "test": _part,
    }),
    "embed": (EmbedChoice, {
        "column": _name, "classes": _names, "kernel": _one_of(*KERNELS), "stop": _yes_or_no,
        "permutations": _one_of(99, 999, 4999),
    }),
    "time": (TimeChoice, {
        "column": _name, "unit": _one_of("", *PERIODS), "by": lambda value: value is None or _name(value),
    }),
    "train": (TrainChoice, {
        "network": _one_of(*NETWORKS), "regulariser": _one_of(*PENALTIES), "lam": _one_of(*LAMS), "given": _yes_or_no,
        "epochs": _whole(1, 200), "test": _one_of(*TEST), "dimension": _one_of(*DIMENSIONS), "rate": _one_of(*RATES),
        "dev": _one_of(*DEV), "clip": _yes_or_no,
    }),
    "simulation": (SimulationChoice, {
        "first": _shapes, "second": _shapes, "length": _one_of(*LENGTHS),
        "irrelevant": lambda value: isinstance(value, float) and 0.0 <= value <= 0.9,
    }),
    "subwords": (SubwordChoice, {
        "unit": _one_of(*PIECES), "pattern": _one_of(*CUT_BY), "lowercase": _yes_or_no, "largest": _one_of(*SIZES),
    }),
}  # fmt: skip
#: those that are about any corpus
_ANY_CORPUS = ("train", "simulation", "subwords")


def choices_of(state: Mapping[str, Any], corpus_id: str) -> dict[str, Any]:
    """Plain values of what the session has chosen for its corpus. state: the session's."""
    found: dict[str, Any] = {}
    for name, (_, checks) in _KEPT.items():
        choice = state.get(f"{name}_choice")
        if choice is not None and (name in _ANY_CORPUS or state.get(f"{name}_corpus") == corpus_id):
            found[name] = {field: getattr(choice, field) for field in checks}
    phrase = None if state.get(PATTERN) else state.get(PHRASE)
    along = {"phrase": phrase, "group": state.get(GROUP), "document": state.get("document")}
    return found | {name: value for name, value in along.items() if value}


def session_values(given: Any, corpus_id: str) -> dict[str, Any]:
    """What a session takes over, by its names there; given: as :func:`choices_of` wrote it, read from a file."""
    if not isinstance(given, dict):
        return {}
    found: dict[str, Any] = {}
    for name, (kind, checks) in _KEPT.items():
        choice = _made(kind, checks, given.get(name))
        if choice is not None:
            found |= {f"{name}_choice": choice} | ({} if name in _ANY_CORPUS else {f"{name}_corpus": corpus_id})
    phrase, group, document = given.get("phrase"), _plain(given.get("group")), given.get("document")
    group = group if isinstance(group, tuple) and len(group) == 2 and all(map(_name, group)) else None
    document = document if type(document) is int and document > 0 else 0
    return found | {
        PHRASE: phrase if _name(phrase) else "", PATTERN: False, "phrase_regular": False, GROUP: group,
        "group_on_show": group, "document": document, "document_asked": document > 0,
    }  # fmt: skip


def _made(kind: type, checks: Mapping[str, _Check], given: Any) -> Any:
    """A choice of what may be believed; None where what it needs is missing."""
    if not isinstance(given, dict):
        return None
    kept = {name: value for name, check in checks.items() if name in given and check(value := _plain(given[name]))}
    needed = {field.name for field in fields(kind) if field.default is MISSING}
    if kept.get("regulariser") == "dropout" and kept.get("lam", 1.0) > MOST_DROPPED:
        kept["lam"] = DEFAULT_LAMS["dropout"]
    return kind(**kept) if needed <= set(kept) else None


def _plain(value: Any) -> Any:
    """JSON has lists where choices have tuples."""
    return tuple(map(_plain, value)) if isinstance(value, list) else value
