"""Tokenizers in files: what comes back cuts alike and can be fitted again; damage is a sentence."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from cflengine import SubwordTokenizer, load_model
from cflengine.engine.checks import InputError
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


def test_a_fitted_tokenizer_can_be_pickled_whatever_it_normalises():
    model = SubwordTokenizer(262, normalisation=["nfc", "lowercase"]).fit(["The cat", "the CAT sat"])
    again = pickle.loads(pickle.dumps(model))
    assert again.encode("THE cat") == model.encode("the cat")


@pytest.mark.parametrize(
    ("counts", "own"),
    [({"The": 5}, {"normalisation": ["lowercase"]}), ({"e\u0301": 5}, {"normalisation": ["nfc"]}), ({"the cat": 5}, {}),
     ({"\ud800a": 5}, {"unit": "character"})],
)  # fmt: skip
def test_counted_strings_are_cut_as_texts_are(counts, own):
    size = 257 if own.get("unit") != "character" else 259
    model = SubwordTokenizer(size, **own).fit(counts)
    assert model.result_.objective == sum(count * len(model.encode(text)) for text, count in counts.items())


@pytest.mark.parametrize("count", [2**62, 2**70])
def test_counts_that_cannot_be_added_up_are_refused(count):
    with pytest.raises(InputError, match="too large"):
        SubwordTokenizer(257).fit({"ab": count, "cd": count})


@pytest.mark.parametrize("name", ["required", "forbidden", "special_tokens"])
@pytest.mark.parametrize("given", ["cat", [3], [""], ["\ud800"]])
def test_pieces_that_are_none_are_refused(name, given):
    with pytest.raises(InputError, match=name):
        SubwordTokenizer(300, **{name: given}).fit(["the cat sat"])
