"""What a token may be, by name: every preset on texts of its kind, bounds for anybody's own pattern."""

from __future__ import annotations

import time

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from cflengine.cli import main
from cflengine.text import token_table
from cflengine.text.token_presets import PRESETS, dictionary_spans, preset_of, preset_pattern
from cflengine.text.token_table import plain_tokens
from cflengine.text.tokens import Tokenizer

FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
HAND = "\U0001f44d\U0001f3fd"
FLAG = "\U0001f1e9\U0001f1ea"
HEART = "\u2764\ufe0f"
TEXTS = {
    "words": ("Don't stop, @me!", ["don", "'", "t", "stop", ",", "@", "me", "!"], ["don", "t", "stop", "me"]),
    "contractions": ("Don’t say 'it' — l'homme.", ["don’t", "say", "'", "it", "'", "—", "l'homme", "."],
                     ["don’t", "say", "it", "l'homme"]),
    "social": (f"@Me see https://a.b/c?d=1, #so_cool{FAMILY}{HAND} {FLAG}{HEART} isn't",
               ["@me", "see", "https://a.b/c?d=1", ",", "#so_cool", FAMILY, HAND, FLAG, HEART, "isn't"],
               ["@me", "see", "https://a.b/c?d=1", "#so_cool", FAMILY, HAND, FLAG, HEART, "isn't"]),
    "characters": ("房间 é!", ["房", "间", "é", "!"], ["房", "间", "é"]),
    "dictionary": ("房间很干净。𝒳 ok!", ["房间", "很", "干净", "。", "𝒳", "ok", "!"],
                   ["房间", "很", "干净", "𝒳", "ok"]),
}  # fmt: skip


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("punctuation", [True, False])
def test_a_preset_cuts_as_it_says(name, punctuation):
    if name == "dictionary":
        pytest.importorskip("icu4py")
    text, marks, words = TEXTS[name]
    pattern = preset_pattern(name, punctuation=punctuation)
    table = Tokenizer(pattern)([text])
    assert table.words(0) == (marks if punctuation else words)
    assert [text[a:e].lower() for a, e in zip(table.start, table.end, strict=True)] == table.words(0)
    assert plain_tokens([text], pattern).tokens.tolist() == table.tokens.tolist()
    assert preset_of(pattern) == name


def test_emoji_are_what_readers_take_for_one():
    """Against \\X of ``regex``, which knows Unicode's own tables."""
    emoji = [FAMILY, HAND, FLAG, HEART, "1\ufe0f\u20e3", "\U0001f3f4\U000e0067\U000e0062\U000e007f", "\U0001f600"]
    assert regex.findall(r"\X", "".join(emoji)) == emoji
    assert Tokenizer(preset_pattern("social"))(["".join(emoji)]).words(0) == emoji


@given(st.text(st.one_of(st.characters(), st.sampled_from("漢字ไทย a.\ud800\U0001f600")), max_size=60))
def test_dictionary_words_never_overlap_and_leave_only_blanks(text):
    pytest.importorskip("icu4py")
    at = 0
    for a, e in dictionary_spans(text, punctuation=True):
        assert at <= a < e <= len(text)
        assert text[at:a].strip() == ""
        at = e
    assert text[at:].strip() == ""


def test_without_icu_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr("cflengine.text.token_presets.find_spec", lambda name: None)
    token_table.span_finder.cache_clear()
    for call in (lambda: preset_pattern("dictionary"), lambda: Tokenizer("dictionary")):
        with pytest.raises(ValueError, match=r"cflengine\[icu\]"):
            call()


def test_a_pattern_that_never_ends_is_stopped(monkeypatch):
    monkeypatch.setattr(token_table, "SLOWEST_TEXT_S", 0.2)
    token_table.span_finder.cache_clear()
    began = time.monotonic()
    with pytest.raises(ValueError, match="takes more than"):
        Tokenizer(r"(a|aa)+b")(["a" * 80])
    assert time.monotonic() - began < 10
    token_table.span_finder.cache_clear()


def test_an_unknown_preset_is_refused():
    with pytest.raises(ValueError, match="tokens must be one of words"):
        preset_pattern("syllables")


@pytest.mark.parametrize("options", [["--tokens=characters"], ["--tokens=social", "--drop-punctuation"]])
def test_the_command_takes_presets_and_verifies_them(tmp_path, options, capsys):
    source = tmp_path / "some.txt"
    source.write_text("房间很干净 #ok it's fine!\n房间很干净 again, it's fine\n" * 4, encoding="utf-8")
    out = tmp_path / "out"
    assert main(["compress", str(source), *options, "--quiet", f"--out={out}"]) == 0
    assert main(["verify", str(out)]) == 0
    features = (out / "dictionary.csv").read_text(encoding="utf-8")
    assert ("房" in features) and ("!" not in features or "--drop-punctuation" not in options)


def test_the_command_refuses_what_contradicts_itself(tmp_path, capsys):
    source = tmp_path / "some.txt"
    source.write_text("a b c\n", encoding="utf-8")
    begin = ["compress", str(source), f"--out={tmp_path / 'o'}"]
    assert main([*begin, "--token-pattern=\\w+", "--drop-punctuation"]) == 2
    assert "--drop-punctuation is for --tokens" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*begin, "--token-pattern=\\w+", "--tokens=words"])
