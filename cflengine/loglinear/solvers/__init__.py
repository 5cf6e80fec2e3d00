"""Solvers of f(w) = loss + penalty, and what they share."""
