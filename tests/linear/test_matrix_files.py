"""Tables of features as matrices: the same numbers whatever the file, bounded batches, and what is refused."""

from __future__ import annotations

import gzip
import os
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from cflengine import PLQClassifier, PLQRegressor, save_model
from cflengine.cli import main
from cflengine.engine import InputError
from cflengine.linear import load_model, matrix_files, table_predictions
from cflengine.linear.matrix_files import feature_batches

NAMES = ["height", "weight, kg", "=age"]


def table() -> pd.DataFrame:
    X = np.random.default_rng(0).normal(size=(40, 3))
    frame = pd.DataFrame(X, columns=NAMES)
    return frame.assign(who=[f"no. {i}" for i in range(40)], fit=np.where(X[:, 0] > 0, "yes", "no"))


def written(frame: pd.DataFrame, folder, ending: str):
    path = folder / f"table.{ending}"
    if ending == "parquet":
        frame.to_parquet(path)
    else:
        text = frame.to_csv(index=False, sep="\t" if "tsv" in ending else ",").encode()
        path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    return path


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet"])
def test_every_kind_of_table_gives_the_same_matrix(tmp_path, ending, monkeypatch):
    frame = table()
    monkeypatch.setattr(matrix_files, "_BLOCK_BYTES", 400)
    monkeypatch.setattr(matrix_files, "_MOST_CELLS", 20)
    path = written(frame[[*reversed(frame.columns)]], tmp_path, ending)
    batches = list(feature_batches(path, 3, NAMES, beside="fit"))
    assert len(batches) > 2, "in several batches"
    np.testing.assert_array_equal(np.concatenate([X for X, _ in batches]), frame[NAMES].to_numpy())
    assert pd.concat([own for _, own in batches])["fit"].tolist() == frame["fit"].tolist()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_a_name_that_is_no_utf_8(tmp_path, ending):
    path = written(table(), tmp_path, ending)
    named = path.rename(tmp_path / (os.fsdecode(b"t\xff.") + ending))
    found = np.concatenate([X for X, _ in feature_batches(named, 3, NAMES)])
    np.testing.assert_array_equal(found, table()[NAMES].to_numpy())


def test_a_model_of_named_columns_predicts_from_a_file(tmp_path, capsys):
    frame = table()
    model = PLQClassifier("hinge").fit(frame[NAMES], frame["fit"])
    save_model(model, tmp_path / "named.cflm", about={"target": "fit"})
    path, out = written(frame, tmp_path, "csv"), tmp_path / "predicted.csv"
    assert main(["predict", str(tmp_path / "named.cflm"), str(path), "--limit", "30", "--out", str(out)]) == 0
    found = pd.read_csv(out)
    np.testing.assert_array_equal(found["predicted"], model.predict(frame[NAMES])[:30])
    right = 100 * (found["predicted"] == frame["fit"][:30]).mean()
    assert f"{right:.1f} % of 30 have the fit" in capsys.readouterr().out


def test_a_model_without_names_takes_all_columns(tmp_path):
    frame = table()[NAMES]
    save_model(PLQRegressor().fit(frame.to_numpy(), frame["height"]), tmp_path / "plain.cflm")
    model = load_model(tmp_path / "plain.cflm")
    found, beside = table_predictions(model, written(frame, tmp_path, "csv"))
    np.testing.assert_array_equal(found["predicted"], model.predict(frame.to_numpy()))
    assert beside.shape == (40, 0)


