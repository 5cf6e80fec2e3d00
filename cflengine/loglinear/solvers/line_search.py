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
    """1/‖g‖, the first trial along −g where nothing is known of the curvature; 1 where g is 0."""
    size = float(np.linalg.norm(gradient))
    return 1.0 / size if size > 0 else 1.0


def wolfe_step(line: Line, first: float, curvature: float) -> float | None:
    """t with f(t) ≤ f(0) + 1e-4 t f'(0) and |f'(t)| ≤ curvature·|f'(0)|; None where no step decreases f.

    Where f has no digits left to decrease in, an increase by its last digits is accepted if f' says so (the
    approximate Wolfe condition of Hager and Zhang). first: the first trial.
    """
    value, slope = line.start.value, line.slope
    if not slope < 0:
        return None
    noise = 1e-15 * abs(value)
    low, low_slope = 0.0, slope
    high, high_slope = math.inf, math.nan
    t = first
    for _ in range(_TRIALS):
        here, here_slope = line.at(t)
        if not math.isfinite(here) or here > value + _SUFFICIENT * t * slope + noise:
            high, high_slope = t, here_slope if math.isfinite(here_slope) and here_slope > 0 else math.nan
        elif here_slope < curvature * slope:
            low, low_slope, before, before_slope = t, here_slope, low, low_slope
            if math.isinf(high):
                t = _beyond(before, before_slope, low, low_slope)
                continue
        elif here_slope > -curvature * slope:
            high, high_slope = t, here_slope
        else:
            return t
        t = _between(low, low_slope, high, high_slope)
        if high - low <= 1e-15 * high:
            break
    return low if low > 0 else None


def _beyond(before: float, before_slope: float, low: float, low_slope: float) -> float:
    """Where the secant of the derivative meets 0, but 2 to 10 times as far."""
    rise = low_slope - before_slope
    root = low - low_slope * (low - before) / rise if rise > 0 else math.inf
    return min(max(root, 2 * low), 10 * low)


def _between(low: float, low_slope: float, high: float, high_slope: float) -> float:
    """Where the secant of the derivative meets 0, but not within a tenth of the ends; the middle without slopes."""
    width = high - low
    if math.isnan(high_slope):
        return low + 0.5 * width if low > 0 else 0.1 * high
    root = low - low_slope * width / (high_slope - low_slope)
    return min(max(root, low + 0.1 * width), high - 0.1 * width)
