"""Exports: what is written comes back exactly as it was, and no spreadsheet runs any of it."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.io import mmread

from cflengine import CompressiveFeatures
from cflengine.compression import export
from cflengine.compression.codebook import count_matrix
from cflengine.engine import files
from cflengine.linear import feature_files
from cflengine.linear.weighting import weigh

HOSTILE = [
    '=cmd|"/c calc"!A0',
    "+1",
    "-2+3",
    "@SUM(A1)",
    "\tx",
    "\rx",
    "'=1",
    "''",
    'a "b", c',
    "two\nlines",
    "a\rb",
    "",
]
TEXTS = [
    "=1+1 is the sum, the sum is =1+1",
    "@home - the end of the day, @home",
    "the end of the day is the sum of the parts",
    "'quoted' and \"doubly quoted\" words, 'quoted' words",
]
cells = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=["Cs"]), max_size=12))


@pytest.fixture(scope="module")
def model():
    return CompressiveFeatures(lam=1.0, max_gram=3).fit(TEXTS)


def rows_of(data: bytes) -> list[list[str]]:
    """A CSV as any strict reader sees it."""
    return list(csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True))


@st.composite
def named_matrices(draw: st.DrawFn) -> tuple[sparse.csr_matrix, list[str]]:
    """A small matrix of counts or weights, rows without entries included, with distinct hostile column names."""
    names = draw(st.lists(cells, min_size=1, max_size=5, unique=True))
    n = draw(st.integers(1, 4))
    whole = draw(st.booleans())
    values = st.integers(0, 3) if whole else st.sampled_from([0.0, 0.0, 1 / 3, 1e-17, 2.5e300])
    dense = draw(st.lists(values, min_size=n * len(names), max_size=n * len(names)))
    matrix = np.array(dense, dtype=np.int64 if whole else np.float64).reshape(n, len(names))
    return sparse.csr_matrix(matrix), names


# ---- cells


@given(cells)
def test_a_defused_cell_is_harmless_and_comes_back(text):
    safe = files.defuse_cell(text)
    assert not safe.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert files.restore_cell(safe) == text


def test_only_cells_that_need_it_are_changed():
    frame = pd.DataFrame({"=a": ["x", None], "n": [1, -2], "when": pd.to_datetime(["2020-01-01", None])})
    safe = files.defuse_frame(frame)
    assert list(safe.columns) == ["'=a", "n", "when"]
    assert safe["'=a"].iloc[0] == "x" and pd.isna(safe["'=a"].iloc[1])
    assert safe["n"].tolist() == [1, -2]
    assert list(frame.columns) == ["=a", "n", "when"], "the argument stays as it was"


# ---- tables


@given(named_matrices())
def test_the_long_csv_is_the_matrix(case):
    matrix, names = case
    file = io.BytesIO()
    feature_files.write_long_csv(matrix, names, file)
    head, *rows = rows_of(file.getvalue())
    whole = np.issubdtype(matrix.dtype, np.integer)
    assert head == ["document", "feature", "count" if whole else "weight"]
    read = [(int(d), names.index(files.restore_cell(name)), float(v)) for d, name, v in rows]
    assert read == sorted(read)
    dense = np.zeros(matrix.shape)
    for d, f, value in read:
        dense[d, f] = value
    assert np.array_equal(dense, matrix.toarray())
    assert len(read) == matrix.nnz


@given(named_matrices())
def test_parquet_and_matrix_market_are_the_matrix(case):
    matrix, names = case
    file = io.BytesIO()
    feature_files.write_long_parquet(matrix, names, file)
    frame = pq.read_table(io.BytesIO(file.getvalue())).to_pandas()
    again = sparse.csr_matrix(
        (frame.iloc[:, 2], (frame["document"], [names.index(name) for name in frame["feature"]])), shape=matrix.shape
    )
    assert np.array_equal(again.toarray(), matrix.toarray())
    market = mmread(io.BytesIO(feature_files.matrix_market(matrix)))
    assert market.shape == matrix.shape and np.array_equal(market.toarray(), matrix.toarray())


def test_pointers_say_where_their_words_stand(model):
    names = list(model.get_feature_names_out())
    texts = [*TEXTS, "an unseen zebra is the sum"]
    encoding = model.encode(texts)
    assert set(encoding.literals) == {"an", "unseen", "zebra"}
    frame = export.pointer_table(encoding, names).to_pandas()
    assert list(frame.columns) == ["document", "start", "length", "start_char", "end_char", "gram"]
    for row in frame.itertuples():
        shown = texts[row.document][row.start_char : row.end_char]
        assert "".join(shown.lower().split()) == "".join(row.gram.split())
        assert len(row.gram.split()) == row.length
    tokens = [len(tokens) for tokens in model.decode(encoding)]
    covered = frame.assign(end=frame["start"] + frame["length"]).groupby("document")["end"].max()
    assert covered.tolist() == tokens


@pytest.mark.parametrize("weighting", ["count", "tf", "idf", "tf-idf"])
def test_a_run_can_be_read_back(model, tmp_path, weighting):
    features = weigh(count_matrix(model.encoding_, len(model.grams_)), weighting, model.idf_)
    export.write_run(tmp_path, model, features, pd.DataFrame({"document": range(4)}), {"gap": 0.5, "name": "é"})
    names = (tmp_path / "feature_names.txt").read_text("utf-8").splitlines()
    assert names == list(model.get_feature_names_out())
    assert sparse.load_npz(tmp_path / "features.npz").toarray().tolist() == features.toarray().tolist()
    _, *rows = rows_of((tmp_path / "features.csv").read_bytes())
    dense = np.zeros(features.shape)
    for d, name, value in rows:
        dense[int(d), names.index(files.restore_cell(name))] = float(value)
    assert np.array_equal(dense, features.toarray())
    head, *entries = rows_of((tmp_path / "dictionary.csv").read_bytes())
    assert head == list(model.dictionary_.columns)
    assert [files.restore_cell(entry[0]) for entry in entries] == names
    assert sum(int(entry[2]) for entry in entries) == model.result_.n_pointers
    assert len(pd.read_csv(tmp_path / "trace.csv")) == len(model.result_.trace)


@settings(max_examples=25)
@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=4), cells)
def test_the_documents_table_keeps_every_cell(model, tmp_path_factory, rows, name):
    folder = tmp_path_factory.mktemp("run")
    documents = pd.DataFrame([(d, *row) for d, row in enumerate(rows)], columns=["document", "meta_" + name, "=x"])
    export.write_run(folder, model, count_matrix(model.encoding_, len(model.grams_)), documents, {})
    head, *read = rows_of((folder / "documents.csv").read_bytes())
    assert [files.restore_cell(cell) for cell in head] == list(documents.columns)
    assert [tuple(map(files.restore_cell, row[1:])) for row in read] == rows


def test_numbers_that_json_does_not_know_become_null(model, tmp_path):
    report = {"gap": np.inf, "deep": {"list": [1.0, float("nan")], "whole": np.int64(3)}}
    export.write_run(tmp_path, model, count_matrix(model.encoding_, len(model.grams_)), pd.DataFrame(), report)
    read = json.loads((tmp_path / "report.json").read_text("utf-8"), parse_constant=pytest.fail)
    assert read["gap"] is None and read["deep"]["list"] == [1.0, None]


DOCUMENTS = pd.DataFrame({"id": ["=a", "b"], "feature": [1.5, None], "when": pd.to_datetime(["2020-01-02", None])})


@pytest.mark.parametrize("defused", [True, False])
def test_long_rows_know_their_documents(defused):
    matrix = sparse.csr_matrix(np.array([[2, 0], [1, 3]]))
    file = io.BytesIO()
    feature_files.write_long_csv(matrix, ["=x", "y"], file, documents=DOCUMENTS, defused=defused)
    frame = pd.read_csv(io.BytesIO(file.getvalue()))
    mark = "'" if defused else ""
    assert list(frame) == ["document", "id", "feature (column)", "when", "feature", "count"]
    assert frame["feature"].tolist() == [f"{mark}=x", f"{mark}=x", "y"]
    assert frame["id"].tolist() == [f"{mark}=a", "b", "b"] and frame["count"].tolist() == [2, 1, 3]
    assert frame["feature (column)"].isna().tolist() == [False, True, True]


@pytest.mark.parametrize("values", [
    [1.5, None, None, 4.0], ["a", None, "c", ""], [True, None, False, True], pd.to_datetime(["2024-01-01", None] * 2),
    [None] * 4,
])  # fmt: skip
def test_a_long_table_joins_columns_in_which_cells_are_missing(values):
    matrix = sparse.csr_matrix([[1, 2], [0, 3], [0, 0], [4, 5]])
    documents, file, csv_file = pd.DataFrame({"own": values}), io.BytesIO(), io.BytesIO()
    feature_files.write_long_parquet(matrix, ["x", "y"], file, documents=documents)
    feature_files.write_long_csv(matrix, ["x", "y"], csv_file, documents=documents)
    frame = pd.read_parquet(io.BytesIO(file.getvalue()))
    assert frame["count"].tolist() == [1, 2, 3, 4, 5]
    found, expected = frame["own"].astype(object), documents["own"].iloc[[0, 0, 1, 3, 3]].astype(object)
    assert found.isna().tolist() == expected.isna().tolist()
    assert found.dropna().astype(str).tolist() == expected.dropna().astype(str).tolist()
    assert pd.read_csv(io.BytesIO(csv_file.getvalue()))["count"].tolist() == [1, 2, 3, 4, 5]


def test_a_wide_table_is_the_matrix_however_it_is_cut(monkeypatch):
    monkeypatch.setattr(feature_files, "_AT_ONCE", 3)
    matrix = sparse.random(7, 2, 0.5, format="csr", random_state=0)
    names = ["id", "b"]
    documents = pd.DataFrame({"id": list("ABCDEFG"), "mixed": [1, "x", None, 2.5, [1], {"a": 1}, "\ud800"]})
    csv_file, parquet = io.BytesIO(), io.BytesIO()
    feature_files.write_wide_csv(matrix, names, csv_file, documents=documents)
    feature_files.write_wide_parquet(matrix, names, parquet, documents=documents)
    for frame in (pd.read_csv(io.BytesIO(csv_file.getvalue())), pd.read_parquet(io.BytesIO(parquet.getvalue()))):
        assert list(frame) == ["document", "id (column)", "mixed", "id", "b"]
        assert np.allclose(frame[["id", "b"]], matrix.toarray()) and frame["id (column)"].tolist() == list("ABCDEFG")
        assert frame["document"].tolist() == list(range(7))


def test_a_wide_table_that_would_be_too_wide_is_refused(monkeypatch):
    monkeypatch.setattr(feature_files, "MOST_CELLS", 10)
    with pytest.raises(ValueError, match="12 cells: take the long one"):
        feature_files.write_wide_csv(sparse.csr_matrix((3, 4)), list("abcd"), io.BytesIO())
    file = io.BytesIO()
    feature_files.write_wide_csv(sparse.csr_matrix((0, 4)), list("abcd"), file)
    assert file.getvalue().decode().strip() == '"document","a","b","c","d"'


def test_words_that_are_called_like_other_columns_get_names_of_their_own():
    matrix, file = sparse.csr_matrix(np.array([[1, 2, 3]])), io.BytesIO()
    feature_files.write_wide_parquet(matrix, ["document", "id", "id"], file, documents=pd.DataFrame({"id": ["a"]}))
    frame = pd.read_parquet(io.BytesIO(file.getvalue()))
    assert len(set(frame)) == 5 and frame["document"].tolist() == [0]


@pytest.mark.parametrize("n_rows", [1, 2, 3, 50])
def test_a_table_in_blocks_is_the_table(n_rows):
    """Also where some rows of a column of mixed kinds look like another kind by themselves."""
    frame = pd.DataFrame(
        {
            "mixed": pd.Series([1, None, 2.5, "=x", True, "a\nb"], dtype=object),
            "numbers": [1, 2, 3, 4, 5, 6],
            "gaps": [1.0, None, 3.25, 4.0, None, 6.0],
            "words": ["a", None, "'q", "-1", 'say "x"', ""],
            "days": pd.to_datetime(["2024-01-31", None, "2024-02-01", "2024-02-02", None, "2024-02-03"]),
            "times": pd.to_datetime(
                ["2024-01-31", None, "2024-02-01", "2024-02-02", None, "2024-02-03 15:01"], format="mixed"
            ),
        }
    )
    for some in (frame, frame.drop(columns=["days", "times"])):
        assert b"".join(files.csv_blocks(some, n_rows)) == files.frame_csv(some)
    assert files.frame_csv(frame).startswith(b'"mixed","numbers"') and b"\n1,1,1.0," in files.frame_csv(frame)
    assert b"".join(files.csv_blocks(frame.head(0), n_rows)) == files.frame_csv(frame.head(0)) != b""