@pytest.mark.parametrize(
    ("text", "said"),
    {
        "lacks": ("height,=age\n1,2\n", "lacks the column 'weight, kg'"),
        "twice": ('height,height,"weight, kg",=age\n1,1,2,3\n', "'height' twice"),
        "words": ('height,"weight, kg",=age\n1,two,3\n', "no finite number"),
        "empty cell": ('height,"weight, kg",=age\n1,,3\n', "no finite number"),
        "infinite": ('height,"weight, kg",=age\n1,inf,3\n', "no finite number"),
        "no row": ('height,"weight, kg",=age\n', "has no row"),
        "ragged": ('height,"weight, kg",=age\n1,2,3\n1,2\n', "cannot be read as a table"),
        "nothing": ("", "cannot be read as a table"),
    }.values(),
)
def test_what_is_no_table_of_the_features_is_refused_in_one_sentence(tmp_path, text, said):
    model = PLQRegressor().fit(table()[NAMES], table()["height"])
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(InputError, match=said) as raised:
        table_predictions(model, tmp_path / "bad.csv")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_a_table_in_another_encoding(tmp_path, capsys, encoding):
    frame = table().rename(columns={"height": "größe"})
    columns = ["größe", *NAMES[1:]]
    save_model(PLQRegressor().fit(frame[columns], frame["größe"]), tmp_path / "m.cflm")
    path, out = tmp_path / "t.csv", tmp_path / "p.csv"
    path.write_bytes(frame[columns].to_csv(index=False).encode(encoding))
    line = ["predict", str(tmp_path / "m.cflm"), str(path), "--out", str(out)]
    assert main(line) == (0 if encoding == "utf-16" else 2), "a byte order mark tells"
    if encoding == "cp1252":
        assert "t.csv is not UTF-8; say by --encoding" in capsys.readouterr().err
    assert main([*line, "--encoding", encoding]) == 0 and len(pd.read_csv(out)) == 40
    assert main([*line, "--encoding", "no-such"]) == 2 and "no encoding 'no-such'" in capsys.readouterr().err


def test_cells_in_another_encoding_and_workbooks_are_said(tmp_path, capsys):
    save_model(PLQRegressor().fit(table()[NAMES], table()["height"]), tmp_path / "m.cflm", about={"target": "fit"})
    path, out = tmp_path / "t.csv", tmp_path / "p.csv"
    path.write_bytes(table().assign(fit="süß").to_csv(index=False).encode("cp1252"))
    line = ["predict", str(tmp_path / "m.cflm"), str(path), "--out", str(out)]
    assert main(line) == 2 and "t.csv is not UTF-8; say by --encoding" in capsys.readouterr().err
    assert main([*line, "--encoding", "cp1252"]) == 0
    path.write_bytes(b"PK\x03\x04" + bytes(range(256)))
    assert main(line) == 2 and "t.csv is a workbook or a ZIP" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--text-column=a", "--min-words=3", "--strip-html", "--documents=paragraph"])
def test_options_that_read_texts_play_no_part(tmp_path, capsys, option):
    save_model(PLQRegressor().fit(table()[NAMES], table()["height"]), tmp_path / "m.cflm")
    path, out = written(table(), tmp_path, "csv"), tmp_path / "p.csv"
    line = ["predict", str(tmp_path / "m.cflm"), str(path), "--out", str(out)]
    assert main([*line, option]) == 2
    assert f"{option.partition('=')[0]} plays no part with a model that reads a matrix" in capsys.readouterr().err


def test_columns_of_truth_values_are_read_alike_from_every_file(tmp_path):
    frame = pd.DataFrame({"a": [True, False] * 10, "b": np.arange(20.0)})
    model = PLQRegressor().fit(frame, frame["b"])
    csv, parquet = (table_predictions(model, written(frame, tmp_path, ending))[0] for ending in ("csv", "parquet"))
    pd.testing.assert_frame_equal(csv, parquet)
    (tmp_path / "mixed.csv").write_text("a,b\nTrue,1\nmaybe,2\n")
    with pytest.raises(InputError, match="no finite number"):
        table_predictions(model, tmp_path / "mixed.csv")


def test_another_number_of_columns_is_said(tmp_path):
    model = PLQRegressor().fit(np.eye(3), [1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="5 columns of features; the model was learnt from 3"):
        table_predictions(model, written(table(), tmp_path, "csv"))


@pytest.mark.parametrize("column", ["height", "fit"])
def test_a_small_file_of_huge_texts_stays_small(tmp_path, column):
    """A text of 3 MB in each of 2,000 rows, stored once: as many strings would take 6 GB."""
    one = pa.DictionaryArray.from_arrays(pa.array([0] * 2000), pa.array(["x" * 3_000_000]))
    columns = {name: pa.array([1.0] * 2000) for name in [*NAMES, "fit"]} | {column: one}
    path = tmp_path / "table.parquet"
    pa_parquet.write_table(pa.table(columns), path)
    assert path.stat().st_size < 1 << 20
    batches = feature_batches(path, 3, NAMES, beside="fit")
    if column == "height":
        with pytest.raises(InputError, match="no finite number"):
            next(batches)
    else:
        assert len(next(batches)[0]) == 2000


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(InputError, match=r"there is no file gone\.csv"):
        next(feature_batches(tmp_path / "gone.csv", 3, NAMES))
