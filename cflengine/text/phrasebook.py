"""K-grams for readers: as the text spells them, and which of them say something."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from cflengine.text.check import language_of
from cflengine.text.kgrams import KGramIndex
from cflengine.text.token_table import TokenTable, printable

# where there is no list of a language's function words, the most frequent words of few letters are taken for them,
_FREQUENT, _SHORT = 120, 5
# unless so many places, of so many tokens, have it with a capital only, as German's nouns and all names have
_PLACES, _SEARCHED = 20, 1_000_000


class Phrasebook:
    """K-grams of an index, by their numbers.

    What depends on the whole corpus is made when it is first asked for, in Θ(Kn), and kept: 8 bytes a K-gram.

    Parameters
    ----------
    texts : Sequence[str]
        The documents.
    table : TokenTable
        Their tokens.
    index : KGramIndex
        Of their K-grams.
    """

    def __init__(self, texts: Sequence[str], table: TokenTable, index: KGramIndex) -> None:
        self.texts, self.table, self.index = texts, table, index

    @cached_property
    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        """int32 (G,) twice: where each K-gram occurs first, and last."""
        every = np.arange(self.index.n_grams)
        return self.index.first_positions(every).astype(np.int32), self.index.last_positions(every).astype(np.int32)

    def lengths(self, grams: np.ndarray) -> np.ndarray:
        """int64: of K-grams, in words."""
        return np.searchsorted(self.index.len_ptr, np.asarray(grams), side="right")

    def spell(self, grams: np.ndarray) -> list[str]:
        """Each as it stands in the text, on one line: "it's", "Mr. Speaker". Where it occurs first or last, whichever
        has fewer capitals, since the first word of a sentence has one in any case."""
        grams = np.asarray(grams, dtype=np.int64)
        found = [self._slices(places[grams], self.lengths(grams)) for places in self._places]
        return [first if _capitals(first) <= _capitals(last) else last for first, last in zip(*found, strict=True)]

    def words(self, gram: int) -> tuple[str, ...]:
        """The forms of its tokens."""
        start, length = int(self._places[0][gram]), int(self.lengths(np.array([gram]))[0])
        return tuple(self.table.vocabulary[t] for t in self.table.tokens[start : start + length].tolist())

    def says_something(self, grams: np.ndarray) -> np.ndarray:
        """bool: whether there is no punctuation in it, and one of its words at least is no function word."""
        grams = np.asarray(grams, dtype=np.int64)
        start, lengths = self._places[0][grams].astype(np.int64), self.lengths(grams)
        content, words = np.zeros(len(grams), dtype=bool), np.ones(len(grams), dtype=bool)
        for k in range(self.index.max_gram):
            inside = lengths > k
            tokens = self.table.tokens[start[inside] + k]
            content[inside] |= self._content[tokens]
            words[inside] &= self._word[tokens]
        return content & words

    @cached_property
    def _word(self) -> np.ndarray:
        """bool (words,): anything but punctuation."""
        return np.array([any(map(str.isalnum, word)) for word in self.table.vocabulary], dtype=bool)

    @cached_property
    def _content(self) -> np.ndarray:
        """bool (words,): letters, and no function word. English ones are listed; in other languages they are short and
        frequent, and begin with no capital."""
        words = self.table.vocabulary
        found = np.array(
            [any(map(str.isalpha, word)) and word.lower() not in _FUNCTION_WORDS for word in words], dtype=bool
        )
        if language_of(self.texts) != "English":
            counts = np.bincount(self.table.tokens, minlength=len(words))
            most = min(_FREQUENT, len(words) // 20)  # in a small vocabulary a frequent word says little of a language
            for i in np.argsort(-counts, kind="stable")[:most].tolist():
                cased = words[i].lower() != words[i].upper()
                found[i] &= not (cased and len(words[i]) <= _SHORT and self._is_seen_small(i))
        return found

    def _is_seen_small(self, word: int) -> bool:
        """Whether it stands somewhere without a capital."""
        places = np.flatnonzero(self.table.tokens[:_SEARCHED] == word)[:_PLACES]
        return any(map(str.islower, self._slices(places, np.ones(len(places), dtype=np.int64))))

    def _slices(self, places: np.ndarray, lengths: np.ndarray) -> list[str]:
        documents = np.searchsorted(self.table.doc_ptr, places, side="right") - 1
        start, end = self.table.start[places], self.table.end[places + lengths - 1]
        spans = zip(documents.tolist(), start.tolist(), end.tolist(), strict=True)
        return [on_one_line(self.texts[d][a:b]) for d, a, b in spans]


def on_one_line(text: str) -> str:
    """A piece of a text as a table or a label can show it.

    Parameters
    ----------
    text : str
        The piece.

    Returns
    -------
    str
        With single spaces for white space; what is white space alone made visible, lone surrogates replaced.
    """
    return printable(text) if text.isspace() else " ".join(map(printable, text.split()))


def _capitals(text: str) -> int:
    return sum(map(str.isupper, text))


_ENGLISH = """
a about above after again all also am an and any are aren as at be because been before being below between both but by
can cannot could couldn d did didn do does doesn doing don down during each else even ever every few for from further
get got had hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its
itself just like ll m me might more most much must my myself no nor not now of off on once one only or other our ours
ourselves out over own quite re rather s same shall shan she should shouldn so some such t than that the their theirs
them themselves then there these they this those though through to too under until up upon us ve very was wasn we well
were weren what when where whether which while who whom whose why will with within without won would wouldn yet you
your yours yourself yourselves
"""
_FUNCTION_WORDS = frozenset(_ENGLISH.split())
