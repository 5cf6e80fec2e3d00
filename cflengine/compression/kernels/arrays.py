"""What travels together through the kernels, as NamedTuples: numba caches them, and each has its shapes in one place.

See also ``PointerCosts`` (model/problem.py), ``Blocks`` (passes/blocks.py), ``Borders`` and ``Carry``
(passes/pieces.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Pointers(NamedTuple):
    """The pointers of a corpus. slot: int32 (K, n), where each has its w (passes/layout.py), -1 for none; gram_of:
    int32 (K, n), its K-gram."""

    slot: np.ndarray
    gram_of: np.ndarray


class Iterate(NamedTuple):
    """Of linearised ADMM. slot: int32 (K, n), as in ``Pointers``; w: float32 (m,), by place; y, z: float32 (n,)."""

    slot: np.ndarray
    w: np.ndarray
    y: np.ndarray
    z: np.ndarray


class Theta(NamedTuple):
    """Of its steps at ζ > 0. gram_of: int32 (K, n), as in ``Pointers``; u: float32 (K, n), y_θ/ρ by position, or (K, 0)
    for zero; cover: uint8 (n,), ψ; used: uint8 (G,), set where ψ uses a K-gram."""

    gram_of: np.ndarray
    u: np.ndarray
    cover: np.ndarray
    used: np.ndarray


class Step(NamedTuple):
    """The numbers of one step. rho, rho_next: ρ now and then; over: over-relaxation; keep: σ/(σ + 1) at ζ > 0,
    else 1; scale: (K,), by length, 1/(σ + 1) at ζ > 0, else 1/σ; zeta: ζ."""

    rho: np.float32
    rho_next: np.float32
    over: np.float32
    keep: np.float32
    scale: np.ndarray
    zeta: np.float32


class StepSums(NamedTuple):
    """Written by a step, per block. residuals: float32 (B, 2), the largest |Xw − z| and |z − z̄|; pointer_costs,
    float64 (B,), Σ dw; binary_costs: float64 (B,), of ψ."""

    residuals: np.ndarray
    pointer_costs: np.ndarray
    binary_costs: np.ndarray


class Bins(NamedTuple):
    """Groups in the places of a layout (passes/layout.py). rank: uint16 (m,); grp_ptr: int64 (G+1,); gram: int64
    (B+1,), bin b is K-grams gram[b] .. gram[b+1]-1, of length length[b] (uint8 (B,)); ptr: int64 (B+1,), its places."""

    rank: np.ndarray
    grp_ptr: np.ndarray
    gram: np.ndarray
    ptr: np.ndarray
    length: np.ndarray


class GroupSums(NamedTuple):
    """Written by an operation on groups. levels: float32 (G,), by K-gram, or (0,); totals: float64 (B,), Σ c(s)·level,
    and support: int64 (B,), how many levels are not zero, by bin."""

    levels: np.ndarray
    totals: np.ndarray
    support: np.ndarray


class Prices(NamedTuple):
    """What the encoding programme charges beside d. gram: float64 (G,), added for each use of a K-gram, inf forbids;
    literal: of a token without a K-gram, inf for none."""

    gram: np.ndarray
    literal: float


class DictionaryPrices(NamedTuple):
    """What a dictionary charges beside d. gram: float64 (G,), c(s), for an absent single word; present: uint8 (G,), the
    dictionary."""

    gram: np.ndarray
    present: np.ndarray


class Places(NamedTuple):
    """Places of candidates' moves (kernels/choose.py). number: int32, of the candidate; position: int32; worth:
    float32."""

    number: np.ndarray
    position: np.ndarray
    worth: np.ndarray


class Moves(NamedTuple):
    """Candidates and their places. ptr: int64, the places of candidate c are ptr[c] .. ptr[c+1]-1; position: int32,
    worth: float32, by place; length: int64, cost: float64, by candidate."""

    ptr: np.ndarray
    position: np.ndarray
    worth: np.ndarray
    length: np.ndarray
    cost: np.ndarray


class Window(NamedTuple):
    """Work arrays over a run of tokens (kernels/moves.py). cost, plain: float64 (K, size), prices in the dictionary and
    d alone; worth: float32 (K, size); reach, back, suffix_min, prefix_min: float64 (size+1,); anew: float64 (K,)."""

    cost: np.ndarray
    plain: np.ndarray
    worth: np.ndarray
    reach: np.ndarray
    back: np.ndarray
    suffix_min: np.ndarray
    prefix_min: np.ndarray
    anew: np.ndarray


class Segments(NamedTuple):
    """Where two covers differ. first, last: int32, tokens first .. last-1; delta: float64, pointer cost of the second
    less that of the first."""

    first: np.ndarray
    last: np.ndarray
    delta: np.ndarray


class Pairs(NamedTuple):
    """segment, gram: int32, a segment uses a K-gram that only one dictionary has."""

    segment: np.ndarray
    gram: np.ndarray


class Encoded(NamedTuple):
    """A corpus in the cheapest encoding with a dictionary (kernels/ledger.py). gram_of: int32 (K, n); doc_ptr: int64
    (N+1,); allowed, cover: uint8 (n,); reach: float64 (n + N,); storage: float64 (G,), c(s)."""

    gram_of: np.ndarray
    doc_ptr: np.ndarray
    allowed: np.ndarray
    cover: np.ndarray
    reach: np.ndarray
    storage: np.ndarray


class Entries(NamedTuple):
    """The D K-grams of a dictionary. gram: int32, length: int8; positions: int32, where they occur, those of entry f at
    ptr[f] .. ptr[f+1]-1 (int64 (D+1,))."""

    gram: np.ndarray
    length: np.ndarray
    ptr: np.ndarray
    positions: np.ndarray


class Losses(NamedTuple):
    """By entry. loss: float64, what the corpus would cost more without it; uses: int64; paid: float64, their cost."""

    loss: np.ndarray
    uses: np.ndarray
    paid: np.ndarray


class Weighted(NamedTuple):
    """Of iterative reweighting's ADMM. slot: int32 (K, n), as in ``Pointers``; w, weight: float32 (m,), by place, w and
    D; z: float32 (K, n); beta: float64 (n,), α/ρ; cover: uint8 (n,), bit k-1 where z is not zero."""

    slot: np.ndarray
    w: np.ndarray
    weight: np.ndarray
    z: np.ndarray
    beta: np.ndarray
    cover: np.ndarray


class Projection(NamedTuple):
    """How its steps project (kernels/projection.py). table: float64 (K, K, K), of ``overlaps``; tol, limit: when to
    end; nonzero: above which z counts as not zero; rho, rho_next: float64."""

    table: np.ndarray
    tol: float
    limit: int
    nonzero: float
    rho: float
    rho_next: float


class ProjectionSums(NamedTuple):
    """Written by its steps, per block. sums: float64 (B, 5), Σ (w − z)², Σ (z − z̄)², Σ w², Σ z², Σ (Xᵀβ)²;
    pointer_costs: float64 (B,), Σ dw; uncovered: int64 (B,), tokens that the rounding leaves uncovered."""

    sums: np.ndarray
    pointer_costs: np.ndarray
    uncovered: np.ndarray
