"""Constraints by name, and whether any β meets them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from cflengine.engine.checks import TOO_LARGE, InputError
from cflengine.engine.gaps import EPSILON
from cflengine.plq.certificate import Sizes
from cflengine.plq.problem import Constraints, PLQProblem, no_constraints

_FAILING = 1e-7  # t, in units of the largest number of b: what HiGHS tells from 0
_NONE = 1e-9  # of Aᵀλ, in units of A's entries
_ROUNDS = 4  # of scaling


def nonnegative(d: int, columns: Sequence[int] | None = None) -> Constraints:
    """β_j ≥ 0 for some columns (None: all) of d."""
    chosen = np.arange(d) if columns is None else np.asarray(columns)
    return inequalities(sparse.csr_matrix(sparse.eye(d, format="csr")[chosen]), np.zeros(len(chosen)))


def box(d: int, lower: float | np.ndarray = -np.inf, upper: float | np.ndarray = np.inf) -> Constraints:
    """lower ≤ β_j ≤ upper; infinite ends leave a side open."""
    lower, upper = np.broadcast_to(lower, d).astype(float), np.broadcast_to(upper, d).astype(float)
    if np.isnan(lower).any() or np.isnan(upper).any():
        raise InputError("the ends of a box must be numbers.")
    if (lower == np.inf).any() or (upper == -np.inf).any():
        raise InputError("no coefficient is in a box that begins at inf, or ends at -inf.")
    below, above = np.flatnonzero(np.isfinite(lower)), np.flatnonzero(np.isfinite(upper))
    eye = sparse.eye(d, format="csr")
    return inequalities(sparse.vstack([eye[below], -eye[above]]), np.concatenate([-lower[below], upper[above]]))


def monotone(d: int, columns: Sequence[int] | None = None, *, decreasing: bool = False) -> Constraints:
    """β_j ≤ β_k for neighbours in ``columns`` (None: 0 .. d−1), or ≥."""
    chosen = np.arange(d) if columns is None else np.asarray(columns)
    eye = sparse.eye(d, format="csr")
    steps = eye[chosen[1:]] - eye[chosen[:-1]]
    return inequalities(-steps if decreasing else steps, np.zeros(len(chosen) - 1))


def fair(X: np.ndarray | sparse.csr_matrix, sensitive: np.ndarray, most: float) -> Constraints:
    """|cov(score, sensitive column)| ≤ most: two rows, (1/n) Σ_i (g_i − ḡ) x_iᵀβ within ±most.

    Parameters
    ----------
    X : numpy.ndarray or scipy.sparse.csr_matrix
        (n, d), the data.
    sensitive : numpy.ndarray
        (n,), numbers, or two values of any kind, which count as 0 and 1.
    most : float
        At least 0, in units of the score times those of the column.

    Returns
    -------
    Constraints
        Of two rows on d coefficients.

    Raises
    ------
    ValueError for a column of another length, with gaps, or of more values that are no numbers.
    """
    g = _as_numbers(np.asarray(sensitive))
    if g.shape != (X.shape[0],) or not np.isfinite(g).all():
        raise InputError(f"a sensitive column needs a number, or one of two values, for each of the {X.shape[0]} rows.")
    if not (isinstance(most, int | float) and not isinstance(most, bool) and 0 <= most < np.inf):
        raise InputError(f"the covariance allowed must be a number from 0 on, not {most!r}.")
    centred = np.zeros(len(g)) if np.ptp(g) == 0 else g - g.mean()
    row = np.asarray(X.T @ centred).ravel() / len(g)
    least = EPSILON * np.linalg.norm(centred) * np.sqrt(Sizes.of(X).columns)
    row[np.abs(row) <= least] = 0.0  # what rounding may have left of nothing
    return inequalities(np.vstack([row, -row]), np.full(2, float(most)))


def _as_numbers(values: np.ndarray) -> np.ndarray:
    """Numbers as they are, two values of another kind as 0 and 1, others as NaN."""
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        if pd.isna(values).any():
            return np.full(values.shape, np.nan)
        found, number = np.unique(values.astype(str), return_inverse=True)
        return number.astype(np.float64) if len(found) == 2 else np.full(values.shape, np.nan)


def inequalities(A: Any, b: Any) -> Constraints:
    """Aβ + b ≥ 0."""
    A = sparse.csr_matrix(A, dtype=np.float64)
    b = np.atleast_1d(np.asarray(b, dtype=np.float64))
    if b.shape != (A.shape[0],):
        raise InputError(f"b must have one number for each of the {A.shape[0]} rows of A, not {b.size}.")
    if not (np.isfinite(A.data).all() and np.isfinite(b).all()):
        raise InputError("the numbers of a constraint must be finite.")
    return Constraints(A, b, np.zeros(len(b), dtype=bool))


def equalities(A: Any, b: Any) -> Constraints:
    """Aβ + b = 0."""
    found = inequalities(A, b)
    return Constraints(found.A, found.b, np.ones(len(found.b), dtype=bool))


def together(d: int, some: Iterable[Constraints]) -> Constraints:
    """All of them."""
    some = list(some)
    if not some:
        return no_constraints(d)
    A = sparse.csr_matrix(sparse.vstack([one.A for one in some]))
    return Constraints(A, np.concatenate([one.b for one in some]), np.concatenate([one.equal for one in some]))


def with_column(X: np.ndarray | sparse.csr_matrix, value: float) -> np.ndarray | sparse.csr_matrix:
    """X with one more column, of this value throughout."""
    column = np.full((X.shape[0], 1), value)
    return np.hstack([X, column]) if isinstance(X, np.ndarray) else sparse.csr_matrix(sparse.hstack([X, column]))


def on_more_columns(bounds: Constraints) -> Constraints:
    """The same constraints where there is one more coefficient, which they leave free."""
    A = sparse.csr_matrix((bounds.A.data, bounds.A.indices, bounds.A.indptr), (len(bounds), bounds.A.shape[1] + 1))
    return Constraints(A, bounds.b, bounds.equal)


def named(one: str | Constraints, X: np.ndarray | sparse.csr_matrix, sensitive: Any = None) -> Constraints:
    """Constraints by name: "nonnegative", "monotone", "decreasing" (each also with columns, as in "monotone:0,3,5"),
    "box:LOWER:UPPER", "fair:MOST", of which ``sensitive`` is the column. Raises ValueError for anything else."""
    if isinstance(one, Constraints):
        return one
    name, _, rest = str(one).partition(":")
    d = X.shape[1]
    try:
        if name in ("nonnegative", "monotone", "decreasing"):
            columns = [int(part) for part in rest.split(",")] if rest else None
            if columns is not None and not all(0 <= column < d for column in columns):
                raise InputError(f"the constraint {one!r} names a column that is not there: there are {d}.")
            if name == "nonnegative":
                return nonnegative(d, columns)
            return monotone(d, columns, decreasing=name == "decreasing")
        if name == "box":
            lower, upper = (float(part) if part else default for part, default in _ends(rest))
            return box(d, lower, upper)
        if name == "fair":
            if sensitive is None:
                raise InputError("a fair constraint needs the sensitive column: fit(X, y, sensitive=...).")
            return fair(X, sensitive, float(rest))
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"the numbers of the constraint {one!r} could not be read.") from None
    raise InputError(
        "a constraint is nonnegative, monotone, decreasing, box:LOWER:UPPER or fair:MOST (on the command line "
        f"monotone:a,b and fair:COLUMN:MOST), not {one!r}."
    )


def _ends(text: str) -> list[tuple[str, float]]:
    parts = text.split(":")
    if len(parts) != 2:
        raise ValueError(text)
    return [(parts[0], -np.inf), (parts[1], np.inf)]


def check_problem(problem: PLQProblem, norms: np.ndarray) -> None:
    """ValueError for data that are not finite or do not fit together, and for constraints that no β meets.

    norms: float64 (n,), squared, of the rows, which are finite only where the data are: another look is saved.
    """
    X, loss, constraints = problem.X, problem.loss, problem.constraints
    values = X.data if sparse.issparse(X) else X
    if not np.isfinite(norms).all() and not np.isfinite(values).all():
        raise InputError("the data hold NaN or infinite numbers.")
    if not np.isfinite(norms).all():
        raise InputError(TOO_LARGE)
    if len(loss) != X.shape[0]:
        raise InputError(f"there are {X.shape[0]} rows but {len(loss)} losses.")
    if not all(np.isfinite(part).all() for part in (loss.U, loss.V, loss.S, loss.T)) or np.isnan(loss.tau).any():
        raise InputError("the numbers of a loss must be finite (tau may be infinite).")
    if (loss.tau < 0).any():
        raise InputError("tau must be at least 0.")
    if constraints.A.shape[1] != X.shape[1]:
        raise InputError(f"constraints are on {constraints.A.shape[1]} coefficients, the data have {X.shape[1]}.")
    if not (0 < problem.mu < np.inf and 0 <= problem.nu < np.inf):
        raise InputError("the penalty needs mu > 0 and nu >= 0.")
    check_feasible(constraints)


def check_feasible(constraints: Constraints) -> None:
    """InputError where it is proved that no β meets the constraints.

    Rows of one coefficient are compared as they are. Others by a linear programme, the least t with Aβ + b + t ≥ 0, of
    rows that have coefficients in common alone, so that numbers of others do not matter, and in units in which entries
    are about 1. It is believed where its dual proves it: λ ≥ 0 with Aᵀλ = 0 and bᵀλ < 0 is a sum of rows that is below
    0 whatever β.

    Examples
    --------
    β₁ ≥ 1 and β₁ + β₂ ≤ 0 go together, unless β₂ ≥ 0.

    >>> some = [[1.0, 0.0], [-1.0, -1.0]]
    >>> check_feasible(inequalities(some, [-1.0, 0.0]))
    >>> check_feasible(inequalities([*some, [0.0, 1.0]], [-1.0, 0.0, 0.0]))
    Traceback (most recent call last):
    cflengine.engine.checks.InputError: the constraints contradict each other: no coefficients meet them all.
    """
    if not len(constraints) or constraints.violation(np.zeros(constraints.A.shape[1])) == 0.0:
        return
    if _ends_cross(constraints) or any(_is_contradiction(*part) for part in _coupled(constraints)):
        raise InputError("the constraints contradict each other: no coefficients meet them all.")


def _ends_cross(constraints: Constraints) -> bool:
    """Whether rows of no coefficient fail, or those of one leave nothing of it."""
    A, b, equal = constraints.A, constraints.b, constraints.equal
    entries = np.diff(A.indptr) if not len(A.data) or (A.data != 0.0).all() else (A != 0).sum(axis=1).A1
    empty = entries == 0
    if np.any(np.where(equal[empty], b[empty] != 0.0, b[empty] < 0.0)):
        return True
    lower, upper = constraints.box
    with np.errstate(invalid="ignore"):
        return bool(np.any(lower > upper + 4.0 * EPSILON * np.maximum(np.abs(lower), np.abs(upper))))


def _coupled(constraints: Constraints) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """A, b and equal of rows that share coefficients, as far as some of them have several, and β = 0 fails one."""
    A, b, equal = constraints.A, constraints.b, constraints.equal
    K = A.shape[0]
    graph = sparse.bmat([[None, A != 0], [(A != 0).T, None]], format="csr")
    _, part = connected_components(graph, directed=False)
    entries = np.asarray((A != 0).sum(axis=1)).ravel()
    failing = np.where(equal, b != 0.0, b < 0.0)
    for one in np.intersect1d(part[:K][entries > 1], part[:K][failing]).tolist():
        rows, columns = np.flatnonzero(part[:K] == one), np.flatnonzero(part[K:] == one)
        yield A[rows][:, columns].tocsr(), b[rows], equal[rows]


def _is_contradiction(A: sparse.csr_matrix, b: np.ndarray, equal: np.ndarray) -> bool:
    """Whether the linear programme's dual proves that no β meets these rows."""
    from scipy.optimize import linprog

    A = sparse.csr_matrix(sparse.vstack([A, -A[equal]]))
    b = np.concatenate([b, -b[equal]])
    for _ in range(_ROUNDS):
        of_rows = 1.0 / np.sqrt(abs(A).max(axis=1).toarray().ravel())
        A, b = sparse.csr_matrix(sparse.diags(of_rows) @ A), b * of_rows
        A = sparse.csr_matrix(A @ sparse.diags(1.0 / np.sqrt(abs(A).max(axis=0).toarray().ravel())))
    b = b / np.abs(b).max()
    d = A.shape[1]
    answer = linprog(
        np.append(np.zeros(d), 1.0), A_ub=sparse.hstack([-A, -np.ones((len(b), 1))], format="csr"), b_ub=b,
        bounds=[(None, None)] * d + [(0.0, None)], method="highs",
    )  # fmt: skip
    if answer.status != 0 or answer.fun <= _FAILING:
        return False
    dual = np.maximum(-answer.ineqlin.marginals, 0.0)
    return bool(b @ dual < -0.5 * _FAILING and np.abs(A.T @ dual).max() <= _NONE)


