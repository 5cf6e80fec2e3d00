"""numba kernels of the solvers of (P)."""
