"""What features are worth: the same target learnt from words, from all K-grams and from compressive features (Section
5.1 of Paskov, Mitchell, Hastie, AISTATS 2014), judged on documents that nothing was learnt from.

It may use the public names of every package; none of them knows it.
"""
