"""A λ-path written to a file and read again: checked against its corpus, certified anew, damage refused."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from cflengine import CompressiveFeatures, GuidedSettings
from cflengine.compression.path_file import read_lambda_path, write_lambda_path
from cflengine.compression.solvers.guided.solver import solve_guided
from cflengine.compression.solvers.lambda_path import CompressionPath, PathPoint, solve_path
from cflengine.linear.saving import ModelFileError, read_model, write_model
from cflengine.text.token_table import plain_tokens

TEXTS = ["to be or not to be", "to be is to do", "not to be", "to do is to be", "be or do"] * 4


def prepared(texts=TEXTS, max_gram=3):
    return CompressiveFeatures(max_gram=max_gram).prepare(plain_tokens(texts))


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    corpus, path = prepared(), tmp_path_factory.mktemp("path") / "own.path"
    points = solve_path(corpus.index, [0.3, 1.0, 4.0], GuidedSettings(tol=0.0))
    write_lambda_path(path, corpus, points)
    return corpus, points, path


def test_what_is_read_is_certified_anew(kept):
    corpus, points, path = kept
    again = read_lambda_path(path, corpus)
    assert [point.lam for point in again] == [0.3, 1.0, 4.0]
    for own, other in zip(points, again, strict=True):
        np.testing.assert_array_equal(own.result.cover, other.result.cover)
        np.testing.assert_array_equal(own.result.dictionary, other.result.dictionary)
        np.testing.assert_array_equal(own.pointers_by_length, other.pointers_by_length)
        assert other.result.objective == own.result.objective
        assert own.result.lower_bound * (1 - 1e-3) <= other.result.lower_bound <= own.result.lower_bound * (1 + 1e-9)
        model = CompressiveFeatures(lam=own.lam).adopt(corpus, other.result)
        assert model.duality_gap_ == other.result.gap
    with open(path, "rb") as file:
        assert len(read_lambda_path(file, corpus)) == 3


@pytest.fixture(scope="module")
def lifted():
    """A path whose bound is lifted by trees: the relaxation proves 4.75 of the 5 that nothing undercuts."""
    corpus = prepared(["a a a a b b"], 2)
    result = solve_guided(corpus.index, corpus.costs(0.5), GuidedSettings(tol=0.0))
    assert result.branchings and result.lower_bound > float(result.alpha.sum()) + 0.2
    return corpus, CompressionPath([PathPoint(0.5, result, np.array([0, 0]), 0.0)])


def test_what_trees_prove_is_kept(lifted, tmp_path):
    corpus, points = lifted
    write_lambda_path(tmp_path / "own.path", corpus, points)
    (again,) = read_lambda_path(tmp_path / "own.path", corpus)
    assert again.result.optimal and len(again.result.branchings) == len(points.points[0].result.branchings)
    assert again.result.lower_bound == pytest.approx(points.points[0].result.lower_bound, rel=1e-4)
    write_lambda_path(tmp_path / "twice.path", corpus, CompressionPath([again]))
    (twice,) = read_lambda_path(tmp_path / "twice.path", corpus)
    assert twice.result.optimal


@pytest.mark.parametrize("what", ["prices", "share", "spans", "leaf_ptr", "prices_ptr"])
def test_trees_that_are_damaged_are_refused_or_prove_less(lifted, tmp_path, what):
    corpus, points = lifted
    write_lambda_path(tmp_path / "own.path", corpus, points)
    header, arrays = read_model(tmp_path / "own.path")
    header = {key: header[key] for key in ("digest", "max_gram", "lams", "highest", "seconds")}
    name = f"trees_0_branching_{what}"
    for wrong in (arrays[name] * 7 + 3, arrays[name][:-1]):
        write_model(
            tmp_path / "other.path", "compression path", header, arrays | {name: wrong.astype(arrays[name].dtype)}
        )
        try:
            (point,) = read_lambda_path(tmp_path / "other.path", corpus)
        except ModelFileError as error:
            assert "damaged" in str(error)
        else:
            assert point.result.lower_bound <= 5.0


def test_an_empty_path(tmp_path):
    corpus = prepared()
    write_lambda_path(tmp_path / "none.path", corpus, CompressionPath(()))
    assert len(read_lambda_path(tmp_path / "none.path", corpus)) == 0


def test_another_corpus_is_refused(kept):
    with pytest.raises(ModelFileError, match="another corpus"):
        read_lambda_path(kept[2], prepared([*TEXTS, "and more"]))
    with pytest.raises(ModelFileError, match="another K"):
        read_lambda_path(kept[2], prepared(max_gram=2))


CHANGES = {
    "uncovered": lambda h, a: a["cover"].__setitem__(slice(None), 0),
    "across a border": lambda h, a: a["cover"].__setitem__((0, -1), 4),
    "longer than K": lambda h, a: a["cover"].__setitem__((0, 0), 9),
    "a negative λ": lambda h, a: h["lams"].__setitem__(0, -1.0),
    "the same λ twice": lambda h, a: h["lams"].__setitem__(0, 1.0),
    "prices that are none": lambda h, a: h["highest"].__setitem__(1, "many"),
    "too few λ": lambda h, a: h["lams"].pop(),
    "prices of floats": lambda h, a: a.update(prices=a["prices"].astype(np.float32)),
    "no cover": lambda h, a: a.pop("cover"),
}


@pytest.mark.parametrize("name", list(CHANGES))
def test_damage_is_refused(kept, tmp_path, name):
    corpus, _, path = kept
    header, arrays = read_model(path)
    header = {key: header[key] for key in ("digest", "max_gram", "lams", "highest", "seconds")}
    CHANGES[name](header, arrays)
    write_model(tmp_path / "other.path", "compression path", header, arrays)
    with pytest.raises(ModelFileError, match="damaged"):
        read_lambda_path(tmp_path / "other.path", corpus)


def test_prices_that_prove_too_much_prove_less(kept, tmp_path):
    corpus, points, path = kept
    header, arrays = read_model(path)
    header = {key: header[key] for key in ("digest", "max_gram", "lams", "highest", "seconds")}
    header["highest"] = [10 * top for top in header["highest"]]
    write_model(tmp_path / "bold.path", "compression path", header, arrays)
    for own, other in zip(points, read_lambda_path(tmp_path / "bold.path", corpus), strict=True):
        assert other.result.lower_bound <= own.result.lower_bound * (1 + 1e-9)


def test_a_file_that_is_none(kept, tmp_path):
    with pytest.raises(ModelFileError):
        read_lambda_path(io.BytesIO(b"nothing"), kept[0])
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("b.txt", "c")
    with pytest.raises(ModelFileError):
        read_lambda_path(tmp_path / "a.zip", kept[0])
