"""HTML in texts: what is taken out and what stays, whatever the text holds; reading, the command and verify with it."""

from __future__ import annotations

import json
import re
import time
from html import escape

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cflengine import CorpusError, read_corpus, without_html
from cflengine.cli import main
from cflengine.text.markup import html_in


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("A <b>good</b> one.<br />Salt &amp; pepper", "A good one.\nSalt & pepper"),
        ('<P class="x">one</P><DIV\nid=y>two</DIV>', "\none\n\ntwo\n"),
        ("un<wbr>breakable, <a href='http://a.b/?c=d&amp;e'>this</a>", "unbreakable, this"),
        ("one<img src=a.png>two", "one two"),
        ("a<!-- <b>never</b> seen -->b<script type=x>if (a<b) c()</script>d<style>p {}</style>e", "a b d e"),
        ("<!DOCTYPE html><html><head><title>T</title></head><body>x</body></html>", "\n\n\nT\n\n\nx\n\n"),
        ("caf&eacute; &#233;&#xE9;&nbsp;&lt;b&gt;", "café éé\u00a0<b>"),
        ("&amp;lt;", "&lt;"),  # what was escaped twice is unescaped once
        ("<br clear><hr noshade><BR/>", "\n\n\n"),
    ],
)
def test_html_goes(text, plain):
    assert without_html(text) == plain
    assert html_in(["none", text])[0] == [1]


@pytest.mark.parametrize(
    "text",
    ["a < b and c > d", "<3 <unk> <bold> <jane@example.org> <http://a.b>", "AT&T; &notit; &x &copy &#; R&D",
     "x<b and c>d", "the <b", "<!-- open", "<script> open", "if (a<i && b>j)"],
)  # fmt: skip
def test_what_is_no_html_stays(text):
    stays = text.replace("<script> ", " ")  # a tag, whose script has no end
    assert without_html(text) == stays
    assert html_in([text]) == (([], "") if stays == text else ([0], "<script>"))


def test_what_is_shown_of_a_tag_is_short():
    assert html_in(["a", "b <a href='" + "x" * 500 + "'>c</a>"]) == ([1], ("<a href='" + "x" * 500)[:40])


TAGS = ["<br>", "<b>", "</b>", "<!--", "-->", "<script>", "</script>"]
PIECES = st.sampled_from([*TAGS, "&amp;", "&", "<", ">", "=", " ", "\n", "word", "é"])


@given(st.lists(PIECES | st.text(max_size=3), max_size=30).map("".join))
@example("<<b>b>")
def test_nothing_that_a_reader_sees_is_lost(text):
    found = without_html(text)
    if not html_in([text])[0] and "-->" not in text:
        assert found == text
    assert without_html(escape(text, quote=False)) == text  # what shows a text as it is, is that text without HTML
    if "<script>" not in text and "<!--" not in text:
        assert re.findall("word|é", found) == re.findall("word|é", text)


@pytest.mark.parametrize("piece", ["<!--", "<script>", "<b ", "<a x=", "&a", "<", "<b a", "</style", "<b " + "=" * 50])
def test_time_is_linear_whatever_a_text_holds(piece):
    def seconds(size: int) -> float:
        text, began = piece * (size // len(piece)), time.perf_counter()
        without_html(text)
        return time.perf_counter() - began

    assert min(seconds(400_000) for _ in range(3)) < 40 * max(min(seconds(40_000) for _ in range(3)), 1e-3)


@pytest.fixture
def reviews(tmp_path):
    kinds = ["good <b>beer</b>.<br /><br />Salt &amp; pepper", "bad beer.<br />So it is", "<p></p>", "fine beer of old"]
    texts = [kinds[k % 4] + ("" if k % 4 == 2 else f" number {k % 5}") for k in range(40)]
    path = tmp_path / "reviews.csv"
    pd.DataFrame({"text": texts, "stars": range(40)}).to_csv(path, index=False)
    return path


def test_a_corpus_is_read_without_html(reviews):
    corpus = read_corpus(reviews, text_column="text", strip_html=True)
    assert corpus.texts[0] == "good beer.\n\nSalt & pepper number 0"
    assert len(corpus) == 30 and corpus.report.n_empty == 10  # of nothing but tags nothing is left
    assert corpus.metadata["stars"].tolist() == [k for k in range(40) if k % 4 != 2]
    assert corpus.report.warnings == ("HTML was taken out of 30 of 40 records.",)
    plain = read_corpus(reviews, text_column="text")
    assert len(plain) == 40 and plain.texts[0].startswith("good <b>") and plain.report.warnings == ()
    assert plain.digest != corpus.digest


def test_nothing_but_html_is_no_corpus():
    with pytest.raises(CorpusError, match="3 empty"):
        read_corpus(b"text\n<br>\n<p></p>\n&nbsp;\n", format="csv", text_column="text", strip_html=True)


def test_the_command_says_that_there_is_html_and_takes_it_out(reviews, tmp_path, capsys):
    run = tmp_path / "run"
    assert main(["compress", str(reviews), "--out", str(run), "--quiet"]) == 0
    said = capsys.readouterr().err
    assert "30 of 40 documents looked at hold HTML (<b>): --strip-html takes it out" in said
    assert main(["compress", str(reviews), "--out", str(run), "--quiet", "--strip-html"]) == 0
    said = capsys.readouterr().err
    assert "--strip-html" not in said and "HTML was taken out of 30 of 40 records" in said
    grams = pd.read_csv(run / "dictionary.csv")["gram"].tolist()
    assert "beer" in " ".join(grams) and "br" not in " ".join(grams).split()
    assert main(["verify", str(run)]) == 0
    report = json.loads((run / "report.json").read_text())
    report["arguments"]["strip_html"] = False
    (run / "report.json").write_text(json.dumps(report))
    assert main(["verify", str(run)]) == 1  # other texts
