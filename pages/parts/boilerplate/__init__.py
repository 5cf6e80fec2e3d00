"""The page Boilerplate."""
