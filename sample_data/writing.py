"""How the invented reviewers write: grammar and word lists, personal wording, spelling and typing habits.

`grammar.toml` holds sentence patterns and `words.toml` word lists. A reference {x} is replaced by an
alternative of rule x or, where there is no such rule, of x.tag for the first of the review's tags that has
one.

A seed gives the same text on every platform: the only draws are `random.Random.random()`, whose stream
Python promises to keep, and weights need nothing but exactly rounded arithmetic (no logarithms or powers).
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
VOWEL_SOUND = re.compile(r"(?!onc?e\b|eu|uni|uk|us[ei])[aeiouéü]|8|1[18]\b|hour|honest", re.IGNORECASE)
AMERICAN = {
    "flavour": "flavor",
    "colour": "color",
    "favourite": "favorite",
    "neighbour": "neighbor",
    "harbour": "harbor",
    "grey": "gray",
    "cosy": "cozy",
    "litre": "liter",
    "liquorice": "licorice",
    "yoghurt": "yogurt",
    "mould": "mold",
}
SPELLED_OUT = {
    "it's": "it is",
    "don't": "do not",
    "I'd": "I would",
    "there's": "there is",
    "isn't": "is not",
    "can't": "cannot",
    "won't": "will not",
    "wasn't": "was not",
    "couldn't": "could not",
    "I've": "I have",
    "that's": "that is",
    "wouldn't": "would not",
    "didn't": "did not",
    "doesn't": "does not",
}


class Rule(NamedTuple):
    """The alternatives of a grammar rule or word list, with weights before an author's taste comes in."""

    alternatives: tuple[str, ...]
    weights: tuple[float, ...]


def load_rules(folder: Path = HERE) -> tuple[dict[str, Rule], dict[str, tuple[str, ...]]]:
    """Read the two TOML files: rules by dotted name, and pet phrases by author, most active first."""
    rules: dict[str, Rule] = {}
    pets: dict[str, tuple[str, ...]] = {}
    for file, separator in (("words.toml", ","), ("grammar.toml", "\n")):
        tree = tomllib.loads((folder / file).read_text(encoding="utf-8"))
        pets |= {name: tuple(text.strip().split("\n")) for name, text in tree.pop("authors", {}).items()}
        for name, node in tree.items():
            for tag, text in node.items() if isinstance(node, dict) else [("", node)]:
                entries = tuple(" ".join(entry.split()) for entry in text.split(separator) if entry.strip())
                # Words follow a Zipf-like law; sentence patterns start out equally likely.
                weights = tuple(1 / (rank + 4) if separator == "," else 1.0 for rank in range(len(entries)))
                rules[f"{name}.{tag}" if tag else name] = Rule(entries, weights)
    return rules, pets


def draw(rng: Random, weights: Sequence[float]) -> int:
    """Index drawn with probability proportional to `weights` (non-negative, not all zero)."""
    sums = list(accumulate(weights))
    return min(bisect(sums, rng.random() * sums[-1]), len(sums) - 1)


def one_of(rng: Random, *items: str) -> str:
    """One of the items, all equally likely."""
    return items[int(rng.random() * len(items))]


def noise(rng: Random) -> float:
    """Bell-shaped draw, mean 0 and deviation 0.58 (a sum of uniforms: libm differs between platforms)."""
    return rng.random() + rng.random() + rng.random() + rng.random() - 2


@dataclass
class Author:
    """A reviewer: pet phrases, leniency, preferred wordings and typing habits, derived from seed and name."""

    name: str
    pets: tuple[str, ...]
    seed: int
    voices: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rng = Random(f"{self.seed}/author/{self.name}")
        self.leniency = 0.7 * noise(rng)
        self.sentences = 4.6 + 1.1 * noise(rng)
        self.lower_case = rng.random() < 0.08
        self.american = rng.random() < 0.35
        self.spelled_out = rng.random() < 0.2
        self.exclaims = 0.3 * rng.random() if rng.random() < 0.5 else 0.02
        self.shouts = 0.5 if rng.random() < 0.15 else 0.01
        self.careless = 0.05 if rng.random() < 0.25 else 0.004
        self.breaks_lines = rng.random() < 0.08
        self.percent = one_of(rng, "{} %", "{}%", "{}%", "{} percent", "{}% ABV")
        self.emoji = one_of(rng, "🍺", "👍", "🍋", "😬", "🍻") if rng.random() < 0.12 else ""
        self.pet_before_verdict = rng.random() < 0.2

    def voice(self, name: str, weights: Sequence[float]) -> list[float]:
        """The weights of a rule's alternatives as this author uses them, fixed at the first call."""
        if name not in self.voices:
            rng = Random(f"{self.seed}/voice/{self.name}/{name}")
            taste = (0.2, 0.6, 1.0, 1.0, 3.0)
            self.voices[name] = [weight * taste[int(5 * rng.random())] for weight in weights]
        return self.voices[name]


