"""How documents become tokens: by a pattern, or by subwords that a tokenizer of this package learns from them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from cflengine.engine.checks import InputError
from cflengine.engine.progress import Watch
from cflengine.linear.persistence import estimator_class, from_parts, to_parts
from cflengine.linear.saving import Parts, nested, require, under
from cflengine.text.token_table import TokenTable
from cflengine.text.tokens import Tokenizer

if TYPE_CHECKING:
    from cflengine.compression.estimator import CompressiveFeatures

_KIND = "subwords"  # of models in files
_PREFIX = "tokenizer"


@dataclass(frozen=True)
class SubwordCutter:
    """Cuts texts by a fitted ``SubwordTokenizer``; sentence_borders: as for
    :class:`~cflengine.text.tokens.Tokenizer`."""

    model: Any
    sentence_borders: bool

    def __call__(self, texts: Sequence[str], watch: Watch | None = None) -> TokenTable:
        watch = watch or Watch()
        watch.begin("cutting into subwords", "documents", len(texts))
        table = self.model.table(texts, sentence_borders=self.sentence_borders)
        watch.at(len(texts))
        return table


Cutter = Tokenizer | SubwordCutter


def check_tokens(tokens: Any) -> None:
    """InputError for a value of the parameter ``tokens`` that is none."""
    known = tokens in ("words", "subword") if isinstance(tokens, str) else _is_tokenizer(tokens)
    if not known:
        raise InputError(f"tokens must be 'words', 'subword' or a SubwordTokenizer, not {tokens!r}.")


def _is_tokenizer(tokens: Any) -> bool:
    own = tokens.estimator if isinstance(tokens, FrozenEstimator) else tokens
    return not isinstance(own, type) and getattr(own, "kind", None) == _KIND


def cutter_of(features: CompressiveFeatures, texts: Sequence[str], watch: Watch | None = None) -> Cutter:
    """What cuts texts by the parameters of ``features``: one of subwords is trained on these texts, unless frozen, as
    long as ``watch`` says so."""
    if not of_subwords(features):
        return Tokenizer(features.token_pattern, features.lowercase, features.sentence_borders)
    tokens: Any = features.tokens
    if isinstance(tokens, FrozenEstimator):
        # a copy: should its owner fit it again, what was learnt here stays
        return SubwordCutter(copy.copy(tokens.fit(texts, None).estimator), features.sentence_borders)
    model = estimator_class(_KIND)() if isinstance(tokens, str) else clone(tokens)
    if watch is not None:
        watch.begin("learning subwords")
        model.set_params(listeners=(*model.listeners, lambda stats: watch.poll()))
    if model.n_threads is None:
        model.set_params(n_threads=features.n_threads)
    return SubwordCutter(model.fit(texts), features.sentence_borders)


def of_subwords(features: CompressiveFeatures) -> bool:
    """Whether ``features`` are asked to be of subwords."""
    return not (isinstance(features.tokens, str) and features.tokens == "words")


def cutter_parts(features: CompressiveFeatures) -> Parts:
    """What a file of fitted features holds of how they cut texts, beside their parameters."""
    if not isinstance(features._tokenizer, SubwordCutter):
        return {}, {}
    header, arrays = nested(to_parts(features._tokenizer.model), _PREFIX)
    frozen = isinstance(features._learnt_with["tokens"], FrozenEstimator)
    return {_PREFIX: header | {"frozen": frozen}}, arrays


def cutter_from(
    header: Mapping[str, Any], arrays: Mapping[str, Any], parameters: Mapping[str, Any], name: str
) -> tuple[Any, SubwordCutter | None]:
    """The parameter ``tokens`` and the cutter that a file has; name: of the file. Raises ModelFileError."""
    found, borders = header.get(_PREFIX), bool(parameters.get("sentence_borders", False))
    if parameters.get("tokens", "words") == "words":
        require(found is None, name)
        return "words", None
    require(isinstance(found, dict) and found.get("kind") == _KIND, name)
    assert isinstance(found, dict)
    model = from_parts(found, under(arrays, _PREFIX), name)
    return FrozenEstimator(model) if found.get("frozen") is True else model, SubwordCutter(model, borders)
