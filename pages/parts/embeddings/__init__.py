"""The Embeddings page."""
