"""Excel workbooks: what their sheets hold becomes the same records as a CSV file of it."""

import datetime
import gzip
import io
import json
import zipfile

import openpyxl
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.styles.numbers import is_date_format, is_timedelta_format
from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH, from_excel

from cflengine.cli import main
from cflengine.engine import Stopped, Watch
from cflengine.text import CorpusError, EmptyCorpusError, preview_corpus, read_corpus, reading_until, reading_watched
from cflengine.text.reading.workbook_parts import kind_of_format, moment
from cflengine.text.reading.workbooks import WorkbookTable

NAMES = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
SHARED = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
HEADER = ["id", "answer", "score"]
ROWS = [HEADER, [1, "tea with milk", 4.5], [2, "coffee, black", None], [3, "water, no ice", 2]]


def workbook(*sheets, state=None) -> bytes:
    """A workbook of sheets, each (name, rows); state: of the sheets by name, visible where it is not said."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets:
        sheet = book.create_sheet(name)
        sheet.sheet_state = (state or {}).get(name, "visible")
        for row in rows:
            sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def with_sheet(xml: str, strings: str = "") -> bytes:
    """A workbook whose sheet is this XML, with these shared strings."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(workbook(("a", ROWS)))) as old, zipfile.ZipFile(out, "w", 8) as new:
        for name in old.namelist():
            data = old.read(name).decode()
            if name == "xl/worksheets/sheet1.xml":
                data = xml
            if name == "[Content_Types].xml" and strings:
                part = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{SHARED}"/>'
                data = data.replace("</Types>", part + "</Types>")
            if name == "xl/_rels/workbook.xml.rels" and strings:
                one = f'<Relationship Id="rId99" Type="{RELATIONS}/sharedStrings" Target="sharedStrings.xml"/>'
                data = data.replace("</Relationships>", one + "</Relationships>")
            new.writestr(name, data)
        if strings:
            new.writestr("xl/sharedStrings.xml", f'<?xml version="1.0"?><sst {NAMES}>{strings}</sst>')
    return out.getvalue()


def sheet_xml(rows: str) -> str:
    return f'<?xml version="1.0"?><worksheet {NAMES}><sheetData>{rows}</sheetData></worksheet>'


def inline(cell: str, text: str) -> str:
    return f'<c r="{cell}" t="inlineStr"><is><t>{text}</t></is></c>'


def test_a_sheet_is_read_like_the_csv_of_it():
    found = read_corpus(workbook(("answers", ROWS)), name="answers.xlsx")
    csv = read_corpus(pd.DataFrame(ROWS[1:], columns=HEADER).to_csv(index=False).encode(), name="answers.csv")
    assert found.texts == csv.texts == ["tea with milk", "coffee, black", "water, no ice"]
    pd.testing.assert_frame_equal(found.metadata, csv.metadata)
    assert found.report.format == "xlsx" and found.report.encoding is None and not found.report.warnings
    assert preview_corpus(workbook(("answers", ROWS)), name="answers.xlsx").suggested_text_column == "answer"


def test_values_keep_their_types():
    rows = [
        ["answer", "day", "moment", "well", "n", "share", "code"],
        ["tea", datetime.date(2024, 1, 3), datetime.time(9, 30), True, 1, 0.5, "007"],
        ["milk", datetime.date(2024, 2, 3), datetime.time(10), False, None, 2, "008"],
    ]
    metadata = read_corpus(workbook(("a", rows)), name="a.xlsx", text_column="answer").metadata
    assert metadata["day"].tolist() == [pd.Timestamp(2024, 1, 3), pd.Timestamp(2024, 2, 3)]
    assert metadata["moment"].tolist() == ["09:30:00", "10:00:00"]
    assert metadata["well"].dtype == bool and metadata["share"].tolist() == [0.5, 2.0]
    assert metadata["n"].dtype == "Int64" and metadata["code"].tolist() == ["007", "008"]


