"""Convex piecewise linear-quadratic functions, by their pieces, and as sums of ReLUs and ReHUs (Theorem 1).

A piece is a polynomial c₀ + c₁r + c₂r² between two knots. A convex PLQ function L that is bounded below has a
minimiser r*; from there on to the right its derivative rises from 0: where it jumps by δ at a knot k, L has a part
ReLU(δ(r − k)); where it rises with the curvature 2c₂ = s² between the knots k and k', a part ReHU_τ(s(r − k)) with
τ = s(k' − k). The same to the left, mirrored, and L's least value is a constant. That is Theorem 1 of Dai and Qiu
(2023); the other way round, every sum of ReLUs and ReHUs is convex PLQ, and :meth:`Pieces.of_parts` gives its pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cflengine.engine.checks import InputError
from cflengine.plq.problem import CompositeLoss, rehu

_CLOSE = 1e-9  # relative: what coefficients and knots may be off by


@dataclass(frozen=True)
class Pieces:
    """Piece j is coefficients[j] = (c₀, c₁, c₂) of c₀ + c₁r + c₂r², between knots[j−1] and knots[j].

    knots: float64 (m,), ascending; coefficients: float64 (m+1, 3).
    """

    knots: np.ndarray
    coefficients: np.ndarray

    def value(self, r: np.ndarray) -> np.ndarray:
        """The function at r."""
        r = np.asarray(r, dtype=np.float64)
        c = self.coefficients[np.searchsorted(self.knots, r, side="right")]
        return c[..., 0] + r * (c[..., 1] + r * c[..., 2])

    def derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """float64 (m,), (m,): the left and the right derivative at every knot."""
        left, right = self.coefficients[:-1], self.coefficients[1:]
        return left[:, 1] + 2 * left[:, 2] * self.knots, right[:, 1] + 2 * right[:, 2] * self.knots

    @classmethod
    def through(cls, points: Sequence[tuple[float, float]]) -> Pieces:
        """The lower convex hull of points that were drawn, as a function on all numbers: beyond the first and the last
        point it goes on with their slopes, but not downwards.

        Raises ValueError for fewer than two points, equal abscissae, or numbers that are not finite.
        """
        drawn = np.array(sorted(map(tuple, points)), dtype=np.float64).reshape(-1, 2)
        if len(drawn) < 2 or not np.isfinite(drawn).all():
            raise InputError("a drawn loss needs at least two points, of finite numbers.")
        if (np.diff(drawn[:, 0]) <= 0).any():
            raise InputError("two of the drawn points are above each other.")
        hull: list[np.ndarray] = []
        for point in drawn:
            while len(hull) > 1 and _turn(hull[-2], hull[-1], point) <= 0:
                hull.pop()
            hull.append(point)
        x, y = np.array(hull).T
        with np.errstate(over="ignore"):
            slopes = np.diff(y) / np.diff(x)
        if not np.isfinite(slopes).all():
            raise InputError("two of the drawn points are so far above each other that no number is the slope.")
        slopes = np.concatenate([[min(slopes[0], 0.0)], slopes, [max(slopes[-1], 0.0)]])
        at = np.concatenate([[0], np.arange(len(x))])
        coefficients = np.column_stack([y[at] - slopes * x[at], slopes, np.zeros(len(slopes))])
        return cls(x, coefficients)

    @classmethod
    def of_parts(cls, parts: Parts) -> Pieces:
        """The pieces of a sum of ReLUs and ReHUs."""
        kinks = [-v / u for u, v in parts.relu if u]
        kinks += [(edge - t) / s for s, t, tau in parts.rehu if s for edge in (0.0, tau) if np.isfinite(edge)]
        knots = np.unique(np.array(kinks, dtype=np.float64))
        ends = np.concatenate(
            [[knots[0] - 2.0 if len(knots) else -1.0], knots, [knots[-1] + 2.0 if len(knots) else 1.0]]
        )
        rows = []
        for lo, hi in pairwise(ends):
            c, middle = np.zeros(3), 0.5 * (lo + hi)
            c[0] = parts.constant
            for u, v in parts.relu:
                if u * middle + v > 0:
                    c += (v, u, 0.0)
            for s, t, tau in parts.rehu:
                y = s * middle + t
                if y > tau:
                    c += (tau * t - 0.5 * tau * tau, tau * s, 0.0)
                elif y > 0:
                    c += (0.5 * t * t, s * t, 0.5 * s * s)
            rows.append(c)
        return cls(knots, np.array(rows))

    def check(self) -> None:
        """ValueError, in one sentence, unless the function is continuous, convex and bounded below."""
        knots, c = self.knots, self.coefficients
        if c.shape != (len(knots) + 1, 3) or not (np.isfinite(knots).all() and np.isfinite(c).all()):
            raise InputError("a loss needs one piece (c0, c1, c2) more than it has knots, all of finite numbers.")
        if (np.diff(knots) <= 0).any():
            raise InputError("the knots of a loss must ascend.")
        left = c[:-1, 0] + knots * (c[:-1, 1] + knots * c[:-1, 2])
        right = c[1:, 0] + knots * (c[1:, 1] + knots * c[1:, 2])
        at = np.abs(knots).max(initial=0.0)  # what numbers are the sums of, at any knot
        sizes = [one[:, 0] + at * (one[:, 1] + at * one[:, 2]) for one in (np.abs(c[:-1]), np.abs(c[1:]))]
        jump = np.abs(left - right) > _CLOSE * np.maximum(*sizes)
        if jump.any():
            raise InputError(f"the loss is not continuous: it jumps at {knots[jump][0]:g}.")
        if (c[:, 2] < 0).any():
            raise InputError("the loss is not convex: one of its pieces bends downwards.")
        before, after = self.derivatives()
        slopes = [one[:, 1] + 2.0 * at * one[:, 2] for one in (np.abs(c[:-1]), np.abs(c[1:]))]
        falling = before > after + _CLOSE * np.maximum(*slopes)
        if falling.any():
            raise InputError(f"the loss is not convex: its slope falls at {knots[falling][0]:g}.")
        first, last = c[0], c[-1]
        if (first[2] == 0 and first[1] > 0) or (last[2] == 0 and last[1] < 0):
            raise InputError("the loss is not bounded below: it falls for ever on one side.")

    def minimiser(self) -> float:
        """Where the (checked) function is least: in the middle, if there are several such points between two knots."""
        before, after = self.derivatives()
        lo, hi = -np.inf, np.inf
        for j, (_, c1, c2) in enumerate(self.coefficients):
            left = self.knots[j - 1] if j else -np.inf
            right = self.knots[j] if j < len(self.knots) else np.inf
            if c2 > 0 and left <= -c1 / (2 * c2) <= right:
                return float(-c1 / (2 * c2))
            if c2 == 0 and c1 == 0:
                lo, hi = left, right
        if lo > -np.inf or hi < np.inf:
            return float(0.5 * (lo + hi) if np.isfinite(lo) and np.isfinite(hi) else lo if np.isfinite(lo) else hi)
        at = np.flatnonzero((before <= 0) & (after >= 0))
        return float(self.knots[at[0]]) if len(at) else 0.0

    def parts(self) -> Parts:
        """As ReLUs and ReHUs, by the construction of the module's docstring. Raises what :meth:`check` raises."""
        self.check()
        at = self.minimiser()
        relu, rehu_parts = [], []
        for side in (1.0, -1.0):
            own = self if side > 0 else self.mirrored()
            pieces = own._right_of(side * at)
            before, size = 0.0, 0.0  # the slope, and of what numbers it is the sum
            for lo, hi, c1, c2 in pieces:
                begins = c1 + 2 * c2 * lo
                jump = begins - before
                if jump > _CLOSE * (abs(c1) + abs(2 * c2 * lo) + size):
                    relu.append((side * jump, -jump * lo))
                if c2 > 0:
                    s = float(np.sqrt(2 * c2))
                    rehu_parts.append((side * s, -s * lo, s * (hi - lo)))
                before = begins + (2 * c2 * (hi - lo) if c2 > 0 else 0.0)
                size = abs(c1) + (abs(2 * c2 * hi) if c2 > 0 else 0.0)
        return Parts(tuple(relu), tuple(rehu_parts), float(self.value(np.array(at))))

    def mirrored(self) -> Pieces:
        """r ↦ L(−r)."""
        return Pieces(-self.knots[::-1], self.coefficients[::-1] * np.array([1.0, -1.0, 1.0]))

    def _right_of(self, at: float) -> list[tuple[float, float, float, float]]:
        """(from, to, c₁, c₂) of what lies to the right of a point."""
        ends = np.concatenate([[-np.inf], self.knots, [np.inf]])
        found = []
        for j, (_, c1, c2) in enumerate(self.coefficients):
            if ends[j + 1] > at:
                found.append((max(float(ends[j]), at), float(ends[j + 1]), float(c1), float(c2)))
        return found


