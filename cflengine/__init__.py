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
- :mod:`cflengine.tokenizer`: subword vocabularies of a size, proved close to the best, on compression's public names;
- :mod:`cflengine.experiments`: what features are worth: authors, ratings, ABV, any column;
- :mod:`cflengine.verify`: results checked from their files, without compiled code.

Importing the package compiles nothing and loads neither numba nor scikit-learn: public names,
listed in ``__init__.pyi``, are loaded on first use (PEP 562).
"""

import lazy_loader

from cflengine.engine.cache import configure_numba_cache

# numba reads its cache folder when it is first imported, so this must precede every kernel.
configure_numba_cache()

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
