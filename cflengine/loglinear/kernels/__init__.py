"""numba kernels of losses, of the chain and of L-BFGS."""
