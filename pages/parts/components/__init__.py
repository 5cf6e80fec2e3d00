"""What is drawn in the browser: our own components, their scripts and style sheets."""
