"""Key phrases against their formulas by hand; what one group costs in another's dictionary."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import false_discovery_control

from cflengine import CompressiveFeatures
from cflengine.compression import cross_compress, keyness
from cflengine.compression.analysis.cross import part_of
from cflengine.compression.analysis.keyness import corrected
from cflengine.engine.checks import InputError
from cflengine.engine.progress import Stopped
from cflengine.text.token_table import plain_tokens


def test_keyness_by_hand():
    counts = sparse.csr_matrix([[3, 0, 1], [1, 0, 0], [0, 2, 1], [9, 9, 9]])
    group, sizes = np.array([0, 0, 1, -1]), np.array([10, 30, 20, 5])
    frame = keyness(counts, group, sizes, 0)
    n, m = 40, 20
    for row, (a, b) in zip(frame.itertuples(), [(4, 0), (0, 2), (1, 1)], strict=True):
        expected = (a + b) / (n + m)
        g2 = 2 * sum(o * math.log(o / (size * expected)) for o, size in ((a, n), (b, m)) if o)
        assert row.g2 == pytest.approx(g2 if a / n >= b / m else -g2)
        assert row.log_ratio == pytest.approx(math.log2(max(a, 0.5) / n) - math.log2(max(b, 0.5) / m))
        assert (row.count, row.others) == (a, b)
    assert frame["documents"].tolist() == [2, 0, 1]
    assert frame["spread"][0] == pytest.approx(1 - 0.5 * (abs(3 / 4 - 1 / 4) + abs(1 / 4 - 3 / 4)))
    assert math.isnan(frame["spread"][1])
    assert frame["spread"][2] == pytest.approx(1 - 0.5 * (abs(1 - 0.25) + 0.75))
    with pytest.raises(InputError, match="nothing to compare"):
        keyness(counts, group, sizes, 5)


def test_a_log_ratio_is_not_below_0_beside_a_part_that_has_none():
    """In a part of 10 words ½ is more, a million words, than the 3 of 200."""
    counts = sparse.csr_matrix([[3, 0, 1], [0, 0, 1]])
    large, small = (keyness(counts, np.array([0, 1]), np.array([200, 10]), k) for k in (0, 1))
    assert large["log_ratio"][0] == 0 == small["log_ratio"][0]
    assert large["log_ratio"][1] == 0 == small["log_ratio"][1]  # in neither part
    assert large["log_ratio"][2] == pytest.approx(math.log2(1 / 20)) == pytest.approx(-small["log_ratio"][2])


def test_p_is_corrected_as_scipy_does():
    p = np.random.default_rng(0).uniform(size=40) ** 3
    np.testing.assert_allclose(corrected(p), false_discovery_control(p))
    assert corrected(np.empty(0)).size == 0


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(1)
    one = ["the red house", "by the sea", "we went", "again"]
    two = ["the blue boat", "on the lake", "they went", "again"]
    texts = [" ".join(rng.choice(part, 12)) for part in (one, two) for _ in range(30)]
    table = plain_tokens(texts)
    group = np.repeat([0, 1], 30)
    return table, group, cross_compress(table, group, ["one", "two"])


def test_a_groups_own_dictionary_suits_it_best(groups):
    table, group, found = groups
    assert (found.cost.diagonal()[:, None] <= found.cost + 1e-9).all()
    assert found.excess[0, 1] > 0.5 and found.excess[1, 0] > 0.5
    np.testing.assert_array_equal(found.words, [np.diff(table.doc_ptr)[group == g].sum() for g in (0, 1)])
    assert (found.gaps < 6e-3).all()
    # what a group costs in its own dictionary is what its pointers cost
    for g, model in enumerate(found.models):
        assert found.cost[g, g] * found.words[g] / 1000 <= model.result_.n_pointers * model.lam + 1e-9


def test_the_phrases_that_make_the_difference(groups):
    _, _, found = groups
    lost = found.lost(0, 1)
    assert {"the red house", "by the sea"} & set(lost["phrase"].head(3))
    assert (lost["more"].diff().dropna() <= 0).all() and (lost["each"] >= 0).all()
    top = lost.iloc[0]
    assert top["more"] == pytest.approx(top["uses"] * top["each"])
    assert found.lost(0, 0).empty


def test_part_of_a_table_is_the_table_of_the_part():
    texts = ["a b c", "", "b d", "e a"]
    part = part_of(plain_tokens(texts), np.array([0, 3]))
    assert [part.words(d) for d in range(2)] == [["a", "b", "c"], ["e", "a"]]
    own = CompressiveFeatures(max_gram=2).fit_tokens(part)
    assert set(own.grams_) >= {("a",)} or own.grams_


def test_an_empty_group_and_a_stop(groups):
    table, group, _ = groups
    with pytest.raises(InputError, match="'three' has no word"):
        cross_compress(table, group, ["one", "two", "three"])
    with pytest.raises(Stopped):
        cross_compress(table, group, ["one", "two"], poll=lambda: False)
