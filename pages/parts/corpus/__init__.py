"""The Corpus page: where a corpus comes from, what was read, and the first look at it."""
