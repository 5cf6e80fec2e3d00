"""The page Names."""
