"""What the package costs in time and memory, measured on real corpora: ``python -m benchmarks --help``."""
