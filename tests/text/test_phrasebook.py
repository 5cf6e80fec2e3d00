"""K-grams as the text spells them, and which of them say something."""

from __future__ import annotations

import numpy as np

from cflengine.text.kgrams import index_by_sorting
from cflengine.text.phrasebook import Phrasebook
from cflengine.text.token_table import plain_tokens

TEXTS = ["It's late, Mr. Speaker. The red\n  house. The red house is it's own", "the red house, Mr. Speaker: of the"]


def book(texts=TEXTS, max_gram=4):
    table = plain_tokens(texts)
    return Phrasebook(texts, table, index_by_sorting(table.tokens, table.doc_ptr, max_gram))


def spelled(found: Phrasebook) -> dict[tuple[str, ...], str]:
    grams = np.arange(found.index.n_grams)
    return {found.words(int(g)): label for g, label in zip(grams, found.spell(grams), strict=True)}


def test_phrases_are_spelt_as_in_the_text():
    labels = spelled(book())
    assert labels["it", "'", "s"] == "it's", "the first word of a sentence says nothing of its spelling"
    assert labels["mr", ".", "speaker"] == "Mr. Speaker"
    assert labels["the", "red", "house"] == "the red house", "on one line"
    assert spelled(book(["\ud800 a"]))[("\ud800",)] == "\ufffd"


def test_which_phrases_say_something():
    found = book()
    grams = np.arange(found.index.n_grams)
    telling = {found.words(int(g)) for g, said in zip(grams, found.says_something(grams), strict=True) if said}
    assert ("the", "red", "house") in telling and ("late",) in telling
    assert not telling & {("of", "the"), (".",), ("mr", ".", "speaker"), ("is",)}
    german = [" ".join(["der", "und", "in", "den"] * 40 + [f"Wort{k} Haus"]) for k in range(130)]
    found = book(german, 2)
    grams = np.arange(found.index.n_grams)
    telling = {found.words(int(g)) for g, said in zip(grams, found.says_something(grams), strict=True) if said}
    assert ("der", "und") not in telling and ("und",) not in telling


def test_function_words_of_a_language_are_short_frequent_and_small():
    """Whatever their letters; no name, and in English, whose own are listed, no word that is often said."""
    rng = np.random.default_rng(0)
    words = [f"Wort{k}" for k in range(2500)]
    german = [
        f"Das ist für die Stadt Wien über {' '.join(rng.choice(words, 5))} und der {words[k]}." for k in range(400)
    ]
    found = book(german, 2)
    grams = np.arange(found.index.n_grams)
    telling = {found.words(int(g)) for g, said in zip(grams, found.says_something(grams), strict=True) if said}
    assert ("wien",) in telling and not telling & {("für",), ("über",), ("für", "die"), ("und", "der")}
    english = [f"This is the beer of the day and I like it for {' '.join(rng.choice(words, 3))}." for _ in range(400)]
    found = book(english, 2)
    grams = np.arange(found.index.n_grams)
    telling = {found.words(int(g)) for g, said in zip(grams, found.says_something(grams), strict=True) if said}
    assert {("beer",), ("the", "beer"), ("day",)} <= telling and not telling & {("of", "the"), ("i", "like")}
