"""cflengine: what a text is made of, found by optimisation and certified.

Packages, the lowest first:

- :mod:`cflengine.engine`: the runtime of every solver (events, bounds, limits, results, the numba decorators);
- :mod:`cflengine.text`: documents to tokens, sentences and K-grams, always with character offsets;
- :mod:`cflengine.linear`: what linear models share;
- :mod:`cflengine.compression`: compressive feature learning (Paskov, Mitchell, Hastie, AISTATS 2014);
- :mod:`cflengine.sentence_lasso`: classification with one group per sentence (Yogatama, Smith, ICML 2014);
- :mod:`cflengine.loglinear`: logistic regression and chain CRF, clustered L-BFGS (Mathur, Chakrabarti, ICDM 2006);
- :mod:`cflengine.plq`: any convex piecewise linear-quadratic loss under constraints (Dai, Qiu, NeurIPS 2023);
- :mod:`cflengine.embedding`: word-level MMD, embeddings that keep classes apart (Gao, Dai, JASA 2025);
- :mod:`cflengine.experiments`: what features are worth: authors, ratings, ABV, any column;
- :mod:`cflengine.verify`: results checked from their files, without compiled code.

Importing the package compiles nothing and loads neither numba nor scikit-learn: public names are
resolved on first use (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cflengine._version import __version__
from cflengine.engine.cache import configure_numba_cache

# numba reads its cache folder when it is first imported, so this must precede every kernel.
configure_numba_cache()

if TYPE_CHECKING:
    from cflengine.compression.estimator import CompressiveFeatures
    from cflengine.compression.session import CompressionSession, WishPrice
    from cflengine.compression.solvers.exact import ExactSettings
    from cflengine.compression.solvers.guided.settings import GuidedSettings
    from cflengine.compression.solvers.homotopy import HomotopySettings
    from cflengine.compression.solvers.relay import RelaySettings
    from cflengine.compression.solvers.reweighting import ReweightingSettings
    from cflengine.compression.warm import warm_up
    from cflengine.embedding.classifier import WordMMDEmbedding
    from cflengine.embedding.estimator import WordMMD
    from cflengine.engine.progress import IterationStats
    from cflengine.experiments.evaluate import evaluate
    from cflengine.experiments.search import CompressiveSearchCV
    from cflengine.linear.persistence import load_model, save_model
    from cflengine.loglinear.crf import ChainCRF
    from cflengine.loglinear.logistic import LogisticClassifier, LogisticModel
    from cflengine.loglinear.solvers.settings import ClusteredSettings, LBFGSSettings
    from cflengine.plq.estimator import PLQClassifier, PLQRegressor
    from cflengine.sentence_lasso.estimator import PenalisedClassifier, SentenceLassoClassifier
    from cflengine.sentence_lasso.solvers.settings import ADMMSettings, MajoriseSettings
    from cflengine.text.corpus import Corpus, CorpusError
    from cflengine.text.reading.readers import preview_corpus, read_corpus

_PUBLIC = {
    "ADMMSettings": "cflengine.sentence_lasso.solvers.settings",
    "ChainCRF": "cflengine.loglinear.crf",
    "ClusteredSettings": "cflengine.loglinear.solvers.settings",
    "CompressiveFeatures": "cflengine.compression.estimator",
    "CompressionSession": "cflengine.compression.session",
    "CompressiveSearchCV": "cflengine.experiments.search",
    "ExactSettings": "cflengine.compression.solvers.exact",
    "GuidedSettings": "cflengine.compression.solvers.guided.settings",
    "HomotopySettings": "cflengine.compression.solvers.homotopy",
    "LBFGSSettings": "cflengine.loglinear.solvers.settings",
    "LogisticClassifier": "cflengine.loglinear.logistic",
    "LogisticModel": "cflengine.loglinear.logistic",
    "evaluate": "cflengine.experiments.evaluate",
    "load_model": "cflengine.linear.persistence",
    "save_model": "cflengine.linear.persistence",
    "MajoriseSettings": "cflengine.sentence_lasso.solvers.settings",
    "PLQClassifier": "cflengine.plq.estimator",
    "PLQRegressor": "cflengine.plq.estimator",
    "PenalisedClassifier": "cflengine.sentence_lasso.estimator",
    "RelaySettings": "cflengine.compression.solvers.relay",
    "ReweightingSettings": "cflengine.compression.solvers.reweighting",
    "SentenceLassoClassifier": "cflengine.sentence_lasso.estimator",
    "WordMMD": "cflengine.embedding.estimator",
    "WordMMDEmbedding": "cflengine.embedding.classifier",
    "WishPrice": "cflengine.compression.session",
    "IterationStats": "cflengine.engine.progress",
    "Corpus": "cflengine.text.corpus",
    "CorpusError": "cflengine.text.corpus",
    "preview_corpus": "cflengine.text.reading.readers",
    "read_corpus": "cflengine.text.reading.readers",
    "warm_up": "cflengine.compression.warm",
}

__all__ = [
    "ADMMSettings",
    "ChainCRF",
    "ClusteredSettings",
    "CompressionSession",
    "CompressiveFeatures",
    "CompressiveSearchCV",
    "Corpus",
    "CorpusError",
    "ExactSettings",
    "GuidedSettings",
    "HomotopySettings",
    "IterationStats",
    "LBFGSSettings",
    "LogisticClassifier",
    "LogisticModel",
    "MajoriseSettings",
    "PLQClassifier",
    "PLQRegressor",
    "PenalisedClassifier",
    "RelaySettings",
    "ReweightingSettings",
    "SentenceLassoClassifier",
    "WishPrice",
    "WordMMD",
    "WordMMDEmbedding",
    "__version__",
    "evaluate",
    "load_model",
    "preview_corpus",
    "read_corpus",
    "save_model",
    "warm_up",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
