"""Constructor parameters in a model's file (saving.py): all that another fit takes, so that what was loaded can be
fitted again and becomes the same model.

Left out are parameters that say how a fit is run, not what it learns. A settings object is written as the name of its
class and its fields, a mapping as pairs, since JSON would turn its keys into strings.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np

from cflengine.engine.checks import InputError
from cflengine.engine.settings import Limits
from cflengine.linear.saving import ModelFileError, plain, require

_OF_THE_RUN = ("listeners", "n_threads", "checkpoint")
_CLASS, _PAIRS = "class of settings", "pairs"


@cache
def defaults_of(kind: type) -> Mapping[str, Any]:
    """The parameters of a class with their defaults."""
    return {name: one.default for name, one in inspect.signature(kind).parameters.items()}


def parameters_of(estimator: Any, *, without: Collection[str] = ()) -> dict[str, Any]:
    """What a fit keeps as ``_learnt_with``: the parameters that say what it learns, which may be set anew after it.

    without: names of those that answers read later, and that are not the fit's.
    """
    kind: Any = type(estimator)
    return {name: getattr(estimator, name) for name in defaults_of(kind) if name not in (*_OF_THE_RUN, *without)}


def written_parameters(estimator: Any, *, without: Collection[str] = ()) -> dict[str, Any]:
    """The parameters of a fitted estimator as JSON has them. Raises InputError for one that JSON cannot give back.

    without: names of parameters that the estimator writes in a way of its own. A generator of random numbers becomes
    None: a fit by one is never the same twice.
    """
    given = parameters_of(estimator, without=without) | estimator._learnt_with
    return {name: _written(value, name) for name, value in given.items() if name not in without}


def _written(value: Any, name: str) -> Any:
    if isinstance(value, Limits):
        return {_CLASS: type(value).__name__} | {one.name: _written(getattr(value, one.name), one.name)
                                                 for one in fields(value)}  # fmt: skip
    if isinstance(value, Mapping):
        return {_PAIRS: [[plain(key, name), plain(one, name)] for key, one in value.items()]}
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return None
    return plain(sorted(value) if isinstance(value, set | frozenset) else value, name)


def read_parameters(
    kind: type, written: Any, name: str, *, least: Collection[str], settings: Sequence[type[Limits]] = ()
) -> dict[str, Any]:
    """What the class ``kind`` is to be made with; parameters that the file lacks, being older, are left to it.

    name: of the file. least: the parameters that files of version 2 have. settings: the classes that a settings object
    may be of. Raises ModelFileError for parameters that the class does not have, and for settings out of range.
    """
    known = defaults_of(kind)
    require(isinstance(written, dict) and set(least) <= set(written) <= set(known) - set(_OF_THE_RUN), name)
    classes = {one.__name__: one for one in settings}
    try:
        found = {key: _read(value, classes) for key, value in written.items()}
    except (InputError, LookupError, TypeError, ValueError) as error:
        raise ModelFileError(f"'{name}' is damaged: {error}") from error
    return {
        key: tuple(value) if isinstance(value, list) and isinstance(known[key], tuple) else value
        for key, value in found.items()
    }


def _read(value: Any, classes: Mapping[str, type[Limits]]) -> Any:
    if isinstance(value, dict) and _CLASS in value:
        own = {key: _read(one, classes) for key, one in value.items() if key != _CLASS}
        return classes[value[_CLASS]](**own)
    if isinstance(value, dict) and _PAIRS in value:
        return dict(value[_PAIRS])
    return value