def test_answers_that_are_numbers_or_dates_are_spelled_out():
    rows = [["answer"], ["every day"], [12], [datetime.datetime(2024, 5, 12)], [True], [datetime.timedelta(hours=25)]]
    corpus = read_corpus(workbook(("a", rows)), name="a.xlsx", text_column="answer")
    assert corpus.texts == ["every day", "12", "2024-05-12 00:00:00", "true", "1 day, 1:00:00"]
    assert "4 records hold a number, date or truth value" in corpus.report.warnings[0]


def test_errors_formulas_without_a_value_and_blanks_are_missing():
    rows = [HEADER, [1, "#N/A", 1], [2, "=A1+1", 2], [3, "   ", 3], [4, "words", "#DIV/0!"]]
    corpus = read_corpus(workbook(("a", rows)), name="a.xlsx", text_column="answer")
    assert corpus.texts == ["words"] and corpus.report.n_missing == 3
    assert corpus.metadata["score"].isna().all()


@pytest.mark.parametrize("shared", [False, True])
def test_characters_that_xml_cannot_hold_are_brought_back(shared):
    said = "a_x000D_b _x005F_x000D_ _x0041_"
    cell = '<c r="A2" t="s"><v>0</v></c>' if shared else inline("A2", said)
    xml = sheet_xml(f'<row r="1">{inline("A1", "text")}</row><row r="2">{cell}</row>')
    assert read_corpus(with_sheet(xml, f"<si><t>{said}</t></si>"), name="a.xlsx").texts == ["a\rb _x000D_ _x0041_"]


def test_words_in_several_formats_are_one_text_without_how_they_are_pronounced():
    words = "<si><r><t>one </t></r><r><rPr/><t>two</t></r><rPh><t>wun</t></rPh><phoneticPr/></si>"
    rows = '<row><c t="inlineStr"><is><t>text</t></is></c></row><row><c t="s"><v>0</v></c></row>'
    assert read_corpus(with_sheet(sheet_xml(rows), words), name="a.xlsx").texts == ["one two"]


def test_blank_rows_and_places_left_out_cost_nothing():
    far = sheet_xml(f'<row>{inline("A1", "text")}</row><row r="1048576">{inline("A1048576", "far away")}</row>')
    assert read_corpus(with_sheet(far), name="a.xlsx").texts == ["far away"]
    placeless = '<row><c/><c t="str"><v>text</v></c></row><row><c t="str"><v>1</v></c><c t="str"><v>a b</v></c></row>'
    assert read_corpus(with_sheet(sheet_xml(placeless)), name="a.xlsx").texts == ["a b"]


@pytest.mark.parametrize(
    ("code", "kind"),
    {
        "General": "", "0.00": "", "@": "", "#,##0.00 [$€-407]": "", '0 "days"': "", "0.00E+00": "", "[Red]0": "",
        "yyyy-mm-dd": "date", "d. mmm yyyy;@": "date", "[$-409]h:mm AM/PM": "date", "mm:ss": "date",
        "[h]:mm:ss": "duration", "[mm]:ss": "duration", '"day" d': "date", r"\d0": "", "_d0": "",
    }.items(),
)  # fmt: skip
def test_formats_of_dates(code, kind):
    assert kind_of_format(code) == kind
    if code != "General":  # the same as a library says
        assert is_date_format(code) == (kind != "") and is_timedelta_format(code) == (kind == "duration")


@given(st.floats(-1e4, 4e6, allow_nan=False), st.sampled_from([WINDOWS_EPOCH, MAC_EPOCH]), st.booleans())
def test_moments_are_those_of_a_library(days, epoch, lapsed):
    found = moment(days, datetime.datetime(1899, 12, 30) if epoch == WINDOWS_EPOCH else epoch, lapsed)
    if not abs(days) < 2_957_000 or (days < 0 and not lapsed):
        assert found == days
        return
    other = from_excel(days, epoch, timedelta=lapsed)
    if isinstance(found, str):
        found, other = (
            datetime.datetime.combine(datetime.date(2000, 1, 1), one)
            for one in (
                datetime.time.fromisoformat(found),
                other if isinstance(other, datetime.time) else datetime.time(),
            )
        )
        assert abs(found - other) <= datetime.timedelta(milliseconds=2) or days > 1 - 1e-7
    else:
        assert abs(found - other) <= datetime.timedelta(milliseconds=2)


