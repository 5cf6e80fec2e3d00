"""Compressive feature learning: the K-grams that store a corpus most cheaply.

Paskov, Mitchell, Hastie, "An Efficient Algorithm for Large Scale Compressive Feature Learning",
AISTATS 2014; Paskov, West, Mitchell, Hastie, "Compressive Feature Learning", NIPS 2013.
"""
