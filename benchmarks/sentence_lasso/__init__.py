"""Benchmarks of the sentence regulariser."""
