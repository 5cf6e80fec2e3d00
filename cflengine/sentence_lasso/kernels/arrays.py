"""What travels together through the kernels, as NamedTuples. Shapes: V features, D documents, G groups (sentences), E
entries of groups; F features of a support."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Columns(NamedTuple):
    """X by columns: indptr int64 (V+1,), rows int32, values float64."""

    indptr: np.ndarray
    rows: np.ndarray
    values: np.ndarray


class Groups(NamedTuple):
    """Group g has the entries ptr[g] .. ptr[g+1]-1 (int64 (G+1,)). feature: int32 (E,); counts: float64 (E,), c_gj;
    weight: float64 (G,), a_g."""

    ptr: np.ndarray
    feature: np.ndarray
    counts: np.ndarray
    weight: np.ndarray


class NewtonModel(NamedTuple):
    """A Newton model of the loss, plus ½ q w² − linear w. q, linear, curvature: float64 (V,), curvature Σ_d h_d x_dj²;
    hessian: float64 (D,), h."""

    q: np.ndarray
    linear: np.ndarray
    curvature: np.ndarray
    hessian: np.ndarray


class ModelPoint(NamedTuple):
    """Where coordinate descent on the model is. derivative: float64 (D,), the model's by score; moved: float64 (D,),
    the scores' change since the start; w: float64 (V,)."""

    derivative: np.ndarray
    moved: np.ndarray
    w: np.ndarray


class HessianParts(NamedTuple):
    """What the Hessian of (P) on a support is made of. hessian: float64 (D,); kappa: float64 (F,); scale: float64 (G,),
    λ_sen a_g/η_g; inverse_square: float64 (G,), η_g⁻²; w: float64 (F+1,), the bias last."""

    hessian: np.ndarray
    kappa: np.ndarray
    scale: np.ndarray
    inverse_square: np.ndarray
    w: np.ndarray


class Search(NamedTuple):
    """Of conjugate gradients. p, residual, direction, product: float64 (F+1,); at_rows: float64 (D,), work."""

    p: np.ndarray
    residual: np.ndarray
    direction: np.ndarray
    product: np.ndarray
    at_rows: np.ndarray


class Free(NamedTuple):
    """Groups without weight. groups: int64, their numbers; counts: float64 (V,), Σ over them of c_gj."""

    groups: np.ndarray
    counts: np.ndarray


class Dual(NamedTuple):
    """u: float64 (E,), multipliers; r: float64 (V,), what they leave of the gradient's negative."""

    u: np.ndarray
    r: np.ndarray