def _turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


@dataclass(frozen=True)
class Parts:
    """Σ ReLU(ur + v) + Σ ReHU_τ(sr + t) + constant: relu holds (u, v), rehu (s, t, τ)."""

    relu: tuple[tuple[float, float], ...] = ()
    rehu: tuple[tuple[float, float, float], ...] = ()
    constant: float = 0.0

    def value(self, r: np.ndarray) -> np.ndarray:
        """The function at r."""
        r = np.asarray(r, dtype=np.float64)
        total = np.full(r.shape, self.constant)
        for u, v in self.relu:
            total += np.maximum(u * r + v, 0.0)
        for s, t, tau in self.rehu:
            total += rehu(s * r + t, np.asarray(tau))
        return total


@dataclass(frozen=True)
class Loss:
    """A loss by name.

    Parameters
    ----------
    name : str
        With its parameters.
    parts : Parts
        Its ReLU and ReHU parts.
    of : str
        "margin", a function of y·z for a class y of ±1, or "residual", of z − y for a number y.
    """

    name: str
    parts: Parts
    of: str

    def for_data(self, y: np.ndarray, weight: np.ndarray | float = 1.0) -> CompositeLoss:
        """The losses of observations: y float (n,), ±1 or numbers; weight: C_i ≥ 0, float (n,) or one number.

        With r = mz + c, m = y and c = 0, or m = 1 and c = −y:  C·ReLU(ur + v) = ReLU(Cumz + C(uc + v)), and
        C·ReHU_τ(sr + t) = ReHU_{√C τ}(√C smz + √C(sc + t)).
        """
        y = np.asarray(y, dtype=np.float64)
        C = np.broadcast_to(np.asarray(weight, dtype=np.float64), y.shape)
        m, c = (y, np.zeros_like(y)) if self.of == "margin" else (np.ones_like(y), -y)
        u, v = (np.array([one[k] for one in self.parts.relu]) for k in range(2))
        s, t, tau = (np.array([one[k] for one in self.parts.rehu]) for k in range(3))
        root = np.sqrt(C)[:, None]
        with np.errstate(invalid="ignore"):
            tau = np.where(root > 0, root * tau, 0.0)
        return CompositeLoss(
            np.ascontiguousarray(C[:, None] * m[:, None] * u),
            np.ascontiguousarray(C[:, None] * (c[:, None] * u + v)),
            np.ascontiguousarray(root * m[:, None] * s),
            np.ascontiguousarray(root * (c[:, None] * s + t)),
            np.ascontiguousarray(np.broadcast_to(tau, (len(y), len(s)))),
            float(C.sum()) * self.parts.constant,
        )


