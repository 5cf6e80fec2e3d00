"""A result on disk is the result that was saved, and what is no result is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cflengine import GuidedSettings
from cflengine.compression.model.certificate import certify
from cflengine.compression.model.result import CompressionResult
from cflengine.compression.solvers.guided.solver import solve_guided
from cflengine.compression.solvers.homotopy import HomotopySettings, solve_homotopy
from naive.corpora import SMALL, costs_of, index_of
from naive.programs import certificate_of


@pytest.fixture(scope="module")
def solved():
    index = index_of(SMALL["repeated phrases"])
    costs = costs_of(index, 0.7)
    return (
        index,
        costs,
        solve_homotopy(index, costs, HomotopySettings(relaxation_iterations=60, stage_iterations=5), lam=0.7),
    )


def test_round_trip_through_a_folder(solved, tmp_path):
    index, costs, result = solved
    result.save(tmp_path / "new" / "folder")
    loaded = CompressionResult.load(tmp_path / "new" / "folder")
    for name in ("cover", "dictionary", "alpha"):
        saved, read = getattr(result, name), getattr(loaded, name)
        np.testing.assert_array_equal(saved, read)
        assert saved.dtype == read.dtype
    assert loaded.certificate == result.certificate and loaded.reason is result.reason
    assert loaded.to_dict() == result.to_dict()
    pd.testing.assert_frame_equal(loaded.trace, result.trace, check_exact=True)
    assert certify(loaded.cover, loaded.alpha, index.gram_of, costs).covered


def test_a_trace_is_that_of_the_events_a_result_has(solved):
    result = solved[2]
    part = replace(result, events=result.events[::2])
    assert result.trace is result.trace  # made once
    pd.testing.assert_frame_equal(part.trace, result.trace.iloc[::2].reset_index(drop=True))


def test_branching_trees_come_back(tmp_path):
    index = index_of(["c b c a a"], 2)
    result = solve_guided(index, costs_of(index), GuidedSettings(tol=0.0))
    assert result.branchings
    result.save(tmp_path)
    loaded = CompressionResult.load(tmp_path)
    assert certificate_of(loaded, index, costs_of(index)).lower_bound == result.lower_bound > 7.9


def test_a_result_stopped_at_once_can_be_saved_and_read(solved, tmp_path):
    """Its relaxation was never valued: NaN and inf must survive, or be said in another way."""
    index, costs, _ = solved
    result = solve_homotopy(index, costs, HomotopySettings(relaxation_iterations=1, last_zeta=0.0))
    result.save(tmp_path)
    loaded = CompressionResult.load(tmp_path)
    assert loaded.relaxation_upper == result.relaxation_upper == np.inf
    np.testing.assert_equal(loaded.to_dict(), result.to_dict())


def test_files_are_json_npz_and_csv_without_pickles(solved, tmp_path):
    solved[2].save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"result.json", "arrays.npz", "trace.csv"}
    facts = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert facts["objective"] == solved[2].objective and facts["settings"]["stage_iterations"] == 5
    assert {"cflengine", "python", "numpy", "numba"} <= set(facts["versions"])
    np.load(tmp_path / "arrays.npz", allow_pickle=False)["cover"]
    assert len(pd.read_csv(tmp_path / "trace.csv")) == len(solved[2].trace)


def test_result_is_frozen_and_its_numbers_are_the_certificates(solved):
    result = solved[2]
    with pytest.raises(AttributeError):
        result.reason = None
    for name in ("objective", "lower_bound", "gap", "n_pointers", "dictionary_size"):
        assert getattr(result, name) == getattr(result.certificate, name) == result.to_dict()[name]
    assert result.alpha.sum() == pytest.approx(result.lower_bound, rel=1e-9) and result.alpha.min() >= 0


@pytest.mark.parametrize("missing", ["result.json", "arrays.npz", "trace.csv"])
def test_missing_files_raise_os_error(solved, tmp_path, missing):
    solved[2].save(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(OSError, match=missing.split(".")[0]):
        CompressionResult.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [("result.json", "{}"), ("result.json", "[]"), ("result.json", "not json"), ("result.json", '{"certificate": {}}'),
     ("arrays.npz", "no archive"), ("arrays.npz", "PK\x03\x04 cut short"), ("trace.csv", "")],
)  # fmt: skip
def test_files_that_are_something_else_raise_value_error(solved, tmp_path, name, content):
    solved[2].save(tmp_path)
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError):
        CompressionResult.load(tmp_path)


def test_arrays_that_lack_one_raise_value_error(solved, tmp_path):
    solved[2].save(tmp_path)
    np.savez(tmp_path / "arrays.npz", cover=solved[2].cover)
    with pytest.raises(ValueError):
        CompressionResult.load(tmp_path)
