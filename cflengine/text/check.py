"""A look at a corpus before anything is learnt from it: its script, lengths, repeated documents, documents that are no
text, and what its columns may be for. Plain numpy, some seconds for ten million words."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from cflengine.engine.checks import InputError
from cflengine.text.corpus import Corpus
from cflengine.text.languages import language_of_sample
from cflengine.text.markup import html_in
from cflengine.text.reading.columns import holds_comma_decimals
from cflengine.text.token_presets import has_dictionary
from cflengine.text.token_table import TokenTable

SHINGLE, HASHES, BANDS = 5, 32, 8  # words; minima a document; groups of 4 minima that nearly equal ones share
SIMILAR = 0.8  # share of shingles, from which on two documents are nearly the same
#: of a corpus's own parts, in capitals or not
TEST_NAMES = frozenset(("test", "testing"))
DEV_NAMES = frozenset(("dev", "devel", "development", "val", "valid", "validation"))
SPLITS = frozenset(("train", "training")) | TEST_NAMES | DEV_NAMES
#: scripts that put no blanks between words
UNSPACED = frozenset(("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR"))
#: whose vowels and signs are marks, which the plain pattern takes for borders of words
MARKED = frozenset(
    ("DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI", "ORIYA", "TAMIL", "TELUGU", "KANNADA", "MALAYALAM", "SINHALA")
)
_SOCIAL = re.compile(r"(?<!\S)[@#]\w{2}|https?://|[\U0001f300-\U0001faff\u2600-\u27bf]")
_SAMPLED = 200_000  # characters that scripts are counted in
_FROM_EACH = 1000  # characters at least, for the language
_MOST_LETTERS = 0.6  # of which one script has to be for a language to be named
_LANGUAGES_OF, _OF_ONE, _FEWEST_IN_IT = 200, 150, 5  # documents, letters of one at least, documents in another one
_NO_ANSWER = frozenset({"NA", "N/A", "n/a", "N.A.", "n.a.", "k.A.", "k. A.", "NULL", "null", "NaN", "nan"})
_MARK_TOKENS = max(map(len, _NO_ANSWER))  # at most, even of characters
_FEWEST_CHARS = 200
_LETTERS, _BLANKS = 0.6, 0.02  # of the characters of a text, at least; encoded lines are of 60 or 76
_MOST_LABELS = 50


@dataclass(frozen=True)
class Role:
    """A column and what it looks like: "split", "date", "id", "label", "group", "number", "constant", "empty" or
    "text"; values: how many different ones, filled: the share of documents that have one."""

    column: str
    role: str
    values: int
    filled: float


@dataclass(frozen=True)
class CorpusCheck:
    """What a look at a corpus finds, before anything is solved.

    Parameters
    ----------
    scripts : tuple[tuple[str, float], ...]
        Script and its share of the letters, the most frequent first.
    language : str
        In English; empty where it is not sure.
    repeated : ndarray
        int64, documents that equal an earlier one but for case and white space.
    nearly : ndarray
        int64, further ones that share SIMILAR of their shingles with an earlier one.
    no_text : ndarray
        int64, documents that look like encoded data or tables.
    html : ndarray
        int64, documents that hold HTML.
    first_html : str
        What the first of these has of it.
    lengths : tuple[int, float, int]
        Words of the shortest, the median and the longest document.
    roles : tuple[Role, ...]
        Every other column, and what it looks like.
    no_answer : ndarray
        int64, documents that are nothing but a mark such as NA or n/a.
    second_language : str
        That of a fifth of the documents or more, beside ``language``; empty where there is none.
    """

    scripts: tuple[tuple[str, float], ...]
    language: str
    repeated: np.ndarray = field(repr=False)
    nearly: np.ndarray = field(repr=False)
    no_text: np.ndarray = field(repr=False)
    html: np.ndarray = field(repr=False)
    first_html: str
    lengths: tuple[int, float, int]
    roles: tuple[Role, ...]
    no_answer: np.ndarray = field(repr=False)
    second_language: str = ""

    @property
    def unspaced(self) -> bool:
        """Whether most letters are of a script without blanks between words."""
        return _unspaced(self.scripts)


def check_corpus(corpus: Corpus, table: TokenTable) -> CorpusCheck:
    """Look at texts, tokens and columns.

    Parameters
    ----------
    corpus : Corpus
        What was read.
    table : TokenTable
        Its tokens.

    Returns
    -------
    CorpusCheck
        Script, language, duplicates, documents that are no text or hold HTML, lengths, roles of columns.
    """
    sizes = np.diff(table.doc_ptr)
    repeated = repeated_documents(corpus.texts)
    nearly = np.setdiff1d(nearly_repeated(table), repeated)
    middle = (int(sizes.min()), float(np.median(sizes)), int(sizes.max())) if len(sizes) else (0, 0.0, 0)
    roles = tuple(role_of(str(name), corpus.metadata[name]) for name in corpus.metadata.columns)
    scripts, language = scripts_of(corpus.texts), language_of(corpus.texts)
    html, first = html_in(corpus.texts)
    short = np.flatnonzero(sizes <= _MARK_TOKENS)  # texts may lie on disk: no further pass over all of them
    marks = np.array([d for d in short.tolist() if corpus.texts[d].strip() in _NO_ANSWER], dtype=np.int64)
    return CorpusCheck(
        scripts=scripts, language=language, repeated=repeated, nearly=nearly, no_text=no_text(corpus.texts),
        html=np.array(html, dtype=np.int64), first_html=first, lengths=middle, roles=roles, no_answer=marks,
        second_language=second_language(corpus.texts, language),
    )  # fmt: skip


def _unspaced(scripts: Sequence[tuple[str, float]]) -> bool:
    return sum(share for name, share in scripts if name in UNSPACED) > 0.5


def words_in(texts: Sequence[str]) -> list[int]:
    """How many words each text has, separated by white space; of texts in scripts without blanks, how many letters.

    Parameters
    ----------
    texts : sequence of str
        The documents.

    Returns
    -------
    list of int
        One a document.
    """
    if _unspaced(scripts_of(texts)):
        return [sum(map(str.isalnum, text)) for text in texts]
    return [len(text.split()) for text in texts]


def scripts_of(texts: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Scripts as Unicode names them ("LATIN", "CJK", …) with their share of letters, of a sample of the texts."""
    each = max(20, _SAMPLED // max(len(texts), 1))
    counts: Counter[str] = Counter()
    step = max(1, len(texts) * each // _SAMPLED)
    for text in texts[::step]:
        counts.update(char for char in text[:each] if char.isalpha())
    scripts: Counter[str] = Counter()
    for char, count in counts.items():
        scripts[unicodedata.name(char, "UNKNOWN").split()[0]] += count
    total = sum(scripts.values())
    return tuple((name, count / total) for name, count in scripts.most_common(5))


def language_of(texts: Sequence[str]) -> str:
    """The language of most of a sample ("English", "German"); empty where that is not sure (languages.py)."""
    each = max(_FROM_EACH, _SAMPLED // max(len(texts), 1))
    sample = " ".join(text[:each] for text in texts[:: max(1, len(texts) * each // _SAMPLED)])[:_SAMPLED]
    scripts = scripts_of([sample])
    mixed = len(scripts) > 1 and not {name for name, _ in scripts[:2]} <= UNSPACED and scripts[0][1] < _MOST_LETTERS
    return "" if mixed or not scripts else language_of_sample(sample, scripts[0][0])


def second_language(texts: Sequence[str], first: str) -> str:
    """A language other than the first that a fifth of a sample of documents are in; empty for none."""
    found: Counter[str] = Counter()
    for text in texts[:: max(1, len(texts) // _LANGUAGES_OF)]:
        scripts = scripts_of([text[:_FROM_EACH]])
        if scripts and scripts[0][0] == "LATIN":
            found[language_of_sample(text[:_FROM_EACH], "LATIN", fewest=_OF_ONE)] += 1
    del found[""]
    if not first and len(found) < 2:
        return ""  # of one language, but too short as a whole to be sure
    others = [(name, n) for name, n in found.most_common() if name != first]
    return others[0][0] if others and others[0][1] >= max(0.2 * found.total(), _FEWEST_IN_IT) else ""


def has_unlike_script(texts: Sequence[str]) -> bool:
    """Whether most letters are of a script that has no blanks between words, or whose letters bear marks that :mod:`re`
    takes for borders: the usual tokens cut it wrongly.

    Parameters
    ----------
    texts : sequence of str
        The documents.

    Returns
    -------
    bool
        True where they are.
    """
    return sum(share for name, share in scripts_of(texts) if name in UNSPACED | MARKED) > 0.5


def suggested_tokens(texts: Sequence[str]) -> str:
    """The preset that suits a corpus.

    Words of a dictionary (characters, where there is none) for scripts without blanks and for those whose letters bear
    marks that :mod:`re` takes for borders; social media where a third of the documents hold @names, #topics, addresses
    or emoji; else words.

    Parameters
    ----------
    texts : sequence of str
        The documents.

    Returns
    -------
    str
        A key of PRESETS.
    """
    if has_unlike_script(texts):
        return "dictionary" if has_dictionary() else "characters"
    sample = texts[:: max(1, len(texts) // 2000)]
    found = sum(_SOCIAL.search(text[:2000]) is not None for text in sample)
    return "social" if sample and found > len(sample) / 3 else "words"


def repeated_documents(texts: Sequence[str]) -> np.ndarray:
    """int64: documents that are equal to an earlier one, case and white space aside."""
    seen: set[bytes] = set()
    found = []
    for d, text in enumerate(texts):
        key = hashlib.blake2b(" ".join(text.lower().split()).encode("utf-8", "replace"), digest_size=12).digest()
        if key in seen:
            found.append(d)
        seen.add(key)
    return np.array(found, dtype=np.int64)


def nearly_repeated(table: TokenTable) -> np.ndarray:
    """int64: documents of which by estimate SIMILAR of the shingles (sequences of SHINGLE words) are an earlier
    document's: minima of random hashes, compared where a band of them is equal (Broder 1997). Documents of fewer than
    2·SHINGLE words are left out."""
    sizes = np.diff(table.doc_ptr) - SHINGLE + 1
    documents = np.flatnonzero(sizes > SHINGLE)
    if len(documents) < 2:
        return np.empty(0, dtype=np.int64)
    sketch = _sketches(table, documents, sizes[documents])
    rows, found = HASHES // BANDS, set()
    for band in range(BANDS):
        part = np.ascontiguousarray(sketch[:, band * rows : (band + 1) * rows])
        keys = part.view([("", part.dtype)] * rows).ravel()
        order = np.argsort(keys, kind="stable")
        same = keys[order][1:] == keys[order][:-1]
        first = order[np.maximum.accumulate(np.where(np.concatenate([[True], ~same]), np.arange(len(order)), 0))]
        alike = (sketch[order] == sketch[first]).mean(axis=1) >= SIMILAR
        found.update(order[alike & (first < order)].tolist())
    return np.sort(documents[np.array(sorted(found), dtype=np.int64)])


def _sketches(table: TokenTable, documents: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """uint64 (documents, HASHES): of each document's shingles the least of every hash."""
    begins = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    at = np.repeat(table.doc_ptr[documents] - begins, sizes) + np.arange(int(sizes.sum()))
    value = np.zeros(len(at), dtype=np.uint64)
    for k in range(SHINGLE):
        value = (value + table.tokens[at + k].astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        value ^= value >> np.uint64(29)
    factors = np.random.default_rng(0).integers(1, 1 << 63, HASHES, dtype=np.uint64) | np.uint64(1)
    found = np.empty((len(documents), HASHES), dtype=np.uint64)
    for h, factor in enumerate(factors):
        mixed = value * factor
        mixed ^= mixed >> np.uint64(32)
        found[:, h] = np.minimum.reduceat(mixed, begins)
    return found


def no_text(texts: Sequence[str]) -> np.ndarray:
    """Documents that are long and hardly letters, marks on them and blanks, or, in a script that has blanks, hardly
    have any: encoded files, tables of numbers.

    Parameters
    ----------
    texts : sequence of str
        The documents.

    Returns
    -------
    int64 ndarray
        Their numbers.
    """
    found = []
    for d, text in enumerate(texts):
        if len(text) < _FEWEST_CHARS:
            continue
        sample = text if len(text) <= 20_000 else text[:10_000] + text[-10_000:]
        counts = Counter(sample)
        blanks = sum(count for char, count in counts.items() if char.isspace())
        letters = sum(count for char, count in counts.items() if unicodedata.category(char)[0] in "LM")
        if letters + blanks < _LETTERS * len(sample) or (
            blanks < _BLANKS * len(sample)
            and sum(share for name, share in scripts_of([text]) if name in UNSPACED) < 0.5
        ):
            found.append(d)
    return np.array(found, dtype=np.int64)


def role_of(name: str, values: pd.Series) -> Role:
    """What a column may be for.

    Parameters
    ----------
    name : str
        The column's.
    values : pandas.Series
        The column.

    Returns
    -------
    Role
        What it looks like, and how many values it has.
    """
    present = values.dropna()
    distinct = int(present.nunique())
    filled = len(present) / len(values) if len(values) else 0.0
    names = {str(value).strip().lower() for value in present.unique()[:20]} if distinct <= 20 else set()
    if 1 < distinct <= len(SPLITS) and names <= SPLITS:
        role = "split"
    elif pd.api.types.is_datetime64_any_dtype(values):
        role = "date"
    elif distinct <= 1:
        role = "constant" if distinct else "empty"
    elif distinct <= _MOST_LABELS and distinct <= len(present) / 2:
        role = "label"
    elif holds_comma_decimals(values):
        role = "number"
    elif distinct == len(present):
        role = "id" if not pd.api.types.is_float_dtype(values) else "number"
    elif pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
        role = "number"
    else:
        role = "group" if distinct <= len(present) / 2 else "text"
    return Role(name, role, distinct, filled)


def own_part(metadata: pd.DataFrame, names: Collection[str], *, beside: Collection[str] = ()) -> str | None:
    """A part that a corpus sets apart itself, such as its test documents.

    Parameters
    ----------
    metadata : pandas.DataFrame
        Columns of the documents that matter.
    names : collection of str
        What the part may be called, in small letters: TEST_NAMES or DEV_NAMES.
    beside : collection of str
        Columns that cannot be meant, since they are to be learnt.

    Returns
    -------
    str or None
        ``COLUMN=VALUE``: of the column "split", or of the first that holds such names alone; None for no such part.

    Raises
    ------
    InputError
        Where several of its values are of that purpose.
    """
    usual = [str(column) for column in metadata.columns if column not in beside]
    for column in sorted(usual, key=lambda one: one != "split"):
        if column != "split" and role_of(column, metadata[column]).role != "split":
            continue
        there = [one for one in sorted(set(metadata[column].astype(str))) if one.strip().lower() in names]
        if len(there) > 1:
            several = ", ".join(map(repr, there))
            raise InputError(
                f"column {column!r} has several parts of one purpose, {several}: write them alike, or name one."
            )
        if there:
            return f"{column}={there[0]}"
    return None