_ROOT2 = float(np.sqrt(2.0))
_INF = float("inf")


def _fraction(name: str, value: float) -> float:
    if not 0 < value < 1:
        raise InputError(f"{name} needs a number between 0 and 1, as in {name}:0.9, not {value:g}.")
    return value


def _width(name: str, value: float) -> float:
    if not 0 <= value < np.inf:
        raise InputError(f"{name} needs a number from 0 on, not {value:g}.")
    return value


def _quantile(name: str, kappa: float) -> Parts:
    kappa = _fraction(name, kappa)
    return Parts(relu=((-kappa, 0.0), (1.0 - kappa, 0.0)))


def _expectile(name: str, kappa: float) -> Parts:
    low, high = np.sqrt(2.0 * _fraction(name, kappa)), np.sqrt(2.0 * (1.0 - kappa))
    return Parts(rehu=((-float(low), 0.0, _INF), (float(high), 0.0, _INF)))


def _huber(name: str, width: float) -> Parts:
    width = _width(name, width)
    if width == 0:
        raise InputError("huber needs a width above 0.")
    return Parts(rehu=((1.0, 0.0, width), (-1.0, 0.0, width)))


def _insensitive(name: str, width: float) -> Parts:
    width = _width(name, width)
    return Parts(relu=((1.0, -width), (-1.0, -width)))


