"""Parts of the Tasks page."""
