"""Tables as corpora: dialects of CSV, natural types of the metadata, and which column is the text."""

from __future__ import annotations

import csv
import datetime
import io
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cflengine.text.corpus import CorpusError
from cflengine.text.reading.columns import natural_series
from cflengine.text.reading.readers import preview_corpus, read_corpus


def csv_bytes(rows, delimiter=",") -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue().encode()


@pytest.mark.parametrize(
    ("spelt", "read"),
    [
        (["28/01/2014", "03/02/2014", None], ["2014-01-28", "2014-02-03", None]),
        (["01/28/2014", "2/3/2014"], ["2014-01-28", "2014-02-03"]),
        (["03.02.2014", "1.1.2015"], ["2014-02-03", "2015-01-01"]),
        (["28-1-2014"], ["2014-01-28"]),
        (["03/02/2014", "04/05/2014"], None),  # either reading
        (["28/01/2014", "01/28/2014"], None),  # neither
        (["31/02/2014"], None),
        (["28/01/2014", "28.01.2014"], ["2014-01-28"] * 2),
        (["28/01/2014", "2014-01-28", "28 Jan 2014", "January 28th, 2014"], ["2014-01-28"] * 4),
        (["02/03/2014", "2014-01-28"], None),  # one of them has two readings
        (["28/01/2014", "soon"], None),
        (["2014-01-28", "2014-01-28T10:00:00Z"], None),  # of which zone?
        (["2014-01-28"] * 19 + ["unknown"], ["2014-01-28"] * 19 + [None]),
        (["2014-01-28"] * 18 + ["perhaps"], None),  # too few
        (["2014-01-28"] * 18 + ["Unknown", "n/a"] * 9, ["2014-01-28"] * 18 + [None] * 18),
        (["2014-01-28"] * 9 + ["unknown"], None),
        (["2014-01-28"] * 5, ["2014-01-28"] * 5),
        (["soon"] * 3, None),
        (["26-FEB-1987 15:01:01.79", "2-MAR-1987 09:00:00.10"], ["1987-02-26", "1987-03-02"]),
        (["28/01/2014 7:05 PM", "03/04/2014, 12:30 am"], ["2014-01-28", "2014-04-03"]),
        (["2014/1/8", "2014-01-28 23:59", "Jan 3, 2014 3:04 p.m."], ["2014-01-08", "2014-01-28", "2014-01-03"]),
        (["28.01.2014 25:00"] * 3, None),
        (["28/01/2014 13:00 PM"] * 2 + ["28/01/2014 0:10 AM"], None),
    ],
)
def test_dates_with_the_year_at_the_end_are_taken_where_one_reading_is_left(spelt, read):
    series, _ = natural_series(spelt, untyped=True)
    if read is None:
        assert series.tolist() == spelt
    else:
        assert [None if pd.isna(day) else str(day.date()) for day in series] == read


def test_times_of_day_are_kept():
    spelt = ["26-FEB-1987 15:01:01.79", "28/02/1987 12:30 am", "28.02.1987, 7:05 PM", "1987/3/1 09:10", "1 Mar 1987"]
    series, _ = natural_series(spelt, untyped=True)
    assert series.tolist() == [
        pd.Timestamp(when)
        for when in ("1987-02-26 15:01:01.79", "1987-02-28 00:30", "1987-02-28 19:05", "1987-03-01 09:10", "1987-03-01")
    ]


def test_what_is_not_understood_as_a_date_is_said():
    days = [f"{1 + k % 28:02d}/{1 + k % 12:02d}/2014" for k in range(60)]
    rows = [["text", "day", "other"], *([f"word {k}", day, "03/04/2014"] for k, day in enumerate(days))]
    rows[7][1], rows[9][1], rows[11][1] = "unknown", "n. d.", " "  # a blank is no date that was misunderstood
    report = read_corpus(csv_bytes(rows), name="a.csv", text_column="text").report
    assert [warning for warning in report.warnings if "Column" in warning] == [
        "Column 'day': 2 of 59 are not understood as dates, and missing: 'unknown', 'n. d.'.",
        "Column 'other': it does not tell which number of '03/04/2014' is the day, so it stays words; write "
        "2024-01-31.",
    ]


def test_csv_null_cover_are_missing_but_answers_are_not():
    data = b"id,text\n1,NaN\n2,None\n3,\n4,<NA>\n5\n6,N/A\n"
    corpus = read_corpus(data, name="survey.csv")
    assert corpus.texts == ["None", "N/A"] and corpus.rows.tolist() == [1, 5]
    assert (corpus.report.n_missing, corpus.report.n_empty) == (3, 1)
    assert any("1 record (number 5) has more or fewer fields" in warning for warning in corpus.report.warnings)


