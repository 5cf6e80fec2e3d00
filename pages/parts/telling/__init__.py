"""The page Telling sentences."""
