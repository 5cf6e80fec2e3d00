"""What features are worth: the same target learnt from words, from all K-grams and from compressive features (Section
5.1 of Paskov, Mitchell, Hastie, AISTATS 2014), judged on documents that nothing was learnt from.

It may use the public names of every package; none of them knows it.
"""

import lazy_loader

# public names, each loaded on its first use, are listed in __init__.pyi
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
