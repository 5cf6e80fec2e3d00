"""Corpus readers on bad input: one clear CorpusError, or a counted warning; never a crash, never silence."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import struct
import threading
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cflengine.text.corpus import Corpus, CorpusError
from cflengine.text.reading import budget
from cflengine.text.reading.readers import preview_corpus, read_corpus


def parquet_bytes(columns) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def zip_bytes(members, edit=None) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            if edit:
                edit(info)
            archive.writestr(info, data)
    return out.getvalue()


XLSX = zip_bytes({"[Content_Types].xml": b"<x/>", "xl/workbook.xml": b"<x/>"})
DOCX = zip_bytes({"[Content_Types].xml": b"<x/>", "word/document.xml": b"<x/>"})
BAD_BYTES = {
    "empty.csv": (b"", "'empty.csv' is empty"),
    "empty.txt.gz": (gzip.compress(b""), "'empty.txt.gz' is empty"),
    "blank.csv": (b"\n\n\n", "'blank.csv' is empty"),
    "blank.jsonl": (b"\n \n", "'blank.jsonl' is empty"),
    "blank.txt": (b"\n \n", r"None of the 2 records .* 0 missing, 2 empty"),
    "header.csv": (b"id,text\n", r"no records below its header \('id', 'text'\)"),
    "none.parquet": (parquet_bytes({"text": pa.array([], pa.string())}), "no records below its header"),
    "all_null.jsonl": (b'{"text": null}\n{"text": NaN}', r"None of the 2 records .* 2 missing"),
    "short.csv": (b'text\n...\n""\n', r"None of the 2 records .* 0 missing, 1 empty, 1 with fewer than 1 wo"),
    "notext.csv": (b"id,n\n1,2\n3,4\n", "no column looks like text.*'id', 'n'"),
    "list.json": (b'{"data": [1, 2]}', "no column looks like text; choose one .* of 'data'"),
    "nul.csv": (b"id,text\n1,abc\0def\n", "contains NUL bytes"),
    "late_nul.txt": (b"words\n" * 50_000 + b"\0", "contains NUL bytes"),
    "binary.csv": (bytes(range(1, 256)) * 20, "is binary data"),
    "wide.txt": ("no mark".encode("utf-16-le"), "UTF-16 without byte order mark"),
    "half.txt": (b"\xff\xfea\0b", "not valid utf-16"),
    "picture.csv": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "NUL bytes"),
    "paper.txt": (b"%PDF-1.7 ...", "is a PDF document"),
    "book.csv": (XLSX, "taken for CSV, but its content is XLSX"),
    "book.xlsx": (XLSX, "not a readable Excel workbook"),
    "letter.docx": (DOCX, "is an Office document"),
    "letter.xlsx": (DOCX, "is an Office document"),
    "table.csv": (parquet_bytes({"text": ["a"]}), "its content is PARQUET"),
    "table.parquet": (b"id,text\n1,a\n", "taken for PARQUET, but its content is not"),
    "pack.zip": (b"id,text\n1,a\n", "taken for ZIP, but its content is not"),
    "lines.csv": (b'{"text": "a b"}\n', "its content is JSON"),
    "page.csv": (b"<!DOCTYPE html><html>404", "is a web page"),
    "data.bin": (b"some words", "does not tell its format"),
    "twice.csv.gz": (gzip.compress(gzip.compress(b"text\na b\n")), "gzipped twice"),
    "nested.zip.gz": (gzip.compress(zip_bytes({"a.txt": b"x"})), "ZIP inside a gzip"),
    "folder.tgz": (gzip.compress(b"a.txt".ljust(257, b"\0") + b"ustar" + bytes(250)), "is a tar archive"),
    "cut.csv.gz": (gzip.compress(b"text\n" + os.urandom(9000).hex().encode())[:-2000], "damaged or inc"),
    "cut.parquet": (parquet_bytes({"text": ["a"] * 9})[:-20], "not a readable Parquet file"),
    "cut.zip": (zip_bytes({"a.txt": b"some words"})[:-10], "damaged ZIP"),
    "bad.jsonl": (b'{"text": "a"}\n\n{"text": "b}\n', "line 3: not valid JSON.*at column 13"),
    "scalar.jsonl": (b'{"text": "a"}\n17\n', "line 2: expected a JSON object, found int"),
    "pretty.json": (b'{\n "text": "a"\n}', "line 1: not valid JSON.*one whole object on each line"),
    "open.json": (b'[{"text": "a"}, {"text": "b"}', "after record 2 .* expected"),
    "comma.json": (b'[{"text": "a"},]', "record 2 of the list: not valid JSON"),
    "more.json": (b'[{"text": "a"}] {"text": "b"}', "goes on after its list"),
    "deep.jsonl": (b'{"text": ' + b"[" * 200_000, "nested too deeply"),
    "digits.jsonl": (b'{"text": ' + b"9" * 5000 + b"}", "line 1: not valid JSON"),
    "quote.csv": (b'id,text\n1,fine\n2,"not closed\n3,more\n', r"record 2 \(line 3\): a quoted field is not"),
    "merge.csv": (b'id,text\n1,"open\n2,"closed"\n', r"record 1 \(line 2\): a quoted field"),
    "header_quote.csv": (b'id,"text\n1,a\n2,b\n', r"\(line 1\): a quoted field"),
    "bytes.parquet": (parquet_bytes({"image": [b"\xff"], "n": [1]}), "no column looks like text; .* of 'n'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_BYTES)
def test_bad_content_is_one_clear_sentence(name):
    data, message = BAD_BYTES[name]
    with pytest.raises(CorpusError, match=message) as caught:
        read_corpus(data, name=name)
    sentence = str(caught.value)
    assert "\n" not in sentence and len(sentence) < 400 and sentence.endswith(".")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"text_column": "body"}, "no column 'body'; its columns are 'text', 'n'"),
        ({"text_column": "tags", "name": "a.jsonl"}, "Record 1 has a list where text is expected"),
        ({"limit": 0}, "limit is 0"),
        ({"min_words": -1}, "min_words is -1"),
        ({"documents": "word"}, "documents is 'word'"),
        ({"format": "xls"}, "'xls' is not a format"),
        ({"encoding": "base64"}, "'base64' is not an encoding"),
        ({"encoding": "klingon"}, "'klingon' is not an encoding"),
        *(({"encoding": name}, f"'{name}' is not an encoding") for name in ("idna", "punycode", "undefined")),
        ({"max_bytes": 5}, "more than 5 bytes"),
        ({"min_words": 3}, "2 with fewer than 3 words"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(CorpusError, match=message):
        tagged = b'{"text": "one two", "tags": ["three"]}'
        data = tagged if "name" in arguments else b"text,n\none two,1\nthree,2\n"
        read_corpus(data, **{"name": "a.csv"} | arguments)


def test_bad_sources(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "reviews.csv").write_bytes(b"text\na\n")
    cases = [
        (tmp_path / "nowhere.csv", "There is no file or folder"),
        ("x" * 5000, "cannot be opened"),
        ("a\0b", "cannot be opened"),
        ("  ", "The path is empty"),
        (tmp_path, r"holds no .txt files but 1 tables \('sub/reviews.csv'\)"),
        (17, "not from a int"),
        (io.StringIO("text\na\n"), "text mode"),
    ]
    for source, message in cases:
        with pytest.raises(CorpusError, match=message):
            read_corpus(source)
        with pytest.raises(CorpusError, match=message):
            preview_corpus(source)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.txt")
        with pytest.raises(CorpusError, match="neither a file nor a folder"):
            read_corpus(tmp_path / "pipe.txt")
    closed = io.BytesIO(b"text\na\n")
    closed.close()
    with pytest.raises(CorpusError, match="closed file"):
        read_corpus(closed, name="a.csv")
    with pytest.raises(CorpusError, match="does not apply"):
        read_corpus(b"a b", name="a.txt", text_column="text")


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may read everything")
def test_no_right_to_read(tmp_path):
    (tmp_path / "a.txt").write_text("words")
    (tmp_path / "a.txt").chmod(0)
    for source in (tmp_path, tmp_path / "a.txt"):
        with pytest.raises(CorpusError, match="cannot be opened: Permission denied"):
            read_corpus(source)


def test_errors_of_the_system_are_converted(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("words")

    def refuse(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    for source in (tmp_path, tmp_path / "a.txt"):
        with pytest.raises(CorpusError, match="cannot be opened: Permission denied"):
            read_corpus(source)


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_folder_links_do_not_lead_out(tmp_path):
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "secret.txt").write_text("secret words")
    (inside / "a.txt").write_text("own words")
    (inside / "link.txt").symlink_to(outside / "secret.txt")
    (inside / "folder").symlink_to(outside)
    (inside / "loop.txt").symlink_to(inside / "loop.txt")
    corpus = read_corpus(inside)
    assert corpus.texts == ["own words"]
    assert any("1 links that lead out" in warning for warning in corpus.report.warnings)


@pytest.mark.parametrize("name", ["../evil.txt", "/etc/evil.txt", "C:\\evil.txt", "a/../../evil.txt", "..\\evil.txt"])
def test_zip_members_that_lead_out_are_refused(name):
    with pytest.raises(CorpusError, match="leads out of the archive"):
        read_corpus(zip_bytes({"a.txt": b"fine words", name: b"evil words"}), name="a.zip")


def test_zip_links_passwords_and_contents():
    def as_link(info):
        info.external_attr = 0o120777 << 16

    with pytest.raises(CorpusError, match="symbolic link"):
        read_corpus(zip_bytes({"a.txt": b"/etc/passwd"}, as_link), name="a.zip")
    locked = bytearray(zip_bytes({"a.txt": b"words"}))
    locked[locked.index(b"PK\1\2") + 8] |= 1
    with pytest.raises(CorpusError, match=r"is encrypted .* with its password"):
        read_corpus(bytes(locked), name="a.zip")
    exotic = bytearray(zip_bytes({"a.txt": b"words"}))
    struct.pack_into("<H", exotic, exotic.index(b"PK\1\2") + 10, 99)
    struct.pack_into("<H", exotic, 8, 99)
    with pytest.raises(CorpusError, match="cannot be unpacked"):
        read_corpus(bytes(exotic), name="a.zip")
    with pytest.raises(CorpusError, match=r"2 tables \('a.csv', 'b.csv'\)"):
        read_corpus(zip_bytes({"a.csv": b"text\nx", "b.csv": b"text\ny"}), name="a.zip")
    with pytest.raises(CorpusError, match=r"holds no \.txt files"):
        read_corpus(zip_bytes({}), name="a.zip")
    with pytest.raises(CorpusError, match=r"a\.zip: bin\.txt' contains NUL"):
        read_corpus(zip_bytes({"bin.txt": b"a\0b"}), name="a.zip")
    broken = bytearray(zip_bytes({"a.txt": b"some words in here"}))
    broken[broken.index(b"a.txt") + 8] ^= 0xFF
    with pytest.raises(CorpusError, match="damaged or incomplete"):
        read_corpus(bytes(broken), name="a.zip")


def test_bombs_are_stopped_while_unpacking(monkeypatch):
    zeros = b"a b " * 500_000
    for data, name in ((zip_bytes({"a.txt": zeros}), "a.zip"), (gzip.compress(zeros), "a.txt.gz"),
                       (zip_bytes({"a.csv": zeros}), "t.zip")):  # fmt: skip
        with pytest.raises(CorpusError, match="holds more than 1 MB"):
            read_corpus(data, name=name, max_bytes=1 << 20)
    lying = bytearray(zip_bytes({"a.txt": zeros, "b.txt": zeros}))
    struct.pack_into("<L", lying, lying.index(b"PK\1\2") + 24, 10)
    with pytest.raises(CorpusError, match=r"holds more than 1 MB|damaged or incomplete"):
        read_corpus(bytes(lying), name="a.zip", max_bytes=1 << 20)
    many = zip_bytes({f"{i}.txt": zeros[:300_000] for i in range(4)})
    with pytest.raises(CorpusError, match="holds more than 1 MB"):
        read_corpus(many, name="a.zip", max_bytes=1 << 20)
    monkeypatch.setattr(budget, "RATIO_APPLIES_FROM", 1 << 20)
    monkeypatch.setattr(budget, "MAX_RATIO", 100)
    for data, name in ((zip_bytes({"a.txt": zeros}), "a.zip"), (gzip.compress(zeros), "a.txt.gz")):
        with pytest.raises(CorpusError, match="compression bomb"):
            read_corpus(data, name=name)
    with pytest.raises(CorpusError, match="holds more than"):
        read_corpus(parquet_bytes({"text": ["a b" * 9000] * 2000}), name="a.parquet", max_bytes=1 << 20)


def test_too_many_members(monkeypatch, tmp_path):
    monkeypatch.setattr("cflengine.text.reading.archives.MAX_MEMBERS", 2)
    members = {f"{i}.txt": b"words" for i in range(3)}
    for name, data in members.items():
        (tmp_path / name).write_bytes(data)
    for source, name in ((zip_bytes(members), "a.zip"), (tmp_path, None)):
        with pytest.raises(CorpusError, match="more than 2 files"):
            read_corpus(source, name=name)


def test_damaged_utf8_is_repaired_and_counted():
    good = "Die Größe der Bücher, naïve Idee\n" * 50
    corpus = read_corpus(good.encode() + b"caf\xe9 \xff\n", name="a.txt")
    assert corpus.texts[0] == good.splitlines()[0] and corpus.texts[-1] == "caf\ufffd \ufffd"
    assert corpus.report.encoding == "utf-8" and "damaged" in corpus.report.encoding_note
    assert corpus.report.warnings == ("2 bytes are not valid utf-8 and were replaced by U+FFFD.",)
    marked = read_corpus(b"\xef\xbb\xbftext\ncaf\xe9\n", name="a.csv")
    assert marked.report.text_column == "text" and marked.texts == ["caf\ufffd"]
    undefined = read_corpus("naïve Größe".encode("cp1252") + b" \x81", name="a.txt", encoding="cp1252")
    assert undefined.texts == ["naïve Größe \ufffd"] and "1 bytes" in undefined.report.warnings[0]


def test_half_characters_are_replaced_and_counted():
    data = rb'{"text": "half \ud83d one", "k\udc00": "\ud800"}' + b"\n" + rb'{"text": "whole \ud83d\ude00"}'
    corpus = read_corpus(data, name="a.jsonl")
    assert corpus.texts == ["half \ufffd one", "whole \U0001f600"]
    assert corpus.metadata["k\ufffd"][0] == "\ufffd" and "3 half characters" in corpus.report.warnings[0]
    assert Corpus.from_texts(["half \ud83d one"]).texts == ["half \ufffd one"]


def test_numbers_in_the_text_column_are_spelled_out_and_counted():
    corpus = read_corpus(b'{"text": "a"}\n{"text": 5}\n{"text": true}\n', name="a.jsonl")
    assert corpus.texts == ["a", "5", "true"] and "2 records hold a number" in corpus.report.warnings[0]


def test_examples_of_what_is_left_out_are_bounded():
    report = read_corpus(b"text,n\n" + b",1\n" * 500 + b"word,2\n", name="a.csv").report
    assert report.n_empty == 500 and len(report.left_out) == 20 and report.to_dict()["n_left_out"] == 500


def test_from_texts_refuses_what_is_no_list_of_texts():
    cases = [
        (("one string",), "list of texts"),
        ((["a", ["b"]],), "Record 2 has a list"),
        (([None, " "],), "None of the 2 records"),
        (([],), "holds no records"),
        ((["a", "b"], "x", pd.DataFrame({"k": [1]})), "2 texts but 1 rows"),
    ]
    for arguments, message in cases:
        with pytest.raises(CorpusError, match=message):
            Corpus.from_texts(*arguments)
    assert Corpus.from_texts([np.float32("nan"), pd.NA, "a"]).report.n_missing == 2


def test_the_field_limit_of_csv_is_put_back_by_the_last_reader():
    before = csv.field_size_limit()
    data = b"text\n" + b"word " * 40_000 + b"\n"
    with pytest.raises(CorpusError):
        read_corpus(data + b'"open\nquote', name="a.csv")
    failures = []

    def read() -> None:
        try:
            for _ in range(20):
                assert len(read_corpus(data, name="a.csv")) == 1
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [] and csv.field_size_limit() == before


SOUND = {
    "a.csv": b'id,text\n1,"two, words"\n2,"quoted ""word"""\n3,line\n',
    "a.tsv": b"id\ttext\n1\ttwo words\n2\tmore\n",
    "a.jsonl": b'{"id": 1, "text": "two words"}\n{"id": 2, "text": "caf\xc3\xa9"}\n',
    "a.json": json.dumps([{"text": "two words"}, {"text": "x", "k": [1]}]).encode(),
    "a.txt": b"one\ntwo\r\nthree\n",
    "a.zip": zip_bytes({"a.txt": b"one two", "b/c.txt": b"three"}),
    "t.zip": zip_bytes({"a.csv": b"id,text\n1,two words\n"}),
    "a.txt.gz": gzip.compress(b"one two three\nfour\n"),
    "a.parquet": parquet_bytes({"id": [1, 2], "text": ["two words", None]}),
}


