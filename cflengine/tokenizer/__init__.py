"""Subword vocabularies of a given size, provably close to the best: compression's problem (1), words as documents."""

import lazy_loader

# public names, each loaded on its first use, are listed in __init__.pyi
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