def test_metadata_has_natural_types():
    header = ["text", "int", "gaps", "float", "flag", "day", "zip", "big", "zone", "us_date"]
    data = csv_bytes([
        header,
        ["a b", "1", "", "1.5", "true", "2024-01-31", "01234", "12345678901234567890", "NA", "NaN"],
        ["c d", "-2", "7", "NA", "False", "2024-02-29", "98765", "1", "EU", "02/03/2024"],
    ])  # fmt: skip
    corpus = read_corpus(data, name="a.csv", text_column="text")
    types = corpus.metadata.dtypes.astype(str)
    assert types["int"] == "int64" and types["gaps"] == "Int64" and types["float"] == "float64"
    assert types["flag"] == "bool" and types["day"].startswith("datetime64")
    assert pd.isna(corpus.metadata["gaps"][0]) and corpus.metadata["gaps"][1] == 7
    assert corpus.metadata["zip"].tolist() == ["01234", "98765"]
    assert corpus.metadata["big"].tolist() == ["12345678901234567890", "1"]
    assert corpus.metadata["zone"].tolist() == ["NA", "EU"]
    assert corpus.metadata["us_date"].tolist()[1:] == ["02/03/2024"] and pd.isna(corpus.metadata["us_date"][0])


NESTED = [
    {"id": 1, "doc": {"body": "some words", "by": {"name": "Ann"}}, "tags": ["a"]},
    {"id": 2, "doc": {"body": "more words", "by": None}},
    {"id": 3, "doc": {"body": "other words", "by": {"name": "Bob", "age": 4}}, "doc.by": "its own"},
    {"id": 4, "doc": None, "text": "none"},
]


def test_fields_of_objects_are_columns():
    data = "\n".join(map(json.dumps, NESTED)).encode()
    corpus = read_corpus(data, name="n.jsonl", text_column="doc.body")
    assert corpus.texts == ["some words", "more words", "other words"] and corpus.report.n_missing == 1
    frame = corpus.metadata.astype(object).where(corpus.metadata.notna(), None)
    assert frame["doc.by.name"].tolist() == ["Ann", None, "Bob"] and frame["doc.by.age"].tolist() == [None, None, 4]
    assert frame["doc.by"].tolist() == [None, None, "its own"] and frame["tags"].tolist() == ['["a"]', None, None]
    assert read_corpus(data, name="n.jsonl").report.text_column == "doc.body", "it is found, too"
    table = pa.Table.from_pylist([{"doc": {"body": f"some words {k}", "by": {"name": "Ann"}}} for k in range(3)])
    out = io.BytesIO()
    pq.write_table(table.append_column("raw", pa.array([{"x": b"1"}] * 3)), out)
    corpus = read_corpus(out.getvalue(), name="n.parquet", text_column="doc.body")
    assert corpus.texts == [f"some words {k}" for k in range(3)]
    assert corpus.metadata["doc.by.name"].tolist() == ["Ann"] * 3
    assert "The column 'raw.x' holds bytes and was left out." in corpus.report.warnings


def test_objects_that_are_data_do_not_become_columns():
    rows = [{"text": f"some words {k}", "votes": {f"voter {k}": 1, f"{k}": {"deep": 2}}} for k in range(300)]
    deep = {"text": "some words"}
    for _ in range(300):
        deep = {"text": "some words", "inner": deep}
    corpus = read_corpus("\n".join(map(json.dumps, [*rows, deep])).encode(), name="n.jsonl", text_column="text")
    names = list(corpus.metadata)
    assert len(names) < 150 and json.loads(corpus.metadata["votes"][299]) == rows[299]["votes"]
    assert "The objects in 'votes' have ever more fields: the rest of them are a column of JSON." in (
        corpus.report.warnings
    )
    assert max(name.count("inner") for name in names) <= 4


def test_json_metadata_keeps_types_and_spells_out_what_is_nested():
    records = [
        {"text": "one two", "n": 1, "tags": ["ä", 2], "when": "2024-05-01T10:00:00Z", "big": 2**70, "mix": 1},
        {"text": "three", "n": None, "new": True, "when": "2024-05-02T10:00:00Z", "big": 1, "mix": "x"},
    ]
    corpus = read_corpus("\n".join(map(json.dumps, records)).encode(), name="a.ndjson")
    metadata = corpus.metadata
    assert list(metadata.columns) == ["n", "tags", "when", "big", "mix", "new"]
    assert str(metadata["n"].dtype) == "Int64" and str(metadata["new"].dtype) == "boolean"
    assert metadata["new"].isna().tolist() == [True, False]
    assert metadata["tags"][0] == '["ä", 2]' and pd.isna(metadata["tags"][1])
    assert metadata["when"].dt.tz is not None and metadata["big"].tolist() == [str(2**70), "1"]
    assert metadata["mix"].tolist() == ["1", "x"]