def test_titles_blank_rows_and_cells_beside_the_table_are_left_out():
    rows = [["Survey of 2024"], [], [None, "second wave"], *ROWS, [], [4, "juice at noon", 1]]
    corpus = read_corpus(workbook(("a", rows)), name="a.xlsx")
    assert corpus.texts[-1] == "juice at noon" and corpus.report.n_records == 4
    assert "rows above the table were left out: 'Survey of 2024', 'second wave'." in corpus.report.warnings[0]
    noted = read_corpus(workbook(("a", [["text"], ["tea with milk", "a note"], ["coffee"]])), name="a.xlsx")
    assert noted.texts == ["tea with milk", "coffee"] and list(noted.metadata) == ["column_2"]
    many = [*ROWS, *([5, f"cup {i} of tea", 1] for i in range(300)), [6, "the last", 1, "an aside"]]
    corpus = read_corpus(workbook(("a", many)), name="a.xlsx")
    assert "1 record has cells to the right of the table" in corpus.report.warnings[0]
    assert corpus.texts[-1] == "the last" and list(corpus.metadata) == ["id", "score"]


def test_a_title_above_a_single_column_and_columns_left_of_the_table_are_left_out():
    titled = read_corpus(workbook(("a", [["My notes"], [], ["Comments"], ["tea again"], ["more tea"]])), name="a.xlsx")
    assert titled.texts == ["tea again", "more tea"] and titled.report.text_column == "Comments"
    rows = [[], [None, None, "id", "answer"], [None, None, 1, "tea with milk"], [None, None, 2, "coffee, black"]]
    corpus = read_corpus(workbook(("a", rows)), name="a.xlsx")
    assert corpus.report.columns == ("id", "answer") and corpus.metadata["id"].tolist() == [1, 2]


def test_a_header_may_be_a_long_question_on_two_lines_or_a_date():
    question = "What did you like about the tea,\nand what did you not? " + "Please say it in your own words. " * 6
    rows = [["no", question, datetime.datetime(2024, 1, 1)], *([k, f"cup {k} was good", k] for k in range(9))]
    corpus = read_corpus(workbook(("a", rows)), name="a.xlsx")
    assert len(corpus) == 9 and corpus.report.text_column == " ".join(question.split())
    assert list(corpus.metadata) == ["no", "2024-01-01"] and corpus.metadata["no"].tolist() == list(range(9))
    texts = [[1, "the first text " * 20], [2, "the second text " * 20], [3, "the third text " * 20]]
    assert len(read_corpus(workbook(("a", texts)), name="a.xlsx")) == 3, "no header"


def test_cells_of_nothing_and_times_of_day_by_their_kind():
    cells = '<c t="str"><v>{}</v></c>'.format
    row = f'{cells("a b")}<c t="s"><v></v></c><c t="s"/><c t="d"><v>10:00:00</v></c><c t="d"><v>2024-05-03</v></c>'
    xml = sheet_xml(f"<row>{''.join(map(cells, ['text', 'x', 'y', 'at', 'day']))}</row><row>{row}</row>")
    metadata = read_corpus(with_sheet(xml), name="a.xlsx").metadata
    assert metadata["x"].isna().all() and metadata["at"].tolist() == ["10:00:00"]
    assert metadata["day"].tolist() == [pd.Timestamp(2024, 5, 3)]


