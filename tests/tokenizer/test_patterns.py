"""Patterns of one's own: read as Python reads them, written as every engine reads them, or refused."""

from __future__ import annotations

import unicodedata

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from cflengine.engine.checks import InputError
from cflengine.tokenizer import SubwordTokenizer
from cflengine.tokenizer.patterns import WORD, portable
from cflengine.tokenizer.words import PATTERNS, Cutting

#: GPT-4o's, DeepSeek's
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
MARKS = r"[!-/:-@\[-`{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|[一-龥぀-ヿ]+|\s+"

WRITTEN = {
    r"\w+|\W": "[WORD]+|[^WORD]",
    r"[\w-]+\w": r"[WORD\-]+[WORD]",
    r"[^\w\s]": r"[^WORD\s]",
    r"[]\w]\w": r"[\]WORD][WORD]",
    r"\[\w\]}": r"\[[WORD]\]\}",
    r"[[:alpha:]\w]": r"[\p{Alphabetic}WORD]",
    r"[^\W\d_]+": r"(?:(?![\p{Nd}_])[WORD])+",
    r"[^\W]": "[WORD]",
    r"[\W\d]": r"(?:[\p{Nd}]|[^WORD])",
    r"\bab": "(?:(?<=[WORD])(?![WORD])|(?<![WORD])(?=[WORD]))ab",
    "^a$": r"\Aa(?=\n?(?![\s\S]))",
    "(?m)^a$|b.": r"(?<![^\n])a(?![^\n])|b[^\n]",
    r"(?s)a.(?-s:.)\Z": r"a[\s\S](?:[^\n])(?![\s\S])",
    "(?i)aé9[b-dß]": r"[aA][éÉ]9[b-dBCDß]",
    "(?i:k)K": "(?:[kK])K",
    "(?P<w>a)(?<v>b)(c)(?:d)(?#no)(?>e)": "(?:a)(?:b)(?:c)(?:d)(?>e)",
    r"a{,3}b{2}?c{1,2}+d{2,}?e*+": r"a{0,3}b{2}(?>c{1,2})d{2,}?(?>e*)",
    r"\x41\u00e9\t\.\-": r"Aé\t\.-",
    r"\p{Script=Han}\p{sc=greek}\P{^Lu}\pL\p{Uppercase_Letter}\P{gc=Nd}": r"\p{Han}\p{Greek}\p{Lu}\p{L}\p{Lu}\P{Nd}",
    O200K: O200K.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)", "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"),
}
REFUSED = {
    "(?=[A-Z])|a": "empty string",
    r"\w*": "empty string",
    r"\b": "empty string",
    "(?:a?)+b": "repeated part that can match nothing",
    "(?=a)+b": "repeated part",
    r"\X": r"has \\X",
    r"a\h": r"has \\h",
    r"a\Kb": r"has \\K",
    r"(a)\1": r"has \\1",
    r"\p{IsGreek}": "IsGreek",
    r"(?i)\p{Lu}": "where case does not count",
    "(?u)a": "flags u",
    "(?x) a": "flags x",
    "a(?i)b": r"begins with \(\?i",
    "(?|a|b)": r"begins with \(\?\|",
    "(a)?(?(1)b|c)": r"begins with \(\?\(",
    "[[a-z]--[b]]": "bracket within brackets",
    "[a-c--b]": "-- within",
    r"\p{Extended_Pictographic}": "Extended_Pictographic",
    "[a&&b]": "&& within",
    "[[:punct:]]": "bracket within brackets",
    "a{e<=1}": "brace that is no quantifier",
    "(?<=a+)b": "look behind",
    r"(?<=\b)b": "look behind",
    "a{20000}": "more than 10,000",
    "(": "no regular expression",
    "a**": "no regular expression",
    "[b-a]": "no regular expression",
    "(" * 60 + "a" + ")" * 60: "more than 40 groups",
    "a" * 10_001: "10,001 characters",
    "\ud800": "half a character",
    "[\u0100-\uffff]": "halves of characters",
}


@pytest.mark.parametrize("pattern", list(WRITTEN))
def test_what_a_pattern_is_written_as(pattern):
    written = WRITTEN[pattern].replace("WORD", WORD)
    assert portable(pattern) == written
    assert portable(written) == written


@pytest.mark.parametrize("pattern", list(REFUSED), ids=lambda one: one[:12].encode("ascii", "replace").decode())
def test_what_cannot_be_written_is_refused(pattern):
    with pytest.raises(InputError, match=REFUSED[pattern]):
        Cutting(pattern=pattern)


ATOMS = st.sampled_from(
    ["a", "b", "B", "9", " ", "\n", "é", "-", "_", ".", r"\.", r"\s", r"\S", r"\d", r"\D", r"\n", r"\p{L}", r"\P{Lu}",
     "[ab]", "[^a]", "[a-c9]", r"[^\d\s]", r"[\S ]", r"[-\]a]", "ab", "(?i:aB)", "(?i:[a-b])", "(?s:.)"]
)  # fmt: skip
OF_WORDS = st.sampled_from([r"\w", r"\W", r"\b", r"\B", r"[^\W_]", r"[\W9]", r"[\w.]", "^", "$", "(?m:^)", "(?m:$)"])
QUANTIFIERS = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,2}", "{,2}", "+?", "*?", "??", "++", "{1,2}+"])


