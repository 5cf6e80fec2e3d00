"""Encodings of the same bytes, told apart by the letters they make; those of seven bits by their escapes."""

from __future__ import annotations

import pytest

from cflengine.text.reading.encodings import detect, initial_decoding
from cflengine.text.reading.readers import read_corpus

TEXTS = {
    "French": "Café à côté de la forêt, été après l'hiver où ça gèle très fort. Une île naïve, le maïs et Noël. ",
    "German": "Die Größe der Häuser überrascht: schöne Straßen, müde Füße. ",
    "Turkish": "Şu ağaç çok güzel; ışık ve gölge ile bir kış günü İstanbul'da yağmur yağıyordu. ",
    "Russian": "Сегодня хорошая погода, и мы пошли гулять в парк. Там было много людей. ",
    "Greek": "Αυτό είναι ένα πολύ καλό βιβλίο και μου άρεσε. ",
}
WESTERN, CYRILLIC = ("cp1252", "mac_roman", "cp850"), ("cp1251", "koi8_r", "cp866", "iso8859_5", "mac_cyrillic")
CASES = [(text, name) for text in ("French", "German") for name in WESTERN]
CASES += [("Turkish", "cp1254"), ("Greek", "cp1253"), *(("Russian", name) for name in CYRILLIC)]


@pytest.mark.parametrize(("language", "encoding"), CASES)
def test_the_very_text_comes_back_and_the_encoding_is_said(language, encoding):
    text = TEXTS[language] * 3
    found = detect([text.encode(encoding)])
    assert text.encode(encoding).decode(found.encoding) == text
    assert "not UTF-8; detected as" in found.note


def test_doubt_is_said():
    # two letters that are as usual in either
    found = detect([b"caf\x8e et th\x8e"])
    assert "nearly as well" in found.note or found.encoding == "mac_roman"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [("iso2022_jp", "今日はいい天気ですね。\n散歩に行きましょう\n" * 4), ("hz", "今天天气很好\n我们去公园散步\n" * 4)],
)
def test_escapes_of_seven_bits_are_read(encoding, text):
    corpus = read_corpus(text.encode(encoding), name="a.txt")
    assert corpus.texts[0] == text.split("\n")[0] and encoding in corpus.report.encoding_note


def test_plain_text_with_braces_is_plain_text():
    assert initial_decoding(b"a ~{ b ~} c\nplain {x} and ~{!!~}\n").encoding == "utf-8"