def test_formulas_without_a_result_and_sheets_that_cannot_be_read_are_said():
    rows = [["text", "n"], ["tea with milk", "=1+1"], ["coffee", "=2+2"]]
    notes = read_corpus(workbook(("a", rows)), name="a.xlsx").report.warnings
    assert notes == (
        "2 cells are formulas without a result in the file: open it in Excel or LibreOffice and save it once.",
    )
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(workbook(("a", ROWS), ("b", ROWS)))) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            if name != "xl/worksheets/sheet2.xml":
                new.writestr(name, old.read(name))
    corpus = read_corpus(out.getvalue(), name="a.xlsx")
    assert len(corpus) == 3 and "The sheet 'b' was left out: 'a.xlsx' is not a readable" in corpus.report.warnings[0]
    with pytest.raises(CorpusError, match="not a readable Excel workbook"):
        read_corpus(out.getvalue(), name="a.xlsx", sheet="b")


def test_a_sheet_without_header_has_numbered_columns():
    corpus = read_corpus(workbook(("a", ROWS[1:])), name="a.xlsx")
    assert len(corpus) == 3 and corpus.report.text_column == "column_2"
    assert "not like a header" in corpus.report.warnings[0]


def test_the_first_visible_sheet_with_records_is_read_and_the_others_are_named():
    sheets = ("cover", [["All answers"]]), ("secret", ROWS[:2]), ("answers", ROWS), ("more", ROWS)
    corpus = read_corpus(workbook(*sheets, state={"secret": "hidden"}), name="a.xlsx")
    assert len(corpus) == 3
    assert corpus.report.warnings == ("The sheet 'answers' was read; the workbook also has 'more' (sheet, --sheet).",)


def test_a_sheet_is_chosen_by_its_name():
    more = [["text"], ["one more"], ["and another"]]
    book = workbook(("answers", ROWS), ("More", more), ("none", []), ("hid", more[:2]), state={"hid": "hidden"})
    assert preview_corpus(book, name="a.xlsx").sheets == ("answers", "More")
    assert preview_corpus(book, name="a.xlsx", sheet="More").columns == ("text",)
    found = read_corpus(book, name="a.xlsx", sheet="more")
    assert found.texts == ["one more", "and another"] and not found.report.warnings
    assert read_corpus(book, name="a.xlsx", sheet="hid").texts == ["one more"]
    with pytest.raises(CorpusError, match="no sheet 'other'; its sheets are 'answers', 'More'"):
        read_corpus(book, name="a.xlsx", sheet="other")
    with pytest.raises(EmptyCorpusError, match="empty in the sheet 'none'"):
        read_corpus(book, name="a.xlsx", sheet="none")
    with pytest.raises(CorpusError, match="no workbook, so sheet does not apply"):
        read_corpus(b"text\na b\n", name="a.csv", sheet="more")


