"""Tokenizers in files: what comes back cuts alike and can be fitted again; damage is a sentence."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from cflengine import SubwordTokenizer, load_model
from cflengine.linear import saving

TEXTS = [f"abra cab{'ra' * k} ba co, {'ab' * k} bra{k} öx!\n" for k in range(8)] * 2


@pytest.mark.parametrize("unit", ["byte", "character"])
def test_a_tokenizer_that_was_saved_is_the_same(unit, tmp_path):
    own = {"pattern": r"[^\W\d]+", "special_tokens": ("<pad>",), "normalisation": ("nfc",)}
    model = SubwordTokenizer(300 if unit == "byte" else 295, unit=unit, tol=0.05, required=("ab",), **own).fit(TEXTS)
    model.save(tmp_path / "m.cflm", about={"corpus": "letters"})
    again = load_model(tmp_path / "m.cflm")
    assert again.pieces_ == model.pieces_ and again.pieces_frame().equals(model.pieces_frame())
    for text in [*TEXTS, "Ω≈ç√ 🙂\t<pad>", ""]:
        assert again.encode(text) == model.encode(text)
        assert again.decode(again.encode(text)) == text
    again.save(tmp_path / "twice.cflm", about={"corpus": "letters"})
    assert (tmp_path / "twice.cflm").read_bytes() == (tmp_path / "m.cflm").read_bytes()
    again.save_tokenizer_json(tmp_path / "a.json")
    model.save_tokenizer_json(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert clone(again).fit(TEXTS).pieces_ == model.pieces_


@pytest.mark.parametrize(
    "change",
    [
        {"units": np.full(4, 256, dtype=np.int32), "ptr": np.array([0, 2, 4]), "weight": np.array([1, 1])},
        {"units": np.full(4, 97, dtype=np.int32), "ptr": np.array([0, 2, 4]), "weight": np.array([1, 1])},
        {"units": np.full(1, 97, dtype=np.int32), "ptr": np.array([0, 1]), "weight": np.array([1])},
        {"ptr": np.array([0, 2, 1])},
        {"weight": np.zeros((2, 2))},
        {"alphabet": np.array([1.5])},
    ],
)
def test_damaged_files_of_tokenizers_are_said_to_be(change, tmp_path):
    header, arrays = SubwordTokenizer(260).fit(["ab ab abc abc"]).to_parts()
    saving.write_model(tmp_path / "m.cflm", "subwords", header, arrays | change)
    with pytest.raises(saving.ModelFileError, match="damaged"):
        SubwordTokenizer.load(tmp_path / "m.cflm")
