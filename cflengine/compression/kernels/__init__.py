"""numba kernels: loops over blocks of tokens and groups of pointers. The modules that call them say what for."""
