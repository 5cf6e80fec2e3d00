"""Documents to tokens, sentences and K-grams, always with character offsets into the user's own text."""

import lazy_loader

# public names, each loaded on its first use, are listed in __init__.pyi
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
