"""What linear models share, whatever their loss and penalty: the design matrix, classes one against the rest, labels
and splits, the search over strengths, the comparison of models, tables and files of them.

Below the systems that use it, above :mod:`cflengine.text`; it knows none of them.
"""
