"""Compressive features in a model's file (linear/persistence.py): what transforming takes, not the corpus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cflengine.compression.codebook import Codebook
from cflengine.compression.counting import counted_as
from cflengine.compression.cutting import cutter_from, cutter_parts
from cflengine.compression.model.corpus import Gram
from cflengine.compression.solvers.registry import SOLVERS
from cflengine.engine.checks import InputError, is_number
from cflengine.engine.files import finite
from cflengine.linear.parameters import read_parameters, written_parameters
from cflengine.linear.saving import ModelFileError, require
from cflengine.text.token_table import gram_names

if TYPE_CHECKING:
    from cflengine.compression.estimator import CompressiveFeatures

_LEAST = (
    "lam", "max_gram", "solver", "token_pattern", "lowercase", "weighting", "literal_cost", "dictionary_cost",
)  # fmt: skip
_SETTINGS = tuple(solver.settings for solver in SOLVERS.values())


def parts_of(features: CompressiveFeatures) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The features as values that JSON has, and arrays. Raises InputError for costs by pointer."""
    if features.pointer_cost is not None:
        raise InputError("features whose pointer_cost is an array over a corpus cannot be saved.")
    frame = features.dictionary_
    cutter, arrays = cutter_parts(features)
    # programs that know no subwords refuse a file with this parameter
    tokens = {"tokens": "subword"} if cutter else {}
    header = {
        "parameters": written_parameters(features, without=("tokens",)) | tokens,
        "grams": [list(gram) for gram in features.grams_],
        "gap": finite(features.duality_gap_),
    }
    return header | cutter, arrays | {
        "idf": features.idf_,
        "by_length": features._codebook.pointer_by_length,
        "literal": np.array([features._codebook.literal_cost]),
        "count": frame["count"].to_numpy(),
        "documents": frame["documents"].to_numpy(),
        "cost": frame["cost"].to_numpy(),
    }


def features_of(
    kind: type[CompressiveFeatures], header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], name: str
) -> CompressiveFeatures:
    """The other way; name: of the file. Raises ModelFileError where the parts do not fit together."""
    require({"parameters", "grams", "gap"} <= set(header), name)
    parameters = read_parameters(kind, header["parameters"], name, least=_LEAST, settings=_SETTINGS)
    grams, gap = header["grams"], header["gap"]
    require(isinstance(grams, list), name)
    require(all(isinstance(gram, list) and all(isinstance(word, str) for word in gram) for gram in grams), name)
    require({"idf", "by_length", "literal", "count", "documents", "cost"} <= set(arrays), name)
    require(all(arrays[key].shape == (len(grams),) for key in ("idf", "count", "documents", "cost")), name)
    require(all(bool(np.isfinite(array).all()) for array in arrays.values()), name)
    tokens, cutter = cutter_from(header, arrays, parameters, name)
    require(arrays["literal"].shape == (1,) and (gap is None or is_number(gap)), name)
    try:
        model = kind(**(parameters | {"tokens": tokens}))
        model._check_settings()
        found = [tuple(gram) for gram in grams]
        require(arrays["by_length"].shape == (model.max_gram,), name)
        model._codebook = Codebook(found, arrays["by_length"], float(arrays["literal"][0]))
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"'{name}' is damaged: {error}") from error
    model.__dict__.update(model._settled(cutter))
    model.grams_, model.idf_ = found, arrays["idf"]
    model._idf_of = counted_as(model.counting)
    model.duality_gap_ = np.inf if gap is None else gap
    model.dictionary_ = dictionary_frame(found, arrays["count"], arrays["documents"], arrays["cost"])
    return model


def dictionary_frame(grams: list[Gram], count: np.ndarray, documents: np.ndarray, cost: np.ndarray) -> pd.DataFrame:
    """A row a feature."""
    length = np.array([len(gram) for gram in grams], dtype=np.int8)
    return pd.DataFrame(
        {"gram": gram_names(grams), "length": length, "count": count, "documents": documents, "cost": cost}
    )
