"""The text under the slider on the Read page: what a click on a piece chooses."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from pages.parts.read import live


class State(dict):
    """As Streamlit's: by name and by attribute."""

    def __init__(self, values, **attributes) -> None:
        super().__init__(values)
        self.__dict__.update(attributes)


@pytest.mark.parametrize(("gram", "row"), [(15, 0), (3378, 1), (28060, 3), (9137, 4), (7, None), (None, None)])
def test_a_piece_is_found_among_columns_that_are_not_sorted(gram, row, monkeypatch):
    state = State({live.KEY: {"choose": {"gram": gram, "lam": 1.0}}}, gram=2)
    monkeypatch.setattr(live.st, "session_state", state)
    found = SimpleNamespace(model=SimpleNamespace(gram_ids_=np.array([15, 3378, 29378, 28060, 9137])))
    live._choose(found)()
    assert state.gram == row
