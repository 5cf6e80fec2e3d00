"""Vectors of any length and anywhere: what wMMD² does not depend on, no answer depends on."""

from __future__ import annotations

import numpy as np
import pytest

from cflengine import WordMMD
from cflengine.embedding.laws import WordLaws, centred
from cflengine.embedding.simulation import BetaBinomial, PowerSettings, power
from cflengine.embedding.width import median_width
from cflengine.engine.checks import InputError

WORDS = [f"w{k}" for k in range(60)]


def texts_of(n: int, rng: np.random.Generator) -> list[str]:
    return [" ".join(rng.choice(WORDS, 8)) for _ in range(n)]


@pytest.mark.parametrize("n", [10, 1_000, 7_000])
def test_the_median_width_has_the_unit_of_the_vectors(n):
    rng = np.random.default_rng(0)
    counts = rng.multinomial(8, np.full(60, 1 / 60), size=n)
    laws, M = WordLaws.of(counts, np.arange(n) % 2), rng.normal(size=(60, 20))
    usual = median_width(laws, M)
    for scale in (1e-8, 1e-3, 1e4, 1e8):
        assert median_width(laws, scale * M) == pytest.approx(scale * usual, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e4, 1e8])
def test_most_pairs_of_equal_vectors_have_no_median(scale):
    rng = np.random.default_rng(0)
    counts = np.hstack([rng.multinomial(30, np.full(10, 0.1), size=400), rng.multinomial(2, np.full(90, 1 / 90), 400)])
    M = rng.normal(size=(100, 20))
    M[:10] = M[0]
    assert median_width(WordLaws.of(counts, np.arange(400) % 2), scale * M) == 0.0


def test_the_linear_kernel_does_not_see_where_vectors_are():
    rng = np.random.default_rng(0)
    laws = rng.dirichlet(np.ones(40), size=2)
    texts = [" ".join(rng.choice(WORDS[:40], 8, p=laws[k % 2])) for k in range(200)]
    M, labels = rng.normal(size=(40, 5)), ["a", "b"] * 100
    fits = {
        offset: WordMMD("linear", n_permutations=99).fit(texts, labels, (WORDS[:40], M + offset))
        for offset in (0.0, 3.0, 1e3, 1e5)
    }
    usual = fits[0.0]
    assert usual.p_value_ == 0.01
    own = usual.witness_.set_index("word").sort_index()
    assert 5 < (own["class"] == "a").sum() < 35
    for fit in fits.values():
        assert fit.statistic_ == pytest.approx(usual.statistic_, rel=1e-6) and fit.p_value_ == 0.01
        witness = fit.witness_.set_index("word").sort_index()
        assert witness["witness"].to_numpy() == pytest.approx(own["witness"].to_numpy(), abs=1e-6)
        assert (witness["class"] == own["class"]).all()
    for scale in (1e100, 1e170):
        with pytest.raises(InputError, match="so long"):
            WordMMD("linear", n_permutations=0).fit(texts, labels, (WORDS[:40], scale * M))


def test_centred_vectors_have_documents_around_0():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, (9, 6)) + np.eye(9, 6, dtype=int)
    counts[:, 0] += 1
    laws = WordLaws.of(counts, np.arange(9) % 2).laws
    assert (laws @ centred(laws, rng.normal(size=(6, 3)) + 5)).mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-12)


def test_settings_of_a_simulation_that_are_none():
    for wrong in ({"first": 3}, {"first": ("a", 1)}, {"irrelevant": "x"}, {"second": (1.0, -1.0)}):
        with pytest.raises(InputError):
            BetaBinomial(**wrong)
    for wrong in ({"level": 2.0}, {"level": 0.01, "n_permutations": 19}, {"level": 0.0}):
        with pytest.raises(InputError, match="level"):
            PowerSettings(**wrong)
    for sizes in ([], [4.5], ["a"], [3], [True]):
        with pytest.raises(InputError, match="sizes"):
            power(BetaBinomial(20), sizes, np.eye(20), None)


def test_labels_of_a_list_that_are_missing():
    rng = np.random.default_rng(0)
    M = rng.normal(size=(60, 4))
    for missing in (np.nan, None):
        with pytest.raises(ValueError, match="missing"):
            WordMMD(n_permutations=0).fit(texts_of(6, rng), [missing, "a", "b", "a", "b", "a"], (WORDS, M))
