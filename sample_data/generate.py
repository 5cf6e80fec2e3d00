"""Write the sample corpus: short reviews of imaginary beers, from a seeded grammar of our own.

    python sample_data/generate.py [--seed 7] [--documents 2000] [--out sample_data/reviews.csv]

The sentences come from `grammar.toml`, the vocabulary from `words.toml`, and `writing.py` puts them
together; this file decides who reviews which beer when, how much they like it, and what they write about.
The multi-word expressions in `PLANTED` are inserted as units, so that an analysis of the text can be
checked against what was put in.

The same seed gives the same bytes on every platform (see `writing.py`). Every review has its own random
stream, so that a shorter run is a prefix of a longer one.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import NamedTuple

# Run as a script, this folder is on the path and there is no package.
if __package__:
    from .writing import Author, Rule, Writer, draw, load_rules, noise, one_of, polish
else:
    from writing import Author, Rule, Writer, draw, load_rules, noise, one_of, polish

HERE = Path(__file__).resolve().parent
ASPECTS = ("appearance", "aroma", "palate", "taste")
COLUMNS = ("text", "author", "date", "beer", "style", *ASPECTS, "overall", "abv", "sentiment")
FIRST_DAY, LAST_DAY = date(2014, 1, 1), date(2024, 12, 31)
TOKEN = re.compile(r"\w+|[^\w\s]")
SENTENCE_END = re.compile(r"[.!?]+(?=\s|$)")
MOST_SENTENCES = 6


class Planted(NamedTuple):
    """A multi-word expression, the rules it stands in for, how often, and for which beer families."""

    phrase: str
    rules: tuple[str, ...]
    share: float
    families: tuple[str, ...] = ()


PLANTED = (
    # what the beer looks like
    Planted("pours a hazy amber", ("pour.all",), 0.55, ("hoppy",)),
    Planted("deep ruby brown", ("colour.malty", "colour.dark"), 0.2),
    Planted("pale straw yellow", ("colour.crisp", "colour.tart", "colour.yeasty"), 0.14),
    Planted("clear as a bell", ("clear.bright",), 0.55),
    Planted("off-white head", ("foam.all",), 0.26),
    Planted("thin tan head", ("head.meh", "head.bad"), 0.28, ("dark", "malty")),
    Planted("leaves sticky lacing", ("lace.good",), 0.28),
    Planted("fades without a trace", ("lace.bad", "lace.meh"), 0.22),
    # what it smells and tastes of
    Planted("freshly cut grass", ("note.crisp", "note.hoppy"), 0.035),
    Planted("crushed pine needles", ("note.hoppy",), 0.055),
    Planted("ripe mango sweetness", ("note.hoppy", "note.tart"), 0.05),
    Planted("burnt orange peel", ("note.hoppy", "note.yeasty"), 0.03),
    Planted("toasted brown bread", ("note.malty", "note.crisp"), 0.08),
    Planted("stewed garden plums", ("note.malty",), 0.06),
    Planted("dark chocolate and cherries", ("note.dark",), 0.12),
    Planted("cold black coffee", ("note.dark",), 0.08),
    Planted("salted caramel fudge", ("note.dark", "note.malty"), 0.03),
    Planted("sour green apple", ("note.tart", "off"), 0.03),
    Planted("a squeeze of lemon", ("aside.crisp", "aside.hoppy", "aside.tart", "aside.yeasty"), 0.2),
    Planted("bready malt backbone", ("malt.all",), 0.13),
    Planted("dry bitter finish", ("finish.good", "finish.meh"), 0.15),
    Planted("cardboard and wet paper", ("off",), 0.07),
    Planted("old library books", ("off",), 0.045),
    Planted("damp cellar funk", ("off",), 0.06),
    Planted("sweet as cough syrup", ("sweetcomp.bad",), 0.7),
    Planted("jumps out of the glass", ("nosevp.good",), 0.35),
    Planted("hardly any nose", ("nosenp.bad",), 0.6),
    # how it feels
    Planted("soft round mouthfeel", ("body.good",), 0.2),
    Planted("thin and watery body", ("body.bad",), 0.5),
    Planted("lively prickly carbonation", ("fizz.good", "fizz.bad"), 0.2),
    Planted("lingers on the tongue", ("linger.good", "linger.bad"), 0.25),
    Planted("goes flat too soon", ("tired.bad",), 0.5),
    Planted("warms the chest", ("warm.strong",), 0.5),
    # the last word
    Planted("worth every penny", ("praise.good",), 0.35),
    Planted("would drink again", ("again.good",), 0.45),
    Planted("best of the bunch", ("rank.good",), 0.45),
    Planted("never a dull sip", ("sip.good",), 0.5),
    Planted("down the drain", ("dump.bad",), 0.65),
    Planted("not my cup of tea", ("taste_no.bad",), 0.75),
    Planted("life is too short", ("short.good", "short.bad"), 0.45),
    # places and occasions
    Planted("Copper Heron", ("pub",), 0.3),
    Planted("Old Quarry Lane", ("street",), 0.5),
    Planted("Saint Odile Night Market", ("fest",), 0.4),
    Planted("rainy Sunday", ("day",), 0.3),
    Planted("bottle share", ("partyname",), 0.65),
)


class Style(NamedTuple):
    """A beer style: family, usual strength in per cent, and how common it is in 2014 and in 2024."""

    name: str
    family: str
    weakest: float
    strongest: float
    before: float
    after: float


STYLES = (
    Style("Pilsner", "crisp", 4.4, 5.3, 6, 6),
    Style("Helles", "crisp", 4.6, 5.4, 3, 4),
    Style("Kölsch", "crisp", 4.5, 5.1, 2, 2),
    Style("Table Beer", "crisp", 2.4, 3.6, 1, 3),
    Style("Pale Ale", "hoppy", 4.5, 5.8, 8, 6),
    Style("India Pale Ale", "hoppy", 5.6, 7.2, 10, 7),
    Style("Hazy IPA", "hoppy", 5.8, 7.4, 1, 12),
    Style("Double IPA", "hoppy", 7.6, 9.4, 4, 5),
    Style("Amber Ale", "malty", 4.8, 6.2, 7, 3),
    Style("Best Bitter", "malty", 3.7, 4.6, 6, 4),
    Style("Brown Ale", "malty", 4.6, 6.0, 5, 3),
    Style("Barley Wine", "malty", 9.0, 12.4, 3, 3),
    Style("Porter", "dark", 4.8, 6.8, 7, 5),
    Style("Milk Stout", "dark", 4.4, 6.0, 4, 4),
    Style("Imperial Stout", "dark", 8.6, 12.8, 6, 8),
    Style("Gose", "tart", 3.8, 4.9, 2, 4),
    Style("Fruited Sour", "tart", 4.0, 6.2, 1, 7),
    Style("Saison", "yeasty", 5.4, 7.4, 5, 5),
    Style("Wheat Beer", "yeasty", 4.8, 5.6, 6, 4),
    Style("Tripel", "yeasty", 8.0, 9.6, 4, 3),
)

CLARITY = {
    "crisp": "bright",
    "malty": "bright",
    "hoppy": "cloudy",
    "yeasty": "cloudy",
    "tart": "cloudy",
    "dark": "opaque",
}
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
SEASONS = ("winter", "spring", "summer", "autumn")
IN_SEASON = {
    "winter": ("dark", "malty"),
    "spring": ("hoppy", "yeasty"),
    "summer": ("crisp", "tart"),
    "autumn": ("malty",),
}


class Section(NamedTuple):
    """A part of a review: its grammar rule, the rating that sets its tone, and how often it is written."""

    rule: str
    rating: str
    weight: float


# In the order in which they are written; there may be two sentences on the taste.
SECTIONS = (
    Section("open", "overall", 0.8),
    Section("look", "appearance", 1.0),
    Section("smell", "aroma", 1.1),
    Section("taste", "taste", 2.2),
    Section("taste", "taste", 0.8),
    Section("feel", "palate", 0.9),
    Section("abv", "overall", 0.5),
    Section("pair", "overall", 0.35),
    Section("story", "overall", 0.6),
    Section("verdict", "overall", 1.6),
)


class Beer(NamedTuple):
    """One imaginary beer; `quality` is about 0.5 for an average one, and rarely outside [0, 1]."""

    brewery: str
    name: str
    style: Style
    abv: float
    quality: float


def brew(seed: int, rules: Mapping[str, Rule], count: int = 180) -> list[Beer]:
    """The imaginary beers, most popular first; no name is given twice or equals a planted phrase."""
    rng = Random(f"{seed}/beers")
    reserved = {planted.phrase for planted in PLANTED}
    beers: dict[str, Beer] = {}
    while len(beers) < count:
        brewery, first, second = (
            one_of(rng, *rules[f"beers.{part}"].alternatives) for part in ("brewery", "first", "second")
        )
        style = STYLES[int(rng.random() * len(STYLES))]
        abv = round(style.weakest + (style.strongest - style.weakest) * rng.random(), 1)
        name = f"{first} {second}"
        if name not in reserved and name not in beers:
            beers[name] = Beer(brewery, name, style, abv, 0.5 + 0.4 * noise(rng))
    return list(beers.values())


def tones_of(rating: float) -> tuple[str, ...]:
    """Grammar tags for a rating of 0 to 5, specific to general; the last one is good, meh or bad."""
    if rating >= 3.5:
        return ("great", "good") if rating >= 4.5 else ("good",)
    if rating >= 2.5:
        return ("meh",)
    return ("bad",) if rating >= 1.5 else ("awful", "bad")


def rate(beer: Beer, author: Author, rng: Random) -> dict[str, float]:
    """Ratings in [0, 5] in steps of 0.5: four aspects around one impression, and an overall led by taste."""

    def step(value: float) -> float:
        return min(max(int(2 * value + 0.5) / 2, 0.0), 5.0)

    centre = 3.2 + 2.6 * (beer.quality - 0.5) + author.leniency + 1.2 * noise(rng)
    ratings = {aspect: step(centre + 0.7 * noise(rng)) for aspect in ASPECTS}
    mean = sum(ratings.values()) / 4
    ratings["overall"] = step(0.5 * mean + 0.5 * ratings["taste"] + 0.4 * noise(rng))
    return ratings


def sections_of(author: Author, rng: Random) -> list[Section]:
    """The 2 to 5 sections of a review, in the order they are written."""
    count = min(max(int(author.sentences + 1.2 * noise(rng) + 0.5), 2), 5)
    weights = list(author.voice("sections", [section.weight for section in SECTIONS]))
    chosen = set()
    for _ in range(count):
        index = draw(rng, weights)
        weights[index] = 0.0
        chosen.add(index)
    return [section for index, section in enumerate(SECTIONS) if index in chosen]


def compose(writer: Writer, ratings: Mapping[str, float]) -> str:
    """The text of a review: its sections, turns where a rating disagrees, and perhaps a pet phrase."""
    author, rng = writer.author, writer.rng
    mood = tones_of(ratings["overall"])[-1]
    sentences = []
    for section in sections_of(author, rng):
        tones = tones_of(ratings[section.rating])
        sentence = writer.sentence(section.rule, tones)
        if {tones[-1], mood} == {"good", "bad"}:
            sentence = writer.sentence("contrast.up" if mood == "bad" else "contrast.down") + " " + sentence
        sentences.append(polish(sentence, author, tones[0], rng))
    if rng.random() < 0.5:
        sentences.insert(len(sentences) - author.pet_before_verdict, one_of(rng, *author.pets))
    while sum(len(SENTENCE_END.findall(sentence)) for sentence in sentences) > MOST_SENTENCES:
        del sentences[1]
    if author.emoji and rng.random() < 0.4:
        sentences[-1] += " " + author.emoji
    gaps = ["\n" if author.breaks_lines and rng.random() < 0.7 else " " for _ in sentences[1:]]
    if rng.random() < 0.02:
        gaps[len(gaps) // 2] = "\n\n"
    text = sentences[0] + "".join(gap + sentence for gap, sentence in zip(gaps, sentences[1:], strict=True))
    return text.lower() if author.lower_case else text


def inserts_for(family: str) -> dict[str, list[tuple[float, str]]]:
    """By grammar rule, the planted phrases that suit a beer family, each after its probability."""
    inserts: dict[str, list[tuple[float, str]]] = {}
    for planted in PLANTED:
        if not planted.families or family in planted.families:
            for rule in planted.rules:
                inserts.setdefault(rule, []).append((planted.share, planted.phrase))
    return inserts


def season_of(day: date) -> str:
    """Meteorological season of the northern half of the globe."""
    return SEASONS[day.month % 12 // 3]


def choose_beer(beers: Sequence[Beer], day: date, author: Author, rng: Random) -> Beer:
    """A beer by popularity, fashion of the year, season and the author's favourite families."""
    progress = (day - FIRST_DAY) / (LAST_DAY - FIRST_DAY)
    liking = dict(zip(CLARITY, author.voice("families", [1.0] * len(CLARITY)), strict=True))
    weights = [
        (beer.style.before + (beer.style.after - beer.style.before) * progress)
        * (2.5 if beer.style.family in IN_SEASON[season_of(day)] else 1.0)
        * (0.3 + liking[beer.style.family])
        / (rank + 20)
        for rank, beer in enumerate(beers)
    ]
    return beers[draw(rng, weights)]


