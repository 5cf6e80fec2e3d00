"""The Read page, and the first screen: text in pieces under λ."""
