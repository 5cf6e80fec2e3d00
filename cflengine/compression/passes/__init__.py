"""Parallel passes over a corpus: how it is cut, where w lies in memory, encoding at given prices, the best bound."""
