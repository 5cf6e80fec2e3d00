"""Invented beer reviews that ship with the app, and the generator that wrote them."""
