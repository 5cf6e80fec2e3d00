"""Losses: by name against their formulas, pieces to parts and back, what is refused, losses of observations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cflengine.engine.checks import InputError
from cflengine.plq.losses import LOSSES, Loss, Parts, Pieces, drawn_loss, named_loss
from cflengine.plq.problem import rehu

GRID = np.linspace(-6.0, 6.0, 4_001)

FORMULAS = {
    "hinge": lambda r: np.maximum(1 - r, 0),
    "squared_hinge": lambda r: np.maximum(1 - r, 0) ** 2,
    "smoothed_hinge": lambda r: np.where(r >= 1, 0, np.where(r > 0, (1 - r) ** 2 / 2, 0.5 - r)),
    "quantile:0.9": lambda r: np.where(r < 0, -0.9 * r, 0.1 * r),
    "expectile:0.8": lambda r: np.where(r < 0, 0.8, 0.2) * r**2,
    "huber:1.35": lambda r: np.where(np.abs(r) <= 1.35, r**2 / 2, 1.35 * (np.abs(r) - 1.35 / 2)),
    "epsilon_insensitive:0.5": lambda r: np.maximum(np.abs(r) - 0.5, 0),
    "squared_epsilon_insensitive:0.5": lambda r: np.maximum(np.abs(r) - 0.5, 0) ** 2,
    "absolute": np.abs,
    "squared": lambda r: r**2 / 2,
}


@pytest.mark.parametrize("name", FORMULAS)
def test_named_losses_are_their_formulas(name):
    loss = named_loss(name)
    np.testing.assert_allclose(loss.parts.value(GRID), FORMULAS[name](GRID), atol=1e-12)
    assert loss.name == name and loss.of == LOSSES[name.partition(":")[0]][0]


def test_every_loss_has_a_formula_here_and_a_line_of_its_own():
    assert {name.partition(":")[0] for name in FORMULAS} == set(LOSSES)
    assert all(line for *_, line in LOSSES.values())


@pytest.mark.parametrize("name", FORMULAS)
def test_pieces_of_named_losses_give_the_same_parts_again(name):
    parts = named_loss(name).parts
    pieces = Pieces.of_parts(parts)
    np.testing.assert_allclose(pieces.value(GRID), parts.value(GRID), atol=1e-11)
    again = pieces.parts()
    np.testing.assert_allclose(again.value(GRID), parts.value(GRID), atol=1e-11)
    assert again.constant == pytest.approx(0.0, abs=1e-12)


relus = st.tuples(st.floats(-3, 3), st.floats(-3, 3))
rehus = st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.one_of(st.floats(0, 4), st.just(float("inf"))))


def apart(parts: Parts) -> bool:
    """Kinks and slopes that rounding does not confuse."""
    numbers = [x for part in (*parts.relu, *parts.rehu) for x in part if np.isfinite(x)]
    if any(0 < abs(x) < 1e-2 for x in numbers):
        return False
    knots = Pieces.of_parts(parts).knots
    return bool((np.diff(knots) > 1e-3).all()) if len(knots) else True


@given(st.lists(relus, max_size=4), st.lists(rehus, max_size=3), st.floats(-5, 5))
def test_every_composite_is_convex_plq_and_comes_back_the_same(relu, rehu_parts, constant):
    parts = Parts(tuple(relu), tuple(rehu_parts), constant)
    if not apart(parts):
        return
    pieces = Pieces.of_parts(parts)
    pieces.check()
    np.testing.assert_allclose(pieces.value(GRID), parts.value(GRID), atol=1e-8)
    again = pieces.parts()
    np.testing.assert_allclose(again.value(GRID), parts.value(GRID), atol=1e-7)
    # Theorem 1: what is left is its least value, and all parts are at least 0
    where = np.append(np.linspace(-50, 50, 40_001), pieces.knots)  # a nearly flat piece may have its knot far out
    assert again.constant == pytest.approx(parts.value(where).min(), abs=1e-2)
    assert all(tau >= 0 for *_, tau in again.rehu)


@given(st.lists(st.tuples(st.integers(-20, 20), st.floats(-10, 10)), min_size=2, max_size=9, unique_by=lambda p: p[0]))
def test_what_is_drawn_becomes_the_lower_convex_hull(points):
    pieces = Pieces.through(points)
    pieces.check()
    x, y = np.array(sorted(points), dtype=float).T
    here = pieces.value(x)
    assert (here <= y + 1e-9).all(), "never above a point"
    assert np.isclose(here, y, atol=1e-9).sum() >= 1
    np.testing.assert_allclose(pieces.parts().value(GRID), pieces.value(GRID), atol=1e-7)
    # no chord of points is below it: it is the largest convex function under them
    inside = np.linspace(x[0], x[-1], 101)
    for a, b, u, v in [(x[i], x[j], y[i], y[j]) for i in range(len(x)) for j in range(i)]:
        between = (inside >= b) & (inside <= a)
        chord = v + (u - v) * (inside[between] - b) / (a - b)
        assert (pieces.value(inside[between]) <= chord + 1e-7).all()


def test_a_drawn_loss_does_not_fall_beyond_its_ends():
    loss = drawn_loss([(0, 0), (1, -1), (2, -2)])
    assert loss.parts.constant == pytest.approx(-2.0)
    np.testing.assert_allclose(loss.parts.value(np.array([5.0, 9.0])), -2.0)
    assert drawn_loss([(-1, 1), (0, 0), (1, 1)], "margin").of == "margin"


@pytest.mark.parametrize("of", ["residual", "margin"])
@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(-10, 10)), min_size=2, max_size=9, unique_by=lambda p: p[0]))
def test_the_name_of_a_drawn_loss_gives_it_again(of, points):
    try:
        loss = drawn_loss(points, of)
    except ValueError:  # points so close together that derivatives are lost
        assume(False)
    assert named_loss(loss.name) == loss and loss.of == of


@pytest.mark.parametrize("points", ["", "1,2", "1,2/x,3", "1,2/3", "1,2/1,3", "0,nan/1,1", "0,1,2/1,1"])
def test_points_that_give_no_loss_are_refused(points):
    with pytest.raises(ValueError, match="point"):
        named_loss("drawn:" + points)


PIECES = {
    "is not continuous": ([0.0], [(0, 0, 0), (1, 1, 0)]),
    "bends downwards": ([], [(0, 0, -1)]),
    "its slope falls": ([0.0], [(0, 1, 0), (0, -1, 0)]),
    "not bounded below": ([], [(0, 1, 0)]),
    "must ascend": ([1.0, 1.0], [(0, 0, 0)] * 3),
    "one piece": ([1.0], [(0, 0, 0)]),
    "finite numbers": ([np.nan], [(0, 0, 0)] * 2),
}


@pytest.mark.parametrize("says", PIECES)
def test_what_is_no_convex_plq_is_refused_in_one_sentence(says):
    knots, coefficients = PIECES[says]
    with pytest.raises(InputError, match=says):
        Pieces(np.array(knots), np.array(coefficients, dtype=float)).parts()


@pytest.mark.parametrize("points", [[(0, 1)], [(0, 0), (0, 1)], [(0, 0), (1, np.nan)], [(0, 0), (np.inf, 1)]], ids=str)
def test_drawings_of_too_little_are_refused(points):
    with pytest.raises(InputError, match="point"):
        Pieces.through(points)


@pytest.mark.parametrize(
    "name",
    ["", "hing", "hinge:1", "quantile:0", "quantile:1.5", "quantile:x", "huber:0", "huber:-1", "huber:nan",
     "epsilon_insensitive:-0.1", "expectile:1", "huber:inf"],
)  # fmt: skip
def test_unknown_names_and_numbers_are_refused(name):
    with pytest.raises(InputError):
        named_loss(name)


def test_names_may_have_hyphens_and_leave_their_number_out():
    assert named_loss("squared-hinge").parts == named_loss("squared_hinge").parts
    assert named_loss("quantile").parts == named_loss("quantile:0.5").parts


@pytest.mark.parametrize("name", FORMULAS)
def test_losses_of_observations_are_the_loss_of_margin_or_residual_times_its_weight(name):
    rng = np.random.default_rng(0)
    loss = named_loss(name)
    y = rng.choice([-1.0, 1.0], 30) if loss.of == "margin" else rng.normal(size=30)
    weight = rng.uniform(0, 3, 30)
    weight[:3] = 0
    composite = replace(loss, parts=replace(loss.parts, constant=2.0)).for_data(y, weight)
    for z in rng.normal(0, 3, (5, 30)):
        r = y * z if loss.of == "margin" else z - y
        np.testing.assert_allclose(composite.value(z), weight * FORMULAS[name](r), atol=1e-11)
        step = 1e-6
        slope = (composite.value(z + step) - composite.value(z - step)) / (2 * step)
        smooth = np.abs(composite.derivative(z + step) - composite.derivative(z - step)) < 1e-3
        np.testing.assert_allclose(composite.derivative(z)[smooth], slope[smooth], atol=1e-3)
    assert composite.constant == pytest.approx(2.0 * weight.sum()) and len(composite) == 30


def test_rehu_is_the_huber_of_the_positive_part():
    y = np.array([-1.0, 0.0, 0.5, 1.0, 3.0])
    np.testing.assert_allclose(rehu(y, np.array(1.0)), [0, 0, 0.125, 0.5, 2.5])
    np.testing.assert_allclose(rehu(y, np.array(np.inf)), [0, 0, 0.125, 0.5, 4.5])
    np.testing.assert_allclose(rehu(y, np.array(0.0)), 0.0)


def test_a_loss_keeps_what_it_is_of():
    assert Loss("mine", Parts(relu=((1.0, 0.0),)), "residual").of == "residual"
