"""Subword vocabularies against those of other programs."""
