"""What a word is: the preset that suits a corpus is taken by itself, another one on request, everywhere."""

from __future__ import annotations

import pandas as pd
import pytest
from visiting import captions, press, show, solved, sound, use

from cflengine.text import token_table
from pages.parts.shared.commands import command_line
from pages.parts.shared.corpora import recall

CHINESE = ["房间很干净，下次还会来。", "房间有点小，早餐很好。", "服务很好，房间很干净。"] * 6
TWEETS = ["@you it's #great \U0001f44d\U0001f3fd", "so #great, isn't it? http://a.b/c", "plain words here"] * 8


def csv(texts: list[str]) -> bytes:
    mood = ["good" if k % 2 else "bad" for k in range(len(texts))]
    return pd.DataFrame({"text": texts, "mood": mood}).to_csv(index=False).encode()


def loaded(app):
    found = recall(app.session_state["corpus_id"])
    assert found is not None
    return found


def test_chinese_is_cut_into_words_unasked(open_app):
    pytest.importorskip("icu4py")
    app = use(open_app(), "hotel.csv", csv(CHINESE))
    assert loaded(app).tokens.preset == "dictionary"
    assert loaded(app).table.words(0)[:3] == ["房间", "很", "干净"]
    assert "--tokens=dictionary" in command_line("compress", loaded(app), {}, "run")


def test_without_a_dictionary_it_is_characters(open_app, monkeypatch):
    monkeypatch.setattr("cflengine.text.token_presets.find_spec", lambda name: None)
    app = use(open_app(), "hotel.csv", csv(CHINESE))
    assert loaded(app).tokens.preset == "characters" and loaded(app).table.words(0)[:2] == ["房", "间"]
    assert app.session_state["settings"].max_gram == 4, "words of up to four characters are found"
    app = use(app, "words.csv", b"text\nsome words\nsome other words\n")
    assert app.session_state["settings"].max_gram == 3
    assert 'pip install "cflengine[icu]"' in captions(app)


def test_posts_keep_names_topics_addresses_and_emoji(open_app):
    app = use(open_app(), "posts.csv", csv(TWEETS))
    assert loaded(app).tokens.preset == "social"
    assert loaded(app).table.words(0) == ["@you", "it's", "#great", "\U0001f44d\U0001f3fd"]
    app = solved(app)
    assert app.session_state["corpus_id"] == loaded(app).id
    sound(show(app, "features"))
    code = " ".join(block.value for block in app.code)
    assert "--tokens=social" in code and "token_pattern=" in code


def test_another_choice_is_previewed_and_then_taken(open_app):
    app = use(open_app(), "posts.csv", csv(TWEETS))
    before = app.session_state["corpus_id"]
    radio = next(one for one in app.radio if one.label == "A token is")
    assert any("(suits this corpus)" in option for option in radio.options)
    sound(radio.set_value("words").run())
    sound(next(one for one in app.toggle if one.label == "Drop punctuation").set_value(True).run())
    sound(next(one for one in app.toggle if one.label == "Phrases end with the sentence").set_value(True).run())
    preview = next(one.body for one in app.get("html") if "aria-label" in one.body)
    assert "<span>great</span>" in preview and "<span>#</span>" not in preview
    assert app.session_state["corpus_id"] == before
    press(app, "Cut the corpus like this")
    assert app.session_state["corpus_id"] != before
    assert loaded(app).table.words(0) == ["you", "it", "s", "great"]
    assert loaded(app).table.sentence_ptr is not None
    assert {"--drop-punctuation", "--sentence-borders"} <= set(command_line("compress", loaded(app), {}, "run").split())
    assert "--sentence-borders" not in command_line("embed", loaded(app), {}, "run"), "which takes single words"


def test_a_pattern_of_ones_own_that_is_none_is_one_sentence(open_app):
    app = use(open_app(), "posts.csv", csv(TWEETS))
    radio = next(one for one in app.radio if one.label == "A token is")
    sound(radio.set_value("own").run())
    field = next(one for one in app.text_input if one.label == "Regular expression")
    sound(field.set_value("(").run())
    assert any("not a usable regular expression" in error.value for error in app.error)
    assert not any(button.label == "Cut the corpus like this" for button in app.button)
    sound(field.set_value("<b>|\\w+").run())
    press(app, "Cut the corpus like this")
    assert "--token-pattern=<b>|\\w+" in command_line("compress", loaded(app), {}, "run").replace("'", "")


def test_labels_are_learnt_from_the_same_words(open_app, board):
    app = show(use(open_app(), "posts.csv", csv(TWEETS)), "sentences")
    press(app, "Learn")
    job = board.get(app.session_state["telling_id"])
    assert job.key[2].tokens.preset == "social"


def test_a_pattern_that_is_too_slow_for_the_corpus_leaves_it_as_it_was(open_app, monkeypatch):
    monkeypatch.setattr(token_table, "SLOWEST_TEXT_S", 0.2)
    token_table.span_finder.cache_clear()
    app = use(open_app(), "posts.csv", csv(["short one", "a" * 2000 + "!"] * 4))
    before = app.session_state["corpus_id"]
    sound(next(one for one in app.radio if one.label == "A token is").set_value("own").run())
    field = next(one for one in app.text_input if one.label == "Regular expression")
    sound(field.set_value(r"(?:a|aa)+b|\w{2,9}(?=!)x|zz").run())
    buttons = [button for button in app.button if button.label == "Cut the corpus like this"]
    if buttons:
        sound(buttons[0].click().run())
    assert app.session_state["corpus_id"] == before and app.error
    token_table.span_finder.cache_clear()


def test_the_sample_comes_back_as_the_sample(open_app):
    app = open_app()
    sound(next(one for one in app.radio if one.label == "A token is").set_value("contractions").run())
    press(app, "Cut the corpus like this")
    assert app.session_state["corpus_id"] != "sample"
    sound(next(one for one in app.radio if one.label == "A token is").set_value("words").run())
    press(app, "Cut the corpus like this")
    assert app.session_state["corpus_id"] == "sample" and app.session_state["path_id"] == "sample"