BAD = {
    "no cells": (workbook(("a", [])), "is empty; give a header"),
    "a header alone": (workbook(("a", [HEADER])), r"no records below its header \('id', 'answer', 'score'\)"),
    "cut off": (workbook(("a", ROWS))[:-200], "not a readable Excel workbook"),
    "not XML": (with_sheet("<worksheet"), "not a readable Excel workbook"),
    "no workbook": (with_sheet(sheet_xml(""))[:60], "not a readable Excel workbook"),
    "too many rows": (with_sheet(sheet_xml("<row/>" * (1 << 20) + "<row/>")), "more than 1,048,576 rows"),
    "no such words": (with_sheet(sheet_xml('<row><c t="s"><v>3</v></c></row>')), "not a readable Excel workbook"),
    "words before the first": (
        with_sheet(sheet_xml('<row><c t="s"><v>-9</v></c></row>'), "<si><t>a b</t></si>"), "not a readable Excel work",
    ),
    "no number": (with_sheet(sheet_xml("<row><c><v>many</v></c></row>")), "not a readable Excel workbook"),
    "too many columns": (workbook(("a", [["x"] * 1001, ["words"] * 1001])), "a cell beyond column 1,000"),
    "an old workbook": (b"\xd0\xcf\x11\xe0" + bytes(600), "an Office document of an old kind, or one with a password"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_read_is_one_sentence(what):
    data, message = BAD[what]
    with pytest.raises(CorpusError, match=message) as caught:
        read_corpus(data, name="a.xlsx")
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


def test_sizes_are_bounded_before_and_while_cells_are_read():
    large = workbook(("a", [["text"], *([f"{i} words " * 500] for i in range(40))]))
    with pytest.raises(CorpusError, match=r"holds more than 97\.7 KB"):
        read_corpus(large, name="a.xlsx", max_bytes=100_000)
    cells = "".join(f'<row r="{i}"><c r="A{i}" t="s"><v>{i > 1:d}</v></c></row>' for i in range(1, 202))
    repeated = with_sheet(sheet_xml(cells), f"<si><t>text</t></si><si><t>{'the same words ' * 2000}</t></si>")
    with pytest.raises(CorpusError, match="holds more than"):  # its XML is small, what it says is not
        read_corpus(repeated, name="a.xlsx", max_bytes=1 << 20)
    assert len(read_corpus(repeated, name="a.xlsx")) == 200


def test_entities_are_not_expanded_without_bound():
    lines = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10 if i else "word " * 100}">' for i in range(9))
    bomb = sheet_xml(f'<row r="1">{inline("A1", "&e8;")}</row>').replace("?>", f"?><!DOCTYPE a [{lines}]>", 1)
    with pytest.raises(CorpusError, match="not a readable Excel workbook"):
        read_corpus(with_sheet(bomb), name="a.xlsx")


def test_in_a_zip_and_gzipped_and_by_its_content_alone():
    data = workbook(("a", ROWS))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("survey/answers.xlsx", data)
    assert len(read_corpus(packed.getvalue(), name="survey.zip")) == 3
    assert len(read_corpus(gzip.compress(data), name="answers.xlsx.gz")) == 3
    assert len(read_corpus(data, name="download")) == 3
    with pytest.raises(CorpusError, match="taken for CSV, but its content is XLSX"):
        read_corpus(data, name="answers.csv")


def test_reading_can_be_stopped():
    data, asked = workbook(("a", ROWS)), iter([True] * 4)
    with pytest.raises(Stopped), reading_watched(Watch(lambda: False)):
        WorkbookTable(io.BytesIO(data), "a.xlsx", 1 << 20)
    with pytest.raises(Stopped), reading_watched(Watch(lambda: next(asked, False))):
        read_corpus(data, name="a.xlsx")
    with pytest.raises(CorpusError, match="time limit was over"), reading_until(0.0):
        WorkbookTable(io.BytesIO(data), "a.xlsx", 1 << 20)


def test_the_command_takes_one(tmp_path):
    file = tmp_path / "answers.xlsx"
    file.write_bytes(workbook(("a", ROWS), ("more", [["text"], ["one more cup"]])))
    assert main(["compress", str(file), "--sheet", "more", "--out", str(tmp_path / "run"), "--quiet"]) == 0
    assert main(["verify", str(tmp_path / "run")]) == 0
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["corpus"]["n_records"] == 1 and report["arguments"]["sheet"] == "more"


_WORDS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="￾￿"), min_size=1, max_size=30
).filter(lambda text: text.strip() and not text.startswith("=") and "_x" not in text)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(_WORDS, st.integers(-(10**9), 10**9)), min_size=1, max_size=6))
def test_what_was_written_is_read(rows):
    data = workbook(("a", [["text", "n"], *(list(row) for row in rows)]))
    corpus = read_corpus(data, name="a.xlsx", min_words=0, text_column="text")
    wanted = [text for text, _ in rows if text not in ("#N/A", "#REF!")]
    assert corpus.texts == wanted
    assert corpus.metadata["n"].tolist() == [n for _, n in rows]


def test_empty_is_an_error_of_its_own():
    with pytest.raises(EmptyCorpusError):
        read_corpus(workbook(("a", [])), name="a.xlsx")
