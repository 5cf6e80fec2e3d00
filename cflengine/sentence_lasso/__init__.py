"""Sentence-regularised logistic regression: one overlapping group per sentence (Yogatama & Smith, ICML 2014)."""
