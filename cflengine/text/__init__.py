"""Documents to tokens, sentences and K-grams, always with character offsets into the user's own text."""
