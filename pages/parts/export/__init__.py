"""The Export page: files, snippets, a report, a project."""