def without_weightless(sensitive: Any, weight: Any) -> np.ndarray:
    """The sensitive column without the rows of weight 0. Raises InputError for one that is not of all rows."""
    column = np.asarray(sensitive)
    if weight is None or np.ndim(weight) != 1:
        return column
    if column.shape[:1] != np.shape(weight):
        raise InputError(f"the sensitive column has {len(column):,} values for {len(weight):,} rows.")
    return column[np.asarray(weight) > 0]


def by_column(constraint: str, names: np.ndarray) -> str:
    """A constraint on features by their names, as one on columns: "monotone:bad,good" becomes "monotone:3,17".

    Raises ValueError for a feature that is not there.
    """
    kind, _, rest = str(constraint).partition(":")
    if kind not in ("nonnegative", "monotone", "decreasing") or not rest:
        return constraint
    number = {str(name): j for j, name in enumerate(names)}
    columns = []
    for name in rest.split(","):
        known = number.get(name, number.get(name.strip()))
        if known is None:
            raise InputError(f"the constraint {constraint!r} names {name!r}, which is no feature of this corpus.")
        columns.append(str(known))
    return f"{kind}:{','.join(columns)}"


def fairness(constraints: Sequence[str]) -> tuple[list[str], str | None]:
    """Constraints as estimators take them, and the sensitive column: "fair:COLUMN:MOST" becomes "fair:MOST".

    Parameters
    ----------
    constraints : Sequence[str]
        As the command takes them.

    Returns
    -------
    tuple[list[str], str or None]
        The constraints, and the column's name, None where there is none.

    Raises
    ------
    ValueError for two columns, and for one that is not written so.
    """
    kept, column = [], None
    for one in constraints:
        kind, _, rest = str(one).partition(":")
        if kind != "fair":
            kept.append(one)
            continue
        name, colon, most = rest.rpartition(":")
        if not (colon and name and _is_amount(most)):
            raise InputError(f"a fairness constraint is fair:COLUMN:MOST, such as fair:year:0.01, not {one!r}.")
        if column not in (None, name):
            raise InputError(f"one column can be the sensitive one, not both {column!r} and {name!r}.")
        kept.append(f"fair:{most}")
        column = name
    return kept, column


def _is_amount(text: str) -> bool:
    try:
        return 0 <= float(text) < math.inf
    except ValueError:
        return False