def test_messages_are_printable_and_short_whatever_the_names_are(tmp_path):
    broken = bytearray(zip_bytes({"a\n\x1b[31m.txt": b"words"}))
    broken[30:31] = b"b"
    with pytest.raises(CorpusError, match="cannot be unpacked") as caught:
        read_corpus(bytes(broken), name="a.zip")
    assert str(caught.value).isprintable() and len(str(caught.value)) < 300
    if os.name == "posix":
        (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("words")
        assert read_corpus(tmp_path).metadata["file"].tolist() == ["caf\ufffd.txt"]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(sorted(SOUND)),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=6),
    st.floats(0.3, 1.3),
)
def test_mangled_files_give_a_corpus_or_a_corpus_error(name, edits, share):
    data = bytearray(SOUND[name])
    for place, value in edits:
        data[int(place * (len(data) - 1))] = value
    data = bytes(data)[: int(share * len(data))]
    try:
        corpus = read_corpus(data, name=name)
    except CorpusError as error:
        assert str(error).endswith(".") and str(error).isprintable() and len(str(error)) < 400
        return
    report = corpus.report
    assert len(corpus) == report.n_kept == len(corpus.metadata) == len(corpus.rows) > 0
    assert report.n_records == report.n_kept + report.n_missing + report.n_empty + report.n_too_short
    assert (np.diff(corpus.rows) > 0).all() and corpus.rows[-1] < report.n_records


def test_files_that_are_no_text_are_left_out_of_an_archive_and_said():
    files = {"pos/a.txt": b"fine words", "neg/bin.txt": b"\0\1\2", "neg/b.txt": b"more words"}
    corpus = read_corpus(zip_bytes(files), name="a.zip")
    assert sorted(corpus.texts) == ["fine words", "more words"]
    assert any("neg/bin.txt" in warning and "NUL bytes" in warning for warning in corpus.report.warnings)
    more = read_corpus(zip_bytes({**files, "pos/c.txt": b"\0"}), name="a.zip")
    assert any(warning.startswith("2 files, 'neg/bin.txt' first") for warning in more.report.warnings)
