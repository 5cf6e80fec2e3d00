"""The Over time page: what texts cost, and phrases, by date or year."""
