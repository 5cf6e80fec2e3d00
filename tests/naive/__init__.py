"""Slow references of the engine in plain Python and numpy, right at first reading; tests compare the two."""
