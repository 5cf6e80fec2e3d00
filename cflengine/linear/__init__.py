"""What linear models share, whatever their loss and penalty: the design matrix, classes one against the rest, labels
and splits, the search over regularisation parameters, the comparison of models, tables and files of them.

Below the systems that use it, above :mod:`cflengine.text`; it knows none of them.
"""

import lazy_loader

# public names, each loaded on its first use, are listed in __init__.pyi
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
