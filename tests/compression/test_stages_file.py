"""Stages of the homotopy in a file: whole again, and refused where they are not of the corpus, or damaged."""

from __future__ import annotations

import numpy as np
import pytest

from cflengine import CompressiveFeatures, HomotopySettings
from cflengine.compression import read_stages, write_stages
from cflengine.linear.saving import ModelFileError, read_model, write_model
from cflengine.text import plain_tokens

TEXTS = ["the cat sat on the mat", "the dog sat on the mat", "a cat and a dog", "the cat and the dog sat on the mat"]


@pytest.fixture(scope="module")
def fitted():
    settings = HomotopySettings(keep_stages=True, stage_iterations=20)
    return CompressiveFeatures(max_gram=3, lam=0.7, solver="homotopy", settings=settings).fit(TEXTS)


@pytest.fixture
def kept(fitted, tmp_path):
    file = tmp_path / "film.stages"
    write_stages(file, fitted.corpus_, fitted.lam, fitted.result_.stages)
    return file


def test_stages_are_whole_again(fitted, kept):
    lam, stages = read_stages(kept, fitted.corpus_)
    assert lam == 0.7 and len(stages) == len(fitted.result_.stages) == 11
    for own, other in zip(fitted.result_.stages, stages, strict=True):
        assert other.summary() == pytest.approx(own.summary(), nan_ok=True, rel=1e-12)
        assert (own.cover == other.cover).all() and (own.weights == other.weights).all()


def test_no_stage_at_all_is_no_error(fitted, tmp_path):
    write_stages(tmp_path / "none", fitted.corpus_, 1.0, ())
    assert read_stages(tmp_path / "none", fitted.corpus_) == (1.0, ())


def test_stages_of_another_corpus_are_refused(kept):
    other = CompressiveFeatures(max_gram=3).prepare(plain_tokens([*TEXTS, "more"]))
    with pytest.raises(ModelFileError, match="another corpus"):
        read_stages(kept, other)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("lam", -1.0), ("lam", "1"), ("zeta", [2.0] * 11), ("zeta", [0.0]), ("iteration", ["a"] * 11),
        ("repaired", None), ("cover", lambda cover: cover * 0), ("cover", lambda cover: cover | 128),
        ("cover", lambda cover: cover[:, 1:]), ("weights", lambda weights: weights.astype(np.uint16)),
        ("weights", lambda weights: weights[1:]),
        ("cover", lambda cover: np.where(np.arange(cover.shape[1]) == cover.shape[1] - 1, 4, cover).astype(np.uint8)),
    ],
)  # fmt: skip
def test_what_is_damaged_is_refused(fitted, kept, part, value):
    header, arrays = read_model(kept)
    header = {name: header[name] for name in header if name not in ("format", "version", "kind", "versions")}
    if callable(value):
        arrays[part] = value(arrays[part])
    else:
        header[part] = value
    write_model(kept, "homotopy stages", header, arrays)
    with pytest.raises(ModelFileError):
        read_stages(kept, fitted.corpus_)
