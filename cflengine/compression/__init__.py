"""Compressive feature learning: the K-grams that store a corpus most cheaply.

Paskov, Mitchell, Hastie, "An Efficient Algorithm for Large Scale Compressive Feature Learning",
AISTATS 2014; Paskov, West, Mitchell, Hastie, "Compressive Feature Learning", NIPS 2013.
"""

import lazy_loader

# public names, each loaded on its first use, are listed in __init__.pyi
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
