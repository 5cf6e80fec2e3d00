"""Benchmarks of logistic regression and the chain CRF."""
