"""Word-level maximum mean discrepancy (wMMD): do the words of classes of documents follow different laws, and vectors
that keep classes apart (Gao, Dai, JASA 2025).
"""

import lazy_loader

# public names, each loaded on its first use, are listed in __init__.pyi
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