def patterns(atoms):
    def grown(inner):
        repeated = st.builds(lambda part, times: f"(?:{part}){times}", inner, QUANTIFIERS)
        looks = st.builds("({}{})".format, st.sampled_from(["?=", "?!", "?<=", "?<!", "?>", ""]), inner)
        joined = st.lists(st.one_of(inner, repeated, looks), min_size=1, max_size=3).map("".join)
        return st.lists(joined, min_size=1, max_size=3).map("|".join)

    return st.recursive(st.builds("{}{}".format, atoms, QUANTIFIERS), grown, max_leaves=6)


TEXTS = st.text("aAbBcé9_ .-\n½²\u200d", max_size=30)


def read(pattern: str) -> str | None:
    try:
        return portable(pattern)
    except InputError:
        return None


@settings(max_examples=400, deadline=None)
@given(patterns(ATOMS), TEXTS)
def test_python_finds_the_same_in_what_is_written(pattern, text):
    written = read(pattern)
    if written is not None:
        found = [match.span() for match in regex.finditer(written, text)]
        assert found == [match.span() for match in regex.finditer(pattern, text)]
        assert all(end > begin for begin, end in found), "nothing is no word"


def check_alike(pattern: str, texts) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    cutting = Cutting(pattern=f"(?:{pattern})" if pattern.isalnum() else pattern)  # which would be taken for a name
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(cutting.expression), "isolated")
    for text in texts:
        assert [text[a:e] for _, (a, e) in split.pre_tokenize_str(text)] == list(cutting.words(text))


@settings(max_examples=400, deadline=None)
@given(patterns(st.one_of(ATOMS, OF_WORDS)), st.lists(TEXTS, min_size=1, max_size=3))
def test_oniguruma_finds_the_same(pattern, texts):
    if read(pattern) is not None:
        check_alike(pattern, texts)


@pytest.mark.parametrize(
    "pattern",
    [r"\w+(?:\s|$)?|\W", "a(?:b|$)?", "a(?:$|b)?", "a(?:b|(?=c))?", "a(?:b|$){0,1}", r"\w+(?:\s|\Z)?",
     "a(?:c|(?:$|b))?", r"a(?:b|\b)?", "a(?:b|c$)?", "(?m)a(?:b|^|$)?"],
)  # fmt: skip
def test_a_look_may_be_an_alternative_of_what_is_repeated(pattern):
    texts = ["a", "ab", "ac", "abc a", "a\nab\n", "xa b\n"]
    check_alike(pattern, texts)
    for text in texts:
        spans = [match.span() for match in regex.finditer(pattern, text)]
        assert spans == [match.span() for match in regex.finditer(portable(pattern), text)]


KNOWN = [char for char in map(chr, range(0x30000)) if unicodedata.category(char) not in ("Cn", "Cs", "Co")]
SOME = [char for char in KNOWN if unicodedata.category(char) not in ("Lo", "So")] + KNOWN[::97]
SOME.remove("\u0295")  # Ll until Unicode 16, Lo since
EVERY = ["a".join(SOME), " ".join(SOME), "".join(SOME), "👩\u200d🚀 می\u200cخواهم x² ½", "a\u2028b\x85c\x1cd"]


@pytest.mark.parametrize(
    "pattern",
    [r"\w+|[^\w\s]+", r"\W+", r" ?[\w'-]+", r"[^\W\d_]+", r"[\W\d]+", r"\b\w", r"\S+\b", r"(?i)[a-zà-ÿ]+", r"\d+",
     r"(?m)^.+$", "(?s).", "[[:alpha:]]+", r"[\p{Emoji}-]+", O200K, MARKS,
     *PATTERNS],
)  # fmt: skip
def test_every_character_is_cut_as_hugging_face_cuts_it(pattern):
    """As far as both know it: characters that are newer than Python's own table are left out."""
    check_alike(pattern, EVERY)


@pytest.mark.parametrize("name", ["Han", "Greek", "Cyrillic", "Arabic", "Hiragana", "Katakana", "Thai", "Hangul",
                                  "Devanagari", "Old_Persian", "Latin", "Common", "Lu", "Ll", "Lt", "Lm", "Mn", "Mc",
                                  "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk",
                                  "Zs", "Cc", "Cf"])  # fmt: skip
def test_properties_are_the_same_characters(name):
    pytest.importorskip("tokenizers")
    check_alike(rf"\p{{{name}}}+", ["".join(SOME)])


def test_a_file_encodes_alike_where_the_pattern_has_complements(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    text = "می\u200cخواهم بروم، می\u200cخواهم x²1 a_b"
    model = SubwordTokenizer(300, pattern=r"[^\W\d_]+", tol=0.05).fit([text] * 5)
    model.save_tokenizer_json(tmp_path / "t.json")
    other = tokenizers.Tokenizer.from_file(str(tmp_path / "t.json"))
    assert other.encode(text).ids == model.encode(text)
