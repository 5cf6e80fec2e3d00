"""The Read page: text in pieces under λ."""
