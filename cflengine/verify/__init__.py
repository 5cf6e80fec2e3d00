"""Results checked from their files and the input alone: by numpy, :mod:`re` and the standard library.

Nothing here imports numba or a solver, so that a proof does not rest on what found it. The commands write what it needs
(``proof.npz``: dual prices, dual points); ``cflengine verify DIR [INPUT]`` says "verified", or what is wrong.
"""

import lazy_loader

# public names, each loaded on its first use, are listed in __init__.pyi
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
