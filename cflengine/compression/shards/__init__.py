"""A corpus in shards: runs of documents with an index each, which are worked on one after the other or side by side."""
