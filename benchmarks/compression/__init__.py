"""Benchmarks of compressive feature learning."""
