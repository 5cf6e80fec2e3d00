"""Word-level maximum mean discrepancy (wMMD): do the words of classes of documents follow different laws, and vectors
that keep classes apart (Gao, Dai, JASA 2025).

Nothing is imported here: the package's public names are in :mod:`cflengine`.
"""