def review(
    rules: Mapping[str, Rule],
    beer: Beer,
    author: Author,
    day: date,
    rng: Random,
    expanded: list[tuple[str, str]] | None = None,
) -> dict[str, str]:
    """One row of the corpus: ratings first, then the text they ask for; `expanded` gets what the text is made of."""
    ratings = rate(beer, author, rng)
    family = beer.style.family
    strength = "light" if beer.abv < 4.8 else "strong" if beer.abv >= 7.5 else "mid"
    era = "early" if day.year <= 2018 else "late"
    values = {
        "beer": beer.name,
        "brewery": beer.brewery,
        "pct": author.percent.format(beer.abv),
        "month": MONTHS[day.month - 1],
        "year": str(day.year),
        "yearnext": str(day.year + 1),
        "points": f"{ratings['overall']:g}",
        "tenth": f"{2 * ratings['overall']:g}",
    }
    tags = (beer.style.name, family, CLARITY[family], strength, season_of(day), era, "all")
    writer = Writer(rules, author, rng, values, tags, inserts_for(family))
    text = compose(writer, ratings)
    if expanded is not None:
        expanded += writer.expanded
    positive = ratings["overall"] > 3 or (ratings["overall"] == 3 and ratings["taste"] >= 3)
    return {
        "text": text,
        "author": author.name,
        "date": day.isoformat(),
        "beer": f"{beer.brewery} {beer.name}",
        "style": beer.style.name,
        **{aspect: f"{rating:.1f}" for aspect, rating in ratings.items()},
        "abv": f"{beer.abv:.1f}",
        "sentiment": "positive" if positive else "negative",
    }


