"""What every solver of the package shares: events and listeners, numba decorators, memory estimates.

Nothing here knows of text, of a model or of a user interface.
"""
