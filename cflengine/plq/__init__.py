"""Any convex piecewise linear-quadratic loss under linear constraints (Dai and Qiu, NeurIPS 2023)."""

import lazy_loader

# public names, each loaded on its first use, are listed in __init__.pyi
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