def _squared_insensitive(name: str, width: float) -> Parts:
    width = _ROOT2 * _width(name, width)
    return Parts(rehu=((_ROOT2, -width, _INF), (-_ROOT2, -width, _INF)))


#: name -> (what it is of, its parts for a parameter, the parameter's default (None: it has none), one line)
LOSSES = {
    "hinge": ("margin", lambda name, _: Parts(relu=((-1.0, 1.0),)), None, "max(0, 1 − yz): the SVM"),
    "squared_hinge": ("margin", lambda name, _: Parts(rehu=((-_ROOT2, _ROOT2, _INF),)), None, "max(0, 1 − yz)²"),
    "smoothed_hinge": ("margin", lambda name, _: Parts(rehu=((-1.0, 1.0, 1.0),)), None, "the hinge, round at its kink"),
    "quantile": ("residual", _quantile, 0.5, "the check loss: as many below as its number says"),
    "expectile": ("residual", _expectile, 0.5, "squared, weighted by the side"),
    "huber": ("residual", _huber, 1.0, "squared near 0, absolute beyond its number"),
    "epsilon_insensitive": ("residual", _insensitive, 0.1, "absolute, 0 up to its number"),
    "squared_epsilon_insensitive": ("residual", _squared_insensitive, 0.1, "squared, 0 up to its number"),
    "absolute": ("residual", lambda name, _: Parts(relu=((1.0, 0.0), (-1.0, 0.0))), None, "|z − y|: the median"),
    "squared": ("residual", lambda name, _: Parts(rehu=((1.0, 0.0, _INF), (-1.0, 0.0, _INF))), None, "(z − y)²/2"),
}  # fmt: skip


#: a drawn loss by its points: what its name begins with -> what it is of
_DRAWN = {"drawn": "residual", "drawn_margin": "margin"}


def named_loss(text: str) -> Loss:
    """A loss by its name.

    Parameters
    ----------
    text : str
        One of LOSSES, with its number where it has one: "hinge", "quantile:0.9", "huber:1.35" (without: 0.5 of quantile
        and expectile, 1 of huber, 0.1 of the insensitive ones); or points that were drawn: "drawn:-1,2/0,0/1,1", of the
        residual, "drawn_margin:…", of the margin.

    Returns
    -------
    Loss
        Its ReLUs and ReHUs (Theorem 1), and what it is of.

    Raises
    ------
    ValueError for an unknown name or number, and what :func:`drawn_loss` raises.
    """
    name, colon, number = str(text).partition(":")
    name = name.strip().replace("-", "_")
    if name in _DRAWN:
        return drawn_loss(_points(number, str(text)), _DRAWN[name])
    if name not in LOSSES:
        raise InputError(f"the loss must be one of {', '.join([*LOSSES, *_DRAWN])}, not {text!r}.")
    of, make, default, _ = LOSSES[name]
    if colon and default is None:
        raise InputError(f"the loss {name} takes no number.")
    try:
        value = float(number) if colon else (0.0 if default is None else default)
    except ValueError:
        raise InputError(f"{number!r} is no number, in the loss {text!r}.") from None
    return Loss(str(text), make(name, value), of)


def _points(text: str, loss: str) -> list[tuple[float, float]]:
    """ "x,y/x,y" as points. Raises InputError."""
    try:
        return [(float(x), float(y)) for x, y in (point.split(",") for point in text.split("/"))]
    except ValueError:
        raise InputError(f"the loss {loss!r} needs points as in drawn:-1,2/0,0/1,1.") from None


def drawn_loss(points: Sequence[tuple[float, float]], of: str = "residual") -> Loss:
    """The lower convex hull of points, as a loss, whose name gives it again (:func:`named_loss`).

    Parameters
    ----------
    points : Sequence[tuple[float, float]]
        Two or more (x, y); beyond the first and the last it goes on as :meth:`Pieces.through` says.
    of : str, default: 'residual'
        "residual" or "margin", what x is.

    Returns
    -------
    Loss
        The loss.

    Raises
    ------
    ValueError for points that give none.
    """
    parts = Pieces.through(points).parts()
    (begins,) = (name for name, kind in _DRAWN.items() if kind == of)
    written = "/".join(",".join(np.format_float_positional(c, trim="-") for c in point) for point in points)
    return Loss(f"{begins}:{written}", parts, of)
