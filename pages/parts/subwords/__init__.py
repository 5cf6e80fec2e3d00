"""The page Tokenizer: vocabularies of several sizes, proved, beside others."""
