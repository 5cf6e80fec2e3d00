"""Tagged sentences: column files, feature templates, entities in tags."""
