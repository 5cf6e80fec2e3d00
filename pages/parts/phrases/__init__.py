"""The Phrases page: the dictionary as a table, and a concordance."""
