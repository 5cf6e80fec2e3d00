"""Checks of parameters, with one sentence for each kind of mistake."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from numbers import Real
from typing import Any

import numpy as np

TOO_LARGE = "the data hold numbers so large that their squares are infinite: scale the features."


class InputError(ValueError):
    """What a user gave cannot be worked with; the message is one sentence that says what is wrong and what to do."""


class MissingPackageError(ImportError):
    """An optional package is not installed; the message says which, and how to get it."""


def is_number(value: object) -> bool:
    """Whether it is a real number; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def check_choice(value: Any, name: str, choices: Collection[str]) -> str:
    """``value``. Raises InputError unless it is one of the choices; name: of the parameter."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}, not {value!r}.")
    return value


def check_positive(settings: object, names: Collection[str], *, optional: Collection[str] = ()) -> None:
    """ValueError unless these attributes are finite numbers above 0; those in ``optional`` may be None."""
    for name in names:
        value = getattr(settings, name)
        if not (value is None and name in optional) and not (is_number(value) and 0 < value < math.inf):
            raise InputError(f"{name} must be a positive number, not {value!r}.")


def check_flags(settings: object, *names: str) -> None:
    """ValueError unless these attributes are True or False: a word would count as True."""
    for name in names:
        if not isinstance(getattr(settings, name), bool | np.bool_):
            raise InputError(f"{name} must be True or False, not {getattr(settings, name)!r}.")


def check_whole(settings: object, least: Mapping[str, int], *, optional: Collection[str] = ()) -> None:
    """ValueError unless these attributes are whole numbers of at least the least; those in ``optional`` may be None."""
    for name, bound in least.items():
        value = getattr(settings, name)
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not (value is None and name in optional) and not (whole and value >= bound):
            raise InputError(f"{name} must be a whole number of at least {bound}, not {value!r}.")
