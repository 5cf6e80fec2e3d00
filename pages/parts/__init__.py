"""Shared view pieces of the pages: charts, text views and the routes they load their assets from."""
