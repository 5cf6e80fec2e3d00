"""Corpus readers on sound input: every format gives the same documents, rows, metadata and report."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cflengine.text.corpus import Corpus, CorpusError
from cflengine.text.reading.columns import NULL_MARKS
from cflengine.text.reading.readers import preview_corpus, read_corpus

TEXTS = [
    'She said "yes", and left.',
    "Two\nlines; one | document",
    "Größe: 5 € — naïve?",
    "  kept as it stands  ",
]
LABELS = ["a", "b", "a", "b"]
N = [3, 1, 4, 1]


def csv_bytes(rows, delimiter=",", encoding="utf-8", **options) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, **options).writerows(rows)
    return out.getvalue().encode(encoding)


def table_bytes(format: str) -> bytes:
    rows = [["label", "text", "n"], *map(list, zip(LABELS, TEXTS, N, strict=True))]
    if format in ("csv", "tsv"):
        return csv_bytes(rows, "," if format == "csv" else "\t")
    if format == "parquet":
        out = io.BytesIO()
        pq.write_table(pa.table({"label": LABELS, "text": TEXTS, "n": N}), out)
        return out.getvalue()
    records = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    if format == "json":
        return json.dumps(records, indent=1).encode()
    return "\n".join(json.dumps(record, ensure_ascii=False) for record in records).encode()


def zip_bytes(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("how", ["path", "bytes", "stream"])
@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "json", "parquet"])
def test_every_table_format_gives_the_same_corpus(tmp_path, format, how, packed):
    data, name = table_bytes(format), f"reviews.{format}"
    if packed:
        data, name = gzip.compress(data), name + ".gz"
    if how == "path":
        source = tmp_path / name
        source.write_bytes(data)
        corpus = read_corpus(source)
    elif how == "bytes":
        corpus = read_corpus(data, name=name)
    else:
        stream = io.BytesIO(data)
        stream.seek(5)
        corpus = read_corpus(stream, name=name)
        assert not stream.closed
    assert corpus.texts == TEXTS
    assert corpus.rows.dtype == np.int64 and corpus.rows.tolist() == [0, 1, 2, 3]
    assert list(corpus.metadata.columns) == ["label", "n"]
    assert corpus.metadata["label"].tolist() == LABELS
    assert corpus.metadata["n"].dtype == "int64" and corpus.metadata["n"].tolist() == N
    assert isinstance(corpus.metadata.index, pd.RangeIndex)
    report = corpus.report
    assert (report.source, report.format, report.text_column) == (name, format, "text")
    assert report.columns == ("label", "text", "n")
    assert (report.n_records, report.n_kept, report.n_left_out, report.warnings) == (4, 4, 0, ())
    assert report.encoding == (None if format == "parquet" else "utf-8") and report.encoding_note == ""
    assert corpus.digest == Corpus.from_texts(TEXTS).digest
    json.dumps(report.to_dict())


def test_a_stream_that_cannot_seek_is_read_and_named_after_itself(tmp_path):
    class Pipe(io.RawIOBase):
        name = "somewhere/reviews.csv"

        def __init__(self, data):
            self._data = io.BytesIO(data)

        def readable(self):
            return True

        def readinto(self, buffer):
            return self._data.readinto(buffer)

    assert read_corpus(Pipe(table_bytes("csv"))).texts == TEXTS
    assert read_corpus(Pipe(table_bytes("csv"))).name == "reviews.csv"


def test_lines_and_paragraphs_of_a_text_file():
    data = b"one two\r\n\r\n  three\r\nfour  \r\n\n\n...\nfive"
    lines = read_corpus(data, name="notes.txt")
    assert lines.texts == ["one two", "  three", "four  ", "five"]
    assert lines.rows.tolist() == [0, 2, 3, 7]
    assert (lines.report.n_records, lines.report.n_empty, lines.report.n_too_short) == (8, 3, 1)
    assert lines.report.left_out == ((1, "empty"), (4, "empty"), (5, "empty"), (6, "too short"))
    assert lines.report.text_column is None and lines.report.columns == () and lines.metadata.shape == (4, 0)
    paragraphs = read_corpus(gzip.compress(data), name="notes.txt.gz", documents="paragraph")
    assert paragraphs.texts == ["one two", "  three\r\nfour  ", "...\nfive"]
    assert paragraphs.rows.tolist() == [0, 1, 2]


def test_a_single_long_line_is_one_document():
    words = "word " * 2_000_000
    assert read_corpus(words.encode(), name="big.txt").texts == [words]
    assert read_corpus(csv_bytes([["text", "n"], [words, 1]]), name="big.csv").texts == [words]
    assert csv.field_size_limit() == 131072


def test_zip_and_folder_of_text_files_are_read_in_the_order_of_their_paths(tmp_path):
    members = {
        "b/two.txt": b"second",
        "a.txt": b"\xef\xbb\xbffirst\nfile\n",
        "c.txt": b" ",
        "b/x.pdf": b"%PDF",
        "inner.zip": b"PK",
        "__MACOSX/a.txt": b"noise",
        ".hidden.txt": b"noise",
    }
    for path, data in members.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(data)
    archive = tmp_path / "pack.ZIP"
    archive.write_bytes(zip_bytes(members))
    from_zip = read_corpus(archive)
    archive.unlink()
    (tmp_path / "__MACOSX" / "a.txt").unlink()
    from_folder = read_corpus(str(tmp_path))
    for corpus, format in ((from_zip, "zip"), (from_folder, "folder")):
        assert corpus.texts == ["first\nfile\n", "second"]
        assert corpus.metadata["file"].tolist() == ["a.txt", "b/two.txt"]
        assert corpus.rows.tolist() == [0, 1] and corpus.report.left_out == ((2, "empty"),)
        assert corpus.report.format == format and corpus.report.columns == ("file", "folder")
        assert [value if isinstance(value, str) else None for value in corpus.metadata["folder"]] == [None, "b"]
        assert any("inner.zip" in warning for warning in corpus.report.warnings)
        assert any("x.pdf" in warning for warning in corpus.report.warnings)
    assert from_folder.name == tmp_path.name and from_zip.name == "pack.ZIP"
    assert from_zip.digest == from_folder.digest


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_a_zip_with_one_table_is_that_table(format):
    data = zip_bytes({"data/reviews." + format: table_bytes(format), "README.txt": b"about"})
    corpus = read_corpus(data, name="pack.zip")
    assert corpus.texts == TEXTS and corpus.report.format == format
    assert corpus.report.source == f"pack.zip: data/reviews.{format}" and corpus.name == "pack.zip"


@pytest.mark.parametrize(
    ("encoding", "reported"),
    [("utf-8-sig", "utf-8-sig"), ("utf-16", "utf-16"), ("utf-32", "utf-32"), ("cp1252", "windows-1252"),
     ("latin-1", "windows-1252")],
)  # fmt: skip
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.txt"])
def test_encodings_are_recognised_and_reported(encoding, reported, name):
    texts = ["plain words here", "Die Größe der Bücher ist schön", "Ärger über die naïve Idee"] * 40
    if name == "a.csv":
        data = csv_bytes([["text", "n"], *([text, 1] for text in texts)], encoding=encoding)
    elif name == "a.jsonl":
        data = "\n".join(json.dumps({"text": text}, ensure_ascii=False) for text in texts).encode(encoding)
    else:
        data = "\n".join(texts).encode(encoding)
    corpus = read_corpus(data, name=name)
    assert corpus.texts == texts
    assert (
        corpus.report.encoding == reported and reported.split("-sig")[0].upper() in corpus.report.encoding_note.upper()
    )
    assert corpus.report.warnings == ()


def test_other_encodings_are_found_from_late_and_sparse_evidence():
    texts = ["plain ascii words only"] * 30_000 + ["Это очень хороший фильм, мне понравилось всё"]
    corpus = read_corpus(gzip.compress("\n".join(texts).encode("cp1251")), name="late.txt.gz")
    assert corpus.texts == texts and corpus.report.encoding == "windows-1251"
    stated = read_corpus("caf\u00e9 noir".encode("mac_roman"), name="a.txt", encoding="mac_roman")
    assert stated.texts == ["café noir"] and "as stated" in stated.report.encoding_note


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp932", "これはとても良い映画です。私は好きです。"),
        ("euc_jp", "これはとても良い映画です。私は好きです。"),
        ("gb18030", "这是一本很好的书，我非常喜欢。推荐给大家。"),
        ("big5", "這是一本很好的書，我非常喜歡。推薦給大家。"),
        ("cp949", "이것은 아주 좋은 영화입니다. 나는 좋아합니다."),
        ("windows-1250", "Zażółć gęślą jaźń, proszę państwa, to jest świetna książka i źródło."),
        ("windows-1253", "Αυτό είναι ένα πολύ καλό βιβλίο και μου άρεσε."),
        ("koi8_r", "Это очень хороший фильм, мне понравилось всё кроме конца."),
    ],
)
def test_encodings_of_other_languages(encoding, text):
    corpus = read_corpus(text.encode(encoding), name="a.txt")
    assert corpus.texts == [text] and corpus.report.encoding == encoding


def test_a_folder_mixes_encodings_file_by_file(tmp_path):
    (tmp_path / "1.txt").write_bytes("naïve Größe".encode())
    (tmp_path / "2.txt").write_bytes("Die Bücher sind schön und größer als früher".encode("cp1252"))
    (tmp_path / "3.txt").write_bytes("Ärger".encode("utf-16"))
    corpus = read_corpus(tmp_path)
    assert corpus.texts == ["naïve Größe", "Die Bücher sind schön und größer als früher", "Ärger"]
    assert corpus.report.encoding == "utf-16, utf-8, windows-1252"
    assert "1 files windows-1252" in corpus.report.encoding_note


def test_rows_and_counts_account_for_every_record():
    records = [{"text": t} for t in ("good one", None, "", " \n", "...", "two words", "last")] + [{"n": 1}]
    data = "\n".join(map(json.dumps, records)).encode()
    corpus = read_corpus(data, name="a.jsonl", text_column="TEXT")
    assert corpus.texts == ["good one", "two words", "last"] and corpus.rows.tolist() == [0, 5, 6]
    report = corpus.report
    assert (report.n_records, report.n_missing, report.n_empty, report.n_too_short) == (8, 2, 2, 1)
    assert report.left_out == ((1, "missing"), (2, "empty"), (3, "empty"), (4, "too short"), (7, "missing"))
    assert read_corpus(data, name="a.jsonl", text_column="text", min_words=2).texts == [
        "good one",
        "two words",
    ]
    assert "..." in read_corpus(data, name="a.jsonl", text_column="text", min_words=0).texts


def test_limit_stops_at_the_nth_kept_document_and_does_not_read_on():
    good = "\n".join(json.dumps({"text": t}) for t in ["", "one", "two", *["more"] * 300])
    corpus = read_corpus(good.encode() + b"\n{broken", name="a.jsonl", limit=2)
    assert corpus.texts == ["one", "two"]
    assert (corpus.report.n_records, corpus.report.n_empty, corpus.report.n_kept) == (3, 1, 2)
    with pytest.raises(CorpusError, match="line 304"):
        read_corpus(good.encode() + b"\n{broken", name="a.jsonl")


def test_folders_are_columns_where_there_are_several(tmp_path):
    paths = ["all/pos/a/1.txt", "all/pos/b/1.txt", "all/neg/a/2.txt"]
    corpus = read_corpus(zip_bytes(dict.fromkeys(paths, b"some words here")), name="reviews.zip")
    assert corpus.report.columns == ("file", "folder", "folder 2")
    assert corpus.metadata[["folder", "folder 2"]].to_numpy().tolist() == [["neg", "a"], ["pos", "a"], ["pos", "b"]]
    alone = read_corpus(zip_bytes(dict.fromkeys(["x/y/1.txt", "x/y/2.txt"], b"some words")), name="one.zip")
    assert alone.report.columns == ("file",)
    far = {"/".join(f"{k}{j}" for k in "abcdefghijkl") + ".txt": b"a word" for j in "12"}
    deep = read_corpus(zip_bytes(far), name="d.zip")
    assert deep.report.columns == ("file", "folder", "folder 2", "folder 3", "folder 4")


def test_preview_shows_the_first_records_and_does_not_read_the_rest():
    data = csv_bytes([["label", "text"], *([i, f"text number {i}"] for i in range(9000))]) + b'x,"never\nclosed'
    preview = preview_corpus(io.BytesIO(data), name="a.csv", n_rows=7)
    assert preview.format == "csv" and preview.encoding == "utf-8" and preview.columns == ("label", "text")
    assert len(preview.rows) == 7 and preview.rows["text"][6] == "text number 6"
    assert preview.suggested_text_column == "text" and preview.candidates == ("text",)
    lines = preview_corpus(b"one\ntwo\n", name="a.txt")
    assert lines.columns == () and lines.suggested_text_column is None and list(lines.rows["text"]) == ["one", "two"]
    files = preview_corpus(zip_bytes({"a.txt": b"x y"}), name="a.zip")
    assert files.rows.to_dict("records") == [{"file": "a.txt", "text": "x y"}] and files.columns == ()
    assert preview_corpus(table_bytes("parquet"), name="a.parquet", n_rows=2).rows["n"].tolist() == [3, 1]


def test_from_texts_head_and_digest():
    metadata = pd.DataFrame({"k": [10, 20, 30]}, index=[5, 6, 7])
    corpus = Corpus.from_texts(["a b", None, "c"], name="mine", metadata=metadata)
    assert corpus.name == "mine" and corpus.metadata["k"].tolist() == [10, 30] and corpus.rows.tolist() == [0, 2]
    assert len(corpus) == 2 and corpus.n_characters == 4 and corpus.report.n_missing == 1
    head = corpus.head(1)
    assert head.texts == ["a b"] and head.metadata["k"].tolist() == [10] and head.digest != corpus.digest
    assert len(corpus.head(99)) == 2
    assert Corpus.from_texts(["ab", "c"]).digest != Corpus.from_texts(["a", "bc"]).digest
    assert len(corpus.digest) == 16 and int(corpus.digest, 16) >= 0


CHARACTER = st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from('\r\n\t\x0b\x1b\x85",;|\\')
TEXT = st.text(CHARACTER, max_size=30)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(TEXT, min_size=1, max_size=12),
    st.sampled_from(["csv", "semicolon", "tsv", "jsonl", "json", "parquet"]),
)
def test_round_trip_of_any_texts(texts, format):
    numbered = list(enumerate(texts))
    if format == "parquet":
        out = io.BytesIO()
        pq.write_table(pa.table({"n": list(range(len(texts))), "text": texts}), out)
        data, name = out.getvalue(), "a.parquet"
    elif format in ("jsonl", "json"):
        records = [{"n": n, "text": text} for n, text in numbered]
        whole = json.dumps(records) if format == "json" else "\n".join(map(json.dumps, records))
        data, name = whole.encode(), f"a.{format}"
    else:
        delimiter = {"csv": ",", "semicolon": ";", "tsv": "\t"}[format]
        data = csv_bytes([["n", "text"], *numbered], delimiter, quoting=csv.QUOTE_ALL)
        name = "a.tsv" if format == "tsv" else "a.csv"
    missing = NULL_MARKS if name in ("a.csv", "a.tsv") else frozenset()
    kept = [(n, text) for n, text in numbered if text.strip() and text not in missing]
    if not kept:
        with pytest.raises(CorpusError, match="None of the"):
            read_corpus(data, name=name, text_column="text", min_words=0)
        return
    corpus = read_corpus(data, name=name, text_column="text", min_words=0)
    assert corpus.texts == [text for _, text in kept]
    assert corpus.rows.tolist() == [n for n, _ in kept] == corpus.metadata["n"].tolist()
    assert corpus.report.n_missing == sum(text in missing for text in texts)
    assert corpus.report.n_left_out == len(texts) - len(kept)
    assert corpus.report.warnings == ()


def test_what_an_archive_holds_besides_is_counted():
    texts = {f"{k}.txt": b"some words" for k in range(3)}
    one = read_corpus(zip_bytes(texts | {"read.me": b"x"}), name="a.zip")
    assert "1 other file was ignored" in " ".join(one.report.warnings)
    two = read_corpus(zip_bytes(texts | {"read.me": b"x", "b.me": b"x", "in.zip": b"PK"}), name="a.zip")
    said = " ".join(two.report.warnings)
    assert "2 other files were ignored" in said and "1 archive inside was ignored" in said