def reviews(
    seed: int = 7, documents: int = 2000, expanded: list[tuple[str, str]] | None = None
) -> Iterator[dict[str, str]]:
    """Yield one dict of `COLUMNS` (all strings) per review; review i depends on the seed and i alone.

    `expanded`, where given, gets what the parts of the text are (rule, text); empty it between two reviews.
    """
    rules, pets = load_rules()
    authors = [Author(name, phrases, seed) for name, phrases in pets.items()]
    activity = [1 / (rank + 6) for rank in range(len(authors))]
    beers = brew(seed, rules)
    for index in range(documents):
        rng = Random(f"{seed}/review/{index}")
        author = authors[draw(rng, activity)]
        day = FIRST_DAY + timedelta(days=int(rng.random() * ((LAST_DAY - FIRST_DAY).days + 1)))
        yield review(rules, choose_beer(beers, day, author, rng), author, day, rng, expanded)


def csv_bytes(seed: int = 7, documents: int = 2000) -> bytes:
    """The corpus as UTF-8 CSV (RFC 4180 quoting, header line, lines ending in a bare line feed)."""
    out = io.StringIO(newline="")
    table = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(reviews(seed, documents))
    return out.getvalue().encode("utf-8")


def planted_phrases() -> list[tuple[str, ...]]:
    """The planted phrases as lower-cased tokens, cut by `\\w+|[^\\w\\s]`, in the order of `PLANTED`."""
    return [tuple(TOKEN.findall(planted.phrase.lower())) for planted in PLANTED]


def planted_counts(texts: Iterable[str]) -> dict[tuple[str, ...], int]:
    """How often each planted phrase occurs in the texts, compared as lower-cased tokens."""
    counts = dict.fromkeys(planted_phrases(), 0)
    lengths = sorted({len(phrase) for phrase in counts})
    for text in texts:
        tokens = TOKEN.findall(text.lower())
        for length in lengths:
            for start in range(len(tokens) - length + 1):
                gram = tuple(tokens[start : start + length])
                if gram in counts:
                    counts[gram] += 1
    return counts


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the corpus to a file, as the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--out", type=Path, default=HERE / "reviews.csv")
    options = parser.parse_args(arguments)
    options.out.write_bytes(csv_bytes(options.seed, options.documents))


if __name__ == "__main__":
    main()
