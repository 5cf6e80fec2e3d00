"""Known cases: the toy of Figure 1, external macro compression (§3.2), small exact optima, planted phrases."""

from __future__ import annotations

import csv
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pytest

from cflengine import CompressiveFeatures, HomotopySettings
from cflengine.compression.model.problem import external_macro_costs
from cflengine.compression.solvers.homotopy import solve_homotopy
from naive.corpora import CHARACTERS, SMALL, costs_by_kind, costs_of, index_of, random_words, uneven_costs
from naive.cover import by_document, cheapest
from naive.programs import solve_exactly
from naive.text import occurrences

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(("lam", "cost"), [(0.0, 3.0), (1.0, 6.0), (8.0, 16.0)])
def test_toy_of_figure_1(lam, cost):
    model = CompressiveFeatures(lam, 8, token_pattern=".").fit(["thatthat"])
    assert model.result_.objective == cost
    assert model.result_.lower_bound == pytest.approx(cost, rel=1e-3) and model.result_.lower_bound <= cost
    assert "".join(chain.from_iterable(model.decode(model.encoding_))) == "thatthat"
    strings = sorted("".join(gram) for gram in model.grams_)
    if lam == 0:  # t, h, a as in the figure, or t and ha, which cost the same while pointers are free
        assert sorted("".join(strings)) == ["a", "h", "t"]
    else:
        assert strings == (["that"] if lam == 1 else ["thatthat"])
        assert model.result_.n_pointers == (2 if lam == 1 else 1)


def external_macro_optimum(documents: list[list[str]], max_gram: int, lam: float, unigram: float) -> float:
    """Every dictionary of longer K-grams, each document cut into dictionary strings and plain words."""
    found = occurrences(documents, max_gram)
    longer = [gram for gram in found if len(gram) > 1 and len(found[gram]) > 1]  # one use never pays
    best = np.inf
    for chosen in chain.from_iterable(combinations(longer, size) for size in range(len(longer) + 1)):
        total = float(sum(map(len, chosen)))
        for words in documents:
            rest = [0.0] * (len(words) + 1)
            for i in range(len(words) - 1, -1, -1):
                rest[i] = unigram + rest[i + 1]
                for gram in chosen:
                    if tuple(words[i : i + len(gram)]) == gram:
                        rest[i] = min(rest[i], lam + rest[i + len(gram)])
            total += rest[0]
        best = min(best, total)
    return best


MACRO_TEXTS = {
    "chorus": ["a b c x a b c y a b c", "z a b c"],
    "two phrases": ["p q r p q s t", "s t p q u s t v s t", "p q s t"],
    "nothing repeats": ["a b c d e f", "g h i"],
    "long phrase": ["one two three four x one two three four", "y one two three four one two"],
}


@pytest.mark.parametrize(("lam", "unigram"), [(1.0, 1.0), (1.5, 1.2), (0.5, 0.5)])
@pytest.mark.parametrize("kind", MACRO_TEXTS)
def test_external_macro_compression_is_a_special_case(kind, lam, unigram):
    """With unigrams at most as expensive as pointers, overlaps never pay, and the problem is EMDC's own."""
    texts = MACRO_TEXTS[kind]
    index = index_of(texts, 4)
    costs = external_macro_costs(index.gram_of, index.lengths(), lam, unigram)
    optimum = external_macro_optimum([text.split() for text in texts], 4, lam, unigram)
    assert solve_exactly(index, costs) == pytest.approx(optimum)
    result = solve_homotopy(index, costs)
    assert result.lower_bound <= optimum + 1e-6
    assert optimum - 1e-9 <= result.objective <= 1.1 * optimum
    if kind in ("chorus", "nothing repeats"):
        assert result.objective == pytest.approx(optimum)


def test_external_macro_compression_stores_no_words_in_the_dictionary():
    text = "the old man and the old dog and the old cat"
    index = index_of([text], 3)
    costs = external_macro_costs(index.gram_of, index.lengths(), 1.0, 1.0)
    result = solve_homotopy(index, costs)
    lengths = index.lengths()[result.dictionary]
    assert (lengths > 1).any(), "a repeated phrase is worth an entry"
    assert costs.dictionary[result.dictionary].sum() == lengths[lengths > 1].sum()


@pytest.mark.parametrize("cost", ["pointers cheap", "pointers as a word", "by length", "by pointer", "external macro"])
@pytest.mark.parametrize("seed", range(3))
def test_objective_is_never_below_the_exact_optimum(seed, cost):
    index = index_of(random_words(seed, 4, 9, 5), 3)
    costs = costs_by_kind(index)[cost]
    optimum = solve_exactly(index, costs)
    result = solve_homotopy(index, costs)
    assert optimum * (1 - 1e-9) <= result.objective <= 1.12 * optimum
    assert result.lower_bound <= optimum * (1 + 1e-9)


EASY = {
    "all words distinct": (SMALL["all words distinct"], "pointers as a word", 3),
    "many short documents": (SMALL["many short documents"], "pointers expensive", 3),
    "dictionary free": (SMALL["random words"], "dictionary free", 3),
    "characters": (CHARACTERS[:2], "pointers as a word", 4),
    "one word, expensive pointers": (["la la la la la la"], "pointers expensive", 3),
}


@pytest.mark.parametrize("kind", EASY)
def test_objective_is_the_exact_optimum_on_easy_corpora(kind):
    texts, cost, max_gram = EASY[kind]
    index = index_of(texts, max_gram, "." if kind == "characters" else r"\w+|[^\w\s]")
    costs = costs_by_kind(index)[cost]
    assert solve_homotopy(index, costs).objective == pytest.approx(solve_exactly(index, costs), rel=1e-6)


def test_with_a_free_dictionary_the_problem_is_encoding():
    """c = 0 leaves the cheapest set of pointers (§3.1)."""
    index = index_of(SMALL["many short documents"], 3)
    prices = uneven_costs(index).pointer_extra
    costs = costs_of(index, pointer_cost=prices, dictionary_cost=np.zeros(index.n_grams))
    table = {(int(k) + 1, int(i)): float(prices[k, i]) for k, i in np.argwhere(index.gram_of >= 0)}
    optimum = sum(cheapest(part, n) for part, n in by_document(table, index.doc_ptr.tolist()))
    assert solve_homotopy(index, costs).objective == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize("kind", ["random words", "repeated phrases", "documents between empty ones"])
def test_dearer_pointers_are_fewer_and_longer(kind):
    lengths = [CompressiveFeatures(lam).fit(SMALL[kind]).encoding_.length.mean() for lam in (0.05, 0.5, 1.0, 3.0, 50.0)]
    assert lengths == sorted(lengths) and lengths[0] < lengths[2] < lengths[-1]


def test_planted_phrases_are_found_in_the_sample_corpus():
    from sample_data.generate import planted_phrases

    with (ROOT / "sample_data" / "reviews.csv").open(encoding="utf-8", newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    settings = HomotopySettings(relaxation_gap=1e-3, last_zeta=0.0)
    model = CompressiveFeatures(1.0, 3, solver="homotopy", settings=settings).fit(texts)
    planted = [phrase for phrase in planted_phrases() if len(phrase) <= 3]
    found = set(model.grams_) & set(planted)
    assert len(planted) > 20 and len(found) >= 0.9 * len(planted), sorted(set(planted) - found)
    assert model.result_.certificate.covered and model.result_.gap < 0.03
    # phrases of four and five words cannot stand in a dictionary of trigrams
    assert max(map(len, model.grams_)) == 3
