"""What a tokenizer cuts: texts, normalised, into words by a pattern, and words into units, bytes or characters.

Cutting loses nothing: what lies between two matches of the pattern is a word, too. The patterns are those of GPT-2 and
of GPT-4 (cl100k), as Hugging Face's tokenizers write them, and one that cuts before white space alone.
"""

from __future__ import annotations

import unicodedata
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import regex

from cflengine.engine.checks import InputError, check_choice
from cflengine.text.stored import refuse_frame
from cflengine.tokenizer.patterns import portable

PATTERNS = {
    "whitespace": r" ?\S+|\s+(?!\S)|\s+",
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "gpt4": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
}
UNITS = ("byte", "character")
_STEPS: dict[str, Callable[[str], str]] = {
    "nfc": lambda text: unicodedata.normalize("NFC", text),
    # character by character, as other tokenizers do it: a final sigma is no other letter
    "lowercase": lambda text: "".join(map(str.lower, text)),
}
NORMALISATIONS = tuple(_STEPS)
_MOST_UNITS = 1 << 53  # of a corpus, that sums in float64 may be whole numbers


@dataclass(frozen=True)
class Cutting:
    """How texts become words of units.

    Parameters
    ----------
    unit : str, default: 'byte'
        "byte", of UTF-8, or "character".
    pattern : str or None, default: 'gpt2'
        A name of PATTERNS, a regular expression, or None for texts whole.
    normalisation : tuple[str, ...], default: ()
        Of NORMALISATIONS, in this order.

    Raises
    ------
    InputError for another unit or step, and for a pattern that other tokenizers would read differently (patterns.py).
    """

    unit: str = "byte"
    pattern: str | None = "gpt2"
    normalisation: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_choice(self.unit, "unit", UNITS)
        if not isinstance(self.normalisation, tuple):
            raise InputError(
                f"normalisation must be a sequence of {', '.join(NORMALISATIONS)}, not {self.normalisation!r}."
            )
        for step in self.normalisation:
            if step not in NORMALISATIONS:
                raise InputError(f"normalisation must be of {', '.join(NORMALISATIONS)}, not {step!r}.")
        if self.pattern is not None and not isinstance(self.pattern, str):
            raise InputError(f"the pattern must be a string or None, not {self.pattern!r}.")
        if self.pattern not in PATTERNS and str(self.pattern).lower().replace("-", "") in PATTERNS:
            raise InputError(f"patterns with a name are {', '.join(PATTERNS)}, not {self.pattern!r}.")
        own = self.pattern if self.pattern not in PATTERNS else None
        if own is not None and regex.fullmatch(r"[A-Za-z0-9_-]{1,40}", own):
            raise InputError(
                f"no pattern has the name {self.pattern!r} ({', '.join(PATTERNS)}; none for texts whole), and as a "
                "regular expression it matches nothing but itself."
            )
        _ = self.compiled

    @cached_property
    def expression(self) -> str | None:
        """The regular expression, as it is written into files, too; None for texts whole."""
        return None if self.pattern is None else PATTERNS.get(self.pattern) or portable(self.pattern)

    @cached_property
    def compiled(self) -> regex.Pattern[str] | None:
        return None if self.expression is None else regex.compile(self.expression)

    def normalised(self, text: str) -> str:
        """The text that decoding brings back; surrogates that stand alone, which are no characters, become U+FFFD."""
        if not text.isascii():
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        for step in self.normalisation:
            text = _STEPS[step](text)
        return text

    def places(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """int32 each, by character of the normalised text: where in the text the characters begin and end that it was
        made of. Steps work on a character as readers see it at a time, which an accent, say, belongs to."""
        first, last = array("i"), array("i")
        for match in regex.finditer(r"\X", text):
            n = len(self.normalised(match.group()))
            first.extend([match.start()] * n)
            last.extend([match.end()] * n)
        return np.array(first, dtype=np.int32), np.array(last, dtype=np.int32)

    def words(self, text: str) -> Iterator[str]:
        """The words of a normalised text, which they make up."""
        if self.compiled is None:
            yield from (text,) if text else ()
            return
        end = 0
        for match in self.compiled.finditer(text):
            if match.start() > end:
                yield text[end : match.start()]
            end = match.end()
            yield match.group()
        if end < len(text):
            yield text[end:]

    def count(self, texts: Iterable[str]) -> Counter[str]:
        """How often each word occurs. Raises InputError for one string, and for what is no string."""
        counts: Counter[str] = Counter()
        for text in each_text(texts):
            counts.update(self.words(self.normalised(text)))
        return counts

    def recount(self, counts: Mapping[str, int]) -> Counter[str]:
        """How often each word occurs, where strings and their counts are given: they are normalised and cut as texts
        are. Raises InputError for what is neither, and for more units than can be counted."""
        found: Counter[str] = Counter()
        for text, count in counts.items():
            if not (isinstance(text, str) and isinstance(count, int | np.integer) and count >= 0):
                raise InputError(f"counts must be whole numbers of words that are strings, not {text!r}: {count!r}.")
            for word in self.words(self.normalised(text)):
                found[word] += int(count)
        if sum(4 * len(word) * count for word, count in found.items()) >= _MOST_UNITS:
            raise InputError("the counts are too large: words of 2⁵³ bytes in all cannot be counted.")
        return found

    def units(self, word: str) -> np.ndarray:
        """int32: the numbers of a word's units, bytes of UTF-8 or code points."""
        if self.unit == "byte":
            return np.frombuffer(word.encode(), dtype=np.uint8).astype(np.int32)
        return np.frombuffer(word.encode("utf-32-le"), dtype=np.int32)


def each_text(texts: Iterable[str]) -> Iterator[str]:
    """Texts one by one. Raises InputError for one string, and for what is no string; TypeError for a frame, whose
    texts would be the names of its columns."""
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise InputError(f"texts must be a sequence of strings, not {_kind(texts)}.")
    refuse_frame(texts)
    for text in texts:
        if not isinstance(text, str):
            raise InputError(f"texts must be strings, not {_kind(text)}.")
        yield text


def _kind(value: object) -> str:
    return "one string" if isinstance(value, str) else type(value).__name__


@dataclass(frozen=True)
class WordTable:
    """The W distinct words of a corpus, most frequent first.

    Parameters
    ----------
    units : ndarray
        int32 (n,), word by word.
    ptr : ndarray
        int64 (W+1,), borders.
    counts : ndarray
        int64 (W,), how often each occurs.
    """

    units: np.ndarray
    ptr: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, counts: Counter[str], cutting: Cutting) -> WordTable:
        """Of words counted; words of no units are left out."""
        words = sorted((word for word, count in counts.items() if word and count > 0), key=lambda w: (-counts[w], w))
        each = [cutting.units(word) for word in words]
        units = np.concatenate([np.zeros(0, dtype=np.int32), *each])
        ptr = np.cumsum([0, *map(len, each)])
        return cls(units, ptr, np.array([counts[word] for word in words], dtype=np.int64))

    @property
    def n_words(self) -> int:
        """Distinct ones."""
        return len(self.counts)

    @property
    def n_running(self) -> int:
        """All words of the corpus."""
        return int(self.counts.sum())

    def alphabet(self) -> np.ndarray:
        """int32: the units that occur, ascending."""
        return np.unique(self.units)

    def spans(self) -> Iterator[tuple[int, int]]:
        """Where each word begins and ends."""
        return pairwise(self.ptr.tolist())
