"""Any convex piecewise linear-quadratic loss under linear constraints (Dai and Qiu, NeurIPS 2023).

Nothing is imported here: the package's public names are in :mod:`cflengine`.
"""
