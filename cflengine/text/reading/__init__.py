"""Documents from what people have: files of every kind, archives, folders, tables."""
