"""The page Word groups."""
