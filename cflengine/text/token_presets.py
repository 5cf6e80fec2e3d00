"""What a token may be, by name: patterns anyone can repeat, and, for scripts without blanks, the words of a dictionary.

=============  =======================================================================================================
words          runs of letters, digits and underscores; punctuation marks one by one
contractions   the same, with what an apostrophe joins kept whole: don't, l'homme
social         addresses, @names, #topics and emoji whole; contractions kept
characters     what a reader takes for one character (grapheme clusters, ``\\X``)
dictionary     words by ICU's dictionaries and rules: Chinese, Japanese, Thai, Khmer, Lao, Burmese; needs icu4py
=============  =======================================================================================================

Each also without punctuation. A model keeps the pattern; of a dictionary, its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from cflengine.engine.checks import InputError, check_choice

_URL = r"(?:https?://|www\.)[^\s<>\"]*[^\s<>\".,;:!?)\]}'’]"
_CONTRACTIONS = r"\w+(?:['’]\w+)*"
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
_KEYCAP = "[0-9#*]\ufe0f?\u20e3"
_BASE = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf\u2934\u2935"
    "\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001f1e5\U0001f200-\U0001faff]"
)
_ELEMENT = f"{_BASE}(?:\ufe0f|[\U0001f3fb-\U0001f3ff])?(?:[\U000e0020-\U000e007e]+\U000e007f)?"
_EMOJI = f"{_FLAG}|{_KEYCAP}|{_ELEMENT}(?:\u200d{_ELEMENT})*"  # Unicode Technical Standard 51, ED-17
_SOCIAL = f"{_URL}|[@#]\\w+|{_EMOJI}|{_CONTRACTIONS}"

DICTIONARY, DICTIONARY_WORDS = "dictionary", "dictionary words"


@dataclass(frozen=True)
class TokenPreset:
    """title, note: for people. pattern: with punctuation marks as tokens; words: without them."""

    title: str
    note: str
    pattern: str
    words: str


PRESETS = {
    "words": TokenPreset(
        "Words", "runs of letters and digits; punctuation marks one by one", r"\w+|[^\w\s]", r"\w+"
    ),
    "contractions": TokenPreset(
        "Words, contractions kept", "don't and l'homme stay whole", rf"{_CONTRACTIONS}|[^\w\s]", _CONTRACTIONS
    ),
    "social": TokenPreset(
        "Social media", "@names, #topics, addresses and emoji stay whole", rf"{_SOCIAL}|[^\w\s]", _SOCIAL
    ),
    "characters": TokenPreset(
        "Characters", "for any script; with K = 4 or more the phrases are the words", r"(?!\s)\X", r"(?=\w)\X"
    ),
    "dictionary": TokenPreset(
        "Dictionary words", "for scripts without blanks: Chinese, Japanese, Thai, …", DICTIONARY, DICTIONARY_WORDS
    ),
}  # fmt: skip

#: written by hand here and linear in the text's length: :mod:`re` runs them, and nothing has to be bounded
KNOWN_PATTERNS = frozenset(
    pattern for name in ("words", "contractions", "social") for pattern in (PRESETS[name].pattern, PRESETS[name].words)
)


def preset_pattern(name: str, *, punctuation: bool = True) -> str:
    """The pattern of a preset.

    Parameters
    ----------
    name : str
        A key of PRESETS.
    punctuation : bool
        Whether punctuation marks are tokens.

    Returns
    -------
    str
        A regular expression, or the name of a dictionary.

    Raises
    ------
    InputError
        For a name that is none, or for a dictionary that is not installed.
    """
    check_choice(name, "tokens", PRESETS)
    if name == DICTIONARY:
        check_dictionary()
    return PRESETS[name].pattern if punctuation else PRESETS[name].words


def preset_of(pattern: str) -> str | None:
    """The name of the preset that a pattern belongs to."""
    return next((name for name, one in PRESETS.items() if pattern in (one.pattern, one.words)), None)


@dataclass(frozen=True)
class TokenChoice:
    """What a user has chosen tokens to be.

    Parameters
    ----------
    preset : str, default: 'words'
        A key of PRESETS.
    own : str, default: ''
        A regular expression that stands for the preset, if there is one.
    punctuation : bool, default: True
        Whether marks are tokens.
    lowercase : bool, default: True
        Whether forms are lower-cased.
    sentence_borders : bool, default: False
        Whether phrases stay within sentences.
    """

    preset: str = "words"
    own: str = ""
    punctuation: bool = True
    lowercase: bool = True
    sentence_borders: bool = False

    @property
    def pattern(self) -> str:
        """Of K-grams."""
        return self.own or preset_pattern(self.preset, punctuation=self.punctuation)

    @property
    def words(self) -> str:
        """Of classifiers, to whom punctuation is no feature."""
        return self.own or preset_pattern(self.preset, punctuation=False)

    @property
    def parameters(self) -> dict[str, Any]:
        """As estimators of K-grams name them."""
        return {
            "token_pattern": self.pattern, "lowercase": self.lowercase, "sentence_borders": self.sentence_borders
        }  # fmt: skip

    def options(self) -> dict[str, str]:
        """As the command takes them: only what is not the default; a flag has an empty value."""
        found: dict[str, str] = {}
        if self.own:
            found["token_pattern"] = self.own
        elif self.preset != "words":
            found["tokens"] = self.preset
        if not self.punctuation and not self.own:
            found["drop_punctuation"] = ""
        if not self.lowercase:
            found["keep_case"] = ""
        if self.sentence_borders:
            found["sentence_borders"] = ""
        return found


USUAL_TOKENS = TokenChoice()


def asked_pattern(command: str, arguments: Mapping[str, Any]) -> str | None:
    """The token pattern that options of the command ask for by a name; None where they do not.

    Parameters
    ----------
    command : str
        Its name: words as features have no punctuation.
    arguments : Mapping
        Its options: tokens, drop_punctuation, features.

    Returns
    -------
    str or None
        A pattern of the presets.
    """
    name, drop = arguments.get("tokens"), bool(arguments.get("drop_punctuation"))
    if name is None and not drop:
        return None
    by_words = command == "embed" or arguments.get("features") == "words"
    return preset_pattern(name or "words", punctuation=not (drop or by_words))


def is_dictionary(pattern: str) -> bool:
    """Whether tokens are found by a dictionary, not by a pattern."""
    return pattern in (DICTIONARY, DICTIONARY_WORDS)


def has_dictionary() -> bool:
    """Whether ICU is installed."""
    return find_spec("icu4py") is not None


def check_dictionary() -> None:
    """Raises ValueError, with what to install, where ICU is not there."""
    if not has_dictionary():
        raise InputError('words of a dictionary need icu4py: pip install "cflengine[icu]".')


def dictionary_spans(text: str, *, punctuation: bool) -> Iterator[tuple[int, int]]:
    """Where ICU's words of a text begin and end, in code points; white space is none."""
    from icu4py.breakers import WordBreaker

    readable = text.encode("utf-16-le", "replace").decode("utf-16-le") if _has_surrogates(text) else text
    place = _code_points(readable)
    for a, e in WordBreaker(readable, "en").segments():
        first, last = (a, e) if place is None else (place[a], place[e])
        span = text[first:last]
        if span and not span.isspace() and (punctuation or any(char.isalnum() for char in span)):
            yield first, last


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)


def _code_points(text: str) -> list[int] | None:
    """For each place in UTF-16, which ICU counts in, that in code points; None where both are the same."""
    if not text or max(text) <= "\uffff":
        return None
    place = []
    for i, char in enumerate(text):
        place += [i] * (2 if char > "\uffff" else 1)
    return [*place, len(text)]
