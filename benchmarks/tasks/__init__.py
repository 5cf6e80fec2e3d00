"""What features are worth, measured."""
