"""What the systems' scikit-learn estimators share."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import pandas as pd

from cflengine.engine.checks import InputError

_PACKAGE = str(Path(__file__).resolve().parents[1])
_Given = ParamSpec("_Given")
_Estimator = TypeVar("_Estimator")
_Answer = TypeVar("_Answer")


def all_or_nothing(
    fit: Callable[Concatenate[_Estimator, _Given], _Answer],
) -> Callable[Concatenate[_Estimator, _Given], _Answer]:
    """A ``fit`` that leaves an estimator as it was where it does not come to its end: an error, or Ctrl-C, after half
    of the attributes are set would leave some of this fit beside others of the last."""

    @functools.wraps(fit)
    def whole(estimator: _Estimator, *given: _Given.args, **named: _Given.kwargs) -> _Answer:
        before = dict(vars(estimator))
        try:
            return fit(estimator, *given, **named)
        except BaseException:
            vars(estimator).update(before)
            for name in vars(estimator).keys() - before.keys():
                delattr(estimator, name)
            raise

    return whole


def outside() -> int:
    """The ``stacklevel`` of a warning that its caller gives: of the first line that is not this package's."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    return level


def clone_sharing_listeners(estimator: Any) -> Any:
    """A copy without what was fitted, as scikit-learn makes it: with the output that was asked for (``set_output``) and
    the requests for metadata. ``listeners`` are shared, since few of them survive being copied."""
    from sklearn.base import BaseEstimator

    silent = object.__new__(type(estimator))
    vars(silent).update(vars(estimator), listeners=None)
    copy = BaseEstimator.__sklearn_clone__(silent)
    copy.listeners = estimator.listeners
    return copy


def checked_labels(y: Any) -> np.ndarray:
    """Labels as one array; ValueError for what are none."""
    from sklearn.utils import assert_all_finite
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import column_or_1d

    if y is None:
        raise InputError("this estimator requires y to be passed, but the target y is None.")
    words = isinstance(y, list | tuple) and any(isinstance(one, str) for one in y)
    if words and any(not isinstance(one, str) or one.endswith("\0") for one in y):
        # numpy's strings would lose zeros at their end, and make words of what is missing
        y = np.array(y, dtype=object)
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    missing = np.flatnonzero(pd.isna(y))
    if len(missing):
        raise InputError(f"the label of document {missing[0]} is missing: NaN and None are no labels.")
    y = _of_one_kind(y)
    check_classification_targets(y)
    return y


def _of_one_kind(y: np.ndarray) -> np.ndarray:
    """Numbers and truth values in an array of objects as an array of theirs. Raises InputError for a mixture."""
    if y.dtype != object or not len(y):
        return y
    kinds = {type(one) for one in y.tolist()}
    alike = {next((kind for kind in (bool, np.bool_, str, Real) if issubclass(one, kind)), one) for one in kinds}
    if len(alike) > 1:
        names = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise InputError(f"labels must be all of one kind, not a mixture of {names}.")
    return np.array(y.tolist()) if alike <= {bool, np.bool_, Real} else y


def seed_of(random_state: Any) -> int:
    """A whole number as it is; None and numpy's generators draw one."""
    from sklearn.utils import check_random_state

    if isinstance(random_state, Integral) and not isinstance(random_state, bool) and int(random_state) >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