def test_parquet_types_bytes_and_index_columns():
    frame = pd.DataFrame({
        "body": ["one two", None, "three"], "day": [datetime.date(2024, 1, day) for day in (1, 2, 3)],
        "tags": [["a"], [], ["b"]], "image": [b"\xff", b"", b"x"], "n": pd.array([1, 2, None], dtype="Int64"),
    }, index=[7, 8, 9])  # fmt: skip
    out = io.BytesIO()
    frame.to_parquet(out)
    corpus = read_corpus(out, name="a.parquet")
    assert not out.closed and corpus.texts == ["one two", "three"] and corpus.rows.tolist() == [0, 2]
    assert str(corpus.metadata["day"].dtype).startswith("datetime64") and corpus.metadata["tags"].tolist() == [
        '["a"]',
        '["b"]',
    ]
    assert "image" not in corpus.metadata and "'image'" in corpus.report.warnings[0]
    assert corpus.report.n_missing == 1 and str(corpus.metadata["n"].dtype) == "Int64"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter):
    data = csv_bytes([["id", "text", "price"], *([i, f"words, words; {i} | and", "1,5"] for i in range(9))], delimiter)
    corpus = read_corpus(data, name="a.csv")
    assert corpus.texts[3] == "words, words; 3 | and" and corpus.metadata["price"][0] == "1,5"
    assert read_corpus(b"sep=;\r\nid;text\r\n1;a, b\r\n", name="excel.csv").texts == ["a, b"]


def test_csv_dialects_and_headers():
    escaped = rb"id,text" + b'\n1,"He said \\"hi, you\\" twice"\n2,plain\n'
    corpus = read_corpus(escaped, name="a.csv")
    assert corpus.texts == ['He said "hi, you" twice', "plain"] and "backslash" in corpus.report.warnings[0]
    unquoted = read_corpus(b'text\tn\n"Hello" she said\t1\n"open quote\t2\n', name="a.tsv")
    assert unquoted.texts == ['"Hello" she said', '"open quote'] and "2 records" in unquoted.report.warnings[0]
    between = read_corpus(b'text\tn\n"open\t1\nnext\t2\n"another" one\t3\n', name="a.tsv")
    assert between.texts == ['"open', "next", '"another" one']
    headless = read_corpus(b"1,pos,A fine film\n2,neg,Not a fine film\n3,pos,So so\n", name="a.csv")
    assert headless.texts == ["A fine film", "Not a fine film", "So so"]
    assert headless.report.text_column == "column_3" and "not like a header" in headless.report.warnings[0]
    doubled = read_corpus(b"text,text,,n\na b,c d,e f,1\n", name="a.csv", text_column="text_2")
    assert doubled.report.columns == ("text", "text_2", "column_3", "n") and doubled.texts == ["c d"]
    comma_text = read_corpus(b"label,text\npos,Well, well, fine\nneg,no\n", name="a.csv")
    assert comma_text.texts == ["Well, well, fine", "no"] and "1 record (number 1)" in comma_text.report.warnings[0]
    stray = read_corpus(b'id,text\n1,"Hello" she said\n2,"fine, too"\n', name="a.csv")
    assert stray.texts == ['"Hello" she said', "fine, too"] and "broken quotes" in stray.report.warnings[0]


@pytest.mark.parametrize(
    ("header", "rows", "expected"),
    [
        (["id", "reviewText", "notes"], [["x1", "long words", "longer notes in many words"]], "reviewText"),
        (["review", "lyrics"], [["pos", "la la la la la"]], "lyrics"),
        (["name", "remarks"], [["Ann Lee", "a much longer remark than the name"]], "remarks"),
        (["a", "b"], [["four words are here", "also four words here"]], None),
        (["id", "n"], [["1", "2.5"]], None),
        (["CONTENT", "title"], [["some words", "a longer title than content has"]], "CONTENT"),
        (["whatever"], [["word"]], "whatever"),
    ],
)  # fmt: skip
def test_the_text_column_is_found_or_asked_for(header, rows, expected):
    data = csv_bytes([header, *rows])
    preview = preview_corpus(data, name="a.csv")
    assert preview.suggested_text_column == expected
    if expected is None:
        with pytest.raises(CorpusError, match=r"several .* of 'a', 'b'|no column looks like text.* of 'id', 'n'"):
            read_corpus(data, name="a.csv")
        return
    assert read_corpus(data, name="a.csv").report.text_column == expected
    assert preview.candidates[0] == expected
