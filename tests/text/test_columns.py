"""Types of columns: dates in many forms, numbers in several spellings, and what nothing tells."""

from __future__ import annotations

import pandas as pd
import pytest

from cflengine import read_corpus
from cflengine.text.reading.columns import MetadataBuilder, are_comma_decimals, natural_series
from cflengine.text.reading.dates import read_dates


@pytest.mark.parametrize(
    ("spelt", "first"),
    [
        (["2023-10", "2023-11", "2024-01"], "2023-10-01"),
        (["13.07.2023 r.", "2.08.2023 r."], "2023-07-13"),
        (["3.12.2024г.", "13.12.2024 г."], "2024-12-03"),
        (["2015", "2 January 2016"], "2015-01-01"),
        (["2024年5月3日", "2024年 12月 31日"], "2024-05-03"),
        (["2024年05月03号 14:30", "2024/5/4"], "2024-05-03 14:30"),
        (["2024년 5월 3일", "2024년 11월 13일"], "2024-05-03"),
        (["03.2019", "12.2018"], "2019-03-01"),
        (["3/2019", "11/2018"], "2019-03-01"),
    ],
)
def test_dates_as_people_write_them(spelt, first):
    found = read_dates(spelt).series
    assert found is not None and found.notna().all() and found[0] == pd.Timestamp(first)


def test_what_may_be_read_in_two_ways_is_no_date_and_said():
    found = read_dates(["03/12/2024", "04/11/2024"])
    assert found.series is None and found.two_readings == "03/12/2024"
    for spelt in (["03/12/24", "04/12/24"], ["13.12.24", "14.12.24", "n/a"]):
        found = read_dates(spelt)
        assert found.series is None and (found.short_year, found.two_readings) == (spelt[0], "")
    assert "two digits" in natural_series(["12/31/98", "12/30/98"], untyped=True)[1]
    words = ["alpha", "beta", "10.11.12", "gamma"]
    assert read_dates(words) == (None, (), "", ""), "a version among words"
    assert read_dates(["1984", "2001"]).series is None, "years alone are numbers"


@pytest.mark.parametrize(
    "spelt",
    [["2023-13", "2023-00"], ["13.2019", "01.2019"],
     ["0815-11", "4711-12"], ["2023-10", "2023-13"],
     [f"20{k:02}-{k + 1:02}" for k in range(12)], [f"20{k:02}-{k + 1:02}" for k in range(20)]],
)  # fmt: skip
def test_seasons_and_codes_are_no_months(spelt):
    series, note = natural_series(spelt, untyped=True)
    assert series.tolist() == spelt and not note


@pytest.mark.parametrize("spelt", [["1.1523", "1.1842"], ["10.1999", "12.2050"]])
def test_numbers_with_a_point_are_no_months(spelt):
    assert read_dates(spelt).series is None
    assert natural_series(spelt, untyped=True)[0].tolist() == list(map(float, spelt))


def test_a_year_or_a_month_among_moments_with_time_zones_is_one_too():
    for alone in ("2023", "2023-01"):
        found = read_dates(["2024-01-01T00:00:00Z", alone]).series
        assert found is not None and found[1] == pd.Timestamp("2023-01-01", tz="UTC")


@pytest.mark.parametrize(("name", "factor"), [("created_utc", 1), ("createdAt", 1000), ("ts", 1)])
def test_seconds_since_1970_are_dates_in_a_column_that_is_called_so(name, factor):
    builder = MetadataBuilder(untyped=True)
    for moment in (1420070400, 1733003472):
        builder.add({name: str(moment * factor), "id": str(moment), "likes": str(moment)})
    frame = builder.frame([name, "id", "likes"])
    assert frame[name][0] == pd.Timestamp("2015-01-01") and frame["likes"].dtype == frame["id"].dtype == "int64"
    assert len(builder.notes) == 1 and "since 1970" in builder.notes[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [("date", 2023010100), ("created_by", 1234567890), ("time_id", 1500000000), ("response_time", 1500000000),
     ("utc_offset", 1500000000), ("date", 1301312359), ("timestamp", 2050000000)],
)  # fmt: skip
def test_other_large_numbers_stay_numbers(name, value):
    builder = MetadataBuilder(untyped=True)
    for _ in range(3):
        builder.add({name: str(value)})
    assert builder.frame([name])[name].tolist() == [value] * 3 and not builder.notes


def test_numbers_in_a_column_that_is_called_so_stay_numbers():
    builder = MetadataBuilder(untyped=True)
    for year in ("1999", "2004"):
        builder.add({"date": year, "time": "12"})
    assert builder.frame(["date", "time"]).dtypes.tolist() == ["int64", "int64"] and not builder.notes


def test_one_value_of_another_kind_does_not_split_equal_numbers():
    rows = "".join(f'{{"text": "some words", "stars": {star}}}\n' for star in ("5", "5.0", "4", "4.0", '"n/a"'))
    assert read_corpus(rows.encode(), name="a.jsonl").metadata["stars"].tolist()[:4] == [5, 5, 4, 4]
    assert pd.isna(read_corpus(rows.encode(), name="a.jsonl").metadata["stars"][4])
    rows = rows.replace("n/a", "many")
    assert read_corpus(rows.encode(), name="a.jsonl").metadata["stars"].tolist() == ["5", "5", "4", "4", "many"]
    assert natural_series([5.5, 5.0, "many"], untyped=False)[0].tolist() == ["5.5", "5.0", "many"]
    assert natural_series([1.0, 2.0, "3.0-beta"], untyped=False)[0].tolist() == ["1.0", "2.0", "3.0-beta"]
    assert natural_series([2**70, "NA"], untyped=False)[0].tolist() == [str(2**70), "NA"]
    assert natural_series([True, 2.0], untyped=False)[0].tolist() == ["true", "2.0"]


def test_decimal_commas_stay_as_they_are_written_and_are_known_for_numbers():
    survey = "text;minutes;size\nlong enough;7,3;1,200\nlong enough, too;12;3\n"
    found = read_corpus(survey.encode(), name="a.csv").metadata
    assert found["minutes"].tolist() == ["7,3", "12"] and found["size"].tolist() == ["1,200", "3"]
    assert are_comma_decimals(["7,3", "12", "-0,25"])
    assert (
        not are_comma_decimals(["7,3", "1.5"]) and not are_comma_decimals(["1,2,3"]) and not are_comma_decimals(["7"])
    )
    assert not are_comma_decimals(["1,200", "3"]), "thousands, it may be"


def test_names_that_are_the_same_number_are_said_to_be():
    _, note = natural_series(["1.5", "1.50", "2.0"], untyped=True)
    assert note == "'1.5' and '1.50' are read as the same number."
    for other in (["1.5", "2.50"], ["2", "2.0"], ["NA", "1.5"], [f"{k}.5" for k in range(60)] + ["1.50"]):
        assert natural_series(other, untyped=True)[1] == ""
