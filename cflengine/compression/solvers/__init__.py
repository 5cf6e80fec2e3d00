"""Solvers of problem (1), the λ-path, and what they share."""