@dataclass
class Writer:
    """Expands grammar rules for one review; nothing is used twice in it while there are alternatives left.

    `values` replaces references directly, `tags` completes rule names, and `inserts` gives for a rule the
    phrases that may take its place, each after its probability. `expanded` collects (rule, text) of all that was
    expanded or inserted.
    """

    rules: Mapping[str, Rule]
    author: Author
    rng: Random
    values: Mapping[str, str]
    tags: tuple[str, ...]
    inserts: Mapping[str, Sequence[tuple[float, str]]]
    used: set[tuple[str, int]] = field(default_factory=set)
    inserted: set[str] = field(default_factory=set)
    expanded: list[tuple[str, str]] = field(default_factory=list)

    def sentence(self, section: str, tones: tuple[str, ...] = ()) -> str:
        """One raw sentence of a section, mostly lower case at its start; tone tags go before the others."""
        return self._fill("{" + section + "}", (*tones, *self.tags))

    def _fill(self, pattern: str, tags: tuple[str, ...]) -> str:
        pattern = re.sub(r"\[([^\]]*)\]", lambda match: one_of(self.rng, *match[1].split("|")), pattern)
        return re.sub(r"\{([^}]*)\}", lambda match: self._expand(match[1], tags), pattern)

    def _expand(self, name: str, tags: tuple[str, ...]) -> str:
        if name in self.values:
            self.expanded.append((name, self.values[name]))
            return self.values[name]
        name = next(full for full in (name, *(f"{name}.{tag}" for tag in tags)) if full in self.rules)
        text = self._insert(name) or self._fill(self._pick(name), tags)
        self.expanded.append((name, text))
        emphatic = name.startswith(("adj.great", "adj.awful", "really"))
        return text.upper() if emphatic and self.rng.random() < self.author.shouts else text

    def _insert(self, name: str) -> str:
        chance = self.rng.random()
        for share, phrase in self.inserts.get(name, ()):
            chance -= share
            if chance < 0:
                fresh = phrase not in self.inserted
                self.inserted.add(phrase)
                return phrase if fresh else ""
        return ""

    def _pick(self, name: str) -> str:
        rule = self.rules[name]
        weights = self.author.voice(name, rule.weights)
        fresh = [0.0 if (name, index) in self.used else weight for index, weight in enumerate(weights)]
        index = draw(self.rng, fresh if any(fresh) else weights)
        self.used.add((name, index))
        return rule.alternatives[index]


def polish(sentence: str, author: Author, mood: str, rng: Random) -> str:
    """Finish a raw sentence as the author would type it; `mood` is its most specific tone tag."""

    def article(match: re.Match[str]) -> str:
        return match[1] + ("n " if VOWEL_SOUND.match(sentence, match.end()) else " ")

    sentence = re.sub(r"\b(\w+) \1\b", r"\1", sentence)
    sentence = re.sub(r"\b([Aa])n? (?=\w)", article, sentence)
    sentence = re.sub(r"(^|[.!?] )([^\W\d_])", lambda match: match[1] + match[2].upper(), sentence)
    for swaps, wanted in ((AMERICAN, author.american), (SPELLED_OUT, author.spelled_out)):
        for old, new in swaps.items() if wanted else ():
            sentence = re.sub(rf"\b{old}", new, sentence)
            sentence = re.sub(rf"\b{old.capitalize()}", new.capitalize(), sentence)
    if rng.random() < author.careless:
        sentence = with_slip(sentence, rng)
    keen = author.exclaims * {"great": 2, "awful": 2, "meh": 0}.get(mood, 1)
    if sentence.endswith("."):
        fate = rng.random()
        mark = "!!" if fate < keen / 5 else "!" if fate < keen else "..." if fate > 0.985 else "."
        sentence = sentence[:-1] + mark
    return sentence


def with_slip(sentence: str, rng: Random) -> str:
    """The sentence with two neighbouring letters of one long lower-case word swapped, as in haste."""
    words = list(re.finditer(r"\b[a-z]{6,}\b", sentence))
    if not words:
        return sentence
    word = words[int(rng.random() * len(words))]
    at = word.start() + 1 + int(rng.random() * (len(word[0]) - 3))
    return sentence[:at] + sentence[at + 1] + sentence[at] + sentence[at + 2 :]
