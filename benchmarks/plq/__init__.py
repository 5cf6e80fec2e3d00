"""Benchmarks of convex piecewise linear-quadratic losses."""
