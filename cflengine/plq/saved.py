"""A loss and constraints of one's own in a model's file: numbers, as JSON has them.

Examples
--------
Β₁ ≤ 3, written and read again.

>>> from cflengine.plq.constraints import box
>>> again = read_constraints(written_constraints(box(2, upper=[3.0, np.inf])), "m.cflm")
>>> again.A.toarray().tolist(), again.b.tolist(), again.equal.tolist()
([[-1.0, 0.0]], [3.0], [False])
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from cflengine.linear.saving import ModelFileError, require
from cflengine.plq.losses import Loss, Parts
from cflengine.plq.problem import Constraints


def written_loss(loss: Loss) -> dict[str, Any]:
    """A loss as its parts."""
    rehu = [(s, t, tau if np.isfinite(tau) else None) for s, t, tau in loss.parts.rehu]  # JSON has no infinity
    return {
        "name": loss.name, "of": loss.of, "relu": loss.parts.relu, "rehu": rehu, "constant": loss.parts.constant,
    }  # fmt: skip


def read_loss(loss: dict[str, Any], name: str) -> Loss:
    """The other way; name: of the file. Raises ModelFileError for what is none."""
    require(set(loss) == {"name", "of", "relu", "rehu", "constant"}, name)
    try:
        relu = tuple((float(u), float(v)) for u, v in loss["relu"])
        rehu = tuple((float(s), float(t), np.inf if tau is None else float(tau)) for s, t, tau in loss["rehu"])
        return Loss(str(loss["name"]), Parts(relu, rehu, float(loss["constant"])), str(loss["of"]))
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"'{name}' is damaged: {error}") from error


def written_constraints(constraints: Constraints) -> dict[str, Any]:
    """Constraints as the entries of A, b, and which rows are equations."""
    A = sparse.coo_array(constraints.A)
    return {
        "rows": A.coords[0].tolist(), "columns": A.coords[1].tolist(), "entries": A.data.tolist(),
        "features": A.shape[1], "b": constraints.b.tolist(), "equal": constraints.equal.tolist(),
    }  # fmt: skip


def read_constraints(written: dict[str, Any], name: str) -> Constraints:
    """The other way; name: of the file. Raises ModelFileError for what is none."""
    require(set(written) == {"rows", "columns", "entries", "features", "b", "equal"}, name)
    try:
        b, equal = np.array(written["b"], dtype=np.float64), np.array(written["equal"])
        where = np.array(written["rows"]), np.array(written["columns"])
        entries = np.array(written["entries"], dtype=np.float64)
        require(b.ndim == 1 and equal.shape == b.shape and equal.dtype == (bool if len(b) else equal.dtype), name)
        require(bool(np.isfinite(b).all() and np.isfinite(entries).all()), name)
        A = sparse.coo_matrix((entries, where), shape=(len(b), int(written["features"]))).tocsr()
        return Constraints(A, b, equal.astype(bool))
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"'{name}' is damaged: {error}") from error
