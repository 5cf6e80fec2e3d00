"""What every solver of the package shares: events and listeners, numba decorators, memory estimates.

Nothing here knows of text, of a model or of a user interface.
"""

import lazy_loader

# public names, each loaded on its first use, are listed in __init__.pyi
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
