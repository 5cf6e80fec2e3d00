"""A step that meets the strong Wolfe conditions on a convex line.

The derivative of a convex function along a line rises, so the steps that are too short and those that are too long
stand on two sides, and safeguarded secants of the derivative close in on what lies between.
"""

from __future__ import annotations

import math

import numpy as np

from cflengine.loglinear.model.objective import Line

_SUFFICIENT = 1e-4  # Armijo's constant
_TRIALS = 40


def unit_step(gradient: np.ndarray) -> float:
    """1/‖g‖, the first trial along −g where nothing is known of the curvature.

    Parameters
    ----------
    gradient : float64 ndarray (d,)
        g.

    Returns
    -------
    float
        1 where g is 0.
    """
    size = float(np.linalg.norm(gradient))
    return 1.0 / size if size > 0 else 1.0


def wolfe_step(line: Line, first: float, curvature: float) -> float | None:
    """t with f(t) ≤ f(0) + 1e-4 t f'(0) and |f'(t)| ≤ curvature·|f'(0)|.

    Where f has no digits left to decrease in, an increase by its last digits is accepted if f' says so (the approximate
    Wolfe condition of Hager and Zhang).

    Parameters
    ----------
    line : Line
        f and f' along a direction.
    first : float
        The first trial.
    curvature : float
        Between 0 and 1.

    Returns
    -------
    float or None
        None where no step decreases f.
    """
    value, derivative = line.start.value, line.derivative
    if not derivative < 0:
        return None
    noise = 1e-15 * abs(value)
    low, low_derivative = 0.0, derivative
    high, high_derivative = math.inf, math.nan
    t = first
    for _ in range(_TRIALS):
        here, here_derivative = line.at(t)
        if not math.isfinite(here) or here > value + _SUFFICIENT * t * derivative + noise:
            high, high_derivative = (
                t,
                here_derivative if math.isfinite(here_derivative) and here_derivative > 0 else math.nan,
            )
        elif here_derivative < curvature * derivative:
            low, low_derivative, before, before_derivative = t, here_derivative, low, low_derivative
            if math.isinf(high):
                t = _beyond(before, before_derivative, low, low_derivative)
                continue
        elif here_derivative > -curvature * derivative:
            high, high_derivative = t, here_derivative
        else:
            return t
        t = _between(low, low_derivative, high, high_derivative)
        if high - low <= 1e-15 * high:
            break
    return low if low > 0 else None


def _beyond(before: float, before_derivative: float, low: float, low_derivative: float) -> float:
    """Where the secant of the derivative meets 0, but 2 to 10 times as far."""
    rise = low_derivative - before_derivative
    root = low - low_derivative * (low - before) / rise if rise > 0 else math.inf
    return min(max(root, 2 * low), 10 * low)


def _between(low: float, low_derivative: float, high: float, high_derivative: float) -> float:
    """Where the secant of the derivative meets 0, but not within a tenth of the ends, the middle without them."""
    width = high - low
    if math.isnan(high_derivative):
        return low + 0.5 * width if low > 0 else 0.1 * high
    root = low - low_derivative * width / (high_derivative - low_derivative)
    return min(max(root, low + 0.1 * width), high - 0.1 * width)
