"""Solvers of (P), and what they share."""
